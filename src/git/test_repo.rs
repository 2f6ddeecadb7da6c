//! A real repository in a temporary directory with its own home, for the tests of this module.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{Git, Oid};

/// The options of `git init` for every format of a repository.
pub(super) const FORMATS: [&[&str]; 4] = [
    &[],
    &["--object-format=sha256"],
    &["--ref-format=reftable"],
    &["--object-format=sha256", "--ref-format=reftable"],
];

pub(super) struct Repo {
    root: TempDir,
}

impl Repo {
    /// `git init` with these options, on branch `main`.
    pub(super) fn init(options: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("work")).unwrap();
        let repo = Self { root };
        let mut args = vec!["init", "-q", "-b", "main"];
        args.extend(options);
        repo.run(&args);
        repo
    }

    /// A repository with one commit of `README.md`.
    pub(super) fn with_commit() -> Self {
        Self::with_commit_in(&[])
    }

    pub(super) fn with_commit_in(options: &[&str]) -> Self {
        let repo = Self::init(options);
        repo.file("README.md", "read me\n");
        repo.commit_all("first");
        repo
    }

    /// The environment of every child: nothing of the machine's configuration.
    pub(super) fn env(&self) -> Vec<(OsString, OsString)> {
        let home = self.root.path().join("home");
        let pairs: [(&str, OsString); 11] = [
            ("HOME", home.clone().into()),
            ("XDG_CONFIG_HOME", home.into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_CONFIG_GLOBAL", self.root.path().join("gitconfig").into()),
            ("GIT_CEILING_DIRECTORIES", self.root.path().into()),
            ("GIT_AUTHOR_NAME", "Ana".into()),
            ("GIT_AUTHOR_EMAIL", "ana@example.com".into()),
            ("GIT_COMMITTER_NAME", "Ana".into()),
            ("GIT_COMMITTER_EMAIL", "ana@example.com".into()),
            ("TERM", "dumb".into()),
            ("TZ", "UTC".into()),
        ];
        pairs.into_iter().map(|(key, value)| (key.into(), value)).collect()
    }

    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    /// A path in the working tree.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join("work").join(path)
    }

    pub(super) fn git(&self) -> Git {
        Git::discover_with(&self.path(""), self.env()).unwrap()
    }

    pub(super) fn head(&self) -> Oid {
        self.git().resolve("HEAD").unwrap().unwrap()
    }

    /// Writes a file of the working tree.
    pub(super) fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        // A test counts as somebody else who changes files.
        crate::moment::end();
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path(path)).ok()
    }

    pub(super) fn commit_all(&self, message: &str) -> Oid {
        self.run(&["add", "-A"]);
        self.run(&["commit", "-q", "--allow-empty", "-m", message]);
        self.head()
    }

    /// Installs a hook with this shell script.
    pub(super) fn hook(&self, name: &str, script: &str) {
        self.script(&format!(".git/hooks/{name}"), script);
    }

    /// Writes an executable shell script.
    pub(super) fn script(&self, path: &str, script: &str) {
        self.file(path, &format!("#!/bin/sh\n{script}\n"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(self.path(path), mode).unwrap();
        }
    }

    /// Runs git, but not through the code under test.
    pub(super) fn run(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        let output = git.args(args).current_dir(self.path("")).envs(self.env()).output().unwrap();
        crate::moment::end();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {args:?}: {text}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}
