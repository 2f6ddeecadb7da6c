//! Doors to what a person may and a command must not: other programs' sockets, keyrings, disks, the
//! system's passwords, descriptors that were left open, the terminal. As root and as an ordinary
//! user, where the tests may be both.

use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Mutex, OnceLock};

use tempfile::TempDir;

use super::{at_every_level, none_gets_in, results, sandbox};
use crate::support::Sandbox;
use crate::support::confinement::Level;
use crate::support::probe;
use crate::support::skip::skipped;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs a check for every level, by root and by an ordinary user.
pub(super) fn by_everybody(check: impl Fn(Level, Sandbox) + Sync) {
    at_every_level(|level| {
        check(level, sandbox_with_probe(level));
        if is_root() {
            let mut sandbox = sandbox_with_probe(level);
            sandbox.become_nobody();
            check(level, sandbox);
        } else {
            skipped("doors as root, who does not run the tests");
        }
    });
}

/// With a session that is planned, and the program of `inside/probe.rs` on the `PATH`.
fn sandbox_with_probe(level: Level) -> Sandbox {
    static PREPARED: OnceLock<Mutex<Sandbox>> = OnceLock::new();
    let prepare = || {
        let sandbox = sandbox(Level::None);
        probe::compile(&sandbox.root().join("bin/probe"));
        sandbox.auto(&["--stop-after", "plan"]).exits(0);
        Mutex::new(sandbox)
    };
    let mut sandbox = PREPARED.get_or_init(prepare).lock().unwrap().fork();
    sandbox.set_env("COWORK_TEST_SANDBOX", level.word());
    sandbox
}

/// A server of somebody else, to whom nobody may come.
struct Server {
    listener: UnixListener,
    path: PathBuf,
    _dir: Option<TempDir>,
}

impl Server {
    /// In a directory of its own there; `None` where we cannot write.
    fn in_new(place: &Path) -> Option<Self> {
        let dir = TempDir::with_prefix_in("cowork-door-", place).ok()?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let server = Self::at(&dir.path().join("socket"));
        Some(Self { _dir: Some(dir), ..server })
    }

    fn at(path: &Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        listener.set_nonblocking(true).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
        Self { listener, path: path.canonicalize().unwrap(), _dir: None }
    }

    #[track_caller]
    fn was_not_reached(&self) {
        let error = self.listener.accept().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{}", self.path.display());
    }
}

/// Servers wherever a program may have one.
fn servers(sandbox: &Sandbox) -> Vec<Server> {
    let mut servers: Vec<_> =
        ["home/socket", "repo/lib/socket"].map(|at| Server::at(&sandbox.root().join(at))).into();
    // Neither covered nor in the home.
    let elsewhere = if is_root() { "/var/lib" } else { env!("CARGO_TARGET_TMPDIR") };
    for place in ["/tmp", "/var/tmp", "/run", "/dev/shm", elsewhere] {
        match Server::in_new(Path::new(place)) {
            Some(server) => servers.push(server),
            None => skipped(&format!("a socket in {place}, where the tests cannot write")),
        }
    }
    servers
}

/// A program that was told a relative name, and ends with this.
struct Holder(Child, Option<ChildStdin>);

impl Holder {
    fn start(sandbox: &Sandbox, dir: &Path, name: &str) -> Self {
        let mut command = sandbox.command("probe");
        command.args(["hold", name]).current_dir(dir);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n");
        let input = child.stdin.take();
        Self(child, input)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.1.take());
        self.0.wait().ok();
    }
}

#[test]
fn sockets_of_other_programs_lead_nowhere() {
    by_everybody(|_, sandbox| {
        let servers = servers(&sandbox);
        let _holder = Holder::start(&sandbox, &sandbox.path("lib"), "relative");
        let name = format!("cowork-door-{}", sandbox.root().display());
        let unnamed = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap());
        let mut attempts: Vec<_> = servers
            .iter()
            .map(|server| format!("probe connect {}", server.path.display()))
            .collect();
        attempts.extend(servers.iter().map(|s| format!("probe datagram {}", s.path.display())));
        attempts.push("cd lib && probe connect socket".to_owned());
        attempts.push("probe connect lib/relative".to_owned());
        attempts.push(format!("probe abstract {name}"));
        // Another name for the same socket, made by the command.
        attempts.push("ln lib/socket lib/other && probe connect lib/other".to_owned());
        attempts.push("mv lib/socket lib/other && probe connect lib/other".to_owned());
        none_gets_in(&sandbox, &attempts.iter().map(String::as_str).collect::<Vec<_>>());
        servers.iter().for_each(Server::was_not_reached);
        drop(unnamed);
    });
}

/// Parts of `PATH` may be root's alone.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied)
}

/// A terminal multiplexer gives its user's shell to whoever may write to its socket.
struct Multiplexer<'a>(&'a Sandbox, PathBuf);

