//! I/O errors of the operating system. A model gets each error at once and works around it; the
//! user sees them too, with a reminder at the end of the run.

use std::cell::RefCell;

use crate::error::{Error, is_disk_full};
use crate::workspace::refusal::Refusal;

/// The I/O errors of this run.
#[derive(Default)]
pub struct IoErrors(RefCell<Noted>);

#[derive(Default)]
struct Noted {
    all: Vec<String>,
    told: usize,
    disk_full: bool,
}

impl IoErrors {
    /// Records a failed operation.
    pub(crate) fn note(&self, text: String, error: &anyhow::Error) {
        let mut noted = self.0.borrow_mut();
        noted.disk_full |= is_disk_full(error);
        if !noted.all.contains(&text) {
            noted.all.push(text);
        }
    }

    /// Records a failed write and returns the refusal for the model.
    pub(crate) fn failed(&self, doing: &str, path: &str, error: std::io::Error) -> Refusal {
        let text = format!("{doing} {path} failed: {error}");
        self.note(text.clone(), &error.into());
        Refusal::failed(text)
    }

    /// Returns the refusal for a file that cannot be read. The error is recorded for the user only
    /// if the system failed, not if the path is missing or not a text file.
    pub(crate) fn unreadable(&self, path: &str, error: std::io::Error) -> Refusal {
        use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound};
        let text = format!("{path} cannot be read: {error}");
        if !matches!(error.kind(), NotFound | IsADirectory | NotADirectory | InvalidData) {
            self.note(text.clone(), &error.into());
        }
        Refusal::failed(text)
    }

    /// Returns the errors recorded since the last call.
    pub fn new_ones(&self) -> Vec<String> {
        let mut noted = self.0.borrow_mut();
        let new = noted.all.iter().skip(noted.told).cloned().collect();
        noted.told = noted.all.len();
        new
    }

    /// Returns all errors of this run.
    pub fn all(&self) -> Vec<String> {
        self.0.borrow().all.clone()
    }

    /// Stops the run if the disk is full: a model cannot free space.
    ///
    /// # Errors
    /// Exit 5 if an operation of this run found the disk full.
    pub fn require_room(&self) -> anyhow::Result<()> {
        let noted = self.0.borrow();
        match noted.all.last().filter(|_| noted.disk_full) {
            Some(last) => Err(Error::repository(format!("No space left on device: {last}")).into()),
            None => Ok(()),
        }
    }
}
