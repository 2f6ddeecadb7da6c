//! Seccomp filter: the system calls denied to a command, one row each. Rules about paths and
//! addresses, which a filter cannot inspect, are left to mounts and Landlock.

use std::io::Error;

use anyhow::{Context as _, bail};
use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JMP,
    BPF_K, BPF_LD, BPF_RET, BPF_W, EAFNOSUPPORT, ENOSYS, EOPNOTSUPP, EPERM, EPROTONOSUPPORT,
    IPPROTO_TCP, MSG_FASTOPEN, NETLINK_ROUTE, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SOCK_DGRAM,
    SOCK_RAW, SOCK_STREAM, c_int, c_long, sock_filter,
};

/// The kernel's constant for the architecture of the rows' call numbers; programs of another
/// architecture, such as 32-bit programs, use other numbers for the same calls. Source:
/// `include/uapi/linux/audit.h`.
const ARCHITECTURE: Option<u32> = if cfg!(not(target_pointer_width = "64")) {
    None
} else if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else if cfg!(target_arch = "loongarch64") {
    Some(0xc000_0102)
} else {
    // Some other architectures have one call for all socket operations, with arguments in memory.
    None
};
/// On x86-64, call numbers from here on are the x32 variants of the same calls.
const X32: u32 = 0x4000_0000;

/// `TIOCSTI` inserts a byte into a terminal's input as if typed; `TIOCLINUX` can paste on a
/// console.
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
/// Mask for a socket's type without its flags.
const SOCK_TYPE_MASK: u32 = 0xf;

/// The same number on every architecture; libc does not know it on all of them.
const SYS_FCHMODAT2: c_long = 452;

/// Byte offsets of the fields of `struct seccomp_data`; for an argument, the offset of its lower
/// half, the only part of the checked arguments that the kernel reads.
const NUMBER: u32 = 0;
const PROCESSOR: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Gaps left by namespaces and Landlock that the filter must close.
#[derive(Clone, Copy, Default)]
pub(super) struct Close {
    /// UNIX sockets with a path, including those of other programs.
    pub(super) unix: bool,
    /// All internet sockets.
    pub(super) inet: bool,
    /// Ways to open TCP connections that Landlock does not check.
    pub(super) tcp_aside: bool,
}

/// Condition on an argument for a row to apply.
enum When {
    Is(u32, c_int),
    IsNot(u32, c_int),
    /// The socket type, ignoring flags.
    IsKind(u32, c_int),
    /// The flag is set, whatever the other flags.
    Has(u32, c_int),
}

/// A call that fails with an error if all conditions are met.
struct Row {
    call: c_long,
    when: Vec<When>,
    answer: c_int,
}

fn row(call: c_long, when: Vec<When>, answer: c_int) -> Row {
    Row { call, when, answer }
}

fn rows(close: Close) -> Vec<Row> {
    use When::{Has, Is, IsKind, IsNot};
    let known = [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK];
    let mut rows = mounting();
    rows.extend(of_the_kernel());
    rows.extend(set_id());
    rows.extend([
        // Kernel keyrings are not namespaced.
        row(libc::SYS_keyctl, Vec::new(), ENOSYS),
        row(libc::SYS_add_key, Vec::new(), ENOSYS),
        row(libc::SYS_request_key, Vec::new(), ENOSYS),
        // io_uring creates and connects sockets without the socket calls that the rows below check.
        row(libc::SYS_io_uring_setup, Vec::new(), ENOSYS),
        row(libc::SYS_io_uring_enter, Vec::new(), ENOSYS),
        row(libc::SYS_io_uring_register, Vec::new(), ENOSYS),
        row(libc::SYS_ioctl, vec![Is(1, TIOCSTI.cast_signed())], EPERM),
        row(libc::SYS_ioctl, vec![Is(1, TIOCLINUX.cast_signed())], EPERM),
        // Other families talk to hypervisors, Bluetooth devices, the kernel's crypto.
        row(libc::SYS_socket, known.map(|family| IsNot(0, family)).into(), EAFNOSUPPORT),
        row(libc::SYS_socket, vec![Is(0, AF_NETLINK), IsNot(2, NETLINK_ROUTE)], EAFNOSUPPORT),
    ]);
    if close.unix {
        rows.push(row(libc::SYS_socket, vec![Is(0, AF_UNIX)], EAFNOSUPPORT));
        // A datagram socket pair can still send to any address; SOCK_RAW means SOCK_DGRAM here.
        for kind in [SOCK_DGRAM, SOCK_RAW] {
            rows.push(row(libc::SYS_socketpair, vec![IsKind(1, kind)], EAFNOSUPPORT));
        }
    }
    if close.inet {
        for family in [AF_INET, AF_INET6] {
            rows.push(row(libc::SYS_socket, vec![Is(0, family)], EAFNOSUPPORT));
        }
    }
    if close.tcp_aside {
        // Multipath TCP or any other stream protocol: programs fall back to plain TCP.
        for family in [AF_INET, AF_INET6] {
            let stream = [Is(0, family), IsKind(1, SOCK_STREAM), IsNot(2, 0)];
            let other = stream.into_iter().chain([IsNot(2, IPPROTO_TCP)]).collect();
            rows.push(row(libc::SYS_socket, other, EPROTONOSUPPORT));
        }
        // TCP Fast Open: the first send connects.
        for (call, flags) in
            [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)]
        {
            rows.push(row(call, vec![Has(flags, MSG_FASTOPEN)], EOPNOTSUPP));
        }
    }
    rows
}

