//! Calls that mean harm, given by the model: none of them reaches what it wants. A command says
//! `GOT IN` when it did, and the world around the working tree is compared as well; the file tools
//! have attempts of their own.
//!
//! Commands that the program's manners refuse anyway (`git reset`, `&`) are spelled so that the
//! manners do not see them: here only the kernel's walls count.

mod doors;
mod fetching;
mod files;
mod homes;
mod leaks;
mod levels;
mod made;
mod nested;
mod own;
mod processes;
mod programs;
mod repository;
mod suites;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::Path;

use serde_json::json;

use crate::support::confinement::{Level, offers};
use crate::support::skip::skipped;
use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at, at_once};

/// Runs a check for every level that this kernel offers.
fn at_every_level(check: impl Fn(Level) + Sync) {
    at_once([Level::Namespaces, Level::Bubblewrap, Level::Landlock], |level| {
        if offers(level) {
            check(level);
        } else {
            skipped(&format!("confinement by {}, which is not to be had here", level.word()));
        }
    });
}

fn sandbox(level: Level) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_TEST_SANDBOX", level.word());
    sandbox.write("lib/here.txt", "here\n");
    sandbox.commit_all("something to build on");
    sandbox
}

/// Runs commands in one turn of the first task of a session, a new one or one that stopped before
/// coding, and answers with their results.
#[track_caller]
fn results(sandbox: &Sandbox, commands: &[&str], timeout_s: u32) -> Vec<String> {
    let call = |reply: Reply, command: &&str| {
        reply.and("run_command", json!({"command": command, "timeout_s": timeout_s}))
    };
    let first = at("coding", "actor").task("TASK-001");
    let calls = commands.iter().fold(Reply::empty(), call);
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    let is_new = sandbox.git_fails(&["rev-parse", "-q", "--verify", "cowork/todo"]);
    let outcome = match is_new {
        true => sandbox.auto(&["--stop-after", "coding"]),
        false => sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]),
    };
    outcome.exits(0);
    let requests = sandbox.server.requests_of("coding", "actor");
    let second = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    let results = second.unwrap().tool_results();
    assert_eq!(results.len(), commands.len());
    results
}

/// Fails the test for every one of these that says it got in, or that was not even run.
#[track_caller]
fn none_gets_in(sandbox: &Sandbox, attempts: &[&str]) {
    let commands: Vec<_> =
        attempts.iter().map(|a| format!("{{ {a}\n}} && echo GOT''_IN")).collect();
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    let mut failed = String::new();
    for (attempt, result) in attempts.iter().zip(results(sandbox, &commands, 20)) {
        if result.contains("GOT_IN") || !result.starts_with("exit ") {
            writeln!(failed, "{attempt}\n    {result}").unwrap();
        }
    }
    assert_eq!(failed, "");
}

