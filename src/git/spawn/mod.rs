//! Starts git: sets the environment, flags and locale of a child, waits for a busy lock, and turns
//! a failure into an error. The meaning of the commands is left to the other files.

pub(super) mod cat_file;
mod run;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::output::{Output, damaged, names_a_busy_lock, names_damage};
use super::{Git, Oid};
use crate::error::Error;
use crate::git::locks;
use crate::moment;

/// Variables that would point a child at another repository or index. The configuration variables
/// of `git rev-parse --local-env-vars` are kept: `git -c` must reach git-cowork.
pub(super) const REPOSITORY_VARIABLES: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
];

/// Variables that give paths another meaning: with `GIT_ICASE_PATHSPECS`, a person's `README.md`
/// was committed for a model's `readme.md`. No git command here gets them.
pub(super) const PATHSPEC_VARIABLES: [&str; 4] =
    ["GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"];

/// Maximum number of times that a command is started, if a signal ends it each time. Ctrl-C and
/// `timeout` reach every process of the terminal's group, and the kernel kills any process when
/// memory runs out.
pub(super) const STARTS: usize = 3;

/// The kind of a command, which decides its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Read,
    Write,
    Hooked,
}

/// A git command to run.
#[derive(Clone, Debug)]
pub struct Cmd<'a> {
    git: &'a Git,
    role: Role,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    retry: bool,
    beside: bool,
    meanwhile: Option<Meanwhile<'a>>,
    limit: Option<Duration>,
}

/// Work to do while a child is running.
#[derive(Clone, Copy)]
struct Meanwhile<'a>(&'a dyn Fn());

impl fmt::Debug for Meanwhile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Meanwhile")
    }
}

impl<'a> Cmd<'a> {
    pub(super) fn new<I, S>(git: &'a Git, role: Role, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let (env, stdin) = (Vec::new(), Vec::new());
        let (retry, beside) = (true, false);
        Self { git, role, args, env, stdin, retry, beside, meanwhile: None, limit: None }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable for this child only.
    #[must_use]
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.into(), value.as_ref().to_owned()));
        self
    }

    /// Sets its standard input, which is empty by default.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets the items, each followed by a NUL, as standard input.
    #[must_use]
    pub fn stdin_nul<S: AsRef<str>>(self, items: &[S]) -> Self {
        let mut bytes = Vec::new();
        for item in items {
            bytes.extend_from_slice(item.as_ref().as_bytes());
            bytes.push(0);
        }
        self.stdin(bytes)
    }

    /// Calls `work` while git is running; again if git is started again.
    #[must_use]
    pub(super) fn meanwhile(mut self, work: &'a dyn Fn()) -> Self {
        self.meanwhile = Some(Meanwhile(work));
        self
    }

    /// Does not retry on a busy lock: the second run would not find the same state as the first.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.retry = false;
        self
    }

    /// Kills the command if it runs longer than this.
    #[must_use]
    pub(super) fn at_most(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// With `true`, the command runs no hook, and changes HEAD, index or working tree only if the
    /// caller updates earlier results about them: these stay valid ([`crate::moment`]).
    #[must_use]
    pub(super) fn beside(mut self, beside: bool) -> Self {
        self.beside = beside;
        self
    }

    /// Runs the command to its end, whatever its exit code. If a signal ends it, it is run again,
    /// unless hooks may have run or [`Cmd::once`] was called.
    ///
    /// # Errors
    /// Git cannot be started, or a signal ended it.
    pub fn output(&self) -> Result<Output> {
        let again = self.retry && self.role != Role::Hooked;
        let output = self.attempt(|| self.retry, || again)?;
        if output.killed() { Err(self.failure(&output).into()) } else { Ok(output) }
    }

    /// Runs the command; retries on a busy lock while `may_retry` returns true, and after a signal
    /// while `may_rerun` does. A signal in the last run is not an error here.
    pub(super) fn attempt(
        &self,
        may_retry: impl Fn() -> bool,
        may_rerun: impl Fn() -> bool,
    ) -> Result<Output> {
        let begin = Instant::now();
        let mut pause = Duration::from_millis(20);
        let mut starts = 0;
        loop {
            let output = self.run_once()?;
            starts += 1;
            if output.killed() {
                if starts < STARTS && may_rerun() {
                    continue;
                }
                return Ok(output);
            }
            let busy = !output.success() && names_a_busy_lock(&output.stderr) && may_retry();
            if !busy || begin.elapsed() + pause > locks::LOCK_PATIENCE {
                return Ok(output);
            }
            // Another process is at work.
            moment::end();
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(400));
        }
    }

    /// Runs the command; any exit code except 0 is an error with git's words.
    ///
    /// # Errors
    /// It failed (exit 5).
    pub fn checked(&self) -> Result<Output> {
        let output = self.output()?;
        if output.success() {
            return Ok(output);
        }
        Err(self.failure(&output).into())
    }

    /// Runs the command and returns its output without the final newline.
    ///
    /// # Errors
    /// It failed (exit 5).
    pub fn capture(&self) -> Result<String> {
        Ok(self.checked()?.text().trim_end_matches('\n').to_owned())
    }

    /// Runs the command and parses its output as an object id.
    ///
    /// # Errors
    /// It failed, or printed something else (exit 5).
    pub fn oid(&self) -> Result<Oid> {
        Ok(self.capture()?.parse()?)
    }

    /// The error of a failed run.
    pub fn failure(&self, output: &Output) -> Error {
        let verb = self.verb();
        if let Some(signal) = output.signal {
            return stopped_by(signal, &verb);
        }
        let message = format!("git {verb} failed: {}", output.complaint());
        if names_damage(&output.stderr) {
            return damaged(message);
        }
        let error = Error::repository(message);
        if names_a_busy_lock(&output.stderr) {
            return locks::explain(self.git, error, &output.stderr);
        }
        error
    }

    /// True if the command, or a hook of it, may change HEAD, the index or the working tree.
    fn may_change_what_is_looked_at(&self) -> bool {
        // It writes only objects, or a private index.
        let only_ours = ["hash-object", "commit-tree"].contains(&&*self.verb())
            || self.env.iter().any(|(name, _)| name == "GIT_INDEX_FILE");
        let is_ours = self.beside || (only_ours && self.role != Role::Hooked);
        self.role != Role::Read && !is_ours
    }

    /// The git subcommand.
    fn verb(&self) -> Cow<'_, str> {
        let mut args = self.args.iter().map(|arg| arg.to_string_lossy());
        let mut verb = args.next();
        while let Some(flag) = verb.as_ref().filter(|arg| arg.starts_with('-')) {
            verb = if flag == "-c" { args.nth(1) } else { args.next() };
        }
        verb.unwrap_or_default()
    }
}

