//! Makes one system call that writes files fail, or kills the program before it, as SQLite's tests
//! do. The calls of the program and of all its children are counted, with ptrace and a seccomp
//! filter (<https://man7.org/linux/man-pages/man2/seccomp.2.html>, `SECCOMP_RET_TRACE`), because
//! parts of the program call the kernel without libc.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::ptr::null_mut;

use libc::{c_int, c_long, pid_t, user_regs_struct};

use super::sandbox::{Outcome, Sandbox};

/// The fault that is injected into calls that write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None: the calls are only counted.
    Nothing,
    /// This one fails.
    Once(u64),
    /// From this one on, all calls that need disk space fail.
    NoRoom(u64),
    /// All processes are killed before this one.
    Last(u64),
    /// The process that makes this call is killed before it: the program or one of its children.
    Alone(u64),
}

/// What has happened.
#[derive(Debug, Default)]
pub struct Told {
    /// The number of calls that write files, until the end of the program.
    pub calls: u64,
    /// The first call that was hit by the fault.
    pub struck: Option<String>,
}

/// A call, the argument that names the file it writes, and whether it needs disk space.
struct Call {
    number: c_long,
    name: &'static str,
    writes: Writes,
    error: c_int,
}

#[derive(Clone, Copy)]
enum Writes {
    /// An open file, by the argument with its descriptor.
    Open(usize),
    /// A path, by the argument with it.
    Path(usize),
    /// A path that is opened with these flags.
    Flags { path: usize, flags: usize },
    /// A path that is opened with flags in memory (`openat2`).
    How { path: usize, how: usize },
}

const CALLS: &[Call] = {
    use Writes::{Flags, How, Open, Path};
    const fn call(number: c_long, name: &'static str, writes: Writes, error: c_int) -> Call {
        Call { number, name, writes, error }
    }
    const FULL: c_int = libc::ENOSPC;
    const BROKEN: c_int = libc::EIO;
    &[
        call(libc::SYS_write, "write", Open(0), FULL),
        call(libc::SYS_pwrite64, "pwrite", Open(0), FULL),
        call(libc::SYS_writev, "writev", Open(0), FULL),
        call(libc::SYS_copy_file_range, "copy_file_range", Open(2), FULL),
        call(libc::SYS_sendfile, "sendfile", Open(0), FULL),
        call(libc::SYS_ftruncate, "ftruncate", Open(0), FULL),
        call(libc::SYS_fallocate, "fallocate", Open(0), FULL),
        call(libc::SYS_fsync, "fsync", Open(0), BROKEN),
        call(libc::SYS_fdatasync, "fdatasync", Open(0), BROKEN),
        call(libc::SYS_fchmod, "fchmod", Open(0), BROKEN),
        call(libc::SYS_open, "open", Flags { path: 0, flags: 1 }, FULL),
        call(libc::SYS_openat, "openat", Flags { path: 1, flags: 2 }, FULL),
        call(libc::SYS_openat2, "openat2", How { path: 1, how: 2 }, FULL),
        call(libc::SYS_creat, "creat", Path(0), FULL),
        call(libc::SYS_mkdir, "mkdir", Path(0), FULL),
        call(libc::SYS_mkdirat, "mkdirat", Path(1), FULL),
        call(libc::SYS_link, "link", Path(1), FULL),
        call(libc::SYS_linkat, "linkat", Path(3), FULL),
        call(libc::SYS_symlink, "symlink", Path(1), FULL),
        call(libc::SYS_symlinkat, "symlinkat", Path(2), FULL),
        call(libc::SYS_rename, "rename", Path(1), BROKEN),
        call(libc::SYS_renameat, "renameat", Path(3), BROKEN),
        call(libc::SYS_renameat2, "renameat2", Path(3), BROKEN),
        call(libc::SYS_unlink, "unlink", Path(0), BROKEN),
        call(libc::SYS_unlinkat, "unlinkat", Path(1), BROKEN),
        call(libc::SYS_rmdir, "rmdir", Path(0), BROKEN),
        call(libc::SYS_truncate, "truncate", Path(0), FULL),
        call(libc::SYS_chmod, "chmod", Path(0), BROKEN),
        call(libc::SYS_fchmodat, "fchmodat", Path(1), BROKEN),
        call(libc::SYS_utimensat, "utimensat", Path(1), BROKEN),
    ]
};

