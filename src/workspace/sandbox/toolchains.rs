//! Paths that commands see although a parent directory is covered or closed: toolchains and package
//! caches, at their usual places and at the places named by variables and `PATH`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Paths in a home. If a directory also contains credentials, only its safe subdirectories are
/// listed.
const IN_HOME: &[&str] = &[
    ".asdf/installs",
    ".asdf/plugins",
    ".asdf/shims",
    ".bun/bin",
    ".bun/install",
    ".bundle/cache",
    ".cabal/bin",
    ".cabal/packages",
    ".cabal/store",
    ".cache/Cypress",
    ".cache/composer",
    ".cache/coursier",
    ".cache/deno",
    ".cache/electron",
    ".cache/ms-playwright",
    ".cache/pypoetry/virtualenvs",
    ".cache/puppeteer",
    ".cache/zig",
    ".cargo/bin",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".conda/envs",
    ".config/composer/vendor",
    ".config/yarn/global/node_modules",
    ".composer/vendor",
    ".deno/bin",
    ".dotnet/dotnet",
    ".dotnet/host",
    ".dotnet/packs",
    ".dotnet/sdk",
    ".dotnet/shared",
    ".dotnet/tools",
    ".fnm",
    ".gem/ruby",
    ".ghcup",
    ".gradle/caches",
    ".gradle/wrapper",
    ".hex/packages",
    ".ivy2/cache",
    ".jdks",
    ".julia/artifacts",
    ".julia/compiled",
    ".julia/juliaup",
    ".julia/packages",
    ".julia/registries",
    ".local/bin",
    ".local/include",
    ".local/lib",
    ".local/lib64",
    ".local/libexec",
    ".local/opt",
    ".local/pipx/venvs",
    ".local/share/fnm",
    ".local/share/gem/ruby",
    ".local/share/hatch/env",
    ".local/share/mise/installs",
    ".local/share/mise/shims",
    ".local/share/pipx/venvs",
    ".local/share/pnpm",
    ".local/share/pypoetry/venv",
    ".local/share/rtx/installs",
    ".local/share/swiftly",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/virtualenvs",
    ".local/state/nix/profiles",
    ".m2/repository",
    ".m2/wrapper",
    ".mix/archives",
    ".mix/elixir",
    ".nix-profile",
    ".nodenv/shims",
    ".nodenv/versions",
    ".npm/_cacache",
    ".npm-global/bin",
    ".npm-global/lib",
    ".nuget/packages",
    ".nvm/versions",
    ".opam",
    ".pub-cache/hosted",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman/candidates",
    ".stack/programs",
    ".stack/snapshots",
    ".virtualenvs",
    ".volta",
    ".yarn/berry/cache",
    "anaconda3",
    "go/bin",
    "go/pkg/mod",
    "miniconda3",
    "miniforge3",
    "sdk",
];

/// Variables with the paths of installed software; passed to commands.
pub(crate) const INSTALLED: [&str; 16] = [
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "JAVA_HOME",
    "GRADLE_RO_DEP_CACHE",
    "NVM_DIR",
    "NODE_PATH",
    "PNPM_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONUSERBASE",
    "POETRY_VIRTUALENVS_PATH",
    "GEM_HOME",
    "PKG_CONFIG_PATH",
];
/// The safe entries of Cargo's home: it also contains credentials.
const OF_CARGO: [&str; 4] = ["bin", "env", "git", "registry"];
/// Variables with the paths of server certificates, for the fetch step, which has network access.
pub(super) const CERTIFICATES: [&str; 6] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
];
/// The DNS configuration; often a link to a file below `/run`.
const NAME_SERVERS: &str = "/etc/resolv.conf";
/// Directories of programs. The programs usually need the sibling directories listed in `BESIDE`.
const PROGRAMS: [&str; 3] = ["bin", "sbin", "shims"];
const BESIDE: [&str; 5] = ["lib", "lib64", "libexec", "share", "include"];
/// Files that mark a Python environment.
const ENVIRONMENT: [&str; 2] = ["pyvenv.cfg", "conda-meta"];

