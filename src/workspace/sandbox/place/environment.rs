//! The environment of commands, which names the directories of their `Place`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::super::settings::{self, Home, OF_NETWORK, OFFLINE};
use super::super::{logins, toolchains};
use super::{HomeOf, Place, real_home};

impl Place {
    /// Returns the environment of a command, based on its environment without a sandbox.
    pub(in super::super) fn environment(
        &self,
        env: &[(OsString, OsString)],
        of: HomeOf,
    ) -> Vec<(OsString, OsString)> {
        let mut env: BTreeMap<OsString, OsString> = env.iter().cloned().collect();
        // npm treats both spellings the same.
        env.remove(OsStr::new("NPM_CONFIG_CACHE"));
        let mut set = |name: &str, path: PathBuf| {
            env.insert(name.into(), path.into());
        };
        let (home, caches, tmp) = match of {
            HomeOf::Commands => (self.home.clone(), &self.home, self.tmp()),
            HomeOf::Checks => (self.check_folder("home"), &self.checked, self.check_folder("tmp")),
        };
        let cache = caches.join(".cache");
        for name in ["TMPDIR", "TMP", "TEMP"] {
            set(name, self.tmp_within(tmp.clone()));
        }
        set("HOME", home);
        set("XDG_CACHE_HOME", cache.clone());
        // The same for checks: cargo builds everything again if the path of a crate changes.
        set("CARGO_HOME", self.home.join(".cargo"));
        if of == HomeOf::Checks {
            // A command could leave compiled code beside a module, where git ignores it.
            set("PYTHONPYCACHEPREFIX", cache.join("pycache"));
        }
        set("GOPATH", caches.join("go"));
        set("GOCACHE", cache.join("go-build"));
        set("GRADLE_USER_HOME", caches.join(".gradle"));
        set("npm_config_cache", caches.join(".npm"));
        for (name, dir) in
            [("PIP_CACHE_DIR", "pip"), ("UV_CACHE_DIR", "uv"), ("YARN_CACHE_FOLDER", "yarn")]
        {
            set(name, cache.join(dir));
        }
        let go = match self.uses("go") {
            true => Some(self.fetched.join("go/pkg/mod")),
            false => self
                .real("GOMODCACHE", "go/pkg/mod")
                .or_else(|| Some(self.real("GOPATH", "go")?.join("pkg/mod"))),
        };
        let poetry = match self.uses("poetry") {
            true => Some(self.fetched.join("poetry")),
            false => self.real("POETRY_VIRTUALENVS_PATH", ".cache/pypoetry/virtualenvs"),
        };
        let installed = [
            ("RUSTUP_HOME", self.real("RUSTUP_HOME", ".rustup")),
            ("GOMODCACHE", go),
            ("POETRY_VIRTUALENVS_PATH", poetry),
            ("GRADLE_RO_DEP_CACHE", self.real("GRADLE_RO_DEP_CACHE", ".gradle/caches")),
            ("PYTHONUSERBASE", self.real("PYTHONUSERBASE", ".local")),
        ];
        for (name, path) in installed {
            if let Some(path) = path {
                set(name, path);
            }
        }
        for (name, file) in &self.settings {
            set(name, file.clone());
        }
        self.find_programs(&mut env);
        let target = OsStr::new("CARGO_TARGET_DIR");
        if env.get(target).is_some_and(|dir| !self.root.join(dir).starts_with(&self.root)) {
            env.insert(target.to_owned(), cache.join("cargo-target").into());
        }
        // Without this flag, Go makes fetched modules read-only, and they could not be removed.
        let flags = env.entry("GOFLAGS".into()).or_default();
        flags.push(if flags.is_empty() { "-modcacherw" } else { " -modcacherw" });
        for packages in &*self.python.borrow() {
            prepend(&mut env, "PYTHONPATH", packages.clone());
            prepend(&mut env, "PATH", packages.join("bin"));
        }
        if !self.network {
            env.extend(OFFLINE.map(|(name, value)| (name.into(), value.into())));
        }
        env.into_iter().collect()
    }

