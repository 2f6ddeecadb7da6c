//! Trees and commits made on the side: a private index, so that the user's index, working tree
//! and HEAD stay as they are. Never signed, no hooks.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::output::nul_texts;
use super::spawn::chunks;
use super::{Git, Oid, Part, TreeEntry};
use crate::error::Error;

impl Git {
    /// The tree of commit (or tree) `base` with exactly these paths as they are in the working
    /// tree now: added, changed or gone, ignored ones too, clean filters applied.
    ///
    /// # Errors
    /// A path cannot be read or lies behind a symbolic link.
    pub fn snapshot_tree<S: AsRef<str>>(&self, base: &Oid, paths: &[S]) -> Result<Oid> {
        if paths.is_empty() {
            return self
                .tree_of(base.as_str())?
                .ok_or_else(|| Error::repository(format!("there is no commit {base}")).into());
        }
        let scratch = tempfile::tempdir().context("creating a temporary directory")?;
        let index = scratch.path().join("index");
        let (mut there, mut gone) = (Vec::new(), Vec::new());
        for path in paths {
            relative(path.as_ref())?;
            let is_file = self.lies_at(path.as_ref()).is_some_and(|meta| !meta.is_dir());
            if is_file { &mut there } else { &mut gone }.push(path.as_ref());
        }
        self.in_index(&index, ["read-tree", "--no-sparse-checkout"])
            .arg(base.as_str())
            .checked()?;
        if !gone.is_empty() {
            let remove = self.in_index(&index, ["update-index", "--force-remove"]);
            remove.args(["-z", "--stdin"]).stdin_nul(&gone).checked()?;
        }
        if !there.is_empty() {
            let add = self.in_index(&index, ["update-index", "--add", "--remove", "--replace"]);
            add.args(["-z", "--stdin"]).stdin_nul(&there).checked()?;
        }
        self.in_index(&index, ["write-tree"]).oid()
    }

    /// The tree of commit `base` with these files at these paths beside or instead of its own.
    ///
    /// # Errors
    /// Git fails, there is no such blob.
    pub fn tree_with(&self, base: &Oid, files: &[(String, Oid)]) -> Result<Oid> {
        let scratch = tempfile::tempdir().context("creating a temporary directory")?;
        let index = scratch.path().join("index");
        let read = self.in_index(&index, ["read-tree", "--no-sparse-checkout"]);
        read.arg(base.as_str()).checked()?;
        let lines: Vec<String> =
            files.iter().map(|(path, blob)| format!("100644 {blob}\t{path}")).collect();
        let put = self.in_index(&index, ["update-index", "--replace", "-z", "--index-info"]);
        put.stdin_nul(&lines).checked()?;
        self.in_index(&index, ["write-tree"]).oid()
    }

    /// The tree of commit `base` with these paths as they are staged; `None` when none of them is.
    ///
    /// # Errors
    /// Git fails.
    pub fn staged_tree<S: AsRef<str>>(&self, base: &Oid, paths: &[S]) -> Result<Option<Oid>> {
        let mut staged = Vec::new();
        for chunk in chunks(paths) {
            let diff = self.read(["diff-index", "--cached", "-z", "--no-renames"]);
            let diff = diff.args(["--diff-filter=AMT", base.as_str(), "--"]);
            let output = diff.args(chunk.iter().map(AsRef::as_ref)).checked()?;
            // `:<mode> <mode> <id> <id> <status> NUL <path> NUL`
            let fields: Vec<String> = nul_texts(&output.stdout).collect();
            for pair in fields.chunks_exact(2) {
                if let [_, mode, _, blob, _] = pair[0].split(' ').collect::<Vec<_>>()[..] {
                    staged.push(format!("{mode} {blob}\t{}", pair[1]));
                }
            }
        }
        if staged.is_empty() {
            return Ok(None);
        }
        let scratch = tempfile::tempdir().context("creating a temporary directory")?;
        let index = scratch.path().join("index");
        let read = self.in_index(&index, ["read-tree", "--no-sparse-checkout"]);
        read.arg(base.as_str()).checked()?;
        let put = self.in_index(&index, ["update-index", "--replace", "-z", "--index-info"]);
        put.stdin_nul(&staged).checked()?;
        self.in_index(&index, ["write-tree"]).oid().map(Some)
    }

    /// The tree a revision names; `None` when there is none.
    ///
    /// # Errors
    /// Git cannot be started.
    pub fn tree_of(&self, rev: &str) -> Result<Option<Oid>> {
        match rev.parse() {
            Ok(oid) => self.reader().part(&oid, Part::Tree),
            Err(_) => self.verified(&format!("{rev}^{{tree}}")),
        }
    }

    /// The blob at a path of a commit or tree; `None` when there is none.
    ///
    /// # Errors
    /// Git fails, there is no such commit.
    pub fn blob_id(&self, commit: &Oid, path: &str) -> Result<Option<Oid>> {
        Ok(self.blob_ids(commit, &[path])?.pop().flatten())
    }

    /// The blobs at these paths of a commit or tree, in their order.
    ///
    /// # Errors
    /// Git fails, there is no such commit.
    pub fn blob_ids<S: AsRef<str>>(&self, commit: &Oid, paths: &[S]) -> Result<Vec<Option<Oid>>> {
        let blob = |entry: Option<TreeEntry>| {
            entry.filter(|entry| entry.kind.is_blob()).map(|entry| entry.oid)
        };
        Ok(self.entries(commit, paths)?.into_iter().map(blob).collect())
    }