/// Calls for mounts and namespaces. A user namespace grants all capabilities inside, which exposes
/// most of the kernel's code.
fn mounting() -> Vec<Row> {
    let new_users = || vec![When::Has(0, libc::CLONE_NEWUSER)];
    // Programs fall back to the older calls. The filter cannot check the flags of clone3: they are
    // in memory.
    let newer = [
        libc::SYS_clone3,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
    ];
    let older = [
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
    ];
    let newer = newer.map(|call| row(call, Vec::new(), ENOSYS)).into_iter();
    let older = older.map(|call| row(call, Vec::new(), EPERM)).into_iter();
    let users = [libc::SYS_clone, libc::SYS_unshare].map(|call| row(call, new_users(), EPERM));
    newer.chain(older).chain(users).collect()
}

/// System calls that only administrators need, or that inspect other programs. The calls of
/// debuggers are not among them: a command sees only its own processes.
fn of_the_kernel() -> Vec<Row> {
    let calls = [
        libc::SYS_bpf,
        libc::SYS_userfaultfd,
        libc::SYS_perf_event_open,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_open_by_handle_at,
        libc::SYS_pidfd_getfd,
    ];
    calls.map(|call| row(call, Vec::new(), EPERM)).into()
}

/// Calls that make a program which runs as its owner (setuid) or its group (setgid), whoever starts
/// it: the tree of root may be open to everybody.
///
/// A mode with the setgid bit may be meant for a folder, which the filter cannot tell. In a repository
/// that a group shares (`core.sharedRepository`) every folder has the bit, and `chmod 755`, `cp -r` and
/// Python's `copytree` set it again. So only calls that make files are denied it; a file that gets it
/// otherwise loses it when the command ends (`effects/modes.rs`).
fn set_id() -> Vec<Row> {
    use When::Has;
    let [user, group] = [libc::S_ISUID, libc::S_ISGID].map(u32::cast_signed);
    // Calls, and their argument with the mode.
    let mut modes = vec![(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (SYS_FCHMODAT2, 2)];
    let mut making = vec![(libc::SYS_mknodat, 2)];
    // A mode counts only with one of the flags; without it, the argument may be anything.
    let mut opening = vec![(libc::SYS_openat, 2)];
    #[cfg(target_arch = "x86_64")]
    {
        modes.push((libc::SYS_chmod, 1));
        making.extend([(libc::SYS_mknod, 1), (libc::SYS_creat, 1)]);
        opening.push((libc::SYS_open, 1));
    }
    let mut rows: Vec<Row> =
        modes.into_iter().map(|(call, mode)| row(call, vec![Has(mode, user)], EPERM)).collect();
    for bit in [user, group] {
        rows.extend(making.iter().map(|(call, mode)| row(*call, vec![Has(*mode, bit)], EPERM)));
        for (call, flags) in &opening {
            for flag in [libc::O_CREAT, libc::O_TMPFILE] {
                rows.push(row(*call, vec![Has(*flags, flag), Has(flags + 1, bit)], EPERM));
            }
        }
    }
    // Its flags and mode are in memory. Programs fall back to openat, as on Linux before 5.6.
    rows.push(row(libc::SYS_openat2, Vec::new(), ENOSYS));
    rows
}

/// Installs the filter for this process and all its descendants, permanently.
pub(super) fn install(close: Close) -> anyhow::Result<()> {
    let Some(architecture) = ARCHITECTURE else {
        bail!("there is no system call filter for this processor");
    };
    let mut program = compile(architecture, &rows(close))?;
    let what = libc::sock_fprog {
        len: u16::try_from(program.len()).context("a filter that is too long")?,
        filter: program.as_mut_ptr(),
    };
    let failed = || Err(Error::last_os_error()).context("filtering system calls");
    // SAFETY: passes only numbers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return failed();
    }
    // SAFETY: the filter and its program outlive the call.
    let set = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const what)
    };
    if set != 0 { failed() } else { Ok(()) }
}

