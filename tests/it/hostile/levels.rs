//! What still works in the sandbox, and what happens where there is none.

use std::process::Output;

use serde_json::json;

use super::{at_every_level, results, sandbox};
use crate::support::confinement::{Level, confinement, offers};
use crate::support::skip::skipped;
use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

#[test]
fn work_continues_as_without_walls() {
    let level = confinement();
    if level == Level::None {
        skipped("commands cannot be confined here");
        return;
    }
    let mut sandbox = sandbox(level);
    // The tests' home is not where the toolchain is.
    let home = std::env::var("HOME").unwrap_or_default();
    let rustup = std::env::var("RUSTUP_HOME").unwrap_or_else(|_| format!("{home}/.rustup"));
    sandbox.set_env("RUSTUP_HOME", &rustup);
    sandbox.set_env("RUSTUP_TOOLCHAIN", &std::env::var("RUSTUP_TOOLCHAIN").unwrap_or_default());
    let commands = [
        "git status --short && git log --oneline -1 && git diff HEAD",
        "echo x >lib/new && mkdir lib/dir && mv lib/new lib/dir/new && rm -r lib/dir",
        "f=$(mktemp) && echo x >$f && cat $f && case $f in $TMPDIR/*) true;; *) false;; esac",
        "mkdir -p ~/.config/tool ~/.cache && echo x >~/.config/tool/state && test -w \"$CARGO_HOME\"",
        "echo x >/dev/null && echo x >/dev/stderr && echo x >/dev/stdout && head -c 8 /dev/urandom | wc -c",
        "mkdir -p lib/c/src && cd lib/c && printf '[package]\\nname=\"c\"\\nedition=\"2021\"\\n' \
         >Cargo.toml && printf '#[test]\\nfn t() { \
         let l = std::net::TcpListener::bind(\"127.0.0.1:0\").unwrap(); \
         std::net::TcpStream::connect(l.local_addr().unwrap()).unwrap(); }\\n' >src/lib.rs && \
         cargo test --offline -q && cd ../.. && rm -r lib/c",
    ];
    // What is written at the top of the tree, and a loopback, is for the better level.
    let count = if level.has_mounts() { commands.len() } else { commands.len() - 1 };
    for (command, result) in commands.iter().zip(results(&sandbox, &commands[..count], 300)) {
        assert!(result.starts_with("exit 0"), "{command}: {result}");
    }
}

#[test]
fn a_directory_is_opened_by_the_users_own_configuration() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let root = sandbox.root();
        std::fs::create_dir_all(root.join("home/data")).unwrap();
        sandbox.user_config("[sandbox]\nwritable = [\"~/data\", \"~/not-there\"]\n");
        let path = root.join("home/data/new");
        let told = results(&sandbox, &[&format!("echo x >{}", path.display())], 20);
        assert!(told[0].starts_with("exit 0") && path.exists(), "{told:?}");
    });
}

/// What such a repository lacks is below a directory that commands have for themselves.
#[test]
fn a_repository_that_borrows_its_objects_is_whole() {
    at_every_level(|level| {
        let mut sandbox = sandbox(level);
        let elsewhere = tempfile::tempdir_in("/tmp").unwrap();
        let lender = elsewhere.path().join("lender").display().to_string();
        sandbox.git(&["clone", "-q", "--bare", ".", &lender]);
        sandbox.git(&["clone", "-q", "--shared", &lender, "../borrowing"]);
        sandbox.enter("../borrowing");
        let told = results(&sandbox, &["git log --oneline && git diff HEAD~1 --stat"], 20);
        assert!(told[0].contains("something to build on"), "{told:?}");
    });
}

/// Runs a script where no user namespace can be made: there is a limit of one that is made for it.
fn without_namespaces(sandbox: &Sandbox, script: &str) -> std::io::Result<Output> {
    let script = format!("echo 0 >/proc/sys/user/max_user_namespaces && {script}");
    sandbox.command("unshare").args(["-Urm", "sh", "-c", &script]).output()
}

#[test]
fn where_only_bubblewrap_makes_namespaces_it_confines_commands() {
    if !offers(Level::Bubblewrap) {
        skipped("bubblewrap, which is not installed");
        return;
    }
    let mut sandbox = sandbox(Level::Namespaces);
    sandbox.set_env("COWORK_TEST_SANDBOX", "");
    let call = Reply::call("run_command", json!({"command": "echo x >new && ls /dev/shm /tmp"}));
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![call, task_work("TASK-001"), Reply::text("Done.")]);
    let new = "git-cowork new -n todo 'a todo list' --review auto --stop-after coding";
    let outcome = without_namespaces(&sandbox, new).unwrap();
    let said = String::from_utf8(outcome.stderr).unwrap();
    assert!(outcome.status.success() && !said.contains("confined"), "{said}");
    assert_eq!(sandbox.blob("cowork/todo", "new"), "x\n");
    let shown = without_namespaces(&sandbox, "git-cowork status todo -v").unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("Sandbox  by bubblewrap; in your home, commands can read only toolchains"),
        "{shown}"
    );
}

