//! A run of a session: processes its stages one after the other with the same stage loop.
//!
//! The state is read from history before every stage, and the result of a stage is written by the
//! recorder. No progress is stored here between two runs.
//!
//! [`run::Run`] is the base that every step may use. A step is a function that takes a `Run` and
//! imports only what `ARCHITECTURE.md` lists above the step's own folder.

mod brief;
mod change;
pub mod checks;
mod commit_message;
mod corrections;
mod criteria;
mod critic;
mod draft;
mod draft_count;
mod draft_state;
mod edits;
mod evidence;
mod files;
mod history;
mod knowledge;
mod limits;
pub(crate) mod other_models;
mod outcome;
pub mod prompts;
mod protected_files;
mod record_stage;
mod report;
mod review;
mod run;
mod similar_rejections;
mod stage_loop;
mod step;
mod test_changes;

pub use brief::repository::describe;
pub(crate) use draft::agent_program::{own_files, reachable, workplace};
pub(crate) use evidence::failing::names as failed_tests;
pub(crate) use evidence::refused_in;
pub use history::discarded::Discarded;
pub use history::rewind::before;
pub use history::waiting_draft::only_waits;
pub use limits::blocked::{files_show, has_failed, stopped_at, why_blocked};
pub use other_models::{Candidate, Candidates, OtherModels, Player, Taken};
pub use review::answer::{Answer, require_completed, require_waiting};
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
use crate::stages::{self, row};
use crate::verify;
use change::reviewer_feedback;
use draft::{agent_program, keep};
use history::{from_files, present_stage, raise, rewind};
use limits::{answers, blocked};
use outcome::StageEnd;
use review::answer;
use run::Run;

/// How a run ended without an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The delivery commit exists.
    Completed,
    /// The stage that `--stop-after` names is done.
    Stopped(Stage),
    /// The run waits for a person.
    Waiting {
        /// The stage that waits.
        stage: Stage,
        /// The reason, if it is not the usual review.
        why: Option<String>,
        /// The commands that answer it.
        answers: Vec<String>,
    },
}

/// A run of a session.
pub struct Pipeline<'a>(Run<'a>);

impl<'a> Pipeline<'a> {
    /// Creates a run that continues the session.
    pub fn new(env: Env<'a>, session: Session) -> Self {
        Self(Run::new(env, session))
    }

    /// Makes the run end after this stage.
    pub fn stop_after(&mut self, stage: Option<Stage>) {
        self.0.env.stop_after = stage;
    }

    /// Runs the remaining stages.
    ///
    /// # Errors
    /// Of every kind. The draft in progress is saved and the working tree reset, unless HEAD or the
    /// branch has moved: then all files are left unchanged.
    pub async fn run(&mut self) -> anyhow::Result<Finish> {
        protected_files::protect(&self.0)?;
        blocked::forget_failure(&self.0)?;
        // A killed run may have left an agent program's working tree.
        agent_program::discard_empty(self.0.env.git, self.0.env.state)?;
        let result = self.stages().await.map_err(|error| make_room(&self.0, error));
        // The reason for the stop must be reported, whatever else fails.
        if let Err(reason) = &result {
            let saving = keep::stop_cleanly(&self.0, Some(reason));
            if let Err(error) = saving.and_then(|()| blocked::note_failure(&self.0, reason)) {
                self.0.warn(format!("could not save the draft: {error:#}"));
            }
        }
        self.leave_agent_worktree();
        result
    }

    /// Saves the draft in progress in its ref and resets the session's paths to the tip. Also works
    /// for a run that a signal interrupted.
    ///
    /// # Errors
    /// Git fails.
    pub fn stop_cleanly(&self) -> anyhow::Result<()> {
        let result = keep::stop_cleanly(&self.0, None);
        self.leave_agent_worktree();
        result
    }

    /// Removes the working tree of an agent program, whose changes have been copied into the
    /// session's tree.
    fn leave_agent_worktree(&self) {
        if let Err(error) = agent_program::discard(self.0.env.git, self.0.env.state) {
            // The next run tries again.
            self.0
                .warn(format!("could not remove the working tree of an agent program: {error:#}"));
        }
    }

    /// The notes that a person types for the actor.
    pub fn typed(&self) -> Arc<TypedNotes> {
        Arc::clone(self.0.env.typed)
    }

    /// The I/O errors of this run.
    pub fn troubles(&self) -> Vec<String> {
        self.0.env.workspace.io_errors().all()
    }

    /// What the last [`Self::stop_cleanly`] saved, as a message.
    pub fn kept(&self) -> Option<String> {
        self.0.kept.borrow().clone()
    }

