//! Feedback of every origin: one type and one file; the next draft gets all of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::stage::Stage;

/// The extra field of an entry about manual edits: the edited files.
pub const BY_HAND: &str = "edited";

/// The extra field of an entry that says why a stage is repeated: the number of the attempt that
/// contains the discarded draft.
pub const DROPPED: &str = "dropped";
/// The extra field of an entry that requests to go back: the stage to repeat.
const GOTO_STAGE: &str = "goto_stage";
/// The extra field of an entry that rejects a draft for good.
const REJECTED: &str = "rejected";
/// The extra field of an entry that explains a record's change: the id of the record.
const RECORD: &str = "record";
/// The words of an entry, behind the task's id, that explains why a task is completed although
/// nothing was changed for it.
pub const UNCHANGED: &str = "needs no change";

/// Who gave the feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The stage's critic.
    Critic,
    /// A person.
    Human,
    /// Git-cowork's own mechanical checks.
    Validator,
    /// A git hook of the repository.
    Hook,
    /// The actor, reviewing its own first draft: problems that it could not fix.
    SelfReview,
    /// The actor, requesting to go back to an earlier stage, or explaining why it changed a record.
    Actor,
    /// The challenger, who gives a second opinion.
    Challenger,
}

impl Origin {
    /// Returns the name in `feedback_history.json` and in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Critic => "critic",
            Self::Human => "human",
            Self::Validator => "validator",
            Self::Hook => "hook",
            Self::SelfReview => "self-review",
            Self::Actor => "actor",
            Self::Challenger => "challenger",
        }
    }

    /// Returns the origin with this name.
    pub fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }
}

/// The kind of problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackType {
    /// The code does not build, or its tests fail.
    BuildError,
    /// Something exists, but is not good enough.
    #[default]
    QualityIssue,
    /// Something required is missing.
    MissingRequirement,
    /// Something could be better.
    Suggestion,
}

/// How serious the feedback is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A matter of taste.
    Minor,
    /// Must be fixed.
    #[default]
    Major,
    /// Must be fixed before anything else.
    Critical,
}

impl Severity {
    /// Returns the name in `feedback_history.json` and in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        }
    }
}

impl Feedback {
    /// True for an entry that says why a stage is repeated; such an entry does not reject the new
    /// draft.
    pub fn is_of_dropped_draft(&self) -> bool {
        self.extra.contains_key(DROPPED)
    }
}

/// One entry of `feedback_history.json`, which is an array of entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    /// Time, RFC 3339 in UTC.
    pub at: String,
    /// The stage that the feedback is for.
    pub stage: Stage,
    /// The draft that the feedback is about, from 1.
    pub iteration: u32,
    /// Who gave the feedback.
    pub from: Origin,
    /// What is wrong.
    #[serde(default)]
    pub feedback_type: FeedbackType,
    /// How serious it is.
    #[serde(default)]
    pub severity: Severity,
    /// The feedback's text.
    #[serde(default)]
    pub details: String,
    /// A suggested fix.
    #[serde(default)]
    pub suggested_fix: Option<String>,
    /// Unknown fields, such as those of other versions of git-cowork.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Feedback {
    /// Returns the earlier stage that this entry requests to go back to. The feedback is about that
    /// stage, but the entry's `stage` and `iteration` are those of the actor that requested it.
    pub fn goto_stage(&self) -> Option<Stage> {
        self.extra.get(GOTO_STAGE)?.as_str()?.parse().ok()
    }

    /// Turns the entry into a request to go back to this stage.
    #[must_use]
    pub fn to_go_back(mut self, stage: Stage) -> Self {
        self.extra.insert(GOTO_STAGE.to_owned(), stage.name().into());
        self
    }

    /// True for the actor's explanation of why it changed or deleted a record: the entry neither
    /// rejects a draft nor requests anything.
    pub fn is_reason(&self) -> bool {
        self.extra.contains_key(RECORD)
    }

    /// Returns why this task is completed although nothing was changed for it.
    pub fn why_unchanged(&self, task: &str) -> Option<&str> {
        let words = self.details.strip_prefix(task).filter(|_| self.is_reason())?;
        words.strip_prefix(' ')?.strip_prefix(UNCHANGED)?.strip_prefix(": ")
    }

    /// True for a note that a person typed for the actor while it worked: it neither rejects a
    /// draft nor decides on one.
    pub fn is_note(&self) -> bool {
        self.from == Origin::Human && self.severity == Severity::Minor
    }

    /// True if a person decided on a draft; a note is not a decision.
    pub fn is_persons_word(&self) -> bool {
        self.from == Origin::Human && !self.is_note()
    }

    /// Returns the effect of the entry, for the log: `edited`, `changed`, `feedback` or `rejected`.
    pub fn decision(&self) -> &'static str {
        match self.from {
            _ if self.extra.contains_key(BY_HAND) => "edited",
            _ if self.is_reason() => "changed",
            // A self-review and a request to go back do not reject a draft.
            Origin::Human | Origin::SelfReview => "feedback",
            _ if self.goto_stage().is_some() => "feedback",
            _ => "rejected",
        }
    }

    /// True if the challenger rejects the draft for good: no further draft follows, and a person
    /// decides.
    pub fn is_rejection(&self) -> bool {
        self.extra.contains_key(REJECTED)
    }

    /// Turns the entry into a rejection for good.
    #[must_use]
    pub fn as_rejection(mut self) -> Self {
        self.extra.insert(REJECTED.to_owned(), true.into());
        self
    }

    /// Turns the entry into the reason for a change of this record.
    #[must_use]
    pub fn as_reason(mut self, record: &str) -> Self {
        self.extra.insert(RECORD.to_owned(), record.into());
        self
    }
}
