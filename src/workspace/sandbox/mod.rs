//! What the kernel keeps commands from: this program starts itself anew as a small helper, which
//! gives up rights and then becomes the command (`helper`). Here is what that helper is told.
//!
//! | level | how | weaker |
//! | --- | --- | --- |
//! | namespaces | own processes, network, IPC and mounts, all but the tree mounted read-only; then Landlock | |
//! | Landlock | Landlock alone | no new entries at the top of the tree nor beside a nested `.git`, no network at all, UDP open, keys in the home can be read, modes and times changed |
//! | none | a person is asked before each command | everything |

#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod namespaces;
mod nested;
mod place;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::{Refusal, Tracking};
use nested::Nested;
use place::Place;

#[cfg(target_os = "linux")]
pub use helper::run as run_helper;

/// The first argument of the program when it is the helper.
pub const HELPER_WORD: &str = "__sandbox";

/// How well commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not at all.
    None,
    /// Landlock alone.
    Landlock,
    /// Namespaces and Landlock.
    #[default]
    Namespaces,
}

impl Level {
    /// The word of a level: `none`, `landlock`, `namespaces`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
        }
    }

    /// The level with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::None, Self::Landlock, Self::Namespaces].into_iter().find(|l| l.word() == word)
    }
}

/// Who answers for commands that the kernel cannot confine.
pub trait Consent {
    /// Hears, once, that commands are confined less well than they could be, and why.
    fn weaker(&self, level: Level, reason: &str);
    /// Whether this command may run without confinement; `None` when nobody is there to say so.
    fn may_run_unconfined(&self, command: &str) -> anyhow::Result<Option<bool>>;
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
    pub cache_dir: Option<PathBuf>,
    /// Better levels than this are not tried.
    pub most: Level,
    /// Asked where nothing can be confined; without it such commands are refused.
    pub consent: Option<Rc<dyn Consent>>,
}

/// What the helper is told, as JSON in its second argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spec {
    level: Level,
    root: PathBuf,
    sealed: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    /// Files, directories and sockets that look empty: keys, and doors to other programs.
    hidden: Vec<PathBuf>,
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
        let ready = match self.ready.get() {
            Some(ready) => ready,
            None => {
                let ready = self.make_ready(helper)?;
                self.ready.get_or_init(|| ready)
            }
        };
        if let Some(ready) = ready {
            self.follow_moved(ready);
            let spec = serde_json::to_string(&*ready.spec.borrow())?;
            let before = vec![helper.into(), HELPER_WORD.into(), spec.into()];
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

    fn make_ready(&self, helper: &Path) -> anyhow::Result<Option<Ready>> {
        let wanted = &self.wanted;
        let nested = Nested::find(&self.root, &self.ignored()?, &existing(&wanted.writable));
        let mut reason = "this system has no way to do it".to_owned();
        for level in [Level::Namespaces, Level::Landlock] {
            if level > wanted.most || cfg!(not(target_os = "linux")) {
                continue;
            }
            let place = Place::open(wanted, &self.root, &self.env)
                .context("making a private place for commands")?;
            let spec = Spec {
                level,
                root: self.root.clone(),
                sealed: self.sealed(&nested),
                writable: place.writable(&wanted.writable),
                hidden: place.hidden(&wanted.writable),
                network: wanted.network,
            };
            let why = match try_out(helper, &spec, &self.root)? {
                None => {
                    if level == Level::Landlock {
                        self.weaker(level, &reason);
                    }
                    let (spec, nested) = (RefCell::new(spec), RefCell::new(nested));
                    return Ok(Some(Ready { spec, nested, place }));
                }
                Some(why) => why,
            };
            tracing::info!("no confinement by {}: {why}", level.word());
            reason = why;
        }
        self.weaker(Level::None, &reason);
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

    fn weaker(&self, level: Level, reason: &str) {
        if let Some(consent) = &self.wanted.consent {
            consent.weaker(level, reason);
        }
    }
}

/// Lets the helper try; answers with why it cannot.
fn try_out(helper: &Path, spec: &Spec, root: &Path) -> anyhow::Result<Option<String>> {
    let tried = std::process::Command::new(helper)
        .args([HELPER_WORD, &serde_json::to_string(spec)?, "true"])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(root)
        .stdin(std::process::Stdio::null())
        .output()
        .context("starting the helper that confines commands")?;
    if tried.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&tried.stderr);
    Ok(Some(said.lines().next().unwrap_or("the helper failed").trim().to_owned()))
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
