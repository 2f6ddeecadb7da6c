//! Working tree files that git itself reads or runs: attributes, submodules, hooks, configuration
//! files included by other configuration files, and the programs that settings name.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::git::Git;
use crate::git::configuration::{self, KeyAndValue, expanded};
use crate::git::would_run::{CONFIG_MAX, is_command};
use crate::git::{hooks, index};
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

/// Maximum number of configuration files that are read because another one includes them, though
/// git does not read them now.
const INCLUDED_MAX: usize = 50;
/// As many links as Linux follows on the way to one file.
const LINKS_MAX: usize = 40;

/// Lists the working tree paths that git reads: every tracked attributes file, the list of
/// submodules, the hooks folder, configuration files and programs of settings, if they are inside
/// the tree. What such a program reads or starts in turn is not listed. Includes
/// agent instructions, which git itself does not read.
///
/// # Errors
/// Git fails.
pub fn list(git: &Git) -> Result<AlsoRead> {
    let facts = index::facts(git)?;
    let mut files: BTreeSet<String> =
        facts.paths.iter().filter(|path| is_read(path)).cloned().collect();
    let mut folders = BTreeSet::new();
    let Settings { settings, files: configuration } = all_settings(git)?;
    let hook_folders = settings.iter().filter(|(key, _)| key == "core.hookspath");
    let hook_folders = hook_folders.filter_map(|(_, value)| expanded(git, value.as_deref()?));
    // A link on the way to the hooks is listed too, as a file.
    for folder in hook_folders.map(|name| git.top().join(name)).chain([hooks::folder(git)?]) {
        let way = way_to(git, &folder);
        files.extend(way.links);
        match way.end {
            Some(top) if top.is_empty() => files.extend(HOOKS.map(str::to_owned)),
            Some(folder) => {
                folders.insert(folder);
            }
            None => {}
        }
    }
    let mut others: Vec<PathBuf> = configuration.into_iter().collect();
    for (key, value) in &settings {
        let value = value.as_deref().unwrap_or_default();
        match key.as_str() {
            "core.attributesfile" => {
                others.extend(expanded(git, value).map(|path| git.top().join(path)));
            }
            key if is_command(key) => others.extend(named_by(git, value)),
            _ => {}
        }
    }
    files.extend(others.iter().flat_map(|path| way_to(git, path).files()));
    Ok(AlsoRead { files, folders })
}

/// The settings in effect, and those of files that git would include if they existed or a condition
/// held: a command can make both true.
struct Settings {
    settings: Vec<KeyAndValue>,
    /// The files, whether they exist or not.
    files: BTreeSet<PathBuf>,
}

fn all_settings(git: &Git) -> Result<Settings> {
    let now = git.configuration()?;
    let pair = |(key, value): (&str, Option<&str>)| (key.to_owned(), value.map(str::to_owned));
    let mut settings: Vec<_> = now.all().map(pair).collect();
    let mut files: BTreeSet<PathBuf> = now.origins().map(|path| git.top().join(path)).collect();
    let mut read_files = BTreeSet::new();
    let mut includes: Vec<PathBuf> = now
        .with_origins()
        .filter_map(|(from, key, value)| {
            configuration::included(git, Some(&git.top().join(from)), key, value)
        })
        .filter(|path| !files.contains(path))
        .collect();
    while let Some(path) = includes.pop() {
        files.insert(path.clone());
        // Files may include each other, by ever longer names.
        let Ok(real) = path.canonicalize() else { continue };
        let is_listed = real.metadata().is_ok_and(|m| m.is_file() && m.len() <= CONFIG_MAX);
        if !is_listed || read_files.len() == INCLUDED_MAX || !read_files.insert(real) {
            continue;
        }
        let of_file = configuration::of_file(git, &path)?.unwrap_or_default();
        let more = of_file.iter().filter_map(|(key, value)| {
            configuration::included(git, Some(&path), key, value.as_deref())
        });
        includes.extend(more);
        settings.extend(of_file);
    }
    Ok(Settings { settings, files })
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

/// The files that a command may name, which git starts at the top of the tree. Every word counts, and
/// words end at all that separates them for a shell: `python3 tools/x.py`, `sh -c '. ./x; x %f'`.
fn named_by(git: &Git, command: &str) -> Vec<PathBuf> {
    let top = git.top();
    let ends = |c: char| c.is_whitespace() || "'\"`|&;<>(){}=!\\".contains(c);
    let words = command.split(ends).chain([command]).filter(|word| !word.starts_with('-'));
    let variable = git.variable("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&variable)
        .map(|folder| top.join(folder))
        .filter(|folder| way_to(git, folder).end.is_some())
        .collect();
    let mut programs = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let is_there =
            |path: &Path| path.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir());
        match word.split_once('/') {
            None => {
                programs.extend(Some(top.join(word)).filter(|path| is_there(path)));
                programs.extend(folders.iter().map(|folder| folder.join(word)));
            }
            Some((first, rest)) => {
                // A shell gives the beginning: `$PWD/x`, `$(git rev-parse --show-toplevel)/x`.
                if first.is_empty() || first.starts_with('$') {
                    programs.extend(Some(top.join(rest)).filter(|path| is_there(path)));
                }
                programs.extend(expanded(git, word).map(|path| top.join(path)));
            }
        }
    }
    programs
}

