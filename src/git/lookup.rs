//! Lookups in the raw bytes of objects, without parsing them with libgit2.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use git2::ObjectType;

use super::Oid;
use super::libgit2::{Libgit2, raw};
use super::object_text::{CommitText, Entry, entries, tagged};
use super::output::{damaged, lossy};
use super::reader::{Commit, Content, EntryKind, Part, Reader, TreeEntry};
use crate::git::loose;
use crate::path_text::decoded;
use crate::present::present;

impl Libgit2 {
    /// The result of `see` for the raw bytes of an object of this kind.
    ///
    /// # Errors
    /// There is no such object, or `see` fails.
    pub(super) fn read<T>(
        &self,
        id: git2::Oid,
        kind: ObjectType,
        see: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        self.read_any(id, |found, bytes| {
            ensure!(found == kind, "{id} is not a {kind}");
            see(bytes)
        })
    }

    /// The result of `see` for the kind and the raw bytes of an object.
    ///
    /// # Errors
    /// There is no such object, or `see` fails.
    pub(super) fn read_any<T>(
        &self,
        id: git2::Oid,
        see: impl FnOnce(ObjectType, &[u8]) -> Result<T>,
    ) -> Result<T> {
        if let Some((found, bytes)) = self.kept.get(id) {
            return see(found, &bytes);
        }
        let see = |found, bytes: &[u8]| {
            self.kept.keep(id, found, bytes);
            see(found, bytes)
        };
        loose::read(self, id, see)
    }

    /// The id of a commit's tree; for a tree, its own id.
    pub(super) fn tree_id(&self, of: &Oid) -> Result<git2::Oid> {
        raw(&tree_of(self, of)?)
    }
}

/// The error for an object that git needs and does not have.
pub(super) fn missing(id: &Oid) -> anyhow::Error {
    damaged(format!("object {id} is missing")).into()
}

/// An object that has to exist.
pub(super) fn required<R: Reader + ?Sized>(reader: &R, id: &Oid) -> Result<Content> {
    reader.object(id)?.ok_or_else(|| missing(id))
}

/// Number of tags that point to one another.
const TAGS: usize = 64;

/// The commit, tree or blob with this id, or to which a tag with this id points, and its own id.
/// `None` if it is missing.
pub(super) fn peeled<R: Reader + ?Sized>(reader: &R, id: &Oid) -> Result<Option<(Oid, Content)>> {
    let mut id = id.clone();
    for _ in 0..TAGS {
        let Some((kind, bytes)) = reader.object(&id)? else { return Ok(None) };
        if kind != ObjectType::Tag {
            return Ok(Some((id, (kind, bytes))));
        }
        id = tagged(&bytes)?;
    }
    bail!("a tag of too many tags")
}

/// The tree with this id, or of the commit with it.
///
/// # Errors
/// There is none.
pub(super) fn tree_of<R: Reader + ?Sized>(reader: &R, id: &Oid) -> Result<Oid> {
    reader.part(id, Part::Tree)?.ok_or_else(|| missing(id))
}

/// The bytes of a tree.
pub(super) fn tree<R: Reader + ?Sized>(reader: &R, id: &Oid) -> Result<Arc<[u8]>> {
    let (kind, bytes) = required(reader, id)?;
    ensure!(kind == ObjectType::Tree, "{id} is not a tree");
    Ok(bytes)
}

fn entry_of(mode: u32, id: &[u8]) -> TreeEntry {
    TreeEntry { kind: kind_of(mode), mode, oid: Oid::of_bytes(id) }
}

/// The entry of a tree at a path. A missing tree is an error, not an absent path.
fn entry_at<R: Reader + ?Sized>(reader: &R, tree: &Oid, path: &str) -> Result<Option<TreeEntry>> {
    let (mut at, mut parts) = (tree.clone(), path.split('/').peekable());
    while let Some(part) = parts.next() {
        let text = self::tree(reader, &at)?;
        let mut entries = entries(&text, at.bytes());
        let named = |entry: &Result<Entry<'_>>| {
            entry.as_ref().map_or(true, |(_, name, _)| *name == part.as_bytes())
        };
        let found = entries.find(named).transpose()?.map(|(mode, _, id)| entry_of(mode, id));
        match found {
            Some(entry) if entry.kind == EntryKind::Tree && parts.peek().is_some() => {
                at = entry.oid;
            }
            found => return Ok(found.filter(|_| parts.peek().is_none())),
        }
    }
    Ok(None)
}

