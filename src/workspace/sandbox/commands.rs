//! Confines the commands of one tree; the available level is detected before the first command.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;

use super::confinement::{Confinement, Level, Weaker};
use super::fetched::Fetched;
use super::fetching::Fetching;
#[cfg(target_os = "linux")]
use super::landlock;
use super::nested::Nested;
use super::place::checks::check_tree;
use super::place::{HomeOf, Place};
use super::spec::Spec;
use super::start::{before, try_out, with_overlays};
use super::why::Why;
use super::{beside, sweep, toolchains};
use crate::path_text::encoded;
use crate::private::PrivateFiles;
use crate::workspace::refusal::Refusal;
use crate::workspace::tracking::Tracking;

/// The confinement levels of this system, the best first.
const LEVELS: &[Level] = if cfg!(target_os = "linux") {
    &[Level::Namespaces, Level::Bubblewrap, Level::Landlock]
} else if cfg!(target_os = "macos") {
    &[Level::Seatbelt]
} else {
    &[]
};

/// How to start a confined command.
pub(crate) struct Confined {
    /// The program and its first arguments, placed before the command.
    pub(crate) before: Vec<OsString>,
    /// The environment.
    pub(crate) env: Vec<(OsString, OsString)>,
}

/// Confines the commands of one tree.
pub(crate) struct Sandbox {
    pub(super) wanted: Confinement,
    root: PathBuf,
    env: Vec<(OsString, OsString)>,
    tracking: Option<Rc<dyn Tracking>>,
    private: PrivateFiles,
    ready: OnceCell<Option<Ready>>,
}

/// The confinement found to work before the first command.
struct Ready {
    spec: RefCell<Spec>,
    nested: RefCell<Nested>,
    place: Place,
}

impl Sandbox {
    /// Confines commands in `root`; `env` is the environment of git-cowork.
    pub(crate) fn new(
        wanted: Confinement,
        root: &Path,
        env: Vec<(OsString, OsString)>,
        tracking: Option<Rc<dyn Tracking>>,
        private: PrivateFiles,
    ) -> Self {
        Self { wanted, root: root.to_owned(), env, tracking, private, ready: OnceCell::new() }
    }

    /// Returns how to run `command` with the environment `env`; `None` if it runs unconfined. Fails
    /// with a [`Refusal`] if it cannot be confined and nobody allows it to run unconfined. A check
    /// works in `folder`, if one is given: with mounts it sees it at the root of the tree.
    pub(crate) fn confine(
        &self,
        command: &str,
        env: &[(OsString, OsString)],
        of: HomeOf,
        folder: Option<&Path>,
    ) -> anyhow::Result<Option<Confined>> {
        match (&self.wanted.helper, self.ready()?) {
            (Some(helper), Some(ready)) if of == HomeOf::Checks => {
                self.confine_check(helper, ready, env, folder).map(Some)
            }
            _ => self.confine_with(command, env, &[]),
        }
    }

