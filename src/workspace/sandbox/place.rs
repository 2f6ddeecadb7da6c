//! A command's own place: a home with the caches of build tools, a temporary directory, and what
//! of the person's home it may see.
//!
//! Tools find what is installed in the real home (toolchains, fetched crates and modules), and
//! write to the private one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::Confinement;

/// Keys and logins in a person's home.
const SECRETS: [&str; 25] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".mozilla",
    ".config/cowork",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".config/google-chrome",
    ".config/chromium",
    ".config/git/credentials",
    ".local/share/keyrings",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".bash_history",
];

/// Sockets by which other programs would act for a command.
const DOORS: [&str; 8] = [
    "/run/user",
    "/run/dbus",
    "/run/podman",
    "/run/containerd",
    "/run/crio",
    "/run/docker.sock",
    "/run/snapd.socket",
    "/run/systemd/private",
];

/// Variables that name such sockets.
const DOOR_NAMES: [&str; 3] = ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST"];

/// The directories, which are there while this lives.
pub(super) struct Place {
    root: PathBuf,
    home: PathBuf,
    temp: TempDir,
    theirs: BTreeMap<OsString, OsString>,
}

impl Place {
    /// Makes them. `env` is the environment of the program.
    pub(super) fn open(
        wanted: &Confinement,
        root: &Path,
        env: &[(OsString, OsString)],
    ) -> std::io::Result<Self> {
        let temp = tempfile::Builder::new().prefix("cowork-").tempdir()?;
        let lasting = wanted.cache_dir.as_ref().and_then(|dir| {
            std::fs::create_dir_all(dir).ok()?;
            dir.canonicalize().ok()
        });
        let home = match lasting {
            Some(dir) => dir,
            None => temp.path().canonicalize()?.join("home"),
        };
        for dir in [home.join(".cache"), home.join(".cargo"), temp.path().join("tmp")] {
            std::fs::create_dir_all(dir)?;
        }
        let theirs = env.iter().cloned().collect();
        let place = Self { root: root.to_owned(), home, temp, theirs };
        place.link_crates();
        Ok(place)
    }

    fn tmp(&self) -> PathBuf {
        self.temp.path().join("tmp")
    }

    fn real_home(&self) -> Option<PathBuf> {
        self.theirs.get(OsStr::new("HOME")).map(PathBuf::from).filter(|home| home.is_absolute())
    }

    /// What `name` says, else this path of the real home; where it exists.
    fn real(&self, name: &str, path: &str) -> Option<PathBuf> {
        let set = self.theirs.get(OsStr::new(name)).map(PathBuf::from);
        set.or_else(|| Some(self.real_home()?.join(path))).filter(|path| path.exists())
    }

    /// Crates that were fetched already can be read, which is all cargo needs when it is offline.
    fn link_crates(&self) {
        #[cfg(unix)]
        if let Some(real) = self.real("CARGO_HOME", ".cargo") {
            for name in ["registry", "git", "config.toml", "config"] {
                let link = self.home.join(".cargo").join(name);
                if real.join(name).exists() && !link.exists() {
                    let _ = std::fs::remove_file(&link);
                    let _ = std::os::unix::fs::symlink(real.join(name), link);
                }
            }
        }
    }

    /// What is writable besides the tree.
    pub(super) fn writable(&self, extras: &[PathBuf]) -> Vec<PathBuf> {
        let own = [self.home.clone(), self.temp.path().to_owned()];
        own.iter().chain(extras).filter_map(|path| path.canonicalize().ok()).collect()
    }

    /// What is hidden: never anything that holds what a command works with.
    pub(super) fn hidden(&self, extras: &[PathBuf]) -> Vec<PathBuf> {
        let home = self.real_home();
        let config = self.theirs.get(OsStr::new("XDG_CONFIG_HOME")).map(PathBuf::from);
        let secrets = SECRETS.iter().filter_map(|path| Some(home.as_ref()?.join(path)));
        let config = config.into_iter().map(|dir| dir.join("cowork"));
        let named = DOOR_NAMES.iter().filter_map(|name| {
            let value = self.theirs.get(OsStr::new(name))?.to_str()?;
            let path = value.find('/').map(|_| value.trim_start_matches("unix:"))?;
            let path = path.trim_start_matches("path=").split(',').next()?;
            Some(Path::new("/").join(path.trim_start_matches("//")))
        });
        let doors = DOORS.iter().map(PathBuf::from).chain(named);
        let needed = self.writable(extras);
        let mut hidden: Vec<PathBuf> = secrets
            .chain(config)
            .chain(doors)
            .filter_map(|path| path.canonicalize().ok())
            .filter(|path| {
                let mut needed = needed.iter().chain([&self.root]);
                path != Path::new("/dev/null")
                    && !needed.any(|inner| inner.starts_with(path) || path.starts_with(inner))
            })
            .collect();
        hidden.sort();
        hidden.dedup_by(|a, b| a.starts_with(&*b));
        hidden
    }

