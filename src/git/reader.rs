//! Reading objects that are already named by an id: the trait and what it speaks of. Nothing here
//! writes or asks the working tree.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::Oid;

/// Which blob is wanted.
#[derive(Clone, Copy, Debug)]
pub enum Object<'a> {
    /// The blob of this id.
    Id(&'a Oid),
    /// The blob at a path of a commit.
    At(&'a Oid, &'a str),
}

/// What of a commit is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The commit itself, also where an annotated tag names it.
    Commit,
    /// A parent, counted from 1.
    Parent(usize),
    /// Its tree; a tree is its own.
    Tree,
}

/// What a tree has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// What is there.
    pub kind: EntryKind,
    /// Its id.
    pub oid: Oid,
}

/// What a path of a tree can be.
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
    /// Its parents, the first being the branch it was made on.
    pub parents: Vec<Oid>,
    /// `Name <email>`.
    pub author: String,
    /// When it was written (Unix seconds).
    pub author_time: i64,
    /// `Name <email>` of who committed it.
    pub committer: String,
    /// When it was committed (Unix seconds).
    pub committer_time: i64,
    /// The whole message, without line breaks at its ends.
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
    /// Other content or mode.
    Modified,
    /// Only in the first.
    Deleted,
    /// A file became a link, a submodule, or the other way round.
    Type,
}

/// A path that two trees have differently. Renames are a deletion and an addition.
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
    /// A blob's bytes; `None` when there is no blob.
    ///
    /// # Errors
    /// The repository cannot be read.
    fn blob(&self, object: Object<'_>) -> Result<Option<Vec<u8>>>;

    /// A commit.
    ///
    /// # Errors
    /// There is no such commit.
    fn commit(&self, oid: &Oid) -> Result<Commit>;

    /// What an object of this id names; `None` when it is none, or names no such thing.
    ///
    /// # Errors
    /// The repository cannot be read.
    fn part(&self, oid: &Oid, part: Part) -> Result<Option<Oid>>;

    /// What a commit or tree has at these paths, in their order; `None` for what it has not.
    ///
    /// # Errors
    /// There is no such commit.
    fn entries(&self, commit: &Oid, paths: &[&str]) -> Result<Vec<Option<TreeEntry>>>;

    /// The names in a folder of a commit or tree, sorted as git does; none when there is no such
    /// folder.
    ///
    /// # Errors
    /// There is no such commit.
    fn names_in(&self, commit: &Oid, folder: &str) -> Result<Vec<String>>;

    /// The folders in a folder of a commit or tree, with their ids; none when there is no such folder.
    ///
    /// # Errors
    /// There is no such commit.
    fn folders_in(&self, commit: &Oid, folder: &str) -> Result<Vec<(String, Oid)>>;

    /// The commits reachable from `tips` and not from `hide`, each before its parents and else
    /// the newest first.
    ///
    /// # Errors
    /// A commit is missing.
    fn walk(&self, tips: &[Oid], hide: &[Oid]) -> Result<Vec<Commit>>;

    /// What differs from commit or tree `from` (`None`: the empty tree) to `to`, sorted by path.
    ///
    /// # Errors
    /// One of them is missing.
    fn diff(&self, from: Option<&Oid>, to: &Oid) -> Result<Vec<TreeChange>>;

    /// The commit that a reference of this full name names, also through an annotated tag; `None`
    /// when there is no such reference, or it names something else.
    ///
    /// # Errors
    /// The repository cannot be read.
    fn reference(&self, name: &str) -> Result<Option<Oid>>;
}
