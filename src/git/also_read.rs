//! Working tree files that git itself reads: attributes, submodules, hooks, and configuration files
//! included by other configuration files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Git;
use crate::git::{hooks, index, settings};
use crate::instructions;

/// All hooks of githooks(5): the files to list if the hooks folder is the top of the working tree.
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

/// Paths of the working tree, from the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlsoRead {
    /// Files; some may not exist.
    pub files: BTreeSet<String>,
    /// Folders, with every file in them.
    pub folders: BTreeSet<String>,
}

/// Lists the working tree paths that git reads: every tracked attributes file, the list of
/// submodules, the hooks folder and configuration files, if they are inside the tree. Includes
/// agent instructions, which git itself does not read.
///
/// # Errors
/// Git fails.
pub fn list(git: &Git) -> Result<AlsoRead> {
    let facts = index::facts(git)?;
    let mut files: BTreeSet<String> =
        facts.paths.iter().filter(|path| is_read(path)).cloned().collect();
    let mut folders = BTreeSet::new();
    let hooks = hooks::folder(git)?;
    match in_tree(git, &hooks) {
        Some(top) if top.is_empty() => files.extend(HOOKS.map(str::to_owned)),
        Some(folder) => {
            folders.insert(folder);
        }
        None => {}
    }
    // The configured path may be a symbolic link in the tree: then the link is listed too, as a
    // file.
    if let Some(name) = settings::get(git, "core.hooksPath")? {
        let named = named_in_tree(git, &git.top().join(name));
        files.extend(named.filter(|path| !folders.contains(path)));
    }
    let origins: BTreeSet<PathBuf> = git.configuration()?.origins().collect();
    for origin in origins {
        let path = git.top().join(origin);
        files.extend(in_tree(git, &path).filter(|path| !path.is_empty()));
        files.extend(named_in_tree(git, &path));
    }
    Ok(AlsoRead { files, folders })
}

/// True if git, Git LFS or an agent reads a tracked file at this path. Names are compared without
/// case, because the file system may ignore it.
fn is_read(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    // `.lfsconfig` sets where Git LFS sends files, and the programs it runs to do so.
    let at_top = [".gitmodules", ".lfsconfig"];
    name.eq_ignore_ascii_case(".gitattributes")
        || at_top.iter().any(|known| path.eq_ignore_ascii_case(known))
        || instructions::instructs_agents(path)
}

/// The path from the top, if it is really (links resolved) in the working tree and not in `.git`.
fn in_tree(git: &Git, path: &Path) -> Option<String> {
    let top = git.top().canonicalize().ok()?;
    // A path that does not exist yet may be created later.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let inside = real.strip_prefix(&top).or_else(|_| real.strip_prefix(git.top())).ok()?;
    outside_git(inside)
}

/// The path from the top as it is named (links not resolved), if that is in the working tree.
fn named_in_tree(git: &Git, path: &Path) -> impl Iterator<Item = String> + use<> {
    let inside = path.strip_prefix(git.top()).ok();
    let named = inside.and_then(outside_git);
    named.filter(|named| !named.is_empty()).into_iter()
}

fn outside_git(inside: &Path) -> Option<String> {
    use std::path::Component::{CurDir, Normal};
    let mut names = Vec::new();
    for component in inside.components() {
        match component {
            CurDir => {}
            Normal(name) => names.push(name.to_str()?),
            _ => return None,
        }
    }
    (names.first() != Some(&".git")).then(|| names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use super::*;

    fn texts(set: &BTreeSet<String>) -> Vec<&str> {
        set.iter().map(String::as_str).collect()
    }

    #[test]
    fn hooks_attributes_and_included_configuration_of_the_tree() {
        let repo = Repo::with_commit();
        assert_eq!(list(&repo.git()).unwrap(), AlsoRead::default());
        for path in [".gitattributes", "a/b/.gitattributes", ".gitmodules", "a/.gitmodules"] {
            repo.file(path, "");
            repo.file(".lfsconfig", "");
        }
        repo.commit_all("files");
        repo.file("etc/gitconfig", "[a]\n\tb = c\n");
        repo.run(&["config", "include.path", "../etc/gitconfig"]);
        repo.run(&["config", "core.hooksPath", ".githooks"]);
        let read = list(&repo.git()).unwrap();
        let files =
            [".gitattributes", ".gitmodules", ".lfsconfig", "a/b/.gitattributes", "etc/gitconfig"];
        assert_eq!(texts(&read.files), files);
        assert_eq!(texts(&read.folders), [".githooks"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_of_hooks_behind_a_link_is_found_and_so_is_the_link() {
        let repo = Repo::with_commit();
        repo.file("scripts/hooks/pre-commit", "");
        std::os::unix::fs::symlink("scripts/hooks", repo.path(".githooks")).unwrap();
        repo.run(&["config", "core.hooksPath", ".githooks"]);
        let read = list(&repo.git()).unwrap();
        assert_eq!(texts(&read.files), [".githooks"]);
        assert_eq!(texts(&read.folders), ["scripts/hooks"]);
        repo.run(&["config", "core.hooksPath", "."]);
        let read = list(&repo.git()).unwrap();
        assert!(read.folders.is_empty() && read.files.contains("pre-commit"));
        repo.run(&["config", "core.hooksPath", "/nowhere/hooks"]);
        assert_eq!(list(&repo.git()).unwrap(), AlsoRead::default());
    }
}
