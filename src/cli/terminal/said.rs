//! Remembers what this process has printed and asked.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::workspace::Wanted;

/// The warnings and answers of this process: a command opens the working tree more than once, but
/// must not warn or ask twice.
#[derive(Debug, Default)]
pub(crate) struct Said {
    warnings: RefCell<BTreeSet<String>>,
    /// Questions that the user said yes to.
    agreed: RefCell<BTreeSet<String>>,
    /// The reasons why fetches of dependencies were declined or failed, by the hashes of the files
    /// that list the dependencies.
    declined: RefCell<BTreeMap<String, String>>,
}

impl Said {
    /// The reason why these dependencies must not be fetched, if the fetch was declined or failed.
    pub(crate) fn declined(&self, wanted: &Wanted) -> Option<String> {
        let declined = self.declined.borrow();
        wanted.hashes.iter().find_map(|hash| declined.get(hash).cloned())
    }

    /// True if `text` is printed for the first time.
    pub(crate) fn is_new(&self, text: &str) -> bool {
        self.warnings.borrow_mut().insert(text.to_owned())
    }

    /// Notes that the user said yes to the question `text`.
    pub(crate) fn agree(&self, text: &str) {
        self.agreed.borrow_mut().insert(text.to_owned());
    }

    /// True if the user said yes to the question `text`.
    pub(crate) fn is_agreed(&self, text: &str) -> bool {
        self.agreed.borrow().contains(text)
    }

    /// Notes that these dependencies must not be fetched, and the reason.
    pub(crate) fn decline(&self, wanted: &Wanted, why: &str) {
        let mut declined = self.declined.borrow_mut();
        declined.extend(wanted.hashes.iter().map(|hash| (hash.clone(), why.to_owned())));
    }
}