/// The working tree paths that decide what a path names.
#[derive(Default)]
struct Way {
    /// Every link on the way.
    links: BTreeSet<String>,
    /// Where it ends, which need not exist; empty for the top.
    end: Option<String>,
}

impl Way {
    fn files(self) -> impl Iterator<Item = String> {
        self.links.into_iter().chain(self.end).filter(|path| !path.is_empty())
    }
}

/// Goes to a path as the kernel does, part by part: `canonicalize` leaves out the links, and fails if
/// the file does not exist yet.
fn way_to(git: &Git, path: &Path) -> Way {
    let mut way = Way::default();
    let Ok(top) = git.top().canonicalize() else { return way };
    let in_tree = |path: &Path| path.strip_prefix(&top).ok().and_then(outside_git);
    let mut rest = reversed(path);
    let (mut real, mut followed) = (PathBuf::new(), 0);
    while let Some(part) = rest.pop() {
        match part.to_str() {
            Some(".") => continue,
            Some("..") => real.pop(),
            _ => {
                real.push(part);
                let Ok(target) = real.read_link() else { continue };
                way.links.extend(in_tree(&real));
                followed += 1;
                if followed > LINKS_MAX {
                    return way;
                }
                rest.extend(reversed(&target));
                real.pop()
            }
        };
    }
    way.end = in_tree(&real);
    way
}

/// The parts of a path, the last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// A path below the top, as text; `None` if it is in `.git`.
fn outside_git(inside: &Path) -> Option<String> {
    let names = inside.iter().map(|name| name.to_str()).collect::<Option<Vec<_>>>()?;
    (names.first() != Some(&".git")).then(|| names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;

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

    #[test]
    fn included_files_that_git_does_not_read_yet() {
        let repo = Repo::with_commit();
        repo.run(&["config", "include.path", "../etc/team"]);
        repo.run(&["config", "includeIf.onbranch:never.path", "../etc/branch"]);
        assert_eq!(texts(&list(&repo.git()).unwrap().files), ["etc/branch", "etc/team"]);
        repo.file("etc/team", "[include]\n\tpath = ../lib/made\n");
        let more = "[includeIf \"gitdir:/no/\"]\n\tpath = ../../outside\n\tpath = ../etc/deep\n\
                    path = ../etc/branch\n";
        repo.file("etc/branch", &format!("{more}[core]\n\thooksPath = .husky\n"));
        let read = list(&repo.git()).unwrap();
        assert_eq!(texts(&read.files), ["etc/branch", "etc/deep", "etc/team", "lib/made"]);
        assert_eq!(texts(&read.folders), [".husky"]);
    }

    #[test]
    fn programs_that_settings_name() {
        let repo = Repo::with_commit();
        for path in ["smudge.py", "tools/with space", "rooted", "pager", "src/aliased"] {
            repo.file(path, "");
        }
        for (key, value) in [
            ("filter.x.clean", "tools/clean %f"),
            ("filter.x.smudge", "python3 smudge.py --fast"),
            ("filter.y.process", "sh -c '. ./tools/process; cat'"),
            ("diff.x.textconv", "$PWD/rooted"),
            ("diff.y.command", "tools/with space"),
            ("merge.x.driver", "made --driver=tools/driver %O"),
            ("core.editor", "code --wait"),
            ("alias.x", "!src/aliased"),
            ("gpg.program", "/usr/bin/gpg"),
            ("core.attributesFile", "etc/attributes"),
        ] {
            repo.run(&["config", key, value]);
        }
        let path = std::env::join_paths([Path::new("/usr/bin"), &repo.path("venv")]).unwrap();
        repo.run(&["config", "sequence.editor", "edit"]);
        let git = repo.git().with_env(vec![("PATH".into(), path)]);
        let files = list(&git).unwrap().files;
        for listed in [
            "etc/attributes",
            "rooted",
            "smudge.py",
            "tools/clean",
            "tools/driver",
            "tools/process",
            "tools/with space",
            "venv/edit",
        ] {
            assert!(files.contains(listed), "{listed} of {files:?}");
        }
        assert!(!files.contains("src/aliased") && !files.contains("pager"), "{files:?}");
    }

    #[cfg(unix)]
    #[test]
    fn links_on_the_way_to_an_included_file_are_found() {
        use std::os::unix::fs::symlink;
        let repo = Repo::with_commit();
        repo.file("real/x", "");
        symlink("./real/../real", repo.path("folder")).unwrap();
        symlink("folder/x", repo.path("link")).unwrap();
        symlink("round", repo.path("round")).unwrap();
        repo.run(&["config", "include.path", "../link"]);
        repo.run(&["config", "--add", "includeIf.onbranch:never.path", "../round"]);
        let files = list(&repo.git()).unwrap().files;
        assert_eq!(texts(&files), ["folder", "link", "real/x", "round"]);
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