/// The entries at these paths of a tree, in their order. Each folder is read once. A missing tree
/// is an error, not an absent path.
pub(super) fn entries_at<R: Reader + ?Sized>(
    reader: &R,
    tree: Oid,
    paths: &[&str],
) -> Result<Vec<Option<TreeEntry>>> {
    let mut folders: BTreeMap<&str, BTreeMap<&[u8], Vec<usize>>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        folders.entry(folder).or_default().entry(name.as_bytes()).or_default().push(at);
    }
    let mut found = vec![None; paths.len()];
    for (folder, names) in folders {
        let Some(folder) = folder_at(reader, &tree, folder)? else { continue };
        let text = self::tree(reader, &folder)?;
        for entry in entries(&text, folder.bytes()) {
            let (mode, name, id) = entry?;
            for at in names.get(name).into_iter().flatten() {
                found[*at] = Some(entry_of(mode, id));
            }
        }
    }
    Ok(found)
}

/// The tree of a folder; the empty path is the tree itself.
fn folder_at<R: Reader + ?Sized>(reader: &R, tree: &Oid, folder: &str) -> Result<Option<Oid>> {
    if folder.is_empty() {
        return Ok(Some(tree.clone()));
    }
    let found = entry_at(reader, tree, folder)?;
    Ok(found.filter(|entry| entry.kind == EntryKind::Tree).map(|entry| entry.oid))
}

/// The entries of a folder of a commit or tree, by name; empty if there is no such folder.
pub(super) fn in_folder<R: Reader + ?Sized>(
    reader: &R,
    of: &Oid,
    folder: &str,
) -> Result<Vec<(String, TreeEntry)>> {
    let tree = tree_of(reader, of)?;
    let Some(id) = folder_at(reader, &tree, folder)? else { return Ok(Vec::new()) };
    let text = self::tree(reader, &id)?;
    let named = |entry: Result<Entry<'_>>| {
        entry.map(|(mode, name, id)| (decoded(name), entry_of(mode, id)))
    };
    entries(&text, id.bytes()).map(named).collect()
}

/// Parses the bytes of the commit with this id.
pub(super) fn commit(id: &Oid, text: &[u8]) -> Result<Commit> {
    parsed(id, text).map_err(|_| broken(id))
}

/// Gives a commit the parents that a file of grafts or of the ends of a shallow clone gives it. Each
/// line is a commit and its parents; an end has none.
pub(super) fn replace_parents(commit: &mut Commit, file: &Path) -> Result<()> {
    let list = present(std::fs::read_to_string(file))
        .with_context(|| format!("reading {}", file.display()))?;
    for line in list.unwrap_or_default().lines() {
        if let Some(parents) = line.strip_prefix(commit.id.as_str()) {
            let parents = parents.split_whitespace().map(str::parse);
            commit.parents = parents.collect::<Result<_, _>>()?;
        }
    }
    Ok(())
}

/// The error for a commit that git cannot read either.
pub(super) fn broken(id: &Oid) -> anyhow::Error {
    damaged(format!("commit {id} has a header that git cannot read")).into()
}

fn parsed(id: &Oid, text: &[u8]) -> Result<Commit> {
    let commit = CommitText::of(text)?;
    let (author, author_time) = commit.author();
    let (committer, committer_time) = commit.committer();
    Ok(Commit {
        id: id.clone(),
        tree: commit.tree()?,
        parents: commit.parents().collect::<Result<_>>()?,
        author,
        author_time,
        committer,
        committer_time,
        message: lossy(commit.message).trim_matches('\n').to_owned(),
    })
}

/// The kind of an entry with this mode.
pub(super) fn kind_of(mode: u32) -> EntryKind {
    match mode & 0o170_000 {
        0o040_000 => EntryKind::Tree,
        0o120_000 => EntryKind::Link,
        0o160_000 => EntryKind::Submodule,
        _ => EntryKind::File,
    }
}
