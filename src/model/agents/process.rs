//! One run of an agent program: in a process session of its own, so that it cannot prompt on the
//! terminal; with a time limit for the whole run and bounded output. Its process group is killed
//! when the program ends or takes too long, or when the run is dropped.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, Command};

use super::output::AgentOutput;
use super::presets::Preset;
use super::workplace::{OpenAccess, Workplace};

/// Maximum bytes of one line; longer lines are skipped.
const LINE: usize = 16 * 1024 * 1024;
/// Maximum bytes of a run's output.
pub(super) const MOST: usize = 64 * 1024 * 1024;
/// Bytes kept from the end of its standard error.
const COMPLAINTS: usize = 16 * 1024;
/// How long the program's output may stay open after the program has ended.
const DRAIN: Duration = Duration::from_secs(1);

/// The program to start.
pub(super) struct Launch<'a> {
    /// The program's file.
    pub program: &'a Path,
    pub words: &'a [OsString],
    /// The folder and environment of the run.
    pub place: &'a Workplace,
    /// Text for the program's standard input.
    pub input: &'a str,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum ProgramEnd {
    /// The program exited.
    Exit(ExitStatus),
    /// The program was killed after this time limit.
    TimedOut(Duration),
    /// The program was killed because it printed more than [`MOST`].
    Flood,
    /// The program could not be started.
    NotStarted(std::io::Error),
}

/// A run that has ended.
#[derive(Debug)]
pub(super) struct FinishedRun {
    pub output: AgentOutput,
    pub ending: ProgramEnd,
    /// The end of its standard error.
    pub complaints: String,
}

/// Runs the program and waits for its end, at most `limit`.
pub(super) async fn run(
    launch: &Launch<'_>,
    row: &Preset,
    limit: Option<Duration>,
    way_out: Option<OpenAccess>,
) -> FinishedRun {
    let Workplace { folder, before, env, .. } = launch.place;
    let before = way_out.as_ref().map_or(before, |way| &way.before);
    #[cfg(unix)]
    let descriptor = way_out.as_ref().map(|way| way.descriptor);
    let more = if before.is_empty() { &[] } else { row.set_confined };
    let mut all = before.iter().map(OsString::as_os_str).chain([launch.program.as_os_str()]);
    let mut command = Command::new(all.next().unwrap_or_default());
    command
        .args(all)
        .args(launch.words)
        .current_dir(folder)
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .envs(more.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    // SAFETY: `detach` runs between fork and exec; it makes system calls only, and neither
    // allocates nor takes a lock.
    unsafe {
        command.pre_exec(move || detach(descriptor));
    }
    let mut output = AgentOutput::default();
    let mut complaints = Vec::new();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let ending = ProgramEnd::NotStarted(error);
            return FinishedRun { output, ending, complaints: String::new() };
        }
    };
    let group = Group(child.id());
    let (input, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let ending = {
        let mut hearing = std::pin::pin!(listen(out, &mut output, row));
        let mut rest = std::pin::pin!(async {
            tokio::join!(tell(input, launch.input), keep_end(err, &mut complaints))
        });
        let mut slow = std::pin::pin!(async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        });
        let mut serving = std::pin::pin!(async {
            if let Some(way) = way_out {
                way.serving.await;
            }
        });
        let (mut output_done, mut rest_done, mut serving_done) = (false, false, false);
        let ending = loop {
            tokio::select! {
                status = child.wait() => break status.map_or_else(ProgramEnd::NotStarted, ProgramEnd::Exit),
                flood = &mut hearing, if !output_done => match flood {
                    true => break ProgramEnd::Flood,
                    false => output_done = true,
                },
                _ = &mut rest, if !rest_done => rest_done = true,
                () = &mut serving, if !serving_done => serving_done = true,
                () = &mut slow => break ProgramEnd::TimedOut(limit.unwrap_or_default()),
            }
        };
        drop(group);
        // Output from before its end may still be in the pipes.
        let drain = async {
            if !output_done {
                hearing.await;
            }
            if !rest_done {
                rest.await;
            }
        };
        if matches!(ending, ProgramEnd::Exit(_)) {
            let _ = tokio::time::timeout(DRAIN, drain).await;
        }
        ending
    };
    output.end(matches!(&ending, ProgramEnd::Exit(status) if status.success()));
    FinishedRun { output, ending, complaints: String::from_utf8_lossy(&complaints).into_owned() }
}

/// The process group of a run. Dropping it kills the processes that remain.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.0.and_then(|pid| i32::try_from(pid).ok())
            && let Some(leader) = rustix::process::Pid::from_raw(leader)
        {
            // Fails if no process remains.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

/// Prepares a new process before it becomes the program: moves it to a process session of its own,
/// without a terminal, and lets it inherit one descriptor. On Linux, the kernel kills the program
/// when git-cowork ends.
#[cfg(unix)]
fn detach(descriptor: Option<i32>) -> std::io::Result<()> {
    rustix::process::setsid()?;
    if let Some(number) = descriptor {
        // SAFETY: the caller keeps the descriptor open until this process is started.
        let descriptor = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty())?;
    }
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

/// Writes the input; a program that does not read all of it is not an error.
async fn tell(input: Option<ChildStdin>, text: &str) {
    let Some(mut input) = input else { return };
    let _ = input.write_all(text.as_bytes()).await;
    let _ = input.shutdown().await;
}

/// Reads the program's lines as they arrive. True if there is too much output.
async fn listen(
    out: Option<impl AsyncRead + Unpin>,
    output: &mut AgentOutput,
    row: &Preset,
) -> bool {
    let Some(mut out) = out else { return false };
    let (mut line, mut skips, mut all) = (Vec::new(), false, 0);
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(n @ 1..) = out.read(&mut buffer).await {
        all += n;
        if all > MOST {
            return true;
        }
        let mut pieces = buffer[..n].split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            skips |= line.len() + piece.len() > LINE;
            if !skips {
                line.extend_from_slice(piece);
            }
            if pieces.peek().is_some() {
                if !skips {
                    row.read_line(output, &line);
                }
                line.clear();
                skips = false;
            }
        }
    }
    if !skips && !line.is_empty() {
        row.read_line(output, &line);
    }
    false
}

async fn keep_end(err: Option<impl AsyncRead + Unpin>, tail: &mut Vec<u8>) {
    let Some(mut err) = err else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(n @ 1..) = err.read(&mut buffer).await {
        tail.extend_from_slice(&buffer[..n]);
        let excess = tail.len().saturating_sub(COMPLAINTS);
        tail.drain(..excess);
    }
}
