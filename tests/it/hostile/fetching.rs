//! The one step with the network: who is asked, what it may do, and what commands see of it. The
//! package manager is a script of ours that tells how it was called.

use serde_json::json;

use super::{at_every_level, sandbox};
use crate::support::confinement::{Level, confinement};
use crate::support::skip::skipped;
use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

/// Knows what is fetched, fetches one file, builds when it is there.
const CARGO: &str = r#"
log() { echo "$(readlink /proc/self/ns/net) $PWD $HOME $*" >>"$CARGO_HOME/registry/log"; }
case "$*" in
    *--offline*) grep -qs "$(cksum <Cargo.lock)" "$CARGO_HOME/registry/have" ;;
    fetch*)
        mkdir -p "$CARGO_HOME/registry" && log "$@" && test ! -e "$CARGO_HOME/registry/no" &&
        cksum <"${3%/*}/Cargo.lock" >>"$CARGO_HOME/registry/have" ;;
    *) echo "log:" && cat "$CARGO_HOME/registry/log" ;;
esac"#;

fn project(level: Level) -> Sandbox {
    let sandbox = sandbox(level);
    sandbox.executable(&sandbox.root().join("bin/cargo"), CARGO);
    sandbox.write("Cargo.toml", "[package]\nname = \"x\"\n[dependencies]\nserde = \"1\"\n");
    sandbox.write("Cargo.lock", "[[package]]\nsource = \"registry\"\n");
    // What the program itself would run is not what is looked at here.
    sandbox.user_config("[project]\ntest = \"true\"\n");
    sandbox.commit_all("a project");
    sandbox
}

/// The first task calls these, one a turn; `then` is what its last turns say.
fn turns(sandbox: &Sandbox, calls: &[Reply]) {
    let rest = [task_work("TASK-001"), Reply::text("Done.")];
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, [calls, &rest].concat());
}

fn run(command: &str) -> Reply {
    Reply::call("run_command", json!({"command": command}))
}

/// What the first task was told in its second, third … turn.
fn told(sandbox: &Sandbox) -> Vec<String> {
    let requests = sandbox.server.requests_of("coding", "actor");
    let first = requests.iter().filter(|r| r.task.as_deref() == Some("TASK-001") && r.turn > 1);
    first.map(|r| r.tool_results().join("\n")).collect()
}

const NEW: [&str; 6] = ["new", "-n", "todo", "a todo list", "--review", "auto"];

#[test]
fn what_may_not_be_fetched_is_told_once_and_to_the_model() {
    at_every_level(|level| {
        let sandbox = project(level);
        sandbox.user_config("[sandbox]\nfetch = \"never\"\n[project]\ntest = \"true\"\n");
        turns(&sandbox, &[run("ls"), run("cargo test"), run("cargo test && false")]);
        let outcome = sandbox.auto(&["--stop-after", "coding"]).exits(0);
        assert_eq!(outcome.stderr.matches("dependencies were not fetched").count(), 1);
        assert!(outcome.stderr.contains("them yourself: cargo fetch\n"), "{}", outcome.stderr);
        let told = told(&sandbox);
        assert!(!told[0].contains("fetched"), "{told:?}");
        for told in &told[1..3] {
            let why = "not fetched (cargo: Cargo.lock, Cargo.toml) because sandbox.fetch in the configuration says never";
            assert!(told.contains(why), "{told}");
        }
    });
}

#[test]
fn fetching_has_the_network_and_a_home_of_its_own_and_commands_read_what_came() {
    at_every_level(|level| {
        let sandbox = project(level);
        sandbox.user_config("[sandbox]\nfetch = \"always\"\n[project]\ntest = \"true\"\n");
        // A project's own configuration names programs.
        sandbox.write(".cargo/config.toml", "[build]\nrustc = \"evil\"\n");
        sandbox.commit_all("evil");
        let plant = "mkdir -p $TMPDIR/.cargo ~/.cargo; echo x | tee $TMPDIR/.cargo/config.toml";
        let spoil = "echo spoiled >>$CARGO_HOME/registry/log && echo GOT''_IN";
        // What was fetched before the first request is not enough for another lock file.
        let lock = json!({"path": "Cargo.lock", "content": "[[package]]\nsource = \"other\"\n"});
        let lock = Reply::call("write_file", lock);
        turns(&sandbox, &[run(plant), lock, run("cargo build"), run(spoil)]);
        let outcome = sandbox.auto(&["--stop-after", "coding"]).exits(0);
        assert!(outcome.stderr.contains("fetching dependencies (cargo: Cargo.lock, Cargo.toml)"));
        let told = told(&sandbox);
        let (_, log) = told[2].split_once("log:\n").unwrap_or_else(|| panic!("{told:?}"));
        let [_, line] = log.lines().collect::<Vec<_>>()[..] else { panic!("{log}") };
        let words: Vec<_> = line.split(' ').collect();
        if level.has_mounts() {
            let ours = std::fs::read_link("/proc/self/ns/net").unwrap();
            assert_eq!(words[0], ours.to_str().unwrap());
        }
        let manifest = sandbox.path("Cargo.toml");
        assert_eq!(words[3..], ["fetch", "--manifest-path", manifest.to_str().unwrap()]);
        for (place, what) in [(words[1], "fetch/tmp"), (words[2], "fetch/home")] {
            assert!(place.ends_with(what), "{line}");
        }
        assert!(!told[3].contains("GOT_IN"), "{told:?}");

        // Another session finds it there.
        sandbox.git(&["switch", "-q", "main"]);
        let more =
            ["new", "-n", "more", "another one", "--review", "auto", "--stop-after", "coding"];
        turns(&sandbox, &[run("cargo build")]);
        let outcome = sandbox.cowork(&more).exits(0);
        assert!(!outcome.stderr.contains("fetching"), "{}", outcome.stderr);
    });
}

