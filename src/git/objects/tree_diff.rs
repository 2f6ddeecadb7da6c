//! The differences between two trees, found folder by folder: a folder with the same id in both is
//! never opened, while libgit2's own comparison lists every file of both trees.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};

use crate::git::Oid;
use crate::git::object_text::{Entry, first_entry};
use crate::git::reader::{Reader, TreeChange, TreeChangeKind, tree, tree_of};
use crate::path_text::decoded;

const KIND: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const EXECUTABLE: u32 = 0o100;

/// Maximum numbers: cached differences, changes in all of them, changes in one of them.
const KEPT: usize = 32;
const KEPT_CHANGES: usize = 8 * 1024;
const LARGEST: usize = 1024;

/// The most recent differences between trees, the newest last: each step of a task asks for the
/// same few. A tree never changes, so they stay valid.
#[derive(Default)]
pub(crate) struct KeptDiffs(Mutex<VecDeque<Known>>);

/// Two trees and their differences.
type Known = (Sides, Vec<TreeChange>);

/// Two trees; `None` is the empty one.
type Sides = (Option<Oid>, Oid);

impl KeptDiffs {
    pub(crate) fn get(&self, sides: &Sides) -> Option<Vec<TreeChange>> {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.iter().find(|(of, _)| of == sides).map(|(_, changes)| changes.clone())
    }

    pub(crate) fn keep(&self, sides: Sides, changes: &[TreeChange]) {
        if changes.len() > LARGEST {
            return;
        }
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.push_back((sides, changes.to_vec()));
        while cache.len() > KEPT
            || cache.iter().map(|(_, changes)| changes.len()).sum::<usize>() > KEPT_CHANGES
        {
            cache.pop_front();
        }
    }
}

/// Returns the changes from one commit or tree to another, like [`changes`].
///
/// # Errors
/// One of them is missing.
pub(crate) fn between<R: Reader + ?Sized>(
    reader: &R,
    from: Option<&Oid>,
    to: &Oid,
) -> Result<Vec<TreeChange>> {
    let from = from.map(|oid| tree_of(reader, oid)).transpose()?;
    changes(reader, from, tree_of(reader, to)?)
}

/// Returns the changes from one tree (`None`: the empty tree) to another, sorted by path.
///
/// # Errors
/// A tree that differs is missing.
pub(crate) fn changes<R: Reader + ?Sized>(
    reader: &R,
    from: Option<Oid>,
    to: Oid,
) -> Result<Vec<TreeChange>> {
    let id_bytes = to.bytes();
    let mut result = Vec::new();
    let mut folders = vec![(Vec::new(), from, Some(to))];
    while let Some((folder, from, to)) = folders.pop() {
        if from == to {
            continue;
        }
        let text = |id: Option<Oid>| match id {
            Some(id) => tree(reader, &id),
            None => Ok(Arc::default()),
        };
        let (old, new) = (text(from)?, text(to)?);
        pairs(&old, &new, id_bytes, |before, after| {
            let Some((_, name, _)) = before.or(after) else { return Ok(()) };
            let mut path = [&folder[..], name].concat();
            let id = |entry: Option<Entry<'_>>| entry.map(|(.., id)| Oid::of_bytes(id));
            let (old, new) = (id(before), id(after));
            if [before, after].iter().flatten().any(is_folder) {
                path.push(b'/');
                folders.push((path, old, new));
            } else if old != new || before.map(mode) != after.map(mode) {
                let change =
                    TreeChange { path: decoded(&path), kind: kind(before, after), old, new };
                result.push((path, change));
            }
            Ok(())
        })?;
    }
    result.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(result.into_iter().map(|(_, change)| change).collect())
}

