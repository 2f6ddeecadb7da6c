//! What the project's commands say of the code as the session found it. They are run in place, because
//! what is installed, built or ignored may be in this working tree only. Where the code was changed already (dependencies were fetched later), the files
//! the session has changed become what they were, for as long as that takes.

use serde::{Deserialize, Serialize};

use super::before::{BEFORE, Before};
use super::check_run::{CheckRun, Which};
use super::results::failing_before;
use crate::event::{Event, Sink};
use crate::git::{self, Git, Oid, Store};
use crate::pipeline::evidence::{base_worktree, before, gather};
use crate::pipeline::run::Run;
use crate::record::point;
use crate::session::StateDir;
use crate::stages::code_stage;
use crate::stages::{Approves, StageSpec};
use crate::workspace::Dependencies;

/// Name of the note in J about files that are as they were before it just now.
const ON_BASE: &str = "on-base.json";

/// Files that are as they were on the base.
#[derive(Debug, Serialize, Deserialize)]
struct OnBase {
    /// What they are meanwhile.
    base: Oid,
    /// What they are otherwise.
    tip: Oid,
    paths: Vec<String>,
}

/// Puts the session's files back when it is dropped, also by a signal.
struct BackToTip<'a> {
    git: &'a Git,
    state: &'a StateDir,
    sink: &'a dyn Sink,
    on_base: OnBase,
}

impl Drop for BackToTip<'_> {
    fn drop(&mut self) {
        let OnBase { base, tip, paths } = &self.on_base;
        let kept = keep_edits(self.git, self.sink, base, tip, paths);
        let back = kept.and_then(|()| git::paths::restore_worktree(self.git, tip, paths));
        if let Err(error) = back.and_then(|()| self.state.set_note::<OnBase>(ON_BASE, None)) {
            // The note stays, and the next run tries again.
            let text = format!("files were not put back after a look at the base: {error:#}");
            self.sink.emit(Event::Warning { text });
        }
    }
}

/// Keeps the content of files that somebody, or a check, has given neither the base nor the session:
/// it is about to be replaced.
fn keep_edits(
    git: &Git,
    sink: &dyn Sink,
    base: &Oid,
    tip: &Oid,
    paths: &[String],
) -> anyhow::Result<()> {
    let (here, base, tip) = (
        git::blobs::hash_files(git, paths, Store::No)?,
        git::snapshot::blob_ids(git, base, paths)?,
        git::snapshot::blob_ids(git, tip, paths)?,
    );
    let is_edited =
        |at: &usize| here[*at].is_some() && here[*at] != base[*at] && here[*at] != tip[*at];
    let edited: Vec<&String> = (0..paths.len()).filter(is_edited).map(|at| &paths[at]).collect();
    for (path, blob) in edited.iter().zip(git::blobs::hash_files(git, &edited, Store::Write)?) {
        let blob = blob.map(|blob| blob.to_string()).unwrap_or_default();
        let text =
            format!("{path} changed while the base was looked at; it is kept: git show {blob}");
        sink.emit(Event::Warning { text });
    }
    Ok(())
}

/// Puts files back and removes what a run which was killed while it looked at the base has left. What somebody
/// has edited since stays.
///
/// # Errors
/// Git fails, or the note cannot be read.
pub fn leave_base(git: &Git, state: &StateDir) -> anyhow::Result<()> {
    base_worktree::discard(git, state)?;
    let Some(OnBase { base, tip, mut paths }) = state.note::<OnBase>(ON_BASE)? else {
        return Ok(());
    };
    let here = git::blobs::hash_files(git, &paths, Store::No)?;
    let mut unedited =
        here.into_iter().zip(git::snapshot::blob_ids(git, &base, &paths)?).map(|(a, b)| a == b);
    paths.retain(|_| unedited.next().unwrap_or(false));
    git::paths::restore_worktree(git, &tip, &paths)?;
    state.set_note::<OnBase>(ON_BASE, None)
}

