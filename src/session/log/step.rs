//! One step of a session, as `log` tells it.

use std::path::PathBuf;

use serde::Serialize;

use super::cost::Cost;
use crate::session::ChangedFile;
use crate::spent::Spent;
use crate::stage::Stage;

/// One step. The first six fields are there in every line of `log --json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Step {
    /// When, RFC 3339 in UTC.
    pub timestamp: String,
    /// What happened, in the words of `--json` runs where they have one.
    pub event: &'static str,
    /// The stage before, `waiting` for a draft that waits; none at the start.
    pub from: Option<String>,
    /// The stage after, `waiting` or `completed`.
    pub to: Option<String>,
    /// Who: a person, or `critic`, `validator`, ….
    pub actor: String,
    /// How it was decided: `passed`, `edited`, `auto`, `feedback`, `rejected`, `aborted`.
    pub decision: Option<&'static str>,
    /// Nobody's commit says so but one that names them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub claimed: bool,
    /// Session name.
    pub session: String,
    /// The stage it is about.
    pub stage: Option<Stage>,
    /// Task id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The draft it is about; on a completed stage how many it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The commit that tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What came out of it, or its title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Why, in the words of whoever decided.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the actor's self-review came to, on a completed stage: `revised`, `passed`,
    /// `needs_revision`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_review: Option<String>,
    /// What the program itself ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<String>,
    /// Features that the task works on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// The files outside `.cowork` that the commit changed, where [`name_files`](super::name_files) has named them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Models that worked on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// What that took.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The kept attempt it is part of: it was left behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Transcripts of its conversations on this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transcripts: Vec<PathBuf>,
    /// By how many lines the files of a task changed, where [`count_lines`](super::count_lines) has counted them.
    #[serde(skip)]
    pub changed: Vec<ChangedFile>,
    /// How bad what was said is: `critical`, `major` or `minor`.
    #[serde(skip)]
    pub severity: &'static str,
    #[serde(skip)]
    pub(super) order: Order,
    /// The attempt a kept draft was left behind with.
    #[serde(skip)]
    pub(super) left: Option<u32>,
    /// What was counted.
    #[serde(skip)]
    pub spent: Spent,
    /// The first draft of a completed stage's run.
    #[serde(skip)]
    pub(super) first: u32,
}

/// What decides which of two steps of the same second, told by different refs, comes first.
pub(super) type Order = (i64, Option<Stage>, u32, u8);
