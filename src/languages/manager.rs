//! A package manager: what it reads, how to see that nothing is missing, how it fetches.
//!
//! What is run with the network runs no code of the tree and none of what it fetches: install
//! scripts are left to a second step without it, packages that would have to be built are refused,
//! and cargo is called from elsewhere, because a project's `.cargo/config.toml` names programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Manifests and lock files by their path in the tree.
pub type Files = BTreeMap<PathBuf, String>;

/// One of them. A *place* is a project's folder, relative to the top of the tree.
#[derive(Debug)]
pub struct Manager {
    /// How people call it.
    pub name: &'static str,
    /// Its lock files.
    pub locks: &'static [&'static str],
    /// Where dependencies are written down by hand.
    pub manifests: &'static [&'static str],
    /// Whether a file of another name is one, too.
    pub is_manifest: fn(name: &str) -> bool,
    /// Another manager's lock files: beside these it has no say.
    pub not_beside: &'static [&'static str],
    /// Whether a manifest without a lock file is enough.
    pub without_lock: bool,
    /// Whether a manifest begins a project of its own, whatever is around it.
    pub is_apart: fn(place: &Path, files: &Files) -> bool,
    /// Whether the files name anything from outside for this place.
    pub asks: fn(place: &Path, files: &Files) -> bool,
    /// Whether the tree at `root` shows that nothing is missing, without asking the manager.
    pub is_installed: fn(root: &Path, place: &Path, files: &Files) -> bool,
    /// Run in a place without the network: succeeds when nothing is missing, and answers with 127
    /// when the manager is not installed.
    pub complete: &'static str,
    /// What it says of files it cannot read. Nothing is missing then: whoever wrote them hears it
    /// from the build.
    pub unreadable: &'static [&'static str],
    /// Run in a place with the network. `PLACE` stands for its absolute path, `TARGET` for a
    /// directory of our own, which is for all places: then it is run once.
    pub fetch: &'static str,
    /// What is to be fetched, for a file `TARGET.txt`; then `TARGET` holds packages of Python.
    pub list: Option<fn(place: &Path, files: &Files) -> String>,
    /// Run in a place afterwards, without the network: what could not be done with it.
    pub after: &'static str,
    /// What it leaves in a place; where that is gone, it has to be fetched again.
    pub leaves: &'static str,
    /// Where it keeps packages is one directory for all its projects: commands are given the home's
    /// or the fetched one.
    pub shared: bool,
    /// Run by a person in a place, with their own logins.
    pub by_hand: fn(place: &Path, files: &Files) -> String,
    /// Programs that need what it fetches for the project they are run in.
    pub programs: &'static [&'static str],
    /// Its programs stay in the project they are run in and its members.
    pub stays_within: bool,
}

impl Manager {
    /// Whether a file of this name says what is needed.
    pub fn reads(&self, name: &str) -> bool {
        [self.locks, self.manifests, self.not_beside].concat().contains(&name)
            || (self.is_manifest)(name)
    }
}

/// What most managers are like; a manager says what it has besides.
pub(super) const USUAL: Manager = Manager {
    name: "",
    locks: &[],
    manifests: &[],
    is_manifest: |_| false,
    not_beside: &[],
    without_lock: false,
    is_apart: |_, _| false,
    asks: |_, _| true,
    is_installed: |_, _, _| false,
    complete: "",
    unreadable: &[],
    fetch: "",
    list: None,
    after: "",
    leaves: "",
    shared: false,
    by_hand: |_, _| String::new(),
    programs: &[],
    stays_within: false,
};
