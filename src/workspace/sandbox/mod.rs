//! What the kernel keeps commands from: this program starts itself anew as a small helper, which
//! gives up rights and then becomes the command (`helper`). Here is what that helper is told.
//!
//! | level | how | weaker |
//! | --- | --- | --- |
//! | namespaces | own processes, network, IPC and mounts, all but the tree mounted read-only; then Landlock and a filter of system calls | |
//! | Landlock | Landlock and a filter of system calls | no new entries at the top of the tree nor beside a nested `.git`, no network at all, UDP open, no UNIX sockets, shared memory and terminals of a command's own, modes and times changed |
//! | sandbox-exec | macOS: a profile (`seatbelt`) instead of a helper | no servers of a command's own, no limits of resources |
//! | none | a person is asked before each command | everything |

mod covers;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod helper;
mod hidden;
#[cfg(target_os = "linux")]
mod landlock;
mod logins;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
mod nested;
mod place;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(target_os = "linux")]
mod sockets;
mod sweep;
mod told;
#[cfg(target_os = "linux")]
mod users;
mod why;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::workspace::Refusal;
use crate::workspace::Tracking;
use crate::workspace::dependencies::fetch::Fetched;
use crate::workspace::dependencies::missing::Fetching;
use covers::Cover;
use nested::Nested;
use place::Place;
use why::Why;

#[cfg(target_os = "linux")]
pub use helper::run as run_helper;
pub use sweep::Cache;

/// The first argument of the program when it is the helper.
pub const HELPER_WORD: &str = "__sandbox";

/// Longer specifications are handed over in a file: Linux takes no argument of 128 KiB, and a tree
/// may hold a thousand repositories.
#[cfg(not(target_os = "macos"))]
const ARGUMENT_MAX: usize = 64 * 1024;

/// How well commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not at all.
    None,
    /// A profile of `sandbox-exec`, on macOS.
    #[serde(rename = "sandbox-exec")]
    Seatbelt,
    /// Landlock alone.
    Landlock,
    /// Namespaces and Landlock.
    #[default]
    Namespaces,
}

impl Level {
    /// The word of a level: `none`, `sandbox-exec`, `landlock`, `namespaces`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Seatbelt => "sandbox-exec",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
        }
    }

    /// The level with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        let all = [Self::None, Self::Seatbelt, Self::Landlock, Self::Namespaces];
        all.into_iter().find(|level| level.word() == word)
    }
}

/// What this system may have, the best first.
const LEVELS: &[Level] = if cfg!(target_os = "linux") {
    &[Level::Namespaces, Level::Landlock]
} else if cfg!(target_os = "macos") {
    &[Level::Seatbelt]
} else {
    &[]
};

/// Who answers for commands that the kernel cannot confine.
pub trait Consent {
    /// Hears, once, that commands are confined less well than they could be.
    fn weaker(&self, weaker: &Weaker);
    /// Whether this command may run without confinement; `None` when nobody is there to say so.
    fn may_run_unconfined(&self, command: &str) -> anyhow::Result<Option<bool>>;
}

/// Why commands are confined less well than they could be, and what that means.
#[derive(Clone, Debug)]
pub struct Weaker {
    /// How they are.
    pub level: Level,
    /// What is in the way of the next better level.
    pub cause: String,
    /// What would help, as a sentence without its full stop; empty where that is not known.
    pub remedy: String,
    /// Whether they can make sockets with a path.
    pub unix_sockets: bool,
}

/// How commands are to be confined. The default is not at all.
#[derive(Clone, Default)]
pub struct Confinement {
    /// This program, to be started as the helper; without it nothing is confined.
    pub helper: Option<PathBuf>,
    /// Files and directories that are never written: the tree's `.git`, where it points to, the
    /// directory linked worktrees share; what else only the program writes. Repositories below the
    /// tree are found and added.
    pub sealed: Vec<PathBuf>,
    /// Writable besides the tree. Those that do not exist are passed over.
    pub writable: Vec<PathBuf>,
    /// Whether commands have the network.
    pub network: bool,
    /// Where the commands' private home with its caches is kept between runs; created.
    pub cache: Option<Cache>,
    /// Better levels than this are not tried.
    pub most: Level,
    /// Asked where nothing can be confined; without it such commands are refused.
    pub consent: Option<Rc<dyn Consent>>,
    /// Asked before a project's dependencies are fetched; without it none are.
    pub fetching: Option<Rc<dyn Fetching>>,
}

/// What the helper is told, as JSON in its second argument, or in the file that stands there after
/// an `@`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spec {
    level: Level,
    root: PathBuf,
    sealed: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    /// Files, directories and sockets that look empty: keys, and doors to other programs.
    hidden: Vec<PathBuf>,
    /// Directories of other programs' files, which a command has for itself.
    #[serde(default)]
    covers: Vec<Cover>,
    /// What is there to be read although it is below one of them.
    #[serde(default)]
    kept: Vec<PathBuf>,
    /// The list of users, where the system's lacks this one.
    #[serde(default)]
    users: Option<PathBuf>,
    network: bool,
}

