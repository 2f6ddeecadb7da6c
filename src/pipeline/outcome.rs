//! How a stage ends, and the requests and reasons for which a step stops.

use crate::artifact::Origin;
use crate::clean;
use crate::error::Error;
use crate::git::Oid;
use crate::session::{Back, Verdict};
use crate::stage::{Depth, Stage};
use crate::stages::StageSpec;
use crate::tool::GoBack;

/// Maximum characters that are recorded of a text without a verdict.
const MOST: usize = 4_000;
/// Separates the role that asks from the stage it wants to go back to.
const ASKS: &str = " asks to go back to ";

pub(crate) fn aborted(spec: &StageSpec) -> Error {
    Error::failed(format!("{} was aborted; everything is kept", spec.stage))
        .hint(format!("resume {}: git cowork resume", spec.after_abort))
}

/// The error if a person looked at the draft and decided nothing.
pub(crate) fn undecided(stage: Stage) -> Error {
    Error::waiting(format!("{stage} waits for your decision; everything is kept"))
        .hint("decide: git cowork resume")
}

/// How a stage ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StageEnd {
    /// Its commit exists.
    Completed(Stage),
    /// It waits for a person, with the reason if it is not the usual review.
    Waiting(Option<String>),
    /// Go back to an earlier stage.
    GoBack(WayBack),
    /// Raise the depth from here on.
    Raise(Depth),
    /// The check stage found errors in the code: correct it, then check again.
    Rework,
}

/// The reason why a stage is blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlockReason {
    /// Its drafts are used up.
    Drafts,
    /// It repeats itself; the text says how.
    Repetition(String),
    /// A role asks for a person, with this text.
    Asked(String),
    /// A role makes no progress: its calls fail, are refused or repeat.
    Astray(String),
    /// Roles ask to go back more often than allowed.
    Replans(Asked),
    /// The challenger rejected the work altogether, with this reason.
    Rejected(String),
    /// A critic or challenger was reminded and still gave no verdict; the draft is neither passed
    /// nor refused. The text says who, and what it said instead.
    NoVerdict(Origin, String),
    /// Tasks were completed without a change and without a reason; the text names them.
    Unchanged(String),
}

/// A role's request besides its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// To go back to an earlier stage.
    GoBack(Asked),
    /// For an answer to this question.
    Answer(String),
}

impl BlockReason {
    /// The reason if a critic or challenger said this and no verdict.
    pub(crate) fn no_verdict(by: Origin, who: &str, text: &str) -> Self {
        let text = if text.is_empty() { "nothing".to_owned() } else { clean::one_line(text, MOST) };
        Self::NoVerdict(by, format!("{who} gave no verdict; it said: {text}"))
    }

    /// The reason in the words that a critic, or a saved draft, asks for a person with.
    pub(crate) fn of_words(words: String) -> Self {
        if words.starts_with(CRITIC_ASTRAY) { Self::Astray(words) } else { Self::Asked(words) }
    }

    /// One line for the box, the menu's header and the error.
    pub(crate) fn title(&self, used: u32, limit: u32) -> String {
        match self {
            Self::Drafts => format!("draft limit reached ({used}/{limit})"),
            Self::Repetition(_) => "stuck in a loop".to_owned(),
            Self::Asked(_) => "a person's decision is needed".to_owned(),
            Self::Astray(_) => "not making progress".to_owned(),
            Self::Replans(_) => "going back again and again".to_owned(),
            Self::Rejected(_) => "rejected by the second opinion".to_owned(),
            Self::NoVerdict(..) => "no verdict on the draft".to_owned(),
            Self::Unchanged(_) => "a task without a change".to_owned(),
        }
    }

    pub(crate) fn words(&self, used: u32, max_replans: u32) -> String {
        match self {
            Self::Drafts if used == 1 => "the only draft was refused".to_owned(),
            Self::Drafts => format!("{used} drafts were refused"),
            Self::Repetition(what)
            | Self::Asked(what)
            | Self::Astray(what)
            | Self::Rejected(what)
            | Self::NoVerdict(_, what)
            | Self::Unchanged(what) => what.clone(),
            Self::Replans(asked) => {
                format!("{} (again; the limit is {max_replans})", asked.words())
            }
        }
    }
}

/// A role's request to go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The role that asks.
    pub by: Origin,
    /// The stage it works in.
    pub stage: Stage,
    /// The draft of that stage that the request is about.
    pub iteration: u32,
    /// The stage to go back to, with the reason.
    pub wish: GoBack,
}

impl Asked {
    /// `the coding actor asks to go back to design: REQ-001 cannot be built`
    pub fn words(&self) -> String {
        let Self { by, stage, wish, .. } = self;
        format!("the {stage} {}{ASKS}{}: {}", by.name(), wish.stage, wish.reason)
    }

    /// Parses the output of [`Self::words`] about this draft; `None` for other text.
    pub fn parse(words: &str, iteration: u32) -> Option<Self> {
        let (who, what) = words.strip_prefix("the ")?.split_once(ASKS)?;
        let ((stage, by), (to, reason)) = (who.split_once(' ')?, what.split_once(": ")?);
        let asks = [Origin::Actor, Origin::Critic, Origin::SelfReview, Origin::Validator];
        let by = asks.into_iter().find(|origin| origin.name() == by)?;
        let wish = GoBack { stage: to.parse().ok()?, reason: reason.to_owned() };
        Some(Self { by, stage: stage.parse().ok()?, iteration, wish })
    }
}

/// A decision to go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WayBack {
    /// The stage to go back to, with the reason.
    pub to: GoBack,
    /// The request that led to it.
    pub asked: Option<Asked>,
    /// A person's words about it; may be empty.
    pub words: String,
    /// [`Verdict::Aborted`] if a person decided, [`Verdict::Auto`] if nobody was asked.
    pub verdict: Verdict,
}

impl WayBack {
    /// A person's decision at the stage `at`, on a request or without one.
    pub fn decided(at: Stage, stage: Stage, words: &str, asked: Option<Asked>) -> Self {
        let why = asked.as_ref().map_or_else(|| words.to_owned(), Asked::words);
        let colon = if why.is_empty() { "" } else { ": " };
        let reason = format!("a person went back from {at}{colon}{why}");
        let words = words.to_owned();
        Self { to: GoBack { stage, reason }, asked, words, verdict: Verdict::Aborted }
    }

    /// A role's request, followed without asking anybody.
    pub fn followed(asked: Asked) -> Self {
        let (to, words) = (asked.wish.clone(), String::new());
        Self { to, asked: Some(asked), words, verdict: Verdict::Auto }
    }

    /// The record for the attempt's commit.
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

/// The feedback of a person who only allows more drafts.
pub(crate) const TRY_AGAIN: &str = "try again";

/// The kind of [`BlockReason::Unchanged`] in a saved draft: the actor is asked again, in a new
/// conversation.
pub(crate) const UNCHANGED: &str = "unchanged";

/// The kind of [`BlockReason::NoVerdict`] in a draft: the critic or challenger is asked again.
pub(crate) const UNJUDGED: &str = "no-verdict";

/// The start of the words about a critic that makes no progress.
pub(crate) const CRITIC_ASTRAY: &str = "the critic: ";

/// The start of an entry that older sessions have in their feedback if a critic gave no verdict.
pub(crate) const NO_VERDICT: &str = "the critic gave no verdict";

/// The reason if the gate opens again on approved content.
pub(crate) const HOOK_CHANGED: &str = "a commit hook changed what was approved";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_parsed_from_its_words() {
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
