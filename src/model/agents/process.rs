//! One run of an agent program: its own session, so that it can ask nobody anything; a limit for the
//! whole; bounded output; and its process group killed when it ends, is too slow, or nobody waits for it
//! any more.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, Command};

use super::heard::Heard;
use super::presets::Preset;
use super::workplace::{OpenWay, Workplace};

/// Bytes of one line; more of it is skipped.
const LINE: usize = 16 * 1024 * 1024;
/// Bytes of a whole run.
pub(super) const MOST: usize = 64 * 1024 * 1024;
/// Bytes kept of the end of its complaints.
const COMPLAINTS: usize = 16 * 1024;
/// How long its output may stay open after it ended.
const DRAIN: Duration = Duration::from_secs(1);

/// What is started.
pub(super) struct Started<'a> {
    /// The program's file.
    pub program: &'a Path,
    pub words: &'a [OsString],
    /// Where it runs.
    pub place: &'a Workplace,
    /// Its standard input.
    pub input: &'a str,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// By itself.
    Exit(ExitStatus),
    /// It took longer than this, and was killed.
    TimedOut(Duration),
    /// It said more than [`MOST`], and was killed.
    Flood,
    /// It could not be started.
    NotStarted(std::io::Error),
}

/// A run that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub heard: Heard,
    pub ending: Ending,
    /// The last of its complaints.
    pub complaints: String,
}

/// Runs it and waits, at most `limit`.
pub(super) async fn run(
    started: &Started<'_>,
    row: &Preset,
    limit: Option<Duration>,
    way_out: Option<OpenWay>,
) -> Ended {
    let Workplace { folder, before, env, .. } = started.place;
    let before = way_out.as_ref().map_or(before, |way| &way.before);
    #[cfg(unix)]
    let inherited = way_out.as_ref().map(|way| way.descriptor);
    let more = if before.is_empty() { &[] } else { row.set_confined };
    let mut all = before.iter().map(OsString::as_os_str).chain([started.program.as_os_str()]);
    let mut command = Command::new(all.next().unwrap_or_default());
    command
        .args(all)
        .args(started.words)
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
        command.pre_exec(move || detach(inherited));
    }
    let mut heard = Heard::default();
    let mut complaints = Vec::new();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let ending = Ending::NotStarted(error);
            return Ended { heard, ending, complaints: String::new() };
        }
    };
    let group = Group(child.id());
    let (input, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let ending = {
        let mut hearing = std::pin::pin!(listen(out, &mut heard, row));
        let mut rest = std::pin::pin!(async {
            tokio::join!(tell(input, started.input), keep_end(err, &mut complaints))
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
        let (mut heard_all, mut ended_rest, mut served) = (false, false, false);
        let ending = loop {
            tokio::select! {
                status = child.wait() => break status.map_or_else(Ending::NotStarted, Ending::Exit),
                flood = &mut hearing, if !heard_all => match flood {
                    true => break Ending::Flood,
                    false => heard_all = true,
                },
                _ = &mut rest, if !ended_rest => ended_rest = true,
                () = &mut serving, if !served => served = true,
                () = &mut slow => break Ending::TimedOut(limit.unwrap_or_default()),
            }
        };
        drop(group);
        // What it printed before it ended may still be in the pipes.
        let drained = async {
            if !heard_all {
                hearing.await;
            }
            if !ended_rest {
                rest.await;
            }
        };
        if matches!(ending, Ending::Exit(_)) {
            let _ = tokio::time::timeout(DRAIN, drained).await;
        }
        ending
    };
    heard.end(matches!(&ending, Ending::Exit(status) if status.success()));
    Ended { heard, ending, complaints: String::from_utf8_lossy(&complaints).into_owned() }
}

/// The processes of a run. Dropping it kills those that are left.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.0.and_then(|pid| i32::try_from(pid).ok())
            && let Some(leader) = rustix::process::Pid::from_raw(leader)
        {
            // Fails where nothing is left.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

/// A session of its own, without a terminal; and it does not outlive us. It inherits one descriptor.
#[cfg(unix)]
fn detach(inherited: Option<i32>) -> std::io::Result<()> {
    rustix::process::setsid()?;
    if let Some(number) = inherited {
        // SAFETY: the caller holds it open until this process is started.
        let descriptor = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty())?;
    }
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

/// Gives it its input; whether it reads that is its own affair.
async fn tell(input: Option<ChildStdin>, text: &str) {
    let Some(mut input) = input else { return };
    let _ = input.write_all(text.as_bytes()).await;
    let _ = input.shutdown().await;
}

/// Takes its lines up as they come. True where there are too many.
async fn listen(out: Option<impl AsyncRead + Unpin>, heard: &mut Heard, row: &Preset) -> bool {
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
                    heard.line(&line, row);
                }
                line.clear();
                skips = false;
            }
        }
    }
    if !skips && !line.is_empty() {
        heard.line(&line, row);
    }
    false
}

async fn keep_end(err: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut err) = err else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(n @ 1..) = err.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..n]);
        let excess = kept.len().saturating_sub(COMPLAINTS);
        kept.drain(..excess);
    }
}