/// Calls `each` with both entries of every name that differs between two tree objects, whose ids
/// have so many bytes. A file and a folder of one name are not a pair.
fn pairs<'a>(
    mut from: &'a [u8],
    mut to: &'a [u8],
    id_bytes: usize,
    mut each: impl FnMut(Option<Entry<'a>>, Option<Entry<'a>>) -> Result<()>,
) -> Result<()> {
    let first = |tree: &'a [u8]| -> Result<Option<(Entry<'a>, &'a [u8])>> {
        if tree.is_empty() {
            Ok(None)
        } else {
            first_entry(tree, id_bytes).context("a broken tree").map(Some)
        }
    };
    loop {
        // Most entries are the same in both. An entry ends with its id, after the NUL that ends
        // its name.
        if let Some(end) = memchr::memchr(0, from).map(|zero| zero + 1 + id_bytes)
            && let (Some(same), Some(other)) = (from.get(..end), to.get(..end))
            && same == other
        {
            (from, to) = (&from[end..], &to[end..]);
            continue;
        }
        let old = first(from)?;
        let new = first(to)?;
        let order = match (&old, &new) {
            (Some((old, _)), Some((new, _))) => in_tree(old).cmp(in_tree(new)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(()),
        };
        let (old, new) = (old.filter(|_| order.is_le()), new.filter(|_| order.is_ge()));
        from = old.map_or(from, |(_, rest)| rest);
        to = new.map_or(to, |(_, rest)| rest);
        each(old.map(|(entry, _)| entry), new.map(|(entry, _)| entry))?;
    }
}

/// The key by which the entries of a tree are sorted: the name, and for a folder a slash after it.
fn in_tree<'a>(entry: &Entry<'a>) -> impl Iterator<Item = &'a u8> {
    entry.1.iter().chain(is_folder(entry).then_some(&b'/'))
}

fn is_folder(entry: &Entry<'_>) -> bool {
    entry.0 & KIND == FOLDER
}

/// The mode as git reads it: the only permission of a file is whether it is executable. Old trees
/// contain other modes (100664).
fn mode((mode, ..): Entry<'_>) -> u32 {
    if mode & KIND == FILE { FILE | (mode & EXECUTABLE) } else { mode & KIND }
}

/// The kind of a file's change.
fn kind(old: Option<Entry<'_>>, new: Option<Entry<'_>>) -> TreeChangeKind {
    match (old, new) {
        (None, _) => TreeChangeKind::Added,
        (_, None) => TreeChangeKind::Deleted,
        (Some(old), Some(new)) if old.0 & KIND != new.0 & KIND => TreeChangeKind::Type,
        _ => TreeChangeKind::Modified,
    }
}

#[cfg(test)]
mod tests {
    use crate::git::Oid;
    use crate::git::in_the_way;
    use crate::git::libgit2::Libgit2;
    use crate::git::reader::{Reader as _, TreeChange, TreeChangeKind};
    use crate::git::test_repo::Repo;

    /// Names that sort differently as folders than as files.
    const PATHS: [&str; 12] = [
        "a", "a/x", "a/y", "a-b", "a.b", "a.b/c", "b/a", "b/a/c", "b/a.d", "b/c/d/e", "b/c/d.e",
        "c",
    ];

    /// Replaces the whole tree with some of the paths, chosen at random; paths below one that is a
    /// file are left out.
    fn random_commit(repo: &Repo, random: &mut fastrand::Rng) -> Oid {
        repo.run(&["rm", "-rq", "--ignore-unmatch", "."]);
        for path in PATHS {
            let parents = path.match_indices('/').any(|(end, _)| repo.path(&path[..end]).is_file());
            if !parents && !repo.path(path).exists() && random.bool() {
                repo.file(path, &random.u8(0..3).to_string());
            }
        }
        repo.commit_all("random")
    }

    /// The differences as `git diff-tree` prints them, without modes.
    fn by_git(repo: &Repo, from: Option<&Oid>, to: &Oid) -> Vec<String> {
        let empty = in_the_way::empty_tree(&repo.git()).unwrap();
        let sides = [from.unwrap_or(&empty).as_str(), to.as_str()];
        let diff = ["diff-tree", "-r", "--no-renames", "--no-abbrev", sides[0], sides[1]];
        let printed = repo.run(&diff);
        let line = |line: &str| line.splitn(3, ' ').nth(2).unwrap().to_owned();
        printed.lines().map(line).collect()
    }

