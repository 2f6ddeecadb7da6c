//! The references of a repository that keeps them in tables (reftable), listed by one
//! `git for-each-ref`. The list is valid while the repository has the same tables: every change of
//! a reference adds a table, whose name never repeats (<https://git-scm.com/docs/reftable>).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};

use super::output::{lossy, path_buf};
use super::packed_refs::Packed;
use super::ref_files::{entries, present};
use super::shared::Shared;
use super::{Git, Oid, RefName};
use crate::error::Error;
use crate::git::refs;

/// The list that was read last, and the tables at that time.
pub(super) type Kept = Shared<Mutex<Option<(String, Arc<Listed>)>>>;

/// All references that git lists.
#[derive(Clone)]
pub(super) struct Listed {
    /// Their objects; for a symbolic one, that of its target.
    pub(super) packed: Arc<Packed>,
    /// The symbolic ones, with the names of their targets.
    pub(super) symbolic: Vec<(String, String)>,
    /// The working trees that have a branch checked out, by the full name of the branch.
    pub(super) checked_out: BTreeMap<String, PathBuf>,
    /// The branch that this working tree has checked out, if it has a commit.
    pub(super) head: Option<String>,
    /// The names outside `refs/` in this working tree: `HEAD`, `CHERRY_PICK_HEAD` and the like.
    pub(super) roots: BTreeSet<String>,
}

/// In a linked working tree, git 2.47 prints a wrong target for a symbolic reference that comes
/// after one without a target: the branch of HEAD is asked for by another field.
const FIELDS: [&str; 5] =
    ["%(refname)", "%(objectname)", "%(symref)", "%(worktreepath)", "%(HEAD)"];

/// The current references.
///
/// # Errors
/// References are not in such tables, or git fails.
pub(super) fn listed(git: &Git) -> Result<Arc<Listed>> {
    let now = tables(git)?;
    let kept = || git.tables.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, listed)) = kept().as_ref().filter(|(known, _)| *known == now) {
        return Ok(Arc::clone(listed));
    }
    let mut text = String::new();
    let (mut symbolic, mut checked_out) = (Vec::new(), BTreeMap::new());
    let (mut head, mut roots) = (None, BTreeSet::new());
    let one = |[name, object, target, tree, mark]: [&[u8]; FIELDS.len()]| {
        let name = lossy(name);
        if !tree.is_empty() {
            checked_out.insert(name.clone(), path_buf(tree));
        }
        if !name.starts_with("refs/") {
            roots.insert(name);
            return Ok(());
        }
        if mark == b"*" {
            head = Some(name.clone());
        }
        text.push_str(&format!("{} {name}\n", lossy(object)));
        if !target.is_empty() {
            symbolic.push((name, lossy(target)));
        }
        Ok(())
    };
    // Every git that knows tables knows this option.
    refs::printed_refs(git, FIELDS, ["--include-root-refs"], one)?;
    let packed = Arc::new(Packed::listed(text.into_bytes(), git.format));
    let listed = Arc::new(Listed { packed, symbolic, checked_out, head, roots });
    *kept() = Some((now, Arc::clone(&listed)));
    Ok(listed)
}

/// The tables and the list of them, if it is the current one.
pub(super) fn known(git: &Git) -> Option<(String, Arc<Listed>)> {
    let now = tables(git).ok()?;
    let kept = git.tables.lock().unwrap_or_else(PoisonError::into_inner);
    kept.as_ref().filter(|(known, _)| *known == now).cloned()
}

/// Records that git-cowork itself has just made these changes to references that are not symbolic
/// (`None` for a deletion): the list that was [`known`] before is updated, if the tables show that
/// nobody else has changed anything.
pub(super) fn note_changed<'a>(
    git: &Git,
    (before, listed): &(String, Arc<Listed>),
    changes: impl Iterator<Item = (&'a RefName, Option<&'a Oid>)>,
) -> Option<()> {
    let now = tables(git).ok()?;
    let (from, to) = (changes_in(before)?, changes_in(&now)?);
    if from.1 != to.1 || from.0.checked_add(1)? != to.0 {
        return None;
    }
    let text = listed.packed.all().ok()?;
    let text = str::from_utf8(text).ok()?;
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let mut refs: BTreeMap<&str, &str> = lines.map(|(id, name)| (name, id)).collect();
    for (name, new) in changes {
        if listed.symbolic.iter().any(|(_, target)| target == name.as_str()) {
            return None;
        }
        match new {
            Some(new) => refs.insert(name.as_str(), new.as_str()),
            None => refs.remove(name.as_str()),
        };
    }
    let text: String = refs.into_iter().map(|(name, id)| format!("{id} {name}\n")).collect();
    let packed = Arc::new(Packed::listed(text.into_bytes(), git.format));
    let listed = Arc::new(Listed { packed, ..Listed::clone(listed) });
    *git.tables.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, listed));
    Some(())
}