/// Looks at what fails already, before the session's first change of code: only what fails
/// newly after that is the actor's fault. Done once, and again when dependencies that were
/// missing then are there; the note about it is in J.
pub(crate) async fn look_before_coding(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    if spec.approves != Approves::Tree || gather::commands_to_run(run).is_empty() {
        return Ok(());
    }
    let begun = run.earlier_drafts(code_stage()) > 0 || !run.session.completed_tasks().is_empty();
    // Code that is there uncommitted is a first draft that was begun.
    if begun || run.recorder().changes()?.iter().any(|path| !path.starts_with(".cowork/")) {
        return look_at_base_again(run).await;
    }
    let tree = run.recorder().tree(&run.session.tip)?;
    if let Some(before) = before::before_note(run)
        && before.commands == commands_asked(run)
        && !before.runs.iter().any(CheckRun::lacked_dependencies)
        && gather::same_code(run, &before.tree, &tree)?
    {
        return Ok(());
    }
    run.note("looking at what fails before anything is changed");
    look_at(run, tree).await
}

/// When dependencies were missing at the look before the first change, and are there now: looks
/// at that code again. Without it every failure is new.
pub(crate) async fn look_at_base_again(run: &Run<'_>) -> anyhow::Result<()> {
    let Some(before) = before::before_note(run) else { return Ok(()) };
    let mut there = false;
    for ran in before.runs.iter().filter(|ran| ran.lacked_dependencies()) {
        let (found, _) = run.env.workspace.dependencies_of(&ran.command).await?;
        there |= found == Dependencies::Present;
    }
    if !there {
        return Ok(());
    }
    let (git, tree) = (run.env.git, run.recorder().tree(&run.session.tip)?);
    let mut paths = git::paths::changed(git, &before.tree, &tree)?;
    paths.retain(|path| !path.starts_with(".cowork/"));
    // Nothing but bytes that a commit has is replaced.
    let here = git::blobs::hash_files(git, &paths, Store::No)?;
    if here != git::snapshot::blob_ids(git, &run.session.tip, &paths)? {
        run.warn_once(
            "dependencies were missing before the first change, and the code cannot be put back \
             to look again while there are uncommitted changes: every failure counts as new",
        );
        return Ok(());
    }
    run.note("looking again at what failed before anything was changed: dependencies are there");
    let back = to_base(run, OnBase { base: before.tree.clone(), tip: tree, paths })?;
    let looked = look_at(run, before.tree).await;
    drop(back);
    looked
}

/// Gives files the content of the base until what is returned is dropped.
fn to_base<'a>(run: &Run<'a>, on_base: OnBase) -> anyhow::Result<BackToTip<'a>> {
    let git = run.env.git;
    run.env.state.set_note(ON_BASE, Some(&on_base))?;
    let back = BackToTip { git, state: run.env.state, sink: run.env.sink, on_base };
    git::paths::restore_worktree(git, &back.on_base.base, &back.on_base.paths)?;
    point("base.after-files");
    Ok(back)
}

/// Runs these commands where these files are what they are in `base`, a tree, and all others as in
/// `tree`, which is what lies in the working tree; none where somebody has just changed one of the
/// files.
pub(crate) async fn run_in_place(
    run: &Run<'_>,
    (base, tree): (&Oid, &Oid),
    paths: Vec<String>,
    commands: &[(Which, String)],
) -> anyhow::Result<Option<Vec<CheckRun>>> {
    let git = run.env.git;
    let here = git::blobs::hash_files(git, &paths, Store::No)?;
    if here != git::snapshot::blob_ids(git, tree, &paths)? {
        return Ok(None);
    }
    let back = to_base(run, OnBase { base: base.clone(), tip: tree.clone(), paths })?;
    let ran = gather::run_all(run, commands, base, &[]).await;
    drop(back);
    ran.map(Some)
}

async fn look_at(run: &Run<'_>, tree: Oid) -> anyhow::Result<()> {
    let runs = gather::run_all(run, &gather::commands_to_run(run), &tree, &[]).await?;
    let failing = failing_before(&runs);
    if !failing.is_empty() {
        run.warn(format!(
            "before anything is changed this fails, and only new failures count:\n{failing}"
        ));
    }
    let (session, commands) = (run.session.file.id.clone(), commands_asked(run));
    run.env.state.set_note(BEFORE, Some(&Before { session, tree, commands, runs }))
}

fn commands_asked(run: &Run<'_>) -> Vec<String> {
    gather::commands_to_run(run).into_iter().map(|(_, command)| command).collect()
}
