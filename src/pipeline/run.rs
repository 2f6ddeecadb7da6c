//! What every step of a run may use: the session, its files, the recorder, feedback, and words for
//! whoever listens.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::artifact::check::made_before;
use crate::artifact::{Feedback, FeedbackType, Origin, Severity, Store};
use crate::clock;
use crate::config::{Config, DEFAULT_MODEL, Limits, ModelConfig};
use crate::error::Error;
use crate::event::{Event, Sink};
use crate::gate::{Gate, Mode};
use crate::git::{Git, Oid};
use crate::model::Model;
use crate::model::meter::Meter;
use crate::pipeline::other_models::{OtherModels, Player};
use crate::pipeline::prompts::Prompts;
use crate::record::{self, DraftEnding, DraftNotes, Recorder, Scope};
use crate::session::{Entry, Kind, RefNames, RunGates, Session, StateDir, TypedNotes};
use crate::stage::{Depth, Role, Stage};
use crate::stages::{self, Approves, DepthSpec, RoleSpec, StageSpec};
use crate::tool::{Person, ProjectCommands};
use crate::workspace::{SessionFiles, Workspace};

/// The models of a run.
pub struct Models {
    /// By configured name; `default` is always there.
    pub by_name: BTreeMap<String, Rc<dyn Model>>,
    /// Their settings, with all that the configuration leaves open.
    pub settings: BTreeMap<String, ModelConfig>,
    /// What they all are counted by.
    pub meter: Rc<Meter>,
}

impl Models {
    /// Who drafts the first stage of a session, or of a change request.
    ///
    /// # Errors
    /// Kind `Model`: the configuration names one that there is none of.
    pub fn first(&self, config: &Config, is_patch: bool) -> anyhow::Result<Rc<dyn Model>> {
        // No depth is chosen yet: the first of all stages.
        match stages::order(Depth::default(), is_patch, None).next() {
            Some(stage) => self.get(config.model_for(stage, Role::Actor)?.0),
            None => self.get(DEFAULT_MODEL),
        }
    }

    fn get(&self, name: &str) -> anyhow::Result<Rc<dyn Model>> {
        match self.by_name.get(name).or_else(|| self.by_name.get("default")) {
            Some(model) => Ok(Rc::clone(model)),
            None => Err(Error::model(format!("there is no model '{name}'")).into()),
        }
    }
}

/// What a run works with; the same for all its stages.
pub struct Env<'a> {
    /// The repository, in the session's working tree.
    pub git: &'a Git,
    /// Ref names.
    pub refs: &'a RefNames,
    /// Resolved configuration.
    pub config: &'a Config,
    /// Models.
    pub models: &'a Models,
    /// Where others come from that a person may take; none where answers are played back.
    pub others: Option<&'a dyn OtherModels>,
    /// Files and commands.
    pub workspace: &'a Workspace,
    /// J.
    pub state: &'a StateDir,
    /// Its gates, as other terminals see them.
    pub gates: &'a RunGates,
    /// What a person types for the actor while it works.
    pub typed: &'a Arc<TypedNotes>,
    /// Prompts.
    pub prompts: &'a Prompts,
    /// Finds the project's commands; they may appear while it is written.
    pub commands: &'a dyn Fn() -> ProjectCommands,
    /// Who listens.
    pub sink: &'a dyn Sink,
    /// Who can be asked by a tool.
    pub person: &'a dyn Person,
    /// The gate on the terminal; there in [`Mode::Ask`].
    pub gate: Option<Gate<'a>>,
    /// How reviews are done.
    pub mode: Mode,
    /// Stop after this stage.
    pub stop_after: Option<Stage>,
}

/// A draft being written or judged, so that a stop can keep it.
#[derive(Clone, Debug)]
pub(crate) struct CurrentDraft {
    pub(crate) iteration: u32,
    pub(crate) ending: DraftEnding,
    pub(crate) notes: DraftNotes,
    /// It cannot go on without a person, and why: that must be known again after a stop, also
    /// where no file was written.
    pub(crate) stuck: Option<String>,
}

