//! Runs a command of git to its end: waits for a busy lock, starts it again where a signal ended it,
//! and turns a failure into an error. The meaning of the commands is left to the other files.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::error::Error;
use crate::git::command::{Meanwhile, Role};
use crate::git::environment::cannot_start;
use crate::git::locks;
use crate::git::locks::with_lock;
use crate::git::output::{Output, damaged, lossy, names_a_busy_lock, names_damage, signal_of};
use crate::git::{Cmd, Oid};
use crate::moment;

/// Maximum number of times that a command is started, if a signal ends it each time. Ctrl-C and
/// `timeout` reach every process of the terminal's group, and the kernel kills any process when
/// memory runs out.
pub(crate) const STARTS: usize = 3;

impl Cmd<'_> {
    fn run_once(&self) -> Result<Output> {
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
        let descriptor = children.map(|children| children.begin(&self.verb(), &self.git.top));
        let child = command.spawn();
        drop(descriptor);
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
    pub(crate) fn attempt(
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

fn input(bytes: &[u8]) -> Result<Stdio> {
    if bytes.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = scratch()?;
    file.write_all(bytes).context("writing git's input")?;
    file.rewind().context("writing git's input")?;
    Ok(file.into())
}

pub(crate) fn scratch() -> Result<File> {
    let file = tempfile::tempfile().context("creating a temporary file for git")?;
    // Git and what it starts write at the same time: `git push` lost the beginning of its message to
    // that of the remote end.
    #[cfg(unix)]
    rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::APPEND)
        .context("preparing a temporary file for git")?;
    Ok(file)
}

pub(crate) fn contents(file: &mut File) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind().context("reading git's output")?;
    file.read_to_end(&mut bytes).context("reading git's output")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use crate::git::test_repo::Repo;

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
