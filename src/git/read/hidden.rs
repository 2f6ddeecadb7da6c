//! Files whose changes `git status` does not list because of flags in their index entries (`git
//! update-index --skip-worktree`, `--assume-unchanged`, `core.ignoreStat`). Some git commands
//! overwrite them silently; git-cowork treats them as uncommitted changes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};

use crate::git::Git;
use crate::git::arguments::chunks;
use crate::git::index;
use crate::git::index::Hidden;
use crate::git::index::Marked;
use crate::git::status_entry::{StatusEntry, parse_status};

/// Git removes only one of the two flags at a time; an entry may have both.
const UNMARK: [&str; 2] = ["--no-skip-worktree", "--no-assume-unchanged"];

/// Files on disk that differ from the index and that `git status` does not list, among these files
/// and folders; among all if none is given. Marked files that are missing (a sparse checkout) cost
/// next to nothing.
///
/// # Errors
/// Git fails.
pub(crate) fn edits<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<Vec<StatusEntry>> {
    let facts = index::facts(git)?;
    let present = marked_there(git, &facts.marked, paths);
    if present.is_empty() {
        return Ok(Vec::new());
    }
    let mut entries = status_without_marks(git, present.keys().copied().collect())?;
    entries.retain_mut(|entry| {
        entry.hidden = present.get(entry.path.as_str()).copied();
        entry.hidden.is_some()
    });
    Ok(entries)
}

/// Files on disk that are marked skip-worktree, changed or not: commits do not include them as long
/// as they are marked.
///
/// # Errors
/// Git fails.
pub fn skipped_files(git: &Git) -> Result<Vec<String>> {
    let facts = index::facts(git)?;
    let present = marked_there::<&str>(git, &facts.marked, &[]).into_iter();
    let skips = present.filter(|(_, why)| *why == Hidden::Skipped);
    Ok(skips.map(|(path, _)| path.to_owned()).collect())
}

/// Removes the marks of these files: git lists their changes again, and commits include them.
///
/// # Errors
/// Git fails.
pub fn unmark(git: &Git, paths: &[String]) -> Result<()> {
    let facts = index::facts(git)?;
    let present = marked_there(git, &facts.marked, paths);
    let names: Vec<&str> =
        present.into_keys().filter(|path| paths.iter().any(|p| p == path)).collect();
    if names.is_empty() {
        return Ok(());
    }
    UNMARK.into_iter().try_for_each(|option| {
        let update = git.write(["update-index", option, "-z", "--stdin"]);
        update.stdin_nul(&names).checked().map(|_| ())
    })
}

/// The files on disk that are marked skip-worktree or assume-unchanged, among these files and
/// folders; among all files if none is given.
fn marked_there<'a, S: AsRef<str>>(
    git: &Git,
    marked: &'a Marked,
    paths: &[S],
) -> BTreeMap<&'a str, Hidden> {
    let is_in_question = |path: &str| {
        let below = |folder: &str| path.strip_prefix(folder).is_some_and(|r| r.starts_with('/'));
        paths.is_empty()
            || paths.iter().map(|p| p.as_ref().trim_end_matches('/')).any(|p| p == path || below(p))
    };
    let mut missing = String::new();
    let mut present = BTreeMap::new();
    for (path, why) in marked.iter().filter(|(path, _)| is_in_question(path)) {
        let is_missing = !missing.is_empty() && path.starts_with(&missing);
        if !is_missing && git.lies_at(path).is_some_and(|meta| !meta.is_dir()) {
            present.insert(path.as_str(), *why);
        } else if !is_missing {
            missing = missing_folder(git, path);
        }
    }
    present
}

/// The result of `git status` for these files if nothing were marked.
fn status_without_marks(git: &Git, files: Vec<&str>) -> Result<Vec<StatusEntry>> {
    let scratch = tempfile::tempdir().context("creating a temporary directory")?;
    let index = scratch.path().join("index");
    std::fs::copy(git.git_dir.join("index"), &index).context("copying the index")?;
    for option in UNMARK {
        let update = git.in_index(&index, ["update-index", option, "-z", "--stdin"]);
        update.stdin_nul(&files).checked()?;
    }
    let status = git.read(["status", "--porcelain=v2", "-z", "--untracked-files=no"]);
    let mut status = status.args(["--no-renames", "--"]).env("GIT_INDEX_FILE", &index);
    if let [names] = chunks(&files).as_slice() {
        status = status.args(*names);
    }
    parse_status(&status.checked()?.stdout)
}

/// The outermost missing folder above a missing file, with a `/`; empty if no folder is missing.
fn missing_folder(git: &Git, path: &str) -> String {
    let mut folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    let missing = folders.find(|folder| git.lies_at(folder).is_none());
    missing.map(|folder| format!("{folder}/")).unwrap_or_default()
}

