//! The helper: a separate process that drops privileges a command must not have, then executes the
//! command.
//!
//! It has one thread and never starts another, so `fork` and `unshare` are sound.

use std::ffi::OsString;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getpid, getppid, getrlimit, kill_process,
    set_parent_process_death_signal, setrlimit, setsid, wait, waitpid,
};
use rustix::thread::CapabilitySet;

use super::confinement::Level;
use super::door::{self, Door};
use super::spec::Spec;
use super::{bubblewrap, filter, landlock, namespaces};

/// Largest file a command may write, in bytes.
const FILE_MAX: u64 = 8 << 30;
/// CPU seconds of one process; the time limits of commands are shorter.
const CPU_S: u64 = 3600;

/// Runs a command and returns its exit code. `args` contains the specification, then the command;
/// the program's name and [`super::HELPER_WORD`] are already removed.
///
/// # Errors
/// If the command cannot be confined as specified; then it is not run.
pub fn run(args: &[OsString]) -> anyhow::Result<u8> {
    let out = args.first().and_then(door::number);
    close_descriptors(out).context("closing inherited file descriptors")?;
    let args = &args[usize::from(out.is_some())..];
    let [spec, program, arguments @ ..] = args else {
        bail!("this command is internal: git-cowork starts it itself");
    };
    let unreadable = "the specification of the sandbox cannot be read";
    let mut text = spec.to_str().unwrap_or_default().to_owned();
    if let Some(file) = text.strip_prefix('@') {
        text = std::fs::read_to_string(file).context(unreadable)?;
    }
    let spec: Spec = serde_json::from_str(&text).context(unreadable)?;
    let out = out.filter(|_| !spec.doors.is_empty()).map(door::inherited).transpose()?;
    for path in &spec.sealed {
        ensure!(!path.is_symlink(), "{} is a symbolic link", path.display());
    }
    let mut command = Command::new(program);
    command.args(arguments);
    match spec.level {
        Level::None | Level::Seatbelt => bail!("no confinement was requested"),
        Level::Landlock => {
            limit()?;
            namespaces::drop_capabilities_but(namespaces::OF_FILES)?;
            landlock::restrict(&spec)?;
            filter::install(landlock::leaves_open(&spec))?;
            Err(command.exec()).context("starting the command")
        }
        Level::Namespaces => in_namespaces(&spec, out, command),
        Level::Bubblewrap if spec.inside => {
            let door = out.map(|out| Door::open(&spec.doors, out)).transpose()?;
            limit()?;
            namespaces::limit_processes();
            namespaces::drop_capabilities_but(CapabilitySet::empty())?;
            landlock::restrict(&spec)?;
            filter::install(filter::Close::default())?;
            if let Some(door) = door {
                door.serve_apart(true)?;
            }
            Err(command.exec()).context("starting the command")
        }
        Level::Bubblewrap => {
            let words: Vec<OsString> = std::iter::once(program).chain(arguments).cloned().collect();
            let mut command = bubblewrap::command(&spec, out.as_ref(), &words)?;
            if let Some(out) = &out {
                rustix::io::fcntl_setfd(out, rustix::io::FdFlags::empty())?;
            }
            Err(command.exec()).context("starting bubblewrap")
        }
    }
}

/// An open directory bypasses all mounts, even if only the first process of a namespace has it
/// open: `/proc` shows its descriptors. So only the three standard descriptors and `out` stay open.
fn close_descriptors(out: Option<RawFd>) -> std::io::Result<()> {
    const FIRST: libc::c_uint = 3;
    let none: libc::c_uint = 0;
    let kept = out.and_then(|out| libc::c_uint::try_from(out).ok());
    let close = |first: libc::c_uint, last: libc::c_uint| {
        // SAFETY: this process has not opened any file yet.
        first > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, none) } == 0
    };
    let is_done = match kept {
        Some(kept) => close(FIRST, kept - 1) && close(kept + 1, libc::c_uint::MAX),
        None => close(FIRST, libc::c_uint::MAX),
    };
    if is_done {
        return Ok(());
    }
    // `close_range` failed: Linux is older than 5.9, or a seccomp filter denies the call.
    let open = std::fs::read_dir("/proc/self/fd")?.flatten();
    let open: Vec<i32> =
        open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let closed = |descriptor: &i32| {
        descriptor.cast_unsigned() >= FIRST && Some(descriptor.cast_unsigned()) != kept
    };
    for descriptor in open.into_iter().filter(closed) {
        // SAFETY: as above; closing the already closed descriptor of the directory is harmless.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}

fn in_namespaces(spec: &Spec, out: Option<OwnedFd>, mut command: Command) -> anyhow::Result<u8> {
    let parent = getppid();
    namespaces::enter(spec)?;
    die_with_parent()?;
    ensure!(getppid() == parent, "the program that started this one is gone");
    let (ended, end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // SAFETY: this process has one thread, so no lock is held and no state is inconsistent in the
    // child.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        drop(ended);
        let status = as_init(spec, out, &mut command)?;
        rustix::io::write(&end, &status.into_raw().to_ne_bytes())?;
        // The kernel now kills all other processes of the namespace.
        return Ok(0);
    }
    drop((end, out));
    let init = Pid::from_raw(pid).filter(|_| pid > 0).context("fork failed")?;
    let mut status = [0; 4];
    let told = rustix::io::read(&ended, &mut status)?;
    let waited = waitpid(Some(init), WaitOptions::empty())?;
    if told < status.len() {
        // The first process printed an error on standard error, or was killed.
        let code = waited.and_then(|(_, status)| status.exit_status());
        return Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
    }
    let status = ExitStatus::from_raw(i32::from_ne_bytes(status));
    match status.code() {
        Some(code) => Ok(u8::try_from(code).unwrap_or(1)),
        None => {
            // The command was killed by a signal: die by a signal too; callers need no more detail.
            kill_process(getpid(), Signal::KILL)?;
            Ok(1)
        }
    }
}

/// First process of the namespace: starts the command and reaps orphans until the command ends.
fn as_init(spec: &Spec, out: Option<OwnedFd>, command: &mut Command) -> anyhow::Result<ExitStatus> {
    die_with_parent()?;
    setsid()?;
    limit()?;
    namespaces::furnish()?;
    let door = out.map(|out| Door::open(&spec.doors, out)).transpose()?;
    // If memory runs out, the kernel kills the command first.
    let _ = std::fs::write("/proc/self/oom_score_adj", "900");
    namespaces::drop_capabilities_but(CapabilitySet::empty())?;
    landlock::restrict(spec)?;
    filter::install(filter::Close::default())?;
    if let Some(door) = door {
        door.serve_apart(false)?;
    }
    let child = command.spawn().context("starting the command")?.id();
    loop {
        if let Some((pid, status)) = wait(WaitOptions::empty())?
            && u32::try_from(pid.as_raw_pid()).is_ok_and(|pid| pid == child)
        {
            return Ok(ExitStatus::from_raw(status.as_raw()));
        }
    }
}

fn die_with_parent() -> anyhow::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

fn limit() -> anyhow::Result<()> {
    for (resource, most) in
        [(Resource::Core, 0), (Resource::Fsize, FILE_MAX), (Resource::Cpu, CPU_S)]
    {
        let hard = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
        setrlimit(resource, Rlimit { current: Some(hard), maximum: Some(hard) })?;
    }
    Ok(())
}