    /// The environment of a command, from what it would be without a place of its own.
    pub(super) fn environment(&self, env: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let mut env: BTreeMap<OsString, OsString> = env.iter().cloned().collect();
        // Both spellings are the same to npm.
        env.remove(OsStr::new("NPM_CONFIG_CACHE"));
        let mut set = |name: &str, path: PathBuf| {
            env.insert(name.into(), path.into());
        };
        let cache = self.home.join(".cache");
        for name in ["TMPDIR", "TMP", "TEMP"] {
            set(name, self.tmp());
        }
        set("HOME", self.home.clone());
        set("XDG_CACHE_HOME", cache.clone());
        set("CARGO_HOME", self.home.join(".cargo"));
        set("GOPATH", self.home.join("go"));
        set("GOCACHE", cache.join("go-build"));
        set("GRADLE_USER_HOME", self.home.join(".gradle"));
        set("npm_config_cache", self.home.join(".npm"));
        for (name, dir) in
            [("PIP_CACHE_DIR", "pip"), ("UV_CACHE_DIR", "uv"), ("YARN_CACHE_FOLDER", "yarn")]
        {
            set(name, cache.join(dir));
        }
        let go = self.real("GOPATH", "go").map(|dir| dir.join("pkg/mod"));
        let installed = [
            ("RUSTUP_HOME", self.real("RUSTUP_HOME", ".rustup")),
            ("GOMODCACHE", self.real("GOMODCACHE", "go/pkg/mod").or(go)),
            ("GRADLE_RO_DEP_CACHE", self.real("GRADLE_RO_DEP_CACHE", ".gradle/caches")),
            ("PYTHONUSERBASE", self.real("PYTHONUSERBASE", ".local")),
            ("GIT_CONFIG_GLOBAL", self.real("GIT_CONFIG_GLOBAL", ".gitconfig")),
        ];
        for (name, path) in installed {
            if let Some(path) = path {
                set(name, path);
            }
        }
        let target = OsStr::new("CARGO_TARGET_DIR");
        if env.get(target).is_some_and(|dir| !self.root.join(dir).starts_with(&self.root)) {
            env.insert(target.to_owned(), cache.join("cargo-target").into());
        }
        env.into_iter().collect()
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    struct Home(TempDir);

    impl Home {
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
            let wanted =
                Confinement { cache_dir: Some(self.path("cache")), ..Confinement::default() };
            let mut env = vec![("HOME".into(), self.path("").into())];
            env.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
            Place::open(&wanted, &self.path(root), &env).unwrap()
        }
    }

    #[test]
    fn what_is_installed_is_found_and_what_is_written_is_private() {
        let home = Home::new(&[".cargo/registry/x", ".rustup/toolchains/x", ".gitconfig"]);
        let place = home.place("tree", &[]);
        let given = [("HOME", "/h"), ("NPM_CONFIG_CACHE", "/n"), ("CARGO_TARGET_DIR", "/t")];
        let given = given.map(|(name, value)| (name.into(), value.into()));
        let env: BTreeMap<_, _> = place.environment(&given).into_iter().collect();
        let at = |name: &str| PathBuf::from(&env[OsStr::new(name)]);
        let private = home.path("cache");
        assert_eq!(at("HOME"), private);
        for name in ["CARGO_HOME", "npm_config_cache", "GOCACHE", "CARGO_TARGET_DIR"] {
            assert!(at(name).starts_with(&private), "{name}");
        }
        assert!(at("TMPDIR").is_dir() && !env.contains_key(OsStr::new("NPM_CONFIG_CACHE")));
        assert!(at("CARGO_HOME").join("registry/x").exists());
        assert_eq!(at("RUSTUP_HOME"), home.path(".rustup"));
        assert_eq!(at("GIT_CONFIG_GLOBAL"), home.path(".gitconfig"));
        assert!(!env.contains_key(OsStr::new("GOMODCACHE")));
    }

    #[test]
    fn keys_and_sockets_are_hidden_but_never_what_is_worked_on() {
        let files = [".ssh/id", ".netrc", "sock/agent", ".config/cowork/x", ".aws/project/x"];
        let home = Home::new(&files);
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
