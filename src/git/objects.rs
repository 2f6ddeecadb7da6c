//! Writes trees in process, based on another tree, and computes the ids of blobs. If libgit2 would
//! not do the same as git, the result is an error, so that the caller uses the binary.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use git2::{ObjectType, Tree};

use super::Oid;
use super::libgit2::{Libgit2, oid, raw};

const TREE: i32 = 0o040_000;
const SUBMODULE: i32 = 0o160_000;

/// The new state of a path in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    /// A file or link of this mode.
    File(u32, Oid),
    /// No file; a folder of this name stays.
    Gone,
}

impl Libgit2 {
    /// The id of a blob with these bytes, without writing it.
    pub(super) fn blob_id(&self, bytes: &[u8]) -> Result<Oid> {
        oid(git2::Oid::hash_object(ObjectType::Blob, bytes)?)
    }

    /// Writes the tree of a commit or tree `base` with these paths changed. A file replaces a
    /// folder at its path, and a file at the path of one of its folders. The cost depends on the
    /// number of paths.
    pub(super) fn put_tree(&self, base: &Oid, paths: &[(&str, Becomes)]) -> Result<Oid> {
        let base = self.repository.find_object(raw(base)?, None)?.peel_to_tree()?;
        let changes: Vec<(&str, &Becomes)> =
            paths.iter().map(|(path, becomes)| (*path, becomes)).collect();
        let (tree, _) = self.with_changes(Some(&base), &changes)?;
        oid(tree)
    }

    /// A tree with these paths below it changed, and its number of entries.
    fn with_changes(
        &self,
        tree: Option<&Tree<'_>>,
        changes: &[(&str, &Becomes)],
    ) -> Result<(git2::Oid, usize)> {
        let mut builder = self.repository.treebuilder(tree)?;
        let mut names: BTreeMap<&str, Changed<'_>> = BTreeMap::new();
        for (path, becomes) in changes {
            match path.split_once('/') {
                None => names.entry(path).or_default().itself = Some(becomes),
                Some((name, rest)) => names.entry(name).or_default().below.push((rest, becomes)),
            }
        }
        for (name, Changed { itself, below }) in names {
            let found = builder.get(name)?.map(|entry| (entry.filemode(), entry.id()));
            let puts = below.iter().any(|(_, becomes)| matches!(becomes, Becomes::File(..)));
            let mode = found.map(|(mode, _)| mode);
            if puts && (mode == Some(SUBMODULE) || matches!(itself, Some(Becomes::File(..)))) {
                bail!("{name} is not a folder");
            }
            match itself {
                Some(Becomes::File(mode, blob)) => {
                    builder.insert(name, raw(blob)?, i32::try_from(*mode)?)?;
                    continue;
                }
                Some(Becomes::Gone) if mode.is_some_and(|mode| mode != TREE) => {
                    builder.remove(name)?;
                }
                Some(Becomes::Gone) | None => {}
            }
            let inner = found.filter(|(mode, _)| *mode == TREE);
            if below.is_empty() || (inner.is_none() && !puts) {
                continue;
            }
            let inner = inner.map(|(_, id)| self.repository.find_tree(id)).transpose()?;
            match self.with_changes(inner.as_ref(), &below)? {
                (_, 0) => builder.remove(name)?,
                (id, _) => drop(builder.insert(name, id, TREE)?),
            }
        }
        Ok((builder.write()?, builder.len()))
    }
}

/// The changes to an entry of a tree and below it.
#[derive(Default)]
struct Changed<'a> {
    itself: Option<&'a Becomes>,
    below: Vec<(&'a str, &'a Becomes)>,
}
