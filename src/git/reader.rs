//! Reads objects that are named by an id: the trait and its types. Nothing here writes, or reads
//! the working tree.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use git2::ObjectType;
use serde::{Deserialize, Serialize};

use super::Oid;
use super::object_text::CommitText;
use crate::git::{lookup, tree_diff, walk};

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

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its kind.
    pub kind: EntryKind,
    /// Its mode.
    pub mode: u32,
    /// Its id.
    pub oid: Oid,
}

/// The kind of a tree's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file, executable or not.
    File,
    /// A symbolic link.
    Link,
    /// A folder.
    Tree,
    /// A submodule.
    Submodule,
}

impl EntryKind {
    /// A file or a link: its content is a blob.
    pub fn is_blob(self) -> bool {
        matches!(self, Self::File | Self::Link)
    }
}

/// A commit. Undecodable bytes are replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Its id.
    pub id: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its parents; the first is the tip of the branch it was made on.
    pub parents: Vec<Oid>,
    /// `Name <email>`.
    pub author: String,
    /// The author date (Unix seconds).
    pub author_time: i64,
    /// `Name <email>` of the committer.
    pub committer: String,
    /// The committer date (Unix seconds).
    pub committer_time: i64,
    /// The whole message, without line breaks at its beginning and end.
    pub message: String,
}

impl Commit {
    /// The first line of the message.
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
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

/// The kind and the bytes of an object.
pub type Content = (ObjectType, Arc<[u8]>);

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
    fn walk(&self, tips: &[Oid], hide: &[Oid]) -> Result<Vec<Commit>> {
        walk::walk(self, tips, hide)
    }

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
                let found = lookup::entries_at(self, tree, &[path])?.pop().flatten();
                match found.filter(|entry| entry.kind.is_blob()) {
                    Some(entry) => {
                        let found = blob(lookup::required(self, &entry.oid)?);
                        let undo = |bytes| self.undo_filter(&entry.oid, commit, path, bytes);
                        found.map(undo).transpose()
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
        Ok(match (lookup::peeled(self, oid)?, part) {
            (Some((id, (ObjectType::Commit, _))), Part::Commit) => Some(id),
            (Some((id, (ObjectType::Commit, text))), Part::Tree) => {
                let tree = CommitText::of(&text).and_then(|commit| commit.tree());
                Some(tree.map_err(|_| lookup::broken(&id))?)
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
        lookup::entries_at(self, lookup::tree_of(self, commit)?, paths)
    }

    /// The names in a folder of a commit or tree, in git's order; none if there is no such folder.
    ///
    /// # Errors
    /// There is no such commit.
    fn names_in(&self, commit: &Oid, folder: &str) -> Result<Vec<String>> {
        let found = lookup::in_folder(self, commit, folder)?;
        Ok(found.into_iter().map(|(name, _)| name).collect())
    }

    /// The folders in a folder of a commit or tree, with their ids; none if there is no such
    /// folder.
    ///
    /// # Errors
    /// There is no such commit.
    fn folders_in(&self, commit: &Oid, folder: &str) -> Result<Vec<(String, Oid)>> {
        let mut found = lookup::in_folder(self, commit, folder)?;
        found.retain(|(_, entry)| entry.kind == EntryKind::Tree);
        Ok(found.into_iter().map(|(name, entry)| (name, entry.oid)).collect())
    }

    /// The differences from commit or tree `from` (`None`: the empty tree) to `to`, sorted by path.
    ///
    /// # Errors
    /// One of them is missing.
    fn diff(&self, from: Option<&Oid>, to: &Oid) -> Result<Vec<TreeChange>> {
        let from = from.map(|oid| lookup::tree_of(self, oid)).transpose()?;
        tree_diff::changes(self, from, lookup::tree_of(self, to)?)
    }
}
