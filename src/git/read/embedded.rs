//! Bare repositories among the files of a commit, in which git would run a program. Whoever checks the
//! commit out and enters the folder would have it run.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::git::would_run::would_run;
use crate::git::{Git, Object, Oid};

/// Entries that make git treat a folder as a bare repository (`is_git_directory` in `setup.c`).
const BARE: [&str; 3] = ["HEAD", "objects", "refs"];
/// Files with settings.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];
/// Permission to execute, in the mode of a tree entry.
const EXECUTABLE: u32 = 0o111;

/// A bare repository in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// Its folder, from the top.
    pub folder: String,
    /// The setting or hook that git would run.
    pub runs: String,
}

impl fmt::Display for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is a repository, and git would run {} in it", self.folder, self.runs)
    }
}

/// The first repository of this commit or tree that one of `paths` belongs to and in which git would
/// run a program.
///
/// # Errors
/// Git cannot be read.
pub fn with_a_program(git: &Git, of: &Oid, paths: &[String]) -> Result<Option<Embedded>> {
    let reader = git.reader();
    for folder in paths.iter().flat_map(|path| folders(path)).collect::<BTreeSet<_>>() {
        let names = reader.names_in(of, folder)?;
        if !BARE.iter().all(|name| names.iter().any(|there| there == name)) {
            continue;
        }
        // A copy of what git would look at.
        let copy = tempfile::tempdir().context("creating a temporary directory")?;
        for name in SETTINGS {
            let path = format!("{folder}/{name}");
            if let Some(bytes) = reader.blob(Object::At(of, &path))? {
                std::fs::write(copy.path().join(name), bytes)
                    .with_context(|| format!("copying {path}"))?;
            }
        }
        let hooks = format!("{folder}/hooks");
        let names = reader.names_in(of, &hooks)?;
        let paths: Vec<String> = names.iter().map(|name| format!("{hooks}/{name}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let entries = reader.entries(of, &paths)?;
        let hook = names.iter().zip(entries).find(|(name, entry)| {
            let starts =
                entry.as_ref().is_some_and(|e| e.kind.is_blob() && e.mode & EXECUTABLE != 0);
            starts && Path::new(name).extension().is_none_or(|end| end != "sample")
        });
        let runs = match hook {
            Some((name, _)) => Some(format!("the hook {name}")),
            None => would_run(git, copy.path())?,
        };
        if let Some(runs) = runs {
            return Ok(Some(Embedded { folder: folder.to_owned(), runs }));
        }
    }
    Ok(None)
}

/// True if the name of a path is that of a part of a repository.
pub fn may_belong_to_one(path: &str) -> bool {
    folders(path).next().is_some()
}

/// The folders that may be a repository because of this path.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_part = BARE.contains(&name) || SETTINGS.contains(&name);
    let inside = ["/objects/", "/refs/", "/hooks/"];
    let above = inside.into_iter().filter_map(|part| path.find(part)).map(|at| &path[..at]);
    above.chain((is_part && !folder.is_empty()).then_some(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;

    fn found(repo: &Repo, paths: &[&str]) -> Option<String> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let found = with_a_program(&repo.git(), &repo.head(), &paths).unwrap();
        found.map(|found| found.to_string())
    }

    #[test]
    fn only_a_whole_repository_with_a_program_counts() {
        let repo = Repo::with_commit();
        for (path, text) in [
            ("a/b/HEAD", "ref: refs/heads/x\n"),
            ("a/b/objects/keep", ""),
            ("a/b/config", "[core]\n"),
        ] {
            repo.file(path, text);
        }
        repo.commit_all("no refs");
        assert_eq!(found(&repo, &["a/b/config"]), None);
        repo.file("a/b/refs/heads/keep", "");
        repo.commit_all("a repository");
        assert_eq!(found(&repo, &["a/b/refs/heads/keep"]), None);
        repo.file("a/b/config", "[core]\n\tfsmonitor = touch x\n");
        repo.commit_all("with a program");
        let told = "a/b is a repository, and git would run core.fsmonitor in it".to_owned();
        for path in ["a/b/HEAD", "a/b/config", "a/b/refs/heads/keep", "a/b/objects/x/y"] {
            assert_eq!(found(&repo, &[path]).as_ref(), Some(&told), "{path}");
        }
        assert_eq!(found(&repo, &["README.md", "a/b/description"]), None);
        repo.file("a/b/config", "[core]\n");
        repo.script("a/b/hooks/post-checkout", "#!/bin/sh\n");
        repo.commit_all("with a hook");
        assert!(found(&repo, &["a/b/HEAD"]).unwrap().contains("the hook post-checkout"));
    }
}