/// Directories that are visible only in part.
pub(super) struct Closed {
    /// All of them.
    pub(super) all: Vec<PathBuf>,
    /// The homes among them.
    pub(super) homes: Vec<PathBuf>,
}

impl Closed {
    fn holds(&self, path: &Path) -> bool {
        self.all.iter().any(|closed| path != closed && path.starts_with(closed))
    }

    /// Returns the installed software in these directories, according to `env`; with `network`,
    /// also the files needed for network access. `more` lists further paths.
    pub(super) fn kept(
        &self,
        env: &BTreeMap<OsString, OsString>,
        network: bool,
        more: &[PathBuf],
    ) -> Vec<PathBuf> {
        let named = |names: &[&str]| -> Vec<PathBuf> {
            let values = names.iter().filter_map(|name| env.get(OsStr::new(name)));
            values.flat_map(std::env::split_paths).collect()
        };
        let mut paths = named(&INSTALLED);
        paths.extend(more.iter().cloned());
        for home in &self.homes {
            paths.extend(IN_HOME.iter().map(|path| home.join(path)));
        }
        for cargo in named(&["CARGO_HOME"]) {
            paths.extend(OF_CARGO.map(|name| cargo.join(name)));
        }
        if network {
            paths.extend(named(&CERTIFICATES));
            paths.push(NAME_SERVERS.into());
        }
        for dir in named(&["PATH"]).iter().filter_map(|dir| dir.canonicalize().ok()) {
            if self.holds(&dir) {
                paths.extend(self.programs_of(&dir));
                paths.push(self.whole(&dir));
            }
        }
        let absolute = paths.into_iter().filter(|path| path.is_absolute());
        let real = absolute.filter_map(|path| path.canonicalize().ok());
        let mut kept: Vec<_> =
            real.filter(|path| self.holds(path) && (path.is_dir() || path.is_file())).collect();
        kept.sort();
        // A closed directory below a kept one hides the kept paths inside it.
        let between = |above: &Path, path: &Path| {
            self.all.iter().any(|c| path.starts_with(c) && c != above && c.starts_with(above))
        };
        kept.dedup_by(|a, b| a.starts_with(&*b) && !between(b, a));
        kept
    }

    /// Returns the installation that contains these programs, or only their directory.
    fn whole(&self, programs: &Path) -> PathBuf {
        let has = |dir: &Path, names: &[&str]| names.iter().any(|name| dir.join(name).exists());
        let is_part = programs.file_name().is_some_and(|name| PROGRAMS.iter().any(|p| name == *p));
        let is_whole = |dir: &&Path| {
            let of_home = dir.parent().is_some_and(|above| self.homes.iter().any(|h| h == above));
            let is_hidden = dir.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
            let is_installation =
                has(dir, &BESIDE) && !(of_home && is_hidden) && !dir.join(".git").exists();
            self.holds(dir) && (has(dir, &ENVIRONMENT) || is_installation)
        };
        programs.parent().filter(|_| is_part).filter(is_whole).unwrap_or(programs).to_owned()
    }

    /// Returns the targets of the links in a directory of programs: installers create such links.
    fn programs_of(&self, dir: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        let programs = links.filter_map(|link| link.path().canonicalize().ok());
        let there = programs.filter(|program| self.holds(program) && program.is_file());
        there
            .map(|program| match program.parent().map(|dir| self.whole(dir)) {
                Some(whole) if Some(whole.as_path()) != program.parent() => whole,
                _ => program,
            })
            .collect()
    }
}