impl<'a> Multiplexer<'a> {
    fn start(sandbox: &'a Sandbox, socket: PathBuf) -> Option<Self> {
        let new = ["-f", "/dev/null", "new-session", "-d", "sh"];
        let mut command = sandbox.command("tmux");
        let started = command.arg("-S").arg(&socket).args(new).stdin(Stdio::null()).output();
        match started {
            Err(error) if is_absent(&error) => None,
            started => {
                let started = started.unwrap();
                assert!(started.status.success(), "{started:?}");
                Some(Self(sandbox, socket))
            }
        }
    }
}

impl Drop for Multiplexer<'_> {
    fn drop(&mut self) {
        let mut command = self.0.command("tmux");
        command.arg("-S").arg(&self.1).arg("kill-server").output().ok();
    }
}

#[test]
fn no_shell_of_a_terminal_multiplexer_is_had() {
    by_everybody(|_, sandbox| {
        let shared = TempDir::with_prefix_in("cowork-door-", "/tmp").unwrap();
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let places = [shared.path().join("default"), sandbox.root().join("home/tmux")];
        let started: Vec<_> =
            places.iter().filter_map(|place| Multiplexer::start(&sandbox, place.clone())).collect();
        if started.is_empty() {
            skipped("tmux, which is not installed");
            return;
        }
        let mark = shared.path().join("owned");
        let attempts: Vec<_> = places
            .iter()
            .flat_map(|place| {
                let tmux = format!("t=tmux; $t -S {}", place.display());
                let mark = mark.display();
                [
                    format!("{tmux} send-keys 'touch {mark}' Enter"),
                    format!("{tmux} run-shell 'touch {mark}'"),
                    format!("{tmux} list-sessions"),
                ]
            })
            .collect();
        none_gets_in(&sandbox, &attempts.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!mark.exists());
    });
}

#[test]
fn no_session_of_screen_is_had() {
    by_everybody(|_, mut sandbox| {
        let sockets = sandbox.root().join("home/screens");
        sandbox.set_env("SCREENDIR", sockets.to_str().unwrap());
        fs::create_dir(&sockets).unwrap();
        fs::set_permissions(&sockets, fs::Permissions::from_mode(0o700)).unwrap();
        let owner = fs::metadata(sandbox.root().join("home")).unwrap();
        let (user, group) = {
            use std::os::unix::fs::MetadataExt as _;
            (owner.uid(), owner.gid())
        };
        std::os::unix::fs::chown(&sockets, Some(user), Some(group)).unwrap();
        let screen = |args: &[&str]| sandbox.command("screen").args(args).output();
        match screen(&["-dmS", "door", "sh"]) {
            Err(error) if is_absent(&error) => {
                skipped("screen, which is not installed");
                return;
            }
            started => assert!(started.unwrap().status.success()),
        }
        let mark = sandbox.root().join("home/owned");
        let run = format!("s=screen; SCREENDIR={} $s -S door", sockets.display());
        let attempts = [
            format!("{run} -X stuff 'touch {}\\n'", mark.display()),
            format!("{run} -X exec touch {}", mark.display()),
        ];
        none_gets_in(&sandbox, &attempts.each_ref().map(String::as_str));
        screen(&["-S", "door", "-X", "quit"]).unwrap();
        assert!(!mark.exists());
    });
}

#[test]
fn neither_keyrings_nor_odd_sockets_nor_the_terminals_input_are_there() {
    by_everybody(|level, sandbox| {
        let mut attempts = vec![
            "probe add_key",
            "probe request_key",
            "probe keyctl",
            "probe io_uring",
            // Hypervisors, ciphers, packets; of the kernel's own, its log and other sockets.
            "probe family 40",
            "probe family 38",
            "probe family 17",
            "probe family 16,9",
            "probe family 16,4",
            "probe ioctl 5412",
            "probe ioctl 541c",
        ];
        if cfg!(target_arch = "x86_64") {
            attempts.push("probe call-of-32-bits");
        }
        if level.has_mounts() {
            attempts.push("grep . /proc/keys /proc/key-users");
        }
        for (attempt, told) in attempts.iter().zip(results(&sandbox, &attempts, 20)) {
            let expected = match *attempt {
                grep if grep.contains("grep") => {
                    assert!(told.starts_with("exit 1"), "{told}");
                    continue;
                }
                ioctl if ioctl.contains("ioctl") => libc::EPERM,
                family if family.contains("family") => libc::EAFNOSUPPORT,
                _ => libc::ENOSYS,
            };
            assert!(told.contains(&format!("error {expected}")), "{attempt}: {told}");
        }
    });
}

