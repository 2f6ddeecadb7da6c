//! Objects: their types, and how commits, tags and trees are parsed from the bytes that git stores
//! (<https://git-scm.com/docs/gitformat-signature>,
//! <https://git-scm.com/book/en/v2/Git-Internals-Git-Objects>).

use std::sync::Arc;

use anyhow::{Context as _, Result};
use git2::ObjectType;
use serde::{Deserialize, Serialize};

use crate::git::Oid;
use crate::git::output::{damaged, lossy};

/// The kind and the bytes of an object.
pub type Content = (ObjectType, Arc<[u8]>);

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

/// The error for an object that git needs and does not have.
pub(crate) fn missing(id: &Oid) -> anyhow::Error {
    damaged(format!("object {id} is missing")).into()
}

/// Parses the bytes of the commit with this id.
pub(crate) fn commit(id: &Oid, text: &[u8]) -> Result<Commit> {
    parsed(id, text).map_err(|_| broken(id))
}

/// The error for a commit that git cannot read either.
pub(crate) fn broken(id: &Oid) -> anyhow::Error {
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
pub(crate) fn kind_of(mode: u32) -> EntryKind {
    match mode & 0o170_000 {
        0o040_000 => EntryKind::Tree,
        0o120_000 => EntryKind::Link,
        0o160_000 => EntryKind::Submodule,
        _ => EntryKind::File,
    }
}

pub(crate) fn entry_of(mode: u32, id: &[u8]) -> TreeEntry {
    TreeEntry { kind: kind_of(mode), mode, oid: Oid::of_bytes(id) }
}

/// A commit object.
#[derive(Default)]
pub(crate) struct CommitText<'a> {
    tree: &'a [u8],
    parents: Vec<&'a [u8]>,
    author: &'a [u8],
    committer: &'a [u8],
    /// Unchanged.
    pub(crate) message: &'a [u8],
}

impl<'a> CommitText<'a> {
    pub(crate) fn of(text: &'a [u8]) -> Result<Self> {
        let mut commit = Self::default();
        let mut rest = text;
        loop {
            let end = memchr::memchr(b'\n', rest).context("the header of a commit does not end")?;
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            if line.is_empty() {
                commit.message = after;
                return Ok(commit);
            }
            if let Some(id) = line.strip_prefix(b"tree ") {
                commit.tree = id;
            } else if let Some(id) = line.strip_prefix(b"parent ") {
                commit.parents.push(id);
            } else if let Some(who) = line.strip_prefix(b"author ") {
                commit.author = who;
            } else if let Some(who) = line.strip_prefix(b"committer ") {
                commit.committer = who;
            }
            rest = after;
        }
    }

    pub(crate) fn tree(&self) -> Result<Oid> {
        oid(self.tree)
    }

    pub(crate) fn parents(&self) -> impl Iterator<Item = Result<Oid>> {
        self.parents.iter().map(|id| oid(id))
    }

    /// `Name <email>` of the author, and the author date (Unix seconds).
    pub(crate) fn author(&self) -> (String, i64) {
        person(self.author)
    }

    /// `Name <email>` of the committer, and the committer date (Unix seconds).
    pub(crate) fn committer(&self) -> (String, i64) {
        person(self.committer)
    }
}

/// The author or committer of a commit whose header names none that can be read.
pub const NOBODY: &str = " <>";

/// The person in `Name <email> 1700000000 +0000`, and the time at its end. Of a line that is none,
/// both are empty, as in `git log`: one such commit must not make a history unreadable.
fn person(who: &[u8]) -> (String, i64) {
    let parts = memchr::memchr(b'<', who).and_then(|begin| {
        let (name, rest) = (&who[..begin], &who[begin + 1..]);
        Some((name, &rest[..memchr::memchr(b'>', rest)?]))
    });
    match parts {
        Some((name, email)) => {
            let (name, email) = (lossy(name.trim_ascii()), lossy(email.trim_ascii()));
            (format!("{name} <{email}>"), time(who))
        }
        None => (NOBODY.to_owned(), 0),
    }
}

/// The time at the end of `Name <email> 1700000000 +0000`; 0 if there is none.
fn time(who: &[u8]) -> i64 {
    let after = memchr::memrchr(b'>', who).map_or(who, |at| &who[at + 1..]);
    lossy(after).split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or(0)
}

fn oid(digits: &[u8]) -> Result<Oid> {
    Ok(str::from_utf8(digits)?.parse()?)
}

/// The object that a tag names.
pub(crate) fn tagged(text: &[u8]) -> Result<Oid> {
    let line = text.split(|&b| b == b'\n').next().unwrap_or_default();
    oid(line.strip_prefix(b"object ").context("a broken tag")?)
}

/// An entry of a tree object: mode, name, and the bytes of the id.
pub(crate) type Entry<'a> = (u32, &'a [u8], &'a [u8]);

/// The entries of a tree object whose ids have so many bytes.
pub(crate) fn entries(mut tree: &[u8], id: usize) -> impl Iterator<Item = Result<Entry<'_>>> {
    std::iter::from_fn(move || {
        (!tree.is_empty()).then(|| {
            let (entry, rest) = first_entry(tree, id).context("a broken tree")?;
            tree = rest;
            Ok(entry)
        })
    })
}

/// The first entry of a tree object whose ids have so many bytes, and the bytes after it.
pub(crate) fn first_entry(tree: &[u8], id: usize) -> Option<(Entry<'_>, &[u8])> {
    let (mode, rest) = tree.split_at_checked(memchr::memchr(b' ', tree)?)?;
    let (name, rest) = rest[1..].split_at_checked(memchr::memchr(0, &rest[1..])?)?;
    let (id, rest) = rest[1..].split_at_checked(id)?;
    let digit = |mode: u32, digit: &u8| match digit {
        b'0'..=b'7' => mode.checked_mul(8)?.checked_add(u32::from(digit - b'0')),
        _ => None,
    };
    let mode = mode.iter().try_fold(0, digit)?;
    Some(((mode, name, id), rest))
}
