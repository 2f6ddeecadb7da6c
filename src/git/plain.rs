//! Whether git would take a file's bytes as they are, and write objects as libgit2 does. Clean
//! filters, line ends, `$Id$`, other encodings, shared object folders and the like are git's own
//! business: only where surely nothing of it is in play are objects made in process.
//!
//! Patterns of attributes are not read, for libgit2 reads some of them differently: a file that
//! git would look into and that names such an attribute for any path is enough for git to be asked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::Git;
use super::configuration::as_bool;
use super::index::Facts;
use super::output::lossy;
use crate::git::index;

/// Attributes that change content whatever it is (gitattributes(5)).
const FILTERS: [&str; 3] = ["filter", "ident", "working-tree-encoding"];
/// Those that change line ends.
const LINE_ENDS: [&str; 3] = ["text", "crlf", "eol"];
/// What git says about the file of attributes of the whole machine, which no run changes.
#[derive(Clone, Debug, Default)]
pub(super) struct SystemFile(Arc<OnceLock<Option<Vec<PathBuf>>>>);

/// It says nothing about which repository this is.
impl PartialEq for SystemFile {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for SystemFile {}

/// What a file of attributes names.
#[derive(Clone, Copy, Debug, Default)]
struct Names {
    filters: bool,
    line_ends: bool,
}

/// Answers for many paths at one time.
pub(super) struct Sources<'a> {
    git: &'a Git,
    /// The files of attributes that count everywhere.
    files: Vec<PathBuf>,
    /// The configuration changes line ends.
    line_ends: bool,
    /// Git refuses line ends that it could not give back.
    refuses: bool,
    index: Arc<Facts>,
    read: RefCell<HashMap<PathBuf, Option<Names>>>,
}

/// Answers for files of the working tree; `None` where git must be asked about each.
pub(super) fn plain_sources(git: &Git) -> Option<Sources<'_>> {
    let configuration = git.configuration().ok()?;
    let elsewhere = git.variable("GIT_ATTR_SOURCE").is_some();
    if elsewhere || configuration.value("attr.tree").is_some() {
        return None;
    }
    let index = index::facts(git).ok().filter(|facts| facts.more.is_some())?;
    let mut files = git.plain.0.get_or_init(|| system_attributes(git)).clone()?;
    files.push(git.common_dir.join("info/attributes"));
    match configuration.value("core.attributesfile") {
        Some(Some(file)) => files.push(git.top.join(expanded(git, file)?)),
        Some(None) => return None,
        None => {
            let of = |name: &str, file: &str| {
                let folder = git.variable(name).filter(|folder| !folder.is_empty());
                folder.map(|folder| Path::new(&folder).join(file))
            };
            files.extend(of("XDG_CONFIG_HOME", "git/attributes"));
            files.extend(of("HOME", ".config/git/attributes"));
        }
    }
    let is_no = |value| as_bool(value) == Some(false);
    let line_ends = configuration.value("core.autocrlf").is_some_and(|value| !is_no(value));
    let refuses = configuration.value("core.safecrlf").is_some_and(|value| {
        !is_no(value) && value.is_none_or(|value| !value.eq_ignore_ascii_case("warn"))
    });
    Some(Sources { git, files, line_ends, refuses, index, read: RefCell::default() })
}

/// Whether modes and links are what the file system says.
pub(super) fn has_plain_modes(git: &Git) -> bool {
    git.configuration().is_ok_and(|configuration| {
        ["core.filemode", "core.symlinks"]
            .into_iter()
            .all(|key| configuration.value(key).is_none_or(|v| as_bool(v) == Some(true)))
    })
}

/// A configured path; `None` where only git knows which file it means.
fn expanded(git: &Git, path: &str) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(path) => Some(Path::new(&git.variable("HOME")?).join(path)),
        None if path.starts_with(['~', '%', ':']) => None,
        None => Some(PathBuf::from(path)),
    }
}

/// The files of attributes of the whole machine; `None` where git does not tell.
fn system_attributes(git: &Git) -> Option<Vec<PathBuf>> {
    let output = git.read(["var", "GIT_ATTR_SYSTEM"]).output().ok()?;
    match output.code {
        Some(0) => Some(output.text().lines().map(PathBuf::from).collect()),
        // There is to be none (`GIT_ATTR_NOSYSTEM`).
        Some(1) => Some(Vec::new()),
        // Before 2.42.
        _ => beside_system_configuration(git),
    }
}

/// Where the file of attributes is as git is built: beside the configuration of the machine, whose
/// path an editor is given.
fn beside_system_configuration(git: &Git) -> Option<Vec<PathBuf>> {
    let edit = git.read(["config", "--system", "--edit"]).env("GIT_EDITOR", "echo");
    let output = edit.output().ok().filter(super::Output::success)?;
    let file = PathBuf::from(output.text().trim_end());
    file.is_absolute().then(|| vec![file.with_file_name("gitattributes")])
}

impl Sources<'_> {
    /// Whether git would store exactly these bytes for this file.
    pub(super) fn is_plain(&self, path: &str, bytes: &[u8]) -> bool {
        let mut names = Names::default();
        for file in &self.files {
            // One that is not there names nothing.
            names.add(self.names_in(file).unwrap_or_default());
        }
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        for folder in std::iter::once("").chain(above) {
            let committed = || {
                let more = self.index.more.as_ref();
                more.is_none_or(|more| more.attributes.contains(folder))
            };
            match self.names_in(&self.git.top.join(folder).join(".gitattributes")) {
                Some(found) => names.add(found),
                // Git reads it from the index then.
                None if committed() => return false,
                None => {}
            }
        }
        // Only what has a carriage return loses one; a lone line feed may be refused.
        let plain = !self.line_ends && !names.line_ends;
        !names.filters && (plain || !bytes.contains(&b'\r') && !self.refuses)
    }

    /// What a file of attributes names; `None` where there is none that git reads.
    fn names_in(&self, file: &Path) -> Option<Names> {
        if let Some(known) = self.read.borrow().get(file) {
            return *known;
        }
        let is_file = file.symlink_metadata().is_ok_and(|meta| !meta.is_dir());
        let names = is_file.then(|| match std::fs::read(file) {
            Ok(bytes) => {
                let text = lossy(&bytes);
                let has = |words: [&str; 3]| words.iter().any(|word| text.contains(word));
                Names { filters: has(FILTERS), line_ends: has(LINE_ENDS) }
            }
            Err(_) => Names { filters: true, line_ends: true },
        });
        self.read.borrow_mut().insert(file.to_owned(), names);
        names
    }
}

impl Names {
    fn add(&mut self, other: Self) {
        self.filters |= other.filters;
        self.line_ends |= other.line_ends;
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use super::*;

    #[test]
    fn an_older_git_tells_where_its_attributes_are_all_the_same() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let told = git.read(["var", "GIT_ATTR_SYSTEM"]).output().unwrap();
        let beside = beside_system_configuration(&git);
        if told.success() && cfg!(target_os = "linux") {
            assert_eq!(beside, system_attributes(&git));
        }
        assert!(beside.is_some_and(|files| files.len() == 1));
    }
}
