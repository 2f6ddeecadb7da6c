//! Confining the commands of one tree: which level works is found out before the first of them.

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
use super::place::Place;
use super::spec::{HELPER_WORD, Spec};
use super::why::Why;
use super::{beside, installed, seatbelt, sweep};
use crate::private::PrivateFiles;
use crate::workspace::refusal::Refusal;
use crate::workspace::tracking::Tracking;

/// Longer specifications are handed over in a file: Linux takes no argument of 128 KiB, and a tree
/// may hold a thousand repositories.
const ARGUMENT_MAX: usize = 64 * 1024;

/// What this system may have, the best first.
const LEVELS: &[Level] = if cfg!(target_os = "linux") {
    &[Level::Namespaces, Level::Bubblewrap, Level::Landlock]
} else if cfg!(target_os = "macos") {
    &[Level::Seatbelt]
} else {
    &[]
};

/// A command's surroundings.
pub(crate) struct Confined {
    /// The program and its first arguments, to be put before the command.
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

/// What was found out before the first command.
struct Ready {
    spec: RefCell<Spec>,
    nested: RefCell<Nested>,
    place: Place,
}

impl Sandbox {
    /// For commands in `root` of a program that has the environment `env`.
    pub(crate) fn new(
        wanted: Confinement,
        root: &Path,
        env: Vec<(OsString, OsString)>,
        tracking: Option<Rc<dyn Tracking>>,
        private: PrivateFiles,
    ) -> Self {
        Self { wanted, root: root.to_owned(), env, tracking, private, ready: OnceCell::new() }
    }

    /// How to run `command`, whose environment would be `env`; `None` as it is. Fails with a
    /// [`Refusal`] where it cannot be confined and nobody allows that.
    pub(crate) fn confine(
        &self,
        command: &str,
        env: &[(OsString, OsString)],
    ) -> anyhow::Result<Option<Confined>> {
        self.confine_with(command, env, &[])
    }