/// A command's surroundings.
pub(super) struct Confined {
    /// The program and its first arguments, to be put before the command.
    pub(super) before: Vec<OsString>,
    /// The environment.
    pub(super) env: Vec<(OsString, OsString)>,
}

/// Confines the commands of one tree.
pub(super) struct Sandbox {
    wanted: Confinement,
    root: PathBuf,
    env: Vec<(OsString, OsString)>,
    tracking: Option<Rc<dyn Tracking>>,
    ready: OnceCell<Option<Ready>>,
}

/// What was found out before the first command.
struct Ready {
    spec: RefCell<Spec>,
    nested: RefCell<Nested>,
    place: Place,
}

impl Sandbox {
    /// For commands in `root` of a program that has the environment `env`.
    pub(super) fn new(
        wanted: Confinement,
        root: &Path,
        env: Vec<(OsString, OsString)>,
        tracking: Option<Rc<dyn Tracking>>,
    ) -> Self {
        Self { wanted, root: root.to_owned(), env, tracking, ready: OnceCell::new() }
    }

    /// How to run `command`, whose environment would be `env`; `None` as it is. Fails with a
    /// [`Refusal`] where it cannot be confined and nobody allows that.
    pub(super) fn confine(
        &self,
        command: &str,
        env: &[(OsString, OsString)],
    ) -> anyhow::Result<Option<Confined>> {
        let Some(helper) = &self.wanted.helper else {
            return Ok(None);
        };
        if let Some(ready) = self.ready()? {
            self.follow_moved(ready);
            let before = before(helper, &ready.place, &ready.spec.borrow())?;
            return Ok(Some(Confined { before, env: ready.place.environment(env) }));
        }
        let allowed = match &self.wanted.consent {
            Some(consent) => consent.may_run_unconfined(command)?,
            None => None,
        };
        match allowed {
            Some(true) => Ok(None),
            Some(false) => Err(Refusal::protected(
                "the person at the terminal did not allow this command; do without it, or ask",
            )
            .into()),
            None => Err(Refusal::failed(
                "no command can be run: this machine cannot confine commands, and nobody is there \
                 to allow them one by one; work with the file tools, and leave running the code to \
                 a person",
            )
            .into()),
        }
    }

    /// How to run the command that fetches dependencies; `None` where nothing is confined.
    pub(super) fn confine_to_fetch(
        &self,
        env: &[(OsString, OsString)],
    ) -> anyhow::Result<Option<Confined>> {
        let (Some(helper), Some(ready)) = (&self.wanted.helper, self.ready()?) else {
            return Ok(None);
        };
        let env = ready.place.environment_to_fetch(env).context("making a home to fetch in")?;
        self.follow_moved(ready);
        let mut spec = ready.spec.borrow().clone();
        spec.network = true;
        spec.writable = ready.place.writable_to_fetch(&self.wanted.writable);
        spec.covers = ready.place.covers_to_fetch().context("making a place to fetch in")?;
        spec.kept = ready.place.kept(true);
        Ok(Some(Confined { before: before(helper, &ready.place, &spec)?, env }))
    }

    /// Whether commands are kept off the network by the kernel.
    pub(super) fn keeps_off_network(&self) -> anyhow::Result<bool> {
        Ok(!self.wanted.network && self.ready()?.is_some())
    }

    /// The best level that works here.
    pub(super) fn level(&self) -> anyhow::Result<Level> {
        Ok(self.ready()?.map_or(Level::None, |ready| ready.spec.borrow().level))
    }