/// Flags of a file that is opened to be written.
const WRITING: u64 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT) as u64;

/// Runs `git-cowork` with these arguments and this fault.
pub fn run(sandbox: &Sandbox, args: &[&str], fault: Fault) -> (Outcome, Told) {
    let [out, err] = ["stdout", "stderr"].map(|name| sandbox.root().join(name));
    let mut command = sandbox.cowork_command(args);
    command.stdin(Stdio::null()).process_group(0);
    command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
    let filter = filter();
    // SAFETY: between fork and exec, a few system calls that neither allocate nor lock.
    unsafe { command.pre_exec(move || traced(&filter)) };
    let what = format!("{args:?} with {fault:?}");
    #[expect(clippy::zombie_processes, reason = "the tracer waits for it, and for its children")]
    let child = command.spawn().unwrap();
    let mut tracer = Tracer::of(pid_t::try_from(child.id()).unwrap(), fault);
    let status = tracer.follow();
    let code = if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        128 + libc::WTERMSIG(status)
    };
    let [stdout, stderr] =
        [out, err].map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned());
    (Outcome { code, stdout, stderr, what }, tracer.told)
}

/// Runs in the child before it executes the program.
fn traced(filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).unwrap_or(0),
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies the filter, and writes nothing to it.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A filter that stops at [`CALLS`]; at calls that open files only if they open them for writing.
fn filter() -> Vec<libc::sock_filter> {
    let statement = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt,
        jf,
        k,
    };
    let load = |offset: usize| {
        let at = u32::try_from(offset).unwrap();
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0, 0)
    };
    let jump = |how: u32, k: u32, jt, jf| statement(libc::BPF_JMP | how | libc::BPF_K, k, jt, jf);
    let answer = |k: u32| statement(libc::BPF_RET | libc::BPF_K, k, 0, 0);
    let number = std::mem::offset_of!(libc::seccomp_data, nr);
    let arguments = std::mem::offset_of!(libc::seccomp_data, args);
    let (stop, pass) = (answer(libc::SECCOMP_RET_TRACE), answer(libc::SECCOMP_RET_ALLOW));
    let mut filter = vec![load(number)];
    for call in CALLS {
        let this = u32::try_from(call.number).unwrap();
        if let Writes::Flags { flags, .. } = call.writes {
            filter.push(jump(libc::BPF_JEQ, this, 0, 4));
            filter.push(load(arguments + 8 * flags));
            filter.push(jump(libc::BPF_JSET, u32::try_from(WRITING).unwrap(), 0, 1));
            filter.extend([stop, pass]);
        } else {
            filter.push(jump(libc::BPF_JEQ, this, 0, 1));
            filter.push(stop);
        }
    }
    filter.push(pass);
    filter
}

/// Follows the program and all its children.
struct Tracer {
    main: pid_t,
    alive: BTreeSet<pid_t>,
    fault: Fault,
    told: Told,
}

impl Tracer {
    fn of(main: pid_t, fault: Fault) -> Self {
        Self { main, alive: [main].into(), fault, told: Told::default() }
    }

