//! A command's own directories: a home with the caches of build tools, a directory for temporary
//! files, and the visible parts of the user's home. The project's checks have directories of their
//! own (`checks`), in which no command of a model has written.
//!
//! Tools find installed software in the real home (toolchains, fetched crates and modules) and
//! write to the private home.

pub(super) mod checks;
mod environment;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::confinement::{Confinement, Level};
use super::covers::{self, Cover};
use super::own_files::{self, LentFiles};
use super::settings::{self, Home};
use super::store_links::StoreLinks;
use super::toolchains::{self, Closed};
use super::{hidden, homes, logins, sweep};

/// Whose directories a command works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HomeOf {
    /// Those of a model's commands, which last from one command to the next.
    Commands,
    /// Those of the project's own build, tests and lint: new for each of them, but for caches that
    /// only they write.
    Checks,
}

/// The directories of commands, removed or unlocked on drop.
pub(super) struct Place {
    root: PathBuf,
    home: PathBuf,
    /// Caches that only the project's checks write.
    checked: PathBuf,
    fetched: PathBuf,
    temp: TempDir,
    /// The commands' own directories; empty without mounts.
    covers: Vec<Cover>,
    /// Homes of which commands see only installed software and named paths.
    homes: Vec<PathBuf>,
    /// Files of an agent program in a home directory.
    own: LentFiles,
    /// Removes links from those files.
    _links: StoreLinks,
    /// Paths in a home that the user made readable.
    readable: Vec<PathBuf>,
    /// Settings files, with the variables that name them.
    settings: Vec<(&'static str, PathBuf)>,
    /// Object directories that the repository borrows from.
    lent: Vec<PathBuf>,
    /// Shows other runs that this one is alive.
    _lock: File,
    /// Keeps other runs from removing the cache.
    _in_use: Option<File>,
    theirs: BTreeMap<OsString, OsString>,
    network: bool,
    /// Package managers whose fetched packages replace those of the real home.
    used: RefCell<BTreeSet<&'static str>>,
    /// Directories of fetched Python packages, one per project.
    python: RefCell<BTreeSet<PathBuf>>,
}

impl Place {
    /// Creates the directories for this confinement level; `env` is the environment of git-cowork.
    pub(super) fn open(
        wanted: &Confinement,
        root: &Path,
        env: &[(OsString, OsString)],
        level: Level,
    ) -> std::io::Result<Self> {
        let temp = tempfile::Builder::new().prefix(sweep::PREFIX).tempdir()?;
        let lock = sweep::lock(temp.path())?;
        let lasting = wanted.cache.as_ref().and_then(|cache| cache.open().ok());
        let (base, in_use) = match lasting {
            Some((dir, in_use)) => (dir, Some(in_use)),
            None => (temp.path().canonicalize()?, None),
        };
        let [home, checked, fetched] = ["home", "checks", "fetched"].map(|name| base.join(name));
        let (tmp, fetch) = (temp.path().join("tmp"), temp.path().join("fetch"));
        for dir in [&home, &checked, &fetched, &tmp, &fetch] {
            std::fs::create_dir_all(dir)?;
        }
        let theirs: BTreeMap<_, _> = env.iter().cloned().collect();
        let real = real_home(&theirs);
        let settings = settings::named(&temp.path().join("settings"), real.as_deref(), &theirs)?;
        let own = Home::open(&home)?;
        own.write(real.as_deref(), &wanted.git_settings);
        own.own(".cache")?;
        let mut readable = existing([], &wanted.readable);
        let mut needed = existing([root.to_owned()], &wanted.writable);
        needed.push(root.to_owned());
        let covers = match level {
            Level::Namespaces | Level::Bubblewrap => covers::make(&needed, temp.path())?,
            _ => Vec::new(),
        };
        needed.extend(readable.iter().cloned());
        let homes = homes::closed(&theirs, &covers, &needed);
        let own = match level.has_mounts() {
            true => own_files::mounted(&wanted.own, &homes, &temp.path().join("own"))?,
            false => own_files::by_rules(&wanted.own),
        };
        let links = StoreLinks::before(&wanted.own, temp.path())?;
        readable.extend(own.readable.iter().cloned());
        let place = Self {
            root: root.to_owned(),
            home,
            checked,
            fetched,
            temp,
            homes,
            covers,
            own,
            _links: links,
            readable,
            settings,
            lent: wanted.sealed.iter().flat_map(|dir| toolchains::lent(dir)).collect(),
            _lock: lock,
            _in_use: in_use,
            theirs,
            network: wanted.network,
            used: RefCell::default(),
            python: RefCell::default(),
        };
        place.link_crates()?;
        Ok(place)
    }

    fn tmp(&self) -> PathBuf {
        self.temp.path().join("tmp")
    }