/// Names and contents of all below a directory; links as where they lead.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            let name = path.display().to_string();
            if path.is_symlink() {
                let to = std::fs::read_link(&path).unwrap();
                found.insert(name, to.into_os_string().into_encoded_bytes());
            } else if path.is_dir() {
                dirs.push(path);
                found.insert(name, Vec::new());
            } else {
                found.insert(name, std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    found
}

#[test]
fn nothing_is_written_outside() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let root = sandbox.root();
        std::fs::create_dir_all(root.join("outside/deep")).unwrap();
        std::fs::write(root.join("outside/theirs"), "theirs").unwrap();
        std::fs::write(root.join("home/.profile"), "theirs").unwrap();
        std::os::unix::fs::symlink("../../outside", sandbox.path("lib/out")).unwrap();
        std::os::unix::fs::symlink("../../outside/theirs", sandbox.path("lib/file")).unwrap();
        std::os::unix::fs::symlink("../outside", sandbox.path("top")).unwrap();
        sandbox.commit_all("links");
        let stray = format!("cowork-hostile-{}-{}", level.word(), std::process::id());
        let before = (contents(&root.join("outside")), contents(&root.join("bin")));
        let (top, stray) = (root.display(), &stray);
        let attempts = [
            "echo x >../outside/new".to_owned(),
            "echo x >>../outside/theirs".to_owned(),
            ": >../outside/theirs".to_owned(),
            "rm ../outside/theirs".to_owned(),
            "mv ../outside/theirs ../outside/taken".to_owned(),
            "mv lib/here.txt ../outside/here".to_owned(),
            "ln ../outside/theirs lib/hard && echo x >>lib/hard".to_owned(),
            "chmod 777 ../outside/new 2>/dev/null || mkdir ../outside/dir".to_owned(),
            "rmdir ../outside/deep".to_owned(),
            "ln -s x ../outside/link".to_owned(),
            "mkfifo ../outside/pipe".to_owned(),
            "echo x >lib/out/through".to_owned(),
            "echo x >lib/file".to_owned(),
            "echo x >top/through".to_owned(),
            "cd lib/out && echo x >inside".to_owned(),
            "cp README.md lib/out/copy".to_owned(),
            "ln -s ../../outside lib/mine; echo x >lib/mine/new".to_owned(),
            format!("echo x >>{top}/home/.profile"),
            format!("echo x >{top}/home/.bashrc"),
            format!("mkdir -p {top}/home/.config/autostart"),
            format!("printf '#!/bin/sh\\n' >{top}/bin/git"),
            // It has its own; what counts is whether this is seen outside.
            format!("echo x >/var/tmp/{stray}; false"),
            format!("echo x >/tmp/{stray}; false"),
            format!("echo x >/dev/shm/{stray}; false"),
            format!("echo x >/run/{stray}; false"),
            format!("echo x >/proc/self/cwd/../{stray}"),
            "echo x >/proc/sys/kernel/hostname".to_owned(),
            "echo x >/etc/cowork-hostile".to_owned(),
            "mount -t tmpfs none lib".to_owned(),
            "unshare -Urm sh -c 'mount --bind ../outside lib && echo x >lib/new'".to_owned(),
            "chroot .. sh -c 'echo x >/outside/new'".to_owned(),
        ];
        let mut attempts: Vec<_> = attempts.iter().map(String::as_str).collect();
        if level.has_mounts() {
            attempts.extend([
                "chmod 000 ../outside/theirs",
                "chmod 4777 lib/file",
                "touch -d 2001-01-01 ../outside/deep",
            ]);
        } else {
            skipped("changing modes and times, which Landlock alone cannot prevent");
        }
        none_gets_in(&sandbox, &attempts);
        assert_eq!((contents(&root.join("outside")), contents(&root.join("bin"))), before);
        assert_eq!(std::fs::read(root.join("home/.profile")).unwrap(), b"theirs");
        for gone in [root.join("home/.bashrc"), root.join("home/.config/autostart")] {
            assert!(!gone.exists(), "{}", gone.display());
        }
        for dir in ["/tmp", "/var/tmp", "/dev/shm", "/run"] {
            assert!(!Path::new(dir).join(stray).exists(), "{dir}");
        }
    });
}

const ON_GIT: [&str; 26] = [
    "echo '[core] editor = evil' >>.git/config",
    "g=git; $g config core.fsmonitor ./evil",
    "g=git; $g config --unset user.name 2>/dev/null || $g config a.b c",
    "echo evil >.git/hooks/pre-commit",
    "cp lib/here.txt .git/hooks/post-commit",
    "chmod +x .git/description && echo x >.git/description",
    "mv .git gone",
    "mv .git/HEAD .git/OLD",
    "ln .git/config lib/config && echo x >>lib/config",
    "ln -s ../.git lib/door; echo x >lib/door/evil",
    "cp -al .git lib/copy && echo x >>lib/copy/config",
    "rm -rf .git; ! test -e .git/config",
    "rm .git/HEAD",
    ": >.git/index",
    "g=git; $g reset --hard",
    "g=git; $g reset --soft HEAD~1",
    "g=git; $g checkout -- .",
    "g=git; $g restore README.md",
    "g=git; $g stash -u",
    "g=git; $g commit --allow-empty -m evil",
    "g=git; $g update-ref refs/heads/evil HEAD",
    "g=git; $g tag evil",
    "g=git; $g gc --prune=now && test -e .git/gc.pid",
    "cd .git && echo x >evil",
    "mount -o remount,rw,bind .git && echo x >.git/evil",
    "unshare -Urm mount -o remount,rw,bind \"$PWD/.git\"",
];

