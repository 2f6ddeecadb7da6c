//! Which of a few paths are uncommitted. `git status` takes a process and looks at the whole working
//! tree; here each path is compared with HEAD and the index. Git is asked only if something besides
//! the content of a file may decide: filters, marks, conflicts, submodules, ignore rules.

use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::io::ErrorKind;

use anyhow::Result;

use super::configuration::as_bool;
use super::ignore_rules::IgnoreRules;
use super::index::{Entry, IndexedFile};
use super::plain::Sources;
use super::snapshot::relative;
use super::{Git, Hidden};
use crate::git::{blobs, index, libgit2, plain, state};
use crate::moment::Kept;

/// Settings with which two spellings of a path may name the same file.
const SPELLINGS: [&str; 2] = ["core.ignorecase", "core.precomposeunicode"];

/// The modes of files and links.
const FILE_MODES: [u32; 3] = [0o100_644, 0o100_755, 0o120_000];

/// The last answer, with the paths that were asked about.
pub(super) type Known = Kept<Vec<String>, BTreeSet<String>>;

/// The paths among these that [`Git::status`] lists, except submodules and files that no commit
/// contains because they are marked skip-worktree.
///
/// # Errors
/// Git fails.
pub fn among(git: &Git, paths: &[String]) -> Result<BTreeSet<String>> {
    git.uncommitted.or_find(paths.to_vec(), || {
        if let Some(found) = without_git(git, paths) {
            return Ok(found);
        }
        let listed = git.status()?.into_iter();
        let listed = listed.filter(|e| !e.submodule && e.hidden != Some(Hidden::Skipped));
        let listed: BTreeSet<String> = listed.map(|entry| entry.path).collect();
        Ok(paths.iter().filter(|path| listed.contains(*path)).cloned().collect())
    })
}

/// [`among`] without git; `None` if only git can tell.
fn without_git(git: &Git, paths: &[String]) -> Option<BTreeSet<String>> {
    if !has_only_plain_entries(git) || !paths.iter().all(|path| relative(path).is_ok()) {
        return None;
    }
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let head = git.head().ok()?;
    let head = head.oid()?;
    let committed = git.reader().entries(head, &paths).ok()?;
    let indexed = index::files(git, &paths)?;
    let (sources, mut rules) = (plain::plain_sources(git), IgnoreRules::of(git)?);
    let (mut folders, mut found) = (Folders::default(), BTreeSet::new());
    for ((path, committed), indexed) in paths.into_iter().zip(committed).zip(indexed) {
        if committed.as_ref().is_some_and(|entry| !FILE_MODES.contains(&entry.mode)) {
            return None;
        }
        let indexed = match indexed {
            IndexedFile::No => None,
            IndexedFile::Plain(entry) => Some(entry),
            IndexedFile::Special => return None,
        };
        let committed = committed.map(|entry| (entry.mode, entry.oid));
        let entry = |entry: &Entry| Some((entry.mode, libgit2::oid(entry.id).ok()?));
        let is_listed = if committed == indexed.as_ref().and_then(entry) {
            match (folders.file(git, path)?, indexed) {
                (None, indexed) => indexed.is_some(),
                (Some(meta), Some(entry)) => differs(git, sources.as_ref(), path, &meta, &entry)?,
                // A new file, unless it is ignored.
                (Some(_), None) if rules.match_none_of(path)? => true,
                (Some(_), None) => return None,
            }
        } else {
            true
        };
        if is_listed {
            found.insert(path.to_owned());
        }
    }
    Some(found)
}

/// True if no mark, submodule or setting changes what git thinks of a file.
fn has_only_plain_entries(git: &Git) -> bool {
    let Ok(configuration) = git.configuration() else { return false };
    let is_set = |key| configuration.value(key).is_some_and(|value| as_bool(value) != Some(false));
    let Ok(facts) = index::facts(git) else { return false };
    let without_submodules = facts.more.as_ref().is_some_and(|more| more.submodules.is_empty());
    without_submodules
        && facts.marked.is_empty()
        && plain::has_plain_modes(git)
        && !SPELLINGS.into_iter().any(is_set)
}

