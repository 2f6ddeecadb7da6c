//! A linked working tree for the base, in the state directory: no other files change.

use std::path::PathBuf;

use anyhow::Context as _;

use super::check_run::{CheckRun, Which};
use crate::event::{Event, Sink};
use crate::git::{Git, Oid, worktree};
use crate::pipeline::evidence::gather;
use crate::pipeline::run::Run;
use crate::record::point;
use crate::session::StateDir;
use crate::workspace::Workspace;

/// The folder in the state directory with the working tree and the notes of its processes.
const FOLDER: &str = "base";

/// A linked working tree that is removed when it is dropped, even if a signal ends the run.
pub(crate) struct BaseWorktree<'a> {
    git: &'a Git,
    state: &'a StateDir,
    sink: &'a dyn Sink,
    linked: Git,
    workspace: Workspace,
}

impl<'a> BaseWorktree<'a> {
    /// Creates one without files.
    pub(crate) fn make(run: &Run<'a>, at: &Oid) -> anyhow::Result<Self> {
        let (git, state, sink) = (run.env.git, run.env.state, run.env.sink);
        let (tree, notes) = places(state);
        discard(git, state)?;
        std::fs::create_dir_all(&notes).with_context(|| format!("creating {}", notes.display()))?;
        let linked = worktree::add_empty(git, &tree, at)?;
        let commands = run.env.workspace.commands();
        let workspace = Workspace::open(commands.beside(&tree, &notes, git.common_dir()))?;
        point("base.worktree-made");
        Ok(Self { git, state, sink, linked, workspace })
    }

    /// Runs commands with all tracked files as in `tree`.
    pub(crate) async fn run(
        &self,
        run: &Run<'_>,
        tree: &Oid,
        commands: &[(Which, String)],
    ) -> anyhow::Result<Vec<CheckRun>> {
        worktree::show(&self.linked, tree)?;
        gather::run_all_in(run, &self.workspace, commands, tree, &[]).await
    }
}

impl Drop for BaseWorktree<'_> {
    fn drop(&mut self) {
        if let Err(error) = discard(self.git, self.state) {
            // The next run tries again.
            let text = format!("could not remove the working tree for the base: {error:#}");
            self.sink.emit(Event::Warning { text });
        }
    }
}

/// Removes the working tree, even that of a killed run.
pub(super) fn discard(git: &Git, state: &StateDir) -> anyhow::Result<()> {
    let folder = state.path().join(FOLDER);
    if !folder.exists() {
        return Ok(());
    }
    worktree::discard(git, &places(state).0)?;
    std::fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))
}

fn places(state: &StateDir) -> (PathBuf, PathBuf) {
    let folder = state.path().join(FOLDER);
    (folder.join("tree"), folder.join("notes"))
}