    /// Follows all processes to their end; returns how the program ended.
    fn follow(&mut self) -> c_int {
        let (pid, status) = waited(self.main).unwrap();
        assert!(pid == self.main && libc::WIFSTOPPED(status), "it stops as it becomes the program");
        let options = libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC
            | libc::PTRACE_O_TRACESECCOMP
            | libc::PTRACE_O_EXITKILL;
        // SAFETY: options are numbers.
        let set = unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) };
        assert_eq!(set, 0, "{}", io::Error::last_os_error());
        go_on(pid, 0);
        let mut end = 0;
        while let Some((pid, status)) = waited(-1) {
            if !libc::WIFSTOPPED(status) {
                self.alive.remove(&pid);
                if pid == self.main {
                    end = status;
                }
                continue;
            }
            let is_new = self.alive.insert(pid);
            let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
            if event == libc::PTRACE_EVENT_SECCOMP {
                self.call(pid);
            }
            // A new child begins with a stop.
            let ours = event != 0 || signal == libc::SIGTRAP || (is_new && signal == libc::SIGSTOP);
            go_on(pid, if ours { 0 } else { signal });
        }
        end
    }

    /// Called when a process is about to make one of [`CALLS`].
    fn call(&mut self, pid: pid_t) {
        // SAFETY: the structure consists of numbers only, and the kernel fills them in.
        let mut registers: user_regs_struct = unsafe { zeroed() };
        // SAFETY: as above.
        let got = unsafe { libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers) };
        let number = registers.orig_rax.cast_signed();
        let Some(call) = CALLS.iter().find(|call| got == 0 && call.number == number) else {
            return;
        };
        let Some(file) = written(pid, &registers, call.writes) else { return };
        self.told.calls += 1;
        let here = self.told.calls;
        let strikes = match self.fault {
            Fault::Nothing => false,
            Fault::Once(at) | Fault::Last(at) | Fault::Alone(at) => here == at,
            Fault::NoRoom(at) => here >= at && call.error == libc::ENOSPC,
        };
        if !strikes {
            return;
        }
        self.told.struck.get_or_insert_with(|| format!("{} {file}", call.name));
        let killed = match self.fault {
            Fault::Last(_) => self.alive.iter().copied().collect(),
            Fault::Alone(_) => vec![pid],
            _ => Vec::new(),
        };
        for pid in &killed {
            // SAFETY: it is a process of the program that has not been waited for.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        if !killed.is_empty() {
            return;
        }
        registers.orig_rax = u64::MAX;
        registers.rax = i64::from(-call.error).cast_unsigned();
        // SAFETY: these are the registers of this process, except for the call and its result.
        unsafe { libc::ptrace(libc::PTRACE_SETREGS, pid, 0, &raw const registers) };
    }
}

/// The file that a call writes; `None` for pipes, sockets and devices.
fn written(pid: pid_t, registers: &user_regs_struct, writes: Writes) -> Option<String> {
    let argument = |at: usize| {
        let r = registers;
        [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9][at]
    };
    let path = |at: usize| match argument(at) {
        0 => Some("what is open".to_owned()),
        // "." cannot be renamed: rustix tries that to check that /proc is genuine.
        address => {
            Some(text(pid, address)).filter(|path| !path.starts_with("/dev/") && path != ".")
        }
    };
    match writes {
        Writes::Open(at) => {
            let link = format!("/proc/{pid}/fd/{}", argument(at));
            let file = std::fs::read_link(link).ok()?.display().to_string();
            let is_file = file.starts_with('/') && !file.starts_with("/dev/");
            is_file.then_some(file)
        }
        Writes::Path(at) | Writes::Flags { path: at, .. } => path(at),
        Writes::How { path: at, how } => {
            let mut flags = [0; 8];
            memory(pid)?.read_exact_at(&mut flags, argument(how)).ok()?;
            (u64::from_ne_bytes(flags) & WRITING != 0).then(|| path(at)).flatten()
        }
    }
}

fn memory(pid: pid_t) -> Option<File> {
    File::open(format!("/proc/{pid}/mem")).ok()
}

/// The string at this address.
fn text(pid: pid_t, address: u64) -> String {
    let mut bytes = [0; 256];
    let read = memory(pid).and_then(|memory| memory.read_at(&mut bytes, address).ok());
    let bytes = &bytes[..read.unwrap_or(0)];
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Waits for the next event of a child of this thread; other children belong to other tests.
fn waited(pid: pid_t) -> Option<(pid_t, c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: the status is written to.
        let told = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if told > 0 {
            return Some((told, status));
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return None;
        }
    }
}

fn go_on(pid: pid_t, signal: c_int) {
    // SAFETY: at worst the process was killed meanwhile and no longer exists.
    unsafe { libc::ptrace(libc::PTRACE_CONT, pid, null_mut::<u8>(), signal) };
}
