//! Detects the confinement of this machine before any command is run.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::rc::Rc;

use super::beside::Beside;
use super::commands::Sandbox;
use super::confinement::{Confinement, Consent, Level, Weaker};
use crate::private::PrivateFiles;

/// The confinement that works on this machine.
#[derive(Debug)]
pub struct Found {
    /// The best level that works.
    pub level: Level,
    /// Why a better level does not work.
    pub weaker: Option<Weaker>,
    /// True if commands can read only installed software and named paths in the home directory.
    pub closes_home: bool,
}

/// Detects the level by confining a command that does nothing, without prompts or messages.
///
/// # Errors
/// If the private directories for commands cannot be created.
pub fn find(
    wanted: Confinement,
    root: &Path,
    env: Vec<(OsString, OsString)>,
) -> anyhow::Result<Found> {
    let heard = Rc::new(Heard::default());
    let listening = Rc::clone(&heard) as Rc<dyn Consent>;
    let wanted = Confinement { consent: Some(listening), ..wanted };
    let sandbox = Sandbox::new(wanted, root, env, None, PrivateFiles::default());
    let level = sandbox.level()?;
    let closes_home = sandbox.closes_home()?;
    Ok(Found { level, weaker: heard.0.take(), closes_home })
}

#[derive(Default)]
struct Heard(RefCell<Option<Weaker>>);

impl Consent for Heard {
    fn weaker(&self, weaker: &Weaker) {
        self.0.replace(Some(weaker.clone()));
    }

    fn may_read(&self, _named: &[Beside]) -> anyhow::Result<bool> {
        Ok(false)
    }

    fn may_run_unconfined(&self, _command: &str) -> anyhow::Result<Option<bool>> {
        Ok(None)
    }
}
