//! A run of a session: takes its stages one after the other, each through the one loop.
//!
//! What is done is read from history before every stage; what a stage leaves is written by the
//! recorder. Nothing about progress is kept here between two runs.
//!
//! [`run::Run`] is at the bottom: what every step may use. A step is a function that takes it, and
//! imports only what `ARCHITECTURE.md` shows below its own folder.

mod brief;
mod change;
pub mod checks;
mod corrections;
mod criteria;
mod critic;
mod draft;
mod edits;
mod evidence;
mod files;
mod history;
mod knowledge;
mod limits;
pub(crate) mod other_models;
mod outcome;
mod progress;
pub mod prompts;
mod protected_files;
mod record_stage;
mod report;
mod review;
mod run;
mod stage_loop;
mod summary;
mod test_changes;
mod usage;

pub use brief::repository::describe;
pub(crate) use draft::agent_program::{own_files, reachable, workplace};
pub(crate) use evidence::failing::names as failed_tests;
pub use evidence::leave_base;
pub(crate) use evidence::refused_in;
pub use history::discarded::Discarded;
pub use history::rewind::before;
pub use limits::blocked::{files_show, has_failed, why_blocked};
pub use other_models::{Candidate, Candidates, OtherModels, Player, Taken};
pub use review::answer::Answer;
pub use run::{Env, Models};

use std::sync::Arc;

use crate::error::{Error, is_disk_full};
use crate::event::Event;
use crate::gate::Editor;
use crate::git::Oid;
use crate::interrupt;
use crate::record;
use crate::session::{Attempt, Session, TypedNotes};
use crate::stage::{Depth, Stage};
use crate::stages::row;
use crate::verify;
use change::reviewer_feedback;
use draft::{agent_program, stop};
use history::{formats, from_files, present_stage, raise, restore, rewind};
use limits::blocked;
use outcome::StageEnd;
use review::{answer, approve};
use run::Run;

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

/// A run of a session.
pub struct Pipeline<'a>(Run<'a>);

impl<'a> Pipeline<'a> {
    /// A run that goes on from where the session stands.
    pub fn new(env: Env<'a>, session: Session) -> Self {
        Self(Run::new(env, session))
    }

    /// Ends the run after this stage.
    pub fn stop_after(&mut self, stage: Option<Stage>) {
        self.0.env.stop_after = stage;
    }

    /// Runs the stages that are not done.
    ///
    /// # Errors
    /// Of every kind. The draft in progress is kept and the working tree put back, unless somebody
    /// has moved HEAD or the branch: then everything is left as it is.
    pub async fn run(&mut self) -> anyhow::Result<Finish> {
        protected_files::protect(&self.0)?;
        blocked::forget_failure(&self.0)?;
        // Of a run that was killed.
        agent_program::discard_empty(self.0.env.git, self.0.env.state)?;
        let result = self.stages().await.map_err(|error| make_room(&self.0, error));
        // The reason of the stop is what the person must hear, whatever else fails.
        if let Err(reason) = &result {
            let kept = stop::stop_cleanly(&self.0, Some(reason));
            if let Err(error) = kept.and_then(|()| blocked::note_failure(&self.0, reason)) {
                self.0.warn(format!("the draft could not be kept: {error:#}"));
            }
        }
        self.leave_agent_worktree();
        result
    }

    /// Keeps the draft in progress in its ref and puts the session's paths back to the tip. Also for
    /// a run that was dropped in the middle by a signal.
    ///
    /// # Errors
    /// Git fails.
    pub fn stop_cleanly(&self) -> anyhow::Result<()> {
        let stopped = stop::stop_cleanly(&self.0, None);
        self.leave_agent_worktree();
        stopped
    }

    /// Removes the working tree of an agent program; what it changed is in the session's by now.
    fn leave_agent_worktree(&self) {
        if let Err(error) = agent_program::discard(self.0.env.git, self.0.env.state) {
            // The next run tries again.
            self.0.warn(format!("the working tree of an agent program stays: {error:#}"));
        }
    }

    /// Where a person types for the actor.
    pub fn typed(&self) -> Arc<TypedNotes> {
        Arc::clone(self.0.env.typed)
    }

    /// What the operating system refused in this run.
    pub fn troubles(&self) -> Vec<String> {
        self.0.env.workspace.io_errors().all()
    }

    /// What the last [`Self::stop_cleanly`] has kept, for people.
    pub fn kept(&self) -> Option<String> {
        self.0.kept.borrow().clone()
    }

    /// Records the answer to a waiting draft. `None` when the person chose to stop without one.
    ///
    /// # Errors
    /// Exit 5 when nothing waits.
    pub fn answer(&mut self, answer: Answer, editor: &Editor) -> anyhow::Result<Option<Oid>> {
        answer::give_answer(&mut self.0, answer, editor)
    }

