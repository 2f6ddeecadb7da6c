//! Reads objects that are named by an id: the trait and its types. Nothing here writes, or reads
//! the working tree.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::Oid;

/// A requested blob.
#[derive(Clone, Copy, Debug)]
pub enum Object<'a> {
    /// The blob with this id.
    Id(&'a Oid),
    /// The blob at a path of a commit.
    At(&'a Oid, &'a str),
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

/// Reads a repository's objects.
pub trait Reader: Send {
    /// A blob's bytes; `None` if there is no such blob.
    ///
    /// # Errors
    /// The repository cannot be read.
    fn blob(&self, object: Object<'_>) -> Result<Option<Vec<u8>>>;

    /// A commit.
    ///
    /// # Errors
    /// There is no such commit.
    fn commit(&self, oid: &Oid) -> Result<Commit>;

    /// The requested part of the object with this id; `None` if there is no such object or part.
    ///
    /// # Errors
    /// The repository cannot be read.
    fn part(&self, oid: &Oid, part: Part) -> Result<Option<Oid>>;

    /// The entries of a commit or tree at these paths, in their order; `None` for a missing one.
    ///
    /// # Errors
    /// There is no such commit.
    fn entries(&self, commit: &Oid, paths: &[&str]) -> Result<Vec<Option<TreeEntry>>>;

    /// The names in a folder of a commit or tree, in git's order; none if there is no such folder.
    ///
    /// # Errors
    /// There is no such commit.
    fn names_in(&self, commit: &Oid, folder: &str) -> Result<Vec<String>>;

    /// The folders in a folder of a commit or tree, with their ids; none if there is no such
    /// folder.
    ///
    /// # Errors
    /// There is no such commit.
    fn folders_in(&self, commit: &Oid, folder: &str) -> Result<Vec<(String, Oid)>>;

    /// The commits reachable from `tips` but not from `hide`, each before its parents, otherwise
    /// newest first.
    ///
    /// # Errors
    /// A commit is missing.
    fn walk(&self, tips: &[Oid], hide: &[Oid]) -> Result<Vec<Commit>>;

    /// The differences from commit or tree `from` (`None`: the empty tree) to `to`, sorted by path.
    ///
    /// # Errors
    /// One of them is missing.
    fn diff(&self, from: Option<&Oid>, to: &Oid) -> Result<Vec<TreeChange>>;
}
