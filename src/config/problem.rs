//! Problems in the configuration: errors for most commands, findings for the commands that inspect
//! the configuration (`git cowork doctor`, `git cowork config`).

use std::cell::RefCell;

use anyhow::Result;

use crate::error::hints_of;

/// An invalid setting that was ignored; it is in a file or in git's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// What is wrong, and where.
    pub text: String,
    /// Hints, one line each.
    pub hints: Vec<String>,
}

/// Decides whether a problem is an error or is collected.
#[derive(Debug)]
pub(super) struct Problems {
    tolerant: bool,
    list: RefCell<Vec<ConfigProblem>>,
}

impl Problems {
    /// Collects problems if `tolerant`; otherwise they are errors.
    pub(super) fn new(tolerant: bool) -> Self {
        Self { tolerant, list: RefCell::default() }
    }

    /// Returns the value that was read, or the default if it is invalid and problems are collected.
    ///
    /// # Errors
    ///
    /// The error of `result`, unless problems are collected.
    pub(super) fn or_nothing<T: Default>(&self, result: Result<T>) -> Result<T> {
        match result {
            Err(error) if self.tolerant => {
                let (text, hints) = (format!("{error:#}"), hints_of(&error).to_vec());
                self.list.borrow_mut().push(ConfigProblem { text, hints });
                Ok(T::default())
            }
            read => read,
        }
    }

    pub(super) const fn is_tolerant(&self) -> bool {
        self.tolerant
    }

    /// Returns the collected problems, in the order in which they were found.
    pub(super) fn take(&self) -> Vec<ConfigProblem> {
        self.list.take()
    }
}
