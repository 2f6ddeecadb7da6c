//! What shows that references have changed: the metadata of their files, which git replaces when it
//! moves a reference, and the names of their tables, which never repeat
//! (<https://git-scm.com/docs/gitrepository-layout>, <https://git-scm.com/docs/reftable>).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::error::Error;
use crate::git::Git;
use crate::git::file_stamp::{self, stamp_of};
use crate::present::present;

/// The files of references.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The names of the tables that the working trees share, one a line; empty if there are none.
    tables: String,
    files: BTreeMap<PathBuf, file_stamp::Stamp>,
}

impl Stamp {
    /// The stamp of these folders and names.
    ///
    /// # Errors
    /// A file cannot be looked at.
    pub(crate) fn of(git: &Git, places: &[String]) -> Result<Self> {
        let tables = match git.format.has_ref_files {
            true => String::new(),
            false => shared_tables(git)?,
        };
        let mut files = BTreeMap::new();
        let mut folders = vec![git.common_dir.clone()];
        if let Some(trees) = present(fs::read_dir(git.common_dir.join("worktrees")))? {
            for tree in trees {
                folders.push(tree?.path());
            }
        }
        for folder in &folders {
            for name in ["HEAD", "gitdir", "packed-refs"] {
                look_at(folder.join(name), &mut files)?;
            }
        }
        for folder in &folders[1..] {
            look_at(folder.join("reftable/tables.list"), &mut files)?;
        }
        for place in places {
            look_at(git.common_dir.join(place), &mut files)?;
            if git.git_dir != git.common_dir {
                look_at(git.git_dir.join(place), &mut files)?;
            }
        }
        Ok(Self { tables, files })
    }

    /// The stamp of what both cover, where `old` was read earlier.
    pub(crate) fn with(mut self, old: Self) -> Self {
        self.files.extend(old.files);
        Self { tables: old.tables, ..self }
    }

    /// True if `later` differs only by one change of tables, or by these files.
    pub(crate) fn is_one_change_before(&self, later: &Self, own: &BTreeSet<PathBuf>) -> bool {
        let others = |stamp: &Self| -> Vec<_> {
            let other = stamp.files.iter().filter(|(path, _)| !own.contains(*path));
            other.map(|(path, file)| (path.clone(), *file)).collect()
        };
        let follows = match (changes_in(&self.tables), changes_in(&later.tables)) {
            (Some(from), Some(to)) => from.checked_add(1) == Some(to),
            _ => self.tables.is_empty() && later.tables.is_empty(),
        };
        follows && others(self) == others(later)
    }
}

/// Adds the stamp of a file, or of the files in a folder, except those that git ignores.
fn look_at(path: PathBuf, files: &mut BTreeMap<PathBuf, file_stamp::Stamp>) -> Result<()> {
    let is_lock = path.extension().is_some_and(|end| end == "lock");
    let Some(meta) = present(path.symlink_metadata())?.filter(|_| !is_lock) else { return Ok(()) };
    if meta.is_dir() {
        for entry in present(fs::read_dir(&path))?.into_iter().flatten() {
            look_at(entry?.path(), files)?;
        }
        return Ok(());
    }
    ensure!(meta.is_file(), "{} does not show when it changes", path.display());
    files.insert(path, stamp_of(&meta).context("files have no times")?);
    Ok(())
}

/// The number of changes of the shared tables, which is part of the name of the newest one
/// (`0x000000000001-0x000000000007-1b0a3c4d.ref`). `None` without tables.
fn changes_in(tables: &str) -> Option<u64> {
    let newest = tables.lines().last()?.split('-').nth(1)?;
    u64::from_str_radix(newest.strip_prefix("0x")?, 16).ok()
}

fn shared_tables(git: &Git) -> Result<String> {
    let list = git.common_dir.join("reftable/tables.list");
    fs::read_to_string(&list).with_context(|| format!("reading {}", list.display()))
}

/// Checks that no table is missing: git would answer that there are no references.
///
/// # Errors
/// A table is missing (exit 5).
pub(crate) fn require_tables(git: &Git) -> Result<()> {
    if git.format.has_ref_files {
        return Ok(());
    }
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
