//! Finds the repository and checks git's version, before there is a [`crate::git::Git`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::error::Error;
use crate::git::Git;
use crate::git::caches::Caches;
use crate::git::environment::{REPOSITORY_VARIABLES, parse_ready, variable};
use crate::git::format::Format;
use crate::git::output::{Output, path_buf};
use crate::git::version::{OLDEST_GIT, plain, require_git};

/// The directories of a repository.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) top: PathBuf,
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
    pub(crate) format: Format,
}

/// What `git rev-parse` is asked about every repository.
const DIRECTORIES_AND_FORMAT: [&str; 4] =
    ["--git-dir", "--git-common-dir", "--show-object-format", "--show-ref-format"];

/// Whether `GIT_DIR` and similar variables of the environment apply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallersGitDir {
    Honoured,
    Ignored,
}

/// True if a variable sets the location of the repository.
fn is_repositorys(variable: &str) -> bool {
    matches!(variable, "GIT_DIR" | "GIT_WORK_TREE" | "GIT_COMMON_DIR")
}

/// The repository that contains `cwd`, as git finds it.
///
/// # Errors
/// There is none, it is bare, or git refuses it (exit 5).
pub(crate) fn locate(
    cwd: &Path,
    env: &[(OsString, OsString)],
    callers: CallersGitDir,
) -> Result<Located> {
    let ask = |args: &[&str]| -> Result<Output> {
        let mut command = Command::new("git");
        parse_ready(&mut command);
        command.envs(env.iter().map(|(key, value)| (key, value)));
        for variable in REPOSITORY_VARIABLES {
            if callers == CallersGitDir::Ignored || !is_repositorys(variable) {
                command.env_remove(variable);
            }
        }
        command.current_dir(cwd).arg("rev-parse").args(args);
        plain(command, cwd)
    };
    let mut questions = vec!["--path-format=absolute", "--show-toplevel"];
    questions.extend(DIRECTORIES_AND_FORMAT);
    let output = ask(&questions)?;
    if output.success()
        && let [top, git_dir, common, objects, refs] = lines(&output).as_slice()
    {
        return Ok(Located {
            top: path_buf(top),
            git_dir: path_buf(git_dir),
            common_dir: path_buf(common),
            format: Format::printed(objects, refs),
        });
    }
    // An older git does not support these options.
    require_git(cwd, env, OLDEST_GIT)?;
    if output.success() {
        let message = "the path of the repository contains a line break";
        return Err(Error::repository(message).hint("move the repository").into());
    }
    let kind = ask(&["--is-bare-repository", "--is-inside-git-dir"])?;
    Err(match kind.text().trim() {
        text if text.starts_with("true") => {
            Error::repository("this is a bare repository; a session needs a working tree")
                .hint("work in a clone of it, or add a working tree: git worktree add <path>")
        }
        text if text.ends_with("true") => {
            Error::repository("this is inside a git directory; a session needs a working tree")
                .hint("go to the working tree")
        }
        _ if output.stderr.contains("safe.bareRepository") => {
            Error::repository("this is a bare repository; a session needs a working tree")
                .hint("work in a clone of it, or add a working tree: git worktree add <path>")
        }
        _ if output.stderr.contains("not a git repository") => {
            Error::repository("not in a git repository").hint("make one here: git init")
        }
        _ => Error::repository(format!("git cannot use this repository: {}", output.complaint()))
            .hint("for details: git status"),
    }
    .into())
}

/// The bare repository that contains `cwd`, as git finds it; `None` if git finds none. Always
/// `None` in a working tree unless `GIT_DIR` is set: a clone may contain a bare repository among
/// its files, with settings that run programs.
pub(crate) fn bare(cwd: &Path) -> Result<Option<Located>> {
    let has_git_dir = variable(&[], "GIT_DIR").is_some();
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    if !has_git_dir && real.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok())
    {
        return Ok(None);
    }
    let mut command = Command::new("git");
    // Without git-cowork's own safe.bareRepository: the user's setting applies.
    command.args(["--no-pager", "rev-parse", "--path-format=absolute", "--is-bare-repository"]);
    command.args(DIRECTORIES_AND_FORMAT);
    let output = plain(command, cwd)?;
    let lines = lines(&output);
    let [b"true", git_dir, common, objects, refs] = lines.as_slice() else { return Ok(None) };
    if !output.success() {
        return Ok(None);
    }
    let (git_dir, format) = (path_buf(git_dir), Format::printed(objects, refs));
    Ok(Some(Located { top: git_dir.clone(), git_dir, common_dir: path_buf(common), format }))
}

