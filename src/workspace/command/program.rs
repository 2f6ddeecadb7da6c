//! Running somebody else's program where commands run: an agent program, in a linked working tree.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tokio::sync::MutexGuard;

use super::process::ONE_AT_A_TIME;
use super::process_tree::ProcessTree;
use super::settings::CommandSettings;
use crate::workspace::options::WorkspaceOptions;
use crate::workspace::sandbox::{Level, Overlay};

/// What stands before a program, and all the variables it sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfinedProgram {
    /// Words to be put before its own; none where nothing confines it.
    pub before: Vec<OsString>,
    /// All its variables.
    pub env: Vec<(OsString, OsString)>,
}

/// What a program may reach besides the tree it works in.
#[derive(Clone, Debug, Default)]
pub struct Lent {
    /// To be read and written.
    pub writable: Vec<PathBuf>,
    /// To be read.
    pub readable: Vec<PathBuf>,
    /// To be seen in its tree.
    pub overlays: Vec<Overlay>,
}

/// The processes of a program that somebody else starts and waits for: those that are left when this is
/// dropped are killed, also such as left its group. No command runs meanwhile.
pub struct ProgramProcesses {
    // Dropped first.
    _tree: ProcessTree,
    _turn: MutexGuard<'static, ()>,
}

impl ProgramProcesses {
    /// What is started from now on is the program's.
    pub async fn begin() -> Self {
        let turn = ONE_AT_A_TIME.lock().await;
        Self { _tree: ProcessTree::begin(), _turn: turn }
    }
}

impl CommandSettings {
    /// Like [`Self::beside`], for a program that is lent this.
    ///
    /// # Errors
    /// What confines commands cannot be found out.
    pub fn beside_lending(
        &self,
        root: &Path,
        state: &Path,
        repository: &Path,
        lent: Lent,
    ) -> anyhow::Result<WorkspaceOptions> {
        let mut options = self.beside(root, state, repository);
        if self.confined_by()? == Some(Level::Landlock) {
            // Landlock seals an entry of a folder only by keeping new ones out of it, and the program
            // could make nothing at the top. What `.git` leads to is out of its reach all the same.
            options.confinement.sealed.clear();
        }
        options.confinement.writable.extend(lent.writable);
        options.confinement.readable.extend(lent.readable);
        options.confinement.overlays = lent.overlays;
        Ok(options)
    }

    /// Whether what is run sees the folders it was lent as [`Lent::overlays`].
    ///
    /// # Errors
    /// What confines commands cannot be found out.
    pub fn shows_overlays(&self) -> anyhow::Result<bool> {
        Ok(self.prefix.is_empty() && self.sandbox.has_overlays()?)
    }

    /// How to run a program of the user's own, called `title`: confined as commands are, but with the
    /// user's home, as far as that is lent to it. `env` is what it sees besides what commands see.
    ///
    /// # Errors
    /// It cannot be confined, and nobody allows that.
    pub fn confine_program(
        &self,
        title: &str,
        env: &[(String, String)],
    ) -> anyhow::Result<ConfinedProgram> {
        let own = || env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let mut all = self.env.clone();
        all.extend(own());
        if !self.prefix.is_empty() {
            // The person brought a sandbox.
            let before = self.prefix.iter().map(OsString::from).collect();
            return Ok(ConfinedProgram { before, env: all });
        }
        let Some(confined) = self.sandbox.confine(title, &all)? else {
            return Ok(ConfinedProgram { before: Vec::new(), env: all });
        };
        let mut all = confined.env;
        // Its login is there.
        all.retain(|(name, _)| name != "HOME");
        all.extend(own().filter(|(name, _)| name == "HOME"));
        Ok(ConfinedProgram { before: confined.before, env: all })
    }
}
