//! Whether git would take a file's bytes as they are, and write objects as libgit2 does. Clean
//! filters, line ends, `$Id$`, other encodings, shared object folders and the like are git's own
//! business: only where surely nothing of it is in play are objects made in process.
//!
//! Patterns of attributes are not read, for libgit2 reads some of them differently: a file that
//! git would look into and that names such an attribute for any path is enough for git to be asked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::Git;
use super::index::{Facts, Stamp, stamp};
use super::output::lossy;

/// Attributes that change content whatever it is (gitattributes(5)).
const FILTERS: [&str; 3] = ["filter", "ident", "working-tree-encoding"];
/// Those that change line ends.
const LINE_ENDS: [&str; 3] = ["text", "crlf", "eol"];
/// A variable `git var -l` lists from the release on that also lists files of attributes (2.42).
const LISTS_FILES: &str = "GIT_SHELL_PATH=";

/// What was found in the configuration, as long as its files are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(Arc<Mutex<Option<Found>>>);

type Found = (Vec<(PathBuf, Option<Stamp>)>, Arc<Plain>);

/// It says nothing about which repository this is.
impl PartialEq for Known {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Known {}

/// What the configuration leaves to libgit2.
#[derive(Debug)]
pub(super) struct Plain {
    /// Objects are written with the permissions and the care libgit2 knows.
    pub(super) writes: bool,
    /// Modes are what the file system says.
    pub(super) modes: bool,
    /// Files of attributes are where git looks for them by default.
    attributes: bool,
    /// Line ends stay without an attribute.
    line_ends: bool,
    /// The files of attributes outside the working tree.
    files: Vec<PathBuf>,
}

/// What a file of attributes names.
#[derive(Clone, Copy, Debug, Default)]
struct Names {
    filters: bool,
    line_ends: bool,
}

/// Answers for many paths at one time.
pub(super) struct Sources<'a> {
    git: &'a Git,
    plain: Arc<Plain>,
    index: Arc<Facts>,
    read: RefCell<HashMap<PathBuf, Option<Names>>>,
}

impl Git {
    /// What the configuration leaves to libgit2; `None` where git does not say.
    pub(super) fn plain(&self) -> Option<Arc<Plain>> {
        let mut known = self.plain.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |found: &&Found| found.0.iter().all(|(file, was)| stamp(file) == *was);
        if let Some((_, plain)) = known.as_ref().filter(same) {
            return Some(Arc::clone(plain));
        }
        let files = |said: &str| {
            let own = [self.common_dir.join("config"), self.git_dir.join("config.worktree")];
            let others = said.lines().filter_map(|line| {
                let named = ["GIT_CONFIG_SYSTEM=", "GIT_CONFIG_GLOBAL="];
                named.iter().find_map(|name| line.strip_prefix(name)).map(PathBuf::from)
            });
            let stamped = own.into_iter().chain(others).map(|file| (stamp(&file), file));
            stamped.map(|(stamp, file)| (file, stamp)).collect::<Vec<_>>()
        };
        let output = self.read(["var", "-l"]).output().ok()?;
        let said = lossy(&output.stdout);
        let plain = Arc::new(Plain::read(&said, self.names_attributes_elsewhere()));
        *known = Some((files(&said), Arc::clone(&plain)));
        Some(plain)
    }

    /// Answers for files of the working tree; `None` where git must be asked about each.
    pub(super) fn plain_sources(&self) -> Option<Sources<'_>> {
        let plain = self.plain().filter(|plain| plain.attributes)?;
        let index = self.index_facts().ok().filter(|facts| facts.more.is_some())?;
        Some(Sources { git: self, plain, index, read: RefCell::default() })
    }

    fn names_attributes_elsewhere(&self) -> bool {
        const SOURCE: &str = "GIT_ATTR_SOURCE";
        std::env::var_os(SOURCE).is_some() || self.env.iter().any(|(name, _)| name == SOURCE)
    }
}

impl Plain {
    /// Reads what `git var -l` says: `key=value` of the configuration, then variables.
    fn read(said: &str, elsewhere: bool) -> Self {
        let values = |wanted: &str| -> Vec<String> {
            let value = |line: &str| match line.split_once('=') {
                Some((key, value)) => (key == wanted).then(|| value.to_lowercase()),
                None => (line == wanted).then(|| "true".to_owned()),
            };
            said.lines().filter_map(value).collect()
        };
        // A value that is overruled counts all the same: then git is asked once too often.
        let only = |key: &str, meant: &[&str]| values(key).iter().all(|v| meant.contains(&&**v));
        let (yes, no) = (["true", "yes", "on", "1"], ["false", "no", "off", "0", ""]);
        let files = ["GIT_ATTR_SYSTEM=", "GIT_ATTR_GLOBAL="];
        let files = said.lines().filter_map(|line| {
            files.iter().find_map(|name| line.strip_prefix(name)).map(PathBuf::from)
        });
        Self {
            writes: only("core.sharedrepository", &["umask", "false", "no", "off", "0"])
                && only("core.fsyncobjectfiles", &no)
                && values("core.fsync").is_empty()
                && values("core.fsyncmethod").is_empty(),
            modes: only("core.filemode", &yes) && only("core.symlinks", &yes),
            attributes: said.lines().any(|line| line.starts_with(LISTS_FILES))
                && values("attr.tree").is_empty()
                && !elsewhere,
            line_ends: only("core.autocrlf", &no),
            files: files.collect(),
        }
        .with_safe_line_ends(only("core.safecrlf", &["warn", "false", "no", "off", "0", ""]))
    }

    /// Where git is to refuse line ends it could not give back, git is asked.
    fn with_safe_line_ends(mut self, nothing_is_refused: bool) -> Self {
        self.attributes &= nothing_is_refused;
        self
    }
}

impl Sources<'_> {
    /// Whether git would store exactly these bytes for this file.
    pub(super) fn is_plain(&self, path: &str, bytes: &[u8]) -> bool {
        let mut names = Names::default();
        let info = self.git.common_dir.join("info/attributes");
        for file in self.plain.files.iter().chain([&info]) {
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
        let line_ends = self.plain.line_ends && !names.line_ends;
        !names.filters && (line_ends || !bytes.contains(&b'\r'))
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
