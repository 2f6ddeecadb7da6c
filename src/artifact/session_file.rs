//! `session.json`: what a session was started with. Written by the start commit, and once more when
//! its format is raised; there is no status in it, because status is read from history.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version this program writes.
pub const SCHEMA_VERSION: &str = "1.0";

/// Where a session comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    /// An idea.
    #[default]
    New,
    /// A change request on another session.
    Patch,
}

/// How thorough the user wants it. Only recorded for now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// As little ceremony as possible.
    Quick,
    /// The default.
    #[default]
    Standard,
    /// Every question asked.
    Thorough,
}

/// What the session's branch was started from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Short branch name; empty when HEAD was detached.
    pub branch: String,
    /// Full commit id.
    pub commit: String,
}

/// The session a change request belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Session name.
    pub session: String,
    /// Full commit id of its tip.
    pub commit: String,
}

/// The content of `session.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFile {
    /// [`SCHEMA_VERSION`] when it was written.
    #[serde(default)]
    pub schema_version: String,
    /// UUID, also in every commit's `Cowork-Session-Id`.
    pub id: String,
    /// Session name.
    pub name: String,
    /// New or patch.
    #[serde(default)]
    pub kind: SessionKind,
    /// The idea in a line.
    #[serde(default)]
    pub title: String,
    /// The idea as it was given.
    #[serde(default)]
    pub idea: String,
    /// How thorough.
    #[serde(default)]
    pub depth: Depth,
    /// Where it began.
    #[serde(default)]
    pub base: Base,
    /// The session it changes, in a patch session.
    #[serde(default)]
    pub parent: Option<Parent>,
    /// RFC 3339 in UTC.
    #[serde(default)]
    pub created_at: String,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