#[test]
fn a_person_is_asked_once_for_each_content() {
    let level = confinement();
    if level == Level::None {
        skipped("nothing is fetched where commands are not confined");
        return;
    }
    let sandbox = project(level);
    let lock =
        |text: &str| Reply::call("write_file", json!({"path": "Cargo.lock", "content": text}));
    let (a, b) = ("[[package]]\nsource = \"a\"\n", "[[package]]\nsource = \"b\"\n");
    let calls = [run("cargo build"), run("cargo build"), lock(a), run("cargo build"), lock(b)];
    turns(
        &sandbox,
        &[&calls[..], &[run("cargo build; false"), run("cargo build; false")]].concat(),
    );
    let mut terminal = sandbox.terminal(&[&NEW[..], &["--stop-after", "coding"]].concat());
    for answer in ["y", "y", "n"] {
        let before = terminal.sees("do not change? [y/N]");
        assert!(
            before.contains("cargo: Cargo.lock, Cargo.toml") && before.contains("cargo fetch ")
        );
        terminal.types(answer);
    }
    terminal.sees("dependencies were not fetched");
    let (code, rest) = terminal.ends();
    assert_eq!((code, rest.contains("[y/N]")), (0, false), "{rest}");
    let told = told(&sandbox);
    assert!(told[5].contains("because the person at the terminal did not allow it"), "{told:?}");
    assert_eq!(told[3].matches("fetch --manifest-path").count(), 2, "{told:?}");

    // The yes is remembered by the repository, also where what was fetched is gone.
    sandbox.git(&["switch", "-q", "main"]);
    let caches = sandbox.root().join("home/.cache/git-cowork");
    std::fs::remove_dir_all(caches).unwrap();
    turns(&sandbox, &[run("cargo build")]);
    let more = ["new", "-n", "more", "another one", "--review", "auto", "--stop-after", "coding"];
    sandbox.cowork(&more).exits(0).says("fetching dependencies");
}

#[test]
fn ctrl_c_at_a_question_and_in_a_fetch_stops_the_run() {
    let level = confinement();
    if level == Level::None {
        skipped("nothing is fetched where commands are not confined");
        return;
    }
    let sandbox = project(level);
    let slow =
        "case \"$*\" in *--offline*) exit 1;; fetch*) echo >Cargo.lock.begun; sleep 71.5;; esac";
    sandbox.executable(
        &sandbox.root().join("bin/cargo"),
        &slow.replace("Cargo.lock.begun", &sandbox.path("lib/begun").display().to_string()),
    );
    turns(&sandbox, &[run("cargo build"), run("cargo build")]);
    let args = [&NEW[..], &["--stop-after", "coding"]].concat();
    let mut terminal = sandbox.terminal(&args);
    terminal.sees("do not change? [y/N]");
    terminal.control('c');
    let (code, rest) = terminal.ends();
    assert_eq!(code, 130, "{rest}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.refs("refs/heads"), ["refs/heads/main"]);

    let mut terminal = sandbox.terminal(&args);
    terminal.sees("do not change? [y/N]");
    terminal.types("y");
    terminal.sees("fetching dependencies");
    while !sandbox.exists("lib/begun") {
        std::thread::yield_now();
    }
    terminal.control('c');
    let (code, rest) = terminal.ends();
    assert_eq!(code, 130, "{rest}");
    assert!(!super::processes::is_running("71.5"));
}

#[test]
fn a_fetch_that_hangs_or_fails_is_told_and_commands_go_on() {
    let level = confinement();
    if level == Level::None {
        skipped("nothing is fetched where commands are not confined");
        return;
    }
    let sandbox = project(level);
    let limits = "[limits]\ncommand_timeout_s = 2\ncommand_timeout_max_s = 2\n";
    sandbox.user_config(&format!(
        "[sandbox]\nfetch = \"always\"\n{limits}[project]\ntest = \"true\"\n"
    ));
    for (script, why) in [
        ("sleep 70.5", "stopped at the time limit"),
        ("echo 'error: no host'; exit 7", "exit 7: error: no host"),
    ] {
        let sandbox = sandbox.fork();
        let cargo =
            format!("case \"$*\" in *--offline*) exit 1;; fetch*) {script};; *) exit 1;; esac");
        sandbox.executable(&sandbox.root().join("bin/cargo"), &cargo);
        turns(&sandbox, &[run("cargo build"), run("echo on; ./x")]);
        let outcome = sandbox.auto(&["--stop-after", "coding"]).exits(0);
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
        let told = told(&sandbox);
        assert!(
            told[0].contains("because fetching them failed") && told[1].contains("on"),
            "{told:?}"
        );
    }
}
