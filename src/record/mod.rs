//! The recorder: the only place that turns the working tree into commits and moves refs.
//!
//! The order makes every moment safe to be killed in: what would be left behind is kept in a side
//! ref first, then comes the one update that counts (the commit on the session's branch, or the
//! reset), then the labels that can be derived again ([`Recorder::labels`], run at every start).

mod abort;
mod approval;
mod attempt;
mod changes;
mod credit;
mod delivery;
mod format;
mod from_files;
mod kept;
mod labels;
mod landed;
mod leaks;
mod logs;
mod mend;
mod merge;
mod prune;
mod retire;

pub use abort::{arm, point};
pub use approval::{Approval, Bytes};
pub use changes::{Scope, Tracked, collect, in_session};
pub use credit::Credit;
pub use delivery::Delivery;
pub use kept::{BroughtBack, DraftEnding, DraftNotes};
pub use leaks::Leak;
pub use logs::{LOGS, Published, logs, logs_elsewhere};
pub use merge::Obstacle;
pub use prune::prune;

use std::fmt;

use crate::config::Project;
use crate::error::Error;
use crate::git::{CommitOptions, CommitOutcome, Git, Head, Oid, RefTransaction};
use crate::interrupt;
use crate::session::{
    Entry, Inheritance, Message, RefNames, Session, SessionName, StateDir, Trailers, Verdict, key,
};
use crate::stage::Stage;
use crate::stages;
use crate::workspace::Workspace;

/// Name of the note in J about a stage commit that has to be compared with what was approved: the
/// commit it is made on.
const UNCOMPARED: &str = "uncompared.json";

/// What came of an attempt to commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The commit exists.
    Done(Oid),
    /// It may not be made; why is feedback for the actor.
    Refused(Refused),
}

/// Why a commit was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A hook of the repository refused.
    Hook {
        /// Hook name.
        hook: String,
        /// What it printed.
        output: String,
    },
    /// It would hold secrets.
    Secrets(Vec<Leak>),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hook { hook, output } => {
                write!(f, "the repository's {hook} hook refused the commit:\n{}", output.trim())
            }
            Self::Secrets(leaks) => {
                f.write_str("the commit was refused, for secrets must not be recorded:")?;
                leaks.iter().try_for_each(|leak| write!(f, "\n{leak}"))
            }
        }
    }
}

/// What a stage commit says.
#[derive(Clone, Debug)]
pub struct StageRecord {
    /// Stage.
    pub stage: Stage,
    /// What came out of it.
    pub summary: String,
    /// A few lines.
    pub body: String,
    /// Actor drafts used.
    pub iterations: u32,
    /// The approval of a gated stage.
    pub approval: Option<Approval>,
    /// What the actor's self-review came to; empty where there was none.
    pub self_review: &'static str,
    /// Who generated it.
    pub credit: Credit,
    /// What the program ran on that tree.
    pub checks: Option<String>,
    /// Each of its commands with how it ended, its log and its tree.
    pub evidence: Vec<String>,
}

/// Writes a session's commits and refs.
pub struct Recorder<'a> {
    /// The repository, in the session's working tree.
    pub git: &'a Git,
    /// Ref names.
    pub refs: &'a RefNames,
    /// Subject template, attribution, tags.
    pub project: &'a Project,
    /// J.
    pub state: &'a StateDir,
    /// What tools wrote.
    pub workspace: &'a Workspace,
    /// Session.
    pub name: &'a SessionName,
    /// Session UUID.
    pub id: &'a str,
    /// How far commits reach now.
    pub scope: Scope,
}

