//! Files in the way: untracked and ignored files that git would overwrite silently.

use std::collections::BTreeSet;

use anyhow::Result;
use git2::ObjectType;

use crate::error::Error;
use crate::git::output::nul_texts;
use crate::git::{Git, Oid, TreeChangeKind};
use crate::git::{hidden, libgit2, status};

/// Number of paths that an error lists.
const NAMED_PATHS: usize = 10;

/// Files at paths where `target` differs from HEAD and that git would overwrite silently: untracked
/// and ignored files, and changes that git does not list.
///
/// # Errors
/// Git fails.
pub fn overwritten_by(git: &Git, target: &Oid) -> Result<Vec<String>> {
    let head = git.resolve("HEAD")?;
    if head.as_ref() == Some(target) {
        return Ok(Vec::new());
    }
    let changes = git.reader().diff(head.as_ref(), target)?;
    let writes = changes.iter().filter(|change| change.kind != TreeChangeKind::Deleted);
    let writes: Vec<String> = writes.map(|change| change.path.clone()).collect();
    let mut obstacles = in_the_way(git, &writes)?;
    let all_paths: Vec<String> = changes.into_iter().map(|change| change.path).collect();
    obstacles.extend(hidden_in_the_way(git, &all_paths)?);
    Ok(obstacles)
}

/// The paths with changes that git does not list, among those that git would change or delete.
fn hidden_in_the_way(git: &Git, changed: &[String]) -> Result<Vec<String>> {
    if hidden::edits::<&str>(git, &[])?.is_empty() {
        return Ok(Vec::new());
    }
    hidden::among(git, changed)
}

pub(crate) fn refuse_overwriting(git: &Git, target: &Oid) -> Result<()> {
    let paths = overwritten_by(git, target)?;
    if paths.is_empty() {
        return Ok(());
    }
    let hidden = hidden::among(git, &paths)?;
    Err(if hidden.is_empty() { overwriting(&paths) } else { hiding(&hidden) }.into())
}

/// Like [`in_the_way`], but the files at the paths `back` and `gone` may be overwritten.
pub(crate) fn obstacles(git: &Git, back: &[&str], gone: &[&str]) -> Result<Vec<String>> {
    let writes: Vec<String> = back.iter().map(|&path| path.to_owned()).collect();
    let mut obstacles = in_the_way(git, &writes)?;
    obstacles.retain(|path| !back.contains(&path.as_str()) && !gone.contains(&path.as_str()));
    Ok(obstacles)
}

/// Files that are not in the index and that block a path git is about to write, or one of its
/// parent directories.
fn in_the_way(git: &Git, written: &[String]) -> Result<Vec<String>> {
    let mut suspects = BTreeSet::new();
    let mut obstacles = BTreeSet::new();
    let mut looked_at: BTreeSet<&str> = BTreeSet::new();
    for path in written {
        for (index, _) in path.match_indices('/') {
            let parent = &path[..index];
            if looked_at.insert(parent) && git.lies_at(parent).is_some_and(|meta| !meta.is_dir()) {
                suspects.insert(parent.to_owned());
            }
        }
        match git.lies_at(path) {
            Some(meta) if meta.is_dir() => obstacles.extend(untracked_below(git, path)?),
            Some(_) => {
                suspects.insert(path.clone());
            }
            None => {}
        }
    }
    if !suspects.is_empty() {
        let suspects: Vec<String> = suspects.into_iter().collect();
        let tracked = status::tracked(git, &suspects)?;
        obstacles.extend(suspects.into_iter().filter(|path| !tracked.contains(path)));
    }
    Ok(obstacles.into_iter().collect())
}

/// Untracked files in a directory, ignored or not.
fn untracked_below(git: &Git, directory: &str) -> Result<Vec<String>> {
    let list = git.read(["ls-files", "-z", "--others", "--", &format!("{directory}/")]);
    Ok(nul_texts(&list.checked()?.stdout).collect())
}

/// Untracked files, ignored or not; a folder of such files is listed once.
///
/// # Errors
/// Git fails.
pub fn unknown_files(git: &Git) -> Result<Vec<String>> {
    let list = ["ls-files", "-z", "--others", "--directory", "--no-empty-directory"];
    Ok(nul_texts(&git.read(list).checked()?.stdout).collect())
}

/// The id of the empty tree.
///
/// # Errors
/// libgit2 fails.
pub fn empty_tree(git: &Git) -> Result<Oid> {
    libgit2::oid(git2::Oid::hash_object_ext(ObjectType::Tree, &[], git.format.of_objects())?)
}

pub(crate) fn overwriting(paths: &[String]) -> Error {
    Error::repository(format!("untracked files would be overwritten: {}", named(paths)))
        .hint("move them away or commit them first")
}

/// Like [`overwriting`], for changes that `git status` does not list.
pub(crate) fn hiding(paths: &[String]) -> Error {
    let error = format!(
        "your uncommitted changes would be overwritten: {} (git status does not list them)",
        named(paths)
    );
    Error::repository(error)
        .hint(listed_again(paths))
        .hint("commit or move them, then run the command again")
}

/// A hint with the commands that make git list such changes again.
pub fn listed_again(paths: &[String]) -> String {
    let first = paths.first().map_or("PATH", String::as_str);
    format!(
        "let git list them: git update-index --no-skip-worktree -- {first}; git update-index \
         --no-assume-unchanged -- {first}"
    )
}

fn named(paths: &[String]) -> String {
    let first_paths =
        paths.iter().take(NAMED_PATHS).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = paths.len().saturating_sub(NAMED_PATHS);
    if more > 0 { format!("{first_paths} and {more} more") } else { first_paths }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Kind, kind_of};
    use crate::git::test_repo::Repo;
    use crate::git::{put_back, switch};

    #[test]
    fn untracked_and_ignored_files_are_not_overwritten() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let first = repo.head();
        repo.file("new.log", "ours");
        repo.file("dir/deep/x", "ours");
        repo.file("flat", "ours");
        repo.file("README.md", "second");
        let second = repo.commit_all("second");
        switch::move_branch(&git, &first).unwrap();
        assert!(overwritten_by(&git, &second).unwrap().is_empty());

        repo.file(".git/info/exclude", "*.log\nbuild/\nflat/\n");
        repo.file("new.log", "ignored, the user's");
        repo.file("dir", "a file where a directory comes");
        repo.file("flat/build", "ignored, in a directory where a file comes");
        let expected = ["dir", "flat/build", "new.log"];
        assert_eq!(overwritten_by(&git, &second).unwrap(), expected);
        for result in [
            switch::move_branch(&git, &second),
            switch::to_new(&git, "other", &second),
            put_back::restore_paths(&git, &second, &["dir/deep/x"]),
            put_back::restore_paths(&git, &second, &["flat"]),
        ] {
            let error = result.unwrap_err();
            assert_eq!(kind_of(&error), Kind::Repository);
            assert!(error.to_string().contains("would be overwritten"), "{error}");
        }
        assert_eq!(repo.head(), first);
        assert_eq!(repo.text("new.log").unwrap(), "ignored, the user's");
        assert!(repo.text("dir").is_some() && repo.text("flat/build").is_some());

        // A file that the user removed from the index is untracked as well.
        for path in ["new.log", "dir", "flat/build"] {
            std::fs::remove_file(repo.path(path)).unwrap();
        }
        std::fs::remove_dir(repo.path("flat")).unwrap();
        repo.run(&["rm", "-q", "--cached", "README.md"]);
        assert_eq!(overwritten_by(&git, &second).unwrap(), ["README.md"]);
    }
}
