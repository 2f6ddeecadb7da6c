//! Ids that got another number in a merge, rebase or cherry-pick, read from `Cowork-Renumbered`
//! trailers. Merge commits that git itself made have this trailer too, but no other trailer of a
//! session.

use super::{Entry, Kind, SessionName, Trailers, artifact_path, key};
use crate::artifact::{Artifact, Renumbered};
use crate::git::{Commit, Git, Object, Oid, Reader};

/// A commit that gave records new ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbering {
    /// The commit.
    pub commit: Oid,
    /// Its parents.
    pub parents: Vec<Oid>,
    /// Committer date (Unix seconds).
    committed: i64,
    /// The new ids; `side` has no meaning here and is always 0.
    pub ids: Vec<Renumbered>,
    /// The session that each of `ids` belongs to, in the same order.
    names: Vec<SessionName>,
}

/// The commits reachable from `tip` and not from `hidden` that gave new ids to records of this
/// session, or of another session in the same folder; oldest first.
///
/// # Errors
/// Git cannot be read.
pub fn renumberings(
    git: &Git,
    name: &SessionName,
    tip: &Oid,
    hidden: &[Oid],
) -> anyhow::Result<Vec<Renumbering>> {
    Ok(among(&git.reader().walk(std::slice::from_ref(tip), hidden)?, name))
}

/// Like [`renumberings`], from commits that were already read, newest first.
pub(super) fn among(commits: &[Commit], name: &SessionName) -> Vec<Renumbering> {
    let mut found = Vec::new();
    for commit in commits.iter().rev().filter(|c| c.message.contains(key::RENUMBERED)) {
        let trailers = trailers_of(&commit.message);
        let values = trailers.all(key::RENUMBERED).filter_map(|value| parsed(value, name));
        let (names, ids): (Vec<SessionName>, Vec<Renumbered>) = values.unzip();
        if !ids.is_empty() {
            found.push(Renumbering {
                commit: commit.id.clone(),
                parents: commit.parents.clone(),
                committed: commit.committer_time,
                ids,
                names,
            });
        }
    }
    found
}

/// Updates the task ids of entries to their current ids: a commit names its task by the id from
/// before a renumbering. `reaches(a, b)` is true if commit `a` is `b` or a descendant of it.
pub(super) fn follow(
    entries: &mut [Entry],
    found: &[Renumbering],
    reader: &dyn Reader,
    reaches: impl Fn(&Oid, &Oid) -> bool,
) {
    for entry in entries {
        for one in found {
            let Kind::Task(task) = &entry.kind else { break };
            let now = one.ids.iter().zip(&one.names).find(|(id, name)| {
                id.from == *task
                    && (one.is_about(entry, name, &reaches)
                        || one.met(entry, &reaches) && one.is_of_task(entry, id, name, reader))
            });
            if let Some((id, _)) = now {
                entry.kind = Kind::Task(id.to.clone());
            }
        }
    }
}

impl Renumbering {
    /// True if this commit renumbered the record that the entry names.
    fn is_about(
        &self,
        entry: &Entry,
        name: &SessionName,
        reaches: &impl Fn(&Oid, &Oid) -> bool,
    ) -> bool {
        if let [first, _, ..] = &self.parents[..] {
            return reaches(&self.commit, &entry.commit) && !reaches(first, &entry.commit);
        }
        // A rebase or cherry-pick put the entry on this commit. Later entries use the new ids.
        if reaches(&entry.commit, &self.commit) {
            return entry.time <= self.committed;
        }
        // After a merge, `verify --fix` renumbers in a separate commit, which names the change
        // request: it applies only to that change request's entries.
        let is_its = entry.trailers.get(key::SESSION) == Some(name.as_str());
        is_its && name.patch_parts().is_some() && reaches(&self.commit, &entry.commit)
    }

    /// True if this is a separate commit, made after a merge, and a descendant of the entry.
    fn met(&self, entry: &Entry, reaches: &impl Fn(&Oid, &Oid) -> bool) -> bool {
        self.parents.len() == 1
            && entry.commit != self.commit
            && reaches(&self.commit, &entry.commit)
    }

    /// True if the entry's task has the title of the task with the new id. If two clones assigned
    /// the same id, this is true for only one of their tasks.
    fn is_of_task(
        &self,
        entry: &Entry,
        id: &Renumbered,
        name: &SessionName,
        reader: &dyn Reader,
    ) -> bool {
        let then = titles(reader, name, &entry.commit, &id.from);
        titles(reader, name, &self.commit, &id.to).iter().any(|title| then.contains(title))
    }
}

/// Titles of the tasks with this id at a commit.
fn titles(reader: &dyn Reader, name: &SessionName, commit: &Oid, id: &str) -> Vec<String> {
    let path = artifact_path(name, Artifact::ImplementationPlan);
    let bytes = reader.blob(Object::At(commit, &path)).ok().flatten().unwrap_or_default();
    let plan: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let tasks = plan["tasks"].as_array().into_iter().flatten().filter(|task| task["id"] == id);
    tasks.filter_map(|task| task["title"].as_str().map(str::to_owned)).collect()
}

/// The trailers of the last paragraph that has such a trailer: hooks may add paragraphs below it.
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
fn parsed(value: &str, name: &SessionName) -> Option<(SessionName, Renumbered)> {
    let [session, from, to] = value.split(' ').collect::<Vec<_>>()[..] else { return None };
    let session: SessionName = session.parse().ok()?;
    let is_of_folder = session.artifact_dir() == name.artifact_dir();
    let ids = || Renumbered { from: from.to_owned(), to: to.to_owned(), side: 0 };
    is_of_folder.then(|| (session, ids()))
}
