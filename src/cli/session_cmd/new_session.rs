//! Starts a session: records the user's uncommitted files, then creates the branch, then the start
//! commit. The next command completes a start that was killed in the middle.

use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, SessionFile, render_json};
use crate::cli::context::Context;
use crate::cli::session_cmd::lock::{self, LockedSession};
use crate::cli::session_cmd::workspace::{self, recorder_of};
use crate::cli::session_cmd::worktree::Linked;
use crate::clock;
use crate::error::Error;
use crate::git::{self, Git, Head, Oid, RefTransaction, StatusEntry, Store};
use crate::path_text::encoded;
use crate::record::attributes::{self, ATTRIBUTES};
use crate::record::{self, Recorded, Recorder, Scope, point};
use crate::session::{Inheritance, Protected, RefNames, Session, SessionName, StateDir};
use crate::stage::Stage;
use crate::workspace::{IGNORED, LEFT};

/// A session to start.
#[derive(Clone, Debug)]
pub(crate) struct NewSession {
    /// `session.json`
    pub file: SessionFile,
    /// The commit the branch starts from.
    pub start: Oid,
    /// A commit or tree with the artifacts it starts with, if they are not those of `start`.
    pub artifacts: Option<Oid>,
    /// The stage of another session that it starts from.
    pub from: Option<Inheritance>,
    /// True if the depth is already chosen, false if triage chooses it.
    pub says_depth: bool,
    /// The first draft of a stage, if it is already written.
    pub draft: Option<FirstDraft>,
    /// Work in a linked worktree, at this path or the default one.
    pub worktree: Linked,
}

/// Maximum size in bytes of a user's file that is copied into the repository.
const MOST_KEPT: u64 = 10 * 1024 * 1024;
/// Maximum sum of their sizes; smaller files come first.
const MOST_KEPT_IN_SUM: u64 = 10 * MOST_KEPT;

/// Creates the branch, here or in a linked worktree, and the start commit.
pub(crate) fn begin(
    context: &Context,
    mut held: LockedSession,
    refs: &RefNames,
    name: &SessionName,
    beginning: NewSession,
) -> anyhow::Result<(LockedSession, Session)> {
    let NewSession { file, start, artifacts, from, says_depth, draft, worktree: linked } =
        beginning;
    let start = &start;
    git::locks::require_unlocked(&held.git)?;
    let before = held.git.head()?;
    let main = held.git.clone();
    // A linked worktree is clean; the user's changes stay in the current one.
    let dirty = if linked.is_some() { Vec::new() } else { held.git.status()? };
    protect(context, &held, &dirty)?;
    let start_commit = start.clone();
    let starting = PendingStart { file, start: start_commit, artifacts, from, says_depth, draft };
    held.state.set_note(NOTE, Some(&starting))?;
    point("start.before-branch");
    let branch = refs.short_branch(name);
    let is_linked = linked.is_some();
    match linked {
        Some(path) => {
            let path = path.unwrap_or_else(|| lock::default_path(&held.git, name));
            held.git = git::worktree::add(&held.git, &path, &branch, Some(start))?;
            let command = held.lock.holder().command.clone();
            held.tree = Some(lock::lock_tree(context, &held.git, name, &command)?);
            context.note(format!("working in {}", held.git.top().display()));
        }
        None => git::switch::to_new(&held.git, &branch, start)?,
    }
    point("start.after-branch");
    let own_paths = paths(&held, name, &starting)?;
    match commit(context, &held, refs, name, &starting) {
        Ok(session) => Ok((held, session)),
        // The start commit exists, so there is nothing to undo: the next command saves the first
        // draft.
        Err(error) if held.git.resolve(refs.branch(name).as_str())?.as_ref() != Some(start) => {
            Err(error)
        }
        Err(error) => {
            git::put_back::restore_paths(&held.git, start, &own_paths)?;
            if is_linked {
                let tree = held.git.top().to_owned();
                held.git = main;
                git::worktree::remove(&held.git, &tree)?;
            } else {
                stand_again(&held.git, &before)?;
            }
            abandon(&held, refs, name, start)?;
            Err(error)
        }
    }
}

/// Completes a start that was killed after its branch was created. `None` if there is nothing to
/// complete.
pub(crate) fn finish(
    context: &Context,
    held: &LockedSession,
    refs: &RefNames,
    name: &SessionName,
) -> anyhow::Result<Option<Session>> {
    match held.state.note::<PendingStart>(NOTE)? {
        Some(starting) => commit(context, held, refs, name, &starting).map(Some),
        None => Ok(None),
    }
}