/// What is above a path.
#[derive(Clone, Copy)]
enum Above {
    /// Folders of this repository.
    Folders,
    /// There is no folder, so there is nothing at the path.
    Nothing,
    /// A link, or another repository: only git can tell whether the path belongs to this
    /// repository.
    Unknown,
}

/// The folders that were looked at.
#[derive(Default)]
struct Folders<'p>(HashMap<&'p str, Above>);

impl<'p> Folders<'p> {
    /// What is above a path.
    fn above(&mut self, git: &Git, path: &'p str) -> Above {
        let Some((folder, _)) = path.rsplit_once('/') else { return Above::Folders };
        if let Some(known) = self.0.get(folder) {
            return *known;
        }
        let found = match self.above(git, folder) {
            Above::Folders => match at(git, folder) {
                Ok(Some(meta)) if meta.is_dir() => {
                    // Nothing in a nested repository belongs to this repository.
                    match at(git, &format!("{folder}/.git")) {
                        Ok(None) => Above::Folders,
                        Ok(Some(_)) | Err(_) => Above::Unknown,
                    }
                }
                Ok(Some(meta)) if meta.is_symlink() => Above::Unknown,
                Ok(Some(_) | None) => Above::Nothing,
                Err(_) => Above::Unknown,
            },
            other => other,
        };
        self.0.insert(folder, found);
        found
    }

    /// The metadata of a file or link; the outer `None` if only git can tell what is at this path.
    fn file(&mut self, git: &Git, path: &'p str) -> Option<Option<Metadata>> {
        match self.above(git, path) {
            Above::Unknown => None,
            Above::Nothing => Some(None),
            Above::Folders => match at(git, path).ok()? {
                Some(meta) => state::is_recorded(&meta).then_some(Some(meta)),
                None => Some(None),
            },
        }
    }
}

