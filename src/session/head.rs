//! The head of a session: its tip and the commits back to its newest stage commit, which determine
//! its state. Commands read thousands of heads; they read the rest of a session only if needed.

use std::collections::HashMap;

use anyhow::Result;

use super::file_at_tip::parsed;
use super::known_heads::HeadText;
use super::status::{is_archived, state_of};
use super::{Entry, Kind, RefNames, Session, SessionName, State, Waiting, merged};
use crate::artifact::{SessionFile, SessionKind};
use crate::git::{self, Commit, Git, Oid, Reader, RefName};
use crate::stage::Stage;

/// Maximum number of commits to search for the newest stage commit; then all history is read.
const FAR: usize = 256;

/// Maximum number of commits of a completed session that are cached with its head.
const LONGEST: usize = 64;

/// The head of a session: see the module documentation.
#[derive(Clone, Debug)]
pub struct Head {
    /// Unless `whole` is true, its history begins at the newest stage commit. Boxed: lists of
    /// thousands of heads are sorted, filtered and joined.
    session: Box<Session>,
    whole: bool,
    time: i64,
    is_completed: bool,
    stage: Option<Stage>,
    /// The result of [`own_line`]; empty if not searched for.
    line: Vec<Oid>,
}

impl Head {
    /// Reads the head from a session's tip.
    ///
    /// # Errors
    /// As [`Session::load`].
    pub fn load(git: &Git, name: &SessionName, tip: &Oid) -> Result<Self> {
        Ok(Self::read(git, name, tip)?.0)
    }

    /// Like [`Head::load`], with the data from which the head was built.
    pub(super) fn read(git: &Git, name: &SessionName, tip: &Oid) -> Result<(Self, HeadText)> {
        let mut text = HeadText::read(git.reader().as_ref(), name, tip)?;
        let mut head = Self::from_text(git, name, &mut text)?;
        if head.is_completed && git::fallback::is_history_as_written(git) {
            head.line = own_line(git.reader().as_ref(), &head.session.file, &text.tip);
            text.line = Some(head.line.clone());
        }
        Ok((head, text))
    }

    /// Builds the head from known data, and adds to `text` the commits that had to be read.
    pub(super) fn from_text(git: &Git, name: &SessionName, text: &mut HeadText) -> Result<Self> {
        let tip = text.tip.id.clone();
        let (file, older) = parsed(name, &text.session)?;
        let (name, reader) = (name.clone(), git.reader());
        // If only the git binary can read the repository, each step back would run a process: read
        // all history at once instead.
        let recent = git::fallback::is_read_in_process(git)
            .then(|| recent(reader.as_ref(), &file, text))
            .flatten();
        let Some(history) = recent else {
            let session = Session::with_file(reader.as_ref(), &name, &tip, file, older)?;
            return Ok(Self::new(session, true, text));
        };
        let (scope, has_prd) = (None, None);
        let squashed = false;
        let session = Session { name, tip, file, older, history, scope, squashed, has_prd };
        // The remaining stages of a change request depend on its scope and its passed stages.
        if session.file.kind == SessionKind::New || session.is_completed() {
            return Ok(Self::new(session, false, text));
        }
        let Session { name, tip, file, older, .. } = session;
        let session = Session::with_file(reader.as_ref(), &name, &tip, file, older)?;
        Ok(Self::new(session, true, text))
    }

    fn new(session: Session, whole: bool, text: &HeadText) -> Self {
        let (time, line) = (text.tip.committer_time, text.line.clone().unwrap_or_default());
        let is_completed = session.is_completed();
        let stage = if is_completed { None } else { session.next_stage() };
        Self { session: Box::new(session), whole, time, is_completed, stage, line }
    }

    /// The session with all its history.
    ///
    /// # Errors
    /// History cannot be walked.
    pub fn session(&self, git: &Git) -> Result<Session> {
        if self.whole {
            return Ok(Session::clone(&self.session));
        }
        let Session { name, tip, file, older, .. } = &*self.session;
        Session::with_file(git.reader().as_ref(), name, tip, file.clone(), older.clone())
    }