/// Returns the object directories that a repository borrows objects from (`git clone --shared`).
/// Source: `gitrepository-layout(5)`, objects/info/alternates.
pub(super) fn lent(git_dir: &Path) -> Vec<PathBuf> {
    let objects = git_dir.join("objects");
    let list = std::fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
    list.lines().filter(|line| !line.starts_with('#')).map(|line| objects.join(line)).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    struct Tree(TempDir);

    impl Tree {
        fn new(dirs: &[&str]) -> Self {
            let tree = Self(TempDir::new().unwrap());
            dirs.iter().for_each(|dir| std::fs::create_dir_all(tree.at(dir)).unwrap());
            tree
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn env(&self, more: &[(&str, &str)], path: &[&str]) -> BTreeMap<OsString, OsString> {
            let path = std::env::join_paths(path.iter().map(|path| self.at(path))).unwrap();
            let more = more.iter().map(|(name, at)| (name.into(), self.at(at).into()));
            more.chain([("PATH".into(), path)]).collect()
        }
    }

    #[test]
    fn software_below_a_cover_stays_visible() {
        let tree = Tree::new(&["c/tools/bin", "c/tools/lib", "c/bin", "c/rustup", "c/cargo/bin"]);
        for dir in ["outside/bin", "c/run/x", "c/alone/bin"] {
            std::fs::create_dir_all(tree.at(dir)).unwrap();
        }
        std::os::unix::fs::symlink(tree.at("c/tools"), tree.at("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(tree.at("c/run/socket")).unwrap();
        let closed = Closed { all: vec![tree.at("c")], homes: Vec::new() };
        let env = tree.env(
            &[
                ("RUSTUP_HOME", "c/rustup"),
                ("HOME", ""),
                ("CARGO_HOME", "c/cargo"),
                ("XDG_RUNTIME_DIR", "c/run"),
                ("GOPATH", "c/run/socket"),
                ("SSL_CERT_DIR", "c/run/x"),
            ],
            &["c/bin", "link/bin", "outside/bin", "c/alone/bin", "c", "c/none"],
        );
        let mut all =
            ["c/alone/bin", "c/bin", "c/cargo/bin", "c/rustup", "c/tools"].map(|p| tree.at(p));
        assert_eq!(closed.kept(&env, false, &[]), all);
        all.sort();
        let with_network = closed.kept(&env, true, &[]);
        assert_eq!(with_network.len(), all.len() + 1);
        assert!(with_network.contains(&tree.at("c/run/x")));
    }

    #[test]
    fn directories_with_credentials_in_a_home_stay_hidden() {
        let tree = Tree::new(&[
            "h/.cargo/bin",
            "h/.cargo/registry",
            "h/.local/bin",
            "h/.local/share/keyrings",
            "h/.ssh",
            "h/venv/bin",
            "h/work/bin",
            "h/apps/thing/bin",
            "h/apps/thing/lib",
        ]);
        std::fs::write(tree.at("h/venv/pyvenv.cfg"), "").unwrap();
        std::fs::write(tree.at("h/work/run.sh"), "").unwrap();
        std::os::unix::fs::symlink(tree.at("h/work/run.sh"), tree.at("h/.local/bin/run")).unwrap();
        let closed = Closed { all: vec![tree.at("h")], homes: vec![tree.at("h")] };
        let path = ["h/.cargo/bin", "h/.local/bin", "h/venv/bin", "h/work/bin", "h/apps/thing/bin"];
        let kept = closed.kept(&tree.env(&[("HOME", "h")], &path), false, &[]);
        let all = [
            "h/.cargo/bin",
            "h/.cargo/registry",
            "h/.local/bin",
            "h/apps/thing",
            "h/venv",
            "h/work/bin",
            "h/work/run.sh",
        ];
        assert_eq!(kept, all.map(|path| tree.at(path)));
    }

    #[test]
    fn a_closed_home_below_a_kept_directory_keeps_its_toolchains() {
        let tree = Tree::new(&["c/tools/bin", "c/tools/lib", "c/tools/home/.rustup"]);
        let home = tree.at("c/tools/home");
        let closed = Closed { all: vec![tree.at("c"), home.clone()], homes: vec![home.clone()] };
        let kept = closed.kept(&tree.env(&[], &["c/tools/bin"]), false, &[]);
        assert_eq!(kept, [tree.at("c/tools"), home.join(".rustup")]);
    }
}
