//! Ids that got another number in a merge, rebase or cherry-pick, as `Cowork-Renumbered` says it: also
//! in commits that git itself finished, which carry no other trailer of ours.

use super::{SessionName, Trailers, key};
use crate::artifact::Renumbered;
use crate::git::{Git, Oid};

/// A commit that gave new ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbering {
    /// The commit.
    pub commit: Oid,
    /// Its parents.
    pub parents: Vec<Oid>,
    /// What it gave, all as side 0.
    pub ids: Vec<Renumbered>,
}

/// The commits reachable from `tip` and not from `hidden` that gave records of this session, or of one
/// in the same folder, new ids; the oldest first.
///
/// # Errors
/// Git cannot be read.
pub fn renumberings(
    git: &Git,
    name: &SessionName,
    tip: &Oid,
    hidden: &[Oid],
) -> anyhow::Result<Vec<Renumbering>> {
    let mut found = Vec::new();
    for commit in git.reader().walk(std::slice::from_ref(tip), hidden)? {
        if !commit.message.contains(key::RENUMBERED) {
            continue;
        }
        let trailers = trailers_of(&commit.message);
        let ids: Vec<Renumbered> =
            trailers.all(key::RENUMBERED).filter_map(|value| parsed(value, name)).collect();
        if !ids.is_empty() {
            found.push(Renumbering { commit: commit.id, parents: commit.parents, ids });
        }
    }
    found.reverse();
    Ok(found)
}

/// Behind the trailers of a merge that git ended without an editor are the paths it conflicted in, as
/// comments.
fn trailers_of(message: &str) -> Trailers {
    let whole = Trailers::parse(message);
    if whole.get(key::RENUMBERED).is_some() || whole.get(key::SESSION_ID).is_some() {
        return whole;
    }
    match message.rsplit_once("\n\n") {
        Some((before, _)) => trailers_of(before),
        None => whole,
    }
}

/// `todo--quick REQ-004 REQ-005`.
fn parsed(value: &str, name: &SessionName) -> Option<Renumbered> {
    let [session, from, to] = value.split(' ').collect::<Vec<_>>()[..] else { return None };
    let session: SessionName = session.parse().ok()?;
    let is_of_folder = session.artifact_dir() == name.artifact_dir();
    is_of_folder.then(|| Renumbered { from: from.to_owned(), to: to.to_owned(), side: 0 })
}
