//! How the commands of a workspace are run.

use std::ffi::OsString;
use std::path::Path;

use super::environment;
use crate::activity::Watch;
use crate::secret::Secrets;
use crate::workspace::options::WorkspaceOptions;
use crate::workspace::sandbox::{Level, Sandbox};

/// How commands are run.
pub struct CommandSettings {
    pub(crate) timeout_s: u64,
    pub(crate) timeout_max_s: u64,
    pub(crate) prefix: Vec<String>,
    pub(crate) secrets: Secrets,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) sandbox: Sandbox,
    pub(crate) watch: Option<Watch>,
}

impl CommandSettings {
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
            ),
        }
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// What commands may reach, in words for a model; empty where that is not known, as behind a
    /// person's own sandbox.
    pub fn told(&self) -> String {
        match self.prefix.is_empty() {
            true => self.sandbox.told(),
            false => String::new(),
        }
    }

    /// The level at which commands are confined; none where a person brought a sandbox of their own.
    pub fn confined_by(&self) -> anyhow::Result<Option<Level>> {
        match self.prefix.is_empty() {
            true => self.sandbox.level().map(Some),
            false => Ok(None),
        }
    }
}