    /// Resolves directories on `PATH` that are reached through a link in a closed home, which
    /// commands do not see.
    fn find_programs(&self, env: &mut BTreeMap<OsString, OsString>) {
        let Some(path) = env.get(OsStr::new("PATH")) else { return };
        let closed = |dir: &PathBuf| self.homes.iter().any(|home| dir.starts_with(home));
        let real = std::env::split_paths(path)
            .map(|dir| if closed(&dir) { dir.canonicalize().unwrap_or(dir) } else { dir });
        if let Ok(path) = std::env::join_paths(real) {
            env.insert("PATH".into(), path);
        }
    }

    /// Returns the environment of the fetch step: with its own home, without anything that other
    /// commands may have left in their home or in the tree.
    pub(in super::super) fn environment_to_fetch(
        &self,
        env: &[(OsString, OsString)],
    ) -> std::io::Result<Vec<(OsString, OsString)>> {
        let mut env: BTreeMap<OsString, OsString> =
            self.environment(env, HomeOf::Commands).into_iter().collect();
        for (name, _) in OFFLINE {
            env.remove(OsStr::new(name));
        }
        for name in OF_NETWORK.iter().chain(&toolchains::CERTIFICATES) {
            if let Some(value) = self.theirs.get(OsStr::new(name)) {
                env.insert(name.into(), value.clone());
            }
        }
        let path = env.remove(OsStr::new("PATH")).unwrap_or_default();
        let (home, tmp) = (self.home.clone(), self.tmp());
        let ours = [&self.root, &home, &tmp];
        let path = std::env::split_paths(&path)
            .filter(|dir| dir.is_absolute() && !ours.iter().any(|ours| dir.starts_with(ours)));
        env.insert("PATH".into(), std::env::join_paths(path).unwrap_or_default());
        let fetch = self.temp.path().join("fetch");
        let _ = std::fs::remove_dir_all(&fetch);
        let (home, tmp) = (fetch.join("home"), fetch.join("tmp"));
        let cargo = self.fetched.join("cargo");
        for dir in [&home, &tmp, &cargo] {
            std::fs::create_dir_all(dir)?;
        }
        Home::open(&home)?.write(real_home(&self.theirs).as_deref(), &[]);
        let own = Dir::open_ambient_dir(&cargo, ambient_authority())?;
        for name in ["config.toml", "config"] {
            settings::put(&own, name, self.of_cargo(name));
        }
        logins::take_out(&mut env);
        let cache = self.fetched.join("cache");
        for (name, dir) in [
            ("HOME", home),
            ("TMPDIR", tmp.clone()),
            ("TMP", tmp.clone()),
            ("TEMP", tmp),
            ("CARGO_HOME", cargo),
            ("GOPATH", self.fetched.join("go")),
            ("GOMODCACHE", self.fetched.join("go/pkg/mod")),
            ("POETRY_VIRTUALENVS_PATH", self.fetched.join("poetry")),
            ("npm_config_cache", self.npm_cache().unwrap_or_else(|| cache.join("npm"))),
            ("npm_config_store_dir", cache.join("pnpm")),
            ("PIP_CACHE_DIR", cache.join("pip")),
            ("UV_CACHE_DIR", cache.join("uv")),
            ("YARN_CACHE_FOLDER", cache.join("yarn")),
            ("XDG_CACHE_HOME", cache),
        ] {
            env.insert(name.into(), dir.into());
        }
        // A project's `.npmrc` could set `git` to a program. Packages are copied from the cache,
        // not linked: a command could write through a link into the cache.
        for (name, value) in [
            ("npm_config_git", "git"),
            ("npm_config_package_import_method", "copy"),
            ("UV_LINK_MODE", "copy"),
            ("UV_PYTHON_DOWNLOADS", "never"),
        ] {
            env.insert(name.into(), value.into());
        }
        Ok(env.into_iter().collect())
    }
}

/// Puts a directory at the front of a path list.
fn prepend(env: &mut BTreeMap<OsString, OsString>, name: &str, dir: PathBuf) {
    let others = env.get(OsStr::new(name)).cloned().unwrap_or_default();
    let others = std::env::split_paths(&others).filter(|dir| !dir.as_os_str().is_empty());
    let all: Vec<_> = std::iter::once(dir).chain(others).collect();
    if let Ok(all) = std::env::join_paths(all) {
        env.insert(name.into(), all);
    }
}
