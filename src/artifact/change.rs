//! `change_request.json`: what a change touches and risks (patch sessions).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Which stages a change needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Requirements or features change.
    #[serde(default)]
    pub prd: bool,
    /// Components change.
    #[serde(default)]
    pub design: bool,
    /// Tasks are added or changed.
    #[serde(default)]
    pub plan: bool,
    /// Code changes.
    #[serde(default)]
    pub code: bool,
}

/// How much can go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Little.
    #[default]
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// The result of triage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeRequest {
    /// What is to change, in a sentence.
    pub summary: String,
    /// Which stages it needs.
    #[serde(default)]
    pub scope: Scope,
    /// How much can go wrong.
    #[serde(default)]
    pub risk: Risk,
    /// Component ids.
    #[serde(default)]
    pub affected_components: Vec<String>,
    /// Paths.
    #[serde(default)]
    pub affected_files: Vec<String>,
    /// What must not change.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// How one sees that it is done.
    #[serde(default)]
    pub acceptance_criteria: Vec<String>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
