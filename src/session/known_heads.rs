//! A cache, in the state directory, of the data from which the heads of sessions are built. With
//! thousands of sessions, most of the time of a list is spent finding each `session.json` through
//! the trees above it. The content of a commit never changes, so the objects of a cached tip need
//! not be read. If the file is lost, only the next list is slower.
//!
//! The cache is not used if the parents of commits can differ from those in their objects (shallow
//! clones, grafts, replaced objects), nor with few sessions.

use std::collections::HashMap;
use std::path::PathBuf;

use super::file_at_tip::session_text;
use super::{Head, Session, SessionName};
use crate::git::{self, Commit, Git, Oid, Reader};
use crate::replace_file::replace_file;

/// Name of the file in the state directory.
const FILE: &str = "heads";

/// The first line: format version and git-cowork version.
const FIRST: &str = concat!("heads 2 git-cowork ", env!("CARGO_PKG_VERSION"), "\n");

/// The end of a field in a line, and the replacement for a newline inside a field. No field may
/// contain either.
const FIELD: char = '\u{1f}';
const BREAK: u8 = 0;

/// Placeholder in the field for the commits of [`super::head::own_line`] if they were not searched
/// for.
const NOT_LOOKED_FOR: &str = "-";

/// Minimum number of heads read by a list before a cache is created: with fewer, it does not pay.
const MANY: usize = 256;

/// The file is rewritten if the heads missing from it are at least this fraction (one in `SHARE`)
/// of those it contains.
const SHARE: usize = 8;

/// Maximum size in bytes of a line, and of the file; longer lines are not cached.
const MAX_LINE: usize = 16 * 1024;
const MAX_FILE: usize = 64 * 1024 * 1024;

/// The data of git objects from which a head is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeadText {
    /// `session.json` at the tip.
    pub(super) session: String,
    /// The commit at the tip.
    pub(super) tip: Commit,
    /// The ancestors of the tip that were needed, newest first.
    pub(super) before: Vec<Commit>,
    /// The result of [`super::head::own_line`] for a completed session; `None` if not searched for.
    pub(super) line: Option<Vec<Oid>>,
}

impl HeadText {
    /// Reads the part of the data that is at a session's tip.
    ///
    /// # Errors
    /// The tip has no `session.json` of this session.
    pub(super) fn read(reader: &dyn Reader, name: &SessionName, tip: &Oid) -> anyhow::Result<Self> {
        let tip = reader.commit(tip)?;
        let session = session_text(reader, name, &tip.id)?;
        Ok(Self { session, tip, before: Vec::new(), line: None })
    }

    /// Returns the line for the cache; `None` if it is too long or a field contains a separator.
    pub(super) fn line(&self, name: &SessionName) -> Option<String> {
        let ids = |ids: &[Oid]| ids.iter().map(Oid::as_str).collect::<Vec<_>>().join(" ");
        let line = self.line.as_deref().map_or_else(|| NOT_LOOKED_FOR.to_owned(), ids);
        let mut fields = vec![self.session.clone(), line];
        for commit in std::iter::once(&self.tip).chain(&self.before) {
            let Commit { id, tree, parents, author, committer, message, .. } = commit;
            fields.extend([id.to_string(), tree.to_string(), ids(parents)]);
            fields.extend([author.clone(), commit.author_time.to_string()]);
            fields.extend([committer.clone(), commit.committer_time.to_string(), message.clone()]);
        }
        if fields.iter().any(|field| field.contains([FIELD, char::from(BREAK)])) {
            return None;
        }
        let fields: String = fields.iter().flat_map(|field| [field, "\u{1f}"]).collect();
        let line = format!("{} {name} {}\n", self.tip.id, fields.replace('\n', "\0"));
        (line.len() <= MAX_LINE).then_some(line)
    }

    /// Parses the fields of a line.
    fn parse(fields: &str) -> Option<Self> {
        let mut fields = Fields(fields);
        let session = fields.text()?;
        let line = match fields.next()? {
            NOT_LOOKED_FOR => None,
            line => Some(ids(line)?),
        };
        let tip = fields.commit()?;
        let mut before = Vec::new();
        while !fields.0.is_empty() {
            before.push(fields.commit()?);
        }
        Some(Self { session, tip, before, line })
    }
}

fn ids(field: &str) -> Option<Vec<Oid>> {
    field.split_terminator(' ').map(|id| id.parse().ok()).collect()
}

/// The fields of a line that have not been parsed yet.
struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let end = memchr::memchr(FIELD as u8, self.0.as_bytes())?;
        let field = self.0.get(..end)?;
        self.0 = self.0.get(end + 1..)?;
        Some(field)
    }

    fn text(&mut self) -> Option<String> {
        let mut text = self.next()?.as_bytes().to_vec();
        let breaks: Vec<usize> = memchr::memchr_iter(BREAK, &text).collect();
        breaks.into_iter().for_each(|at| text[at] = b'\n');
        String::from_utf8(text).ok()
    }

    fn commit(&mut self) -> Option<Commit> {
        let (id, tree) = (self.next()?.parse().ok()?, self.next()?.parse().ok()?);
        Some(Commit {
            id,
            tree,
            parents: ids(self.next()?)?,
            author: self.text()?,
            author_time: self.next()?.parse().ok()?,
            committer: self.text()?,
            committer_time: self.next()?.parse().ok()?,
            message: self.text()?,
        })
    }
}