    /// The directory for temporary files, `own`, as a command sees it. Its path is short if
    /// possible: the path of a UNIX socket must not be longer than 107 bytes.
    fn tmp_within(&self, own: PathBuf) -> PathBuf {
        let real = Path::new("/tmp");
        let is_there = |cover: &Cover| {
            cover.with.is_some() && real.canonicalize().is_ok_and(|at| at == cover.at)
        };
        if self.covers.iter().any(is_there) { real.to_owned() } else { own }
    }

    /// The commands' own directories.
    pub(super) fn covers(&self) -> Vec<Cover> {
        self.covers.iter().chain(&self.own.covers).cloned().collect()
    }

    /// The fetch step's own directories (`fetch`) or those of a check (`check`); call after they
    /// were made.
    pub(super) fn covers_in(&self, name: &str) -> std::io::Result<Vec<Cover>> {
        let needed = [self.root.clone()];
        let others = covers::make(&needed, &self.temp.path().join(name))?;
        let as_before = |cover: &Cover| self.covers.iter().any(|own| own.at == cover.at);
        Ok(others.into_iter().filter(as_before).collect())
    }

    /// Homes of which commands see only the kept paths.
    pub(super) fn homes(&self) -> Vec<PathBuf> {
        self.homes.clone()
    }

    /// True if the home named by the environment is closed.
    pub(super) fn closes_home(&self) -> bool {
        let home = real_home(&self.theirs).and_then(|home| home.canonicalize().ok());
        home.is_some_and(|home| self.homes.contains(&home))
    }

    /// Makes these paths readable for commands.
    pub(super) fn let_read(&mut self, paths: &[PathBuf]) {
        self.readable.extend(existing([], paths));
    }

    /// Installed software and named paths below covered or closed directories.
    pub(super) fn kept(&self, network: bool) -> Vec<PathBuf> {
        let mut more = self.lent.clone();
        more.push(self.fetched.clone());
        more.extend(self.readable.iter().cloned());
        more.extend(self.settings.iter().map(|(_, file)| file.clone()));
        let covered = self.covers.iter().map(|cover| &cover.at);
        let all = covered.chain(&self.homes).cloned().collect();
        let mut kept = Closed { all, homes: self.homes.clone() }.kept(&self.theirs, network, &more);
        // What is visible of the agent program's files is mounted separately.
        kept.retain(|path| !self.own.covers.iter().any(|cover| path.starts_with(&cover.at)));
        kept
    }

    /// Path of the user list (`/etc/passwd`) for commands, if they need one other than the
    /// system's.
    #[cfg(target_os = "linux")]
    pub(super) fn users(&self) -> std::io::Result<Option<PathBuf>> {
        super::users::list_with_own(self.temp.path())
    }

    /// Directory of the project's fetched dependencies, read-only for commands.
    pub(super) fn fetched(&self) -> &Path {
        &self.fetched
    }

    /// Writes the other content of files that commands see.
    pub(super) fn shown(&self, files: &[(PathBuf, String)]) -> std::io::Result<Vec<Cover>> {
        let folder = self.temp.path().join("shown");
        let mut shown = Vec::new();
        for (number, (path, text)) in files.iter().enumerate() {
            let Ok(at) = path.canonicalize() else { continue };
            std::fs::create_dir_all(&folder)?;
            let with = folder.join(number.to_string());
            std::fs::write(&with, text)?;
            shown.push(Cover { at, with: Some(with), read_only: true });
        }
        Ok(shown)
    }

    /// Writes a specification to a file that commands cannot write, and returns the file's path.
    pub(super) fn keep_spec(&self, spec: &str) -> std::io::Result<PathBuf> {
        let file = self.temp.path().join("spec.json");
        std::fs::write(&file, spec)?;
        Ok(file)
    }

    /// From now on, lets commands see the dependencies fetched for a package manager, or hides
    /// them.
    pub(super) fn set_used(&self, manager: &'static str, used: bool) {
        if used {
            self.used.borrow_mut().insert(manager);
        } else {
            self.used.borrow_mut().remove(manager);
        }
        if manager == "cargo"
            && let Err(error) = self.link_crates()
        {
            tracing::info!("cannot make the fetched crates available to commands: {error}");
        }
    }

    /// Shows commands these Python packages from now on.
    pub(super) fn set_python(&self, packages: PathBuf) {
        self.python.borrow_mut().insert(packages);
    }

    fn uses(&self, manager: &str) -> bool {
        self.used.borrow().contains(manager)
    }

    /// The path named by variable `name`, or else `path` in the real home, if it exists. Links are
    /// resolved, since in a closed home the link is not visible.
    fn real(&self, name: &str, path: &str) -> Option<PathBuf> {
        let set = self.theirs.get(OsStr::new(name)).map(PathBuf::from);
        set.or_else(|| Some(real_home(&self.theirs)?.join(path)))?.canonicalize().ok()
    }

