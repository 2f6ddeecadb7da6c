//! Going back to an earlier stage: keep what is left behind, then reset.

use crate::artifact::{Feedback, Origin};
use crate::error::Error;
use crate::git::Oid;
use crate::pipeline::{Leaving, Pipeline};
use crate::session::{Back, Entry, KeptDraft, Kind, Session, Verdict, kept_draft};
use crate::stage::Stage;
use crate::tool::GoBack;

/// A role's wish to go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Who asks.
    pub by: Origin,
    /// In which stage.
    pub stage: Stage,
    /// About which of its drafts.
    pub iteration: u32,
    /// Where to, and why.
    pub wish: GoBack,
}

/// What stands between who asks and the stage.
const ASKS: &str = " asks to go back to ";

impl Asked {
    /// `the coding actor asks to go back to design: REQ-001 cannot be built`
    pub fn words(&self) -> String {
        let Self { by, stage, wish, .. } = self;
        format!("the {stage} {}{ASKS}{}: {}", by.name(), wish.stage, wish.reason)
    }

    /// Reads [`Self::words`] back, said about this draft; none for other words.
    pub fn parse(words: &str, iteration: u32) -> Option<Self> {
        let (who, what) = words.strip_prefix("the ")?.split_once(ASKS)?;
        let ((stage, by), (to, reason)) = (who.split_once(' ')?, what.split_once(": ")?);
        let asks = [Origin::Actor, Origin::Critic, Origin::SelfReview, Origin::Validator];
        let by = asks.into_iter().find(|origin| origin.name() == by)?;
        let wish = GoBack { stage: to.parse().ok()?, reason: reason.to_owned() };
        Some(Self { by, stage: stage.parse().ok()?, iteration, wish })
    }
}

/// A way back that was decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WayBack {
    /// Where to, and why.
    pub to: GoBack,
    /// The wish it follows.
    pub asked: Option<Asked>,
    /// What a person said of it; possibly nothing.
    pub words: String,
    /// [`Verdict::Aborted`] when a person decided, [`Verdict::Auto`] when nobody was asked.
    pub verdict: Verdict,
}

impl WayBack {
    /// A person's decision at this stage, on a wish or without one.
    pub fn decided(at: Stage, stage: Stage, words: &str, asked: Option<Asked>) -> Self {
        let why = asked.as_ref().map_or_else(|| words.to_owned(), Asked::words);
        let colon = if why.is_empty() { "" } else { ": " };
        let reason = format!("a person went back from {at}{colon}{why}");
        let words = words.to_owned();
        Self { to: GoBack { stage, reason }, asked, words, verdict: Verdict::Aborted }
    }

    /// The way a role wished for, where nobody is asked.
    pub fn followed(asked: Asked) -> Self {
        let (to, words) = (asked.wish.clone(), String::new());
        Self { to, asked: Some(asked), words, verdict: Verdict::Auto }
    }

    /// What an attempt notes of it.
    fn back(&self, target: &Oid, at: Stage) -> Back {
        let (to, target) = (self.to.stage, target.clone());
        match &self.asked {
            Some(Asked { by, stage, iteration, wish }) => {
                let (by, reason) = (Some(*by), wish.reason.clone());
                Back { to, target, from: *stage, by, iteration: *iteration, reason }
            }
            None => {
                let (by, reason) = (Some(Origin::Human), self.words.clone());
                Back { to, target, from: at, by, iteration: 0, reason }
            }
        }
    }
}

