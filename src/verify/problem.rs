//! A problem found by `verify`.

use std::path::Path;

use serde::Serialize;

use crate::error::Error;
use crate::git::Oid;
use crate::record::Refused;
use crate::session::{Session, SessionName};
use crate::shell_quote::quoted;

/// A problem, as printed by `verify --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Session name.
    pub session: String,
    /// The violated rule: stable and in kebab case.
    pub code: &'static str,
    /// The commit, ref, file or id with the problem.
    pub about: String,
    /// Description of the problem.
    pub details: String,
    /// How to fix it.
    pub suggested_fix: Option<String>,
    /// True if `verify --fix` fixes it.
    pub fixable: bool,
    /// Error or note.
    pub severity: Severity,
}

/// Severity of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A problem.
    Error,
    /// Information; not an error.
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

    /// A wrong cache file in the state directory, to be removed.
    pub(super) fn to_remove(
        session: &Session,
        code: &'static str,
        file: &Path,
        details: &str,
    ) -> Self {
        let about = file.display().to_string();
        let remove = format!("rm {}", quoted(&about));
        Self::new(session, code, about.clone(), format!("{about} {details}")).fix(remove)
    }

    /// A path with a conflict in an unfinished merge that a person has to resolve.
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

    /// True for an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// True if the problem is only a tag or a saved draft in this repository.
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

/// The first seven digits, for display.
pub(super) fn short(commit: &Oid) -> &str {
    &commit.as_str()[..7]
}

/// The error about a commit of changed files that a hook refused.
pub(super) fn uncommitted(why: &Refused) -> anyhow::Error {
    let discard = "the files are changed; commit them yourself, or discard the changes: git \
                   checkout -- .cowork";
    Error::repository(why.to_string()).hint(discard).into()
}
