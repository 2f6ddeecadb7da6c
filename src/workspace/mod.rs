//! The working tree as tools may use it: files confined to it, a journal of what was written,
//! the project's commands, search.
//!
//! This room knows no model and no git; what it must know of git is asked for with [`Tracking`].
//! What it refuses to a model is a [`Refusal`] with a sentence the model can act on; what is wrong with the
//! machine itself is an ordinary error when the workspace is opened.

mod atomic_file;
mod command;
mod dependencies;
mod edit;
mod effects;
mod files;
mod io_errors;
mod journal;
mod linked;
mod options;
mod protection;
#[cfg(target_os = "linux")]
mod proxy;
mod read_tracker;
mod refusal;
mod sandbox;
mod tracking;
mod working_tree;

use std::path::{Path, PathBuf};

pub use command::process::CommandResult;
pub use command::process_tree::abandon as abandon_commands;
pub use command::program::{ConfinedProgram, Lent, ProgramProcesses};
pub use command::settings::CommandSettings;
pub use command::way_out::{OpenWay, Reachable, WayOut};
pub use dependencies::is_manifest;
pub use dependencies::missing::{Dependencies, Missing, undecided};
pub use edit::apply::Edit;
pub(crate) use edit::apply::apply as apply_edits;
pub use effects::repositories::MadeRepository;
pub use effects::{Bulk, CommandEffects, OddName, Together};
pub use files::artifacts::SessionFiles;
pub use files::git_control_files::{Proposals, Proposed};
pub use files::guard::is_dot_git;
pub use files::written::WrittenFiles;
pub use io_errors::IoErrors;
pub use journal::{Fingerprint, Written, lying_as_written};
pub use linked::{LeftOut, LinkedChange, LinkedFiles, NowThere, ShownFiles, open_overlay_work};
pub use options::WorkspaceOptions;
pub use protection::Protection;
pub use read_tracker::{ReadTracker, Seen};
pub use refusal::{Refusal, RefusalKind};
#[cfg(target_os = "linux")]
pub use sandbox::run_helper;
pub use sandbox::{
    Beside, Cache, Confinement, Consent, Fetching, Found, HELPER_WORD, Level, MayFetch, OF_GIT,
    Overlay, OwnFiles, Wanted, Weaker, find_confinement,
};
pub use tracking::{GitControlFiles, Tracking};
pub use working_tree::WHOLE_FILE_MAX;

use crate::private::PrivateFiles;
use crate::secret::Secrets;
use command::{policy, process};
use dependencies::fetch::{Fetcher, Known};
use effects::repositories;
use files::guard::{self, Purpose};
use files::{read, search, walk, write};
use working_tree::WorkingTree;

/// The working tree, as tools may use it.
///
/// Not shared between threads: one agent works in a tree at a time, by the session lock.
pub struct Workspace {
    tree: WorkingTree,
    commands: CommandSettings,
    known: Known,
}

// Not derived: the command environment and the secrets must not end up in a log.
impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").field("root", &self.tree.root).finish_non_exhaustive()
    }
}

impl Workspace {
    /// Opens a tree and its journal. Fails when the root cannot be opened, or the state directory
    /// neither read nor made.
    pub fn open(options: WorkspaceOptions) -> anyhow::Result<Self> {
        let tree = WorkingTree::open(&options)?;
        let commands = CommandSettings::new(&options, &tree.root);
        tree.sweep_temporary();
        dependencies::put_back_lock_files(&tree);
        // Of a command that was cut short together with the last process.
        effects::take_left(&tree)?;
        Ok(Self { tree, commands, known: Known::default() })
    }

    /// The top level of the working tree, with links resolved.
    pub fn root(&self) -> &Path {
        &self.tree.root
    }

    /// The user's keys, which nothing a model reads or writes may hold.
    pub fn secrets(&self) -> &Secrets {
        self.commands.secrets()
    }

