//! Parses commits and trees from the bytes that git stores
//! (<https://git-scm.com/docs/gitformat-signature>,
//! <https://git-scm.com/book/en/v2/Git-Internals-Git-Objects>).

use anyhow::{Context as _, Result};

use super::Oid;
use super::output::lossy;

/// A commit object.
#[derive(Default)]
pub(super) struct CommitText<'a> {
    tree: &'a [u8],
    parents: Vec<&'a [u8]>,
    author: &'a [u8],
    committer: &'a [u8],
    /// Unchanged.
    pub(super) message: &'a [u8],
}

impl<'a> CommitText<'a> {
    pub(super) fn of(text: &'a [u8]) -> Result<Self> {
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

    pub(super) fn tree(&self) -> Result<Oid> {
        oid(self.tree)
    }

    pub(super) fn parents(&self) -> impl Iterator<Item = Result<Oid>> {
        self.parents.iter().map(|id| oid(id))
    }

    /// `Name <email>` of the author, and the author date (Unix seconds).
    pub(super) fn author(&self) -> (String, i64) {
        person(self.author)
    }

    /// `Name <email>` of the committer, and the committer date (Unix seconds).
    pub(super) fn committer(&self) -> (String, i64) {
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
pub(super) fn tagged(text: &[u8]) -> Result<Oid> {
    let line = text.split(|&b| b == b'\n').next().unwrap_or_default();
    oid(line.strip_prefix(b"object ").context("a broken tag")?)
}

/// An entry of a tree object: mode, name, and the bytes of the id.
pub(super) type Entry<'a> = (u32, &'a [u8], &'a [u8]);

/// The entries of a tree object whose ids have so many bytes.
pub(super) fn entries(mut tree: &[u8], id: usize) -> impl Iterator<Item = Result<Entry<'_>>> {
    std::iter::from_fn(move || {
        (!tree.is_empty()).then(|| {
            let (entry, rest) = first_entry(tree, id).context("a broken tree")?;
            tree = rest;
            Ok(entry)
        })
    })
}

/// The first entry of a tree object whose ids have so many bytes, and the bytes after it.
pub(super) fn first_entry(tree: &[u8], id: usize) -> Option<(Entry<'_>, &[u8])> {
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
