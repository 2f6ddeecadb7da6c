//! How tests run programs.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process_group};

use super::outcome::Outcome;

/// A timeout longer than any run of a test, even on a slow and busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// A command for a program that is looked for in `path` now. If the command looked for it in a `PATH`
/// of its own, the tests, a large process, would be forked for it instead of spawning it.
pub(super) fn found(program: &OsStr, path: &OsStr) -> Command {
    let can_be_run = |file: &PathBuf| access(file, Access::EXEC_OK).is_ok() && file.is_file();
    let mut files = std::env::split_paths(path).map(|folder| folder.join(program));
    let is_name = Path::new(program).components().count() == 1;
    let file = if is_name { files.find(can_be_run) } else { None };
    let mut command = Command::new(file.unwrap_or_else(|| program.into()));
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        command.arg0(program);
    }
    command
}

/// Makes a hangup end the programs that tests start. Under nohup the tests inherit an ignored SIGHUP,
/// and pass it on, which no shell can undo; a signal that is handled here is not ignored there. Set
/// once here and not in each child, which would have to be forked instead of spawned.
#[cfg(unix)]
pub(super) fn obey_hangups() {
    extern "C" fn nothing(_signal: libc::c_int) {}
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let handler = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // SAFETY: the handler does nothing.
        unsafe { libc::signal(libc::SIGHUP, handler) };
    });
}

/// Runs a command in a process group of its own, with this standard input.
pub(super) fn run(mut command: Command, input: &str, started: impl FnOnce(u32)) -> Outcome {
    let what = format!("{:?} {:?}", command.get_program(), command.get_args().collect::<Vec<_>>());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        command.process_group(0);
    }
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
    let pid = child.id();
    started(pid);
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input closes the pipe.
        stdin.write_all(input.as_bytes()).ok();
    }
    let (done, watch) = channel::<()>();
    std::thread::spawn(move || {
        if watch.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            let group = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            kill_process_group(group, Signal::KILL).ok();
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    Outcome {
        code: exit_code(output.status),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        what,
    }
}

fn exit_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