    /// The same for a program that reaches servers through a proxy: connections to these ports of its
    /// loopback are handed out to it.
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
            return Ok(Some(Confined { before, env: ready.place.environment(env) }));
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
                 to allow them one by one; work with the file tools, and leave running the code to \
                 a person",
            )
            .into()),
        }
    }

    /// How to run the command that fetches dependencies; `None` where nothing is confined.
    pub(crate) fn confine_to_fetch(
        &self,
        env: &[(OsString, OsString)],
    ) -> anyhow::Result<Option<Confined>> {
        let (Some(helper), Some(ready)) = (&self.wanted.helper, self.ready()?) else {
            return Ok(None);
        };
        let env = ready.place.environment_to_fetch(env).context("making a home to fetch in")?;
        self.follow_moved(ready);
        let mut spec = self.without_private(ready.spec.borrow().clone())?;
        spec.network = true;
        spec.writable = ready.place.writable_to_fetch(&self.wanted.writable);
        spec.covers = ready.place.covers_to_fetch().context("making a place to fetch in")?;
        spec.kept = ready.place.kept(true);
        Ok(Some(Confined { before: before(helper, &ready.place, &spec)?, env }))
    }

    /// Whether commands are kept off the network by the kernel.
    pub(crate) fn keeps_off_network(&self) -> anyhow::Result<bool> {
        Ok(!self.wanted.network && self.ready()?.is_some())
    }

    /// Whether commands have the network.
    pub(crate) fn has_network(&self) -> bool {
        self.wanted.network
    }

    /// Whether some files are to be kept from commands.
    pub(crate) fn has_private(&self) -> bool {
        self.private.is_set()
    }

    /// Whether commands see the folders of other trees that they were to see.
    pub(crate) fn has_overlays(&self) -> anyhow::Result<bool> {
        Ok(self.ready()?.is_some_and(|ready| !ready.spec.borrow().overlays.is_empty()))
    }

    /// The best level that works here.
    pub(crate) fn level(&self) -> anyhow::Result<Level> {
        Ok(self.ready()?.map_or(Level::None, |ready| ready.spec.borrow().level))
    }

    /// Whether commands see only some of the home.
    pub(super) fn closes_home(&self) -> anyhow::Result<bool> {
        Ok(self.ready()?.is_some_and(|ready| ready.place.closes_home()))
    }

    /// What was fetched for the project; `None` where nothing is confined.
    pub(crate) fn fetched(&self) -> Option<Fetched<'_>> {
        Some(Fetched(self.place()?.fetched()))
    }

    /// From now on commands find what was fetched for a package manager, or not any more.
    pub(crate) fn use_fetched(&self, manager: &'static str, used: bool) {
        if let Some(place) = self.place() {
            place.set_used(manager, used);
        }
    }

    /// From now on commands find these packages of Python.
    pub(crate) fn use_python(&self, packages: PathBuf) {
        if let Some(place) = self.place() {
            place.set_python(packages);
        }
    }

    /// The place of commands, once it is made.
    fn place(&self) -> Option<&Place> {
        Some(&self.ready.get()?.as_ref()?.place)
    }

    /// Who is asked before something is fetched.
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
            true => "nothing better was to be tried",
            false => "this system has no way to do it",
        });
        for level in LEVELS.iter().copied().filter(|level| *level <= wanted.most) {
            let outside = wanted.network || !wanted.hosts.is_empty();
            let mut place = Place::open(wanted, &self.root, &self.env, level)
                .context("making a private place for commands")?;
            let mut spec = Spec {
                level,
                root: self.root.clone(),
                sealed: self.sealed(&nested),
                writable: place.writable(&wanted.writable),
                hidden: self.hidden(&place),
                covers: place.covers(),
                closed: place.homes(),
                kept: place.kept(outside),
                overlays: Vec::new(),
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
                        spec.hidden = self.hidden(&place);
                        spec.kept = place.kept(outside);
                    }
                    let spec = with_overlays(helper, &place, spec, wanted)?;
                    let (spec, nested) = (RefCell::new(spec), RefCell::new(nested));
                    return Ok(Some(Ready { spec, nested, place }));
                }
                Some(told) => {
                    tracing::info!("no confinement by {}: {}", level.word(), told.cause);
                    // What would help is what is in the way of doing without bubblewrap.
                    if level != Level::Bubblewrap {
                        why = told;
                    }
                }
            }
        }
        self.weaker(Level::None, why);
        Ok(None)
    }

    /// What commands read of what manifests name below a home that is closed.
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
                // Whoever wrote the manifest may want a login: that is not asked for.
                && !is_below(&one.path, &spec.hidden)
                && !is_below(&one.path, &spec.kept)
                && !is_below(&one.path, &spec.writable)
        });
        let allowed = !named.is_empty() && consent.may_read(&named)?;
        Ok(if allowed { named.into_iter().map(|one| one.path).collect() } else { Vec::new() })
    }

    /// What git ignores, as far as that is known.
    fn ignored(&self) -> anyhow::Result<BTreeSet<PathBuf>> {
        let Some(tracking) = &self.tracking else { return Ok(BTreeSet::new()) };
        Ok(tracking.ignored()?.into_iter().map(|path| self.root.join(path)).collect())
    }

    /// What is not to be seen.
    fn hidden(&self, place: &Place) -> Vec<PathBuf> {
        let mut hidden = place.hidden(&self.wanted.writable);
        hidden.extend(existing(&self.wanted.hidden));
        hidden
    }

    fn sealed(&self, nested: &Nested) -> Vec<PathBuf> {
        let mut sealed = existing(&self.wanted.sealed);
        sealed.extend(nested.paths().cloned());
        without_inner(sealed)
    }

    /// The same for a tree with private files: these look empty, and so does all that git keeps, where
    /// every file that was ever committed can be read.
    fn without_private(&self, mut spec: Spec) -> anyhow::Result<Spec> {
        if !self.private.is_set() {
            return Ok(spec);
        }
        if !spec.level.has_mounts() {
            self.refuse_private()?;
        }
        let places = self.private.below(&self.root).into_iter().map(|path| self.root.join(path));
        // A link that leads to what holds the tree would hide all of it.
        let places = places.filter_map(|path| path.canonicalize().ok());
        spec.hidden.extend(places.filter(|path| !self.root.starts_with(path)));
        let git = spec.sealed.iter().filter(|path| !path.ends_with(".cowork"));
        let git: Vec<PathBuf> = git.cloned().collect();
        let lent = git.iter().flat_map(|dir| installed::lent(dir));
        spec.hidden.extend(lent.filter_map(|path| path.canonicalize().ok()));
        spec.hidden.extend(git);
        Ok(spec)
    }

    fn refuse_private(&self) -> Result<(), Refusal> {
        if !self.private.is_set() {
            return Ok(());
        }
        Err(Refusal::failed(
            "no command can be run: some files are private, and nothing here keeps commands from them",
        ))
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
fn before(helper: &Path, place: &Place, spec: &Spec) -> anyhow::Result<Vec<OsString>> {
    if cfg!(target_os = "macos") {
        let profile = seatbelt::profile(spec);
        return Ok(vec!["/usr/bin/sandbox-exec".into(), "-p".into(), profile.into()]);
    }
    let mut spec = serde_json::to_string(spec)?;
    if spec.len() > ARGUMENT_MAX {
        let file = place.keep_spec(&spec).context("writing what a command may reach")?;
        spec = format!("@{}", file.display());
    }
    Ok(vec![helper.into(), HELPER_WORD.into(), spec.into()])
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

/// The same with the folders of other trees, where the kernel and the file system can do that.
fn with_overlays(
    helper: &Path,
    place: &Place,
    spec: Spec,
    wanted: &Confinement,
) -> anyhow::Result<Spec> {
    if wanted.overlays.is_empty() || spec.level != Level::Namespaces {
        return Ok(spec);
    }
    let with = Spec { overlays: wanted.overlays.clone(), ..spec.clone() };
    match try_out(helper, place, &with, &spec.root)? {
        None => Ok(with),
        Some(why) => {
            tracing::info!("no overlays: {}", why.cause);
            Ok(spec)
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

/// The list of users that commands see instead of the system's, where they need one.
#[cfg(target_os = "linux")]
fn users(place: &Place, level: Level) -> std::io::Result<Option<PathBuf>> {
    if level.has_mounts() { place.users() } else { Ok(None) }
}

#[cfg(not(target_os = "linux"))]
fn users(_place: &Place, _level: Level) -> std::io::Result<Option<PathBuf>> {
    Ok(None)
}

/// With links resolved. A symbolic link stays one: it cannot be sealed, and the helper says so.
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

/// Each once, and none below another.
fn without_inner(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup_by(|a, b| a.starts_with(&*b));
    paths
}
