//! The only module that uses git2 or the git binary.
//!
//! [`Git`] is a repository with a working tree; it starts commands and provides what most callers
//! need. Everything else is a function in the module of its topic: `refs::list(git, …)`.
//!
//! Everything that writes, touches index, working tree, configuration or hooks, or depends on the
//! user's configuration, runs the `git` binary through [`spawn`]; anything already named by an
//! object id is read through [`Reader`]. Objects that git would write identically are written in
//! process ([`made`]). Sessions, stages and artifacts are unknown to this module.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Result;

use crate::error::Error;

pub mod also_read;
mod arguments;
mod binary;
pub mod blame;
pub mod blobs;
mod bounded;
pub mod browse;
mod caches;
mod child;
pub mod commit;
mod configuration;
pub mod diff;
pub mod embedded;
mod environment;
pub mod fallback;
pub mod files;
pub mod filter;
mod format;
pub mod gained;
mod hashed_files;
pub mod hidden;
mod hook_trace;
pub mod hooks;
pub mod in_the_way;
mod index;
pub(crate) mod init;
mod kept_objects;
mod libgit2;
mod locate;
pub mod locks;
mod lookup;
mod loose;
pub mod made;
pub mod many;
pub mod merge;
mod name;
pub mod nested;
pub mod notes;
mod object_text;
mod objects;
mod output;
pub mod patches;
pub mod paths;
mod plain;
mod processes;
pub mod put_back;
mod reader;
mod ref_list;
mod ref_stamp;
mod ref_transaction;
pub mod refs;
pub mod remote;
pub mod settings;
pub mod snapshot;
mod spawn;
mod special_files;
pub mod state;
pub mod status;
pub mod switch;
mod take_back;
#[cfg(test)]
mod test_repo;
mod tree_diff;
mod unfinished;
mod variables;
mod walk;
pub mod without_logins;
pub mod worktree;
pub mod would_run;

pub use also_read::AlsoRead;
pub use blobs::Store;
pub use commit::{CommitOptions, CommitOutcome};
pub use diff::DiffStyle;
pub use gained::Gained;
pub use hidden::Hidden;
pub use hooks::HookChange;
pub use in_the_way::listed_again;
pub use merge::{MergeOutcome, MergedTree};
pub use name::{Oid, RefName};
pub use object_text::NOBODY;
pub use output::Output;
pub use reader::{Commit, EntryKind, Object, Part, Reader, TreeChange, TreeChangeKind, TreeEntry};
pub use ref_list::Ref;
pub use ref_transaction::RefTransaction;
pub use refs::RefInfo;
pub use remote::{Push, PushOutcome};
pub use spawn::Cmd;
pub use state::Head;
pub use status::{Change, StatusEntry, StatusKind};
pub use unfinished::UNFINISHED;

/// The oldest version of git with all options that are used for writing.
const OLDEST_GIT: (u32, u32) = (2, 34);

/// The version of git, as `git version` prints it, without the words `git version`; `cwd` need not
/// be in a repository.
///
/// # Errors
/// Git is missing or too old (exit 5).
pub fn installed(cwd: &Path) -> Result<String> {
    locate::require_git(cwd, &[], OLDEST_GIT)?;
    let (_, text) = locate::git_version(cwd, &[])?;
    Ok(text.trim_start_matches("git version ").to_owned())
}

/// Set once git is known to be new enough for commands that write.
#[derive(Default)]
struct NewEnough(OnceLock<()>);

