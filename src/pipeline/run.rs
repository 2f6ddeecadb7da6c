//! What every step of a run may use: the session, its files, the recorder, feedback and messages.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::artifact::{Artifact, Feedback, FeedbackType, Origin, Severity, Store};
use crate::clock;
use crate::config::{Config, DEFAULT_MODEL, LimitsConfig, ModelConfig};
use crate::error::Error;
use crate::event::{Event, Sink};
use crate::gate::{Gate, Mode};
use crate::git::{Git, Oid};
use crate::model::Model;
use crate::model::meter::Meter;
use crate::pipeline::other_models::{OtherModels, Player};
use crate::pipeline::prompts::Prompts;
use crate::pipeline::similar_rejections::made_before;
use crate::record::{self, DraftEnding, DraftNotes, Recorder, Scope};
use crate::session::{
    self, CommittedCode, CommittedFiles, Entry, Kind, KnownRecords, RefNames, RunGates, Session,
    StateDir, TypedNotes, artifact_path,
};
use crate::stage::{Depth, Role, Stage};
use crate::stages::{self, Approves, DepthSpec, RoleSpec, StageSpec};
use crate::tool::{Person, ProjectCommands};
use crate::workspace::{SessionFiles, Workspace};

/// The models of a run.
pub struct Models {
    /// The models by configured name; `default` always exists.
    pub by_name: BTreeMap<String, Rc<dyn Model>>,
    /// Their settings, with defaults filled in.
    pub settings: BTreeMap<String, ModelConfig>,
    /// Counts the usage of all of them.
    pub meter: Rc<Meter>,
}

impl Models {
    /// The model that drafts the first stage of a session, or of a change request.
    ///
    /// # Errors
    /// Kind `Model`: the configuration names a model that does not exist.
    pub fn first(&self, config: &Config, is_patch: bool) -> anyhow::Result<Rc<dyn Model>> {
        // The depth is not chosen yet: use the first of all stages.
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

/// The environment of a run; the same for all its stages.
pub struct Env<'a> {
    /// The repository, in the session's working tree.
    pub git: &'a Git,
    /// Ref names.
    pub refs: &'a RefNames,
    /// Resolved configuration.
    pub config: &'a Config,
    /// Models.
    pub models: &'a Models,
    /// The source of other models that a person may choose; `None` if answers are replayed.
    pub others: Option<&'a dyn OtherModels>,
    /// Files and commands.
    pub workspace: &'a Workspace,
    /// The session's state directory.
    pub state: &'a StateDir,
    /// The run's gates, as other terminals see them.
    pub gates: &'a RunGates,
    /// The notes that a person types for the working actor.
    pub typed: &'a Arc<TypedNotes>,
    /// Prompts.
    pub prompts: &'a Prompts,
    /// Finds the project's commands, which may appear while code is written.
    pub commands: &'a dyn Fn() -> ProjectCommands,
    /// Receives the events of the run.
    pub sink: &'a dyn Sink,
    /// Answers questions of tools.
    pub person: &'a dyn Person,
    /// The gate on the terminal; set in [`Mode::Ask`].
    pub gate: Option<Gate<'a>>,
    /// How reviews are done.
    pub mode: Mode,
    /// Stop after this stage.
    pub stop_after: Option<Stage>,
}

/// A draft being written or judged, so that a stop can save it.
#[derive(Clone, Debug)]
pub(crate) struct CurrentDraft {
    pub(crate) iteration: u32,
    pub(crate) ending: DraftEnding,
    pub(crate) notes: DraftNotes,
}

/// A run of a session, as its steps use it.
pub(crate) struct Run<'a> {
    /// The environment.
    pub(crate) env: Env<'a>,
    /// The session's documents in the working tree.
    pub(crate) files: SessionFiles<'a>,
    /// The session, read again after each commit of the run.
    pub(crate) session: Session,
    /// The stage in progress, which determines the scope of commits.
    pub(crate) stage: Cell<Stage>,
    /// The draft in progress.
    pub(crate) current_draft: RefCell<Option<CurrentDraft>>,
    /// Whether the first conversation continues the transcript of a killed or stopped run.
    pub(crate) continues_transcript: Cell<bool>,
    /// A message that says what the last stop saved.
    pub(crate) kept: RefCell<Option<String>>,
    /// Whether this run has created a working tree for an agent program.
    pub(crate) has_agent_worktree: Cell<bool>,
    /// The other model that a person chose for a stage's drafts, with that stage.
    pub(crate) taken: RefCell<Option<(Stage, Player)>>,
    /// The documents of earlier stages with a person's edits, which the next commit names.
    pub(crate) edited_earlier: RefCell<Vec<String>>,
    /// Messages of this run that are shown only once.
    told: RefCell<BTreeSet<String>>,
    /// The records in the history of this tip.
    known_records: RefCell<Option<(Oid, Rc<KnownRecords>)>>,
    /// What the commits up to this tip changed.
    committed_code: RefCell<Option<(Oid, Rc<CommittedCode>)>>,
}

