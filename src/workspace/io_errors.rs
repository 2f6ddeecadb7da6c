//! What the operating system refused: a model is told at once and works around it; a person has to
//! hear of it, too, and to be reminded at the end.

use crate::error::{Error, is_disk_full};
use crate::workspace::Refusal;
use crate::workspace::Workspace;

#[derive(Default)]
pub(crate) struct IoErrors {
    all: Vec<String>,
    told: usize,
    disk_full: bool,
}

impl Workspace {
    /// Notes what could not be done, and why.
    pub(crate) fn trouble(&self, text: String, error: &anyhow::Error) {
        let mut troubles = self.troubles.borrow_mut();
        troubles.disk_full |= is_disk_full(error);
        if !troubles.all.contains(&text) {
            troubles.all.push(text);
        }
    }

    /// What could not be written, for the model; a person hears of it, too.
    pub(crate) fn failed(&self, doing: &str, path: &str, error: std::io::Error) -> Refusal {
        let text = format!("{doing} {path} failed: {error}");
        self.trouble(text.clone(), &error.into());
        Refusal::failed(text)
    }

    /// What could not be read, for the model. A person hears of it only where the system refused,
    /// not where nothing is there.
    pub(crate) fn unreadable(&self, path: &str, error: std::io::Error) -> Refusal {
        use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound};
        let text = format!("{path} cannot be read: {error}");
        if !matches!(error.kind(), NotFound | IsADirectory | NotADirectory | InvalidData) {
            self.trouble(text.clone(), &error.into());
        }
        Refusal::failed(text)
    }

    /// What was refused since the last call.
    pub fn new_troubles(&self) -> Vec<String> {
        let mut troubles = self.troubles.borrow_mut();
        let new = troubles.all.iter().skip(troubles.told).cloned().collect();
        troubles.told = troubles.all.len();
        new
    }

    /// All that was refused in this run.
    pub fn troubles(&self) -> Vec<String> {
        self.troubles.borrow().all.clone()
    }

    /// Ends the work on a full disk: nothing a model does makes room.
    ///
    /// # Errors
    /// Exit 5 when the disk was full at one of the last writes.
    pub fn require_room(&self) -> anyhow::Result<()> {
        let troubles = self.troubles.borrow();
        match troubles.all.last().filter(|_| troubles.disk_full) {
            Some(last) => Err(Error::repository(format!("No space left on device: {last}")).into()),
            None => Ok(()),
        }
    }
}
