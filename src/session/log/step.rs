//! One step of a session, as `log` shows it, and its usage for `log --json`.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::git::Oid;
use crate::session::ChangedFile;
use crate::spent::Spent;
use crate::stage::Stage;

/// One step. The first six fields are in every line of `log --json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Step {
    /// Time, RFC 3339 in UTC.
    pub timestamp: String,
    /// The event; named like the event of `--json` runs if there is one.
    pub event: &'static str,
    /// The stage before, `waiting` if a draft waited for review, or `completed`; none at the start.
    pub from: Option<String>,
    /// The stage after, `waiting` or `completed`.
    pub to: Option<String>,
    /// Name of a person, or `critic`, `validator`, ….
    pub actor: String,
    /// The decision: `passed`, `edited`, `auto`, `feedback`, `rejected`, `aborted`.
    pub decision: Option<&'static str>,
    /// True if the approval is only claimed by another person's commit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub claimed: bool,
    /// Session name.
    pub session: String,
    /// The stage of the step.
    pub stage: Option<Stage>,
    /// Task id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Number of the draft; on a completed stage, the number of drafts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The commit of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// The result, or the title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The reason, as given by the deciding person or model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The outcome of the actor's self-review on a completed stage: `revised`, `passed`,
    /// `needs_revision`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_review: Option<String>,
    /// The checks that git-cowork ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<String>,
    /// Features that the task works on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Files that the commit changed outside `.cowork` since its only parent.
    #[serde(serialize_with = "paths", skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ChangedFile>,
    /// Models that worked on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Usage of the step.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The attempt that contains the abandoned step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Transcripts of its conversations on this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transcripts: Vec<PathBuf>,
    /// The lines of `files` are counted.
    #[serde(skip)]
    pub(super) has_counts: bool,
    /// Severity of feedback: `critical`, `major` or `minor`.
    #[serde(skip)]
    pub severity: &'static str,
    #[serde(skip)]
    pub(super) order: Order,
    /// The attempt that a saved draft was abandoned with.
    #[serde(skip)]
    pub(super) left: Option<u32>,
    /// Counted usage.
    #[serde(skip)]
    pub spent: Spent,
    /// Number of the first draft in a completed stage's run.
    #[serde(skip)]
    pub(super) first: u32,
}

impl Step {
    /// The files of a task with their line counts, if these are wanted; none for another step.
    pub fn counted(&self) -> &[ChangedFile] {
        if self.has_counts { &self.files } else { &[] }
    }
}

fn paths<S: Serializer>(files: &[ChangedFile], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(files.iter().map(|file| &file.path))
}

/// Sort key: time, stage, draft, and a rank among steps of the same draft.
pub(super) type Order = (i64, Option<Stage>, u32, u8);

/// The usage of a step, in the format of `log --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    tokens: Tokens,
    requests: u64,
    millis: u64,
    /// `None` if it is not known.
    usd: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct Tokens {
    #[serde(rename = "in")]
    input: u64,
    out: u64,
    cached: u64,
}

impl Cost {
    /// Converts counted usage.
    pub(super) fn from_spent(spent: &Spent) -> Self {
        let usage = spent.usage;
        let known = spent.micros > 0 || spent.unpriced == 0 && spent.requests > 0;
        Self {
            tokens: Tokens { input: usage.input, out: usage.output, cached: usage.cached },
            requests: spent.requests,
            millis: spent.millis,
            usd: known.then_some(spent.micros as f64 / 1e6),
        }
    }
}
