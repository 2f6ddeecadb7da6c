//! The results of the project's commands on the code as the session found it.

use super::base_note::{BEFORE, Before};
use super::check_run::CheckRun;
use super::results::failing_before;
use crate::git::Oid;
use crate::pipeline::evidence::{base_note, gather};
use crate::pipeline::run::Run;
use crate::stages::code_stage;
use crate::stages::{Approves, StageSpec};
use crate::workspace::Dependencies;

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
    run.note("dependencies are installed now: checking again what failed before the first change");
    look_at(run, before.tree).await
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