    /// How commands are run.
    pub fn commands(&self) -> &CommandSettings {
        &self.commands
    }

    /// What tools wrote.
    pub fn written(&self) -> WrittenFiles<'_> {
        self.tree.written()
    }

    /// What tools do not write because it is a person's.
    pub fn protection(&self) -> &Protection {
        &self.tree.protection
    }

    /// What nobody but the person sees.
    pub fn private(&self) -> &PrivateFiles {
        &self.tree.private
    }

    /// Changes of what git acts upon that wait for a person.
    pub fn proposals(&self) -> Proposals<'_> {
        Proposals::of(&self.tree)
    }

    /// What the model of this conversation has seen.
    pub fn read_tracker(&self) -> &ReadTracker {
        &self.tree.read_tracker
    }

    /// What the operating system refused.
    pub fn io_errors(&self) -> &IoErrors {
        &self.tree.io_errors
    }

    /// The artifacts of a session: its documents and data in one directory, its own records in
    /// another, both relative to the root.
    pub fn session_files(&self, artifact_dir: String, record_dir: String) -> SessionFiles<'_> {
        SessionFiles::of(&self.tree, artifact_dir, record_dir)
    }

    /// Whether a regular file is at this path of the working tree; false for a path the guard
    /// would refuse.
    pub fn exists(&self, path: &str) -> bool {
        guard::metadata(&self.tree, path).is_some_and(|metadata| metadata.is_file())
    }

    /// Whether a file or a folder is at this path; false for a path the guard would refuse.
    pub fn has(&self, path: &str) -> bool {
        guard::metadata(&self.tree, path).is_some()
    }

    /// The path of something a model may look at, free of links and relative to the root.
    pub fn existing(&self, path: &str) -> Result<String, Refusal> {
        guard::resolve(&self.tree, path, Purpose::Look)
    }

    /// Lines of a text file, from `offset` (the first is 1), at most `limit` of them, after a line
    /// that says which they are and how to get the rest.
    pub fn read(
        &self,
        path: &str,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> Result<String, Refusal> {
        read::lines(&self.tree, path, offset, limit)
    }

    /// The first bytes of a text file, some more than `bytes` at most, undecodable ones replaced;
    /// empty for what is no readable regular file within the tree.
    pub fn head(&self, path: &str, bytes: usize) -> String {
        read::head(&self.tree, path, bytes)
    }

    /// Files below `path` (`.` is the root), those matching the glob `pattern` if there is one. A
    /// pattern without `/` is matched with file names. Of very many, the directories with how many
    /// there are in each. Directories are looked into `depth` levels deep, 1 being what is in `path`
    /// itself; those at the last level are named.
    pub fn list(
        &self,
        path: &str,
        pattern: Option<&str>,
        depth: Option<u64>,
    ) -> Result<String, Refusal> {
        walk::list(&self.tree, path, pattern, depth)
    }

    /// Lines matching the regular expression `pattern`, in files below `path`, of those whose path
    /// matches `glob`.
    pub fn search(&self, pattern: &str, path: &str, glob: Option<&str>) -> Result<String, Refusal> {
        search::search(&self.tree, pattern, path, glob)
    }

    /// Replaces a file's content, or makes the file and its directories. Line ends, byte-order
    /// mark and final newline stay as the file has them.
    pub fn write(&self, path: &str, content: &str) -> Result<String, Refusal> {
        let answer = write::write(&self.tree, path, content)?;
        repositories::look_after_writing(&self.tree, path);
        Ok(answer)
    }

    /// Replaces passages of a file: all that are given, or none.
    pub fn edit(&self, path: &str, edits: &[Edit]) -> Result<String, Refusal> {
        let answer = write::edit(&self.tree, path, edits)?;
        repositories::look_after_writing(&self.tree, path);
        Ok(answer)
    }

    /// Deletes a file, or a symbolic link itself; never a directory.
    pub fn delete(&self, path: &str) -> Result<String, Refusal> {
        write::delete(&self.tree, path)
    }

    /// Documents a person had edited and that were replaced since this was last asked, with the
    /// copies that keep the person's version.
    pub fn take_set_aside(&self) -> Vec<(String, PathBuf)> {
        std::mem::take(&mut *self.tree.set_aside.borrow_mut())
    }

    /// What the commands of this process have done.
    pub fn command_effects(&self) -> CommandEffects<'_> {
        CommandEffects::of(&self.tree)
    }

    /// The commands that run until this ends are compared by one look before the first and one after
    /// the last. Nobody may be asked, and nothing written, between them.
    pub fn together(&self) -> Together<'_> {
        Together::begin(&self.tree)
    }

    /// Runs a shell command of a model's in the root and waits, at most `timeout_s` seconds (the
    /// configured limit when `None`, never more than the configured maximum). Whatever it started
    /// is gone afterwards, also when the future is dropped. Refused are background jobs, scripts
    /// out of a pipe and git commands that write.
    pub async fn run(
        &self,
        command: &str,
        timeout_s: Option<u64>,
    ) -> Result<CommandResult, Refusal> {
        policy::judge(command)?;
        let ran = self.run_trusted(command, timeout_s).await;
        ran.map_err(|error| match error.downcast::<Refusal>() {
            Ok(refusal) => refusal,
            Err(error) => Refusal::failed(format!("the command did not run: {error:#}")),
        })
    }

    /// Like [`Self::run`], for a command the configuration or this program chose: it is not
    /// judged, but confined as well. Fails when it cannot be started, with a [`Refusal`] when it
    /// cannot be confined and nobody allows that.
    pub async fn run_trusted(
        &self,
        command: &str,
        timeout_s: Option<u64>,
    ) -> anyhow::Result<CommandResult> {
        Ok(self.run_check(command, timeout_s).await?.shortened())
    }

    /// Like [`Self::run_trusted`], for the project's own build, tests and lint: so much of the
    /// output is kept that the names of failing tests are in it.
    pub async fn run_check(
        &self,
        command: &str,
        timeout_s: Option<u64>,
    ) -> anyhow::Result<CommandResult> {
        run_with_input(self, command, timeout_s, None).await
    }

    /// What the projects of the tree lack after everything was fetched that may be: a person is
    /// asked on the way. Nothing where commands have the network, and fetch for themselves.
    pub async fn missing_dependencies(&self) -> anyhow::Result<Vec<Missing>> {
        let _turn = process::ONE_AT_A_TIME.lock().await;
        self.fetcher().missing().await
    }

    /// Whether what `command` needs is there, and what is missing of it in words.
    pub async fn dependencies_of(
        &self,
        command: &str,
    ) -> anyhow::Result<(Dependencies, Vec<String>)> {
        let _turn = process::ONE_AT_A_TIME.lock().await;
        self.fetcher().lacking(command).await
    }

    fn fetcher(&self) -> Fetcher<'_> {
        Fetcher { tree: &self.tree, settings: &self.commands, known: &self.known }
    }
}

/// A working tree, as one of two that are linked: changes in one are taken over into the other.
pub fn linked(workspace: &Workspace) -> LinkedFiles<'_> {
    LinkedFiles::of(&workspace.tree, workspace.commands.secrets())
}

/// Like [`Workspace::run_check`], with `input` on the command's standard input.
pub async fn run_with_input(
    workspace: &Workspace,
    command: &str,
    timeout_s: Option<u64>,
    input: Option<&str>,
) -> anyhow::Result<CommandResult> {
    let _turn = process::ONE_AT_A_TIME.lock().await;
    let (_, missing) = workspace.fetcher().lacking(command).await?;
    let (tree, commands) = (&workspace.tree, &workspace.commands);
    let result = process::run(tree, commands, command, timeout_s, input).await?;
    Ok(CommandResult { missing, ..result })
}

#[cfg(test)]
mod testing;
