//! Checks that the working tree is on the session's branch: a person may switch it at any time.

use crate::error::Error;
use crate::git::{Git, Oid};
use crate::session::{RefNames, SessionName};

/// Makes sure that HEAD is on the session's branch, whose tip was `tip` if that is known.
///
/// # Errors
/// Exit 5, with the command that goes back.
pub(super) fn require_branch(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
    tip: Option<&Oid>,
) -> anyhow::Result<()> {
    let (branch, short) = (refs.branch(name), refs.short_branch(name));
    if git.head()?.branch() == Some(&branch) {
        return Ok(());
    }
    let (message, before) = match (git.resolve(branch.as_str())?, tip) {
        (None, Some(tip)) => (format!("{short} is gone"), format!("git branch {short} {tip}")),
        (None, None) => (format!("{short} is gone"), "git reflog".to_owned()),
        _ => (format!("HEAD is no longer on {short}"), format!("git switch {short}")),
    };
    Err(Error::moved(message)
        .hint(format!("to continue: {before} && git cowork resume {name}"))
        .into())
}
