//! The environment of git's children. Code that does without a git process must give git's result,
//! which depends on these variables as well.

use std::ffi::OsString;
use std::process::Command;

use crate::error::Error;
use crate::git::Git;

/// Variables that would point a child at another repository or index. The configuration variables
/// of `git rev-parse --local-env-vars` are kept: `git -c` must reach git-cowork.
pub(crate) const REPOSITORY_VARIABLES: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
];

/// Variables that give paths another meaning: with `GIT_ICASE_PATHSPECS`, a person's `README.md`
/// was committed for a model's `readme.md`. No git command here gets them.
pub(crate) const PATHSPEC_VARIABLES: [&str; 4] =
    ["GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"];

/// The variable of this name: the last one set for children, otherwise the one of this process.
pub(crate) fn variable(given: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    let own_value = given.iter().rev().find(|(key, _)| key == name);
    own_value.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
}

impl Git {
    /// A variable of the environment that children get.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        variable(&self.env, name)
    }
}

/// Adds flags and a locale that make the output parseable.
pub(crate) fn parse_ready(command: &mut Command) {
    command.args(["--no-pager", "--literal-pathspecs"]);
    command.args(["-c", "log.showSignature=false", "-c", "core.quotePath=false"]);
    // Files in a working tree may look like a bare repository. Commands that run hooks do not get
    // this setting, because a hook may use a mirror, which is a bare repository.
    command.args(["-c", "safe.bareRepository=explicit"]);
    command.env("LC_MESSAGES", "C").env_remove("LC_ALL").env_remove("LANGUAGE");
}

pub(crate) fn cannot_start(error: &std::io::Error) -> Error {
    Error::repository(format!("git cannot be started: {error}"))
        .hint("install git and add it to PATH: https://git-scm.com/downloads")
}