impl<'a> Run<'a> {
    /// Creates a run that continues the session.
    pub(crate) fn new(env: Env<'a>, session: Session) -> Self {
        let stage = Cell::new(session.next_stage().unwrap_or(stages::last()));
        let name = &session.name;
        let files = env.workspace.session_files(name.artifact_dir(), name.record_dir());
        Self {
            env,
            files,
            session,
            stage,
            current_draft: RefCell::default(),
            continues_transcript: Cell::default(),
            kept: RefCell::default(),
            has_agent_worktree: Cell::default(),
            taken: RefCell::default(),
            edited_earlier: RefCell::default(),
            told: RefCell::default(),
            known_records: RefCell::default(),
            committed_code: RefCell::default(),
        }
    }

    /// The row of the session's depth.
    pub(crate) fn depth(&self) -> &'static DepthSpec {
        stages::depth(self.session.depth())
    }

    /// The limits on numbers of records.
    pub(crate) fn limits(&self) -> LimitsConfig {
        let limits = self.env.config.limits.at(self.session.depth());
        match &self.session.file.origin {
            Some(from) => limits.with_at_least([from.requirements, from.features, from.tasks]),
            None => limits,
        }
    }

    /// True if a person decides on the drafts of a stage.
    pub(crate) fn gated(&self, stage: Stage) -> bool {
        let usual = self.depth().gate(stage, &self.session.order());
        self.env.config.gate_named(self.session.depth(), stage).unwrap_or(usual)
    }

    /// The critic of a stage, if it has one.
    pub(crate) fn critic<'s>(&self, spec: &'s StageSpec) -> Option<&'s RoleSpec> {
        spec.critic.as_ref().filter(|_| self.depth().critic(spec.stage, &self.session.order()))
    }

    /// True if an agent program makes the stage's drafts: it edits files without git-cowork's
    /// tools.
    pub(crate) fn is_drafted_by_agent(&self, stage: Stage) -> bool {
        self.player(stage, Role::Actor).is_ok_and(|player| player.model.agent().is_some())
    }

    /// True if the actor's conversation continues from one stage to the other, or between drafts or
    /// tasks of the same stage. An agent program has one conversation for each stage.
    pub(crate) fn joins(&self, earlier: Stage, later: Stage) -> bool {
        match self.is_drafted_by_agent(later) {
            true => earlier == later,
            false => self.depth().joins(earlier, later),
        }
    }

    /// The actor's tools in a stage: if stages share a conversation, all have the tools of the last
    /// one.
    pub(crate) fn actor_tools(&self, spec: &StageSpec) -> Vec<&'static str> {
        let order = self.session.order();
        let last =
            self.depth().conversation(spec.stage).iter().rfind(|stage| order.contains(stage));
        let mut tools = last.map_or(spec, |last| self.session.row(*last)).actor.tools();
        // Only a stage that may ask is offered the tool.
        let own_tools = spec.actor.tools();
        tools.retain(|tool| *tool != "ask_user" || own_tools.contains(tool));
        tools
    }

    /// The number of drafts that earlier, completed runs of the stage used.
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
            edited: self.edited_earlier.borrow().clone(),
        }
    }

    /// The records in the session's history, read once for each tip.
    pub(crate) fn known_records(&self) -> anyhow::Result<Rc<KnownRecords>> {
        let before = self.known_records.borrow().clone();
        once_a_tip(self, &self.known_records, |git, session| {
            let after = before.and_then(|(at, known)| known.after_task(git, session, &at));
            after.map_or_else(|| KnownRecords::read(git, session), Ok)
        })
    }

    /// What the session's commits changed outside `.cowork`, read once for each tip.
    pub(crate) fn committed_code(&self) -> anyhow::Result<Rc<CommittedCode>> {
        once_a_tip(self, &self.committed_code, session::committed_code)
    }

    /// The session's documents in the working tree, as records.
    pub(crate) fn store(&self) -> Store<'_> {
        Store::new(&self.files)
    }

    /// The session's documents in a commit or tree.
    pub(crate) fn files_at(&self, commit: &Oid) -> CommittedFiles {
        CommittedFiles::new(self.env.git, &self.session.name, commit)
    }

    /// The path of one of the session's documents.
    pub(crate) fn path_of(&self, artifact: Artifact) -> String {
        artifact_path(&self.session.name, artifact)
    }

    /// The tree that a commit of the session's files would have now.
    pub(crate) fn tree(&self) -> anyhow::Result<Oid> {
        self.recorder().tree(&self.session.tip)
    }

    /// Fails if HEAD or the branch has moved: then the files are not the draft's.
    pub(crate) fn expect_tip(&self) -> anyhow::Result<()> {
        self.recorder().expect_tip(&self.session.tip)
    }

    /// Reads the session again after a commit of the run.
    pub(crate) fn advance(&mut self, tip: &Oid) -> anyhow::Result<()> {
        self.advance_leaving(tip, &[])
    }

    /// Like [`advance`](Self::advance), after a commit that left these paths to later commits.
    pub(crate) fn advance_leaving(&mut self, tip: &Oid, left: &[String]) -> anyhow::Result<()> {
        self.tell_of_hooks()?;
        self.session = Session::load(self.env.git, &self.session.name, tip)?;
        self.env.workspace.written().forget_all_but(left)
    }

    /// Says what hooks did beside accepting or refusing commits.
    pub(crate) fn tell_of_hooks(&self) -> anyhow::Result<()> {
        let notes = record::hook_additions::take_notes(&self.recorder())?;
        notes.into_iter().for_each(|said| self.warn(said));
        Ok(())
    }

    /// Adds feedback to the session's file and emits events. Entries that exist already (from a
    /// killed run) are not added twice.
    pub(crate) fn give_feedback(&self, entries: Vec<Feedback>) -> anyhow::Result<()> {
        let feedback = self.feedback_so_far()?;
        let by_person = entries.iter().filter(|entry| entry.from == Origin::Human);
        let by_person: Vec<String> = by_person.map(|entry| entry.details.clone()).collect();
        let same = |a: &Feedback, b: &Feedback| {
            (a.stage, a.iteration, a.from, &a.details) == (b.stage, b.iteration, b.from, &b.details)
        };
        let before = self.unsolved(&feedback)?;
        let mut new: Vec<Feedback> =
            entries.into_iter().filter(|entry| !feedback.iter().any(|k| same(k, entry))).collect();
        let secrets = self.env.workspace.secrets();
        for entry in &mut new {
            // Feedback is committed and sent to models, and hooks, commands or people may quote
            // secrets.
            entry.details = secrets.blanked(&entry.details).into_owned();
            let fix = entry.suggested_fix.take();
            entry.suggested_fix = fix.map(|fix| secrets.blanked(&fix).into_owned());
            // The second strike: the same point was made before without effect, so it becomes
            // critical.
            if entry.from != Origin::Human && made_before(&before, entry) {
                entry.severity = Severity::Critical;
            }
            self.env.sink.emit(Event::Feedback {
                stage: entry.stage,
                from: entry.from.name().to_owned(),
                severity: entry.severity.name().to_owned(),
                details: entry.details.clone(),
            });
        }
        self.store().add_feedback(&new)?;
        by_person.iter().for_each(|words| self.env.typed.recorded(words));
        Ok(())
    }

    /// This feedback without what hooks and mechanical checks refused before the newest commit: it
    /// passed them, so the next task's refusal in the same words is the first.
    pub(crate) fn unsolved(&self, feedback: &[Feedback]) -> anyhow::Result<Vec<Feedback>> {
        let mechanical = |entry: &Feedback| matches!(entry.from, Origin::Hook | Origin::Validator);
        if !feedback.iter().any(mechanical) {
            return Ok(feedback.to_vec());
        }
        let at_tip = Store::new(&self.files_at(&self.session.tip)).feedback()?;
        let is_open = |entry: &&Feedback| !mechanical(entry) || !at_tip.contains(entry);
        Ok(feedback.iter().filter(is_open).cloned().collect())
    }

    /// All feedback on drafts of this session.
    pub(crate) fn feedback_so_far(&self) -> anyhow::Result<Vec<Feedback>> {
        let mut feedback = self.all_feedback()?;
        // Left out: requests to go back, because the draft that they are about was dropped, and the
        // reasons for changes of records, because they request nothing.
        feedback.retain(|entry| entry.goto_stage().is_none() && !entry.is_reason());
        Ok(feedback)
    }

    /// All feedback of this session, with requests to go back.
    pub(crate) fn all_feedback(&self) -> anyhow::Result<Vec<Feedback>> {
        let mut feedback = self.store().feedback()?;
        feedback.retain(|entry| !entry.is_reason());
        Ok(feedback)
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

    /// Emits a warning once in a run, however often it occurs.
    pub(crate) fn warn_once(&self, text: impl Into<String>) {
        let text = text.into();
        if self.told.borrow_mut().insert(text.clone()) {
            self.warn(text);
        }
    }

    /// Emits a note once in a run.
    pub(crate) fn note_once(&self, text: String) {
        if self.told.borrow_mut().insert(text.clone()) {
            self.note(text);
        }
    }

    pub(crate) fn note(&self, text: impl Into<String>) {
        self.env.sink.emit(Event::Note { text: text.into() });
    }

    /// The model that plays a role in a stage: the configured one, or for drafts a person's choice.
    pub(crate) fn player(&self, stage: Stage, role: Role) -> anyhow::Result<Player> {
        let drafts = matches!(role, Role::Actor | Role::SelfReview);
        let choice = self.taken.borrow();
        if let Some((_, player)) = choice.as_ref().filter(|(of, _)| drafts && *of == stage) {
            return Ok(player.clone());
        }
        let (name, config) = self.env.config.model_for(stage, role)?;
        let model = self.env.models.get(name)?;
        Ok(Player { name: name.to_owned(), config: config.clone(), model })
    }
}

/// What is read once for each tip.
fn once_a_tip<T>(
    run: &Run<'_>,
    kept: &RefCell<Option<(Oid, Rc<T>)>>,
    read: impl FnOnce(&Git, &Session) -> anyhow::Result<T>,
) -> anyhow::Result<Rc<T>> {
    let tip = &run.session.tip;
    if let Some((_, known)) = kept.borrow().as_ref().filter(|(at, _)| at == tip) {
        return Ok(Rc::clone(known));
    }
    let value = Rc::new(read(run.env.git, &run.session)?);
    kept.replace(Some((tip.clone(), Rc::clone(&value))));
    Ok(value)
}

/// The current time, for a feedback entry.
pub(crate) fn now() -> String {
    clock::rfc3339(clock::now())
}