/// The number of changes of the shared tables, which is part of the name of the newest one
/// (`0x000000000001-0x000000000007-1b0a3c4d.ref`), and the tables of the working trees.
fn changes_in(tables: &str) -> Option<(u64, &str)> {
    let end = tables.rfind(".ref\n\n")? + ".ref\n".len();
    let (shared, of_trees) = tables.split_at(end);
    let newest = shared.lines().last()?.split('-').nth(1)?;
    Some((u64::from_str_radix(newest.strip_prefix("0x")?, 16).ok()?, of_trees))
}

/// The names of the tables of all references that the working trees share, one a line.
///
/// # Errors
/// References are not in such tables.
pub(super) fn shared_tables(git: &Git) -> Result<String> {
    ensure!(!git.format.has_ref_files, "references are in files");
    let list = git.common_dir.join("reftable/tables.list");
    fs::read_to_string(&list).with_context(|| format!("reading {}", list.display()))
}

/// Checks that no table is missing: git would answer that there are no references.
///
/// # Errors
/// A table is missing (exit 5).
pub(super) fn check(git: &Git) -> Result<()> {
    let mut known = None;
    while let Ok(list) = shared_tables(git) {
        let is_missing = |name: &&str| !git.common_dir.join("reftable").join(name).exists();
        let Some(missing) = list.lines().find(is_missing) else { break };
        // Another process may have joined the tables meanwhile.
        if known.as_ref() == Some(&list) {
            let message = format!("the table {missing} of references is missing");
            return Err(Error::repository(message).hint("look for other damage: git fsck").into());
        }
        known = Some(list);
    }
    Ok(())
}

