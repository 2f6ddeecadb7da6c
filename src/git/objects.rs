//! Writes trees in process, based on another tree, and computes the ids of blobs. If libgit2 would
//! not do the same as git, the result is an error, so that the caller uses the binary.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use git2::ObjectType;

use super::libgit2::{Libgit2, oid, raw};
use super::{Oid, object_text};

const TREE: u32 = 0o040_000;
const SUBMODULE: u32 = 0o160_000;

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

    /// Writes the tree of a commit or tree `base` with these paths changed. A new file replaces a
    /// folder at its path, and any file at the path of one of its parent folders. The cost depends
    /// on the number of paths. The blobs and names are not checked.
    pub(super) fn put_tree(&self, base: &Oid, paths: &[(&str, Becomes)]) -> Result<Oid> {
        let changes: Vec<(&str, &Becomes)> =
            paths.iter().map(|(path, becomes)| (*path, becomes)).collect();
        match self.with_changes(Some(self.tree_id(base)?), &changes)? {
            Some(tree) => oid(tree),
            None => self.put(ObjectType::Tree, b""),
        }
    }

    /// A tree with these paths below it changed; `None`, with nothing written, if it has no entry.
    fn with_changes(
        &self,
        tree: Option<git2::Oid>,
        changes: &[(&str, &Becomes)],
    ) -> Result<Option<git2::Oid>> {
        let mut entries = match tree {
            Some(tree) => self.read(tree, ObjectType::Tree, owned_entries)?,
            None => Entries::new(),
        };
        let mut names: BTreeMap<&str, Changed<'_>> = BTreeMap::new();
        for (path, becomes) in changes {
            match path.split_once('/') {
                None => names.entry(path).or_default().itself = Some(becomes),
                Some((name, rest)) => names.entry(name).or_default().below.push((rest, becomes)),
            }
        }
        for (name, Changed { itself, below }) in names {
            let found = entries.get(name.as_bytes()).copied();
            let puts = below.iter().any(|(_, becomes)| matches!(becomes, Becomes::File(..)));
            let mode = found.map(|(mode, _)| mode);
            if puts && (mode == Some(SUBMODULE) || matches!(itself, Some(Becomes::File(..)))) {
                bail!("{name} is not a folder");
            }
            match itself {
                Some(Becomes::File(mode, blob)) => {
                    entries.insert(name.as_bytes().into(), (*mode, raw(blob)?));
                    continue;
                }
                Some(Becomes::Gone) if mode.is_some_and(|mode| mode != TREE) => {
                    entries.remove(name.as_bytes());
                }
                Some(Becomes::Gone) | None => {}
            }
            let inner = found.filter(|(mode, _)| *mode == TREE);
            if below.is_empty() || (inner.is_none() && !puts) {
                continue;
            }
            match self.with_changes(inner.map(|(_, id)| id), &below)? {
                Some(id) => entries.insert(name.as_bytes().into(), (TREE, id)),
                None => entries.remove(name.as_bytes()),
            };
        }
        if entries.is_empty() {
            return Ok(None);
        }
        raw(&self.put(ObjectType::Tree, &bytes_of(&entries))?).map(Some)
    }
}

/// Modes and ids of the entries of a tree, by name.
type Entries = BTreeMap<Box<[u8]>, (u32, git2::Oid)>;

fn owned_entries(tree: &[u8]) -> Result<Entries> {
    object_text::entries(tree)
        .map(|entry| {
            let (mode, name, id) = entry?;
            Ok((name.into(), (mode, git2::Oid::from_bytes(id)?)))
        })
        .collect()
}

/// The bytes of a tree. Git sorts a folder as if its name ended with `/`.
fn bytes_of(entries: &Entries) -> Vec<u8> {
    let end = |mode: u32| if mode == TREE { b"/".as_slice() } else { b"" };
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by(|(a, (a_mode, _)), (b, (b_mode, _))| {
        a.iter().chain(end(*a_mode)).cmp(b.iter().chain(end(*b_mode)))
    });
    let mut bytes = Vec::new();
    for (name, (mode, id)) in sorted {
        bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(id.as_bytes());
    }
    bytes
}

/// The changes to an entry of a tree and below it.
#[derive(Default)]
struct Changed<'a> {
    itself: Option<&'a Becomes>,
    below: Vec<(&'a str, &'a Becomes)>,
}
