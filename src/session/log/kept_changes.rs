//! A cache, in the state directory, of the files that the commits of a long session changed: `log`
//! would spend most of its time finding them through the trees of each commit. A commit never
//! changes, so a cached one need not be read. If the file is lost, only the next `log` is slower.
//!
//! The cache is not used if the parents of commits can differ from those in their objects (shallow
//! clones, grafts, replaced objects), nor for short sessions.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use super::files::{Changes, LineCounts, read, with_parents};
use crate::git::{self, Git, Oid};
use crate::replace_file::replace_file;
use crate::session::{Artifact, ChangedFile, Session, SessionName, StateDir, artifact_path};

/// Name of the file in the session's part of the state directory.
const FILE: &str = "changes";

/// The first line: format version and git-cowork version.
const FIRST: &str = concat!("changes 1 git-cowork ", env!("CARGO_PKG_VERSION"), "\n");

/// Minimum number of commits that had to be read before the file is written: with fewer, it does
/// not pay.
const MANY: usize = 64;

/// The file is rewritten if the commits missing from it are at least this fraction (one in `SHARE`)
/// of those it contains.
const SHARE: usize = 8;

/// Maximum size in bytes of a commit's part, and of the file; larger parts are not cached.
const MAX_PART: usize = 16 * 1024;
const MAX_FILE: usize = 16 * 1024 * 1024;

/// The cached changes of a session's commits.
pub(super) struct KeptChanges {
    /// The file; `None` if the cache cannot be relied on.
    path: Option<PathBuf>,
    known: HashMap<Oid, Changes>,
    /// Number of commits that the file lacks.
    added: usize,
    /// The file is written if it lacks at least this many.
    enough: usize,
}

impl KeptChanges {
    /// Reads the cache of a session; empty if it cannot be relied on.
    pub(super) fn read(git: &Git, name: &SessionName) -> Self {
        let path = git::fallback::is_history_as_written(git)
            .then(|| StateDir::at(&git.state_dir(), name).path().join(FILE));
        let text = path.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        let known = text.as_deref().and_then(parse);
        let enough = known.as_ref().map_or(MANY, |known| (known.len() / SHARE).max(1));
        Self { path, known: known.unwrap_or_default(), added: 0, enough }
    }

    /// The changes of a commit, if cached.
    pub(super) fn get(&self, commit: &Oid) -> Option<&Changes> {
        self.known.get(commit)
    }

    /// Adds the changes of a commit that had to be read.
    pub(super) fn add(&mut self, commit: &Oid, changes: &Changes) {
        if self.path.is_some() && part(commit, changes).is_some() {
            self.known.insert(commit.clone(), changes.clone());
            self.added += 1;
        }
    }

    /// Writes the file if enough commits had to be read. If it cannot be written, the command still
    /// succeeds.
    pub(super) fn save(&self) {
        let Some(path) = &self.path else { return };
        if self.added < self.enough {
            return;
        }
        let mut text = FIRST.to_owned();
        for part in self.known.iter().filter_map(|(commit, changes)| part(commit, changes)) {
            if text.len() + part.len() <= MAX_FILE {
                text += &part;
            }
        }
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = made.and_then(|()| replace_file(path, text.as_bytes())) {
            tracing::debug!(%error, "cannot cache the files that commits changed");
        }
    }
}

/// The part of the file for a commit: `ID WATCHED FILES`, then a line `ADDED REMOVED PATH` for each
/// file. `None` if it is too long, or a path contains a line break.
fn part(commit: &Oid, Changes { files, watched }: &Changes) -> Option<String> {
    let mut part = format!("{commit} {} {}\n", u8::from(*watched), files.len());
    for ChangedFile { path, added, removed } in files {
        let _ = writeln!(part, "{added} {removed} {path}");
        if path.contains('\n') || part.len() > MAX_PART {
            return None;
        }
    }
    Some(part)
}

/// Parses the file; `None` if it is not one of this release, or is damaged.
fn parse(text: &str) -> Option<HashMap<Oid, Changes>> {
    let mut lines = text.strip_prefix(FIRST)?.split_terminator('\n');
    let mut known = HashMap::new();
    while let Some(line) = lines.next() {
        let mut fields = line.split(' ');
        let commit = fields.next()?.parse().ok()?;
        let watched = match fields.next()? {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        let count: usize = fields.next()?.parse().ok()?;
        let files = (0..count).map(|_| {
            let mut fields = lines.next()?.splitn(3, ' ');
            let (added, removed) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            Some(ChangedFile { path: fields.next()?.to_owned(), added, removed })
        });
        let files = files.collect::<Option<Vec<_>>>()?;
        known.insert(commit, Changes { files, watched });
    }
    text.ends_with('\n').then_some(known)
}

/// Returns the path of the cache if its changes differ from those of the session's commits.
///
/// # Errors
/// The commits cannot be read.
pub fn wrong_changes(git: &Git, session: &Session) -> anyhow::Result<Option<PathBuf>> {
    let kept = KeptChanges::read(git, &session.name);
    let watched = artifact_path(&session.name, Artifact::Feedback);
    let mut pairs = with_parents(&session.history);
    pairs.retain(|(previous, entry)| previous.is_some() && kept.get(&entry.commit).is_some());
    let read =
        git::many::ask_each(git, &pairs, |git, pair| read(git, pair, &watched, LineCounts::Wanted));
    for ((_, entry), read) in pairs.iter().zip(read) {
        let (changes, is_whole) = read?;
        if is_whole && kept.get(&entry.commit) != Some(&changes) {
            return Ok(kept.path);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(random: &mut fastrand::Rng) -> (Oid, Changes) {
        let commit = format!("{:040x}", random.u128(..)).parse().unwrap();
        let path = |random: &mut fastrand::Rng| {
            let pieces = ["a", " ", "/", "ü", "\r", "1 2 ", "\u{1f}", "漢"];
            (0..random.usize(..9)).map(|_| *random.choice(&pieces).unwrap()).collect()
        };
        let files = (0..random.usize(..4)).map(|_| {
            let (added, removed) = (random.usize(..99), random.usize(..99));
            ChangedFile { path: path(random), added, removed }
        });
        let files = files.collect();
        (commit, Changes { files, watched: random.bool() })
    }

    #[test]
    fn the_file_says_what_it_was_made_of() {
        let mut rng = fastrand::Rng::with_seed(5);
        let all: HashMap<Oid, Changes> = (0..200).map(|_| random(&mut rng)).collect();
        let mut text = FIRST.to_owned();
        for (commit, changes) in &all {
            text += &part(commit, changes).unwrap();
        }
        assert_eq!(parse(&text).unwrap(), all);
        // A truncated file has fewer commits, but no wrong changes.
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)).step_by(7) {
            for (commit, changes) in parse(&text[..end]).unwrap_or_default() {
                assert_eq!(all[&commit], changes, "{end}");
            }
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_kept() {
        let mut rng = fastrand::Rng::with_seed(6);
        let (commit, _) = random(&mut rng);
        for path in ["a\nb".to_owned(), "a".repeat(MAX_PART)] {
            let file = ChangedFile { path, added: 0, removed: 0 };
            let changes = Changes { files: vec![file.clone(), file], watched: false };
            assert_eq!(part(&commit, &changes), None);
        }
    }
}
