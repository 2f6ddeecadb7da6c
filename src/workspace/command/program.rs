//! Running somebody else's program where commands run: an agent program, in a linked working tree.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::settings::CommandSettings;
use crate::workspace::options::WorkspaceOptions;

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
}

impl CommandSettings {
    /// Like [`Self::beside`], for a program that is lent this.
    pub fn beside_lending(
        &self,
        root: &Path,
        state: &Path,
        repository: &Path,
        lent: Lent,
    ) -> WorkspaceOptions {
        let mut options = self.beside(root, state, repository);
        options.confinement.writable.extend(lent.writable);
        options.confinement.readable.extend(lent.readable);
        options
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