/// Records the user's uncommitted files before git-cowork's first commit, and saves their content.
fn protect(context: &Context, held: &LockedSession, dirty: &[StatusEntry]) -> anyhow::Result<()> {
    let mut paths: Vec<String> = dirty
        .iter()
        .map(|entry| entry.path.clone())
        .filter(|path| !path.starts_with(".cowork/sessions/"))
        .collect();
    let size = |path: &String| {
        let meta = held.git.top().join(encoded(path)).symlink_metadata();
        meta.map_or(0, |meta| meta.len())
    };
    paths.sort_by_cached_key(size);
    let mut sum = 0;
    let fits = |path: &String| {
        sum += size(path);
        size(path) <= MOST_KEPT && sum <= MOST_KEPT_IN_SUM
    };
    let (paths, large): (Vec<String>, Vec<String>) = paths.into_iter().partition(fits);
    // git-cowork's tools do not write these files, but commands of a model could, and no commit
    // contains their content, so it is saved here (of what is too large, the hash).
    let mut blobs = kept(context, held, &paths, Store::Write);
    blobs.extend(kept(context, held, &large, Store::No));
    let paths = paths.into_iter().chain(large);
    let blob = |blob: Option<Oid>| blob.map(|b| b.to_string()).unwrap_or_default();
    let list: Vec<Protected> =
        paths.zip(blobs).map(|(path, b)| Protected { path, blob: blob(b) }).collect();
    held.state.set_protected(&list)?;
    for list in [IGNORED, LEFT] {
        if held.state.note::<Vec<String>>(list)?.is_some() {
            // Of an earlier session with this name.
            held.state.set_note::<Vec<String>>(list, None)?;
        }
    }
    if !list.is_empty() {
        let files =
            if list.len() == 1 { "1 file".to_owned() } else { format!("{} files", list.len()) };
        context.note(format!(
            "{files} with your uncommitted changes: protected, never written or committed"
        ));
    }
    Ok(())
}

/// The blobs of the user's files; `None` for a file that cannot be read or whose filter fails. Such
/// a file is protected as well, and the session starts anyway.
fn kept(
    context: &Context,
    held: &LockedSession,
    paths: &[String],
    store: Store,
) -> Vec<Option<Oid>> {
    if let Ok(blobs) = git::blobs::hash_files(&held.git, paths, store) {
        return blobs;
    }
    let one = |path: &String| match git::blobs::hash_files(&held.git, &[path], store) {
        Ok(blobs) => blobs.into_iter().next().flatten(),
        Err(error) => {
            context.warn(format!("could not save a copy of your file {path}: {error:#}"));
            None
        }
    };
    paths.iter().map(one).collect()
}

/// The paths that the start writes. `.cowork/.gitattributes` is not one of them if the user has
/// uncommitted changes there.
fn paths(
    held: &LockedSession,
    name: &SessionName,
    starting: &PendingStart,
) -> anyhow::Result<Vec<String>> {
    let mut paths = vec![format!("{}/{}", name.record_dir(), Artifact::Session.file_name())];
    paths.extend(brought(held, name, starting)?);
    if !held.state.protected()?.iter().any(|entry| entry.path == ATTRIBUTES) {
        paths.push(ATTRIBUTES.to_owned());
    }
    Ok(paths)
}

/// The artifacts that the session copies from its parent, or from the session it starts from.
fn brought(
    held: &LockedSession,
    name: &SessionName,
    starting: &PendingStart,
) -> anyhow::Result<Vec<String>> {
    let Some(from) = &starting.artifacts else { return Ok(Vec::new()) };
    let mut paths = git::paths::changed(&held.git, &starting.start, from)?;
    let folder = format!("{}/", name.artifact_dir());
    paths.retain(|path| path.starts_with(&folder));
    Ok(paths)
}

/// Creates the start commit on the session's branch.
fn commit(
    context: &Context,
    held: &LockedSession,
    refs: &RefNames,
    name: &SessionName,
    starting: &PendingStart,
) -> anyhow::Result<Session> {
    let PendingStart { file, start, artifacts, from, says_depth, .. } = starting;
    let git = &held.git;
    if let Some(tip) = git.resolve(refs.branch(name).as_str())?.filter(|tip| tip != start) {
        // The start was killed before its first draft was saved.
        return with_draft(context, held, name, starting, &tip);
    }
    let mut own_paths = paths(held, name, starting)?;
    let brought = brought(held, name, starting)?;
    let project = &context.config()?.project;
    if own_paths.iter().any(|path| path == ATTRIBUTES) {
        let base = attributes::at_tip(git, start)?;
        match attributes::wanted(git, project, name, base.as_deref())? {
            Some(text) => write(git.top(), ATTRIBUTES, &text)?,
            None => own_paths.retain(|path| path != ATTRIBUTES),
        }
    }
    if let Some(filter) = attributes::require_readable(git, project, name)? {
        return Err(attributes::not_exempted(git, &filter).into());
    }
    if let Some(from) = artifacts {
        git::put_back::restore_worktree(git, from, &brought)?;
    }
    for path in own_paths.iter().filter(|path| !brought.contains(path) && *path != ATTRIBUTES) {
        write(git.top(), path, &render_json(file)?)?;
    }
    let workspace = workspace::open(context, held, name)?;
    let recorder = Recorder {
        git,
        refs,
        project,
        state: &held.state,
        workspace: &workspace,
        name,
        id: &file.id,
        scope: Scope::Documents,
        edited: Vec::new(),
    };
    match record::start::commit(&recorder, start, file, &own_paths, *says_depth, from.as_ref())? {
        Recorded::Done(commit) => with_draft(context, held, name, starting, &commit),
        Recorded::Refused(why) => {
            Err(Error::repository(format!("the session was not started: {why}"))
                .hint("fix the reported problem, then run the command again; nothing was changed")
                .into())
        }
    }
}

