//! Restores single paths in index and working tree.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::git::in_the_way::overwriting;
use crate::git::snapshot::relative;
use crate::git::unfinished::{Restore, Step};
use crate::git::{EntryKind, Git, Oid, Store};
use crate::git::{blobs, in_the_way, snapshot, unfinished};

/// Restores exactly these paths from `commit`, in index and working tree; those it does not have
/// are removed, with directories that become empty. Nothing else is changed.
///
/// # Errors
/// An untracked file is in the place of a directory or file: exit 5.
pub fn restore_paths<S: AsRef<str>>(git: &Git, commit: &Oid, paths: &[S]) -> Result<()> {
    for path in paths {
        relative(path.as_ref())?;
    }
    let kinds = kinds(git, commit, paths)?;
    let blobs_in_commit: BTreeSet<&str> = of_kind(&kinds, EntryKind::is_blob).collect();
    let (back, gone): (Vec<&str>, Vec<&str>) =
        paths.iter().map(AsRef::as_ref).partition(|path| blobs_in_commit.contains(path));
    let obstacles = in_the_way::obstacles(git, &back, &gone)?;
    if !obstacles.is_empty() {
        return Err(overwriting(&obstacles).into());
    }
    if paths.is_empty() {
        return Ok(());
    }
    let write = || write_paths(git, commit, paths, true);
    unfinished::noting(git, || restoring(git, commit, paths, true), write)
}

/// Sets exactly these paths to their content in a commit or tree, in the working tree only; paths
/// that it does not have are removed. The index does not change.
///
/// # Errors
/// Git fails.
pub fn restore_worktree(git: &Git, from: &Oid, paths: &[String]) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let write = || write_paths(git, from, paths, false);
    unfinished::noting(git, || restoring(git, from, paths, false), write)
}

/// Sets paths to their content in a commit or tree; those it does not have are removed. Running it
/// again changes nothing.
pub(crate) fn write_paths<S: AsRef<str>>(
    git: &Git,
    source: &Oid,
    paths: &[S],
    staged: bool,
) -> Result<()> {
    let kinds = kinds(git, source, paths)?;
    let entries: BTreeSet<&str> = of_kind(&kinds, |kind| kind != EntryKind::Tree).collect();
    let trees: BTreeSet<&str> = of_kind(&kinds, |kind| kind == EntryKind::Tree).collect();
    let (back, gone): (Vec<&str>, Vec<&str>) =
        paths.iter().map(AsRef::as_ref).partition(|path| entries.contains(path));
    if staged && !gone.is_empty() {
        let forget = git.write(["update-index", "--force-remove", "-z", "--stdin"]);
        forget.stdin_nul(&gone).checked()?;
    }
    for path in gone.iter().filter(|path| !trees.contains(**path)) {
        remove_file(git, path)?;
    }
    if !back.is_empty() {
        let restore = git.write(["restore", "--worktree", "--quiet"]);
        let restore = restore.args(staged.then_some("--staged"));
        let restore = restore.arg(format!("--source={source}"));
        let restore = restore.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        restore.stdin_nul(&back).checked()?;
    }
    Ok(())
}

/// The kinds of these paths in a commit or tree.
fn kinds<'a, S: AsRef<str>>(
    git: &Git,
    commit: &Oid,
    paths: &'a [S],
) -> Result<Vec<(&'a str, EntryKind)>> {
    let entries = paths.iter().map(AsRef::as_ref).zip(snapshot::entries(git, commit, paths)?);
    Ok(entries.filter_map(|(path, entry)| Some((path, entry?.kind))).collect())
}

/// Removes one file and then its empty parent directories, never through a symbolic link.
pub(crate) fn remove_file(git: &Git, path: &str) -> Result<()> {
    if !has_real_parents(git, path) || git.lies_at(path).is_none_or(|meta| meta.is_dir()) {
        return Ok(());
    }
    std::fs::remove_file(git.top.join(path)).with_context(|| format!("removing {path}"))?;
    let mut parent = Path::new(path).parent();
    while let Some(directory) = parent.filter(|p| !p.as_os_str().is_empty()) {
        if std::fs::remove_dir(git.top.join(directory)).is_err() {
            break;
        }
        parent = directory.parent();
    }
    Ok(())
}

/// True if the folders of a path exist, and none of them is a link.
pub(crate) fn has_real_parents(git: &Git, path: &str) -> bool {
    let mut parents = path.match_indices('/').map(|(index, _)| &path[..index]);
    parents.all(|parent| git.lies_at(parent).is_some_and(|meta| meta.is_dir()))
}

fn of_kind<'a>(
    kinds: &[(&'a str, EntryKind)],
    wanted: impl Fn(EntryKind) -> bool,
) -> impl Iterator<Item = &'a str> {
    kinds.iter().filter(move |(_, kind)| wanted(*kind)).map(|(path, _)| *path)
}

/// [`Step::Restore`] for the current state.
pub(crate) fn restoring<S: AsRef<str>>(
    git: &Git,
    source: &Oid,
    paths: &[S],
    staged: bool,
) -> Result<Step> {
    let paths: Vec<String> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
    let before = present_blobs(git, &paths)?;
    let (head, source) = (git.head()?.oid().cloned(), source.clone());
    Ok(Step::Restore(Restore {
        head,
        source,
        staged,
        paths: paths.into_iter().zip(before).collect(),
    }))
}

