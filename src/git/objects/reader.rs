//! Reads objects that are named by an id: the trait and its types. Nothing here writes, or reads
//! the working tree.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use git2::ObjectType;

use crate::git::Oid;
use crate::git::object_text::{
    Commit, CommitText, Content, Entry, EntryKind, TreeEntry, broken, entries, entry_of, missing,
    tagged,
};
use crate::path_text::decoded;
use crate::present::present;

/// A requested blob.
#[derive(Clone, Copy, Debug)]
pub enum Object<'a> {
    /// The blob with this id.
    Id(&'a Oid),
    /// The blob at a path of a commit. A file of git-cowork is read as it was before a filter
    /// changed it.
    At(&'a Oid, &'a str),
    /// The blob with this id, of the file of git-cowork at this path: read as it was before a
    /// filter changed it, by the attributes of this commit.
    Document(&'a Oid, &'a Oid, &'a str),
}

/// A requested part of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The commit itself, also if an annotated tag names it.
    Commit,
    /// A parent, counted from 1.
    Parent(usize),
    /// Its tree; for a tree, the tree itself.
    Tree,
}

/// How a path differs between two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeChangeKind {
    /// Only in the second.
    Added,
    /// Changed content or mode.
    Modified,
    /// Only in the first.
    Deleted,
    /// A file became a link, a submodule, or the other way round.
    Type,
}

/// A path that differs between two trees. A rename is a deletion and an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChange {
    /// From the top, with `/`.
    pub path: String,
    /// How it differs.
    pub kind: TreeChangeKind,
    /// The blob (or submodule commit) in the first.
    pub old: Option<Oid>,
    /// The blob (or submodule commit) in the second.
    pub new: Option<Oid>,
}

/// Reads a repository's objects.
pub trait Reader: Send {
    /// An object; `None` if it is missing.
    ///
    /// # Errors
    /// It is broken, or the repository cannot be read.
    fn object(&self, id: &Oid) -> Result<Option<Content>>;

    /// A commit.
    ///
    /// # Errors
    /// There is no such commit.
    fn commit(&self, oid: &Oid) -> Result<Commit>;

    /// The commits reachable from `tips` but not from `hide`, each before its parents, otherwise
    /// newest first.
    ///
    /// # Errors
    /// A commit is missing.
    fn walk(&self, tips: &[Oid], hide: &[Oid]) -> Result<Vec<Commit>>;

    /// A blob's bytes; `None` if there is no such blob or no such commit.
    ///
    /// # Errors
    /// The repository cannot be read, or the blob of a file is missing.
    fn blob(&self, object: Object<'_>) -> Result<Option<Vec<u8>>> {
        let blob = |(kind, bytes): Content| (kind == ObjectType::Blob).then(|| bytes.to_vec());
        match object {
            Object::Id(id) => Ok(self.object(id)?.and_then(blob)),
            Object::Document(id, commit, path) => {
                let found = self.object(id)?.and_then(blob);
                found.map(|bytes| self.undo_filter(id, commit, path, bytes)).transpose()
            }
            Object::At(commit, path) => {
                let Some(tree) = self.part(commit, Part::Tree)? else { return Ok(None) };
                let file_entry = entries_at(self, tree, &[path])?.pop().flatten();
                match file_entry.filter(|entry| entry.kind.is_blob()) {
                    Some(entry) => {
                        let content = blob(required(self, &entry.oid)?);
                        let undo = |bytes| self.undo_filter(&entry.oid, commit, path, bytes);
                        content.map(undo).transpose()
                    }
                    None => Ok(None),
                }
            }
        }
    }