/// The metadata of what is at a path. For git, only these two errors mean that nothing is there: a
/// file in a folder that cannot be read is not deleted.
fn at(git: &Git, path: &str) -> std::io::Result<Option<Metadata>> {
    match git.top.join(path).symlink_metadata() {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// True if a file differs from its index entry; `None` if only git can tell.
fn differs(
    git: &Git,
    sources: Option<&Sources<'_>>,
    path: &str,
    meta: &Metadata,
    entry: &Entry,
) -> Option<bool> {
    if entry.is_as_indexed(meta) {
        return Some(false);
    }
    let blob = blobs::blob_of(git, sources, path, meta)?;
    Some(blob.as_str() != entry.id.to_string() || blobs::mode(meta) != entry.mode)
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::super::test_repo::Repo;
    use super::*;

    const PATHS: [&str; 8] =
        ["a", "b.log", "d/x", "d/e/x.o", "d/Build/y", "d/[z]", "n/x", "f/deep"];

    const RULES: [&str; 16] = [
        "*.log", "x", "/a", "d/", "!d/e/x.o", "build", "e/**/x.*", "*.[oa]", "\\[z\\]", "{a,b}*",
        "# a", "other", "dx*", "*~ ", "f/d?", "d/e x",
    ];

    /// Puts something at a path, or nothing.
    fn put(repo: &Repo, random: &mut Rng, path: &str) {
        let full = repo.path(path);
        let _ = std::fs::remove_file(&full);
        let above = full.parent().unwrap();
        if std::fs::create_dir_all(above).is_err() || full.is_dir() {
            return;
        }
        match random.u32(0..12) {
            0..6 => std::fs::write(&full, ["1", "2", "1\r\n"][random.usize(0..3)]).unwrap(),
            #[cfg(unix)]
            6 => repo.script(path, "exit 0"),
            #[cfg(unix)]
            7 => std::os::unix::fs::symlink("1", &full).unwrap(),
            8 if path != "d/x" => std::fs::create_dir(&full).unwrap(),
            _ => {}
        }
    }

    /// Changes the index, the configuration or the rules.
    fn confuse(repo: &Repo, random: &mut Rng) {
        let path = PATHS[random.usize(0..PATHS.len())];
        let rule = RULES[random.usize(0..RULES.len())];
        let files = [".gitignore", "d/.gitignore", ".git/info/exclude"];
        match random.u32(0..20) {
            0..10 => repo.file(files[random.usize(0..3)], &format!("{rule}\n")),
            10 => drop(repo.git().write(["add", "-f", path]).output()),
            11 => drop(repo.git().write(["add", "-N", "-f", path]).output()),
            12 => drop(repo.git().write(["rm", "-rq", "--cached", path]).output()),
            13 => drop(repo.git().write(["update-index", "--skip-worktree", path]).output()),
            14 => drop(repo.git().write(["update-index", "--assume-unchanged", path]).output()),
            15 => drop(repo.git().write(["config", "core.autocrlf", "input"]).output()),
            16 => drop(repo.git().write(["config", "core.fileMode", "false"]).output()),
            17 => drop(repo.git().write(["init", "-q", "n"]).output()),
            18 => repo.file(".gitattributes", "*.o filter=none\n"),
            _ => drop(repo.git().write(["config", "core.excludesFile", "own"]).output()),
        }
    }

    #[test]
    fn what_is_told_without_git_is_what_git_lists() {
        let (mut told, mut random) = (0, Rng::with_seed(21));
        for _ in 0..60 {
            let repo = Repo::with_commit();
            repo.file("own", "deep\n");
            PATHS.iter().for_each(|path| put(&repo, &mut random, path));
            repo.commit_all("all");
            PATHS.iter().for_each(|path| put(&repo, &mut random, path));
            for _ in 0..random.u32(0..3) {
                confuse(&repo, &mut random);
            }
            let git = repo.git();
            let listed = git.status().unwrap().into_iter();
            let listed = listed.filter(|entry| entry.hidden.is_none());
            let listed: BTreeSet<String> = listed.map(|entry| entry.path).collect();
            for path in PATHS.map(str::to_owned) {
                let expected = listed.contains(&path);
                let said = without_git(&git, std::slice::from_ref(&path));
                told += u32::from(said.is_some());
                if let Some(said) = said {
                    let state = repo.run(&["status", "--short", "--ignored"]);
                    assert_eq!(said.contains(&path), expected, "{path} in\n{state}");
                }
            }
        }
        assert!(told > 200, "git was needed for nearly all: {told} of 480");
    }

    #[test]
    fn a_file_that_cannot_be_looked_at_is_left_to_git() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let missing = ["README.md/x".to_owned(), "no/such".to_owned()];
        assert!(without_git(&git, &missing).unwrap().is_empty());
        repo.file("d/x", "x");
        // A name that is too long: the error does not mean that there is no such file.
        assert_eq!(without_git(&git, &[format!("d/{}", "x".repeat(300))]), None);
    }

    #[test]
    fn a_file_written_after_it_was_indexed_is_read() {
        let repo = Repo::with_commit();
        repo.file("a", "1\n");
        repo.commit_all("a");
        let git = repo.git();
        let paths = ["a".to_owned()];
        assert!(without_git(&git, &paths).unwrap().is_empty());
        // The same size and inode, perhaps within one tick of the file system's clock.
        std::fs::write(repo.path("a"), "2\n").unwrap();
        assert_eq!(without_git(&git, &paths).unwrap().len(), 1);
        std::fs::write(repo.path("a"), "1\n").unwrap();
        assert!(without_git(&git, &paths).unwrap().is_empty());
    }

    #[test]
    fn an_answer_holds_until_something_is_written_or_committed() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let paths = ["a".to_owned(), "b".to_owned()];
        assert!(among(&git, &paths).unwrap().is_empty());
        repo.file("a", "1");
        assert_eq!(among(&git, &paths).unwrap().len(), 1);
        let commit = crate::git::commit::only(&git, &paths[..1], "a", Default::default());
        commit.unwrap();
        assert!(among(&git, &paths).unwrap().is_empty());
    }
}