/// Restores the paths that a killed run did not get to, unless somebody has moved HEAD or changed
/// these paths in the meantime.
pub(crate) fn finish_restore(git: &Git, step: &Restore) -> Result<bool> {
    if git.head()?.oid() != step.head.as_ref() {
        return Ok(false);
    }
    let paths: Vec<&String> = step.paths.iter().map(|(path, _)| path).collect();
    let now = present_blobs(git, &paths)?;
    let will = snapshot::blob_ids(git, &step.source, &paths)?;
    let mut paths_to_write = Vec::new();
    for (index, (path, before)) in step.paths.iter().enumerate() {
        let (now, will) = (&now[index], &will[index]);
        let whole = now == before || now == will || now.is_none();
        if whole || is_cut(git, path, &[will.as_ref()])? {
            paths_to_write.push(path.clone());
        }
    }
    let paths_to_write = unobstructed(git, paths_to_write, &step.source)?;
    write_paths(git, &step.source, &paths_to_write, step.staged)?;
    Ok(!paths_to_write.is_empty())
}

/// The paths that can be restored from `source` without removing an untracked file: a folder may be
/// in the place of a file, or a file in the place of a folder.
pub(crate) fn unobstructed(git: &Git, mut paths: Vec<String>, source: &Oid) -> Result<Vec<String>> {
    let blobs = snapshot::blob_ids(git, source, &paths)?;
    let paths_where = |is_there: bool| -> Vec<&str> {
        let matches = paths.iter().zip(&blobs).filter(|(_, blob)| blob.is_some() == is_there);
        matches.map(|(path, _)| path.as_str()).collect()
    };
    let obstacles = in_the_way::obstacles(git, &paths_where(true), &paths_where(false))?;
    let below = |path: &str, folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    paths.retain(|path| !obstacles.iter().any(|other| below(other, path) || below(path, other)));
    Ok(paths)
}

/// The blobs that files would have if they were added; `None` behind a link.
pub(crate) fn present_blobs<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<Vec<Option<Oid>>> {
    let mut blobs = blobs::hash_files(git, paths, Store::No)?;
    for (path, blob) in paths.iter().zip(&mut blobs) {
        if !has_real_parents(git, path.as_ref()) {
            *blob = None;
        }
    }
    Ok(blobs)
}

/// True if a file contains only the beginning of one of these blobs, as an interrupted checkout
/// leaves it.
pub(crate) fn is_cut(git: &Git, path: &str, blobs: &[Option<&Oid>]) -> Result<bool> {
    let is_file = git.lies_at(path).is_some_and(|meta| meta.is_file());
    if !is_file || !has_real_parents(git, path) {
        return Ok(false);
    }
    let content = std::fs::read(git.top.join(path))?;
    for blob in blobs.iter().flatten() {
        // With the filters that a checkout applies to this path.
        let at = format!("--path={path}");
        let whole = git.read(["cat-file", "--filters", &at, blob.as_str()]).checked()?;
        if whole.stdout.starts_with(&content) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;

    #[test]
    fn only_the_given_paths_are_restored() {
        let repo = Repo::with_commit();
        repo.file("s/a b", "1");
        repo.file("s/\n[x]", "1");
        repo.file("s/x", "1");
        let base = repo.commit_all("s");
        let git = repo.git();
        repo.file("s/a b", "2");
        repo.file("s/\n[x]", "2");
        repo.file("s/x", "2");
        repo.file("new/deep/er", "2");
        repo.file("new/staged", "2");
        repo.file("other/mine", "mine");
        repo.file("other/theirs", "theirs");
        repo.run(&["add", "new/staged", "s/a b"]);
        let paths = ["s/a b", "s/\n[x]", "new/deep/er", "new/staged", "other/theirs", "never/was"];
        restore_paths(&git, &base, &paths).unwrap();
        assert_eq!(repo.text("s/a b").unwrap() + &repo.text("s/\n[x]").unwrap(), "11");
        assert!(!repo.path("new").exists());
        assert_eq!(repo.run(&["status", "--short", "-uall"]), " M s/x\n?? other/mine");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_removed_through_a_link() {
        let repo = Repo::with_commit();
        let outside = repo.root().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("x"), "not ours").unwrap();
        std::os::unix::fs::symlink(&outside, repo.path("link")).unwrap();
        restore_paths(&repo.git(), &repo.head(), &["link/x"]).unwrap();
        assert!(outside.join("x").exists());
        assert!(restore_paths(&repo.git(), &repo.head(), &["../outside/x"]).is_err());
    }

    #[test]
    fn a_file_became_a_directory_and_back() {
        let repo = Repo::with_commit();
        repo.file("a", "file");
        let base = repo.commit_all("a");
        std::fs::remove_file(repo.path("a")).unwrap();
        repo.file("a/b", "x");
        let git = repo.git();
        restore_paths(&git, &base, &["a", "a/b"]).unwrap();
        assert_eq!(repo.text("a").unwrap(), "file");
        assert_eq!(repo.run(&["status", "--short"]), "");
    }
}