/// What no build needs, with the error on which programs do without.
#[test]
fn calls_for_administrators_are_refused_as_if_they_were_not_there() {
    const INVALID: i64 = -1;
    let users = i64::from(libc::CLONE_NEWUSER);
    let calls = [
        (libc::SYS_clone3, 0, libc::ENOSYS),
        (libc::SYS_open_tree, INVALID, libc::ENOSYS),
        (libc::SYS_move_mount, INVALID, libc::ENOSYS),
        (libc::SYS_fsopen, 0, libc::ENOSYS),
        (libc::SYS_mount_setattr, INVALID, libc::ENOSYS),
        (libc::SYS_unshare, users, libc::EPERM),
        (libc::SYS_clone, users | i64::from(libc::SIGCHLD), libc::EPERM),
        (libc::SYS_setns, INVALID, libc::EPERM),
        (libc::SYS_userfaultfd, 0, libc::EPERM),
        (libc::SYS_bpf, INVALID, libc::EPERM),
        (libc::SYS_perf_event_open, 0, libc::EPERM),
        (libc::SYS_open_by_handle_at, INVALID, libc::EPERM),
        (libc::SYS_pidfd_getfd, INVALID, libc::EPERM),
    ];
    by_everybody(|_, sandbox| {
        let attempts = calls.map(|(call, first, _)| format!("probe number {call},{first}"));
        let attempts = attempts.each_ref().map(String::as_str);
        for ((call, _, error), told) in calls.iter().zip(results(&sandbox, &attempts, 20)) {
            assert!(told.contains(&format!("error {error}")), "{call}: {told}");
        }
    });
}

/// An open directory leads round every mount.
#[test]
fn descriptors_the_caller_left_open_are_closed() {
    by_everybody(|_, mut sandbox| {
        sandbox.leave_root_open();
        let secret = sandbox.root().join("home/.ssh/id_ed25519");
        fs::create_dir_all(secret.parent().unwrap()).unwrap();
        fs::write(&secret, "hunter2").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
        let secret = secret.display();
        let attempts = [
            "ls -d /proc/self/fd/9/etc".to_owned(),
            "ls -d /proc/$$/fd/9/etc".to_owned(),
            "ls -d /proc/1/fd/9/etc".to_owned(),
            "ls -d /proc/[0-9]*/fd/[0-9]*/etc 2>/dev/null".to_owned(),
            "cd /proc/self/fd/9".to_owned(),
            format!("grep -r hunter2 /proc/self/fd/9{secret} /proc/1/fd/9{secret}"),
        ];
        none_gets_in(&sandbox, &attempts.each_ref().map(String::as_str));
    });
}

/// Block devices that have a name, such as disks.
fn disks() -> Vec<PathBuf> {
    let all = fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    all.map(|entry| Path::new("/dev").join(entry.file_name()))
        .filter(|disk| disk.exists())
        .collect()
}

/// What root could read there: the system's passwords and keys.
fn of_system() -> Vec<PathBuf> {
    let keys = fs::read_dir("/etc/ssh").into_iter().flatten().flatten().map(|entry| entry.path());
    let keys = keys.filter(|key| key.to_string_lossy().ends_with("_key"));
    let lists = ["/etc/shadow", "/etc/gshadow"].map(PathBuf::from);
    keys.chain(lists.into_iter().filter(|path| path.exists())).collect()
}

#[test]
fn neither_disks_nor_the_systems_passwords_can_be_read() {
    by_everybody(|_, sandbox| {
        let disks = disks();
        if disks.is_empty() {
            skipped("opening a disk, of which this system has none");
        }
        let devices = disks.into_iter().chain(["/dev/mem", "/dev/kmsg"].map(PathBuf::from));
        let open = |device: PathBuf| format!("exec 3<{}", device.display());
        let mut attempts: Vec<_> = devices.map(open).collect();
        let files = of_system();
        attempts.extend(files.iter().map(|file| format!("grep -q . {}", file.display())));
        attempts.push("mknod lib/disk b 7 0 && head -c1 lib/disk".to_owned());
        none_gets_in(&sandbox, &attempts.iter().map(String::as_str).collect::<Vec<_>>());
    });
}

/// The same doors are open where nothing is in their way, so the tests above can fail.
#[test]
fn without_walls_the_doors_are_open() {
    let mut sandbox = sandbox_with_probe(Level::None);
    sandbox.leave_root_open();
    let servers = servers(&sandbox);
    let _holder = Holder::start(&sandbox, &sandbox.path("lib"), "relative");
    let mut attempts: Vec<_> =
        servers.iter().map(|server| format!("probe connect {}", server.path.display())).collect();
    attempts.push("probe connect lib/relative".to_owned());
    attempts.push("ls -d /proc/self/fd/9/etc".to_owned());
    attempts.push("probe pair 2".to_owned());
    if is_root() {
        attempts.push("head -c1 /etc/shadow | grep -q .".to_owned());
    }
    let commands: Vec<_> = attempts.iter().map(String::as_str).collect();
    for (attempt, told) in attempts.iter().zip(results(&sandbox, &commands, 20)) {
        assert!(told.starts_with("exit 0"), "{attempt}: {told}");
    }
}