    /// Of these paths, the files and folders a commit or tree has. Whatever is no path inside the
    /// repository is not there.
    ///
    /// # Errors
    /// Git fails, there is no such commit.
    pub fn existing(&self, commit: &Oid, paths: &[&str]) -> Result<BTreeSet<String>> {
        let inside = |path: &&&str| {
            !path.contains('\0') && path.split('/').all(|name| !["", ".", ".."].contains(&name))
        };
        let paths: BTreeSet<&str> = paths.iter().filter(inside).copied().collect();
        let paths: Vec<&str> = paths.into_iter().collect();
        let entries = self.entries(commit, &paths)?;
        let there = paths.iter().zip(entries).filter(|(_, entry)| entry.is_some());
        Ok(there.map(|(path, _)| (*path).to_owned()).collect())
    }

    /// What a commit or tree has at exactly these paths.
    pub(super) fn entries<S: AsRef<str>>(
        &self,
        commit: &Oid,
        paths: &[S],
    ) -> Result<Vec<Option<TreeEntry>>> {
        let paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
        self.reader().entries(commit, &paths)
    }

    pub(super) fn in_index<const N: usize>(&self, index: &Path, args: [&str; N]) -> super::Cmd<'_> {
        // A shared or sparse index would leave parts in the repository.
        self.write(["-c", "core.splitIndex=false", "-c", "index.sparse=false"])
            .args(args)
            .env("GIT_INDEX_FILE", index)
    }
}

/// Fails unless the path stays below the top.
pub(super) fn relative(path: &str) -> Result<()> {
    let bad = |part: &str| matches!(part, "" | "." | "..") || part.eq_ignore_ascii_case(".git");
    if path.split('/').any(bad) {
        return Err(Error::repository(format!("'{path}' is not a path in the repository")).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;

    #[test]
    fn files_and_folders_that_are_there_and_who_changed_them() {
        let repo = Repo::with_commit();
        let start = repo.head();
        repo.file("src/a [1].rs", "a");
        repo.file("src/b.rs", "b");
        let tip = repo.commit_all("both\n\nmore");
        let git = repo.git();
        let paths = [
            "src",
            "src/a [1].rs",
            "src/*",
            "src/c.rs",
            "/etc/passwd",
            "../x",
            "a//b",
            "",
            ".",
            "src/../src",
            "README.md",
        ];
        let found: Vec<String> = git.existing(&tip, &paths).unwrap().into_iter().collect();
        assert_eq!(found, ["README.md", "src", "src/a [1].rs"]);
        assert!(git.existing(&tip, &[]).unwrap().is_empty());
        let range = format!("{start}..{tip}");
        let newest = |path| git.newest_commit(&range, path).unwrap();
        let said = newest("src/a [1].rs").unwrap();
        assert!(tip.as_str().starts_with(said.strip_suffix(" both").unwrap()), "{said}");
        assert_eq!(newest("README.md"), None);
    }

    #[test]
    fn a_tree_of_exactly_these_paths_and_nothing_else_moves() {
        let repo = Repo::with_commit();
        repo.file("gone", "gone");
        repo.file("dir/x", "x");
        repo.file("kept", "kept");
        let base = repo.commit_all("second");
        repo.file(".gitignore", "*.log");
        repo.file("users", "staged");
        repo.run(&["add", "users"]);
        std::fs::remove_file(repo.path("gone")).unwrap();
        std::fs::remove_dir_all(repo.path("dir")).unwrap();
        repo.file("dir", "a file now");
        repo.file("kept", "changed, not asked for");
        repo.file("sub dir/ü\n.log", "ignored");
        let before = repo.run(&["status", "--short", "--ignored"]);
        let index = std::fs::read(repo.path(".git/index")).unwrap();

        let git = repo.git();
        let paths = ["gone", "dir", "dir/x", "sub dir/ü\n.log", "never/was"];
        let tree = git.snapshot_tree(&base, &paths).unwrap();
        let draft = git.commit_tree(&tree, &[base.clone(), base.clone()], "# draft\n").unwrap();
        let changed = repo.run(&[
            "diff",
            "--no-renames",
            "--name-status",
            "-z",
            base.as_str(),
            tree.as_str(),
        ]);
        assert_eq!(changed.replace('\0', " "), "A dir D dir/x D gone A sub dir/ü\n.log ");
        assert_eq!(git.blob_id(&draft, "kept").unwrap(), git.blob_id(&base, "kept").unwrap());
        assert_eq!(git.blob_id(&draft, "gone").unwrap(), None);
        assert_eq!(git.blob_id(&draft, "sub dir").unwrap(), None, "a directory");
        assert_eq!(repo.run(&["status", "--short", "--ignored"]), before);
        assert_eq!(std::fs::read(repo.path(".git/index")).unwrap(), index);
        assert_eq!(
            git.snapshot_tree::<&str>(&base, &[]).unwrap().as_str(),
            repo.run(&["rev-parse", "HEAD^{tree}"])
        );
        repo.run(&["fsck", "--strict"]);
    }

    #[test]
    fn paths_that_leave_the_tree_are_refused() {
        let repo = Repo::with_commit();
        for path in ["../x", "/etc/passwd", "a//b", "./a", ".git/config", "a/.GIT/x", ""] {
            assert!(repo.git().snapshot_tree(&repo.head(), &[path]).is_err(), "{path}");
        }
    }
}