    /// Cargo's configuration without credentials.
    fn of_cargo(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.real("CARGO_HOME", ".cargo")?.join(name)).ok()?;
        logins::without(&text)
    }

    /// Links the crates that are already fetched: offline, cargo only needs to read them.
    fn link_crates(&self) -> std::io::Result<()> {
        let real = self.real("CARGO_HOME", ".cargo");
        let crates = if self.uses("cargo") { Some(self.fetched.join("cargo")) } else { real };
        let private = Home::open(&self.home)?.own(".cargo")?;
        for name in ["registry", "git"] {
            settings::relink(crates.as_ref().map(|from| from.join(name)), &private, name)?;
        }
        for name in ["config.toml", "config"] {
            settings::put(&private, name, self.of_cargo(name));
        }
        Ok(())
    }

    /// The writable paths besides the tree.
    pub(super) fn writable(&self, extras: &[PathBuf]) -> Vec<PathBuf> {
        let mut writable = existing([self.home.clone(), self.tmp()], extras);
        writable.extend(self.own.writable.iter().cloned());
        writable
    }

    /// Writable paths besides the tree for the fetch step: none that another command may have
    /// prepared, except npm's cache, from which npm takes only content whose hashes are in the lock
    /// file.
    pub(super) fn writable_to_fetch(&self, extras: &[PathBuf]) -> Vec<PathBuf> {
        let mut writable = existing([self.fetched.clone(), self.temp.path().join("fetch")], extras);
        writable.extend(self.npm_cache());
        writable
    }

    /// npm's cache, which the fetch step shares with commands, so that they can install the fetched
    /// packages again. `None` if it is not a directory: a command could replace it by a link.
    fn npm_cache(&self) -> Option<PathBuf> {
        let cache = self.home.join(".npm");
        let _ = std::fs::create_dir(&cache);
        cache.symlink_metadata().is_ok_and(|found| found.is_dir()).then_some(cache)
    }

    /// The hidden paths; never one that contains a path a command works with.
    pub(super) fn hidden(&self, extras: &[PathBuf]) -> Vec<PathBuf> {
        let mut needed = self.writable(extras);
        needed.extend(self.writable_to_fetch(&[]));
        needed.push(self.checked.clone());
        needed.push(self.root.clone());
        needed.extend(self.own.places.iter().cloned());
        hidden::among(&self.theirs, &needed, &self.readable)
    }
}

/// Returns the existing paths with links resolved.
fn existing<const N: usize>(own: [PathBuf; N], extras: &[PathBuf]) -> Vec<PathBuf> {
    own.iter().chain(extras).filter_map(|path| path.canonicalize().ok()).collect()
}

