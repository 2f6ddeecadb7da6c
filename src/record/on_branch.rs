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
    let resume = format!("git cowork resume {name}");
    let gone = || Error::moved(format!("{short} is gone"));
    Err(match (git.resolve(branch.as_str())?, tip) {
        (None, Some(tip)) => gone().hint(format!("git branch {short} {tip} && {resume}")),
        (None, None) => gone()
            .hint(format!("if you renamed it: git branch -m {short} && {resume}"))
            .hint("otherwise find its tip: git reflog"),
        _ => Error::moved(format!("HEAD is no longer on {short}"))
            .hint(format!("to continue: git switch {short} && {resume}")),
    }
    .into())
}
