//! Going back to an earlier stage: keep what is left behind, then reset.

use super::Pipeline;
use crate::artifact::Origin;
use crate::error::Error;
use crate::git::Oid;
use crate::session::{Kind, Session, Trailers, Verdict, key};
use crate::stage::Stage;
use crate::tool::GoBack;

/// How many commits a warning names.
const NAMED: usize = 5;

impl Pipeline<'_> {
    /// Goes back to before `wish.stage`, whose next draft gets the reason as feedback.
    ///
    /// # Errors
    /// Exit 5 when the reset would lose something of the user's.
    pub(super) fn go_back(&mut self, wish: &GoBack, by: Origin) -> anyhow::Result<()> {
        let verdict = if by == Origin::Human { Verdict::Aborted } else { Verdict::Auto };
        self.reset(wish.stage, &wish.reason, verdict)?;
        if by != Origin::Human {
            let entry = self.feedback(wish.stage, 0, by, &wish.reason);
            self.give_feedback(vec![entry])?;
        }
        Ok(())
    }

    /// Goes back because a person wants it: `revert`, `resume --goto-stage`.
    ///
    /// # Errors
    /// Exit 5 when the stage was not reached, or something of the user's would be lost.
    pub fn rewind(&mut self, stage: Stage, reason: &str) -> anyhow::Result<()> {
        self.stage.set(self.present_stage()?);
        self.reset(stage, reason, Verdict::Aborted)
    }

    /// Resets the session to before `stage`: the old tip, with what was not committed, is kept as
    /// an attempt, the drafts of the stages that go are ended, then the branch moves.
    fn reset(&mut self, stage: Stage, reason: &str, verdict: Verdict) -> anyhow::Result<()> {
        let target = before(&self.session, stage)?;
        let recorder = self.recorder();
        let tip = self.session.tip.clone();
        recorder.may_rewind(&tip, &target)?;
        self.say_what_moves(stage, &tip, &target)?;
        let attempt = recorder.keep_attempt(&tip, reason, verdict)?;
        let order = self.session.order();
        for later in order.into_iter().filter(|other| *other >= stage) {
            recorder.end_draft(&tip, later)?;
        }
        recorder.rewind(&tip, &target)?;
        self.under_way.replace(None);
        self.goes_on.set(false);
        let name = &self.session.name;
        let branch = recorder.refs.short_branch(name);
        let (from, to) = (tip.short(), target.short());
        self.note(format!(
            "back to before {stage}: {branch} goes from {from} to {to}\n\
             kept as attempt {attempt}: git log refs/cowork/attempts/{name}/{attempt}\n\
             undo it: git cowork undo, or: git cowork restore {name} {attempt}"
        ));
        self.advance(&target)
    }

    /// Says what is about to leave the branch, and whom that may surprise.
    fn say_what_moves(&self, stage: Stage, tip: &Oid, target: &Oid) -> anyhow::Result<()> {
        let git = self.env.git;
        let branch = self.env.refs.short_branch(&self.session.name);
        let reader = git.reader();
        let base = git.resolve(&format!("refs/heads/{}", self.session.file.base.branch))?;
        let hidden: Vec<Oid> = std::iter::once(target.clone()).chain(base).collect();
        let leave = reader.walk(std::slice::from_ref(tip), &hidden)?;
        self.note(format!(
            "going back to before {stage}: {} of {branch} and uncommitted edits of the session are kept as an attempt",
            commits(leave.len())
        ));
        let own: Vec<String> = leave
            .iter()
            .filter(|commit| commit.parents.len() < 2 && is_a_persons(&commit.message))
            .map(|commit| format!("{} {}", commit.id.short(), subject(&commit.message)))
            .collect();
        if !own.is_empty() {
            let named = own.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
            let more = own.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.warn(format!(
                "not made by a stage, and kept there, too: {named}{more}; bring one along with git cherry-pick"
            ));
        }
        for remote in git.remote_branches(&branch)? {
            let Some(theirs) = git.resolve(remote.as_str())? else { continue };
            let hidden: Vec<Oid> = hidden.iter().cloned().chain([theirs]).collect();
            let unpushed = reader.walk(std::slice::from_ref(tip), &hidden)?.len();
            if unpushed < leave.len() {
                let remote = remote.short();
                self.warn(format!(
                    "{} of them are on {remote} already: others may have them, and a push needs --force-with-lease",
                    leave.len() - unpushed
                ));
            }
        }
        Ok(())
    }
}

fn commits(n: usize) -> String {
    if n == 1 { "1 commit".to_owned() } else { format!("{n} commits") }
}

/// True for a commit that is no step of a session; a hook may have named the session in it.
fn is_a_persons(message: &str) -> bool {
    let trailers = Trailers::parse(message);
    [key::EVENT, key::STAGE, key::TASK].iter().all(|key| trailers.get(key).is_none())
}

fn subject(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

/// The commit `stage` began on: the newest one that completed an earlier stage, else the start.
pub(super) fn before(session: &Session, stage: Stage) -> anyhow::Result<Oid> {
    let reached = session.done().contains(&stage) || session.next_stage() == Some(stage);
    if !reached || !session.order().contains(&stage) {
        return Err(Error::repository(format!(
            "'{}' has not reached {stage} yet, so there is nothing to go back to",
            session.name
        ))
        .hint("git cowork status shows where it stands")
        .into());
    }
    let first = session.history.iter().position(|entry| match entry.kind {
        Kind::Stage(done) => done >= stage,
        _ => false,
    });
    let history = &session.history[..first.unwrap_or(session.history.len())];
    let found =
        history.iter().rev().find(|entry| matches!(entry.kind, Kind::Stage(_) | Kind::Start));
    found.map(|entry| entry.commit.clone()).ok_or_else(|| {
        Error::repository(format!("'{}' has no start commit in its history", session.name)).into()
    })
}
