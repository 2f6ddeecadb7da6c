//! The runner: takes the stages of a session one after the other, each through the one loop.
//!
//! What is done is read from history before every stage; what a stage leaves is written by the
//! recorder. Nothing about progress is kept here between two runs.

mod brief;
pub(crate) mod change;
pub mod checks;
mod corrections;
mod critic;
mod draft;
mod edits;
mod evidence;
pub mod files;
mod history;
mod limits;
mod progress;
pub mod prompts;
mod protected_files;
mod record_stage;
mod report;
mod review;
mod stage_loop;
mod summary;
pub mod table;
mod test_changes;
mod usage;

pub use brief::repository::describe;
pub use evidence::leave_base;
pub use history::discarded::Leaving;
pub use history::rewind::before;
pub use limits::blocked::{files_show, has_failed, standstill};
pub use review::answer::Answer;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::artifact::check::made_before;
use crate::artifact::{Feedback, FeedbackType, Origin, Severity, Store};
use crate::clock;
use crate::config::Config;
use crate::error::{Error, is_disk_full};
use crate::event::{Event, Sink};
use crate::gate::{Gate, Mode};
use crate::git::{Git, Oid};
use crate::interrupt;
use crate::model::Model;
use crate::model::meter::Meter;
use crate::record::{DraftEnding, DraftNotes, Recorder, Scope};
use crate::session::{RefNames, Session, StateDir};
use crate::stage::{Role, Stage};
use crate::tool::{Person, ProjectCommands};
use crate::verify;
use crate::workspace::{SessionFiles, Workspace};
use prompts::Prompts;
use stage_loop::StageEnd;
use table::Approves;

/// The models of a run.
pub struct Models {
    /// By configured name; `default` is always there.
    pub by_name: BTreeMap<String, Box<dyn Model>>,
    /// What they all are counted by.
    pub meter: Rc<Meter>,
}

impl Models {
    fn get(&self, name: &str) -> anyhow::Result<&dyn Model> {
        match self.by_name.get(name).or_else(|| self.by_name.get("default")) {
            Some(model) => Ok(model.as_ref()),
            None => Err(Error::model(format!("there is no model '{name}'")).into()),
        }
    }
}

/// How a run ended, when nothing went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The delivery commit exists.
    Completed,
    /// The stage `--stop-after` named is done.
    Stopped(Stage),
    /// A person is waited for.
    Waiting {
        /// Stage that waits.
        stage: Stage,
        /// Why, beyond the usual review.
        why: Option<String>,
    },
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
    /// Files and commands.
    pub workspace: &'a Workspace,
    /// J.
    pub state: &'a StateDir,
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
struct UnderWay {
    iteration: u32,
    ending: DraftEnding,
    notes: DraftNotes,
    /// It cannot go on without a person, and why: that must be known again after a stop, also
    /// where no file was written.
    stuck: Option<String>,
}

/// A run of a session.
pub struct Pipeline<'a> {
    env: Env<'a>,
    session: Session,
    /// The stage being worked on, which says how far commits reach.
    stage: Cell<Stage>,
    under_way: RefCell<Option<UnderWay>>,
    /// The first conversation goes on with the one a killed or stopped run left.
    goes_on: Cell<bool>,
    /// What the last stop has kept, in words.
    kept: RefCell<Option<String>>,
    /// Warnings this run has given that are given once.
    told: RefCell<BTreeSet<String>>,
}

impl<'a> Pipeline<'a> {
    /// A run that goes on from where the session stands.
    pub fn new(env: Env<'a>, session: Session) -> Self {
        let stage = Cell::new(session.next_stage().unwrap_or(Stage::Delivery));
        let (under_way, goes_on, kept) = <(RefCell<_>, Cell<_>, RefCell<_>)>::default();
        Self { env, session, stage, under_way, goes_on, kept, told: RefCell::default() }
    }

    /// Ends the run after this stage.
    pub fn stop_after(&mut self, stage: Option<Stage>) {
        self.env.stop_after = stage;
    }

    /// Runs the stages that are not done.
    ///
    /// # Errors
    /// Of every kind. The draft under way is kept and the working tree put back, unless somebody
    /// has moved HEAD or the branch: then everything is left as it lies.
    pub async fn run(&mut self) -> anyhow::Result<Finish> {
        self.protect_theirs()?;
        self.forget_failure()?;
        let result = self.stages().await.map_err(|error| self.make_room(error));
        // The reason of the stop is what the person must hear, whatever else fails.
        if let Err(reason) = &result {
            let kept = self.stop_after_error(Some(reason));
            if let Err(error) = kept.and_then(|()| self.note_failure(reason)) {
                self.warn(format!("the draft could not be kept: {error:#}"));
            }
        }
        result
    }

    /// Keeps the draft under way in its ref and puts the session's paths back to the tip. Also for
    /// a run that was dropped in the middle by a signal.
    pub fn stop_cleanly(&self) -> anyhow::Result<()> {
        self.stop_after_error(None)
    }

    /// The same for a run that ended with an error, which the person hears anyway.
    fn stop_after_error(&self, told: Option<&anyhow::Error>) -> anyhow::Result<()> {
        let Some(UnderWay { iteration, ending, mut notes, stuck }) = self.under_way.take() else {
            return Ok(());
        };
        notes.credit.at_least(self.credit_so_far(self.stage.get()));
        let recorder = self.recorder();
        let tip = &self.session.tip;
        if let Err(error) = recorder.expect_tip(tip) {
            // HEAD or the branch moved: where that ended the run, it is what the error is about.
            let branch = self.env.refs.short_branch(&self.session.name);
            let about = told.map(ToString::to_string).unwrap_or_default();
            self.warn(match about.contains("HEAD ") || about.contains(&branch) {
                true => "files were left as they lie".to_owned(),
                false => format!("files were left as they lie: {error}"),
            });
            self.kept.replace(Some("the files lie where they were".to_owned()));
            return Ok(());
        }
        let stage = self.stage.get();
        let name = RefNames::draft(&self.session.name, stage);
        if stuck.is_some() || recorder.differs_from(tip)? {
            notes.stuck = stuck;
            recorder.draft(tip, stage, iteration, ending, &notes)?;
            self.kept
                .replace(Some(format!("draft {iteration} of {stage} is kept: git show {name}")));
        }
        recorder.put_back(tip)
    }