/// The names of all tables, and the paths of the working trees: each has tables for its HEAD.
fn tables(git: &Git) -> Result<String> {
    let mut text = shared_tables(git)?;
    text.push('\n');
    let mut trees = entries(&git.common_dir.join("worktrees"))?;
    trees.sort();
    for (name, folder, _) in trees {
        text.push_str(&format!("{name}\n"));
        for file in ["gitdir", "reftable/tables.list"] {
            let read = present(fs::read(folder.join(file)))?;
            text.push_str(&lossy(&read.unwrap_or_default()));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use super::*;
    use crate::git::{Head, RefTransaction, state, worktree};

    /// Each change, by git, is seen by a repository that has already listed its references.
    #[cfg(unix)]
    #[test]
    fn a_list_is_read_again_after_each_change() {
        let repo = Repo::with_commit_in(&["--ref-format=reftable"]);
        let (git, first) = (repo.git(), repo.head());
        let listed = |name: &str| {
            let found = git.refs(&["refs/"]).unwrap();
            assert_eq!(found, refs::asked_refs(&git, &["refs/"]).unwrap());
            let shared = git.refs(&["refs/heads/", "refs/tags/"]).unwrap();
            assert_eq!(shared, refs::asked_refs(&git, &["refs/heads/", "refs/tags/"]).unwrap());
            let all = refs::list(&git, &["refs/heads/"]).unwrap();
            assert_eq!(all, refs::tests::listed_by_git(&git, &["refs/heads/"]));
            git.resolve(name).unwrap()
        };
        assert_eq!(listed("refs/heads/a"), None);
        repo.run(&["branch", "a"]);
        assert_eq!(listed("refs/heads/a"), Some(first.clone()));
        let second = repo.commit_all("second");
        repo.run(&["update-ref", "refs/heads/a", second.as_str()]);
        assert_eq!(listed("refs/heads/a"), Some(second.clone()));
        repo.run(&["pack-refs", "--all"]);
        assert_eq!(listed("refs/heads/a"), Some(second.clone()));
        repo.run(&["symbolic-ref", "refs/heads/link", "refs/heads/a"]);
        assert_eq!(listed("refs/heads/link"), Some(second));
        assert!(refs::refuse_symbolic(&git, &["refs/heads/link"]).is_err());
        assert!(refs::refuse_symbolic(&git, &["refs/heads/a"]).is_ok());
        repo.run(&["branch", "-D", "a"]);
        assert_eq!(listed("refs/heads/a"), None);
        assert_eq!(listed("refs/heads/link"), None, "its target is gone");

        let main = RefName::branch("main").unwrap();
        assert_eq!(git.head().unwrap().branch(), Some(&main));
        let linked = worktree::add(&git, &repo.root().join("l w"), "side", &first).unwrap();
        let side = RefName::branch("side").unwrap();
        assert_eq!(linked.head().unwrap(), Head::Branch { name: side.clone(), oid: first.clone() });
        assert_eq!(refs::checked_out_in(&git, &side).unwrap().as_deref(), Some(linked.top()));
        linked.write(["checkout", "-q", "--detach"]).checked().unwrap();
        assert_eq!(refs::checked_out_in(&git, &side).unwrap(), None);
        assert_eq!(linked.head().unwrap(), Head::Detached { oid: first });
        repo.run(&["checkout", "-q", "--orphan", "new"]);
        let new = RefName::branch("new").unwrap();
        assert_eq!(git.head().unwrap(), Head::Unborn { branch: new });
        assert!(listed("refs/heads/main").is_some());
        repo.run(&["checkout", "-q", "main"]);
        assert_eq!(state::operation_in_progress(&git).unwrap(), None);
        repo.run(&["update-ref", "REVERT_HEAD", "HEAD"]);
        let revert = Some(state::Operation::Revert);
        assert_eq!(state::operation_in_progress(&git).unwrap(), revert);
        assert_eq!(state::operation_in_progress(&linked).unwrap(), None);
    }

    /// The list is kept over own changes, unless somebody else makes another.
    #[test]
    fn own_changes_are_noted_in_the_list() {
        let repo = Repo::with_commit_in(&["--ref-format=reftable"]);
        let (git, first) = (repo.git(), repo.head());
        let second = repo.commit_all("second");
        let name = |n: usize| RefName::new(format!("refs/cowork/{n}")).unwrap();
        let mut kept = 0;
        for n in 0..40 {
            git.refs(&["refs/"]).unwrap();
            let mut change = RefTransaction::new("x").create(&name(n), &first);
            if n > 0 {
                change = change.update(&name(n - 1), &second, &first);
            }
            if n > 1 {
                change = change.delete(&name(n - 2), &second);
            }
            change.commit(&git).unwrap();
            kept += usize::from(known(&git).is_some());
            if n % 4 == 0 {
                repo.run(&["update-ref", "refs/heads/other", first.as_str()]);
                repo.run(&["update-ref", "-d", "refs/heads/other"]);
            }
            if n == 20 {
                repo.run(&["symbolic-ref", "refs/cowork/link", name(20).as_str()]);
            }
            let found = git.refs(&["refs/"]).unwrap();
            assert_eq!(found, refs::asked_refs(&git, &["refs/"]).unwrap());
        }
        assert!(kept > 30, "{kept}");
        // Two changes since the list was read: only one of them is known.
        let before = known(&git).unwrap();
        repo.run(&["update-ref", "refs/heads/other", first.as_str()]);
        RefTransaction::new("x").create(&name(99), &first).commit(&git).unwrap();
        assert_eq!(note_changed(&git, &before, [(&name(99), Some(&first))].into_iter()), None);
    }

    #[test]
    fn a_missing_table_is_an_error() {
        let repo = Repo::with_commit_in(&["--ref-format=reftable"]);
        let git = repo.git();
        repo.file(".git/reftable/tables.list", "no-such-table.ref\n");
        assert!(git.refs(&["refs/heads/"]).is_err());
        assert!(git.resolve("refs/heads/main").is_err());
        assert!(git.head().is_err());
    }
}