/// A run of a session, as its steps see it.
pub(crate) struct Run<'a> {
    /// What it works with.
    pub(crate) env: Env<'a>,
    /// The session, read again after each commit of ours.
    pub(crate) session: Session,
    /// The stage being worked on, which says how far commits reach.
    pub(crate) stage: Cell<Stage>,
    /// The draft in progress.
    pub(crate) current_draft: RefCell<Option<CurrentDraft>>,
    /// The first conversation continues the transcript that a killed or stopped run left.
    pub(crate) continues_transcript: Cell<bool>,
    /// What the last stop has kept, in words.
    pub(crate) kept: RefCell<Option<String>>,
    /// This run has made a working tree for an agent program.
    pub(crate) has_agent_worktree: Cell<bool>,
    /// Who makes the drafts of this stage, where a person has taken another model for it.
    pub(crate) taken: RefCell<Option<(Stage, Player)>>,
    /// Warnings this run has given that are given once.
    warned: RefCell<BTreeSet<String>>,
}

impl<'a> Run<'a> {
    /// A run that goes on from where the session stands.
    pub(crate) fn new(env: Env<'a>, session: Session) -> Self {
        let stage = Cell::new(session.next_stage().unwrap_or(stages::last()));
        Self {
            env,
            session,
            stage,
            current_draft: RefCell::default(),
            continues_transcript: Cell::default(),
            kept: RefCell::default(),
            has_agent_worktree: Cell::default(),
            taken: RefCell::default(),
            warned: RefCell::default(),
        }
    }

