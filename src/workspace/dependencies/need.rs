//! The dependencies of one project for one package manager, and the commands to fetch them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use super::paths::word;
use crate::languages::Manager;
use crate::sha256::hex;

/// Maximum number of files named in a sentence.
const NAMED: usize = 6;

/// The dependencies of one project for one package manager. Each project is checked separately:
/// what one lacks says nothing about another.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub(super) manager: &'static Manager,
    /// The project's folder, relative to the root; empty for the root itself.
    pub(super) place: PathBuf,
    /// Manifests and lock files that list the dependencies, including those of members.
    pub(super) files: BTreeMap<PathBuf, String>,
}

impl Need {
    /// Returns the SHA-256 of the files' content: consent applies to exactly this content.
    pub(super) fn hash(&self) -> String {
        let mut context = Context::new(&SHA256);
        let mut add = |bytes: &[u8]| {
            context.update(&(bytes.len() as u64).to_le_bytes());
            context.update(bytes);
        };
        add(self.manager.name.as_bytes());
        for (path, text) in &self.files {
            add(path.as_os_str().as_encoded_bytes());
            add(text.as_bytes());
        }
        hex(context.finish().as_ref())
    }

    /// Returns a command of the manager as one line of `sh`, for the tree at `root` and the
    /// directory `target` for fetched packages.
    pub(super) fn line(&self, command: &str, root: &Path, target: &Path) -> String {
        let command = command.replace("TARGET", &word(target));
        if command.contains(&*word(target)) {
            return command;
        }
        let command = command.replace("PLACE", &word(&self.at(root)));
        match self.place.as_os_str().is_empty() {
            true => command,
            false => format!("(cd {} && {command})", word(&self.place)),
        }
    }

    /// Returns the command with which the user can fetch by hand with their own credentials, to
    /// paste in `here`, their current directory.
    pub(super) fn by_hand(&self, root: &Path, here: Option<&Path>) -> String {
        let command = (self.manager.by_hand)(&self.place, &self.files);
        let at = self.at(root);
        match here.map(|here| at.strip_prefix(here)) {
            Some(Ok(below)) if below.as_os_str().is_empty() => command,
            Some(Ok(below)) => format!("(cd {} && {command})", word(below)),
            _ => format!("(cd {} && {command})", word(&at)),
        }
    }

    /// Returns the project's folder.
    fn at(&self, root: &Path) -> PathBuf {
        // Joining an empty path would add a trailing slash.
        if self.place.as_os_str().is_empty() { root.to_owned() } else { root.join(&self.place) }
    }

    /// True if the tree contains what fetching leaves in it.
    pub(super) fn left(&self, root: &Path) -> bool {
        root.join(&self.place).join(self.manager.leaves).exists()
    }

    /// Returns the names of the manager and its files: `cargo: Cargo.lock, Cargo.toml`.
    pub(super) fn named(&self) -> String {
        let files: Vec<_> = self.files.keys().map(|path| path.display().to_string()).collect();
        let more = files.len().saturating_sub(NAMED);
        let files = files[..files.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}: {files}{more}", self.manager.name)
    }
}