    /// The text of a file of git-cowork whose committed bytes a filter made; any other bytes as
    /// they are.
    ///
    /// # Errors
    /// The content is not here.
    fn undo_filter(
        &self,
        _blob: &Oid,
        _commit: &Oid,
        _path: &str,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>> {
        Ok(bytes)
    }

    /// The requested part of the object with this id; `None` if there is no such object or part.
    ///
    /// # Errors
    /// The repository cannot be read.
    fn part(&self, oid: &Oid, part: Part) -> Result<Option<Oid>> {
        Ok(match (peeled(self, oid)?, part) {
            (Some((id, (ObjectType::Commit, _))), Part::Commit) => Some(id),
            (Some((id, (ObjectType::Commit, text))), Part::Tree) => {
                let tree = CommitText::of(&text).and_then(|commit| commit.tree());
                Some(tree.map_err(|_| broken(&id))?)
            }
            (Some((id, (ObjectType::Commit, _))), Part::Parent(number)) => {
                let before = number.checked_sub(1).context("parents are counted from 1")?;
                self.commit(&id)?.parents.into_iter().nth(before)
            }
            (Some((id, (ObjectType::Tree, _))), Part::Tree) => Some(id),
            _ => None,
        })
    }

    /// The entries of a commit or tree at these paths, in their order; `None` for a missing one.
    ///
    /// # Errors
    /// There is no such commit.
    fn entries(&self, commit: &Oid, paths: &[&str]) -> Result<Vec<Option<TreeEntry>>> {
        entries_at(self, tree_of(self, commit)?, paths)
    }

    /// The names in a folder of a commit or tree, in git's order; none if there is no such folder.
    ///
    /// # Errors
    /// There is no such commit.
    fn names_in(&self, commit: &Oid, folder: &str) -> Result<Vec<String>> {
        let entries = in_folder(self, commit, folder)?;
        Ok(entries.into_iter().map(|(name, _)| name).collect())
    }

    /// The folders in a folder of a commit or tree, with their ids; none if there is no such
    /// folder.
    ///
    /// # Errors
    /// There is no such commit.
    fn folders_in(&self, commit: &Oid, folder: &str) -> Result<Vec<(String, Oid)>> {
        let mut entries = in_folder(self, commit, folder)?;
        entries.retain(|(_, entry)| entry.kind == EntryKind::Tree);
        Ok(entries.into_iter().map(|(name, entry)| (name, entry.oid)).collect())
    }

    /// The differences from commit or tree `from` (`None`: the empty tree) to `to`, sorted by path.
    ///
    /// # Errors
    /// One of them is missing.
    fn diff(&self, from: Option<&Oid>, to: &Oid) -> Result<Vec<TreeChange>>;
}

/// An object that has to exist.
pub(crate) fn required<R: Reader + ?Sized>(reader: &R, id: &Oid) -> Result<Content> {
    reader.object(id)?.ok_or_else(|| missing(id))
}

/// Number of tags that point to one another.
const TAGS: usize = 64;

/// The commit, tree or blob with this id, or to which a tag with this id points, and its own id.
/// `None` if it is missing.
pub(crate) fn peeled<R: Reader + ?Sized>(reader: &R, id: &Oid) -> Result<Option<(Oid, Content)>> {
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
pub(crate) fn tree_of<R: Reader + ?Sized>(reader: &R, id: &Oid) -> Result<Oid> {
    reader.part(id, Part::Tree)?.ok_or_else(|| missing(id))
}

/// The bytes of a tree.
pub(crate) fn tree<R: Reader + ?Sized>(reader: &R, id: &Oid) -> Result<Arc<[u8]>> {
    let (kind, bytes) = required(reader, id)?;
    ensure!(kind == ObjectType::Tree, "{id} is not a tree");
    Ok(bytes)
}

/// The entry of a tree at a path. A missing tree is an error, not an absent path.
fn entry_at<R: Reader + ?Sized>(reader: &R, tree: &Oid, path: &str) -> Result<Option<TreeEntry>> {
    let (mut at, mut parts) = (tree.clone(), path.split('/').peekable());
    while let Some(part) = parts.next() {
        let text = self::tree(reader, &at)?;
        let mut entries = entries(&text, at.bytes());
        let has_name = |entry: &Result<Entry<'_>>| {
            entry.as_ref().map_or(true, |(_, name, _)| *name == part.as_bytes())
        };
        let child = entries.find(has_name).transpose()?.map(|(mode, _, id)| entry_of(mode, id));
        match child {
            Some(entry) if entry.kind == EntryKind::Tree && parts.peek().is_some() => {
                at = entry.oid;
            }
            child => return Ok(child.filter(|_| parts.peek().is_none())),
        }
    }
    Ok(None)
}

/// The entries at these paths of a tree, in their order. Each folder is read once. A missing tree
/// is an error, not an absent path.
pub(crate) fn entries_at<R: Reader + ?Sized>(
    reader: &R,
    tree: Oid,
    paths: &[&str],
) -> Result<Vec<Option<TreeEntry>>> {
    let mut folders: BTreeMap<&str, BTreeMap<&[u8], Vec<usize>>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        folders.entry(folder).or_default().entry(name.as_bytes()).or_default().push(at);
    }
    let mut result = vec![None; paths.len()];
    for (folder, names) in folders {
        let Some(folder) = folder_at(reader, &tree, folder)? else { continue };
        let text = self::tree(reader, &folder)?;
        for entry in entries(&text, folder.bytes()) {
            let (mode, name, id) = entry?;
            for at in names.get(name).into_iter().flatten() {
                result[*at] = Some(entry_of(mode, id));
            }
        }
    }
    Ok(result)
}

/// The tree of a folder; the empty path is the tree itself.
fn folder_at<R: Reader + ?Sized>(reader: &R, tree: &Oid, folder: &str) -> Result<Option<Oid>> {
    if folder.is_empty() {
        return Ok(Some(tree.clone()));
    }
    let folder_entry = entry_at(reader, tree, folder)?;
    Ok(folder_entry.filter(|entry| entry.kind == EntryKind::Tree).map(|entry| entry.oid))
}

/// The entries of a folder of a commit or tree, by name; empty if there is no such folder.
pub(crate) fn in_folder<R: Reader + ?Sized>(
    reader: &R,
    of: &Oid,
    folder: &str,
) -> Result<Vec<(String, TreeEntry)>> {
    let tree = tree_of(reader, of)?;
    let Some(id) = folder_at(reader, &tree, folder)? else { return Ok(Vec::new()) };
    let text = self::tree(reader, &id)?;
    let with_name = |entry: Result<Entry<'_>>| {
        entry.map(|(mode, name, id)| (decoded(name), entry_of(mode, id)))
    };
    entries(&text, id.bytes()).map(with_name).collect()
}

/// Gives a commit the parents that a file of grafts or of the ends of a shallow clone gives it. Each
/// line is a commit and its parents; an end has none.
pub(crate) fn replace_parents(commit: &mut Commit, file: &Path) -> Result<()> {
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
