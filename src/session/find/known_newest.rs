//! How many sessions there are and which open one is the newest, kept in the state directory: at
//! thousands of sessions, finding it out takes a look at each. The answer holds as long as references
//! are what they were ([`RefStamp`]); losing the file costs one slower answer.
//!
//! It only says what to look at next: a command that acts on the newest session looks itself, as some
//! programs write into the file of a reference, which a stamp does not show.
//!
//! Nothing is kept where history is not what the objects say, nor in a repository of few sessions.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{FIRST, NewestOpen, look_for_newest};
use crate::git::{self, Git, Oid, RefStamp};
use crate::session::{Head, RefNames, SessionName, StateDir};

/// Below the state directory.
const FILE: &str = "newest";

/// The first line: the form of the other, and who wrote it.
const HEADER: &str = concat!("newest 1 git-cowork ", env!("CARGO_PKG_VERSION"), "\n");

/// No file is kept, or read, that has more bytes.
const MAX_FILE: usize = 64 * 1024;

/// What is said of a repository's sessions where none is named.
#[derive(Debug)]
pub struct Overview {
    /// How many have a branch, here or on a remote.
    pub sessions: usize,
    /// The newest that is not completed; one with a branch here comes first.
    pub open: Option<Head>,
    /// Those that have a branch and for which a note was left, and perhaps some more.
    pub noted: Vec<SessionName>,
}

/// Number and newest of the sessions, and those for which a note of this name was left before their
/// branch was made.
///
/// # Errors
/// Git cannot be read.
pub fn overview(git: &Git, refs: &RefNames, note: &str) -> anyhow::Result<Overview> {
    let began = Instant::now();
    let stamp = stamp(git, refs);
    let kept = stamp.as_ref().and_then(|_| Kept::read(git));
    if let (Some(stamp), Some(kept)) = (&stamp, &kept)
        && let Some(overview) = kept.overview(git, refs, stamp)
    {
        return Ok(overview);
    }
    let found = look_for_newest(git, refs)?;
    // A note that is left later comes before its branch, which changes the stamp.
    let noted = StateDir::with_note(&git.state_dir(), note);
    if let Some(stamp) = stamp
        && found.is_sure
        && (found.sessions > FIRST || kept.is_some())
    {
        Kept::of(&stamp, &found, &noted).keep(git, refs, &stamp, began);
    }
    Ok(Overview { sessions: found.sessions, open: found.open, noted })
}

/// The file that keeps the newest session, where it says something else than the branches do.
///
/// # Errors
/// Git cannot be read.
pub fn wrong_newest(git: &Git, refs: &RefNames) -> anyhow::Result<Option<PathBuf>> {
    let (Some(stamp), Some(kept)) = (stamp(git, refs), Kept::read(git)) else { return Ok(None) };
    let found = look_for_newest(git, refs)?;
    let differs = kept.refs == stamp.text()
        && (kept.sessions, kept.open.as_ref()) != (found.sessions, named(&found).as_ref());
    // Somebody may be at work.
    Ok((differs && self::stamp(git, refs).as_ref() == Some(&stamp)).then(|| path(git)))
}

/// The line after the header.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// [`RefStamp::text`] of the branches of sessions.
    refs: String,
    sessions: usize,
    /// Name and tip.
    open: Option<(String, Oid)>,
    noted: Vec<String>,
}

impl Kept {
    fn of(stamp: &RefStamp, found: &NewestOpen, noted: &[SessionName]) -> Self {
        Self {
            refs: stamp.text().to_owned(),
            sessions: found.sessions,
            open: named(found),
            noted: noted.iter().map(ToString::to_string).collect(),
        }
    }

    /// What is kept, whether or not it holds any more.
    fn read(git: &Git) -> Option<Self> {
        let text = std::fs::read(path(git)).ok().filter(|text| text.len() <= MAX_FILE)?;
        let text = String::from_utf8(text).ok()?;
        let line = text.strip_prefix(HEADER)?;
        // Without a line it says that one is wanted.
        if line.is_empty() {
            return Some(Self { refs: String::new(), sessions: 0, open: None, noted: Vec::new() });
        }
        serde_json::from_str(line).ok()
    }

    /// What it says, where that still holds.
    fn overview(&self, git: &Git, refs: &RefNames, stamp: &RefStamp) -> Option<Overview> {
        if self.refs != stamp.text() {
            return None;
        }
        let open = match &self.open {
            Some((name, tip)) => {
                let name: SessionName = name.parse().ok()?;
                let found = git.resolve(refs.branch(&name).as_str()).ok()?;
                let tips = match found {
                    Some(tip) => vec![tip],
                    None => {
                        let pattern = RefNames::remote("*", &refs.short_branch(&name));
                        git.refs(&[pattern]).ok()?.into_iter().map(|one| one.object).collect()
                    }
                };
                let is_tip = tips.contains(tip);
                Some(is_tip.then(|| Head::load(git, &name, tip).ok()).flatten()?)
            }
            None => None,
        };
        let noted = self.noted.iter().map(|name| name.parse().ok()).collect::<Option<_>>()?;
        Some(Overview { sessions: self.sessions, open, noted })
    }

    /// Keeps it, where no change can have escaped since the beginning. A disk that takes no file is no
    /// reason not to answer.
    fn keep(&self, git: &Git, refs: &RefNames, stamp: &RefStamp, began: Instant) {
        let write = || -> anyhow::Result<bool> {
            let folder = git.state_dir();
            std::fs::create_dir_all(&folder)?;
            let mut temp = tempfile::NamedTempFile::new_in(&folder)?;
            let text = format!("{HEADER}{}\n", serde_json::to_string(self)?);
            temp.write_all(text.as_bytes())?;
            // The clock is that of whoever keeps the files: of a folder, or of a file.
            let now = temp.as_file().metadata()?.modified()?.min(folder.metadata()?.modified()?);
            let then = now.checked_sub(began.elapsed());
            let settled = then.is_some_and(|then| stamp.had_settled(then));
            let same = || self::stamp(git, refs).as_ref() == Some(stamp);
            let keeps = settled && text.len() <= MAX_FILE && same() && !stands_for_other(git, refs);
            if keeps {
                temp.persist(path(git))?;
            }
            Ok(keeps)
        };
        match write() {
            Ok(kept) => tracing::debug!(kept, "the newest session"),
            Err(error) => tracing::debug!(%error, "the newest session is not kept"),
        }
    }
}

fn named(found: &NewestOpen) -> Option<(String, Oid)> {
    let open = found.open.as_ref()?;
    Some((open.name().to_string(), open.tip().clone()))
}

/// What tells whether any branch of a session was created, moved or deleted; none where that cannot be
/// told, or does not tell what history is.
fn stamp(git: &Git, refs: &RefNames) -> Option<RefStamp> {
    let as_written = git::fallback::is_history_as_written(git);
    let stamp = || RefStamp::of(git, &[&refs.branch_root(), &refs.remote_pattern()]);
    as_written.then(stamp).flatten()
}

/// Whether a session's branch may stand for another one, whose moves a stamp does not show.
fn stands_for_other(git: &Git, refs: &RefNames) -> bool {
    git::refs::refuse_symbolic(git, &[refs.branch_root(), refs.remote_pattern()]).is_err()
}

fn path(git: &Git) -> PathBuf {
    git.state_dir().join(FILE)
}
