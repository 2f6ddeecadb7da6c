//! Properties of index entries besides their content: which are marked so that `git status` hides
//! them, which are submodules, which are attributes files. Listed by one `git ls-files`, once for
//! each index file.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;

use crate::git::Git;
use crate::git::file_stamp::{Stamp, stamp_of};
use crate::git::output::nul_texts;
use crate::git::repository::is_recorded;
use crate::git::settings;

/// The name of an attributes file.
const ATTRIBUTES: &str = ".gitattributes";

/// The mode of a submodule.
pub(crate) const SUBMODULE: u32 = 0o160_000;

/// Why `git status` does not list a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// `--skip-worktree`: commits do not include the file either.
    Skipped,
    /// `--assume-unchanged`.
    Assumed,
}

/// The facts of the index file that was listed last.
type Known = Mutex<Option<Listed>>;

/// The facts of an index file, and its stamp.
struct Listed {
    stamp: Stamp,
    facts: Arc<Facts>,
}

/// The marked entries, sorted by path.
pub(crate) type Marked = Vec<(String, Hidden)>;

/// The properties of the entries of one index file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// All paths, sorted; one in conflict once.
    pub(crate) paths: Vec<String>,
    /// The entries whose changes `git status` does not list.
    pub(crate) marked: Marked,
    /// The paths of submodules.
    pub(crate) submodules: BTreeSet<String>,
    /// The folders with an attributes file; the empty string is the top.
    pub(crate) attributes: BTreeSet<String>,
}

/// The facts of the current index.
///
/// # Errors
/// Git fails.
pub(crate) fn facts(git: &Git) -> Result<Arc<Facts>> {
    let Some(stamp) = stamp(git) else { return Ok(Arc::default()) };
    let slot = git.caches.get::<Known>();
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(slot) = slot.as_ref().filter(|slot| slot.stamp == stamp) {
        return Ok(Arc::clone(&slot.facts));
    }
    let facts = Arc::new(listed(git)?);
    *slot = Some(Listed { stamp, facts: Arc::clone(&facts) });
    Ok(facts)
}

/// The facts of the current index, if they are known and a commit of these paths only adds or
/// removes their entries: `None` if it would also change a mark (git marks what it commits with
/// `core.ignoreStat`, and unmarks what was assumed unchanged), a submodule, or what is in a folder
/// that a file replaces.
pub(crate) fn before_commit(git: &Git, paths: &[String]) -> Option<Arc<Facts>> {
    let now = stamp(git)?;
    let slot = git.caches.get::<Known>();
    let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    let facts = &slot.as_ref().filter(|slot| slot.stamp == now)?.facts;
    let is_plain = |path: &String| {
        let folder = format!("{path}/");
        let next = facts.paths.partition_point(|other| *other < folder);
        let is_folder = facts.paths.get(next).is_some_and(|other| other.starts_with(&folder));
        let is_marked = facts.marked.iter().any(|(marked, _)| marked == path);
        !is_folder && !is_marked && !facts.submodules.contains(path)
    };
    let keeps_marks = !settings::config_bool(git, "core.ignoreStat").ok()?;
    (keeps_marks && paths.iter().all(is_plain)).then(|| Arc::clone(facts))
}

/// Records that git-cowork itself has just committed these paths as they are on disk, while nobody
/// else was working. `facts` come from [`before_commit`].
pub(crate) fn note_committed(git: &Git, mut facts: Arc<Facts>, paths: &[String]) {
    let Some(stamp) = stamp(git) else { return };
    for path in paths {
        let is_there = git.lies_at(path).is_some_and(|meta| is_recorded(&meta));
        match (facts.paths.binary_search(path), is_there) {
            (Ok(at), false) => drop(Arc::make_mut(&mut facts).paths.remove(at)),
            (Err(at), true) => Arc::make_mut(&mut facts).paths.insert(at, path.clone()),
            _ => continue,
        }
        if let Some(folder) = attributes_folder(path) {
            let folders = &mut Arc::make_mut(&mut facts).attributes;
            if is_there {
                folders.insert(folder)
            } else {
                folders.remove(&folder)
            };
        }
    }
    let listed = Listed { stamp, facts };
    *git.caches.get::<Known>().lock().unwrap_or_else(PoisonError::into_inner) = Some(listed);
}