fn lines(output: &Output) -> Vec<&[u8]> {
    output.stdout.split(|&b| b == b'\n').filter(|line| !line.is_empty()).collect()
}

/// All settings that apply at `cwd`, inside or outside a repository: git's output, separated by
/// NULs.
pub(crate) fn settings_at(cwd: &Path) -> Result<Output> {
    let mut command = Command::new("git");
    parse_ready(&mut command);
    command.args(["config", "--list", "--null"]);
    plain(command, cwd)
}

/// True if both paths name the same place on disk.
pub(crate) fn same_place(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// A linked working tree that git knows but that is not on disk: it may be on another disk.
pub(crate) fn not_there(path: &Path) -> Error {
    Error::repository(format!("the working tree {} is not there", path.display()))
        .hint("if it is gone for good: git worktree prune")
}

impl Git {
    /// The repository that contains `cwd`, as git itself finds it: the caller's `GIT_DIR` and
    /// `GIT_WORK_TREE` apply.
    ///
    /// # Errors
    /// No repository, a bare one, or one that git refuses (exit 5). Git's version is checked before
    /// the first command that writes.
    pub fn discover(cwd: &Path) -> Result<Self> {
        Self::discover_with(cwd, Vec::new())
    }

    /// [`Git::discover`] with variables added to the environment of every child.
    ///
    /// # Errors
    /// Like [`Git::discover`].
    pub fn discover_with(cwd: &Path, env: Vec<(OsString, OsString)>) -> Result<Self> {
        let location = locate(cwd, &env, CallersGitDir::Honoured)?;
        Ok(located(location, env))
    }

    /// [`Git::discover`] for commands that only read history: the repository may be bare.
    ///
    /// # Errors
    /// No repository, or one that git refuses (exit 5).
    pub fn discover_to_read(cwd: &Path) -> Result<Self> {
        match locate(cwd, &[], CallersGitDir::Honoured) {
            Ok(found) => Ok(located(found, Vec::new())),
            Err(error) => match bare(cwd)? {
                Some(found) => Ok(Self { bare: true, ..located(found, Vec::new()) }),
                None => Err(error),
            },
        }
    }

    /// A repository of which nothing is known yet.
    pub(crate) fn new(found: Located) -> Self {
        let Located { top, git_dir, common_dir, format } = found;
        Self {
            format,
            top,
            git_dir,
            common_dir,
            explicit: false,
            bare: false,
            will_commit: false,
            env: Vec::new(),
            children: None,
            caches: Caches::default(),
            shared_caches: Caches::default(),
        }
    }

    /// The same repository, with another of its working trees.
    ///
    /// # Errors
    /// `other_worktree` does not exist, or is not a working tree of this repository (exit 5).
    pub fn at(&self, other_worktree: &Path) -> Result<Self> {
        if !other_worktree.exists() {
            return Err(not_there(other_worktree).into());
        }
        let location = locate(other_worktree, &self.env, CallersGitDir::Ignored)?;
        if location.common_dir != self.common_dir {
            return Err(Error::repository(format!(
                "{} is not a working tree of {}",
                other_worktree.display(),
                self.common_dir.display()
            ))
            .into());
        }
        Ok(Self {
            will_commit: self.will_commit,
            env: self.env.clone(),
            children: self.children.clone(),
            shared_caches: self.shared_caches.clone(),
            ..Self::new(location)
        })
    }
}

fn located(found: Located, env: Vec<(OsString, OsString)>) -> Git {
    let explicit = !is_found_from(&found.top, &found.git_dir);
    Git { explicit, env, ..Git::new(found) }
}

/// True if git, started in `top` without any variables, finds `git_dir`.
fn is_found_from(top: &Path, git_dir: &Path) -> bool {
    let same = |path: &Path| match (path.canonicalize(), git_dir.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    let dot_git = top.join(".git");
    match std::fs::read_to_string(&dot_git) {
        Ok(text) => text
            .strip_prefix("gitdir:")
            .is_some_and(|target| same(&top.join(target.trim_matches([' ', '\n', '\r'])))),
        Err(_) => same(&dot_git),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Kind, hints_of, kind_of};
    use crate::git::test_repo::Repo;
    use crate::git::{settings, worktree};

    #[test]
    fn a_repository_that_git_refuses_is_reported() {
        let repo = Repo::with_commit();
        let git = repo.git();
        repo.file(".git/config", "[core");
        let error = settings::get(&git, "x.y").unwrap_err();
        assert!(error.to_string().starts_with("git cannot use this repository: "), "{error}");
    }

    #[test]
    fn the_format_is_told_with_the_place() {
        for (options, format) in [
            (&[][..], (40, true)),
            (&["--object-format=sha256"], (64, true)),
            (&["--ref-format=reftable"], (40, false)),
            (&["--object-format=sha256", "--ref-format=reftable"], (64, false)),
        ] {
            let repo = Repo::with_commit_in(options);
            let found = Git::discover_with(repo.root().join("work").as_path(), repo.env()).unwrap();
            assert_eq!((found.format.digits, found.format.has_ref_files), format);
            let mut init = vec!["init", "-q", "--bare", "../bare.git"];
            init.extend(options);
            repo.run(&init);
            let bare = bare(&repo.root().join("bare.git")).unwrap().unwrap().format;
            assert_eq!((bare.digits, bare.has_ref_files), format);
        }
        // A git that knows no such option prints it.
        let old = Format::printed(b"sha256", b"--show-ref-format");
        assert_eq!((old.digits, old.has_ref_files), (64, true));
    }

    #[test]
    fn an_old_git_is_named() {
        let repo = Repo::with_commit();
        let error = require_git(repo.root(), &repo.env(), (99, 0)).unwrap_err();
        assert!(
            error.to_string().starts_with("git 99.0 or newer is needed, this is 2."),
            "{error}"
        );
    }

    #[test]
    fn found_from_a_subdirectory_and_a_linked_worktree() {
        let repo = Repo::with_commit();
        std::fs::create_dir_all(repo.path("a/b")).unwrap();
        let git = Git::discover_with(&repo.path("a/b"), repo.env()).unwrap();
        assert_eq!(git.top(), repo.git().top());
        assert_eq!(git.state_dir(), git.git_dir().join("cowork"));
        assert!(!git.explicit);

        let head = git.resolve("HEAD").unwrap().unwrap();
        let linked = worktree::add(&git, &repo.root().join("linked"), "side", Some(&head)).unwrap();
        assert_eq!(linked.common_dir(), git.common_dir());
        assert_ne!(linked.git_dir(), git.git_dir());
        assert_eq!(Git::discover_with(linked.top(), repo.env()).unwrap(), linked);
        assert!(git.at(repo.root()).is_err());
    }

    #[test]
    fn an_explicit_git_dir_is_passed_on() {
        let repo = Repo::with_commit();
        let elsewhere = repo.root().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let mut env = repo.env();
        env.push(("GIT_DIR".into(), repo.path(".git").into()));
        env.push(("GIT_WORK_TREE".into(), elsewhere.clone().into()));
        let git = Git::discover_with(&elsewhere, env).unwrap();
        assert!(git.explicit);
        assert_eq!(git.top(), elsewhere.canonicalize().unwrap());
        assert_eq!(git.status().unwrap().len(), 1, "README.md is not there");
    }

    #[test]
    fn missing_and_bare_repositories_are_reported() {
        let repo = Repo::with_commit();
        let error = Git::discover_with(repo.root(), repo.env()).unwrap_err();
        assert_eq!(kind_of(&error), Kind::Repository);
        assert!(hints_of(&error).iter().any(|hint| hint.contains("git init")), "{error}");

        repo.run(&["clone", "-q", "--bare", ".", "../bare.git"]);
        let error = Git::discover_with(&repo.root().join("bare.git"), repo.env()).unwrap_err();
        assert!(error.to_string().contains("bare"), "{error}");
        let error = Git::discover_with(&repo.path(".git"), repo.env()).unwrap_err();
        assert_eq!(kind_of(&error), Kind::Repository);
    }
}