fn real_home(env: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    env.get(OsStr::new("HOME")).map(PathBuf::from).filter(|home| home.is_absolute())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::super::sweep::Cache;
    use super::*;

    struct People(TempDir);

    impl People {
        fn new(files: &[&str]) -> Self {
            let home = Self(TempDir::new().unwrap());
            for file in files {
                std::fs::create_dir_all(home.path(file).parent().unwrap()).unwrap();
                std::fs::write(home.path(file), "").unwrap();
            }
            home
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn place(&self, root: &str, more: &[(&str, &str)]) -> Place {
            let cache = Some(Cache { dir: self.path("caches/one"), of: self.path("") });
            let wanted = Confinement { cache, ..Confinement::default() };
            let mut env = vec![("HOME".into(), self.path("").into())];
            env.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
            Place::open(&wanted, &self.path(root), &env, Level::Landlock).unwrap()
        }
    }

    #[test]
    fn installed_software_is_found_and_writes_are_private() {
        let home = People::new(&[".cargo/registry/x", ".rustup/toolchains/x", ".config/go/env"]);
        let place = home.place("tree", &[]);
        let given = [("HOME", "/h"), ("NPM_CONFIG_CACHE", "/n"), ("CARGO_TARGET_DIR", "/t")];
        let given = given.map(|(name, value)| (name.into(), value.into()));
        let env: BTreeMap<_, _> = place.environment(&given, HomeOf::Commands).into_iter().collect();
        let at = |name: &str| PathBuf::from(&env[OsStr::new(name)]);
        let private = home.path("caches/one/home");
        assert_eq!(at("HOME"), private);
        for name in ["CARGO_HOME", "npm_config_cache", "GOCACHE", "CARGO_TARGET_DIR"] {
            assert!(at(name).starts_with(&private), "{name}");
        }
        assert!(at("TMPDIR").is_dir() && !env.contains_key(OsStr::new("NPM_CONFIG_CACHE")));
        assert!(at("CARGO_HOME").join("registry/x").exists());
        assert_eq!(at("RUSTUP_HOME"), home.path(".rustup"));
        assert!(private.join(".gitconfig").exists() && at("GOENV").exists());
        assert!(place.homes().contains(&home.path("")));
        assert!(place.kept(false).contains(&home.path(".rustup")));
        assert!(!env.contains_key(OsStr::new("GOMODCACHE")));
    }

    #[test]
    fn fetched_dependencies_are_found_and_only_the_fetch_step_writes_them() {
        let home = People::new(&[".cargo/registry/real", ".cargo/config.toml", "go/pkg/mod/x"]);
        let tree = home.path("tree").display().to_string();
        let path = format!("{tree}/bin:/usr/bin:relative");
        let place = home.place("tree", &[("https_proxy", "http://proxy")]);
        let given = [("PATH".into(), path.into()), ("GOFLAGS".into(), "-v".into())];
        let fetched = home.path("caches/one/fetched");
        let map = |env: Vec<(OsString, OsString)>| -> BTreeMap<String, String> {
            let text = |text: OsString| text.into_string().unwrap();
            env.into_iter().map(|(name, value)| (text(name), text(value))).collect()
        };
        let before = map(place.environment(&given, HomeOf::Commands));
        assert_eq!(before["GOMODCACHE"], home.path("go/pkg/mod").display().to_string());
        assert_eq!(
            (before["CARGO_NET_OFFLINE"].as_str(), &*before["GOFLAGS"]),
            ("true", "-v -modcacherw")
        );
        assert!(!before.contains_key("https_proxy"));

        let step = map(place.environment_to_fetch(&given).unwrap());
        assert_eq!((step["PATH"].as_str(), &*step["https_proxy"]), ("/usr/bin", "http://proxy"));
        for name in ["CARGO_HOME", "GOMODCACHE", "npm_config_store_dir", "XDG_CACHE_HOME"] {
            assert!(Path::new(&step[name]).starts_with(&fetched), "{name}");
        }
        for name in ["HOME", "TMPDIR"] {
            assert!(place.writable(&[]).iter().all(|dir| !Path::new(&step[name]).starts_with(dir)));
        }
        assert!(!step.contains_key("CARGO_NET_OFFLINE"));
        let private = Path::new(&before["HOME"]);
        let writable =
            || place.writable_to_fetch(&[]).into_iter().filter(|d| !d.starts_with(&fetched));
        assert_eq!(writable().filter(|dir| dir.starts_with(private)).count(), 1);
        std::fs::remove_dir(private.join(".npm")).unwrap();
        std::os::unix::fs::symlink(home.path(""), private.join(".npm")).unwrap();
        assert_eq!(writable().count(), 1);
        assert!(fetched.join("cargo/config.toml").exists());
        assert!(place.writable(&[]).iter().all(|dir| !fetched.starts_with(dir)));

        std::fs::create_dir_all(fetched.join("cargo/registry")).unwrap();
        std::fs::write(fetched.join("cargo/registry/fetched"), "").unwrap();
        let crates = PathBuf::from(&before["CARGO_HOME"]).join("registry");
        assert!(crates.join("real").exists());
        place.set_used("cargo", true);
        place.set_used("go", true);
        place.set_python(fetched.join("python/x"));
        let after = map(place.environment(&given, HomeOf::Commands));
        assert!(crates.join("fetched").exists() && !crates.join("real").exists());
        assert!(Path::new(&after["GOMODCACHE"]).starts_with(&fetched));
        assert_eq!(Path::new(&after["PYTHONPATH"]), fetched.join("python/x"));
        place.set_used("cargo", false);
        assert!(crates.join("real").exists());
    }

    #[test]
    fn keys_and_sockets_are_hidden_but_never_the_working_tree() {
        let files = [".ssh/id", ".netrc", "sock/agent", ".config/cowork/x", ".aws/project/x"];
        let home = People::new(&files);
        let agent = home.path("sock/agent").display().to_string();
        let more = [("SSH_AUTH_SOCK", agent.as_str())];
        let ours = |place: &Place| {
            let mut hidden = place.hidden(&[]);
            hidden.retain(|path| path.starts_with(home.path("")));
            hidden
        };
        let all = [".aws", ".config/cowork", ".netrc", ".ssh", "sock/agent"];
        assert_eq!(ours(&home.place("tree", &more)), all.map(|path| home.path(path)));
        assert_eq!(
            ours(&home.place(".aws/project", &more)),
            all[1..].iter().map(|path| home.path(path)).collect::<Vec<_>>()
        );
        let bus = format!("unix:path={agent},guid=1");
        let by_bus = home.place("tree", &[("DBUS_SESSION_BUS_ADDRESS", &bus)]);
        assert!(ours(&by_bus).contains(&home.path("sock/agent")));
        let docker = home.place("tree", &[("DOCKER_HOST", &format!("unix://{agent}"))]);
        assert!(ours(&docker).contains(&home.path("sock/agent")));
    }
}