/// The paths that have changes git does not list, among those about to be written or removed.
pub(crate) fn among(git: &Git, paths: &[String]) -> Result<Vec<String>> {
    let changed: BTreeSet<&String> = paths.iter().collect();
    let hidden = edits::<&str>(git, &[])?.into_iter().map(|entry| entry.path);
    Ok(hidden.filter(|path| changed.contains(path)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Kind, hints_of, kind_of};
    use crate::git::test_repo::Repo;
    use crate::git::{Change, StatusKind};
    use crate::git::{in_the_way, merge, status, switch};

    const MARKS: [(&str, Hidden); 2] =
        [("--skip-worktree", Hidden::Skipped), ("--assume-unchanged", Hidden::Assumed)];

    /// A repository with `a` (1, then 2) and `dir/b`; `a` is marked and edited.
    fn marked(mark: &str) -> (Repo, crate::git::Oid) {
        let repo = Repo::with_commit();
        repo.file("a", "1\n");
        repo.file("dir/b", "1\n");
        let first = repo.commit_all("first");
        repo.file("a", "2\n");
        repo.commit_all("second");
        repo.run(&["update-index", mark, "a"]);
        repo.file("a", "mine\n");
        (repo, first)
    }

    #[test]
    fn changes_that_git_does_not_list_are_uncommitted() {
        for (mark, why) in MARKS {
            let (repo, _) = marked(mark);
            let git = repo.git();
            assert_eq!(repo.run(&["status", "--short"]), "");
            for paths in [&[][..], &["a"]] {
                let status = status::of(&git, paths).unwrap();
                let [entry] = status.as_slice() else { panic!("{mark}: {status:?}") };
                assert_eq!((entry.path.as_str(), entry.hidden), ("a", Some(why)));
                let unstaged =
                    StatusKind::Tracked { staged: Change::None, unstaged: Change::Modified };
                assert_eq!(entry.kind, unstaged);
            }
            assert!(status::is_uncommitted(&git, "a").unwrap());
            assert!(status::of(&git, &["dir"]).unwrap().is_empty());
            // Only changed content counts, and a new mark is noticed at once.
            repo.file("a", "2\n");
            repo.file("dir/b", "mine\n");
            assert_eq!(git.status().unwrap()[0].hidden, None);
            repo.run(&["update-index", mark, "dir/b"]);
            assert_eq!(status::of(&git, &["dir"]).unwrap()[0].hidden, Some(why));
            assert_eq!(git.status().unwrap().len(), 1);
            std::fs::remove_dir_all(repo.path("dir")).unwrap();
            crate::moment::end();
            assert!(git.status().unwrap().is_empty(), "there are no bytes to lose");
            repo.file("a", "mine\n");
            unmark(&git, &["a".to_owned(), "README.md".to_owned()]).unwrap();
            assert_eq!(repo.run(&["status", "--short", "a"]), " M a");
            assert!(skipped_files(&git).unwrap().is_empty());
        }
    }

    #[test]
    fn moves_and_merges_do_not_overwrite_hidden_changes() {
        for (mark, _) in MARKS {
            let (repo, first) = marked(mark);
            let git = repo.git();
            let second = repo.head();
            repo.run(&["branch", "side", first.as_str()]);
            assert_eq!(in_the_way::overwritten_by(&git, &first).unwrap(), ["a"]);
            for result in [
                switch::move_branch(&git, &first),
                switch::to(&git, "side"),
                switch::to_new(&git, "new", &first),
                switch::detach(&git, &first),
                merge::no_ff(&git, &first, "m", false).map(|_| ()),
            ] {
                let error = result.unwrap_err();
                assert_eq!(kind_of(&error), Kind::Repository);
                assert!(error.to_string().contains("would be overwritten: a"), "{error}");
                assert!(hints_of(&error)[0].contains("--no-skip-worktree -- a"), "{error}");
            }
            assert_eq!(
                (repo.head(), repo.text("a").as_deref()),
                (second, Some("mine\n")),
                "{mark}"
            );
        }
    }

    #[test]
    fn a_merge_that_git_cannot_begin_resets_nothing() {
        let (repo, first) = marked("--assume-unchanged");
        repo.run(&["update-index", "--no-assume-unchanged", "a"]);
        repo.file("a", "2\n");
        repo.run(&["switch", "-q", "-c", "side"]);
        repo.file("new", "theirs");
        let side = repo.commit_all("side");
        repo.run(&["switch", "-q", "main"]);
        repo.run(&["update-index", "--assume-unchanged", "a"]);
        repo.file("a", "mine\n");
        repo.file("new", "untracked, where the merge writes");
        assert!(merge::no_ff(&repo.git(), &side, "m", false).is_err());
        assert_eq!(repo.text("a").as_deref(), Some("mine\n"));
        assert_ne!(repo.head(), first);
    }

    #[test]
    fn a_sparse_checkout_hides_nothing() {
        let repo = Repo::with_commit();
        for name in ["in/a", "out/deep/b", "out/deep/c", "out/d"] {
            repo.file(name, "1\n");
        }
        repo.commit_all("files");
        repo.run(&["sparse-checkout", "set", "in"]);
        let git = repo.git();
        assert!(repo.text("out/d").is_none());
        assert!(git.status().unwrap().is_empty());
        assert!(skipped_files(&git).unwrap().is_empty());
        repo.file("in/a", "2\n");
        assert_eq!(git.status().unwrap().len(), 1);
    }
}
