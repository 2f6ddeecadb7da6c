//! Confines an agent program in a linked working tree, in the same way as commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tokio::sync::MutexGuard;

use super::process::ONE_AT_A_TIME;
use super::process_tree::ProcessTree;
use super::settings::CommandSettings;
use super::way_out::{Reachable, WayOut, set_variables};
use crate::workspace::options::WorkspaceOptions;
use crate::workspace::refusal::Refusal;
use crate::workspace::sandbox::{Level, Overlay, OwnFiles};

/// Why a program does not run on a machine whose sandbox cannot limit connections by server.
const CANNOT_LIMIT: &str = "this machine's sandbox cannot limit which servers a program reaches";

/// How to run a confined program.
#[derive(Clone, Debug, Default)]
pub struct ConfinedProgram {
    /// Words of the command line that precede the program's own; empty if it is not confined.
    pub before: Vec<OsString>,
    /// The program's environment.
    pub env: Vec<(OsString, OsString)>,
    /// Access to servers, if the program has a private network namespace.
    pub way_out: Option<Rc<WayOut>>,
}

/// Access granted to a program besides its working tree.
#[derive(Clone, Debug, Default)]
pub struct Lent {
    /// The program's own files in a home directory.
    pub own: Vec<OwnFiles>,
    /// Readable paths.
    pub readable: Vec<PathBuf>,
    /// Folders shown in its tree.
    pub overlays: Vec<Overlay>,
    /// Reachable servers, if commands have no network access.
    pub hosts: Reachable,
    /// Full network access, allowed by the user.
    pub network: bool,
}

/// The processes of a program that the caller starts and waits for: on drop, the remaining ones are
/// killed, including those that left its process group. No command runs in the meantime.
pub struct ProgramProcesses {
    // Dropped first, so that no command runs before the processes are gone.
    _tree: ProcessTree,
    _turn: MutexGuard<'static, ()>,
}

impl ProgramProcesses {
    /// Starts tracking: processes started from now on are the program's.
    pub async fn begin() -> Self {
        let turn = ONE_AT_A_TIME.lock().await;
        Self { _tree: ProcessTree::begin(), _turn: turn }
    }
}

impl CommandSettings {
    /// Like [`Self::beside`], for a program with the access in `lent`.
    ///
    /// # Errors
    /// If the confinement level cannot be determined.
    pub fn beside_lending(
        &self,
        root: &Path,
        state: &Path,
        repository: &Path,
        lent: Lent,
    ) -> anyhow::Result<WorkspaceOptions> {
        let mut options = self.beside(root, state, repository);
        if self.confined_by()? == Some(Level::Landlock) {
            // To seal an entry of a folder, Landlock has to prevent new entries in that folder, so
            // the program could not create anything at the top of its tree. So nothing is sealed
            // here; that is safe, because the target of `.git` is not writable anyway.
            options.confinement.sealed.clear();
        }
        options.confinement.own = lent.own;
        options.confinement.readable.extend(lent.readable);
        options.confinement.overlays = lent.overlays;
        options.confinement.hosts = lent.hosts.hosts;
        options.confinement.network |= lent.network;
        Ok(options)
    }

    /// True if programs see the folders in [`Lent::overlays`].
    ///
    /// # Errors
    /// If the confinement level cannot be determined.
    pub fn shows_overlays(&self) -> anyhow::Result<bool> {
        Ok(self.prefix.is_empty() && self.sandbox.has_overlays()?)
    }

    /// Returns how to run the user's program `title`: confined like commands, but with the parts of
    /// the user's home it was granted. `env` are its additional variables. If commands have no
    /// network access, the program can reach `hosts`.
    ///
    /// # Errors
    /// If the program cannot be confined and nobody allows it to run anyway, or if its connections
    /// cannot be limited to these hosts.
    pub fn confine_program(
        &self,
        title: &str,
        env: &[(String, String)],
        hosts: &Reachable,
    ) -> anyhow::Result<ConfinedProgram> {
        let own = || env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let mut all = self.env.clone();
        all.extend(own());
        if !self.prefix.is_empty() {
            // The user configured a sandbox of their own.
            let before = self.prefix.iter().map(OsString::from).collect();
            return Ok(ConfinedProgram { before, env: all, way_out: None });
        }
        let doors = self.doors(hosts)?;
        let Some(confined) = self.sandbox.confine_with(title, &all, &doors)? else {
            return Ok(ConfinedProgram { env: all, ..ConfinedProgram::default() });
        };
        let mut all = confined.env;
        // The real home contains the program's credentials.
        all.retain(|(name, _)| name != "HOME");
        all.extend(own().filter(|(name, _)| name == "HOME"));
        let way_out = doors.first().map(|port| {
            set_variables(&mut all, *port);
            Rc::new(WayOut::new(title, hosts, self))
        });
        Ok(ConfinedProgram { before: confined.before, env: all, way_out })
    }

    /// Returns the ports at which the program's connections are accepted, the proxy's first; empty
    /// if the program has direct network access.
    fn doors(&self, hosts: &Reachable) -> anyhow::Result<Vec<u16>> {
        if self.sandbox.has_network() {
            return Ok(Vec::new());
        }
        match self.sandbox.level()? {
            level if level.has_mounts() => Ok(hosts.doors()),
            Level::None => Ok(Vec::new()),
            _ => Err(Refusal::failed(CANNOT_LIMIT).into()),
        }
    }
}