/// A repository and one of its working trees. Cheap to clone; owns the lock of
/// [`Git::with_children_in`] and the repository opened by libgit2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Git {
    top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    format: format::Format,
    /// `--git-dir` and `--work-tree` are passed on, because git would not find them from `top`.
    explicit: bool,
    /// There is no working tree; `top` is the git directory.
    bare: bool,
    /// A commit may be made: the user's identity is read together with the configuration.
    will_commit: bool,
    env: Vec<(OsString, OsString)>,
    children: Option<Arc<child::Children>>,
    /// What is known of this working tree.
    caches: caches::Caches,
    /// What is known of the repository, whatever the working tree.
    shared_caches: caches::Caches,
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
        let found = locate::locate(cwd, &env, locate::CallersGitDir::Honoured)?;
        Ok(Self::located(found, env))
    }

    /// [`Git::discover`] for commands that only read history: the repository may be bare.
    ///
    /// # Errors
    /// No repository, or one that git refuses (exit 5).
    pub fn discover_to_read(cwd: &Path) -> Result<Self> {
        match locate::locate(cwd, &[], locate::CallersGitDir::Honoured) {
            Ok(found) => Ok(Self::located(found, Vec::new())),
            Err(error) => match locate::bare(cwd)? {
                Some(found) => Ok(Self { bare: true, ..Self::located(found, Vec::new()) }),
                None => Err(error),
            },
        }
    }

    fn located(found: locate::Located, env: Vec<(OsString, OsString)>) -> Self {
        let explicit = !is_found_from(&found.top, &found.git_dir);
        Self { explicit, env, ..Self::of(found) }
    }

    /// A repository of which nothing is known yet.
    fn of(found: locate::Located) -> Self {
        let locate::Located { top, git_dir, common_dir, format } = found;
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
            caches: caches::Caches::default(),
            shared_caches: caches::Caches::default(),
        }
    }

    /// The same repository, with another of its working trees.
    ///
    /// # Errors
    /// `other_worktree` does not exist, or is not a working tree of this repository (exit 5).
    pub fn at(&self, other_worktree: &Path) -> Result<Self> {
        if !other_worktree.exists() {
            return Err(switch::not_there(other_worktree).into());
        }
        let found = locate::locate(other_worktree, &self.env, locate::CallersGitDir::Ignored)?;
        if found.common_dir != self.common_dir {
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
            ..Self::of(found)
        })
    }

    /// The same repository, for a command that makes a commit: the user's identity is read in
    /// advance.
    #[must_use]
    pub fn for_commits(self) -> Self {
        Self { will_commit: true, ..self }
    }

    /// Adds variables to the environment of every child.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_env(mut self, env: Vec<(OsString, OsString)>) -> Self {
        self.env.extend(env);
        // They may contain configuration.
        self.caches = caches::Caches::default();
        self
    }

    /// True if there is no working tree, and only history can be read.
    pub fn is_bare(&self) -> bool {
        self.bare
    }

    /// The working tree, as an absolute path; for a bare repository, its git directory.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The git directory of this working tree, absolute (in a linked one, not the shared one).
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git directory that all working trees share, absolute.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The state directory, for files that are never committed: `cowork` in the shared git
    /// directory.
    pub fn state_dir(&self) -> PathBuf {
        self.common_dir.join("cowork")
    }

    /// Reads objects: in process if libgit2 can, otherwise through the binary.
    pub fn reader(&self) -> Box<dyn Reader> {
        Box::new(fallback::Fallback::new(self))
    }

    /// Fails if git is too old for commands that write.
    fn require_new_enough(&self) -> Result<()> {
        let new_enough = self.shared_caches.get::<NewEnough>();
        if new_enough.0.get().is_none() {
            if !variables::is_of_2_42(self) {
                locate::require_git(&self.top, &self.env, OLDEST_GIT)?;
            }
            new_enough.0.get_or_init(|| ());
        }
        Ok(())
    }

    /// A command that only reads. It takes no optional lock.
    pub fn read<I, S>(&self, args: I) -> Cmd<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Cmd::new(self, spawn::Role::Read, args)
    }

    /// A command that writes, whose output is parsed, and that runs no hook except
    /// reference-transaction.
    pub fn write<I, S>(&self, args: I) -> Cmd<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Cmd::new(self, spawn::Role::Write, args)
    }

    /// A command that runs the user's hooks: they get the user's locale and pathspec rules, so
    /// pathspecs in its arguments must carry `:(top,literal)` themselves.
    pub fn hooked<I, S>(&self, args: I) -> Cmd<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Cmd::new(self, spawn::Role::Hooked, args)
    }
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
    use super::test_repo::Repo;
    use super::*;
    use crate::error::{Kind, hints_of, kind_of};

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
