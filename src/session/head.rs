//! The head of a session: its tip and the way back to its newest stage commit, which tells how it
//! stands. Lists and guesses look at thousands of them; the rest of a session is read where it is
//! needed.

use std::collections::HashMap;

use super::file_at_tip::{parsed, restorable};
use super::known_heads::HeadText;
use super::status::{is_archived, state_of};
use super::{Entry, Kind, RefNames, Session, SessionName, State, Waiting, merged};
use crate::artifact::{SessionFile, SessionKind};
use crate::git::{self, Commit, Git, Oid, Reader, RefName};
use crate::stage::Stage;

/// How far the newest stage commit may be from the tip before history is walked whole.
const FAR: usize = 256;

/// Commits of a completed session that are kept with its head.
const LONGEST: usize = 64;

/// See the module.
#[derive(Clone, Debug)]
pub struct Head {
    /// Its history begins with the newest stage commit, if it is not whole.
    session: Session,
    whole: bool,
    time: i64,
    is_completed: bool,
    stage: Option<Stage>,
    /// [`own_line`], where it was looked for.
    line: Vec<Oid>,
}

impl Head {
    /// Reads it from a session's tip.
    ///
    /// # Errors
    /// As [`Session::load`].
    pub fn load(git: &Git, name: &SessionName, tip: &Oid) -> anyhow::Result<Self> {
        Ok(Self::read(git, name, tip)?.0)
    }

    /// As [`Head::load`], with what it was made of.
    pub(super) fn read(
        git: &Git,
        name: &SessionName,
        tip: &Oid,
    ) -> anyhow::Result<(Self, HeadText)> {
        let mut text = HeadText::read(git.reader().as_ref(), name, tip)
            .map_err(|error| restorable(git, name, tip, error))?;
        let mut head = Self::of(git, name, &mut text)?;
        if head.is_completed && git::fallback::is_history_as_written(git) {
            head.line = own_line(git.reader().as_ref(), &head.session.file, &text.tip);
            text.line = Some(head.line.clone());
        }
        Ok((head, text))
    }

    /// Makes it of what is known. What else is read on the way is known, too, afterwards.
    pub(super) fn of(git: &Git, name: &SessionName, text: &mut HeadText) -> anyhow::Result<Self> {
        let tip = text.tip.id.clone();
        let (file, older) =
            parsed(name, &text.session).map_err(|error| restorable(git, name, &tip, error))?;
        let (name, reader) = (name.clone(), git.reader());
        // Where only the binary can read, each step back is a process.
        let recent = git::fallback::is_read_in_process(git)
            .then(|| recent(reader.as_ref(), &file, text))
            .flatten();
        let Some(history) = recent else {
            let session = Session::with_file(reader.as_ref(), &name, &tip, file, older)?;
            return Ok(Self::new(session, true, text));
        };
        let (scope, has_prd) = (None, None);
        let session = Session { name, tip, file, older, history, scope, has_prd };
        // Which stages are left to a change request, its scope tells, and what it has passed.
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
        Self { session, whole, time, is_completed, stage, line }
    }

    /// The session with all its history.
    ///
    /// # Errors
    /// History cannot be walked.
    pub fn session(&self, git: &Git) -> anyhow::Result<Session> {
        if self.whole {
            return Ok(self.session.clone());
        }
        let Session { name, tip, file, older, .. } = &self.session;
        Session::with_file(git.reader().as_ref(), name, tip, file.clone(), older.clone())
    }

    /// Its commits from the newest stage commit on, oldest first.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.session.history
    }

    /// Name.
    pub fn name(&self) -> &SessionName {
        &self.session.name
    }

    /// Tip of its branch.
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

    /// True when a delivery commit is in its history.
    pub fn is_completed(&self) -> bool {
        self.is_completed
    }

    /// The stage that is worked on or comes next, `None` when the delivery commit exists.
    pub fn stage(&self) -> Option<Stage> {
        self.stage
    }

    /// True where a commit says that a stage is done.
    pub fn has_stage(&self) -> bool {
        self.session.last_stage().is_some()
    }

    /// The draft that waits, with its answer if it was given.
    pub fn waiting(&self) -> Option<Waiting> {
        self.session.waiting()
    }
}

/// The states of these sessions, as far as history tells them.
///
/// # Errors
/// Git cannot be read.
pub fn states(git: &Git, refs: &RefNames, heads: &[Head]) -> anyhow::Result<Vec<State>> {
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

/// Which of these sessions are merged.
///
/// # Errors
/// Git cannot be read.
pub fn merged_heads(git: &Git, refs: &RefNames, heads: &[&Head]) -> anyhow::Result<Vec<bool>> {
    let sessions: Vec<&Session> = heads.iter().map(|head| &head.session).collect();
    let lines = heads.iter().filter(|head| !head.line.is_empty());
    let lines = lines.map(|head| (head.tip(), head.line.as_slice())).collect();
    let merged = merged::merged_each(git, refs, &sessions, &lines)?;
    Ok(merged.into_iter().map(|merged| merged.is_some()).collect())
}

/// The commits below a session's tip back to its base commit, where they are one line and none of them
/// carries what another session delivered; else nothing.
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

/// The session's commits back to the newest that completes a stage or begins the session, oldest
/// first: the end of what [`Session::load`] finds. `None` where history is not one line as far as that.
fn recent(reader: &dyn Reader, file: &SessionFile, text: &mut HeadText) -> Option<Vec<Entry>> {
    let mut found = Vec::new();
    for at in 0..FAR {
        let commit = if at == 0 { &text.tip } else { text.before.get(at - 1)? };
        // What the base has is not looked at.
        if commit.id.as_str() == file.base.commit {
            break;
        }
        if let Some(entry) = Entry::of(commit, &file.id) {
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
    Some(found)
}
