//! Trees and commits made in a private index, so that the user's index, working tree and HEAD do
//! not change. The commits are never signed, and no hooks run.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::error::Error;
use crate::git::arguments::chunks;
use crate::git::blobs::{AtPath, mode};
use crate::git::kept_objects::Becomes;
use crate::git::output::nul_texts;
use crate::git::repository::is_recorded;
use crate::git::{Git, Oid, Part, Store, TreeEntry};
use crate::git::{blobs, made, plain, ref_list};
use crate::moment::TreeCache;

impl Git {
    pub(crate) fn in_index<const N: usize>(
        &self,
        index: &Path,
        args: [&str; N],
    ) -> crate::git::Cmd<'_> {
        // Git would write parts of a split or sparse index into the repository.
        self.write(["-c", "core.splitIndex=false", "-c", "index.sparse=false"])
            .args(args)
            .env("GIT_INDEX_FILE", index)
    }
}

/// The tree of commit (or tree) `base` with exactly these paths as they are in the working tree
/// now: added, changed or deleted, ignored ones too, with clean filters applied.
///
/// # Errors
/// A path cannot be read or is behind a symbolic link.
pub fn tree<S: AsRef<str>>(git: &Git, base: &Oid, paths: &[S]) -> Result<Oid> {
    if paths.is_empty() {
        return tree_of(git, base.as_str())?
            .ok_or_else(|| Error::repository(format!("there is no commit {base}")).into());
    }
    let paths: Vec<String> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
    // Several steps need the same tree, and often no file changes between them.
    git.caches.get::<Trees>().or_find((base.clone(), paths.clone()), || written(git, base, &paths))
}

/// The last tree that was built, with the base and paths it was built from.
type Trees = TreeCache<(Oid, Vec<String>), Oid>;

fn written(git: &Git, base: &Oid, paths: &[String]) -> Result<Oid> {
    let mut files: Vec<AtPath<'_>> = Vec::new();
    for path in paths {
        relative(path)?;
        files.push((path, git.lies_at(path).filter(is_recorded)));
    }
    if let Some(tree) = tree_in_process(git, base, &files) {
        return Ok(tree);
    }
    let paths_where = |is_there: bool| -> Vec<&str> {
        let matches = files.iter().filter(|(_, meta)| meta.is_some() == is_there);
        matches.map(|(path, _)| *path).collect()
    };
    let (there, gone) = (paths_where(true), paths_where(false));
    let scratch = tempfile::tempdir().context("creating a temporary directory")?;
    let index = scratch.path().join("index");
    git.in_index(&index, ["read-tree", "--no-sparse-checkout"]).arg(base.as_str()).checked()?;
    if !gone.is_empty() {
        let remove = git.in_index(&index, ["update-index", "--force-remove"]);
        remove.args(["-z", "--stdin"]).stdin_nul(&gone).checked()?;
    }
    if !there.is_empty() {
        let add = git.in_index(&index, ["update-index", "--add", "--remove", "--replace"]);
        add.args(["-z", "--stdin"]).stdin_nul(&there).checked()?;
    }
    git.in_index(&index, ["write-tree"]).oid()
}

