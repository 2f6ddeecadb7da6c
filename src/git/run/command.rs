//! A git command to run: its arguments, and the environment, flags and locale that its kind gives it.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::process::Command;
use std::time::Duration;

use crate::git::Git;
use crate::git::environment::{PATHSPEC_VARIABLES, REPOSITORY_VARIABLES, parse_ready};

/// The kind of a command, which decides its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Read,
    Write,
    Hooked,
}

/// A git command to run.
#[derive(Clone, Debug)]
pub struct Cmd<'a> {
    pub(crate) git: &'a Git,
    pub(crate) role: Role,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) stdin: Vec<u8>,
    pub(crate) retry: bool,
    pub(crate) beside: bool,
    pub(crate) meanwhile: Option<Meanwhile<'a>>,
    pub(crate) limit: Option<Duration>,
}

/// Work to do while a child is running.
#[derive(Clone, Copy)]
pub(crate) struct Meanwhile<'a>(pub(crate) &'a dyn Fn());

impl fmt::Debug for Meanwhile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Meanwhile")
    }
}

impl<'a> Cmd<'a> {
    pub(crate) fn new<I, S>(git: &'a Git, role: Role, args: I) -> Self
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
    pub(crate) fn meanwhile(mut self, work: &'a dyn Fn()) -> Self {
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
    pub(crate) fn at_most(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// With `true`, the command runs no hook, and changes HEAD, index or working tree only if the
    /// caller updates earlier results about them: these stay valid ([`crate::moment`]).
    #[must_use]
    pub(crate) fn beside(mut self, beside: bool) -> Self {
        self.beside = beside;
        self
    }

    /// The git subcommand.
    pub(crate) fn verb(&self) -> Cow<'_, str> {
        let mut args = self.args.iter().map(|arg| arg.to_string_lossy());
        let mut verb = args.next();
        while let Some(flag) = verb.as_ref().filter(|arg| arg.starts_with('-')) {
            verb = if flag == "-c" { args.nth(1) } else { args.next() };
        }
        verb.unwrap_or_default()
    }

    /// The command for the system.
    pub(crate) fn command(&self) -> Command {
        let git = self.git;
        let mut command = Command::new("git");
        command.arg("-C").arg(&git.top);
        if git.explicit {
            command.arg("--git-dir").arg(&git.git_dir);
        }
        if git.explicit && !git.bare {
            command.arg("--work-tree").arg(&git.top);
        }
        let left_out = || REPOSITORY_VARIABLES.into_iter().chain(PATHSPEC_VARIABLES);
        for variable in left_out() {
            command.env_remove(variable);
        }
        for (key, value) in &git.env {
            if !left_out().any(|variable| key == variable) {
                command.env(key, value);
            }
        }
        // A file system monitor may hang; no command here recurses into submodules.
        command.args(["-c", "core.fsmonitor=false", "-c", "submodule.recurse=false"]);
        match self.role {
            Role::Hooked => {
                command.args(["-c", "advice.detachedHead=false"]);
            }
            Role::Read | Role::Write => parse_ready(&mut command),
        }
        match self.role {
            Role::Read => {
                command.env("GIT_OPTIONAL_LOCKS", "0");
            }
            // Automatic maintenance would continue in the background, with the session's lock.
            Role::Write | Role::Hooked => {
                command.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]);
            }
        }
        #[cfg(unix)]
        if self.limit.is_some() {
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        command.env("GIT_TERMINAL_PROMPT", "0");
        command.args(&self.args);
        for (key, value) in &self.env {
            command.env(key, value);
        }
        command
    }
}

impl Git {
    /// A command that only reads. It takes no optional lock.
    pub fn read<I, S>(&self, args: I) -> Cmd<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Cmd::new(self, Role::Read, args)
    }

    /// A command that writes, whose output is parsed, and that runs no hook except
    /// reference-transaction.
    pub fn write<I, S>(&self, args: I) -> Cmd<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Cmd::new(self, Role::Write, args)
    }

    /// A command that runs the user's hooks: they get the user's locale and pathspec rules, so
    /// pathspecs in its arguments must carry `:(top,literal)` themselves.
    pub fn hooked<I, S>(&self, args: I) -> Cmd<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Cmd::new(self, Role::Hooked, args)
    }
}
