//! What a command makes for itself: with namespaces it works, with Landlock alone it is known what
//! is lost.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::doors::by_everybody;
use super::results;
use crate::support::confinement::{Level, confinement};
use crate::support::skip::skipped;

/// What a command makes for itself works where it has a network and mounts of its own.
#[test]
fn servers_of_a_commands_own_are_reached_with_namespaces() {
    if confinement() != Level::Namespaces {
        skipped("servers of a command's own, without namespaces");
        return;
    }
    by_everybody(|level, sandbox| {
        if !level.has_mounts() {
            return;
        }
        let commands = [
            "probe serve lib/socket",
            "probe serve $TMPDIR/socket",
            "probe serve /tmp/other",
            "probe serve /var/tmp/socket",
            "probe serve /run/socket",
            "probe serve-abstract cowork-door",
            "probe tcp",
            "probe udp",
            "probe pair 1",
            "probe pair 2",
            "probe shared-memory",
            "probe terminal",
            "probe child",
            "test \"$TMPDIR\" = /tmp && test -O /tmp -a -k /tmp && echo x >/tmp/kept",
            "grep -q x /tmp/kept && id -un && test -d /run",
            "find /dev ! -type l | grep -vE '^/dev(/(pts|shm|null|zero|full|random|urandom|tty|console|git-cowork)(/.*)?)?$' \
             || true",
        ];
        let told = results(&sandbox, &commands, 20);
        for (command, told) in commands.iter().zip(&told) {
            assert!(told.starts_with("exit 0"), "{command}: {told}");
        }
        assert!(!told.last().unwrap().contains("/dev"), "{told:?}");
    });
}

/// Whom the system knows from a directory service, whose socket is covered, is in a list of users
/// that the program makes.
#[test]
fn a_user_has_a_name_also_where_the_systems_list_lacks_it() {
    if confinement() != Level::Namespaces {
        skipped("a list of users of a command's own, without namespaces");
        return;
    }
    let dir = TempDir::new().unwrap();
    let (tree, users) = (dir.path().join("tree"), dir.path().join("users"));
    fs::create_dir(&tree).unwrap();
    let user = rustix::process::geteuid().as_raw();
    fs::write(&users, format!("somebody:x:{user}:{user}::/:/bin/sh\n")).unwrap();
    let spec = serde_json::json!({
        "level": "namespaces", "root": tree, "sealed": [], "writable": [], "hidden": [],
        "covers": [{"at": "/tmp", "with": null}], "users": users, "network": false
    });
    let told = Command::new(env!("CARGO_BIN_EXE_git-cowork"))
        .args(["__sandbox", &spec.to_string(), "id", "-un"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&told.stdout), "somebody\n", "{told:?}");
}

/// What the fact sheet of the sandbox says is lost with Landlock alone, before its version 9.
#[test]
fn with_landlock_alone_what_is_lost_is_known_and_said() {
    if confinement() == Level::None {
        skipped("what Landlock alone loses, which this kernel has not");
        return;
    }
    by_everybody(|level, sandbox| {
        if level != Level::Landlock {
            return;
        }
        let (no_access, no_family) = (libc::EACCES, libc::EAFNOSUPPORT);
        let mut lost = vec![("probe tcp", no_access), ("probe shared-memory", no_access)];
        lost.extend([("probe terminal", no_access), ("probe serve top", no_family)]);
        if landlock_version() < 9 {
            lost.extend([
                ("probe serve lib/socket", no_family),
                ("probe serve-abstract cowork-door", no_family),
                ("probe family 1", no_family),
                ("probe pair 2", no_family),
                ("probe pair 3", no_family),
                ("probe pair 524290", no_family),
            ]);
        } else {
            skipped("UNIX sockets that Landlock before version 9 costs");
        }
        let kept =
            ["probe pair 1", "probe pair 5", "probe udp", "probe family 16,0", "probe child"];
        let commands: Vec<_> = lost.iter().map(|(command, _)| *command).chain(kept).collect();
        let told = results(&sandbox, &commands, 20);
        for ((command, error), told) in lost.iter().zip(&told) {
            assert!(told.contains(&format!("error {error}")), "{command}: {told}");
        }
        for (command, told) in kept.iter().zip(&told[lost.len()..]) {
            assert!(told.starts_with("exit 0"), "{command}: {told}");
        }
    });
}

fn landlock_version() -> libc::c_long {
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: numbers only.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, 1_u32) }
}