/// [`tree`] without a private index, so that its cost depends on the paths only; `None` if only git
/// knows the result. Each path comes with the metadata of its file or link.
pub(crate) fn tree_in_process(git: &Git, base: &Oid, files: &[AtPath<'_>]) -> Option<Oid> {
    let present: Vec<&str> =
        files.iter().filter(|(_, meta)| meta.is_some()).map(|(path, _)| *path).collect();
    if !plain::has_plain_modes(git)
        || !present.iter().all(|path| is_ordinary(path))
        || is_behind_link(git, &present)
    {
        return None;
    }
    let names: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    let before = blob_ids(git, base, &names).ok()?;
    let blobs = blobs::hash_files_over(git, files, Store::Write, &before).ok()?;
    let mut paths: Vec<(&str, Becomes)> = Vec::new();
    for ((path, meta), blob) in files.iter().zip(blobs) {
        let becomes = match meta {
            Some(meta) => Becomes::File(mode(meta), blob?),
            None => Becomes::Gone,
        };
        paths.push((path, becomes));
    }
    made::write_objects(git, |git| git.put_tree(base, &paths))
}

/// True if one of the paths is behind a link; each folder on the way is checked once.
fn is_behind_link(git: &Git, paths: &[&str]) -> bool {
    let above = |path: &&'_ str| path.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
    let folders: BTreeSet<&str> =
        paths.iter().flat_map(|path| above(path).into_iter().map(|at| &path[..at])).collect();
    folders.iter().any(|folder| git.lies_at(folder).is_some_and(|meta| meta.is_symlink()))
}

/// The tree of commit `base` with these files added or replaced at these paths. The blobs have to
/// exist.
///
/// # Errors
/// Git fails, or there is no such commit.
pub fn tree_with(git: &Git, base: &Oid, files: &[(String, Oid)]) -> Result<Oid> {
    if files.iter().all(|(path, _)| is_ordinary(path) && relative(path).is_ok()) {
        let put = |blob: &Oid| Becomes::File(0o100_644, blob.clone());
        let paths: Vec<(&str, Becomes)> =
            files.iter().map(|(path, blob)| (path.as_str(), put(blob))).collect();
        if let Some(tree) = made::write_objects(git, |git| git.put_tree(base, &paths)) {
            return Ok(tree);
        }
    }
    let scratch = tempfile::tempdir().context("creating a temporary directory")?;
    let index = scratch.path().join("index");
    let read_tree = git.in_index(&index, ["read-tree", "--no-sparse-checkout"]);
    read_tree.arg(base.as_str()).checked()?;
    let lines: Vec<String> =
        files.iter().map(|(path, blob)| format!("100644 {blob}\t{path}")).collect();
    let put = git.in_index(&index, ["update-index", "--replace", "-z", "--index-info"]);
    put.stdin_nul(&lines).checked()?;
    git.in_index(&index, ["write-tree"]).oid()
}

/// The tree of commit `base` with these paths as they are staged; `None` if none of them is staged.
///
/// # Errors
/// Git fails.
pub fn staged_tree<S: AsRef<str>>(git: &Git, base: &Oid, paths: &[S]) -> Result<Option<Oid>> {
    let mut staged = Vec::new();
    for chunk in chunks(paths) {
        let diff = git.read(["diff-index", "--cached", "-z", "--no-renames"]);
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
    let read_tree = git.in_index(&index, ["read-tree", "--no-sparse-checkout"]);
    read_tree.arg(base.as_str()).checked()?;
    let put = git.in_index(&index, ["update-index", "--replace", "-z", "--index-info"]);
    put.stdin_nul(&staged).checked()?;
    git.in_index(&index, ["write-tree"]).oid().map(Some)
}

/// The tree of a revision; `None` if there is none.
///
/// # Errors
/// Git cannot be started.
pub fn tree_of(git: &Git, rev: &str) -> Result<Option<Oid>> {
    match rev.parse() {
        Ok(oid) => git.reader().part(&oid, Part::Tree),
        Err(_) => ref_list::verified(git, &format!("{rev}^{{tree}}")),
    }
}

/// The blob at a path of a commit or tree; `None` if there is none.
///
/// # Errors
/// Git fails, or there is no such commit.
pub fn blob_id(git: &Git, commit: &Oid, path: &str) -> Result<Option<Oid>> {
    Ok(blob_ids(git, commit, &[path])?.pop().flatten())
}

/// The blobs at these paths of a commit or tree, in their order.
///
/// # Errors
/// Git fails, or there is no such commit.
pub fn blob_ids<S: AsRef<str>>(git: &Git, commit: &Oid, paths: &[S]) -> Result<Vec<Option<Oid>>> {
    let blob = |entry: Option<TreeEntry>| {
        entry.filter(|entry| entry.kind.is_blob()).map(|entry| entry.oid)
    };
    Ok(entries(git, commit, paths)?.into_iter().map(blob).collect())
}

/// The paths among these that are files or folders in a commit or tree. A path that leaves the
/// repository does not exist in it.
///
/// # Errors
/// Git fails, or there is no such commit.
pub fn existing(git: &Git, commit: &Oid, paths: &[&str]) -> Result<BTreeSet<String>> {
    let inside = |path: &&&str| {
        !path.contains('\0') && path.split('/').all(|name| !["", ".", ".."].contains(&name))
    };
    let paths: BTreeSet<&str> = paths.iter().filter(inside).copied().collect();
    let paths: Vec<&str> = paths.into_iter().collect();
    let entries = entries(git, commit, &paths)?;
    let present = paths.iter().zip(entries).filter(|(_, entry)| entry.is_some());
    Ok(present.map(|(path, _)| (*path).to_owned()).collect())
}

/// The entries of a commit or tree at exactly these paths.
pub(crate) fn entries<S: AsRef<str>>(
    git: &Git,
    commit: &Oid,
    paths: &[S],
) -> Result<Vec<Option<TreeEntry>>> {
    let paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
    git.reader().entries(commit, &paths)
}

/// True if git has no special rule for the names in a path. Git refuses some names that mean `.git`
/// on another system.
fn is_ordinary(path: &str) -> bool {
    path.split('/').all(|name| {
        let lower = name.to_lowercase();
        let as_git = lower.strip_prefix(".git").is_some_and(|rest| {
            rest == "modules" || !rest.starts_with(|c: char| c.is_ascii_alphabetic())
        });
        let odd = |c: char| matches!(c, '\\' | ':' | '~');
        !as_git && !lower.contains(odd) && (name.is_ascii() || !name.starts_with('.'))
    })
}

/// Fails unless the path is below the top.
pub(crate) fn relative(path: &str) -> Result<()> {
    let bad = |part: &str| matches!(part, "" | "." | "..") || part.eq_ignore_ascii_case(".git");
    if path.split('/').any(bad) {
        return Err(Error::repository(format!("'{path}' is not a path in the repository")).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::paths;
    use crate::git::test_repo::Repo;

    #[test]
    fn existing_paths_and_their_newest_commits() {
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
        let found: Vec<String> = existing(&git, &tip, &paths).unwrap().into_iter().collect();
        assert_eq!(found, ["README.md", "src", "src/a [1].rs"]);
        assert!(existing(&git, &tip, &[]).unwrap().is_empty());
        let range = format!("{start}..{tip}");
        let newest = |path| paths::newest_commit(&git, &range, path).unwrap();
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
        let tree = tree(&git, &base, &paths).unwrap();
        let draft =
            made::commit_tree(&git, &tree, &[base.clone(), base.clone()], "# draft\n").unwrap();
        let changed = repo.run(&[
            "diff",
            "--no-renames",
            "--name-status",
            "-z",
            base.as_str(),
            tree.as_str(),
        ]);
        assert_eq!(changed.replace('\0', " "), "A dir D dir/x D gone A sub dir/ü\n.log ");
        assert_eq!(blob_id(&git, &draft, "kept").unwrap(), blob_id(&git, &base, "kept").unwrap());
        assert_eq!(blob_id(&git, &draft, "gone").unwrap(), None);
        assert_eq!(blob_id(&git, &draft, "sub dir").unwrap(), None, "a directory");
        assert_eq!(repo.run(&["status", "--short", "--ignored"]), before);
        assert_eq!(std::fs::read(repo.path(".git/index")).unwrap(), index);
        assert_eq!(
            super::tree::<&str>(&git, &base, &[]).unwrap().as_str(),
            repo.run(&["rev-parse", "HEAD^{tree}"])
        );
        repo.run(&["fsck", "--strict"]);
    }

    #[test]
    fn paths_that_leave_the_tree_are_refused() {
        let repo = Repo::with_commit();
        for path in ["../x", "/etc/passwd", "a//b", "./a", ".git/config", "a/.GIT/x", ""] {
            assert!(tree(&repo.git(), &repo.head(), &[path]).is_err(), "{path}");
        }
    }

    /// Compares the two ways to make a tree, for every way in which a path can change.
    #[test]
    fn a_tree_made_in_process_is_the_one_git_makes() {
        let names = ["f", "d", "d/x", "d/y/z", "e/only", "new", "new/deep/er", "x.sh"];
        // One number selects the committed files, another the files on disk.
        let put = |repo: &Repo, bits: u32, text: &str| {
            for (at, name) in names.iter().enumerate() {
                let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
                let blocked = repo.path(name).is_dir()
                    || parent
                        .split('/')
                        .scan(String::new(), |above, part| {
                            above.push_str(part);
                            let found = repo.path(above).is_file();
                            above.push('/');
                            Some(found && !part.is_empty())
                        })
                        .any(|file| file);
                if bits & (1 << at) != 0 && !blocked {
                    repo.file(name, &format!("{text} {name}"));
                }
            }
        };
        for (committed, now) in [
            (0b1000_1101, 0b0111_0010),
            (0b0001_1100, 0b0000_0010),
            (0b0000_0010, 0b1001_1101),
            (0b0010_0000, 0b0100_0001),
            (0b1111_1100, 0),
        ] {
            let repo = Repo::with_commit();
            put(&repo, committed, "then");
            let base = repo.commit_all("then");
            for name in ["f", "d", "e", "new", "x.sh"] {
                let _ = std::fs::remove_dir_all(repo.path(name));
                let _ = std::fs::remove_file(repo.path(name));
            }
            put(&repo, now, "now");
            #[cfg(unix)]
            if repo.path("x.sh").exists() {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(repo.path("x.sh"), mode).unwrap();
                std::os::unix::fs::symlink("no/where", repo.path("link")).unwrap();
            }
            let git = repo.git();
            let mut paths = names.to_vec();
            paths.push("link");
            let files: Vec<AtPath<'_>> =
                paths.iter().map(|path| (*path, git.lies_at(path).filter(is_recorded))).collect();
            let fast = tree_in_process(&git, &base, &files).expect("nothing special here");
            // With this setting, the binary makes the tree.
            let mut env = repo.env();
            env.extend([
                ("GIT_CONFIG_COUNT".into(), "1".into()),
                ("GIT_CONFIG_KEY_0".into(), "core.fsync".into()),
                ("GIT_CONFIG_VALUE_0".into(), "none".into()),
            ]);
            let sure = Git::discover_with(&repo.path(""), env).unwrap();
            assert_eq!(tree_in_process(&sure, &base, &files), None);
            assert_eq!(fast, tree(&sure, &base, &paths).unwrap(), "{committed:b} {now:b}");
            repo.run(&["fsck", "--strict"]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn special_names_and_modes_are_left_to_git() {
        let repo = Repo::with_commit();
        std::fs::create_dir(repo.path("real")).unwrap();
        repo.file("real/a", "a");
        std::os::unix::fs::symlink("real", repo.path("link")).unwrap();
        repo.file("git~1", "a");
        let (git, head) = (repo.git(), repo.head());
        for path in ["link/a", "git~1", "a\\b", ".gitmodules", "sub/.git \u{200c}"] {
            let file = (path, git.lies_at("real/a"));
            assert_eq!(tree_in_process(&git, &head, &[file]), None, "{path}");
        }
        assert!(tree(&git, &head, &["link/a"]).is_err());
        repo.file("x.sh", "");
        repo.run(&["config", "core.fileMode", "false"]);
        let file = ("x.sh", git.lies_at("x.sh"));
        assert_eq!(tree_in_process(&repo.git(), &head, &[file]), None);
    }
}