fn compile(architecture: u32, rows: &[Row]) -> anyhow::Result<Vec<sock_filter>> {
    let mut program = vec![
        load(PROCESSOR),
        jump(BPF_JEQ, architecture, 1, 0),
        answer(ENOSYS),
        load(NUMBER),
        // Only x32 calls have such high numbers.
        jump(BPF_JGE, X32, 0, 1),
        answer(ENOSYS),
    ];
    for row in rows {
        let mut conditions = Vec::new();
        for when in &row.when {
            let (argument, value) = match *when {
                When::Is(argument, value)
                | When::IsNot(argument, value)
                | When::IsKind(argument, value)
                | When::Has(argument, value) => (argument, value.cast_unsigned()),
            };
            conditions.push(load(ARGUMENTS + 8 * argument));
            match when {
                When::IsKind(..) => {
                    conditions.push(statement(BPF_ALU | BPF_AND | BPF_K, SOCK_TYPE_MASK));
                }
                When::Has(..) => conditions.push(statement(BPF_ALU | BPF_AND | BPF_K, value)),
                When::Is(..) | When::IsNot(..) => {}
            }
            conditions.push(jump(BPF_JEQ, value, 0, 0));
            // The other jump offset is filled in below, once the end is known.
        }
        let number = u32::try_from(row.call).context("a call without a number")?;
        let length = conditions.len();
        let mut tests = row.when.iter();
        for (at, instruction) in conditions.iter_mut().enumerate() {
            if u32::from(instruction.code) == BPF_JMP | BPF_JEQ | BPF_K {
                // Jumps past the other conditions and the return statement.
                let end = u8::try_from(length - at).context("a row that is too long")?;
                match tests.next() {
                    Some(When::IsNot(..)) => instruction.jt = end,
                    _ => instruction.jf = end,
                }
            }
        }
        program.push(load(NUMBER));
        let past = u8::try_from(length + 1).context("a row that is too long")?;
        program.push(jump(BPF_JEQ, number, 0, past));
        program.extend(conditions);
        program.push(answer(row.answer));
    }
    program.push(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    Ok(program)
}

fn load(offset: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, offset)
}

fn answer(error: c_int) -> sock_filter {
    statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error.cast_unsigned())
}

