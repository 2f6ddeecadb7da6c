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
pub type ManifestFiles = BTreeMap<PathBuf, String>;

/// A package manager. A *place* is a project's folder, relative to the top of the tree.
#[derive(Debug)]
pub struct Manager {
    /// The manager's name.
    pub name: &'static str,
    /// Its lock files.
    pub locks: &'static [&'static str],
    /// The files in which people list dependencies.
    pub manifests: &'static [&'static str],
    /// Returns true if a file is a manifest although its name is not in `manifests`.
    pub is_manifest: fn(name: &str) -> bool,
    /// Lock files of another manager; if one exists, this manager is not used.
    pub not_beside: &'static [&'static str],
    /// True if a manifest without a lock file is enough.
    pub without_lock: bool,
    /// Returns true if the manifest in a place starts a separate project, even inside another
    /// project.
    pub is_apart: fn(place: &Path, files: &ManifestFiles) -> bool,
    /// Returns true if the files require any package from outside.
    pub asks: fn(place: &Path, files: &ManifestFiles) -> bool,
    /// Returns true if the tree at `root` shows, without running the manager, that nothing is
    /// missing.
    pub is_installed: fn(root: &Path, place: &Path, files: &ManifestFiles) -> bool,
    /// Command that runs in a place without the network: succeeds if nothing is missing; exits with
    /// 127 if the manager is not installed.
    pub complete: &'static str,
    /// Messages about files that the manager cannot read. With such a message, nothing counts as
    /// missing, because the build will report the problem to the author of the files.
    pub unreadable: &'static [&'static str],
    /// Command that runs with network access in a place. `PLACE` is replaced by the absolute path
    /// of the place, `TARGET` by a directory of git-cowork that all places share. If the command
    /// contains `TARGET`, it runs only once.
    pub fetch: &'static str,
    /// Returns the contents of the file `TARGET.txt`, which lists the packages to fetch. If a
    /// manager has this function, `TARGET` is a directory of Python packages.
    pub list: Option<fn(place: &Path, files: &ManifestFiles) -> String>,
    /// Command that runs in a place after fetching, without the network, for steps that must not
    /// have network access.
    pub after: &'static str,
    /// A file or folder that fetching creates in a place; if it is missing, fetching is needed
    /// again.
    pub leaves: &'static str,
    /// True if the manager keeps the packages of all projects in one directory. Commands then get
    /// either the user's, which is in the home directory, or the one with the fetched packages.
    pub shared: bool,
    /// Returns the command for a person to run in a place, with their own logins.
    pub by_hand: fn(place: &Path, files: &ManifestFiles) -> String,
    /// Programs that need the fetched packages of the project in which they run.
    pub programs: &'static [&'static str],
    /// True if these programs only use the project in which they run and its members.
    pub stays_within: bool,
}

impl Manager {
    /// True if the manager reads files with this name.
    pub fn reads(&self, name: &str) -> bool {
        [self.locks, self.manifests, self.not_beside].iter().any(|names| names.contains(&name))
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