/// Saves the session's first draft, if there is one, which completes the start.
fn with_draft(
    context: &Context,
    held: &LockedSession,
    name: &SessionName,
    starting: &PendingStart,
    commit: &Oid,
) -> anyhow::Result<Session> {
    let session = Session::load(&held.git, name, commit)?;
    if let Some(FirstDraft { stage, text }) = &starting.draft
        && let Some(document) = session.row(*stage).document()
        && held.git.resolve(RefNames::draft(name, *stage).as_str())?.is_none()
    {
        recorder_of(context, held, &session, |recorder| {
            record::draft_refs::begin(recorder, commit, *stage, document, text)
        })?;
    }
    held.state.set_note::<PendingStart>(NOTE, None)?;
    Ok(session)
}

/// Puts HEAD back to where it was.
fn stand_again(git: &Git, before: &Head) -> anyhow::Result<()> {
    match before {
        Head::Branch { name: branch, .. } | Head::Unborn { branch } => {
            git::switch::to(git, branch.short())
        }
        Head::Detached { oid } => git::switch::detach(git, oid),
    }
}

/// Undoes a start whose commit was refused: deletes the branch and the notes about the start.
fn abandon(
    held: &LockedSession,
    refs: &RefNames,
    name: &SessionName,
    start: &Oid,
) -> anyhow::Result<()> {
    RefTransaction::new("cowork: the start was refused")
        .delete(&refs.branch(name), start)
        .commit(&held.git)?;
    held.state.set_note::<PendingStart>(NOTE, None)?;
    held.state.set_protected(&[])
}

fn write(top: &Path, path: &str, text: &str) -> anyhow::Result<()> {
    let full = top.join(path);
    if let Some(parent) = full.parent() {
        std::fs::create_dir_all(parent)
            .with_context(|| format!("creating {}", parent.display()))?;
    }
    std::fs::write(&full, text).with_context(|| format!("writing {path}"))
}

/// The data of a start. It is saved in the state directory before the branch is created, and
/// removed when the start is complete.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PendingStart {
    pub file: SessionFile,
    pub start: Oid,
    /// The commit or tree with the session's first artifacts, if they are not those of `start`.
    #[serde(default)]
    pub artifacts: Option<Oid>,
    /// The stage of another session from which this session starts.
    #[serde(default)]
    pub from: Option<Inheritance>,
    /// True if the depth was chosen; false if triage decides it.
    #[serde(default)]
    pub says_depth: bool,
    /// The draft with which the session starts.
    #[serde(default)]
    pub draft: Option<FirstDraft>,
}

/// A document that becomes a draft before the session's first run, without a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FirstDraft {
    /// The stage.
    pub stage: Stage,
    /// Its document.
    pub text: String,
}

/// Name of the note that contains a [`PendingStart`].
pub(crate) const NOTE: &str = "start.json";

/// True if the session's branch exists and a killed start can be completed on it.
pub(crate) fn is_unfinished(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
) -> anyhow::Result<bool> {
    Ok(unfinished(git, refs, name)?.is_some())
}

fn unfinished(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
) -> anyhow::Result<Option<PendingStart>> {
    let Some(starting) = StateDir::at(&git.state_dir(), name).note::<PendingStart>(NOTE)? else {
        return Ok(None);
    };
    let has_branch = git.resolve(refs.branch(name).as_str())?.is_some();
    let lacks_draft = match &starting.draft {
        Some(draft) => git.resolve(RefNames::draft(name, draft.stage).as_str())?.is_none(),
        None => false,
    };
    let is_killed = has_branch && (lacks_draft || Session::find(git, refs, name).is_err());
    Ok(is_killed.then_some(starting))
}

/// Returns the session with the newest start that was killed after its branch was created, if the
/// start is newer than every commit of the session `guessed`. Until HEAD is on the new branch,
/// nothing else tells which session was started.
pub(crate) fn newest_unfinished(
    git: &Git,
    refs: &RefNames,
    guessed: Option<&SessionName>,
) -> anyhow::Result<Option<SessionName>> {
    let mut newest = None;
    for name in StateDir::with_note(&git.state_dir(), NOTE) {
        if let Some(starting) = unfinished(git, refs, &name)? {
            let began = clock::parse_rfc3339(&starting.file.created_at).unwrap_or_default();
            newest = newest.max(Some((began, name)));
        }
    }
    let Some((began, name)) = newest else { return Ok(None) };
    if let Some(guessed) = guessed {
        let history = Session::find(git, refs, guessed)?.history;
        if history.iter().any(|entry| entry.time > began) {
            return Ok(None);
        }
    }
    Ok(Some(name))
}
