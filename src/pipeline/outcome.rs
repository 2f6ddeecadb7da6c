//! How a step of a stage, a stage or a role's conversation ends.

use crate::agent::Conversation;
use crate::artifact::Origin;
use crate::error::Error;
use crate::git::Oid;
use crate::pipeline::progress::Progress;
use crate::session::{Back, Verdict};
use crate::stage::{Depth, Stage};
use crate::stages::StageSpec;
use crate::tool::GoBack;

/// What stands between who asks and the stage.
const ASKS: &str = " asks to go back to ";

pub(crate) fn aborted(spec: &StageSpec) -> Error {
    Error::failed(format!("{} was aborted; everything is kept", spec.stage))
        .hint(format!("git cowork resume {}", spec.after_abort))
}

/// A person has looked and decided nothing.
pub(crate) fn undecided(stage: Stage) -> Error {
    Error::waiting(format!("{stage} waits for your decision; everything is kept"))
        .hint("decide: git cowork resume")
}

/// What a finished conversation of the actor asks for; `by` is the actor or its self-review.
pub(crate) fn of_conversation(
    spec: &StageSpec,
    progress: &Progress,
    by: Origin,
    conversation: Conversation,
) -> StepOutcome {
    let outcome = conversation.outcome;
    if let Some(wish) = outcome.go_back {
        let (stage, iteration) = (spec.stage, progress.iteration);
        return StepOutcome::Asks(Request::GoBack(Asked { by, stage, iteration, wish }));
    }
    if let Some(question) = outcome.question {
        let options = question.options.join(" / ");
        let options = if options.is_empty() { String::new() } else { format!(" ({options})") };
        let why = format!("the actor asks: {}{options}", question.question);
        return StepOutcome::Asks(Request::Answer(why));
    }
    if let Some(why) = outcome.human_review {
        return StepOutcome::Blocked(BlockReason::Asked(format!("the actor says: {why}")));
    }
    match outcome.astray {
        Some(why) => StepOutcome::Blocked(BlockReason::Astray(format!("the actor: {why}"))),
        None => StepOutcome::Next,
    }
}

/// How a stage ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StageEnd {
    /// Its commit exists.
    Completed(Stage),
    /// A person is waited for, with a reason beyond the usual review.
    Waiting(Option<String>),
    /// Back to an earlier stage.
    GoBack(WayBack),
    /// More process from here on.
    Raise(Depth),
    /// The check stage found the code wrong: corrections, then check again.
    Rework,
}

/// What a step of the loop asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    /// The next step.
    Next,
    /// From the top: there is new feedback, or something to be looked at again.
    Again,
    /// A role wants something that a person may have to say.
    Asks(Request),
    /// The stage cannot go on by itself.
    Blocked(BlockReason),
    /// The stage ends.
    Ends(StageEnd),
}

/// Why a stage cannot go on by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlockReason {
    /// Its drafts are used up.
    Drafts,
    /// It goes round in this circle.
    Repetition(String),
    /// A role asks for a person, with these words.
    Asked(String),
    /// A role's run got nowhere: its calls fail, are refused or repeat.
    Astray(String),
    /// Roles want to go back more often than they may.
    Replans(Asked),
    /// The challenger will have no other draft of it, and says why.
    Rejected(String),
}

/// What a role wants beside its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Back to an earlier stage.
    GoBack(Asked),
    /// An answer to this question.
    Answer(String),
}

impl BlockReason {
    /// One line for the box, the menu's header and the error.
    pub(crate) fn title(&self, used: u32, limit: u32) -> String {
        match self {
            Self::Drafts => format!("draft limit reached ({used}/{limit})"),
            Self::Repetition(_) => "stuck in a loop".to_owned(),
            Self::Asked(_) => "a person is asked for".to_owned(),
            Self::Astray(_) => "not making progress".to_owned(),
            Self::Replans(_) => "going back again and again".to_owned(),
            Self::Rejected(_) => "rejected by the second opinion".to_owned(),
        }
    }

    pub(crate) fn words(&self, used: u32, max_replans: u32) -> String {
        match self {
            Self::Drafts if used == 1 => "the only draft was refused".to_owned(),
            Self::Drafts => format!("{used} drafts were refused"),
            Self::Repetition(what)
            | Self::Asked(what)
            | Self::Astray(what)
            | Self::Rejected(what) => what.clone(),
            Self::Replans(asked) => {
                format!("{} (once more, and {max_replans} times is the limit)", asked.words())
            }
        }
    }
}

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
    pub(crate) fn back(&self, target: &Oid, at: Stage) -> Back {
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

/// What feedback begins with that a critic gave by not giving a verdict.
pub(crate) const NO_VERDICT: &str = "the critic gave no verdict";

/// Why the gate opens again on bytes that passed it.
pub(crate) const HOOK_CHANGED: &str = "a commit hook changed what was approved";

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
