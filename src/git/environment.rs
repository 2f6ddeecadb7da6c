//! The environment that git's children get. What is answered without a process has to be what git
//! would have answered, and variables decide that, too.

use std::ffi::OsString;

use super::Git;

/// The variable of this name: the last of those given to children, else the one we were started with.
pub(super) fn variable(given: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    let own = given.iter().rev().find(|(key, _)| key == name);
    own.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
}

impl Git {
    /// A variable of the environment that children get.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        variable(&self.env, name)
    }
}
