//! Writes trees in process, based on another tree, and computes the ids of blobs. If libgit2 would
//! not do the same as git, the result is an error, so that the caller uses the binary.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use git2::ObjectType;

use crate::git::Oid;
use crate::git::index::SUBMODULE;
use crate::git::kept_objects::{Becomes, KeptTrees};
use crate::git::libgit2::{Libgit2, oid, raw};
use crate::git::object_text::first_entry;
use crate::git::reader::tree_of;
use crate::moment::Moment;

const TREE: u32 = 0o040_000;

impl Libgit2 {
    /// The id of a blob with these bytes, without writing it.
    pub(crate) fn blob_id(&self, bytes: &[u8]) -> Result<Oid> {
        oid(self.hash(ObjectType::Blob, bytes)?)
    }

    /// Writes the tree of a commit or tree `base` with these paths changed. A new file replaces a
    /// folder at its path, and any file at the path of one of its parent folders. The cost depends
    /// on the number of paths. The blobs and names are not checked.
    pub(crate) fn put_tree(&self, base: &Oid, paths: &[(&str, Becomes)]) -> Result<Oid> {
        let changes: Vec<(&str, &Becomes)> =
            paths.iter().map(|(path, becomes)| (*path, becomes)).collect();
        match self.with_changes(Some(raw(&tree_of(self, base)?)?), &changes)? {
            Some(tree) => oid(tree),
            None => self.put(ObjectType::Tree, b""),
        }
    }

    /// Writes `tree` with these paths below it changed; `None`, with nothing written, if the result
    /// has no entry.
    fn with_changes(
        &self,
        tree: Option<git2::Oid>,
        changes: &[(&str, &Becomes)],
    ) -> Result<Option<git2::Oid>> {
        // If only documents change from one tree to the next, the other folders get the same
        // changes each time, so their trees are cached.
        let (now, question) = (Moment::now(), KeptTrees::question(tree, changes));
        if let Some(known) = self.trees.get(&question) {
            return Ok(known);
        }
        let mut names: BTreeMap<&[u8], Changed<'_>> = BTreeMap::new();
        for (path, becomes) in changes {
            match path.split_once('/') {
                None => names.entry(path.as_bytes()).or_default().itself = Some(becomes),
                Some((name, rest)) => {
                    names.entry(name.as_bytes()).or_default().below.push((rest, becomes));
                }
            }
        }
        let put = |old: &[u8]| {
            let new = changed(self, old, &names)?;
            Ok(match tree {
                _ if new.is_empty() => None,
                // An unchanged tree already exists: do not write it.
                Some(_) if new == old => tree,
                _ => Some(raw(&self.put(ObjectType::Tree, &new)?)?),
            })
        };
        let new_tree = match tree {
            Some(tree) => self.read(tree, ObjectType::Tree, put),
            None => put(&[]),
        }?;
        self.trees.keep(now, question, new_tree);
        Ok(new_tree)
    }
}

/// The bytes of a tree in which the entries of these names are changed.
fn changed(git: &Libgit2, old: &[u8], names: &BTreeMap<&[u8], Changed<'_>>) -> Result<Vec<u8>> {
    let mut old_entries: BTreeMap<&[u8], (u32, git2::Oid)> = BTreeMap::new();
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut rest = old;
    while !rest.is_empty() {
        let ((mode, name, id), after) =
            first_entry(rest, git.id_bytes()).context("a broken tree")?;
        if names.contains_key(name) {
            old_entries.insert(name, (mode, git2::Oid::from_bytes(id)?));
        } else {
            let entry = &rest[..rest.len() - after.len()];
            pieces.push(Piece { name, is_folder: mode == TREE, entry: entry.into() });
        }
        rest = after;
    }
    for (name, change) in names {
        if let Some((mode, id)) = entry(git, name, old_entries.get(name).copied(), change)? {
            let mut entry = format!("{mode:o} ").into_bytes();
            entry.extend([name, b"\0".as_slice(), id.as_bytes()].concat());
            pieces.push(Piece { name, is_folder: mode == TREE, entry: entry.into() });
        }
    }
    pieces.sort_by(|a, b| a.key().cmp(b.key()));
    let mut bytes = Vec::with_capacity(old.len());
    pieces.iter().for_each(|piece| bytes.extend_from_slice(&piece.entry));
    Ok(bytes)
}

/// An entry of a tree that is being made.
struct Piece<'a> {
    name: &'a [u8],
    is_folder: bool,
    /// Its bytes in the tree.
    entry: Cow<'a, [u8]>,
}

impl Piece<'_> {
    /// Git sorts a folder as if its name ended with `/`.
    fn key(&self) -> impl Iterator<Item = &u8> {
        self.name.iter().chain(self.is_folder.then_some(&b'/'))
    }
}

/// The mode and id of a changed entry; `None` if it is gone.
fn entry(
    git: &Libgit2,
    name: &[u8],
    found: Option<(u32, git2::Oid)>,
    Changed { itself, below }: &Changed<'_>,
) -> Result<Option<(u32, git2::Oid)>> {
    let puts = below.iter().any(|(_, becomes)| matches!(becomes, Becomes::File(..)));
    let mode = found.map(|(mode, _)| mode);
    if puts && (mode == Some(SUBMODULE) || matches!(itself, Some(Becomes::File(..)))) {
        bail!("{} is not a folder", String::from_utf8_lossy(name));
    }
    let remains = match itself {
        Some(Becomes::File(mode, blob)) => return Ok(Some((*mode, raw(blob)?))),
        Some(Becomes::Gone) => found.filter(|(mode, _)| *mode == TREE),
        None => found,
    };
    let inner = remains.filter(|(mode, _)| *mode == TREE);
    if below.is_empty() || (inner.is_none() && !puts) {
        return Ok(remains);
    }
    let inside = git.with_changes(inner.map(|(_, id)| id), below)?;
    Ok(inside.map(|id| (TREE, id)))
}

/// The changes to an entry of a tree and below it.
#[derive(Default)]
struct Changed<'a> {
    itself: Option<&'a Becomes>,
    below: Vec<(&'a str, &'a Becomes)>,
}
