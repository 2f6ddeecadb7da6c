//! The results of the project's commands on the code as the session found it. They run in place,
//! because installed, built or ignored files may exist in this working tree only. If the code has
//! changed already (dependencies were fetched later), the session's files are reset to the base
//! while the commands run.

use serde::{Deserialize, Serialize};

use super::base_note::{BEFORE, Before};
use super::check_run::{CheckRun, Which};
use super::results::failing_before;
use crate::event::{Event, Sink};
use crate::git::{self, Git, Oid, Store};
use crate::pipeline::evidence::{base_note, base_worktree, gather};
use crate::pipeline::run::Run;
use crate::record::point;
use crate::session::StateDir;
use crate::stages::code_stage;
use crate::stages::{Approves, StageSpec};
use crate::workspace::Dependencies;

/// The name of the note in the state directory while files are reset to the base.
const ON_BASE: &str = "on-base.json";

/// Files that are reset to the base.
#[derive(Debug, Serialize, Deserialize)]
struct OnBase {
    /// The tree whose content they have for now.
    base: Oid,
    /// The tree they are restored to.
    tip: Oid,
    paths: Vec<String>,
}

/// Restores the session's files when it is dropped, even if a signal ends the run.
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
        let back = kept.and_then(|()| git::put_back::restore_worktree(self.git, tip, paths));
        if let Err(error) = back.and_then(|()| self.state.set_note::<OnBase>(ON_BASE, None)) {
            // The note remains, and the next run tries again.
            let text = format!("could not restore the files after checking the base: {error:#}");
            self.sink.emit(Event::Warning { text });
        }
    }
}

/// Saves files that are about to be replaced and whose content is neither the base's nor the
/// session's: a person or a check wrote it.
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
        let text = format!(
            "{path} changed while the base was checked; the change is saved: git show {blob}"
        );
        sink.emit(Event::Warning { text });
    }
    Ok(())
}

/// Restores files and removes the working tree of a run that was killed while it checked the base.
/// Files that somebody has edited in the meantime are left alone.
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
    git::put_back::restore_worktree(git, &tip, &paths)?;
    state.set_note::<OnBase>(ON_BASE, None)
}

/// Finds out what fails already, before the session's first change of code: only failures that
/// appear after that change are the actor's fault. Runs once, and again when dependencies that were
/// missing the first time are installed; the result is a note in the state directory.
pub(crate) async fn look_before_coding(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    if spec.approves != Approves::Tree || gather::commands_to_run(run).is_empty() {
        return Ok(());
    }
    let begun = run.earlier_drafts(code_stage()) > 0 || !run.session.completed_tasks().is_empty();
    // Uncommitted code means that a first draft was begun.
    if begun || run.recorder().changes()?.iter().any(|path| !path.starts_with(".cowork/")) {
        return look_at_base_again(run).await;
    }
    let tree = run.tree()?;
    if let Some(before) = base_note::before_note(run)
        && before.commands == commands_asked(run)
        && !before.runs.iter().any(CheckRun::lacked_dependencies)
        && gather::same_code(run, &before.tree, &tree)?
    {
        return Ok(());
    }
    run.note("checking what fails before the first change");
    look_at(run, tree).await
}

/// If dependencies were missing before the first change and are installed now, checks the code from
/// before that change again. Without this second check, every failure counts as new.
pub(crate) async fn look_at_base_again(run: &Run<'_>) -> anyhow::Result<()> {
    let Some(before) = base_note::before_note(run) else { return Ok(()) };
    let mut there = false;
    for ran in before.runs.iter().filter(|ran| ran.lacked_dependencies()) {
        let (found, _) = run.env.workspace.dependencies_of(&ran.command).await?;
        there |= found == Dependencies::Present;
    }
    if !there {
        return Ok(());
    }
    let (git, tree) = (run.env.git, run.tree()?);
    let mut paths = git::paths::changed(git, &before.tree, &tree)?;
    paths.retain(|path| !path.starts_with(".cowork/"));
    // Only committed content may be replaced.
    let here = git::blobs::hash_files(git, &paths, Store::No)?;
    if here != git::snapshot::blob_ids(git, &run.session.tip, &paths)? {
        run.warn_once(
            "dependencies were missing before the first change, and the code cannot be reset to \
             check it again while there are uncommitted changes: every failure counts as new",
        );
        return Ok(());
    }
    run.note("dependencies are installed now: checking again what failed before the first change");
    let back = to_base(run, OnBase { base: before.tree.clone(), tip: tree, paths })?;
    let looked = look_at(run, before.tree).await;
    drop(back);
    looked
}

/// Resets files to the base until the returned guard is dropped.
fn to_base<'a>(run: &Run<'a>, on_base: OnBase) -> anyhow::Result<BackToTip<'a>> {
    let git = run.env.git;
    run.env.state.set_note(ON_BASE, Some(&on_base))?;
    let back = BackToTip { git, state: run.env.state, sink: run.env.sink, on_base };
    git::put_back::restore_worktree(git, &back.on_base.base, &back.on_base.paths)?;
    point("base.after-files");
    Ok(back)
}

/// Runs commands with these files as in the tree `base` and all others as in `tree`, the tree of
/// the working tree. Returns `None` if somebody has just changed one of the files.
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
            "these already fail before the first change, so only new failures count:\n{failing}"
        ));
    }
    let (session, commands) = (run.session.file.id.clone(), commands_asked(run));
    run.env.state.set_note(BEFORE, Some(&Before { session, tree, commands, runs }))
}

fn commands_asked(run: &Run<'_>) -> Vec<String> {
    gather::commands_to_run(run).into_iter().map(|(_, command)| command).collect()
}