    /// Records the answer to a waiting draft. `None` if the person stopped without answering.
    ///
    /// # Errors
    /// Exit 5 if no draft is waiting.
    pub fn answer(&mut self, answer: Answer, editor: &Editor) -> anyhow::Result<Option<Oid>> {
        answer::give_answer(&mut self.0, answer, editor)
    }

    /// Approves the present content of a completed stage, as one commit.
    ///
    /// # Errors
    /// Exit 5: the stage is not completed, or its files have uncommitted changes.
    pub fn approve(&mut self, stage: Stage) -> anyhow::Result<Oid> {
        answer::approve(&mut self.0, stage)
    }

    /// Marks the stages before `next` as done, or all stages if it is `None`: one commit records
    /// this and removes the files of later stages, which remain in the history.
    ///
    /// # Errors
    /// Exit 5: the files do not show these stages, or a commit cannot be made.
    pub fn take_as_done(&mut self, next: Option<Stage>) -> anyhow::Result<()> {
        from_files::take_as_done(&mut self.0, next)
    }

    /// Goes back to before a stage at a person's request (`revert`, `resume --goto-stage`), after
    /// the person was shown what the branch loses. The reason may be empty.
    ///
    /// # Errors
    /// Exit 5 if the stage was not reached, or changes of the user would be lost.
    pub fn rewind(&mut self, stage: Stage, reason: &str) -> anyhow::Result<()> {
        rewind::rewind(&mut self.0, stage, reason)
    }

    /// Raises the depth of a session that has no code yet.
    ///
    /// # Errors
    /// Exit 5: the depth would be lower, coding has begun, or the user's files would be
    /// overwritten.
    pub fn raise(&mut self, depth: Depth) -> anyhow::Result<()> {
        raise::raise(&mut self.0, depth)
    }

    /// Makes an attempt the tip again; the present tip becomes an attempt.
    ///
    /// # Errors
    /// Exit 5 if changes of the user would be lost, or HEAD is elsewhere; nothing is changed then.
    pub fn restore(&mut self, attempt: &Attempt) -> anyhow::Result<()> {
        rewind::restore_attempt(&mut self.0, attempt)
    }

    /// Records reviewers' comments on the delivered session as one commit: feedback to coding, and
    /// a task whose commit will answer them. It reopens coding, check and delivery.
    ///
    /// # Errors
    /// Exit 5: the session is not delivered; a hook refuses the commit.
    pub fn reopen(&mut self, comments: &str) -> anyhow::Result<()> {
        edits::tell_of_edited_earlier(&self.0, self.0.session.row(stages::code_stage()))?;
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
        let mut has_offered = false;
        let mut evidence = None;
        loop {
            if run.session.is_completed() {
                knowledge::offer(run, None)?;
                let commit = run.session.tip.to_string();
                let meter = &run.env.models.meter;
                let (spent, here) = (meter.used(), meter.in_this_run());
                let summary = report::delivered(run)
                    .inspect_err(|error| {
                        tracing::warn!("cannot print the summary of the run: {error:#}")
                    })
                    .ok()
                    .map(Box::new);
                run.env.sink.emit(Event::SessionCompleted {
                    commit,
                    spent,
                    here,
                    delivered: summary,
                });
                return Ok(Finish::Completed);
            }
            interrupt::check()?;
            raise::give_documents(run)?;
            let stage = present_stage(run)?;
            run.stage.set(stage);
            raise::raise_format(run, stage)?;
            if !has_offered && row(stage).is_before_code() {
                knowledge::offer(run, Some(stage))?;
            }
            has_offered = true;
            let spec = run.session.row(stage);
            match stage_loop::run_stage(run, spec, &mut evidence).await? {
                StageEnd::Completed(stage) if run.env.stop_after == Some(stage) => {
                    return Ok(Finish::Stopped(stage));
                }
                StageEnd::Completed(_) | StageEnd::Rework => {}
                StageEnd::Waiting(why) => {
                    let answers = answers::answers(run, spec)?;
                    return Ok(Finish::Waiting { stage, why, answers });
                }
                StageEnd::GoBack(way) => rewind::go_back(run, &way)?,
                StageEnd::Raise(depth) => raise::raise(run, depth)?,
            }
        }
    }
}

/// If the disk is full, deletes files that can be recreated, so that the draft can be saved.
fn make_room(run: &Run<'_>, error: anyhow::Error) -> anyhow::Error {
    if !is_disk_full(&error) {
        return error;
    }
    let kib = run.env.state.prune(run.stage.get()) / 1024;
    Error::repository(format!("the disk is full: {error:#}"))
        .hint(format!("free some space (old logs of this session are already deleted: {kib} KiB)"))
        .hint(format!("then: git cowork resume {}", run.session.name))
        .into()
}