    fn lines(changes: &[TreeChange]) -> Vec<String> {
        let line = |change: &TreeChange| {
            let [old, new] = [&change.old, &change.new].map(|id| match id {
                Some(id) => id.to_string(),
                None => {
                    change.old.as_ref().or(change.new.as_ref()).unwrap().zero_like().to_string()
                }
            });
            let kind = match change.kind {
                TreeChangeKind::Added => 'A',
                TreeChangeKind::Modified => 'M',
                TreeChangeKind::Deleted => 'D',
                TreeChangeKind::Type => 'T',
            };
            format!("{old} {new} {kind}\t{}", change.path)
        };
        changes.iter().map(line).collect()
    }

    #[test]
    fn random_trees_differ_as_git_says() {
        let (repo, mut random) = (Repo::with_commit(), fastrand::Rng::with_seed(21));
        let commits: Vec<Oid> = (0..8).map(|_| random_commit(&repo, &mut random)).collect();
        let fast = Libgit2::open(&repo.git()).unwrap();
        for to in &commits {
            for from in std::iter::once(None).chain(commits.iter().map(Some)) {
                assert_eq!(lines(&fast.diff(from, to).unwrap()), by_git(&repo, from, to));
            }
        }
    }

    #[test]
    fn a_folder_that_both_have_is_not_opened() {
        let repo = Repo::with_commit();
        repo.file("same/a", "a");
        repo.file("other/b", "b");
        let first = repo.commit_all("first");
        repo.file("other/b", "c");
        let second = repo.commit_all("second");
        let same = repo.run(&["rev-parse", "HEAD:same"]);
        std::fs::remove_file(repo.path(&format!(".git/objects/{}/{}", &same[..2], &same[2..])))
            .unwrap();
        let changes = Libgit2::open(&repo.git()).unwrap().diff(Some(&first), &second).unwrap();
        let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["other/b"]);
    }

    #[test]
    fn the_last_differences_are_kept() {
        let (repo, mut random) = (Repo::with_commit(), fastrand::Rng::with_seed(22));
        let commits: Vec<Oid> =
            (0..super::KEPT + 4).map(|_| random_commit(&repo, &mut random)).collect();
        let git = repo.git();
        for pair in commits.windows(2) {
            let first = git.reader().diff(Some(&pair[0]), &pair[1]).unwrap();
            assert_eq!(git.reader().diff(Some(&pair[0]), &pair[1]).unwrap(), first);
        }
        let diffs = git.caches.get::<super::KeptDiffs>();
        let kept = diffs.0.lock().unwrap();
        assert!(kept.len() <= super::KEPT && kept.len() > 1, "{} are kept", kept.len());
    }

    #[test]
    fn permissions_of_old_trees_are_not_a_difference() {
        let repo = Repo::with_commit();
        repo.file("a", "a");
        let commit = repo.commit_all("first");
        let blob = repo.run(&["rev-parse", "HEAD:a"]);
        let raw: Vec<u8> =
            (0..20).map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap()).collect();
        let odb = git2::Repository::open(repo.path(".")).unwrap();
        let tree = [b"100664 a\0", &raw[..]].concat();
        let tree = odb.odb().unwrap().write(git2::ObjectType::Tree, &tree).unwrap();
        let old: Oid = tree.to_string().parse().unwrap();
        let fast = Libgit2::open(&repo.git()).unwrap();
        let found = fast.diff(Some(&old), &commit).unwrap();
        assert_eq!(lines(&found), by_git(&repo, Some(&old), &commit));
        assert!(!found.iter().any(|change| change.path == "a"), "{found:?}");
    }
}
