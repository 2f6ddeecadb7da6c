//! Running somebody else's program where commands run: an agent program, in a linked working tree.

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

/// Why a program is not run where a server cannot be told from another.
const CANNOT_LIMIT: &str = "what confines programs here cannot limit them to some servers";

/// What stands before a program, and all the variables it sees.
#[derive(Clone, Debug, Default)]
pub struct ConfinedProgram {
    /// Words to be put before its own; none where nothing confines it.
    pub before: Vec<OsString>,
    /// All its variables.
    pub env: Vec<(OsString, OsString)>,
    /// How it reaches servers, where it has a network of its own.
    pub way_out: Option<Rc<WayOut>>,
}

/// What a program may reach besides the tree it works in.
#[derive(Clone, Debug, Default)]
pub struct Lent {
    /// What it keeps in a home for itself.
    pub own: Vec<OwnFiles>,
    /// To be read.
    pub readable: Vec<PathBuf>,
    /// To be seen in its tree.
    pub overlays: Vec<Overlay>,
    /// Servers, where commands have no network.
    pub hosts: Reachable,
    /// The whole network, as the user has said.
    pub network: bool,
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
        options.confinement.own = lent.own;
        options.confinement.readable.extend(lent.readable);
        options.confinement.overlays = lent.overlays;
        options.confinement.hosts = lent.hosts.hosts;
        options.confinement.network |= lent.network;
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
    /// user's home, as far as that is lent to it. `env` is what it sees besides what commands see. Where
    /// commands have no network, it reaches these `hosts`.
    ///
    /// # Errors
    /// It cannot be confined, or not to these hosts, and nobody allows that.
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
            // The person brought a sandbox.
            let before = self.prefix.iter().map(OsString::from).collect();
            return Ok(ConfinedProgram { before, env: all, way_out: None });
        }
        let doors = self.doors(hosts)?;
        let Some(confined) = self.sandbox.confine_with(title, &all, &doors)? else {
            return Ok(ConfinedProgram { env: all, ..ConfinedProgram::default() });
        };
        let mut all = confined.env;
        // Its login is there.
        all.retain(|(name, _)| name != "HOME");
        all.extend(own().filter(|(name, _)| name == "HOME"));
        let way_out = doors.first().map(|port| {
            set_variables(&mut all, *port);
            Rc::new(WayOut::new(title, hosts, self))
        });
        Ok(ConfinedProgram { before: confined.before, env: all, way_out })
    }

    /// Where a program's connections are taken up, that of the proxy first; nowhere where it has the
    /// network as it is.
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
