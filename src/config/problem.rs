//! What is wrong in the configuration: an error for whoever works with it, and one thing among others
//! for whoever looks at it (`git cowork doctor`, `git cowork config`).

use std::cell::RefCell;

use anyhow::Result;

use crate::error::hints_of;

/// Something that is wrong in a file or in git's configuration, and was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What, and where.
    pub text: String,
    /// What helps, a line each.
    pub hints: Vec<String>,
}

/// What becomes of it.
#[derive(Debug)]
pub(super) struct Problems {
    tolerant: bool,
    found: RefCell<Vec<Problem>>,
}

impl Problems {
    /// Where it is `tolerant`, what is wrong is left out and told.
    pub(super) fn new(tolerant: bool) -> Self {
        Self { tolerant, found: RefCell::default() }
    }

    /// What was read, or nothing in its place.
    ///
    /// # Errors
    /// The same one, unless it is to be told only.
    pub(super) fn or_nothing<T: Default>(&self, read: Result<T>) -> Result<T> {
        match read {
            Err(error) if self.tolerant => {
                let (text, hints) = (format!("{error:#}"), hints_of(&error).to_vec());
                self.found.borrow_mut().push(Problem { text, hints });
                Ok(T::default())
            }
            read => read,
        }
    }

    pub(super) const fn are_told(&self) -> bool {
        self.tolerant
    }

    /// All that was left out, in the order in which it was read.
    pub(super) fn take(&self) -> Vec<Problem> {
        self.found.take()
    }
}