impl Pipeline<'_> {
    /// Goes back to before a stage, whose next draft gets the reason of the wish as feedback.
    ///
    /// # Errors
    /// Exit 5 when the reset would lose something of the user's.
    pub(crate) fn go_back(&mut self, way: &WayBack) -> anyhow::Result<()> {
        let target = before(&self.session, way.to.stage)?;
        Leaving::of(self.env.git, self.env.refs, &self.session, &target)?
            .say(self.env.sink, &format!("going back to before {}", way.to.stage));
        self.reset(way)
    }

    /// What roles of later stages said when they asked for this stage to be done again, as far as no
    /// commit of the stage answers it.
    pub(crate) fn asked_back(&self, stage: Stage) -> anyhow::Result<Vec<Feedback>> {
        let answered = self.settled(stage)?;
        let mut asked = self.all_feedback()?;
        asked.retain(|entry| entry.goto_stage() == Some(stage) && !answered.contains(entry));
        Ok(asked)
    }

    /// Goes back because a person wants it, who was told what leaves the branch: `revert`, `resume
    /// --goto-stage`. Their reason may be empty.
    ///
    /// # Errors
    /// Exit 5 when the stage was not reached, or something of the user's would be lost.
    pub fn rewind(&mut self, stage: Stage, reason: &str) -> anyhow::Result<()> {
        self.stage.set(self.present_stage()?);
        let (to, words) = (GoBack { stage, reason: reason.to_owned() }, reason.to_owned());
        self.reset(&WayBack { to, asked: None, words, verdict: Verdict::Aborted })
    }

    /// Resets the session to before `stage`: the old tip, with what was not committed, is kept as
    /// an attempt that says why, the drafts of the stages that go are ended, then the branch moves.
    fn reset(&mut self, way: &WayBack) -> anyhow::Result<()> {
        let stage = way.to.stage;
        let target = before(&self.session, stage)?;
        let recorder = self.recorder();
        let tip = self.session.tip.clone();
        recorder.may_rewind(&tip, &target)?;
        let mut back = way.back(&target, self.stage.get());
        if !self.drops_a_draft(stage, &target).unwrap_or(true) {
            back.by = None;
        }
        let subject = match way.to.reason.as_str() {
            "" => format!("back to {stage}"),
            reason => reason.to_owned(),
        };
        let attempt = recorder.keep_attempt_of(&tip, &subject, way.verdict, Some(&back))?;
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

    /// Whether there is a draft of a stage, finished or not, that going back to `target` drops.
    fn drops_a_draft(&self, stage: Stage, target: &Oid) -> anyhow::Result<bool> {
        let tip = &self.session.tip;
        let kept = kept_draft(self.env.git, &self.session, stage)?;
        Ok(tip != target
            || matches!(kept, Some(KeptDraft::Live(_)))
            || self.recorder().would_lose(tip)?)
    }
}

/// The commit `stage` began on: the newest one that completed an earlier stage, else the start.
///
/// # Errors
/// Exit 5 when the session has not reached the stage.
pub fn before(session: &Session, stage: Stage) -> anyhow::Result<Oid> {
    let reached = session.done().contains(&stage) || session.next_stage() == Some(stage);
    if !reached || !session.order().contains(&stage) {
        return Err(Error::repository(format!(
            "'{}' has not reached {stage} yet, so there is nothing to go back to",
            session.name
        ))
        .hint("git cowork status shows where it stands")
        .into());
    }
    if let Some((last, start)) = session.inherited().filter(|(last, _)| stage <= *last) {
        return Err(began_with(session, stage, last, start).into());
    }
    let round = if stage >= Stage::Coding { session.newest_round() } else { &session.history };
    let first = round.iter().position(|entry| match entry.kind {
        Kind::Stage(done) => done >= stage,
        _ => false,
    });
    let history = &round[..first.unwrap_or(round.len())];
    let found =
        history.iter().rev().find(|entry| matches!(entry.kind, Kind::Stage(_) | Kind::Start));
    // A round of comments begins with them.
    let found = found.or(history.first());
    found.map(|entry| entry.commit.clone()).ok_or_else(|| {
        Error::repository(format!("'{}' has no start commit in its history", session.name)).into()
    })
}

/// The session did not do the stage itself.
fn began_with(session: &Session, stage: Stage, last: Stage, start: &Entry) -> Error {
    let name = &session.name;
    let from = start.from().unwrap_or("another session");
    let mut error = Error::repository(format!(
        "'{name}' began with the stages up to {last} of {from}, so it cannot go back to before {stage}"
    ));
    let next = session.order().into_iter().find(|other| *other > last);
    let reached =
        |next: &Stage| session.done().contains(next) || session.next_stage() == Some(*next);
    if let Some(next) = next.filter(reached) {
        error =
            error.hint(format!("do its own stages again: git cowork revert {name} --to {next}"));
    }
    let before =
        Stage::ALL.into_iter().rev().find(|other| *other < stage && *other != Stage::Triage);
    let other = from.split('@').next().unwrap_or_default();
    match before {
        Some(before) => error.hint(format!(
            "or start another session from an earlier stage: git cowork new --from {other}@{before}"
        )),
        None => error.hint("or start another session: git cowork new \"what you want built\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_reads_back_from_its_words() {
        let wish = GoBack { stage: Stage::Design, reason: "COMP-001: too big".to_owned() };
        let (by, stage) = (Origin::Actor, Stage::Coding);
        let asked = Asked { by, stage, iteration: 2, wish };
        assert_eq!(asked.words(), "the coding actor asks to go back to design: COMP-001: too big");
        assert_eq!(Asked::parse(&asked.words(), 2), Some(asked.clone()));
        for other in [
            "the actor asks: the end?",
            "the critic says: no",
            "",
            "the x y asks to go back to z: w",
        ] {
            assert_eq!(Asked::parse(other, 1), None, "{other}");
        }
        let way = WayBack::decided(Stage::Coding, Stage::Prd, "ignored", Some(asked));
        assert!(way.to.reason.starts_with("a person went back from coding: the coding actor asks"));
        let way = WayBack::decided(Stage::Coding, Stage::Prd, "", None);
        assert_eq!(way.to.reason, "a person went back from coding");
    }
}
