//! Finds the commits that a session adopted; a rebase rewrites them.

use super::Session;
use crate::git::{Commit, Git, Oid};

/// Author, author date and subject of a commit, which a rebase does not change.
type Made<'a> = (&'a str, i64, &'a str);

fn made(commit: &Commit) -> Made<'_> {
    (&commit.author, commit.author_time, commit.subject())
}

/// The adopted commits below the session's first one, each with its task, newest first.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn adopted(git: &Git, session: &Session) -> anyhow::Result<Vec<(String, Commit)>> {
    let Some(start) = session.history.first() else { return Ok(Vec::new()) };
    let base: Option<Oid> = session.file.base.commit.parse().ok();
    let reader = git.reader();
    let base: Vec<Oid> = base.filter(|base| reader.commit(base).is_ok()).into_iter().collect();
    let below = reader.walk(&start.parents, &base)?;
    let recorded: Vec<(&str, &str)> = session.file.adopted().collect();
    let mut originals = Vec::new();
    for (task, id) in &recorded {
        // A commit replaced by a rebase may be gone.
        let is_there = below.iter().any(|commit| commit.id.as_str() == *id);
        let original = match id.parse::<Oid>() {
            Ok(id) if !is_there => reader.commit(&id).ok(),
            _ => None,
        };
        originals.push((*task, *id, original));
    }
    let mut found = Vec::new();
    for commit in below {
        let is_it = |(_, id, original): &&(&str, &str, Option<Commit>)| {
            *id == commit.id.as_str()
                || original.as_ref().is_some_and(|one| made(one) == made(&commit))
        };
        if let Some((task, ..)) = originals.iter().find(is_it) {
            found.push(((*task).to_owned(), commit));
        }
    }
    Ok(found)
}