    /// What was fetched for the project; `None` where nothing is confined.
    pub(super) fn fetched(&self) -> Option<Fetched<'_>> {
        Some(Fetched(self.place()?.fetched()))
    }

    /// From now on commands find what was fetched for a package manager, or not any more.
    pub(super) fn use_fetched(&self, manager: &'static str, used: bool) {
        if let Some(place) = self.place() {
            place.set_used(manager, used);
        }
    }

    /// From now on commands find these packages of Python.
    pub(super) fn use_python(&self, packages: PathBuf) {
        if let Some(place) = self.place() {
            place.set_python(packages);
        }
    }

    /// The place of commands, once it is made.
    fn place(&self) -> Option<&Place> {
        Some(&self.ready.get()?.as_ref()?.place)
    }

    /// Who is asked before something is fetched.
    pub(super) fn person(&self) -> Option<&dyn Fetching> {
        self.wanted.fetching.as_deref()
    }

    fn ready(&self) -> anyhow::Result<Option<&Ready>> {
        let Some(helper) = &self.wanted.helper else { return Ok(None) };
        if self.ready.get().is_none() {
            let ready = self.make_ready(helper)?;
            let _ = self.ready.set(ready);
        }
        Ok(self.ready.get().and_then(Option::as_ref))
    }

    fn make_ready(&self, helper: &Path) -> anyhow::Result<Option<Ready>> {
        let wanted = &self.wanted;
        sweep::temporary(&std::env::temp_dir());
        let nested = Nested::find(&self.root, &self.ignored()?, &existing(&wanted.writable));
        let mut why = Why::told(match LEVELS.first().is_some_and(|best| wanted.most < *best) {
            true => "nothing better was to be tried",
            false => "this system has no way to do it",
        });
        for level in LEVELS.iter().copied().filter(|level| *level <= wanted.most) {
            let place = Place::open(wanted, &self.root, &self.env, level)
                .context("making a private place for commands")?;
            let spec = Spec {
                level,
                root: self.root.clone(),
                sealed: self.sealed(&nested),
                writable: place.writable(&wanted.writable),
                hidden: place.hidden(&wanted.writable),
                covers: place.covers(),
                kept: place.kept(wanted.network),
                users: users(&place, level).context("listing the users for commands")?,
                network: wanted.network,
            };
            why = match try_out(helper, &place, &spec, &self.root)? {
                None => {
                    if level == Level::Landlock {
                        self.weaker(level, why);
                    }
                    let (spec, nested) = (RefCell::new(spec), RefCell::new(nested));
                    return Ok(Some(Ready { spec, nested, place }));
                }
                Some(why) => why,
            };
            tracing::info!("no confinement by {}: {}", level.word(), why.cause);
        }
        self.weaker(Level::None, why);
        Ok(None)
    }

    /// What git ignores, as far as that is known.
    fn ignored(&self) -> anyhow::Result<BTreeSet<PathBuf>> {
        let Some(tracking) = &self.tracking else { return Ok(BTreeSet::new()) };
        Ok(tracking.ignored()?.into_iter().map(|path| self.root.join(path)).collect())
    }

    fn sealed(&self, nested: &Nested) -> Vec<PathBuf> {
        let mut sealed = existing(&self.wanted.sealed);
        sealed.extend(nested.paths().cloned());
        without_inner(sealed)
    }

    /// Repositories below the tree stay sealed also where an earlier command moved them.
    fn follow_moved(&self, ready: &Ready) {
        if !ready.nested.borrow().are_in_place() {
            let moved = ready.nested.borrow().moved(&self.root);
            ready.spec.borrow_mut().sealed = self.sealed(&moved);
            ready.nested.replace(moved);
        }
    }

    fn weaker(&self, level: Level, why: Why) {
        if let Some(consent) = &self.wanted.consent {
            let Why { cause, remedy } = why;
            consent.weaker(&Weaker { level, cause, remedy, unix_sockets: has_unix_sockets() });
        }
    }
}

/// What stands before a command.
#[cfg(not(target_os = "macos"))]
fn before(helper: &Path, place: &Place, spec: &Spec) -> anyhow::Result<Vec<OsString>> {
    let mut spec = serde_json::to_string(spec)?;
    if spec.len() > ARGUMENT_MAX {
        let file = place.keep_spec(&spec).context("writing what a command may reach")?;
        spec = format!("@{}", file.display());
    }
    Ok(vec![helper.into(), HELPER_WORD.into(), spec.into()])
}

/// What stands before a command.
#[cfg(target_os = "macos")]
fn before(_helper: &Path, _place: &Place, spec: &Spec) -> anyhow::Result<Vec<OsString>> {
    Ok(vec!["/usr/bin/sandbox-exec".into(), "-p".into(), seatbelt::profile(spec).into()])
}

/// Lets a command that does nothing try; answers with why it cannot be confined.
fn try_out(helper: &Path, place: &Place, spec: &Spec, root: &Path) -> anyhow::Result<Option<Why>> {
    let words = before(helper, place, spec)?;
    let tried = std::process::Command::new(&words[0])
        .args(&words[1..])
        .arg("true")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(root)
        .stdin(std::process::Stdio::null())
        .output()
        .context("starting what confines commands")?;
    if tried.status.success() {
        return Ok(None);
    }
    Ok(Some(Why::told(&String::from_utf8_lossy(&tried.stderr))))
}

#[cfg(target_os = "linux")]
fn has_unix_sockets() -> bool {
    landlock::has_unix_sockets()
}

#[cfg(not(target_os = "linux"))]
fn has_unix_sockets() -> bool {
    false
}

/// The list of users that commands see instead of the system's, where they need one.
#[cfg(target_os = "linux")]
fn users(place: &Place, level: Level) -> std::io::Result<Option<PathBuf>> {
    if level == Level::Namespaces { place.users() } else { Ok(None) }
}

#[cfg(not(target_os = "linux"))]
fn users(_place: &Place, _level: Level) -> std::io::Result<Option<PathBuf>> {
    Ok(None)
}

/// With links resolved. A symbolic link stays one: it cannot be sealed, and the helper says so.
fn existing(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in paths {
        if path.is_symlink() {
            found.push(path.clone());
        }
        found.extend(path.canonicalize());
    }
    without_inner(found)
}

/// Each once, and none below another.
fn without_inner(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup_by(|a, b| a.starts_with(&*b));
    paths
}
