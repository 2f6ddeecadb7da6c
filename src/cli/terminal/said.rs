//! What this process has said and asked, so that nobody is told or asked the same twice.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::workspace::Wanted;

/// What was said in this process: a command opens the working tree more than once, and nobody wants to
/// be told or asked the same twice.
#[derive(Debug, Default)]
pub(crate) struct Said {
    warnings: RefCell<BTreeSet<String>>,
    /// What a person said yes to.
    agreed: RefCell<BTreeSet<String>>,
    /// What was declined or failed, by the hash of its files, and why.
    declined: RefCell<BTreeMap<String, String>>,
}

impl Said {
    /// Why this is not to be fetched, if that was said.
    pub(crate) fn declined(&self, wanted: &Wanted) -> Option<String> {
        let declined = self.declined.borrow();
        wanted.hashes.iter().find_map(|hash| declined.get(hash).cloned())
    }

    /// Whether this is said for the first time.
    pub(crate) fn is_new(&self, text: &str) -> bool {
        self.warnings.borrow_mut().insert(text.to_owned())
    }

    /// Notes that a person said yes to this.
    pub(crate) fn agree(&self, text: &str) {
        self.agreed.borrow_mut().insert(text.to_owned());
    }

    /// Whether a person said yes to this.
    pub(crate) fn is_agreed(&self, text: &str) -> bool {
        self.agreed.borrow().contains(text)
    }

    /// Notes that this is not to be fetched, and why.
    pub(crate) fn decline(&self, wanted: &Wanted, why: &str) {
        let mut declined = self.declined.borrow_mut();
        declined.extend(wanted.hashes.iter().map(|hash| (hash.clone(), why.to_owned())));
    }
}
