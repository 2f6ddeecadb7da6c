//! A cache of the number of sessions and the newest open one: with thousands of sessions, finding it
//! means reading each. The cache is valid as long as the references have not changed ([`RefStamp`]);
//! if the file is lost, only the next command is slower.
//!
//! It is used only to suggest the next command. A command that acts on the newest session reads the
//! branches, because a program may overwrite the file of a reference, which a stamp does not show.
//!
//! The cache is not used if parents can be replaced (grafts, shallow clones), nor with few sessions.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{FIRST, NewestOpen, look_for_newest};
use crate::git::{self, Git, Oid, RefStamp};
use crate::session::{Head, RefNames, SessionName, StateDir};

/// Name of the file in the state directory.
const FILE: &str = "newest";

/// The first line: format version and git-cowork version.
const HEADER: &str = concat!("newest 1 git-cowork ", env!("CARGO_PKG_VERSION"), "\n");

/// Maximum size of the file in bytes.
const MAX_FILE: usize = 64 * 1024;

/// An overview of a repository's sessions.
#[derive(Debug)]
pub struct Overview {
    /// Number of sessions with a branch, here or on a remote.
    pub sessions: usize,
    /// The newest session that is not completed; local branches come first.
    pub open: Option<Head>,
    /// Every session that has both a branch and the note; some others may be listed as well.
    pub noted: Vec<SessionName>,
}

/// Returns the overview; `note` is the name of a note that is written before a session's branch is
/// created.
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
    // A note written from now on may be missed: its session's branch is created later, and that
    // changes the stamp.
    let noted = StateDir::with_note(&git.state_dir(), note);
    if let Some(stamp) = stamp
        && found.is_sure
        && (found.sessions > FIRST || kept.is_some())
    {
        Kept::of(&stamp, &found, &noted).keep(git, refs, &stamp, began);
    }
    Ok(Overview { sessions: found.sessions, open: found.open, noted })
}

/// Returns the path of the cache if it does not match the branches.
///
/// # Errors
/// Git cannot be read.
pub fn wrong_newest(git: &Git, refs: &RefNames) -> anyhow::Result<Option<PathBuf>> {
    let (Some(stamp), Some(kept)) = (stamp(git, refs), Kept::read(git)) else { return Ok(None) };
    let found = look_for_newest(git, refs)?;
    let differs = kept.refs == stamp.text()
        && (kept.sessions, kept.open.as_ref()) != (found.sessions, named(&found).as_ref());
    // Another process may be changing branches.
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

    /// Reads the cache, valid or not.
    fn read(git: &Git) -> Option<Self> {
        let text = std::fs::read(path(git)).ok().filter(|text| text.len() <= MAX_FILE)?;
        let text = String::from_utf8(text).ok()?;
        let line = text.strip_prefix(HEADER)?;
        // Tests write a file with only the header: then the cache is used even with few
        // sessions.
        if line.is_empty() {
            return Some(Self { refs: String::new(), sessions: 0, open: None, noted: Vec::new() });
        }
        serde_json::from_str(line).ok()
    }

    /// The overview, if the cache is valid.
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

    /// Writes the cache, unless a change since `began` could have been missed. Errors are ignored.
    fn keep(&self, git: &Git, refs: &RefNames, stamp: &RefStamp, began: Instant) {
        let write = || -> anyhow::Result<bool> {
            let folder = git.state_dir();
            std::fs::create_dir_all(&folder)?;
            let mut temp = tempfile::NamedTempFile::new_in(&folder)?;
            let text = format!("{HEADER}{}\n", serde_json::to_string(self)?);
            temp.write_all(text.as_bytes())?;
            // The clock of the file system: the earlier of the times of a folder and a file.
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
            Err(error) => tracing::debug!(%error, "cannot cache the newest session"),
        }
    }
}

fn named(found: &NewestOpen) -> Option<(String, Oid)> {
    let open = found.open.as_ref()?;
    Some((open.name().to_string(), open.tip().clone()))
}

/// The stamp of the branches of sessions; `None` if there is none, or if parents can be replaced.
fn stamp(git: &Git, refs: &RefNames) -> Option<RefStamp> {
    let as_written = git::fallback::is_history_as_written(git);
    let stamp = || RefStamp::of(git, &[&refs.branch_root(), &refs.remote_pattern()]);
    as_written.then(stamp).flatten()
}

/// True if a branch of a session may be a symbolic reference: a stamp does not show when its target
/// moves.
fn stands_for_other(git: &Git, refs: &RefNames) -> bool {
    git::refs::refuse_symbolic(git, &[refs.branch_root(), refs.remote_pattern()]).is_err()
}

fn path(git: &Git) -> PathBuf {
    git.state_dir().join(FILE)
}