    /// On a full disk: gives back what can be written again, so that the draft can be kept.
    fn make_room(&self, error: anyhow::Error) -> anyhow::Error {
        if !is_disk_full(&error) {
            return error;
        }
        let freed = self.env.state.prune(self.stage.get()) / 1024;
        Error::repository(format!("the disk is full: {error:#}"))
            .hint(format!("make room (old logs of this session are gone already: {freed} KiB)"))
            .hint(format!("then: git cowork resume {}", self.session.name))
            .into()
    }

    /// What the operating system refused in this run.
    pub fn troubles(&self) -> Vec<String> {
        self.env.workspace.troubles()
    }

    /// What the last [`Self::stop_cleanly`] has kept, for people.
    pub fn kept(&self) -> Option<String> {
        self.kept.borrow().clone()
    }

    async fn stages(&mut self) -> anyhow::Result<Finish> {
        if !self.session.is_completed() {
            verify::require_readable(self.env.git, &self.session)?;
        }
        self.put_back_comments()?;
        self.compare_last()?;
        self.recorder().labels(&self.session)?;
        if let Some(stage) = self.env.stop_after.filter(|stage| self.session.done().contains(stage))
        {
            return Ok(Finish::Stopped(stage));
        }
        loop {
            if self.session.is_completed() {
                let commit = self.session.tip.to_string();
                let meter = &self.env.models.meter;
                let (spent, here) = (meter.used(), meter.in_this_run());
                self.env.sink.emit(Event::SessionCompleted { commit, spent, here });
                return Ok(Finish::Completed);
            }
            interrupt::check()?;
            let stage = self.present_stage()?;
            self.stage.set(stage);
            self.raise_format(stage)?;
            let spec = table::row_of(stage, self.session.is_patch());
            match self.run_stage(spec).await? {
                StageEnd::Completed(stage) if self.env.stop_after == Some(stage) => {
                    return Ok(Finish::Stopped(stage));
                }
                StageEnd::Completed(_) | StageEnd::Rework => {}
                StageEnd::Waiting(why) => return Ok(Finish::Waiting { stage, why }),
                StageEnd::GoBack(way) => self.go_back(&way)?,
            }
        }
    }

    /// The stage that is worked on: the next one, or coding while its corrections are open.
    fn present_stage(&self) -> anyhow::Result<Stage> {
        let next = self.session.next_stage().unwrap_or(Stage::Delivery);
        let reworked = next == Stage::Check && self.rework_is_open()?;
        Ok(if reworked { Stage::Coding } else { next })
    }

    fn recorder(&self) -> Recorder<'_> {
        let scope = match table::row(self.stage.get()).approves {
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

    fn files(&self) -> SessionFiles<'_> {
        SessionFiles {
            workspace: self.env.workspace,
            artifact_dir: self.session.name.artifact_dir(),
            record_dir: self.session.name.record_dir(),
        }
    }

    /// Reads the session anew after a commit of ours.
    fn advance(&mut self, tip: &Oid) -> anyhow::Result<()> {
        self.session = Session::load(self.env.git, &self.session.name, tip)?;
        self.env.workspace.clear_journal()
    }

    /// The same where the commit left these paths to later ones.
    fn advance_leaving(&mut self, tip: &Oid, left: &[String]) -> anyhow::Result<()> {
        self.session = Session::load(self.env.git, &self.session.name, tip)?;
        self.env.workspace.forget_all_but(left)
    }

    /// Writes feedback into the session's file and tells whoever listens. What stands there
    /// already (a run that was killed said it) is not written twice.
    fn give_feedback(&self, entries: Vec<Feedback>) -> anyhow::Result<()> {
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
    fn feedback_so_far(&self) -> anyhow::Result<Vec<Feedback>> {
        let mut said = self.all_feedback()?;
        // A wish to go back names the draft it came from, which went with the way back; the reason for
        // a change of a record asks for nothing.
        said.retain(|entry| entry.goto_stage().is_none() && !entry.is_reason());
        Ok(said)
    }

    /// Everything that was said in this session.
    fn all_feedback(&self) -> anyhow::Result<Vec<Feedback>> {
        let files = self.files();
        let mut said = Store::new(&files).feedback()?;
        said.retain(|entry| !entry.is_reason());
        Ok(said)
    }

    fn feedback(&self, stage: Stage, iteration: u32, from: Origin, details: &str) -> Feedback {
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

    fn warn(&self, text: impl Into<String>) {
        self.env.sink.emit(Event::Warning { text: text.into() });
    }

    /// A warning that is given once in a run, however often there is reason for it.
    fn warn_once(&self, text: impl Into<String>) {
        let text = text.into();
        if self.told.borrow_mut().insert(text.clone()) {
            self.warn(text);
        }
    }

    fn note(&self, text: impl Into<String>) {
        self.env.sink.emit(Event::Note { text: text.into() });
    }

    fn model_for(&self, stage: Stage, role: Role) -> anyhow::Result<(&dyn Model, u64)> {
        let (name, config) = self.env.config.model_for(stage, role)?;
        Ok((self.env.models.get(name)?, config.context_window))
    }
}

fn now() -> String {
    clock::rfc3339(clock::now())
}
