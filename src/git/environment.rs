//! The environment of git's children. Code that does without a git process must give git's result,
//! which depends on these variables as well.

use std::ffi::OsString;

use super::Git;

/// The variable of this name: the last one set for children, otherwise the one of this process.
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
