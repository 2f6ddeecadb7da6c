//! What `verify` has found in a session.

use serde::Serialize;

use crate::git::Oid;
use crate::session::{Session, SessionName};

/// Something that does not hold, as `verify --json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Session.
    pub session: String,
    /// Which rule: stable and kebab-case.
    pub code: &'static str,
    /// The commit, ref, file or id it is about.
    pub about: String,
    /// What does not hold.
    pub details: String,
    /// How to fix it.
    pub suggested_fix: Option<String>,
    /// `verify --fix` fixes it.
    pub fixable: bool,
    /// Whether something is wrong at all.
    pub severity: Severity,
}

/// How bad a [`Problem`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something does not hold.
    Error,
    /// Nothing is wrong; it is good to know.
    Note,
}

impl Problem {
    pub(super) fn new(
        session: &Session,
        code: &'static str,
        about: impl Into<String>,
        details: impl Into<String>,
    ) -> Self {
        Self {
            session: session.name.to_string(),
            code,
            about: about.into(),
            details: details.into(),
            suggested_fix: None,
            fixable: false,
            severity: Severity::Error,
        }
    }

    /// Paths that an unfinished merge leaves to a person.
    pub fn unmerged(session: &SessionName, details: String) -> Self {
        Self {
            session: session.to_string(),
            code: "merge-conflict",
            about: details.split(':').next().unwrap_or_default().to_owned(),
            details,
            suggested_fix: Some("resolve it by hand, then: git cowork verify --fix".to_owned()),
            fixable: false,
            severity: Severity::Error,
        }
    }

    /// True where something does not hold.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// True where only a tag or a kept draft of this repository is not as it should be.
    pub fn is_label(&self) -> bool {
        ["tag-missing", "stale-draft"].contains(&self.code)
    }

    pub(super) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.suggested_fix = Some(fix.into());
        self
    }

    pub(super) fn note(mut self) -> Self {
        self.severity = Severity::Note;
        self
    }

    pub(super) fn fixable(mut self) -> Self {
        self.fixable = true;
        let fix = format!("git cowork verify {} --fix", self.session);
        self.fix(fix)
    }
}

/// Seven digits, as people see commits.
pub(super) fn short(commit: &Oid) -> &str {
    &commit.as_str()[..7]
}