    /// Approves what a completed stage has become, as one commit.
    ///
    /// # Errors
    /// Exit 5: the stage is not completed, or its files have uncommitted changes.
    pub fn approve(&mut self, stage: Stage) -> anyhow::Result<Oid> {
        approve::approve(&mut self.0, stage)
    }

    /// Takes the stages before `next` as done, all where there is none: one commit says so, and takes
    /// the files of the others away. History keeps them.
    ///
    /// # Errors
    /// Exit 5: the files do not show these stages, or a commit cannot be made.
    pub fn take_as_done(&mut self, next: Option<Stage>) -> anyhow::Result<()> {
        from_files::take_as_done(&mut self.0, next)
    }

    /// Goes back because a person wants it, who was told what leaves the branch: `revert`, `resume
    /// --goto-stage`. Their reason may be empty.
    ///
    /// # Errors
    /// Exit 5 when the stage was not reached, or something of the user's would be lost.
    pub fn rewind(&mut self, stage: Stage, reason: &str) -> anyhow::Result<()> {
        rewind::rewind(&mut self.0, stage, reason)
    }

    /// Gives a session more process whose code is not begun.
    ///
    /// # Errors
    /// Exit 5: the depth is less, coding has begun, or something of the user's is in the way.
    pub fn raise(&mut self, depth: Depth) -> anyhow::Result<()> {
        raise::raise(&mut self.0, depth)
    }

    /// Makes an attempt the tip again; the present tip becomes an attempt.
    ///
    /// # Errors
    /// Exit 5 when something of the user's would be lost, or HEAD is elsewhere; nothing has moved.
    pub fn restore(&mut self, attempt: &Attempt) -> anyhow::Result<()> {
        restore::restore_attempt(&mut self.0, attempt)
    }

    /// Records reviewers' comments on the delivered session as one commit: feedback to coding, and a
    /// task whose commit will answer them. Coding, check and delivery are open again after it.
    ///
    /// # Errors
    /// Exit 5: the session is not delivered; a hook refuses the commit.
    pub fn reopen(&mut self, comments: &str) -> anyhow::Result<()> {
        reviewer_feedback::reopen(&mut self.0, comments)
    }

    async fn stages(&mut self) -> anyhow::Result<Finish> {
        let run = &mut self.0;
        if !run.session.is_completed() {
            verify::require_readable(run.env.git, &run.session)?;
        }
        reviewer_feedback::put_back_comments(run)?;
        knowledge::take_back(run)?;
        record_stage::compare_last(run)?;
        record::tags::add_missing(&run.recorder(), &run.session)?;
        if let Some(stage) = run.env.stop_after.filter(|stage| run.session.done().contains(stage)) {
            return Ok(Finish::Stopped(stage));
        }
        let mut offered = false;
        loop {
            if run.session.is_completed() {
                knowledge::offer(run, None)?;
                let commit = run.session.tip.to_string();
                let meter = &run.env.models.meter;
                let (spent, here) = (meter.used(), meter.in_this_run());
                let delivered = report::delivered(run)
                    .inspect_err(|error| {
                        tracing::warn!("the end of the run is not told: {error:#}")
                    })
                    .ok()
                    .map(Box::new);
                run.env.sink.emit(Event::SessionCompleted { commit, spent, here, delivered });
                return Ok(Finish::Completed);
            }
            interrupt::check()?;
            raise::give_documents(run)?;
            let stage = present_stage::present_stage(run)?;
            run.stage.set(stage);
            formats::raise_format(run, stage)?;
            if !offered && row(stage).is_before_code() {
                knowledge::offer(run, Some(stage))?;
            }
            offered = true;
            let spec = run.session.row(stage);
            match stage_loop::run_stage(run, spec).await? {
                StageEnd::Completed(stage) if run.env.stop_after == Some(stage) => {
                    return Ok(Finish::Stopped(stage));
                }
                StageEnd::Completed(_) | StageEnd::Rework => {}
                StageEnd::Waiting(why) => return Ok(Finish::Waiting { stage, why }),
                StageEnd::GoBack(way) => rewind::go_back(run, &way)?,
                StageEnd::Raise(depth) => raise::raise(run, depth)?,
            }
        }
    }
}

/// On a full disk: gives back what can be written again, so that the draft can be kept.
fn make_room(run: &Run<'_>, error: anyhow::Error) -> anyhow::Error {
    if !is_disk_full(&error) {
        return error;
    }
    let freed = run.env.state.prune(run.stage.get()) / 1024;
    Error::repository(format!("the disk is full: {error:#}"))
        .hint(format!("make room (old logs of this session are gone already: {freed} KiB)"))
        .hint(format!("then: git cowork resume {}", run.session.name))
        .into()
}
