//! The files directly in a few folders, on disk and in HEAD. For folders with nothing special in
//! them this is enough to know what differs from HEAD, so `git status` is not needed.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;

use anyhow::{Context as _, Result};

use super::Git;
use crate::git::{hidden, paths, snapshot};
use crate::moment::Kept;

/// The files directly in some folders. Names that begin with a dot are left out: they are
/// half-written files of a killed run.
#[derive(Debug, Default)]
pub struct Folders {
    /// Those on disk.
    pub there: BTreeSet<String>,
    /// Those in HEAD that are not on disk; `None` if only `git status` can tell: a folder contains
    /// marked files, some of which a sparse checkout may have removed, or something other than
    /// files.
    pub gone: Option<BTreeSet<String>>,
}

/// The last folders that were looked at.
pub(super) type Seen = Kept<Vec<String>, Arc<Folders>>;

/// Looks at these folders, which may contain a folder called `nested`. Returns the result of the
/// last look if nothing has changed since.
///
/// # Errors
/// A folder cannot be read, or git fails.
pub fn look(git: &Git, folders: &[String], nested: &str) -> Result<Arc<Folders>> {
    git.folders.or_find(folders.to_vec(), || {
        let (mut found, mut plain) = (Folders::default(), true);
        for folder in folders {
            plain &= list(git, folder, nested, &mut found.there)?;
        }
        found.gone = if plain { gone(git, folders, nested, &found.there)? } else { None };
        Ok(Arc::new(found))
    })
}

/// Adds the files in a folder. True if the folder is not behind a link, and either does not exist
/// or contains only regular files and the nested folder.
fn list(git: &Git, folder: &str, nested: &str, files: &mut BTreeSet<String>) -> Result<bool> {
    let above = folder.match_indices('/').map(|(at, _)| &folder[..at]).chain([folder]);
    let mut is_plain = true;
    for part in above {
        let meta = git.top().join(part).symlink_metadata();
        is_plain &= meta.map_or(true, |meta| meta.is_dir());
    }
    let full = git.top().join(folder);
    let entries = match std::fs::read_dir(&full) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(is_plain),
        Err(error) => return Err(error).with_context(|| format!("reading {}", full.display())),
    };
    for entry in entries {
        let entry = entry.with_context(|| format!("reading {}", full.display()))?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        match entry.file_name().to_str().filter(|name| !name.starts_with('.')) {
            Some(name) if is_file => {
                files.insert(format!("{folder}/{name}"));
            }
            Some(name) => is_plain &= name == nested,
            None => is_plain = false,
        }
    }
    Ok(is_plain)
}

/// The files in HEAD that are not among those on disk; `None` if there are marked files, or
/// anything other than files.
fn gone(
    git: &Git,
    folders: &[String],
    nested: &str,
    there: &BTreeSet<String>,
) -> Result<Option<BTreeSet<String>>> {
    let mut gone = BTreeSet::new();
    let Some(head) = git.head()?.oid().cloned() else { return Ok(None) };
    for folder in folders {
        if hidden::marks_below(git, folder)? {
            return Ok(None);
        }
        let names = paths::names_in(git, &head, folder)?.into_iter().filter(|name| name != nested);
        let paths = names.map(|name| format!("{folder}/{name}"));
        gone.extend(paths.filter(|path| !there.contains(path)));
    }
    // A name in the commit may be that of a folder: then only `git status` can tell.
    let paths: Vec<&String> = gone.iter().collect();
    let blobs = snapshot::blob_ids(git, &head, &paths)?;
    Ok(blobs.iter().all(Option::is_some).then_some(gone))
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use super::*;

    fn seen(git: &Git) -> (Vec<String>, Option<Vec<String>>) {
        crate::moment::end();
        let found = look(git, &["a/b".to_owned()], "inner").unwrap();
        let texts = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>();
        (texts(&found.there), found.gone.as_ref().map(texts))
    }

    #[test]
    fn files_that_are_there_and_files_that_are_gone() {
        let repo = Repo::with_commit();
        let git = repo.git();
        assert_eq!(seen(&git), (vec![], Some(vec![])), "there is no folder");
        for path in ["a/b/one", "a/b/two", "a/b/inner/x", "a/c"] {
            repo.file(path, "x");
        }
        repo.commit_all("files");
        std::fs::remove_file(repo.path("a/b/two")).unwrap();
        repo.file("a/b/three", "x");
        let there = vec!["a/b/one".to_owned(), "a/b/three".to_owned()];
        assert_eq!(seen(&git), (there.clone(), Some(vec!["a/b/two".to_owned()])));
        repo.file("a/b/.hidden", "x");
        assert_eq!(seen(&git), (there.clone(), None));
        std::fs::remove_file(repo.path("a/b/.hidden")).unwrap();
        repo.file("a/b/other/x", "x");
        assert_eq!(seen(&git), (there, None));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_behind_a_link_needs_git_status() {
        let repo = Repo::with_commit();
        repo.file("real/b/one", "x");
        std::os::unix::fs::symlink("real", repo.path("a")).unwrap();
        assert_eq!(seen(&repo.git()), (vec!["a/b/one".to_owned()], None));
    }

    #[test]
    fn a_look_holds_until_something_is_written() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let folders = ["a".to_owned()];
        // Another test may call `moment::end` between the two looks: then compare again.
        while !Arc::ptr_eq(&look(&git, &folders, "x").unwrap(), &look(&git, &folders, "x").unwrap())
        {
        }
        repo.file("a/one", "x");
        crate::moment::wrote();
        assert!(look(&git, &folders, "x").unwrap().there.contains("a/one"));
    }
}
