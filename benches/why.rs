//! What `why` costs on a file with 5,000 commits of history, next to `git blame -w -C` in the same run: commits
//! of people, tasks of fifty sessions whose branches are gone, tasks of one session in progress; for the whole
//! file and for its oldest line. Ours and git's samples alternate; the least of each is compared.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod support;

#[expect(dead_code, reason = "other benchmarks use more of it")]
mod measure;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use measure::{cowork, files_of, git, least, ratio, recording, time};
use support::Sandbox;

const SAMPLES: usize = 5;
const COMMITS: usize = 5_000;
const LINES: usize = 400;
const FILE: &str = "lib/store.sh";
const FOLDER: &str = ".cowork/sessions";
const TARGET: f64 = 1.5;

fn main() {
    // The newest sessions of a project, each of as many tasks, and all of a session that is in progress.
    for (sessions, what) in [(0, "people's"), (50, "50 sessions'"), (1, "one session's")] {
        let sandbox = planned();
        let file = sandbox.blob("cowork/todo", &format!("{FOLDER}/todo/session.json"));
        sandbox.git(&["switch", "-q", "-f", if sessions == 1 { "cowork/todo" } else { "main" }]);
        let mut text = Text::new();
        match sessions {
            0 => grow(&sandbox, &mut text, COMMITS, "", None),
            1 => grow(&sandbox, &mut text, COMMITS, &trailers("todo", &id_of(&file)), None),
            _ => {
                for n in 0..sessions {
                    session(&sandbox, &mut text, &file, n, COMMITS / sessions);
                }
            }
        }
        sandbox.git(&["reset", "-q", "--hard"]);
        assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD", "--", FILE]), COMMITS.to_string());
        // The oldest line and all of them.
        for place in [FILE.to_owned(), format!("{FILE}:{LINES},{LINES}")] {
            let lines = place.split_once(':').map(|(_, lines)| format!("-L{lines}"));
            let blame = ["blame", "-w", "-C"].map(str::to_owned).into_iter().chain(lines);
            let blame: Vec<String> = blame.chain(["--".to_owned(), FILE.to_owned()]).collect();
            let blame: Vec<&str> = blame.iter().map(String::as_str).collect();
            let [ours, theirs] = least(
                SAMPLES,
                [&|| vec![cowork(&sandbox, &["why", &place])], &|| vec![git(&sandbox, &blame)]],
            );
            ratio(&format!("why {place}, {what}"), ours, "git blame -w -C", theirs, TARGET);
        }
    }
}

/// A session that is planned and begins with the code.
fn planned() -> Sandbox {
    let sandbox = Sandbox::new();
    let replay = recording(&sandbox, |task| files_of(task, 1, 1));
    let new = ["new", "-b", "main", "-n", "todo", "a todo list", "--review", "auto", "--replay"];
    time(vec![cowork(&sandbox, &[&new[..], &[&replay, "--stop-after", "plan"]].concat())]);
    sandbox
}

fn id_of(session_file: &str) -> String {
    let file: Value = serde_json::from_str(session_file).unwrap();
    file["id"].as_str().unwrap().to_owned()
}

/// The trailers of a task's commit of a session.
fn trailers(name: &str, id: &str) -> String {
    let task = "Cowork-Task: TASK-001\nCowork-Feature: FEAT-001";
    format!("\nCowork-Session: {name}\nCowork-Session-Id: {id}\n{task}\n")
}

/// Adds a session of so many tasks, whose branch is gone.
fn session(sandbox: &Sandbox, text: &mut Text, file: &str, n: usize, commits: usize) {
    let mut file: Value = serde_json::from_str(file).unwrap();
    let (name, id) = (format!("session-{n}"), format!("01a20e47-efa3-72fb-9d76-{n:012}"));
    file["name"] = name.as_str().into();
    file["id"] = id.as_str().into();
    file["base"]["commit"] = sandbox.git(&["rev-parse", "HEAD"]).into();
    let started = format!(
        "M 100644 inline {FOLDER}/{name}/session.json\ndata {}\n{file}\n",
        file.to_string().len()
    );
    grow(sandbox, text, commits, &trailers(&name, &id), Some(&started));
}

/// What is in the file, and how often it was changed.
struct Text {
    lines: Vec<String>,
    changes: usize,
}

impl Text {
    fn new() -> Self {
        Self { lines: (0..LINES).map(|at| line(at, 0)).collect(), changes: 0 }
    }

    /// Changes a line: one of the first often, the last never.
    fn change(&mut self) {
        self.changes += 1;
        let n = self.changes;
        let at = if n.is_multiple_of(16) { n * 7_919 % (LINES - 1) } else { n % (LINES / 8) };
        self.lines[at] = line(at, n);
    }
}

fn line(line: usize, n: usize) -> String {
    format!("echo 'line {line} as commit {n} has it'\n")
}

/// Adds commits to the branch that is checked out, each of which changes a line of the file.
fn grow(sandbox: &Sandbox, text: &mut Text, commits: usize, trailers: &str, started: Option<&str>) {
    let branch = sandbox.git(&["symbolic-ref", "HEAD"]);
    let mut import = git(sandbox, &["fast-import", "--quiet", "--force"]);
    let mut child = import.stdin(Stdio::piped()).spawn().unwrap();
    let mut stream = child.stdin.take().unwrap();
    for n in 0..commits {
        text.change();
        let message = format!("change {}\n{trailers}", text.changes);
        // Sessions are told apart by what they start with.
        let start = message.replace("Cowork-Task: TASK-001", "Cowork-Event: start");
        let message = if n == 0 && started.is_some() { start } else { message };
        let (time, content) = (1_800_000_000 + text.changes, text.lines.concat());
        let mut commit = format!(
            "commit {branch}\ncommitter A <a@example.org> {time} +0000\ndata {}\n{message}\n",
            message.len()
        );
        if n == 0 {
            commit += &format!("from {branch}^0\n{}", started.unwrap_or_default());
        }
        let length = content.len();
        write!(commit, "M 100644 inline {FILE}\ndata {length}\n{content}\n").unwrap();
        stream.write_all(commit.as_bytes()).unwrap();
    }
    drop(stream);
    assert!(child.wait().unwrap().success());
}
