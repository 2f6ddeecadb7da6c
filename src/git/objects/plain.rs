//! Decides whether git would store a file's bytes unchanged, and would write objects like libgit2.
//! Clean filters, line endings, `$Id$`, other encodings, shared object folders and similar features
//! are left to git: objects are made in process only if it is certain that none of them applies.
//!
//! Patterns of attributes are not evaluated, because libgit2 evaluates some of them differently:
//! git is asked as soon as an attributes file that it would read names such an attribute, for any
//! path.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::git::Git;
use crate::git::configuration::as_bool;
use crate::git::index::Facts;
use crate::git::output::lossy;
use crate::git::settings::users_files;
use crate::git::{index, variables};
use crate::moment::Untouched;

/// Attributes that may change any content (gitattributes(5)).
const FILTERS: [&str; 3] = ["filter", "ident", "working-tree-encoding"];
/// Attributes that change line endings.
const LINE_ENDS: [&str; 3] = ["text", "crlf", "eol"];

/// The kinds of attributes that each attributes file names; `None` for a file that git does not
/// read.
type Read = HashMap<PathBuf, Option<Names>>;

/// What is known of attributes files.
#[derive(Default)]
struct Known {
    /// The system's attributes files, as reported by git; they do not change during a run.
    system: OnceLock<Option<Vec<PathBuf>>>,
    /// What is known of the files that were read in the current [`Untouched`] period.
    read: Mutex<Option<(Untouched, Read)>>,
}

/// The kinds of attributes that a file names.
#[derive(Clone, Copy, Debug, Default)]
struct Names {
    filters: bool,
    line_ends: bool,
}

/// The attributes that apply to working tree files, collected once to check many paths.
pub(crate) struct Sources<'a> {
    git: &'a Git,
    /// The attributes files that apply to all paths.
    files: Vec<PathBuf>,
    /// The configuration changes line endings.
    line_ends: bool,
    /// Git refuses line endings that it could not restore.
    refuses: bool,
    index: Arc<Facts>,
    /// The kinds of attributes that `files` name.
    for_all: OnceCell<Names>,
    /// The answers of [`Sources::names_for`].
    of_folders: RefCell<HashMap<String, Option<Names>>>,
}

/// Collects the attributes for working tree files; `None` if git must be asked about each file.
pub(crate) fn plain_sources(git: &Git) -> Option<Sources<'_>> {
    let configuration = git.configuration().ok()?;
    let elsewhere = git.variable("GIT_ATTR_SOURCE").is_some();
    if elsewhere || configuration.value("attr.tree").is_some() {
        return None;
    }
    let index = index::facts(git).ok()?;
    let cache = git.caches.get::<Known>();
    let mut files = cache.system.get_or_init(|| system_attributes(git)).clone()?;
    files.push(git.common_dir.join("info/attributes"));
    files.extend(users_files(git, "core.attributesfile", "attributes")?);
    let is_no = |value| as_bool(value) == Some(false);
    let line_ends = configuration.value("core.autocrlf").is_some_and(|value| !is_no(value));
    let refuses = configuration.value("core.safecrlf").is_some_and(|value| {
        !is_no(value) && value.is_none_or(|value| !value.eq_ignore_ascii_case("warn"))
    });
    let (for_all, of_folders) = (OnceCell::new(), RefCell::default());
    Some(Sources { git, files, line_ends, refuses, index, for_all, of_folders })
}

/// True if git takes modes and links from the file system (`core.fileMode`, `core.symlinks`).
pub(crate) fn has_plain_modes(git: &Git) -> bool {
    git.configuration().is_ok_and(|configuration| {
        ["core.filemode", "core.symlinks"]
            .into_iter()
            .all(|key| configuration.value(key).is_none_or(|v| as_bool(v) == Some(true)))
    })
}

/// The system's attributes files; `None` if git does not report them.
fn system_attributes(git: &Git) -> Option<Vec<PathBuf>> {
    variables::system_attributes(git).or_else(|| beside_system_configuration(git))
}

/// The default path of the attributes file: beside the system's configuration file, whose path git
/// passes to an editor.
fn beside_system_configuration(git: &Git) -> Option<Vec<PathBuf>> {
    let edit = git.read(["config", "--system", "--edit"]).env("GIT_EDITOR", "echo");
    let output = edit.output().ok().filter(crate::git::Output::success)?;
    let file = PathBuf::from(output.text().trim_end());
    file.is_absolute().then(|| vec![file.with_file_name("gitattributes")])
}

impl Sources<'_> {
    /// True if git would store exactly these bytes for this file.
    pub(crate) fn is_plain(&self, path: &str, bytes: &[u8]) -> bool {
        let Some(names) = self.names(path) else { return false };
        // Only a carriage return is converted; a lone line feed may be refused.
        let plain = !self.line_ends && !names.line_ends;
        !names.filters && (plain || !bytes.contains(&b'\r') && !self.refuses)
    }

    /// True if an attributes file that git reads for this file names a filter, for any path.
    pub(crate) fn may_filter(&self, path: &str) -> bool {
        self.names(path).is_none_or(|names| names.filters)
    }

    /// The kinds of attributes that the attributes files for this file name; `None` if one of them
    /// is only in the index.
    fn names(&self, path: &str) -> Option<Names> {
        let mut names = *self.for_all.get_or_init(|| {
            let mut names = Names::default();
            for file in &self.files {
                // A missing file names no attributes.
                names.add(self.names_in(file).unwrap_or_default());
            }
            names
        });
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        for folder in std::iter::once("").chain(above) {
            names.add(self.names_for(folder)?);
        }
        Some(names)
    }

    /// The kinds of attributes that the attributes file in a folder names; `None` if that file is
    /// only in the index, where git reads it.
    fn names_for(&self, folder: &str) -> Option<Names> {
        if let Some(known) = self.of_folders.borrow().get(folder) {
            return *known;
        }
        let is_indexed = || self.index.attributes.contains(folder);
        let names = match self.names_in(&self.git.top.join(folder).join(".gitattributes")) {
            None if !is_indexed() => Some(Names::default()),
            names => names,
        };
        self.of_folders.borrow_mut().insert(folder.to_owned(), names);
        names
    }

    /// The kinds of attributes that a file names; `None` if it is not a file that git reads.
    fn names_in(&self, file: &Path) -> Option<Names> {
        let now = Untouched::now();
        let cache = self.git.caches.get::<Known>();
        let mut names_by_file = cache.read.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, read) = match names_by_file.take() {
            Some(cache) if cache.0 == now => names_by_file.insert(cache),
            _ => names_by_file.insert((now, HashMap::new())),
        };
        *read.entry(file.to_owned()).or_insert_with(|| read_names(file))
    }
}

fn read_names(file: &Path) -> Option<Names> {
    let is_file = file.symlink_metadata().is_ok_and(|meta| !meta.is_dir());
    is_file.then(|| match std::fs::read(file) {
        Ok(bytes) => {
            let text = lossy(&bytes);
            let has = |words: [&str; 3]| words.iter().any(|word| text.contains(word));
            Names { filters: has(FILTERS), line_ends: has(LINE_ENDS) }
        }
        Err(_) => Names { filters: true, line_ends: true },
    })
}

impl Names {
    fn add(&mut self, other: Self) {
        self.filters |= other.filters;
        self.line_ends |= other.line_ends;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;

    #[test]
    fn the_system_attributes_of_an_older_git_are_found() {
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