/// The error for a command that a signal ended; its output may be incomplete.
fn stopped_by(signal: i32, verb: &str) -> Error {
    #[cfg(unix)]
    {
        use rustix::process::Signal;

        use crate::error::Kind;
        if [Signal::INT, Signal::TERM, Signal::HUP].map(Signal::as_raw).contains(&signal) {
            return Error::new(Kind::Interrupted, format!("git {verb} was interrupted"));
        }
    }
    Error::repository(format!("git {verb} was killed (signal {signal})"))
        .hint("something on this machine killed it, or memory ran out; run the command again")
}

/// Adds flags and a locale that make the output parseable.
pub(super) fn parse_ready(command: &mut Command) {
    command.args(["--no-pager", "--literal-pathspecs"]);
    command.args(["-c", "log.showSignature=false", "-c", "core.quotePath=false"]);
    // Files in a working tree may look like a bare repository. Commands that run hooks do not get
    // this setting, because a hook may use a mirror, which is a bare repository.
    command.args(["-c", "safe.bareRepository=explicit"]);
    command.env("LC_MESSAGES", "C").env_remove("LC_ALL").env_remove("LANGUAGE");
}

pub(super) fn cannot_start(error: &std::io::Error) -> Error {
    Error::repository(format!("git cannot be started: {error}"))
        .hint("install git and add it to PATH: https://git-scm.com/downloads")
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;

    #[test]
    fn variables_of_another_repository_do_not_reach_a_child() {
        let repo = Repo::with_commit();
        let git = repo.git().with_env(vec![
            ("GIT_DIR".into(), "/nowhere".into()),
            ("GIT_INDEX_FILE".into(), "/nowhere".into()),
            ("GIT_CONFIG_COUNT".into(), "1".into()),
            ("GIT_CONFIG_KEY_0".into(), "cowork.x".into()),
            ("GIT_CONFIG_VALUE_0".into(), "kept".into()),
        ]);
        assert_eq!(git.read(["rev-parse", "--git-dir"]).capture().unwrap(), ".git");
        assert_eq!(git.read(["config", "cowork.x"]).capture().unwrap(), "kept");
    }

    #[test]
    fn a_lock_that_goes_away_is_waited_for_and_one_that_stays_is_left() {
        let repo = Repo::with_commit();
        let lock = repo.path(".git/index.lock");
        std::fs::write(&lock, "").unwrap();
        repo.file("a", "a");
        // As if another process held the lock until the child has failed to get it.
        let note = repo.root().join("note");
        let git = repo.git().with_children_in(&note, &[], &|_| ()).unwrap();
        let other = lock.clone();
        let owner = std::thread::spawn(move || {
            let at_work = || !std::fs::read(&note).unwrap().is_empty();
            while !at_work() {
                std::thread::yield_now();
            }
            while at_work() {
                std::thread::yield_now();
            }
            std::fs::remove_file(other).unwrap();
        });
        git.write(["add", "a"]).checked().unwrap();
        owner.join().unwrap();

        std::fs::write(&lock, "").unwrap();
        let error = repo.git().write(["add", "a"]).once().checked().unwrap_err();
        assert!(error.to_string().contains("index.lock"), "{error}");
        assert!(!crate::error::hints_of(&error).is_empty());
        assert!(lock.exists());
    }

    /// Git does not name the lock of the tables of references.
    #[test]
    fn the_lock_of_tables_is_named() {
        let repo = Repo::with_commit_in(&["--ref-format=reftable"]);
        let lock = repo.path(".git/reftable/tables.list.lock");
        std::fs::write(&lock, "").unwrap();
        let error = repo.git().write(["branch", "side"]).once().checked().unwrap_err();
        let hints = crate::error::hints_of(&error).concat();
        assert!(hints.contains(&format!("rm {}", lock.display())), "{error} {hints}");
    }

    #[test]
    fn a_writing_child_is_noted_while_it_runs() {
        let repo = Repo::with_commit();
        let note = repo.root().join("note");
        let seen = repo.root().join("seen");
        repo.hook("pre-commit", &format!("cp '{}' '{}'", note.display(), seen.display()));
        let git = repo.git().with_children_in(&note, &[], &|_| ()).unwrap();
        git.hooked(["commit", "-q", "--allow-empty", "-m", "x"]).checked().unwrap();
        let text = std::fs::read_to_string(seen).unwrap();
        let (pid, rest) = text.split_once('\n').unwrap();
        assert!(pid.trim().parse::<u32>().is_ok() && rest.contains("commit"), "{text}");
        assert_eq!(std::fs::read(note).unwrap(), b"");
    }
}
