//! Runs a command of git to its end.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::super::locks::{self, with_lock};
use super::super::output::{Output, lossy, signal_of};
use super::{
    Cmd, Meanwhile, PATHSPEC_VARIABLES, REPOSITORY_VARIABLES, Role, cannot_start, parse_ready,
};
use crate::error::Error;
use crate::moment;

impl Cmd<'_> {
    pub(super) fn run_once(&self) -> Result<Output> {
        let (output, mut file) = self.run_into_file()?;
        Ok(Output { stdout: contents(&mut file)?, ..output })
    }

    /// Runs the command; its output is in the file, not in the [`Output`].
    fn run_into_file(&self) -> Result<(Output, File)> {
        if self.role != Role::Read {
            self.git.require_new_enough()?;
        }
        let mut command = self.command();
        command.stdin(input(&self.stdin)?);
        // A process that a hook leaves running may keep a pipe open; a file has an end.
        let (out, mut err) = (scratch()?, scratch()?);
        command.stdout(out.try_clone().context("preparing git's output")?);
        command.stderr(err.try_clone().context("preparing git's output")?);
        tracing::trace!(args = ?self.args, "git");
        let status = self.wait_for(&mut command)?;
        let output = Output {
            code: status.code(),
            signal: signal_of(status),
            stdout: Vec::new(),
            stderr: lossy(&contents(&mut err)?),
        };
        Ok((output, out))
    }

    /// Runs the command to its end. If git-cowork dies before a command that writes has ended, the
    /// next run can wait for the command; if a signal ends the command, its locks are removed.
    fn wait_for(&self, command: &mut Command) -> Result<ExitStatus> {
        let children = self.git.children.as_deref().filter(|_| self.role != Role::Read);
        let inherited = children.map(|children| children.begin(&self.verb(), &self.git.top));
        let child = command.spawn();
        drop(inherited);
        let status = child.map_err(|error| cannot_start(&error)).and_then(|mut child| {
            if let Some(children) = children {
                children.started(child.id());
            }
            self.meanwhile.iter().for_each(|Meanwhile(work)| work());
            self.ended(&mut child)
                .map_err(|error| Error::repository(format!("waiting for git: {error}")))
        });
        if let (Ok(status), Some(children)) = (&status, children)
            && signal_of(*status).is_some()
            && let Some(since) = children.outlived()
        {
            locks::remove(self.git, since)?;
            if let Some((_, index)) = self.env.iter().find(|(name, _)| name == "GIT_INDEX_FILE") {
                // A private index.
                let _ = std::fs::remove_file(with_lock(index.as_ref()));
            }
        }
        if let Some(children) = children {
            children.ended();
        }
        if self.may_change_what_is_looked_at() {
            moment::end();
        } else if self.beside {
            moment::wrote();
        }
        Ok(status?)
    }

    /// Waits for the child, and kills it at the limit, if it has one.
    fn ended(&self, child: &mut Child) -> std::io::Result<ExitStatus> {
        let end = self.limit.map(|limit| Instant::now() + limit);
        while let Some(end) = end {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > end {
                // With the hook that it runs.
                #[cfg(unix)]
                if let Some(group) =
                    i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
                {
                    let _ =
                        rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                }
                child.kill()?;
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child.wait()
    }

    pub(in super::super) fn command(&self) -> Command {
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

fn input(bytes: &[u8]) -> Result<Stdio> {
    if bytes.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = scratch()?;
    file.write_all(bytes).context("writing git's input")?;
    file.rewind().context("writing git's input")?;
    Ok(file.into())
}

pub(super) fn scratch() -> Result<File> {
    let file = tempfile::tempfile().context("creating a temporary file for git")?;
    // Git and what it starts write at the same time: `git push` lost the beginning of its message to
    // that of the remote end.
    #[cfg(unix)]
    rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::APPEND)
        .context("preparing a temporary file for git")?;
    Ok(file)
}

pub(super) fn contents(file: &mut File) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind().context("reading git's output")?;
    file.read_to_end(&mut bytes).context("reading git's output")?;
    Ok(bytes)
}