/// What git would run or follow, and the branches of others.
fn of_git(sandbox: &Sandbox, dir: &Path) -> (BTreeMap<String, Vec<u8>>, Vec<u8>, String) {
    let refs = ["for-each-ref", "refs/heads/main", "refs/heads/evil", "refs/tags/evil"];
    let config = std::fs::read(dir.join("config")).unwrap();
    (contents(&dir.join("hooks")), config, sandbox.git(&refs))
}

#[test]
fn git_is_out_of_reach() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let git = sandbox.path(".git");
        let before = of_git(&sandbox, &git);
        none_gets_in(&sandbox, &ON_GIT);
        assert_eq!(of_git(&sandbox, &git), before);
        assert!(!git.join("evil").exists());
        sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    });
}

#[test]
fn git_is_out_of_reach_from_a_linked_worktree() {
    at_every_level(|level| {
        let mut sandbox = sandbox(level);
        let git = sandbox.path(".git");
        let before = of_git(&sandbox, &git);
        sandbox.git(&["worktree", "add", "-q", "--detach", "../linked"]);
        sandbox.enter("../linked");
        let pointer = std::fs::read(sandbox.path("../linked/.git")).unwrap();
        let attempts = [
            "echo 'gitdir: /nowhere' >.git",
            "rm -f .git && ! test -e .git",
            "mv .git gone",
            "mv lib/here.txt .git",
            "echo x >>\"$(git rev-parse --git-common-dir)/config\"",
            "echo x >\"$(git rev-parse --git-dir)/evil\"",
            "rm \"$(git rev-parse --git-dir)/HEAD\"",
            "g=git; $g reset --hard HEAD",
        ];
        none_gets_in(&sandbox, &attempts);
        assert_eq!(std::fs::read(sandbox.path("../linked/.git")).unwrap(), pointer);
        sandbox.enter(".");
        assert_eq!(of_git(&sandbox, &git), before);
    });
}

/// git writes files before the index only where it can lock the index first.
#[test]
fn a_persons_edit_survives_a_git_that_would_write_over_it() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        sandbox.write("README.md", "# Mine\n");
        let attempts = [
            "g=git; $g checkout -- README.md",
            "g=git; $g checkout -f",
            "g=git; $g restore README.md",
            "g=git; $g restore --source=HEAD~1 -- README.md",
            "g=git; $g reset --hard HEAD~1",
            "g=git; $g stash",
            "g=git; $g switch -f --detach HEAD~1",
            "g=git; $g rm -f README.md",
            "g=git; $g apply --index lib/here.txt",
        ];
        none_gets_in(&sandbox, &attempts);
        assert_eq!(sandbox.read("README.md"), "# Mine\n");
    });
}

/// The same attempts do get in where nothing is in their way, so the tests above can fail.
#[test]
fn without_walls_they_would_get_in() {
    let sandbox = sandbox(Level::None);
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let attempts = [
        "echo x >../outside".to_owned(),
        "echo '# evil' >>.git/config".to_owned(),
        "echo evil >.git/hooks/pre-push".to_owned(),
        "ln .git/description lib/hard && echo x >>lib/hard && rm lib/hard".to_owned(),
        "g=git; $g restore README.md".to_owned(),
        "g=git; $g tag evil".to_owned(),
        format!("g=git; timeout 1 $g ls-remote git://127.0.0.1:{port}/x; true"),
    ];
    let commands: Vec<_> =
        attempts.iter().map(|a| format!("{{ {a}\n}} && echo GOT''_IN")).collect();
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    for (attempt, result) in attempts.iter().zip(results(&sandbox, &commands, 20)) {
        assert!(result.contains("GOT_IN"), "{attempt}: {result}");
    }
    tcp.set_nonblocking(true).unwrap();
    tcp.accept().unwrap();
}