impl Recorder<'_> {
    /// The paths a commit may hold now.
    pub fn changes(&self) -> anyhow::Result<Vec<String>> {
        collect(self.git, self.workspace, self.name, self.scope)
    }

    fn base_trailers(&self) -> Trailers {
        let mut trailers = Trailers::default();
        trailers.push(key::SESSION, self.name.as_str());
        trailers.push(key::SESSION_ID, self.id);
        trailers
    }

    fn subject(&self, stage: &str, summary: &str) -> String {
        self.project.subject.replace("{stage}", stage).replace("{summary}", summary)
    }

    /// Makes sure that HEAD is on the session's branch and the branch where we left it, so that
    /// nothing is ever committed on top of something unexpected.
    pub fn expect_tip(&self, tip: &Oid) -> anyhow::Result<()> {
        if let Some(operation) = self.git.operation_in_progress()? {
            return Err(Error::repository(format!("a {operation} is in progress"))
                .hint(format!("finish it or: {}", ending(operation)))
                .hint("then: git cowork resume")
                .into());
        }
        let branch = self.refs.branch(self.name);
        match self.git.head()? {
            Head::Branch { name, oid } if name == branch && oid == *tip => Ok(()),
            Head::Branch { name, .. } if name == branch => Err(Error::repository(format!(
                "{} moved while we worked",
                self.refs.short_branch(self.name)
            ))
            .hint("nothing was committed; look at git log, then: git cowork resume")
            .into()),
            _ if self.git.resolve(branch.as_str())?.is_none() => {
                Err(Error::repository(format!("{} is gone", self.refs.short_branch(self.name)))
                    .hint(format!(
                        "bring it back: git branch {} {tip} && git cowork resume {}",
                        self.refs.short_branch(self.name),
                        self.name
                    ))
                    .into())
            }
            _ => Err(Error::repository(format!(
                "HEAD is no longer on {}",
                self.refs.short_branch(self.name)
            ))
            .hint(format!("git switch {} && git cowork resume", self.refs.short_branch(self.name)))
            .into()),
        }
    }

    fn commit(&self, tip: &Oid, paths: &[String], message: &Message) -> anyhow::Result<Recorded> {
        self.expect_tip(tip)?;
        let leaks = self.leaks_in(tip, paths)?;
        if !leaks.is_empty() {
            return Ok(Recorded::Refused(Refused::Secrets(leaks)));
        }
        let message = &self.without_secrets(message);
        let text = message.render();
        let signoff = self.project.signoff || self.git.signs_off()?;
        let options = CommitOptions { signoff, ..CommitOptions::default() };
        let outcome = match self.git.commit_only(paths, &text, options) {
            Ok(outcome) => outcome,
            Err(error) => {
                if let Some(commit) = self.landed_all_the_same(tip, message)? {
                    return Ok(Recorded::Done(commit));
                }
                // What git stumbled over is best said by what changed since we looked.
                self.expect_tip(tip)?;
                return Err(error);
            }
        };
        if matches!(outcome, CommitOutcome::HookRefused { .. }) {
            // A Ctrl-C ends a hook, too: that is no refusal.
            interrupt::check()?;
        }
        match outcome {
            CommitOutcome::Committed(oid) => {
                self.expect_landed(tip, &oid, paths)?;
                self.expect_readable(tip, &oid, paths, message)?;
                Ok(Recorded::Done(oid))
            }
            CommitOutcome::HookRefused { hook, output } if is_message_hook(&hook) => {
                let subject = text.lines().next().unwrap_or_default();
                let mut error = Error::repository(format!(
                    "the {hook} hook refused the message '{subject}':\n{}",
                    output.trim()
                ));
                error = error
                    .hint("give subjects the form it wants: git config cowork.project.subject 'chore({stage}): {summary}'")
                    .hint("if it wants a sign-off: git config cowork.project.signoff true")
                    .hint("nothing was lost; then run the command again");
                Err(error.into())
            }
            CommitOutcome::HookRefused { hook, output } => {
                // A hook may print its whole environment.
                let output = self.workspace.secrets().withheld(&output).into_owned();
                Ok(Recorded::Refused(Refused::Hook { hook, output }))
            }
        }
    }

    /// The start commit: `session.json` and `.cowork/.gitattributes` are already written, and the
    /// artifacts it takes over from another session.
    pub fn start(
        &self,
        tip: &Oid,
        title: &str,
        idea: &str,
        paths: &[String],
        from: Option<&Inheritance>,
    ) -> anyhow::Result<Recorded> {
        let mut trailers = self.base_trailers();
        trailers.push(key::EVENT, "start");
        if let Some(from) = from {
            from.trailers.iter().for_each(|(key, value)| trailers.push(key, value));
            let credit = Credit { models: from.models.clone(), ..Credit::default() };
            credit.push(&mut trailers, self.project.attribution);
        }
        let body = if idea.trim() == title { "" } else { idea };
        let message =
            Message { subject: self.subject("start", title), body: body.to_owned(), trailers };
        point("start.before-commit");
        let recorded = self.commit(tip, paths, &message)?;
        point("start.after-commit");
        Ok(recorded)
    }

    /// Leaves a draft on the branch, waiting for a review.
    #[expect(clippy::too_many_arguments, reason = "what one commit says, each named once")]
    pub fn waiting(
        &self,
        tip: &Oid,
        stage: Stage,
        iteration: u32,
        summary: &str,
        body: &str,
        credit: &Credit,
        marks: &[(&str, &str)],
    ) -> anyhow::Result<Recorded> {
        let mut trailers = self.base_trailers();
        trailers.push(key::EVENT, "draft");
        trailers.push(key::STAGE, stage.name());
        trailers.push(key::ITERATIONS, iteration.to_string());
        credit.push(&mut trailers, self.project.attribution);
        marks.iter().for_each(|(key, value)| trailers.push(key, value));
        let subject =
            self.subject(stage.name(), &format!("draft {iteration} for review, {summary}"));
        let message = Message { subject, body: body.to_owned(), trailers };
        point("waiting.before-commit");
        let recorded = self.commit(tip, &self.changes()?, &message)?;
        point("waiting.after-commit");
        Ok(recorded)
    }

    /// Records a person's answer to a waiting draft.
    pub fn review(
        &self,
        tip: &Oid,
        stage: Stage,
        verdict: Verdict,
        iteration: u32,
        bytes: Option<&Bytes>,
        words: &str,
    ) -> anyhow::Result<Recorded> {
        let mut trailers = self.base_trailers();
        trailers.push(key::EVENT, "review");
        trailers.push(key::STAGE, stage.name());
        trailers.push(key::ITERATIONS, iteration.to_string());
        trailers.push(key::REVIEW, verdict.name());
        if let Some(bytes) = bytes {
            trailers.push(key::APPROVED, bytes.render());
        }
        let subject =
            self.subject(stage.name(), &format!("review of draft {iteration}: {}", verdict.name()));
        let message = Message { subject, body: words.to_owned(), trailers };
        point("review.before-commit");
        let recorded = self.commit(tip, &self.changes()?, &message)?;
        point("review.after-commit");
        Ok(recorded)
    }

    /// Records a completed top-level task.
    pub fn task(&self, tip: &Oid, task: &TaskRecord) -> anyhow::Result<Recorded> {
        let mut trailers = self.base_trailers();
        trailers.push(key::TASK, &task.id);
        task.features.iter().for_each(|feature| trailers.push(key::FEATURE, feature));
        task.credit.push(&mut trailers, self.project.attribution);
        trailers.push(key::CHECKS, &task.checks);
        task.evidence.iter().for_each(|run| trailers.push(key::EVIDENCE, run));
        let subject =
            self.subject(stages::code_stage().name(), &format!("{} {}", task.id, task.title));
        let message = Message { subject, body: task.body.clone(), trailers };
        self.keep_logs(&task.evidence)?;
        let mut paths = self.changes()?;
        paths.retain(|path| !task.left.contains(path));
        point("task.before-commit");
        let recorded = self.commit(tip, &paths, &message)?;
        point("task.after-commit");
        Ok(recorded)
    }

    /// Records a completed stage.
    pub fn stage(&self, tip: &Oid, record: &StageRecord) -> anyhow::Result<Recorded> {
        let mut trailers = self.base_trailers();
        trailers.push(key::STAGE, record.stage.name());
        trailers.push(key::ITERATIONS, record.iterations.to_string());
        let verdict = record.approval.as_ref().map_or(Verdict::Auto, |approval| approval.verdict);
        trailers.push(key::REVIEW, verdict.name());
        if let Some(approval) = &record.approval {
            trailers.push(key::APPROVED, approval.bytes.render());
        }
        trailers.push(key::SELF_REVIEW, record.self_review);
        record.credit.push(&mut trailers, self.project.attribution);
        if let Some(checks) = &record.checks {
            trailers.push(key::CHECKS, checks);
        }
        record.evidence.iter().for_each(|run| trailers.push(key::EVIDENCE, run));
        if let Some(by) = record.approval.as_ref().and_then(|approval| approval.by.as_ref()) {
            trailers.push(key::REVIEWED_BY, by);
        }
        let subject = self.subject(record.stage.name(), &record.summary);
        let message = Message { subject, body: record.body.clone(), trailers };
        self.keep_logs(&record.evidence)?;
        // Until somebody has compared what is committed with what was approved.
        self.state.set_note(UNCOMPARED, Some(&tip.to_string()))?;
        point("stage.before-commit");
        let recorded = self.commit(tip, &self.changes()?, &message)?;
        point("stage.after-commit");
        Ok(recorded)
    }

    /// The stage commit at the tip that nobody has compared with what was approved, because the run
    /// that made it died.
    pub fn uncompared<'s>(&self, session: &'s Session) -> anyhow::Result<Option<&'s Entry>> {
        let Some(tip) = self.state.note::<String>(UNCOMPARED)? else { return Ok(None) };
        let on = |entry: &&Entry| entry.parents.first().is_some_and(|on| on.as_str() == tip);
        let newest = session.last_stage().map(|(_, entry)| entry);
        Ok(newest.filter(|entry| entry.commit == session.tip).filter(on))
    }

    /// Notes that the newest stage commit was compared.
    pub fn compared(&self) -> anyhow::Result<()> {
        self.state.set_note::<String>(UNCOMPARED, None)
    }

    /// Takes back a commit of ours that a hook changed beyond what was approved. The draft ref
    /// keeps its tree first, as a draft nobody has passed; files stay as the hook left them.
    pub fn take_back(
        &self,
        commit: &Oid,
        tip: &Oid,
        stage: Stage,
        iteration: u32,
        notes: &DraftNotes,
    ) -> anyhow::Result<Oid> {
        let tree = self.git.tree_of(commit.as_str())?.unwrap_or_else(|| commit.clone());
        let draft = self.draft_of(tip, &tree, stage, iteration, DraftEnding::Whole, notes)?;
        // They are the draft now, also to a run that finds them here after a crash.
        self.workspace.adopt(&self.git.changed_paths(tip, commit)?)?;
        point("take-back.before-ref");
        RefTransaction::new("cowork: a hook changed approved bytes")
            .update(&self.refs.branch(self.name), tip, commit)
            .commit(self.git)?;
        point("take-back.after-ref");
        Ok(draft)
    }

    /// The tree a commit would have now.
    pub fn tree(&self, tip: &Oid) -> anyhow::Result<Oid> {
        self.git.snapshot_tree(tip, &self.changes()?)
    }

    /// True when there is something to commit on top of `tip`.
    pub fn differs_from(&self, tip: &Oid) -> anyhow::Result<bool> {
        Ok(self.git.tree_of(tip.as_str())?.as_ref() != Some(&self.tree(tip)?))
    }
}

/// What a task commit says.
#[derive(Clone, Debug)]
pub struct TaskRecord {
    /// Task id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// A few lines.
    pub body: String,
    /// Ids of the features it and its sub-tasks work on, its own first.
    pub features: Vec<String>,
    /// Who generated it.
    pub credit: Credit,
    /// What the program ran on that tree.
    pub checks: String,
    /// Each of its commands with how it ended, its log and its tree.
    pub evidence: Vec<String>,
    /// Paths that are left to the commits of other tasks.
    pub left: Vec<String>,
}

/// The command that gives an operation up.
pub fn ending(operation: &str) -> String {
    if operation == "bisect" {
        "git bisect reset".to_owned()
    } else {
        format!("git {operation} --abort")
    }
}

fn is_message_hook(hook: &str) -> bool {
    matches!(hook, "commit-msg" | "prepare-commit-msg")
}
