//! Access to the working tree for tools: files confined to the tree, a journal of writes, the
//! project's commands, search.
//!
//! This module does not depend on the model or git modules; it queries git through [`Tracking`]. A
//! request denied to a model returns a [`Refusal`] with a message the model can act on; problems of
//! the machine itself are ordinary errors when the workspace is opened.

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
pub mod user_files;
mod working_tree;

use std::cell::RefCell;
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
pub use effects::{Bulk, COMMAND, CommandEffects, IGNORED, LEFT, OddName, SPECIAL};
pub use files::artifacts::SessionFiles;
pub use files::git_control_files::{Proposals, Proposed};
pub use files::guard::is_dot_git;
pub use files::written::WrittenFiles;
pub use io_errors::IoErrors;
pub use journal::{Fingerprint, Written, lying_as_written};
pub use linked::{LeftOut, LinkedChange, LinkedFiles, NowThere, ShownFiles, open_folders};
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
pub use tracking::{GitControlFiles, NestedStatus, Tracking};

pub use working_tree::WHOLE_FILE_MAX;

use crate::private::PrivateFiles;
use crate::secret::Secrets;
use command::process::Where;
use command::{policy, process};
use dependencies::fetch::{Fetcher, Known};
use effects::ignored_files::last_end;
use effects::repositories;
use files::guard::{self, Purpose};
use files::{read, search, walk, write};
use sandbox::HomeOf;
use working_tree::WorkingTree;

/// The working tree that tools work in.
///
/// Not shared between threads: the session lock ensures that only one agent works in a tree.
pub struct Workspace {
    tree: WorkingTree,
    commands: CommandSettings,
    known: Known,
    /// The folder in which checks run, once it is laid out.
    checks: RefCell<Option<PathBuf>>,
}

// Not derived: the command environment and the secrets must not end up in a log.
impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").field("root", &self.tree.root).finish_non_exhaustive()
    }
}

impl Workspace {
    /// Opens a tree and its journal. Fails if the root cannot be opened, or if the state directory
    /// cannot be read or created.
    pub fn open(options: WorkspaceOptions) -> anyhow::Result<Self> {
        let tree = WorkingTree::open(&options)?;
        let commands = CommandSettings::new(&options, &tree.root);
        tree.sweep_temporary();
        dependencies::put_back_lock_files(&tree);
        // Records the effects of a command that was interrupted when the last process ended.
        effects::take_left(&tree)?;
        tree.last_command.set(last_end(&tree));
        Ok(Self { tree, commands, known: Known::default(), checks: RefCell::default() })
    }

    /// The top level of the working tree, with symbolic links resolved.
    pub fn root(&self) -> &Path {
        &self.tree.root
    }

    /// The user's keys, which must not appear in anything a model reads or writes.
    pub fn secrets(&self) -> &Secrets {
        self.commands.secrets()
    }

    /// The settings for running commands.
    pub fn commands(&self) -> &CommandSettings {
        &self.commands
    }

