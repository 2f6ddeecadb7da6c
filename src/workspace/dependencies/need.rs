//! What one package manager has to fetch for one project, and the commands for it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use super::paths::word;
use crate::languages::Manager;

/// Files that a sentence names.
const NAMED: usize = 6;

/// What one package manager has to fetch for one project of the tree. Each project is judged on its
/// own: what one of them lacks says nothing about another.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub(super) manager: &'static Manager,
    /// The project's folder, relative to the root; the root itself is empty.
    pub(super) place: PathBuf,
    /// Manifests and lock files that say what, those of its members included.
    pub(super) files: BTreeMap<PathBuf, String>,
}

impl Need {
    /// SHA-256 of what the files say: a consent is for exactly this.
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
        context.finish().as_ref().iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// A command of the manager's as one line of `sh`, for the tree at `root` and a directory
    /// `target` for what is fetched.
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

    /// What a person types to have the same done with their own logins. It can be pasted where they
    /// are: `here` is their directory.
    pub(super) fn by_hand(&self, root: &Path, here: Option<&Path>) -> String {
        let command = (self.manager.by_hand)(&self.place, &self.files);
        let at = self.at(root);
        match here.map(|here| at.strip_prefix(here)) {
            Some(Ok(below)) if below.as_os_str().is_empty() => command,
            Some(Ok(below)) => format!("(cd {} && {command})", word(below)),
            _ => format!("(cd {} && {command})", word(&at)),
        }
    }

    /// The project's folder.
    fn at(&self, root: &Path) -> PathBuf {
        // Joined with nothing, a path would end with a slash.
        if self.place.as_os_str().is_empty() { root.to_owned() } else { root.join(&self.place) }
    }

    /// Whether everything is there that fetching leaves in the tree.
    pub(super) fn left(&self, root: &Path) -> bool {
        root.join(&self.place).join(self.manager.leaves).exists()
    }

    /// What is fetched, for people: `cargo: Cargo.lock, Cargo.toml`.
    pub(super) fn named(&self) -> String {
        let files: Vec<_> = self.files.keys().map(|path| path.display().to_string()).collect();
        let more = files.len().saturating_sub(NAMED);
        let files = files[..files.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}: {files}{more}", self.manager.name)
    }
}