/// What is in the way is a limit of a namespace that the test makes.
#[test]
fn with_landlock_alone_it_is_said_why_what_is_lost_and_what_helps() {
    if confinement() != Level::Namespaces {
        skipped("taking user namespaces away, of which this kernel gives none");
        return;
    }
    let mut sandbox = sandbox(Level::Namespaces);
    sandbox.set_env("COWORK_TEST_SANDBOX", "");
    let no_bubblewrap = "{ ! test -e /usr/bin/bwrap || mount --bind /dev/null /usr/bin/bwrap; }";
    let unshare = |then: &str| without_namespaces(&sandbox, &format!("{no_bubblewrap} && {then}"));
    if !unshare("true").is_ok_and(|tried| tried.status.success()) {
        skipped("taking user namespaces away, for want of a program that does it");
        return;
    }
    let call = Reply::call("run_command", json!({"command": "echo here"}));
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![call, task_work("TASK-001"), Reply::text("Done.")]);
    let new = "git-cowork new -n todo 'a todo list' --review auto --stop-after coding";
    let outcome = unshare(new).unwrap();
    let said = String::from_utf8(outcome.stderr).unwrap();
    assert!(outcome.status.success(), "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = unshare("git-cowork status todo -v").unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("Sandbox  by Landlock only: this system's limit"), "{shown}");
    for part in [
        "confined by Landlock only: this system's limit on user namespaces is reached",
        "local servers",
        "shared memory",
        "send UDP",
        "sudo sysctl user.max_user_namespaces=",
    ] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
}

#[test]
fn without_confinement_and_without_a_person_nothing_runs() {
    let sandbox = sandbox(Level::None);
    sandbox.git(&["config", "--global", "cowork.sandbox.unconfined", "false"]);
    let first = at("coding", "actor").task("TASK-001");
    let call = Reply::call("run_command", json!({"command": "touch lib/ran"}));
    sandbox.server.sequence(first, vec![call, task_work("TASK-001"), Reply::text("Done.")]);
    let outcome = sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let warnings = outcome.stderr.matches("cannot be confined").count();
    assert_eq!(warnings, 1, "{}", outcome.stderr);
    let requests = sandbox.server.requests_of("coding", "actor");
    let told = requests.iter().find(|r| r.turn == 2).unwrap().tool_results().join("");
    assert!(told.contains("cannot confine commands"), "{told}");
    assert!(!sandbox.exists("lib/ran"));
}

#[test]
fn without_confinement_a_person_is_asked_about_each_command() {
    let sandbox = sandbox(Level::None);
    sandbox.git(&["config", "--global", "cowork.sandbox.unconfined", "false"]);
    let run =
        |name: &str| Reply::call("run_command", json!({"command": format!("touch lib/{name}")}));
    let rest = [task_work("TASK-001"), Reply::text("Done.")];
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, [&[run("yes"), run("no")][..], &rest].concat());
    let new = ["new", "-n", "todo", "a todo list", "--review", "auto", "--stop-after", "coding"];
    let mut terminal = sandbox.terminal(&new);
    terminal.sees("touch lib/yes [y/N]");
    terminal.types("y");
    terminal.sees("touch lib/no [y/N]");
    terminal.types("n");
    assert_eq!(terminal.ends().0, 0);
    assert!(sandbox.exists("lib/yes") && !sandbox.exists("lib/no"));
    let requests = sandbox.server.requests_of("coding", "actor");
    let told = requests.iter().find(|r| r.turn == 3).unwrap().tool_results().join("");
    assert!(told.contains("did not allow"), "{told}");
}

#[test]
fn that_commands_run_unconfined_is_said_before_the_first() {
    let sandbox = sandbox(Level::None);
    sandbox.git(&["config", "--global", "cowork.sandbox.unconfined", "true"]);
    let first = at("coding", "actor").task("TASK-001");
    let call = Reply::call("run_command", json!({"command": "touch lib/ran"}));
    sandbox.server.sequence(first, vec![call, task_work("TASK-001"), Reply::text("Done.")]);
    let outcome = sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let said = outcome.stderr.match_indices("commands run unconfined").collect::<Vec<_>>();
    let ran = outcome.stderr.find("touch lib/ran");
    assert!(matches!(said[..], [(at, _)] if Some(at) < ran), "{}", outcome.stderr);
    assert!(sandbox.exists("lib/ran"));
    let shown = sandbox.cowork(&["status", "todo", "-v"]).exits(0).stdout;
    assert!(shown.contains("Sandbox  unconfined: "), "{shown}");
}

/// In a namespace root could write nothing there: capabilities are of the files that are its own.
#[test]
fn root_in_a_tree_of_another_user_writes_to_it() {
    if !rustix::process::geteuid().is_root() || confinement() != Level::Namespaces {
        skipped("a tree of another user than root, who does not run the tests");
        return;
    }
    let mut sandbox = sandbox(Level::Namespaces);
    sandbox.set_env("COWORK_TEST_SANDBOX", "");
    sandbox.git(&["config", "--global", "safe.directory", "*"]);
    let chown = sandbox.command("chown").args(["-R", "65534"]).arg(sandbox.repo()).status();
    assert!(chown.unwrap().success());
    let told = results(&sandbox, &["echo x >lib/new && cat lib/new"], 20);
    assert!(told[0].starts_with("exit 0"), "{told:?}");
    let shown = sandbox.cowork(&["status", "todo", "-v"]).exits(0).stdout;
    let why = "by Landlock only: the working tree does not belong to root";
    assert!(shown.contains(why), "{shown}");
}

/// Node's own calls go through what it calls a binding, which is no socket's.
#[test]
fn a_check_makes_folders_where_landlock_refuses_them_in_the_tree() {
    if !offers(Level::Landlock) {
        return skipped("Landlock, which this kernel does not have");
    }
    let sandbox = sandbox(Level::Landlock);
    sandbox.user_config("[project]\ntest = \"sh suite.sh\"\n");
    sandbox.write("suite.sh", "echo 'const result = binding.mkdir('; mkdir built\n");
    sandbox.commit_all("a suite");
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert!(!told.contains("not run (sandbox"), "{told}");
    assert!(!sandbox.exists("built"));
}