fn statement(code: u32, k: u32) -> sock_filter {
    // All codes are below 256.
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn jump(test: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { jt, jf, ..statement(BPF_JMP | test | BPF_K, k) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: u32 = 7;
    /// Return value for an allowed call.
    const ALLOWED: c_int = 0;

    /// Evaluates the filter as the kernel would.
    fn asked<const N: usize>(
        close: Close,
        processor: u32,
        call: c_long,
        arguments: [u64; N],
    ) -> c_int {
        let program = compile(HERE, &rows(close)).unwrap();
        let word = |offset: u32| match offset {
            NUMBER => u32::try_from(call).unwrap(),
            PROCESSOR => processor,
            _ => arguments.get((offset - ARGUMENTS) as usize / 8).copied().unwrap_or(0) as u32,
        };
        let (mut at, mut register) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let turn = |yes: bool| usize::from(if yes { jt } else { jf });
            match u32::from(code) {
                code if code == BPF_LD | BPF_W | BPF_ABS => register = word(k),
                code if code == BPF_ALU | BPF_AND | BPF_K => register &= k,
                code if code == BPF_JMP | BPF_JEQ | BPF_K => at += turn(register == k),
                code if code == BPF_JMP | BPF_JGE | BPF_K => at += turn(register >= k),
                code if code == BPF_RET | BPF_K && k == SECCOMP_RET_ALLOW => return ALLOWED,
                code if code == BPF_RET | BPF_K => {
                    return (k ^ SECCOMP_RET_ERRNO).cast_signed();
                }
                code => panic!("{code}"),
            }
        }
    }

    fn of(close: Close, call: c_long, arguments: [c_int; 3]) -> c_int {
        // The upper halves contain bits that the kernel does not read.
        let arguments = arguments.map(|n| u64::from(n.cast_unsigned()) | 0xffff << 48);
        asked(close, HERE, call, arguments)
    }

    #[test]
    fn each_row_denies_only_the_calls_it_names() {
        let open = Close::default();
        for call in [libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_io_uring_setup] {
            assert_eq!(of(open, call, [0; 3]), ENOSYS);
        }
        for call in [libc::SYS_read, libc::SYS_ptrace, libc::SYS_connect, libc::SYS_clone] {
            assert_eq!(of(open, call, [AF_UNIX, 2, 3]), ALLOWED);
        }
        for call in [libc::SYS_clone, libc::SYS_unshare] {
            let of = |flags| of(open, call, [flags, 0, 0]);
            assert_eq!(of(libc::CLONE_NEWUSER | libc::CLONE_NEWNS), EPERM);
            assert_eq!([libc::CLONE_VM | libc::CLONE_FS, 0].map(of), [ALLOWED; 2]);
        }
        for (call, answer) in [
            (libc::SYS_clone3, ENOSYS),
            (libc::SYS_fsopen, ENOSYS),
            (libc::SYS_mount, EPERM),
            (libc::SYS_bpf, EPERM),
            (libc::SYS_pidfd_getfd, EPERM),
        ] {
            assert_eq!(of(open, call, [0; 3]), answer);
        }
        let ioctl = |command: u32| of(open, libc::SYS_ioctl, [0, command.cast_signed(), 0]);
        assert_eq!([TIOCSTI, TIOCLINUX, 0x5413].map(ioctl), [EPERM, EPERM, ALLOWED]);
        for family in [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] {
            assert_eq!(of(open, libc::SYS_socket, [family, 1, 0]), ALLOWED, "{family}");
        }
        for family in [libc::AF_VSOCK, libc::AF_ALG, libc::AF_PACKET, 0, -1] {
            assert_eq!(of(open, libc::SYS_socket, [family, 1, 0]), EAFNOSUPPORT, "{family}");
        }
        assert_eq!(of(open, libc::SYS_socket, [AF_NETLINK, 3, 9]), EAFNOSUPPORT);
        assert_eq!(of(open, libc::SYS_socketpair, [AF_UNIX, SOCK_DGRAM, 0]), ALLOWED);
    }

    #[test]
    fn files_with_the_setuid_bit_are_not_made() {
        fn of<const N: usize>(call: c_long, arguments: [u32; N]) -> c_int {
            asked(Close::default(), HERE, call, arguments.map(u64::from))
        }
        let [creating, temporary] =
            [libc::O_CREAT, libc::O_TMPFILE].map(|flags| (flags | libc::O_RDWR).cast_unsigned());
        let [folder, both] = [libc::O_DIRECTORY, libc::O_RDWR].map(c_int::cast_unsigned);
        for mode in [0o4755, 0o6755, 0o4000] {
            assert_eq!(of(libc::SYS_fchmod, [3, mode, 0]), EPERM);
            assert_eq!(of(libc::SYS_fchmodat, [3, 0, mode]), EPERM);
            assert_eq!(of(SYS_FCHMODAT2, [3, 0, mode]), EPERM);
            assert_eq!(of(libc::SYS_mknodat, [3, 0, mode]), EPERM);
        }
        for mode in [0o755, 0o1777, 0o2775] {
            assert_eq!(of(libc::SYS_fchmod, [3, mode, 0]), ALLOWED);
            assert_eq!(of(libc::SYS_fchmodat, [3, 0, mode]), ALLOWED);
        }
        assert_eq!(of(libc::SYS_mknodat, [3, 0, 0o2755]), EPERM);
        assert_eq!(of(libc::SYS_openat2, [3, 0, 0]), ENOSYS);
        let at = |mode| of(libc::SYS_openat, [3, 0, creating, mode]);
        assert_eq!([0o4755, 0o2644, 0o644].map(at), [EPERM, EPERM, ALLOWED]);
        #[cfg(target_arch = "x86_64")]
        {
            assert_eq!(of(libc::SYS_chmod, [0, 0o4755, 0]), EPERM);
            assert_eq!(of(libc::SYS_chmod, [0, 0o2755, 0]), ALLOWED);
            for call in [libc::SYS_creat, libc::SYS_mknod] {
                assert_eq!(
                    [0o4755, 0o2755, 0o755].map(|mode| of(call, [0, mode, 0])),
                    [EPERM, EPERM, 0]
                );
            }
            for (flags, answer) in
                [(creating, EPERM), (temporary, EPERM), (folder, ALLOWED), (both, ALLOWED)]
            {
                assert_eq!(
                    [0o4755, 0o2755].map(|mode| of(libc::SYS_open, [0, flags, mode])),
                    [answer; 2]
                );
                assert_eq!(of(libc::SYS_open, [0, flags, 0o644]), ALLOWED);
            }
        }
    }

    #[test]
    fn gaps_of_landlock_are_closed_on_request() {
        let unix = Close { unix: true, ..Close::default() };
        assert_eq!(of(unix, libc::SYS_socket, [AF_UNIX, 1, 0]), EAFNOSUPPORT);
        assert_eq!(of(unix, libc::SYS_socket, [AF_INET, 1, 0]), ALLOWED);
        let pair = |kind| of(unix, libc::SYS_socketpair, [AF_UNIX, kind | libc::SOCK_CLOEXEC, 0]);
        assert_eq!([SOCK_DGRAM, SOCK_RAW].map(pair), [EAFNOSUPPORT; 2]);
        assert_eq!([libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(pair), [ALLOWED; 2]);
        let inet = Close { inet: true, ..Close::default() };
        assert_eq!(of(inet, libc::SYS_socket, [AF_INET6, 1, 0]), EAFNOSUPPORT);
        assert_eq!(of(inet, libc::SYS_socket, [AF_UNIX, 1, 0]), ALLOWED);
    }

    #[test]
    fn tcp_connections_cannot_bypass_landlock() {
        const MULTIPATH: c_int = 262;
        let closed = Close { tcp_aside: true, ..Close::default() };
        let kind = SOCK_STREAM | libc::SOCK_CLOEXEC;
        for family in [AF_INET, AF_INET6] {
            let socket = |close, protocol| of(close, libc::SYS_socket, [family, kind, protocol]);
            assert_eq!(socket(closed, MULTIPATH), EPROTONOSUPPORT);
            assert_eq!([0, IPPROTO_TCP].map(|protocol| socket(closed, protocol)), [ALLOWED; 2]);
            assert_eq!(socket(Close::default(), MULTIPATH), ALLOWED);
        }
        assert_eq!(of(closed, libc::SYS_socket, [AF_INET, SOCK_DGRAM, 17]), ALLOWED);
        let sendmsg = |flags| of(closed, libc::SYS_sendmsg, [3, 0, flags]);
        assert_eq!(sendmsg(MSG_FASTOPEN | libc::MSG_NOSIGNAL), EOPNOTSUPP);
        assert_eq!(sendmsg(libc::MSG_NOSIGNAL), ALLOWED);
    }

    #[test]
    fn calls_of_other_architectures_are_denied() {
        assert_eq!(asked(Close::default(), HERE + 1, libc::SYS_read, [0; 3]), ENOSYS);
        let x32 = c_long::from(X32) | libc::SYS_keyctl;
        assert_eq!(of(Close::default(), x32, [0; 3]), ENOSYS);
    }
}