/// The cached heads.
#[derive(Debug, Default)]
pub(super) struct KnownHeads {
    text: String,
    /// The range in `text` of the line for each tip and name.
    lines: HashMap<String, std::ops::Range<usize>>,
    /// The file is written if at least this many heads had to be read; if `None`, never.
    enough: Option<usize>,
}

impl KnownHeads {
    /// Reads the cache of this repository; empty if the cache cannot be relied on.
    pub(super) fn read(git: &Git) -> Self {
        if !git::fallback::is_history_as_written(git) {
            return Self::default();
        }
        let text = std::fs::read_to_string(path(git)).unwrap_or_default();
        let (mut lines, mut enough) = (HashMap::new(), MANY);
        if let Some(rest) = text.strip_prefix(FIRST) {
            let mut at = FIRST.len();
            lines.reserve(rest.len() / 1024);
            for line in rest.split_inclusive('\n') {
                let end = at + line.len();
                // A line without a newline was only partly written.
                if line.ends_with('\n')
                    && let Some(key) = line.match_indices(' ').nth(1).map(|(end, _)| &line[..end])
                {
                    lines.insert(key.to_owned(), at..end);
                }
                at = end;
            }
            enough = (lines.len() / SHARE).max(1);
        }
        Self { text, lines, enough: Some(enough) }
    }

    /// Returns the data of this session's head at this tip, if cached.
    pub(super) fn get(&self, name: &SessionName, tip: &Oid) -> Option<HeadText> {
        let line = self.line(name, tip)?;
        let kept = HeadText::parse(line.splitn(3, ' ').nth(2)?.strip_suffix('\n')?)?;
        (kept.tip.id == *tip).then_some(kept)
    }

    fn line(&self, name: &SessionName, tip: &Oid) -> Option<&str> {
        self.text.get(self.lines.get(&format!("{tip} {name}"))?.clone())
    }

    /// Rewrites the cache with the heads of exactly these sessions, if enough heads had to be read;
    /// each head that was read comes with its line. If the file cannot be written, the
    /// command still succeeds.
    pub(super) fn keep(&self, git: &Git, heads: &[(SessionName, Oid, Option<String>)]) {
        let read = heads.iter().filter(|(_, _, line)| line.is_some()).count();
        if self.enough.is_none_or(|enough| read < enough) {
            return;
        }
        let mut text = FIRST.to_owned();
        for (name, tip, line) in heads {
            let line = line.as_deref().or_else(|| self.line(name, tip)).unwrap_or_default();
            if text.len() + line.len() <= MAX_FILE {
                text.push_str(line);
            }
        }
        let made = std::fs::create_dir_all(git.state_dir());
        if let Err(error) = made.and_then(|()| replace_file(&path(git), text.as_bytes())) {
            tracing::debug!(%error, "cannot cache the heads of sessions");
        }
    }
}

/// Returns the path of the cache if its data of this session differ from the session's commits.
///
/// # Errors
/// The head cannot be read.
pub fn wrong_head(git: &Git, session: &Session) -> anyhow::Result<Option<PathBuf>> {
    let (name, tip) = (&session.name, &session.tip);
    let Some(kept) = KnownHeads::read(git).get(name, tip) else { return Ok(None) };
    let differs = Head::read(git, name, tip)?.1 != kept;
    Ok(differs.then(|| path(git)))
}

fn path(git: &Git) -> PathBuf {
    git.state_dir().join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(random: &mut fastrand::Rng) -> String {
        let pieces = ["a", " ", "\n", "\n\n", "ü", "\"", "\\n", "\\u{1f}", "", "漢"];
        (0..random.usize(..20)).map(|_| *random.choice(&pieces).unwrap()).collect()
    }

    fn commit(random: &mut fastrand::Rng) -> Commit {
        let mut id = || format!("{:040x}", random.u128(..)).parse().unwrap();
        let (id, tree, parents) = (id(), id(), vec![id(), id()]);
        let parents = parents.into_iter().take(random.usize(..3)).collect();
        let (author, committer, message) = (text(random), text(random), text(random));
        let (author_time, committer_time) = (random.i64(..), random.i64(..));
        Commit { id, tree, parents, author, author_time, committer, committer_time, message }
    }

    #[test]
    fn a_line_says_what_it_was_made_of() {
        let mut random = fastrand::Rng::with_seed(3);
        let name: SessionName = "todo".parse().unwrap();
        for _ in 0..1_000 {
            let before = (0..random.usize(..3)).map(|_| commit(&mut random)).collect();
            let (session, tip) = (text(&mut random), commit(&mut random));
            let line = random.bool().then(|| commit(&mut random).parents);
            let head = HeadText { session, tip, before, line };
            let line = head.line(&name).unwrap();
            assert_eq!(line.matches('\n').count(), 1, "{line:?}");
            let fields = line.strip_prefix(&format!("{} todo ", head.tip.id)).unwrap();
            assert_eq!(HeadText::parse(fields.strip_suffix('\n').unwrap()), Some(head));
            for end in (0..fields.len()).filter(|end| fields.is_char_boundary(*end)) {
                // A cut line can be parsed only if it ends after a whole commit.
                let cut = HeadText::parse(&fields[..end]);
                assert!(cut.is_none() || fields[..end].ends_with(FIELD), "{end}: {fields:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_kept() {
        let mut random = fastrand::Rng::with_seed(4);
        let name: SessionName = "todo".parse().unwrap();
        for session in ["a\0b".to_owned(), format!("a{FIELD}b"), "a".repeat(MAX_LINE)] {
            let head =
                HeadText { session, tip: commit(&mut random), before: Vec::new(), line: None };
            assert_eq!(head.line(&name), None);
        }
    }
}
