//! Settings for running the commands of a workspace.

use std::ffi::OsString;
use std::path::Path;

use super::environment;
use crate::activity::Watch;
use crate::error::Error;
use crate::secret::Secrets;
use crate::workspace::effects::ignored_files::last_end;
use crate::workspace::linked::LeftOut;
use crate::workspace::linked::check_folder::CheckFolder;
use crate::workspace::options::WorkspaceOptions;
use crate::workspace::sandbox::{Level, Sandbox};
use crate::workspace::working_tree::WorkingTree;

/// Settings for running commands.
pub struct CommandSettings {
    pub(crate) timeout_s: u64,
    pub(crate) timeout_max_s: u64,
    pub(crate) prefix: Vec<String>,
    pub(crate) secrets: Secrets,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) sandbox: Sandbox,
    pub(crate) watch: Option<Watch>,
    options: WorkspaceOptions,
}

impl CommandSettings {
    /// The settings for commands in the tree of `options`, without opening it.
    pub fn of(options: &WorkspaceOptions) -> Self {
        Self::new(options, &options.root)
    }

    pub(crate) fn new(options: &WorkspaceOptions, root: &Path) -> Self {
        Self {
            timeout_s: options.timeout_s,
            timeout_max_s: options.timeout_max_s,
            prefix: options.command_prefix.clone(),
            secrets: options.secrets.clone(),
            watch: options.watch.clone(),
            env: environment::scrubbed(&options.env, &options.secrets),
            sandbox: Sandbox::new(
                options.confinement.clone(),
                root,
                options.env.clone(),
                options.tracking.clone(),
                options.private.clone(),
            ),
            options: options.clone(),
        }
    }

    /// Returns options to open another working tree in which commands are confined in the same way.
    /// The tree belongs to the repository with the git directory `repository`. Dependencies are not
    /// fetched for it, and changes by commands are not recorded.
    pub fn beside(&self, root: &Path, state: &Path, repository: &Path) -> WorkspaceOptions {
        let mut options = self.options.clone();
        options.root = root.to_owned();
        options.state_dir = state.to_owned();
        options.artifact_dirs.clear();
        options.tracking = None;
        options.confinement.fetching = None;
        options.confinement.sealed = vec![root.join(".git")];
        options.confinement.readable.push(repository.to_owned());
        options
    }

    /// The user's environment.
    pub(crate) fn env_of_user(&self) -> &[(OsString, OsString)] {
        &self.options.env
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Describes to a model what commands can access; empty if unknown, as in the user's own
    /// sandbox.
    pub fn told(&self) -> String {
        match self.prefix.is_empty() {
            true => self.sandbox.told(),
            false => String::new(),
        }
    }

    /// The level at which commands are confined; `None` if the user configured a sandbox of their
    /// own.
    pub fn confined_by(&self) -> anyhow::Result<Option<Level>> {
        match self.prefix.is_empty() {
            true => self.sandbox.level().map(Some),
            false => Ok(None),
        }
    }

    /// The folder in which the checks of `tree` run; `None` if the user configured a sandbox of their
    /// own, which would not find it.
    pub(crate) fn check_folder<'t>(
        &self,
        tree: &'t WorkingTree,
    ) -> anyhow::Result<Option<CheckFolder<'t>>> {
        if !self.prefix.is_empty() {
            return Ok(None);
        }
        let lasting = self.sandbox.check_folder()?;
        let path = lasting.unwrap_or_else(|| tree.state_dir.join("checks"));
        Ok(Some(CheckFolder::at(tree, path)))
    }

    /// Copies into the folder for checks what they need of the ignored files. Returns what is too large.
    pub(crate) fn lend(
        &self,
        tree: &WorkingTree,
        folder: &CheckFolder<'_>,
    ) -> anyhow::Result<Vec<LeftOut>> {
        let has_commands = tree.has_commands.replace(true);
        let since = if has_commands { last_end(tree) } else { tree.last_command.get() };
        folder.lend(self.sandbox.has_network(), since)
    }

    /// Like [`Self::lend`], before the first command of a process can change these files.
    pub(crate) fn lend_first(&self, tree: &WorkingTree) -> anyhow::Result<()> {
        if tree.tracking.is_none() || tree.has_commands.get() {
            return Ok(());
        }
        if let Some(folder) = self.check_folder(tree)?
            && let Err(error) = self.lend(tree, &folder)
        {
            // Nor can the files be laid out there, and the person is told.
            tracing::warn!("ignored files are not copied for checks: {error:#}");
        }
        Ok(())
    }

    /// Fails if commands would see private files.
    ///
    /// # Errors
    /// Exit 4: the sandbox of this machine cannot hide files from commands.
    pub fn require_private_kept(&self) -> anyhow::Result<()> {
        if !self.sandbox.has_private() || self.confined_by()?.is_some_and(Level::has_mounts) {
            return Ok(());
        }
        let message = "project.private is set, but files cannot be hidden from commands: that \
                       needs namespaces and the built-in sandbox";
        Err(Error::model(message)
            .hint("to see how commands are confined: git cowork status -v")
            .hint("take the private files out of this tree and the globs out of the configuration")
            .into())
    }
}
