//! Looks in everything that a session changed for a repository in which git would run a program.

use super::Session;
use crate::git::embedded::{Embedded, with_a_program};
use crate::git::{self, Git, Oid};

/// The first such repository at the session's tip. `None` as well if its base commit is not here.
///
/// # Errors
/// Git cannot be read.
pub fn embedded_repository(git: &Git, session: &Session) -> anyhow::Result<Option<Embedded>> {
    let Ok(base) = session.file.base.commit.parse::<Oid>() else { return Ok(None) };
    if git.resolve(base.as_str())?.is_none() {
        return Ok(None);
    }
    let changed = git::paths::changed(git, &base, &session.tip)?;
    with_a_program(git, &session.tip, &changed)
}