    /// The files that tools wrote.
    pub fn written(&self) -> WrittenFiles<'_> {
        self.tree.written()
    }

    /// The paths that tools must not write because they contain a person's work.
    pub fn protection(&self) -> &Protection {
        &self.tree.protection
    }

    /// The files that only the user may see.
    pub fn private(&self) -> &PrivateFiles {
        &self.tree.private
    }

    /// Changes to git control files that wait for a person's approval.
    pub fn proposals(&self) -> Proposals<'_> {
        Proposals::of(&self.tree)
    }

    /// The file contents that the model of this conversation has seen.
    pub fn read_tracker(&self) -> &ReadTracker {
        &self.tree.read_tracker
    }

    /// Checks that the tree is still on the session's branch, before or after a tool is called.
    ///
    /// # Errors
    /// Exit 5: a person has switched it; with the command that goes back.
    pub fn require_branch(&self) -> anyhow::Result<()> {
        self.tree.require_branch()
    }

    /// The I/O errors of this run.
    pub fn io_errors(&self) -> &IoErrors {
        &self.tree.io_errors
    }

    /// The artifacts of a session: documents and data in `artifact_dir`, git-cowork's records in
    /// `record_dir`, both relative to the root.
    pub fn session_files(&self, artifact_dir: String, record_dir: String) -> SessionFiles<'_> {
        SessionFiles::of(&self.tree, artifact_dir, record_dir)
    }

    /// True if a regular file exists at this path of the working tree; false for a path the guard
    /// refuses.
    pub fn exists(&self, path: &str) -> bool {
        guard::metadata(&self.tree, path).is_some_and(|metadata| metadata.is_file())
    }

    /// True if anything exists at this path; false for a path the guard refuses.
    pub fn has(&self, path: &str) -> bool {
        guard::metadata(&self.tree, path).is_some()
    }

    /// Resolves a path that a model may read: without symbolic links, relative to the root.
    pub fn existing(&self, path: &str) -> Result<String, Refusal> {
        guard::resolve(&self.tree, path, Purpose::Look)
    }

    /// Returns at most `limit` lines of a text file from line `offset` (the first is 1), after a
    /// header with the line range and how to read the rest.
    pub fn read(
        &self,
        path: &str,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> Result<String, Refusal> {
        let text = read::lines(&self.tree, path, offset, limit)?;
        let told = effects::user_files::note_read(&self.tree, &self.existing(path)?);
        if let Err(error) = told {
            tracing::warn!("nobody is told that {path} was read: {error:#}");
        }
        Ok(text)
    }

    /// Returns the beginning of a text file, slightly more than `bytes` at most, with invalid UTF-8
    /// replaced; empty if the path is not a readable regular file in the tree.
    pub fn head(&self, path: &str, bytes: usize) -> String {
        read::head(&self.tree, path, bytes)
    }

    /// Lists files below `path` (`.` is the root) that match the glob `pattern`, if given. A
    /// pattern without `/` matches file names. If there are too many files, lists the directories
    /// with their file counts. Descends `depth` levels (1 = the entries of `path` itself);
    /// directories at the last level are listed, not entered.
    pub fn list(
        &self,
        path: &str,
        pattern: Option<&str>,
        depth: Option<u64>,
    ) -> Result<String, Refusal> {
        walk::list(&self.tree, path, pattern, depth)
    }

    /// Returns lines that match the regular expression `pattern` in the files below `path` whose
    /// paths match `glob`.
    pub fn search(&self, pattern: &str, path: &str, glob: Option<&str>) -> Result<String, Refusal> {
        search::search(&self.tree, pattern, path, glob)
    }

    /// Replaces a file's content, or creates the file and its directories. The file's line endings,
    /// byte-order mark and final newline are preserved.
    pub fn write(&self, path: &str, content: &str) -> Result<String, Refusal> {
        let (path, answer) = write::write(&self.tree, path, content)?;
        repositories::look_after_writing(&self.tree, &path);
        Ok(answer)
    }

    /// Replaces passages of a file: all of them, or none.
    pub fn edit(&self, path: &str, edits: &[Edit]) -> Result<String, Refusal> {
        let (path, answer) = write::edit(&self.tree, path, edits)?;
        repositories::look_after_writing(&self.tree, &path);
        Ok(answer)
    }

    /// Deletes a file, or a symbolic link itself; never a directory.
    pub fn delete(&self, path: &str) -> Result<String, Refusal> {
        write::delete(&self.tree, path)
    }

    /// The effects of the commands of this process.
    pub fn command_effects(&self) -> CommandEffects<'_> {
        CommandEffects::of(&self.tree)
    }

    /// Runs a model's shell command in the root and waits at most `timeout_s` seconds (the
    /// configured limit if `None`, never more than the configured maximum). All processes it
    /// started are killed afterwards, also if the future is dropped. Background jobs, scripts read
    /// from a pipe and git commands that write are refused.
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

    /// Like [`Self::run`], for a command from the configuration or from git-cowork: not checked
    /// against the policy, but confined as well. Fails if the command cannot be started; fails with
    /// a [`Refusal`] if it cannot be confined and nobody allows it to run unconfined.
    pub async fn run_trusted(
        &self,
        command: &str,
        timeout_s: Option<u64>,
    ) -> anyhow::Result<CommandResult> {
        Ok(run_with_input(self, command, timeout_s, None).await?.shortened())
    }

    /// Lays out the folder in which checks run from now on. `lay_out` puts the files of a tree into a
    /// folder, with this index, and removes all else but what these patterns match. Returns the ignored
    /// paths that checks lack because they are too large.
    ///
    /// # Errors
    /// The folder cannot be written; then checks run in the working tree.
    pub fn lay_out_checks(
        &self,
        git_dir: &Path,
        lay_out: impl FnOnce(&Path, &Path, &[String]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<LeftOut>> {
        self.checks.replace(None);
        let Some(folder) = self.commands.check_folder(&self.tree)? else { return Ok(Vec::new()) };
        let left_out = self.commands.lend(&self.tree, &folder)?;
        lay_out(&folder.files(), &folder.index(), &folder.kept())?;
        folder.make_git(git_dir, self.commands.sandbox.level()?.has_mounts())?;
        self.checks.replace(Some(folder.files()));
        Ok(left_out)
    }

    /// Like [`Self::run_trusted`], for the project's own build, tests and lint: in a home of its
    /// own, which no other command could prepare, and in the folder that was laid out last. Keeps
    /// enough output to contain the names of failing tests.
    pub async fn run_check(
        &self,
        command: &str,
        timeout_s: Option<u64>,
    ) -> anyhow::Result<CommandResult> {
        let folder = self.checks.borrow().clone();
        let at = Where { home: HomeOf::Checks, folder: folder.as_deref() };
        run_in(self, (command, at), timeout_s, None).await
    }

    /// Returns the dependencies still missing after all permitted ones were fetched, prompting the
    /// user if needed. Empty if commands have network access and fetch for themselves.
    pub async fn missing_dependencies(&self) -> anyhow::Result<Vec<Missing>> {
        let _turn = process::ONE_AT_A_TIME.lock().await;
        self.fetcher().missing().await
    }

    /// Returns the state of the dependencies that `command` needs, and descriptions of the missing
    /// ones.
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

/// Returns the file operations for one of two linked working trees: changes in one are copied into
/// the other.
pub fn linked(workspace: &Workspace) -> LinkedFiles<'_> {
    LinkedFiles::of(&workspace.tree, workspace.commands.secrets())
}

/// Puts back what a killed command of another session changed of a person's files, and returns
/// what happened to them. `options` have that session's state directory.
///
/// # Errors
/// The tree or the session's notes cannot be read.
pub fn put_back_left(
    options: &WorkspaceOptions,
) -> anyhow::Result<Vec<user_files::UserFileChange>> {
    let tree = WorkingTree::open(options)?;
    effects::put_back_left(&tree)?;
    Ok(CommandEffects::of(&tree).take_user_files())
}

/// Like [`Workspace::run_trusted`], with `input` on the command's standard input and all the output
/// that is kept.
pub async fn run_with_input(
    workspace: &Workspace,
    command: &str,
    timeout_s: Option<u64>,
    input: Option<&str>,
) -> anyhow::Result<CommandResult> {
    workspace.commands.lend_first(&workspace.tree)?;
    let at = Where { home: HomeOf::Commands, folder: None };
    run_in(workspace, (command, at), timeout_s, input).await
}

async fn run_in(
    workspace: &Workspace,
    (command, at): (&str, Where<'_>),
    timeout_s: Option<u64>,
    input: Option<&str>,
) -> anyhow::Result<CommandResult> {
    let _turn = process::ONE_AT_A_TIME.lock().await;
    let (_, missing) = workspace.fetcher().lacking(command).await?;
    let (tree, commands) = (&workspace.tree, &workspace.commands);
    let result = process::run(tree, commands, (command, at), timeout_s, input).await?;
    Ok(CommandResult { missing, ..result })
}

#[cfg(test)]
mod testing;
