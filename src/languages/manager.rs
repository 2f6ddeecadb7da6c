//! A package manager: which files it reads, how to check that nothing is missing, and how to fetch
//! packages.
//!
//! Commands that run with the network execute no code of the tree or of fetched packages: install
//! scripts run in a second step without the network, packages that would have to be built are
//! refused, and cargo runs in another directory, because a project's `.cargo/config.toml` can name
//! programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Manifests and lock files by their path in the tree.
pub type Files = BTreeMap<PathBuf, String>;

/// A package manager. A *place* is a project's folder, relative to the top of the tree.
#[derive(Debug)]
pub struct Manager {
    /// The manager's name.
    pub name: &'static str,
    /// Its lock files.
    pub locks: &'static [&'static str],
    /// The files in which people list dependencies.
    pub manifests: &'static [&'static str],
    /// Returns true if a file with another name is a manifest, too.
    pub is_manifest: fn(name: &str) -> bool,
    /// Lock files of another manager; if one exists, this manager is not used.
    pub not_beside: &'static [&'static str],
    /// True if a manifest without a lock file is enough.
    pub without_lock: bool,
    /// Returns true if a manifest starts a separate project, whatever is around it.
    pub is_apart: fn(place: &Path, files: &Files) -> bool,
    /// Returns true if the files require any package from outside.
    pub asks: fn(place: &Path, files: &Files) -> bool,
    /// Returns true if the tree at `root` shows, without running the manager, that nothing is
    /// missing.
    pub is_installed: fn(root: &Path, place: &Path, files: &Files) -> bool,
    /// Command that runs in a place without the network: succeeds if nothing is missing; exits with
    /// 127 if the manager is not installed.
    pub complete: &'static str,
    /// Messages about files that the manager cannot read. Then nothing counts as missing: the build
    /// reports the problem to the author of the files.
    pub unreadable: &'static [&'static str],
    /// Command that runs in a place with the network. `PLACE` is replaced by the place's absolute
    /// path, `TARGET` by a directory of git-cowork that all places share; with `TARGET`, the
    /// command runs only once.
    pub fetch: &'static str,
    /// Returns the contents of the file `TARGET.txt`, which lists the packages to fetch; `TARGET`
    /// then contains Python packages.
    pub list: Option<fn(place: &Path, files: &Files) -> String>,
    /// Command that runs in a place afterwards, without the network, for steps that must not have
    /// it.
    pub after: &'static str,
    /// A file or folder that fetching creates in a place; if it is missing, fetching is needed
    /// again.
    pub leaves: &'static str,
    /// True if the manager keeps the packages of all projects in one directory: commands get the
    /// one in the home directory or the fetched one.
    pub shared: bool,
    /// Returns the command for a person to run in a place, with their own logins.
    pub by_hand: fn(place: &Path, files: &Files) -> String,
    /// Programs that need the fetched packages of the project in which they run.
    pub programs: &'static [&'static str],
    /// True if these programs stay within the project in which they run and its members.
    pub stays_within: bool,
}

impl Manager {
    /// True if the manager reads files with this name.
    pub fn reads(&self, name: &str) -> bool {
        [self.locks, self.manifests, self.not_beside].concat().contains(&name)
            || (self.is_manifest)(name)
    }
}

/// Defaults that most managers share; a manager overrides some of them.
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
