//! Feedback of every origin: one type, one file, and it reaches the next draft.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::stage::Stage;

/// The extra field of an entry that tells what a person edited by hand: the files.
pub const BY_HAND: &str = "edited";

/// The extra field of an entry that tells why a stage is done again: the number of the attempt that
/// holds the draft that was dropped.
pub const DROPPED: &str = "dropped";
/// The extra field of an entry that asks to go back: the stage that is to be done again.
const GOTO_STAGE: &str = "goto_stage";
/// The extra field of an entry with which a draft was rejected for good.
const REJECTED: &str = "rejected";
/// The extra field of an entry that is the reason for a change of a record: its id.
const RECORD: &str = "record";

/// Who gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The stage's critic.
    Critic,
    /// A person.
    Human,
    /// Our own mechanical checks.
    Validator,
    /// A git hook of the repository.
    Hook,
    /// The actor, reading its first draft again: what it could not fix.
    SelfReview,
    /// The actor, asking to go back to an earlier stage, or saying why it changed a record.
    Actor,
    /// The second opinion.
    Challenger,
}

impl Origin {
    /// The value in `feedback_history.json` and in events.
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

    /// The origin of this name.
    pub fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackType {
    /// It does not build or its tests fail.
    BuildError,
    /// It is there, but not good.
    #[default]
    QualityIssue,
    /// Something asked for is not there.
    MissingRequirement,
    /// It could be better.
    Suggestion,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A taste.
    Minor,
    /// Must be fixed.
    #[default]
    Major,
    /// Nothing else matters before this.
    Critical,
}

impl Severity {
    /// The value in `feedback_history.json` and in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        }
    }
}

impl Feedback {
    /// True for the entry that tells why a stage is done again: nobody refused the new draft by it.
    pub fn is_of_dropped_draft(&self) -> bool {
        self.extra.contains_key(DROPPED)
    }
}

/// One entry of `feedback_history.json`, which is an array of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// The stage it is for.
    pub stage: Stage,
    /// The draft it is about, from 1.
    pub iteration: u32,
    /// Who gave it.
    pub from: Origin,
    /// What is wrong.
    #[serde(default)]
    pub feedback_type: FeedbackType,
    /// How bad it is.
    #[serde(default)]
    pub severity: Severity,
    /// In words.
    #[serde(default)]
    pub details: String,
    /// How it might be fixed.
    #[serde(default)]
    pub suggested_fix: Option<String>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Feedback {
    /// The earlier stage this entry asks to go back to. Such an entry is about that stage, and names
    /// the stage and the draft of whoever asked.
    pub fn goto_stage(&self) -> Option<Stage> {
        self.extra.get(GOTO_STAGE)?.as_str()?.parse().ok()
    }

    /// The same entry as a wish to go back to this stage.
    #[must_use]
    pub fn to_go_back(mut self, stage: Stage) -> Self {
        self.extra.insert(GOTO_STAGE.to_owned(), stage.name().into());
        self
    }

    /// Why the actor changed or deleted a record: it refuses nothing and asks for nothing.
    pub fn is_reason(&self) -> bool {
        self.extra.contains_key(RECORD)
    }

    /// A line that a person typed for the actor while it worked: it refuses no draft and decides nothing.
    pub fn is_note(&self) -> bool {
        self.from == Origin::Human && self.severity == Severity::Minor
    }

    /// What a person said about a draft, to decide on it: a note does not.
    pub fn is_persons_word(&self) -> bool {
        self.from == Origin::Human && !self.is_note()
    }

    /// What it did, for the log: `edited`, `changed`, `feedback` or `rejected`.
    pub fn decision(&self) -> &'static str {
        match self.from {
            _ if self.extra.contains_key(BY_HAND) => "edited",
            _ if self.is_reason() => "changed",
            // A self-review and a wish to go back refuse no draft.
            Origin::Human | Origin::SelfReview => "feedback",
            _ if self.goto_stage().is_some() => "feedback",
            _ => "rejected",
        }
    }

    /// True where the challenger will have no other draft of this: a person decides.
    pub fn is_rejection(&self) -> bool {
        self.extra.contains_key(REJECTED)
    }

    /// The same entry as a rejection.
    #[must_use]
    pub fn as_rejection(mut self) -> Self {
        self.extra.insert(REJECTED.to_owned(), true.into());
        self
    }

    /// The same entry as a reason for a change of this record.
    #[must_use]
    pub fn as_reason(mut self, record: &str) -> Self {
        self.extra.insert(RECORD.to_owned(), record.into());
        self
    }
}
