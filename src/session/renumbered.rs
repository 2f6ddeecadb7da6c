//! Ids that got another number in a merge, rebase or cherry-pick, as `Cowork-Renumbered` says it: also
//! in commits that git itself finished, which carry no other trailer of ours.

use super::{Entry, Kind, SessionName, Trailers, artifact_path, key};
use crate::artifact::{Artifact, Renumbered};
use crate::git::{Commit, Git, Object, Oid, Reader};

/// A commit that gave new ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbering {
    /// The commit.
    pub commit: Oid,
    /// Its parents.
    pub parents: Vec<Oid>,
    /// When it was committed (Unix seconds).
    committed: i64,
    /// What it gave, all as side 0.
    pub ids: Vec<Renumbered>,
    /// Beside each of these, the session it names.
    names: Vec<SessionName>,
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
    Ok(among(&git.reader().walk(std::slice::from_ref(tip), hidden)?, name))
}

/// The same of commits that were read, the newest first.
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

/// Gives the entries of tasks the ids that their tasks have now: what a commit says of its task was
/// written before others got a new id. `reaches` tells whether the first commit is the second one, or
/// stands on it.
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
    /// Whether it gave new ids to what this entry speaks of.
    fn is_about(
        &self,
        entry: &Entry,
        name: &SessionName,
        reaches: &impl Fn(&Oid, &Oid) -> bool,
    ) -> bool {
        if let [first, _, ..] = &self.parents[..] {
            return reaches(&self.commit, &entry.commit) && !reaches(first, &entry.commit);
        }
        // A rebase or cherry-pick put the entry on it. What was written since has the new ids.
        if reaches(&entry.commit, &self.commit) {
            return entry.time <= self.committed;
        }
        // `verify --fix` after a merge names the change.
        let is_its = entry.trailers.get(key::SESSION) == Some(name.as_str());
        is_its && name.patch_parts().is_some() && reaches(&self.commit, &entry.commit)
    }

    /// Whether it is a commit of its own, made after branches met, and stands on this entry.
    fn met(&self, entry: &Entry, reaches: &impl Fn(&Oid, &Oid) -> bool) -> bool {
        self.parents.len() == 1
            && entry.commit != self.commit
            && reaches(&self.commit, &entry.commit)
    }

    /// Whether the entry's task is called as the one with the new id: that of one of two clones is.
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

/// What the tasks with an id are called at a commit.
fn titles(reader: &dyn Reader, name: &SessionName, commit: &Oid, id: &str) -> Vec<String> {
    let path = artifact_path(name, Artifact::ImplementationPlan);
    let bytes = reader.blob(Object::At(commit, &path)).ok().flatten().unwrap_or_default();
    let plan: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let tasks = plan["tasks"].as_array().into_iter().flatten().filter(|task| task["id"] == id);
    tasks.filter_map(|task| task["title"].as_str().map(str::to_owned)).collect()
}

/// Those of the last paragraph that says it: hooks add paragraphs of their own below.
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