fn stamp(git: &Git) -> Option<Stamp> {
    std::fs::metadata(file(git)).ok().and_then(|meta| stamp_of(&meta))
}

/// The folder of an attributes file; `None` for another file.
fn attributes_folder(path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    (name == ATTRIBUTES).then(|| folder.to_owned())
}

/// The index file of this working tree.
pub(crate) fn file(git: &Git) -> PathBuf {
    git.git_dir.join("index")
}

fn listed(git: &Git) -> Result<Facts> {
    let list = git.read(["ls-files", "-z", "-v", "--stage"]).checked()?;
    let mut facts = Facts::default();
    // `H 100644 <id> 0 TAB <path>`; the letter is `S` for skip-worktree, and in lower case for
    // assume-unchanged.
    for line in nul_texts(&list.stdout) {
        let Some((entry, path)) = line.split_once('\t') else { continue };
        let (letter, rest) = entry.split_once(' ').unwrap_or_default();
        let why = match letter {
            "S" | "s" => Some(Hidden::Skipped),
            other if other.starts_with(|c: char| c.is_ascii_lowercase()) => Some(Hidden::Assumed),
            _ => None,
        };
        if facts.paths.last().is_some_and(|last| last == path) {
            continue;
        }
        facts.paths.push(path.to_owned());
        facts.marked.extend(why.map(|why| (path.to_owned(), why)));
        if rest.starts_with(&format!("{SUBMODULE:o} ")) {
            facts.submodules.insert(path.to_owned());
        } else {
            facts.attributes.extend(attributes_folder(path));
        }
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;
    use crate::git::{CommitOptions, commit};

    #[test]
    fn what_a_commit_adds_and_removes_is_noted() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let paths = ["a", "a/.gitattributes", ".gitattributes", "b\nü", "README.md"];
        for (there, gone) in [(2..5, 5..5), (0..1, 2..4), (1..2, 0..1), (3..5, 1..2)] {
            paths[gone].iter().for_each(|path| std::fs::remove_file(repo.path(path)).unwrap());
            let _ = std::fs::remove_dir(repo.path("a"));
            paths[there].iter().for_each(|path| repo.file(path, "x"));
            facts(&git).unwrap();
            commit::only(&git, &paths, "all", CommitOptions::default()).unwrap();
            let (kept, now) = (facts(&git).unwrap(), listed(&git).unwrap());
            assert_eq!(kept.paths, now.paths);
            assert_eq!(kept.attributes, now.attributes);
        }
    }

    /// If a commit does more than add and remove entries, the index is listed again.
    #[test]
    fn marks_and_replaced_folders_are_listed_after_a_commit() {
        let repo = Repo::with_commit();
        repo.file("a/x", "x");
        repo.file("b", "b");
        repo.commit_all("files");
        let git = repo.git();
        let committed = |path: &str| {
            git.status().unwrap();
            commit::only(&git, &[path], "one", CommitOptions::default()).unwrap();
            let (kept, now) = (facts(&git).unwrap(), listed(&git).unwrap());
            assert_eq!((&kept.paths, &kept.marked), (&now.paths, &now.marked), "{path}");
            let paths = |entries: Vec<crate::git::StatusEntry>| {
                entries.into_iter().map(|entry| entry.path).collect::<Vec<_>>()
            };
            let kept = paths(git.status().unwrap());
            assert_eq!(kept, paths(repo.git().status().unwrap()), "{path}");
        };
        std::fs::remove_dir_all(repo.path("a")).unwrap();
        repo.file("a", "a file now");
        committed("a");
        repo.run(&["update-index", "--assume-unchanged", "b"]);
        repo.file("b", "changed");
        committed("b");
        repo.run(&["config", "core.ignoreStat", "true"]);
        repo.file("c", "c");
        committed("c");
        repo.file("c", "a person's");
        crate::moment::end();
        assert_eq!(git.status().unwrap().len(), 1, "the edit is listed");
    }
}