    /// Like [`Self::confine`], for a program that reaches servers through a proxy: connections to
    /// these loopback ports are forwarded to the proxy.
    pub(crate) fn confine_with(
        &self,
        command: &str,
        env: &[(OsString, OsString)],
        doors: &[u16],
    ) -> anyhow::Result<Option<Confined>> {
        let Some(helper) = &self.wanted.helper else {
            return Ok(None);
        };
        if let Some(ready) = self.ready()? {
            self.follow_moved(ready);
            let mut spec = self.without_private(ready.spec.borrow().clone())?;
            spec.doors = doors.to_vec();
            let before = before(helper, &ready.place, &spec)?;
            return Ok(Some(Confined {
                before,
                env: ready.place.environment(env, HomeOf::Commands),
            }));
        }
        self.refuse_private()?;
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
                 to allow them one by one; work with the file tools, and let a person run the code",
            )
            .into()),
        }
    }

    fn confine_check(
        &self,
        helper: &Path,
        ready: &Ready,
        env: &[(OsString, OsString)],
        folder: Option<&Path>,
    ) -> anyhow::Result<Confined> {
        let place = &ready.place;
        self.follow_moved(ready);
        let mut spec = self.without_private(ready.spec.borrow().clone())?;
        if let Some(folder) = folder {
            let git = self.root.join(".git");
            spec.sealed.retain(|path| !path.starts_with(&self.root) || *path == git);
            match spec.level.has_mounts() {
                true => spec.content = Some(folder.to_owned()),
                false => spec.root = folder.to_owned(),
            }
        }
        // With the network, commands install in their home what the checks need.
        if self.wanted.network {
            let before = before(helper, place, &spec)?;
            return Ok(Confined { before, env: place.environment(env, HomeOf::Commands) });
        }
        place
            .renew_for_check(&self.wanted.git_settings)
            .context("creating $HOME for the project's checks")?;
        spec.writable = place.writable_for_check(&self.wanted.writable);
        spec.covers = place.covers_in("check").context("creating the directories of checks")?;
        let before = before(helper, place, &spec)?;
        Ok(Confined { before, env: place.environment(env, HomeOf::Checks) })
    }

    /// The folder that holds the tree for checks, which no command can write; `None` if nothing is
    /// confined.
    pub(crate) fn check_folder(&self) -> anyhow::Result<Option<PathBuf>> {
        Ok(self.ready()?.map(|ready| check_tree(&ready.place)))
    }

    /// Returns how to run a command that fetches dependencies; `None` if nothing is confined.
    pub(crate) fn confine_to_fetch(
        &self,
        env: &[(OsString, OsString)],
    ) -> anyhow::Result<Option<Confined>> {
        let (Some(helper), Some(ready)) = (&self.wanted.helper, self.ready()?) else {
            return Ok(None);
        };
        let env = ready.place.environment_to_fetch(env).context("creating $HOME for the fetch")?;
        self.follow_moved(ready);
        let mut spec = self.without_private(ready.spec.borrow().clone())?;
        spec.network = true;
        spec.writable = ready.place.writable_to_fetch(&self.wanted.writable);
        spec.covers =
            ready.place.covers_in("fetch").context("creating the directories for downloads")?;
        spec.kept = ready.place.kept(true);
        Ok(Some(Confined { before: before(helper, &ready.place, &spec)?, env }))
    }

    /// True if the kernel denies commands network access.
    pub(crate) fn keeps_off_network(&self) -> anyhow::Result<bool> {
        Ok(!self.wanted.network && self.ready()?.is_some())
    }

    /// True if commands have network access.
    pub(crate) fn has_network(&self) -> bool {
        self.wanted.network
    }

    /// True if some files must stay hidden from commands.
    pub(crate) fn has_private(&self) -> bool {
        self.private.is_set()
    }

    /// True if the requested folders of other working trees are mounted for commands.
    pub(crate) fn has_overlays(&self) -> anyhow::Result<bool> {
        Ok(self.ready()?.is_some_and(|ready| !ready.spec.borrow().overlays.is_empty()))
    }

    /// The strongest level of confinement that works on this system.
    pub(crate) fn level(&self) -> anyhow::Result<Level> {
        Ok(self.ready()?.map_or(Level::None, |ready| ready.spec.borrow().level))
    }

    /// True if commands see only a part of the home directory.
    pub(super) fn closes_home(&self) -> anyhow::Result<bool> {
        Ok(self.ready()?.is_some_and(|ready| ready.place.closes_home()))
    }

    /// The dependencies fetched for the project; `None` if nothing is confined.
    pub(crate) fn fetched(&self) -> Option<Fetched<'_>> {
        Some(Fetched(self.place()?.fetched()))
    }

    /// From now on, lets commands see the dependencies fetched for a package manager, or hides
    /// them.
    pub(crate) fn use_fetched(&self, manager: &'static str, used: bool) {
        if let Some(place) = self.place() {
            place.set_used(manager, used);
        }
    }

    /// From now on, lets commands see these Python packages.
    pub(crate) fn use_python(&self, packages: PathBuf) {
        if let Some(place) = self.place() {
            place.set_python(packages);
        }
    }

    /// The private directories of commands; `None` before they are created.
    fn place(&self) -> Option<&Place> {
        Some(&self.ready.get()?.as_ref()?.place)
    }

    /// Asks a person before dependencies are fetched; `None` if nobody is ever asked.
    pub(crate) fn person(&self) -> Option<&dyn Fetching> {
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
            true => "stronger confinement is disabled",
            false => "this system does not support confinement",
        });
        for level in LEVELS.iter().copied().filter(|level| *level <= wanted.most) {
            let outside = wanted.network || !wanted.hosts.is_empty();
            let mut place = Place::open(wanted, &self.root, &self.env, level)
                .context("creating private directories for commands")?;
            let mut spec = Spec {
                level,
                root: self.root.clone(),
                content: None,
                sealed: self.sealed(&nested),
                writable: place.writable(&wanted.writable),
                hidden: self.hidden(&place, level, &nested),
                covers: place.covers(),
                closed: place.homes(),
                kept: place.kept(outside),
                overlays: Vec::new(),
                shown: match level.has_mounts() {
                    true => place.shown(&wanted.shown).context("writing what commands see")?,
                    false => Vec::new(),
                },
                users: users(&place, level).context("listing the users for commands")?,
                network: wanted.network,
                doors: Vec::new(),
                inside: false,
            };
            match try_out(helper, &place, &spec, &self.root)? {
                None => {
                    if level == Level::Landlock {
                        self.weaker(level, why);
                    }
                    let beside = self.beside(&spec)?;
                    if !beside.is_empty() {
                        place.let_read(&beside);
                        spec.hidden = self.hidden(&place, level, &nested);
                        spec.kept = place.kept(outside);
                    }
                    let spec = with_overlays(helper, &place, spec, wanted)?;
                    let (spec, nested) = (RefCell::new(spec), RefCell::new(nested));
                    return Ok(Some(Ready { spec, nested, place }));
                }
                Some(told) => {
                    tracing::info!("no confinement by {}: {}", level.word(), told.cause);
                    // The failure of bubblewrap is not reported: the remedy is to make namespaces
                    // work without it.
                    if level != Level::Bubblewrap {
                        why = told;
                    }
                }
            }
        }
        self.weaker(Level::None, why);
        Ok(None)
    }

    /// Returns the paths in closed homes that manifests name and the user lets commands read.
    fn beside(&self, spec: &Spec) -> anyhow::Result<Vec<PathBuf>> {
        let Some(consent) = &self.wanted.consent else { return Ok(Vec::new()) };
        let is_below = |path: &Path, all: &[PathBuf]| all.iter().any(|one| path.starts_with(one));
        let mut named = match spec.closed.is_empty() {
            true => Vec::new(),
            false => beside::named(&self.root),
        };
        named.retain(|one| {
            is_below(&one.path, &spec.closed)
                && !spec.closed.contains(&one.path)
                // The author of a manifest may be after credentials: never prompt for hidden paths.
                && !is_below(&one.path, &spec.hidden)
                && !is_below(&one.path, &spec.kept)
                && !is_below(&one.path, &spec.writable)
        });
        let allowed = !named.is_empty() && consent.may_read(&named)?;
        Ok(if allowed { named.into_iter().map(|one| one.path).collect() } else { Vec::new() })
    }

    /// The paths that git ignores; empty without git.
    fn ignored(&self) -> anyhow::Result<BTreeSet<PathBuf>> {
        let Some(tracking) = &self.tracking else { return Ok(BTreeSet::new()) };
        Ok(tracking.ignored()?.into_iter().map(|path| self.root.join(path)).collect())
    }

    /// The paths to hide from commands.
    fn hidden(&self, place: &Place, level: Level, nested: &Nested) -> Vec<PathBuf> {
        let mut hidden = place.hidden(&self.wanted.writable);
        if level.has_mounts() {
            hidden.extend(nested.closed().iter().cloned());
        }
        let shown = self.wanted.shown.iter().filter(|_| !level.has_mounts());
        hidden.extend(shown.filter_map(|(path, _)| path.canonicalize().ok()));
        let hides = |path: &PathBuf| !self.root.starts_with(path);
        hidden.extend(existing(&self.wanted.hidden).into_iter().filter(hides));
        hidden
    }

    fn sealed(&self, nested: &Nested) -> Vec<PathBuf> {
        let wanted = existing(&self.wanted.sealed).into_iter();
        without_inner(wanted.chain(nested.paths().cloned()).collect())
    }

    /// Adds a tree's private files to the hidden paths, and also git's directories, from which
    /// every file that was ever committed can be read.
    fn without_private(&self, mut spec: Spec) -> anyhow::Result<Spec> {
        if !self.private.is_set() {
            return Ok(spec);
        }
        if !spec.level.has_mounts() {
            self.refuse_private()?;
        }
        let real = |path: String| self.root.join(encoded(&path)).canonicalize().ok();
        let places = self.private.with_other_names(&self.root).into_iter().filter_map(real);
        // A link to a folder that contains the tree would hide the whole tree.
        spec.hidden.extend(places.filter(|path| !self.root.starts_with(path)));
        let mut git = spec.sealed.clone();
        // A linked working tree is sealed as a whole; its repository is in the list, too.
        git.retain(|path| !path.ends_with(".cowork") && !path.join(".git").exists());
        let lent = git.iter().flat_map(|dir| toolchains::lent(dir));
        spec.hidden.extend(lent.filter_map(|path| path.canonicalize().ok()));
        spec.hidden.extend(git);
        Ok(spec)
    }

    fn refuse_private(&self) -> Result<(), Refusal> {
        if !self.private.is_set() {
            return Ok(());
        }
        Err(Refusal::failed(
            "no command can be run: this machine cannot hide the private files from commands",
        ))
    }

    /// Keeps repositories below the tree sealed after an earlier command moved them.
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

#[cfg(target_os = "linux")]
fn has_unix_sockets() -> bool {
    landlock::has_unix_sockets()
}

#[cfg(not(target_os = "linux"))]
fn has_unix_sockets() -> bool {
    false
}

/// The user list that commands see instead of the system's, if they need one.
#[cfg(target_os = "linux")]
fn users(place: &Place, level: Level) -> std::io::Result<Option<PathBuf>> {
    if level.has_mounts() { place.users() } else { Ok(None) }
}

#[cfg(not(target_os = "linux"))]
fn users(_place: &Place, _level: Level) -> std::io::Result<Option<PathBuf>> {
    Ok(None)
}

/// Returns the existing paths with links resolved. A symbolic link itself stays in the list too,
/// so that the helper reports that it cannot be sealed.
pub(super) fn existing(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in paths {
        if path.is_symlink() {
            found.push(path.clone());
        }
        found.extend(path.canonicalize());
    }
    without_inner(found)
}

/// Removes duplicates and paths below another one.
fn without_inner(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup_by(|a, b| a.starts_with(&*b));
    paths
}
