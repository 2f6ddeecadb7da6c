//! The entries of `git status --porcelain=v2 -z`.

use anyhow::Result;

use crate::error::Error;
use crate::git::index::Hidden;
use crate::git::output::nul_texts;

/// How a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Unchanged.
    None,
    /// New.
    Added,
    /// Changed content or mode.
    Modified,
    /// Deleted.
    Deleted,
    /// A file became a link or the other way round.
    Type,
}

/// The kind of a path's difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusKind {
    /// Neither tracked nor ignored.
    Untracked,
    /// In conflict.
    Unmerged,
    /// Tracked and changed.
    Tracked {
        /// Index against HEAD.
        staged: Change,
        /// Working tree against index.
        unstaged: Change,
    },
}

/// A path that differs from HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusEntry {
    /// From the top, with `/` ([`crate::path_text`]); a nested repository ends in `/`.
    pub path: String,
    /// How it differs.
    pub kind: StatusKind,
    /// It is a submodule.
    pub submodule: bool,
    /// Why `git status` does not list it; `None` if it does.
    pub hidden: Option<Hidden>,
}

/// Parses the output of `git status --porcelain=v2 -z`.
pub(crate) fn parse_status(output: &[u8]) -> Result<Vec<StatusEntry>> {
    nul_texts(output).filter_map(|line| status_entry(&line).transpose()).collect()
}

fn status_entry(line: &str) -> Result<Option<StatusEntry>> {
    let broken = || Error::repository(format!("git status printed unexpected output: {line:?}"));
    let field = |count: usize| line.splitn(count, ' ').nth(count - 1).ok_or_else(broken);
    let submodule = line.split(' ').nth(2).is_some_and(|sub| sub.starts_with('S'));
    let (path, kind) = match line.as_bytes().first() {
        Some(b'?') => (field(2)?, StatusKind::Untracked),
        Some(b'u') => (field(11)?, StatusKind::Unmerged),
        Some(b'1') => {
            let mut letters = line.chars().skip(2);
            let mut change = || letters.next().and_then(change_of).ok_or_else(broken);
            (field(9)?, StatusKind::Tracked { staged: change()?, unstaged: change()? })
        }
        Some(b'!' | b'#') => return Ok(None),
        _ => return Err(broken().into()),
    };
    let submodule = submodule && !matches!(kind, StatusKind::Untracked);
    Ok(Some(StatusEntry { path: path.to_owned(), kind, submodule, hidden: None }))
}

fn change_of(letter: char) -> Option<Change> {
    Some(match letter {
        '.' => Change::None,
        'A' => Change::Added,
        'M' => Change::Modified,
        'D' => Change::Deleted,
        'T' => Change::Type,
        _ => return None,
    })
}
