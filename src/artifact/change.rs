//! `change_request.json`: what a change affects, and its risk (patch sessions).

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The stages that a change needs.
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

impl Scope {
    /// The scope that names the stages of either one.
    #[must_use]
    pub const fn with(self, other: &Self) -> Self {
        Self {
            prd: self.prd || other.prd,
            design: self.design || other.design,
            plan: self.plan || other.plan,
            code: self.code || other.code,
        }
    }

    /// Reads what [`Scope::describe`] writes.
    pub fn named(words: &str) -> Self {
        let has = |name: &str| words.split([',', ' ']).any(|word| word == name);
        Self { prd: has("prd"), design: has("design"), plan: has("plan"), code: has("code") }
    }

    /// `prd, plan and code`; `nothing` for an empty scope.
    pub fn describe(self) -> String {
        let parts =
            [("prd", self.prd), ("design", self.design), ("plan", self.plan), ("code", self.code)];
        let named: Vec<&str> = parts.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
        match named.as_slice() {
            [] => "nothing".to_owned(),
            [one] => (*one).to_owned(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
        }
    }
}

/// How much can go wrong with a change.
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
    /// What should change, in a sentence.
    pub summary: String,
    /// The stages that the change needs.
    #[serde(default)]
    pub scope: Scope,
    /// How much can go wrong.
    #[serde(default)]
    pub risk: Risk,
    /// Ids of affected components.
    #[serde(default)]
    pub affected_components: Vec<String>,
    /// Ids of affected features. Empty lists and an empty effort are not written, so that rewriting
    /// requests of earlier versions does not change their bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affected_features: Vec<String>,
    /// Paths of affected files.
    #[serde(default)]
    pub affected_files: Vec<String>,
    /// How much work the change is, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub effort: String,
    /// What must not change.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// How to see that the change is done.
    #[serde(default)]
    pub acceptance_criteria: Vec<String>,
    /// Unknown fields, such as those of other versions of git-cowork.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ChangeRequest {
    /// Returns a short description: `low risk; prd, plan and code`.
    pub fn headline(&self) -> String {
        format!("{} risk; {}", self.risk_word(), self.scope.describe())
    }

    fn risk_word(&self) -> &'static str {
        match self.risk {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
        }
    }

    /// Returns the whole request as prose, for a gate.
    pub fn prose(&self) -> String {
        let (risk, scope) = (self.risk_word(), self.scope.describe());
        format!("This is a {risk} risk change of {scope}:\n\n{}", self.describe())
    }

    /// Returns the whole request in a few lines, for commits.
    pub fn describe(&self) -> String {
        let mut out = format!("{}\n", self.summary.trim());
        if !self.effort.trim().is_empty() {
            let _ = writeln!(out, "\nEffort: {}", self.effort.trim());
        }
        let touches = [&self.affected_features[..], &self.affected_components].concat();
        let lists = [
            ("Done when", &self.acceptance_criteria),
            ("Stays as it is", &self.constraints),
            ("Touches", &touches),
            ("Files", &self.affected_files),
        ];
        for (title, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
            let _ = writeln!(out, "\n{title}:");
            for item in items {
                let _ = writeln!(out, "- {}", item.trim());
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_reads_well() {
        let scope = Scope { prd: true, plan: true, code: true, ..Scope::default() };
        assert_eq!(scope.describe(), "prd, plan and code");
        assert_eq!(Scope { code: true, ..Scope::default() }.describe(), "code");
        assert_eq!(Scope::default().describe(), "nothing");
    }
}
