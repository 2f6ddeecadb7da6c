//! The differences between two trees, found folder by folder: a folder with the same id in both is
//! never opened, while libgit2's own comparison lists every file of both trees.

use std::cmp::Ordering;

use anyhow::Result;
use git2::{Oid, Repository, Tree, TreeEntry};

use super::libgit2::oid;
use super::output::lossy;
use super::reader::{TreeChange, TreeChangeKind};

const KIND: i32 = 0o170_000;
const FOLDER: i32 = 0o040_000;

/// The differences from one tree (`None`: the empty one) to another, sorted by path.
///
/// # Errors
/// A tree that differs is missing.
pub(super) fn changes(
    repository: &Repository,
    from: Option<Oid>,
    to: Oid,
) -> Result<Vec<TreeChange>> {
    let mut found = Vec::new();
    let mut folders = vec![(Vec::new(), from, Some(to))];
    while let Some((folder, from, to)) = folders.pop() {
        if from == to {
            continue;
        }
        let tree = |id: Option<Oid>| id.map(|id| repository.find_tree(id)).transpose();
        pairs(tree(from)?.as_ref(), tree(to)?.as_ref(), |name, before, after| {
            let mut path = [&folder[..], name].concat();
            let is_folder = [before, after].iter().flatten().any(|entry| is_folder(entry));
            let id = |entry: Option<&TreeEntry<'_>>| entry.map(TreeEntry::id);
            if is_folder {
                path.push(b'/');
                folders.push((path, id(before), id(after)));
            } else if let Some(kind) = kind(before, after) {
                let [old, new] = [before, after].map(|entry| id(entry).map(oid).transpose());
                let change = TreeChange { path: lossy(&path), kind, old: old?, new: new? };
                found.push((path, change));
            }
            Ok(())
        })?;
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found.into_iter().map(|(_, change)| change).collect())
}

/// Calls `each` with both sides of every name in two trees. A file and a folder of the same name
/// are not a pair.
fn pairs(
    from: Option<&Tree<'_>>,
    to: Option<&Tree<'_>>,
    mut each: impl FnMut(&[u8], Option<&TreeEntry<'_>>, Option<&TreeEntry<'_>>) -> Result<()>,
) -> Result<()> {
    let (mut before, mut after) = (0, 0);
    loop {
        let old = from.and_then(|tree| tree.get(before));
        let new = to.and_then(|tree| tree.get(after));
        let order = match (&old, &new) {
            (Some(old), Some(new)) => in_tree(old).cmp(in_tree(new)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(()),
        };
        let old = old.filter(|_| order.is_le());
        let new = new.filter(|_| order.is_ge());
        before += usize::from(old.is_some());
        after += usize::from(new.is_some());
        if let Some(entry) = old.as_ref().or(new.as_ref()) {
            each(entry.name_bytes(), old.as_ref(), new.as_ref())?;
        }
    }
}

/// The sort key in a tree: a folder sorts as if its name ended in a slash.
fn in_tree<'a>(entry: &'a TreeEntry<'_>) -> impl Iterator<Item = &'a u8> {
    entry.name_bytes().iter().chain(is_folder(entry).then_some(&b'/'))
}

fn is_folder(entry: &TreeEntry<'_>) -> bool {
    entry.filemode() & KIND == FOLDER
}

/// How a file differs; `None` if it does not.
fn kind(old: Option<&TreeEntry<'_>>, new: Option<&TreeEntry<'_>>) -> Option<TreeChangeKind> {
    let (Some(old), Some(new)) = (old, new) else {
        return Some(if old.is_some() { TreeChangeKind::Deleted } else { TreeChangeKind::Added });
    };
    if old.filemode() & KIND != new.filemode() & KIND {
        return Some(TreeChangeKind::Type);
    }
    let same = old.id() == new.id() && old.filemode() == new.filemode();
    (!same).then_some(TreeChangeKind::Modified)
}

#[cfg(test)]
mod tests {
    use crate::git::Oid;
    use crate::git::binary::Binary;
    use crate::git::libgit2::Libgit2;
    use crate::git::reader::Reader as _;
    use crate::git::test_repo::Repo;

    /// Names that sort differently as a folder and as a file.
    const PATHS: [&str; 12] = [
        "a", "a/x", "a/y", "a-b", "a.b", "a.b/c", "b/a", "b/a/c", "b/a.d", "b/c/d/e", "b/c/d.e",
        "c",
    ];

    /// Replaces the whole tree by some of the paths, chosen at random; a file blocks the paths
    /// below it.
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

    #[test]
    fn differences_of_random_trees_are_those_of_git() {
        let (repo, mut random) = (Repo::with_commit(), fastrand::Rng::with_seed(21));
        let commits: Vec<Oid> = (0..8).map(|_| random_commit(&repo, &mut random)).collect();
        let (slow, fast) = (Binary::new(repo.git()), Libgit2::open(&repo.git()).unwrap());
        for to in &commits {
            for from in std::iter::once(None).chain(commits.iter().map(Some)) {
                assert_eq!(fast.diff(from, to).unwrap(), slow.diff(from, to).unwrap());
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
}
