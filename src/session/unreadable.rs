//! What is named like a session and cannot be read as one.

use crate::error::{About, about};

/// What is named like a session and cannot be read as one.
#[derive(Debug, Default)]
pub struct Unreadable {
    /// The names of branches without a session.
    pub others: Vec<String>,
    /// The sessions that cannot be read, each with the reason.
    pub broken: Vec<String>,
}

impl Unreadable {
    /// Adds what `name` refers to.
    pub fn add(&mut self, name: String, error: &anyhow::Error) {
        match about(error) {
            About::NoSession => self.others.push(name),
            About::Moved | About::Other => self.broken.push(format!("{name}: {error:#}")),
        }
    }

    /// True if everything could be read.
    pub fn is_empty(&self) -> bool {
        self.others.is_empty() && self.broken.is_empty()
    }
}
