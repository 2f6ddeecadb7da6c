//! What there is to lose, and whether it is still there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use git2::{ObjectType, Oid};

use crate::support::Sandbox;

/// Every byte in the working trees and their indexes, and every commit.
pub struct Belongings {
    /// What lies on disk, links as their targets.
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Files git does not know, untracked and ignored: they stay where they are.
    unknown: BTreeSet<PathBuf>,
    /// Blob and path of what an index holds.
    staged: BTreeSet<(String, String)>,
    /// Commits that references and HEADs reach; drafts apart, which end when a session is archived.
    commits: BTreeSet<String>,
    /// Commits that only a reflog reaches, because plain git dropped them.
    dropped: BTreeSet<String>,
}

impl Belongings {
    pub fn of(sandbox: &Sandbox) -> Self {
        let (mut files, mut unknown) = (BTreeMap::new(), BTreeSet::new());
        let mut staged = BTreeSet::new();
        for top in working_trees(sandbox) {
            walk(&top, &mut files);
            for path in git(sandbox, &top, &["ls-files", "-z", "--others"]).split('\0') {
                // The session's own folder is tidied, once it is kept.
                if !path.is_empty() && !path.starts_with(".cowork/") {
                    unknown.insert(top.join(path));
                }
            }
            for entry in git(sandbox, &top, &["ls-files", "-z", "--stage"]).split('\0') {
                let Some((meta, path)) = entry.split_once('\t') else { continue };
                let [mode, blob, _] = meta.split(' ').collect::<Vec<_>>()[..] else { panic!() };
                // A submodule's commit is in the submodule.
                if mode != "160000" {
                    staged.insert((blob.to_owned(), path.to_owned()));
                }
            }
        }
        let commits = reached(sandbox, &["--exclude=refs/cowork/drafts/*", "--all", "HEAD"]);
        let dropped =
            &reached(sandbox, &["HEAD", "--reflog"]) - &reached(sandbox, &["--all", "HEAD"]);
        Self { files, unknown, staged, commits, dropped }
    }

    /// Fails when a byte or a commit is neither on disk nor behind a reference.
    #[track_caller]
    pub fn assert_kept(&self, sandbox: &Sandbox, when: &str) {
        let now = Self::of(sandbox);
        let on_disk: BTreeSet<&Vec<u8>> = now.files.values().collect();
        let objects = reached(sandbox, &["--objects", "--indexed-objects", "--all"]);
        let kept = |path: &Path, bytes: &Vec<u8>| {
            on_disk.contains(bytes)
                || objects.contains(&id(bytes))
                || objects.contains(&filtered(sandbox, path, bytes))
        };
        let lost: Vec<_> = self.files.iter().filter(|(path, b)| !kept(path, b)).collect();
        assert!(
            lost.is_empty(),
            "lost: {:?}\n{when}",
            lost.iter().map(|l| l.0).collect::<Vec<_>>()
        );

        let moved = |path: &&PathBuf| self.files.get(*path) != now.files.get(*path);
        let moved: Vec<_> = self.unknown.iter().filter(moved).collect();
        assert!(moved.is_empty(), "not git's, and touched: {moved:?}\n{when}");

        let disk: BTreeSet<String> = on_disk.iter().map(|bytes| id(bytes)).collect();
        let lost = |(blob, _): &&(String, String)| !objects.contains(blob) && !disk.contains(blob);
        let lost: Vec<_> = self.staged.iter().filter(lost).collect();
        assert!(lost.is_empty(), "was staged, and is lost: {lost:?}\n{when}");

        let lost: Vec<_> = self.commits.difference(&now.commits).collect();
        assert!(lost.is_empty(), "commits lost: {lost:?}\n{when}");
        let logged = reached(sandbox, &["--all", "HEAD", "--reflog"]);
        let lost: Vec<_> = self.dropped.difference(&logged).collect();
        assert!(lost.is_empty(), "in no reflog any more: {lost:?}\n{when}");
    }
}

/// Tops of all working trees that are there.
fn working_trees(sandbox: &Sandbox) -> Vec<PathBuf> {
    let list = git(sandbox, &sandbox.repo(), &["worktree", "list", "--porcelain"]);
    let trees = list.lines().filter_map(|line| line.strip_prefix("worktree "));
    trees.map(PathBuf::from).filter(|top| top.join(".git").exists()).collect()
}

/// Ids of what `rev-list` reaches from any working tree.
fn reached(sandbox: &Sandbox, args: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for top in working_trees(sandbox) {
        let list = git(sandbox, &top, &[&["rev-list"], args].concat());
        found.extend(list.lines().map(|line| line.split(' ').next().unwrap().to_owned()));
    }
    found
}

fn walk(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name == ".git") {
            continue;
        }
        if let Ok(target) = fs::read_link(&path) {
            found.insert(path, target.into_os_string().into_encoded_bytes());
        } else if path.is_dir() {
            walk(&path, found);
        } else {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
}

fn id(bytes: &[u8]) -> String {
    Oid::hash_object(ObjectType::Blob, bytes).unwrap().to_string()
}

/// The id of the content as git keeps it: through filters and line endings.
fn filtered(sandbox: &Sandbox, path: &Path, bytes: &[u8]) -> String {
    let mut command = sandbox.command("git");
    let trees = working_trees(sandbox);
    let Some(top) = trees.iter().rfind(|top| path.starts_with(top)) else { return String::new() };
    command.current_dir(top).args(["hash-object", "--stdin", "--path"]).arg(path);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[track_caller]
fn git(sandbox: &Sandbox, top: &Path, args: &[&str]) -> String {
    let output = sandbox.command("git").current_dir(top).args(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}
