//! What the operating system refused: a model is told at once and works around it; a person has to
//! hear of it, too, and to be reminded at the end.

use std::cell::RefCell;

use crate::error::{Error, is_disk_full};
use crate::workspace::refusal::Refusal;

/// What was refused in this run.
#[derive(Default)]
pub struct IoErrors(RefCell<Noted>);

#[derive(Default)]
struct Noted {
    all: Vec<String>,
    told: usize,
    disk_full: bool,
}

impl IoErrors {
    /// Notes what could not be done, and why.
    pub(crate) fn note(&self, text: String, error: &anyhow::Error) {
        let mut noted = self.0.borrow_mut();
        noted.disk_full |= is_disk_full(error);
        if !noted.all.contains(&text) {
            noted.all.push(text);
        }
    }

    /// What could not be written, for the model; a person hears of it, too.
    pub(crate) fn failed(&self, doing: &str, path: &str, error: std::io::Error) -> Refusal {
        let text = format!("{doing} {path} failed: {error}");
        self.note(text.clone(), &error.into());
        Refusal::failed(text)
    }

    /// What could not be read, for the model. A person hears of it only where the system refused,
    /// not where nothing is there.
    pub(crate) fn unreadable(&self, path: &str, error: std::io::Error) -> Refusal {
        use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound};
        let text = format!("{path} cannot be read: {error}");
        if !matches!(error.kind(), NotFound | IsADirectory | NotADirectory | InvalidData) {
            self.note(text.clone(), &error.into());
        }
        Refusal::failed(text)
    }

    /// What was refused since the last call.
    pub fn new_ones(&self) -> Vec<String> {
        let mut noted = self.0.borrow_mut();
        let new = noted.all.iter().skip(noted.told).cloned().collect();
        noted.told = noted.all.len();
        new
    }

    /// All that was refused in this run.
    pub fn all(&self) -> Vec<String> {
        self.0.borrow().all.clone()
    }

    /// Ends the work on a full disk: nothing a model does makes room.
    ///
    /// # Errors
    /// Exit 5 when the disk was full at one of the last writes.
    pub fn require_room(&self) -> anyhow::Result<()> {
        let noted = self.0.borrow();
        match noted.all.last().filter(|_| noted.disk_full) {
            Some(last) => Err(Error::repository(format!("No space left on device: {last}")).into()),
            None => Ok(()),
        }
    }
}