    /// How much process the session gets: a row of the table of depths.
    pub(crate) fn depth(&self) -> &'static DepthSpec {
        stages::depth(self.session.depth())
    }

    /// How much there may be of everything.
    pub(crate) fn limits(&self) -> Limits {
        let limits = self.env.config.limits.at(self.session.depth());
        match &self.session.file.origin {
            Some(from) => limits.with_at_least([from.requirements, from.features, from.tasks]),
            None => limits,
        }
    }

    /// Whether a person decides on the drafts of a stage.
    pub(crate) fn gated(&self, stage: Stage) -> bool {
        let usual = self.depth().gate(stage, &self.session.order());
        self.env.config.gate_named(self.session.depth(), stage).unwrap_or(usual)
    }

    /// Whoever judges the drafts of a stage, if anybody does.
    pub(crate) fn critic<'s>(&self, spec: &'s StageSpec) -> Option<&'s RoleSpec> {
        spec.critic.as_ref().filter(|_| self.depth().critic(spec.stage, &self.session.order()))
    }

    /// Whether a stage's drafts are by an agent program, which works on files without our tools.
    pub(crate) fn is_drafted_by_agent(&self, stage: Stage) -> bool {
        self.player(stage, Role::Actor).is_ok_and(|player| player.model.agent().is_some())
    }

    /// Whether the actor's conversation goes on from one stage to the other, or from one draft or task to
    /// the next of the same. That of an agent program is one for each stage.
    pub(crate) fn joins(&self, earlier: Stage, later: Stage) -> bool {
        match self.is_drafted_by_agent(later) {
            true => earlier == later,
            false => self.depth().joins(earlier, later),
        }
    }

    /// The actor's tools in a stage: where stages share a conversation, all have those of the last.
    pub(crate) fn actor_tools(&self, spec: &StageSpec) -> Vec<&'static str> {
        let order = self.session.order();
        let last =
            self.depth().conversation(spec.stage).iter().rfind(|stage| order.contains(stage));
        last.map_or(spec, |last| self.session.row(*last)).actor.tools()
    }

    /// Drafts that earlier, completed runs of the stage used.
    pub(crate) fn earlier_drafts(&self, stage: Stage) -> u32 {
        let entries = self.session.history.iter();
        entries.filter(|entry| entry.kind == Kind::Stage(stage)).map(Entry::iterations).sum()
    }

    pub(crate) fn recorder(&self) -> Recorder<'_> {
        let scope = match stages::row(self.stage.get()).approves {
            Approves::Tree => Scope::Code,
            Approves::Artifacts => Scope::Documents,
        };
        Recorder {
            git: self.env.git,
            refs: self.env.refs,
            project: &self.env.config.project,
            state: self.env.state,
            workspace: self.env.workspace,
            name: &self.session.name,
            id: &self.session.file.id,
            scope,
        }
    }

    pub(crate) fn files(&self) -> SessionFiles<'_> {
        let name = &self.session.name;
        self.env.workspace.session_files(name.artifact_dir(), name.record_dir())
    }

    /// Reads the session again after a commit of ours.
    pub(crate) fn advance(&mut self, tip: &Oid) -> anyhow::Result<()> {
        self.tell_hook_additions()?;
        self.session = Session::load(self.env.git, &self.session.name, tip)?;
        self.env.workspace.written().clear()
    }

    /// The same where the commit left these paths to later ones.
    pub(crate) fn advance_leaving(&mut self, tip: &Oid, left: &[String]) -> anyhow::Result<()> {
        self.tell_hook_additions()?;
        self.session = Session::load(self.env.git, &self.session.name, tip)?;
        self.env.workspace.written().forget_all_but(left)
    }

    fn tell_hook_additions(&self) -> anyhow::Result<()> {
        if let Some((hook, paths)) = record::hook_additions::take_note(&self.recorder())? {
            self.warn(format!("the {hook} hook added to the commit: {}", paths.join(", ")));
        }
        Ok(())
    }

    /// Writes feedback into the session's file and tells whoever listens. What stands there
    /// already (a run that was killed said it) is not written twice.
    pub(crate) fn give_feedback(&self, entries: Vec<Feedback>) -> anyhow::Result<()> {
        let files = self.files();
        let store = Store::new(&files);
        let known = self.feedback_so_far()?;
        let same = |a: &Feedback, b: &Feedback| {
            (a.stage, a.iteration, a.from, &a.details) == (b.stage, b.iteration, b.from, &b.details)
        };
        let mut new: Vec<Feedback> =
            entries.into_iter().filter(|entry| !known.iter().any(|k| same(k, entry))).collect();
        let secrets = self.env.workspace.secrets();
        for entry in &mut new {
            // It is recorded, and told to models: hooks, commands and people may say anything.
            entry.details = secrets.blanked(&entry.details).into_owned();
            let fix = entry.suggested_fix.take();
            entry.suggested_fix = fix.map(|fix| secrets.blanked(&fix).into_owned());
            // The second strike: it was said before, and nothing came of it (row J5).
            if entry.from != Origin::Human && made_before(&known, entry) {
                entry.severity = Severity::Critical;
            }
            self.env.sink.emit(Event::Feedback {
                stage: entry.stage,
                from: entry.from.name().to_owned(),
                severity: entry.severity.name().to_owned(),
                details: entry.details.clone(),
            });
        }
        store.add_feedback(&new)
    }

    /// Everything that was said about drafts in this session.
    pub(crate) fn feedback_so_far(&self) -> anyhow::Result<Vec<Feedback>> {
        let mut said = self.all_feedback()?;
        // A wish to go back names the draft it came from, which went with the way back; the reason for
        // a change of a record asks for nothing.
        said.retain(|entry| entry.goto_stage().is_none() && !entry.is_reason());
        Ok(said)
    }

    /// Everything that was said in this session.
    pub(crate) fn all_feedback(&self) -> anyhow::Result<Vec<Feedback>> {
        let files = self.files();
        let mut said = Store::new(&files).feedback()?;
        said.retain(|entry| !entry.is_reason());
        Ok(said)
    }

    pub(crate) fn feedback(
        &self,
        stage: Stage,
        iteration: u32,
        from: Origin,
        details: &str,
    ) -> Feedback {
        Feedback {
            at: now(),
            stage,
            iteration,
            from,
            feedback_type: FeedbackType::QualityIssue,
            severity: if from == Origin::Human { Severity::Critical } else { Severity::Major },
            details: details.to_owned(),
            suggested_fix: None,
            extra: serde_json::Map::new(),
        }
    }

    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.env.sink.emit(Event::Warning { text: text.into() });
    }

    /// A warning that is given once in a run, however often there is reason for it.
    pub(crate) fn warn_once(&self, text: impl Into<String>) {
        let text = text.into();
        if self.warned.borrow_mut().insert(text.clone()) {
            self.warn(text);
        }
    }

    pub(crate) fn note(&self, text: impl Into<String>) {
        self.env.sink.emit(Event::Note { text: text.into() });
    }

    /// Who plays a role in a stage: the configured model, or for drafts the one a person has taken.
    pub(crate) fn player(&self, stage: Stage, role: Role) -> anyhow::Result<Player> {
        let drafts = matches!(role, Role::Actor | Role::SelfReview);
        let taken = self.taken.borrow();
        if let Some((_, player)) = taken.as_ref().filter(|(of, _)| drafts && *of == stage) {
            return Ok(player.clone());
        }
        let (name, config) = self.env.config.model_for(stage, role)?;
        let model = self.env.models.get(name)?;
        Ok(Player { name: name.to_owned(), config: config.clone(), model })
    }
}

/// The time, for an entry of feedback.
pub(crate) fn now() -> String {
    clock::rfc3339(clock::now())
}