    /// The session's commits starting with the newest stage commit, oldest first.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.session.history
    }

    /// Name of the session.
    pub fn name(&self) -> &SessionName {
        &self.session.name
    }

    /// Tip of the session's branch.
    pub fn tip(&self) -> &Oid {
        &self.session.tip
    }

    /// `session.json` at the tip.
    pub fn file(&self) -> &SessionFile {
        &self.session.file
    }

    /// When the tip was committed (Unix seconds).
    pub fn time(&self) -> i64 {
        self.time
    }

    /// True if the session's history contains a delivery commit.
    pub fn is_completed(&self) -> bool {
        self.is_completed
    }

    /// The current or next stage; `None` if the delivery commit exists.
    pub fn stage(&self) -> Option<Stage> {
        self.stage
    }

    /// True if a commit completes a stage.
    pub fn has_stage(&self) -> bool {
        self.session.last_stage().is_some()
    }

    /// The draft that is waiting for a review, with the reviewer's answer if there is one.
    pub fn waiting(&self) -> Option<Waiting> {
        self.session.waiting()
    }
}

/// Returns the states of these sessions, as recorded in history.
///
/// # Errors
/// Git cannot be read.
pub fn states(git: &Git, refs: &RefNames, heads: &[Head]) -> Result<Vec<State>> {
    let archived: HashMap<RefName, Oid> = git
        .refs(&[RefNames::ARCHIVE])?
        .into_iter()
        .map(|archived| (archived.name, archived.object))
        .collect();
    let mut in_archive = Vec::with_capacity(heads.len());
    for head in heads {
        let there = archived.get(&RefNames::archive(head.name())) == Some(head.tip());
        in_archive.push(there && is_archived(git, refs, &head.session)?);
    }
    let looked_for = |(head, archived): &(&Head, &bool)| !**archived && head.is_completed();
    let completed = heads.iter().zip(&in_archive).filter(looked_for);
    let completed: Vec<&Head> = completed.map(|(head, _)| head).collect();
    let mut merged = merged_heads(git, refs, &completed)?.into_iter();
    let state = |(head, archived): (&Head, &bool)| {
        let merged = looked_for(&(head, archived)) && merged.next().unwrap_or(false);
        state_of(&head.session, *archived, merged)
    };
    Ok(heads.iter().zip(&in_archive).map(state).collect())
}

/// Returns true for each of these sessions that is merged.
///
/// # Errors
/// Git cannot be read.
pub fn merged_heads(git: &Git, refs: &RefNames, heads: &[&Head]) -> Result<Vec<bool>> {
    let sessions: Vec<&Session> = heads.iter().map(|head| &*head.session).collect();
    let lines = heads.iter().filter(|head| !head.line.is_empty());
    let lines = lines.map(|head| (head.tip(), head.line.as_slice())).collect();
    let merged = merged::merged_each(git, refs, &sessions, &lines)?;
    Ok(merged.into_iter().map(|merged| merged.is_some()).collect())
}

/// Returns the commits from the parent of a session's tip back to its base commit, if that history
/// is linear, at most [`LONGEST`] commits, and has no delivery of another session; if not, nothing.
pub(super) fn own_line(reader: &dyn Reader, file: &SessionFile, tip: &Commit) -> Vec<Oid> {
    let (mut line, mut parents) = (Vec::new(), tip.parents.clone());
    while let ([parent], 0..LONGEST) = (parents.as_slice(), line.len()) {
        line.push(parent.clone());
        if parent.as_str() == file.base.commit {
            return line;
        }
        match reader.commit(parent) {
            Ok(commit) if merged::speaks_for_no_other(&commit, &file.id) => {
                parents = commit.parents;
            }
            _ => break,
        }
    }
    Vec::new()
}

/// Returns the session's commits since the newest commit that completes a stage or starts the
/// session, which is included; oldest first: the end of the history that [`Session::load`] finds.
/// `None` if there is no such commit within [`FAR`] commits, or history is not linear up to it.
fn recent(reader: &dyn Reader, file: &SessionFile, text: &mut HeadText) -> Option<Vec<Entry>> {
    let mut found = Vec::new();
    for at in 0..FAR {
        let commit = if at == 0 { &text.tip } else { text.before.get(at - 1)? };
        // Commits of the base are not searched.
        if commit.id.as_str() == file.base.commit {
            break;
        }
        if let Some(entry) = Entry::from_commit(commit, &file.id) {
            let is_last = entry.is_start() || matches!(entry.kind, Kind::Stage(_));
            found.push(entry);
            if is_last {
                break;
            }
        }
        match commit.parents.as_slice() {
            [] => break,
            [parent] if text.before.len() == at => {
                let parent = reader.commit(parent).ok()?;
                text.before.push(parent);
            }
            [_] => {}
            _ => return None,
        }
    }
    let ends =
        found.last().is_some_and(|entry| entry.is_start() || matches!(entry.kind, Kind::Stage(_)));
    if !ends {
        return None;
    }
    found.reverse();
    // Most have one entry, and room for four.
    found.shrink_to_fit();
    Some(found)
}
