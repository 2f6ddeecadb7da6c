//! What `why` costs on a file with 5,000 commits of history, next to `git blame -w -C` in the same run: all
//! commits people's, and all of them tasks of one session; for a line and for the whole file. Ours and
//! git's samples alternate; the least of each is compared.
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

use measure::{cowork, files_of, git, least, ratio, recording, time};
use support::Sandbox;

const SAMPLES: usize = 5;
const COMMITS: usize = 5_000;
const LINES: usize = 400;
const FILE: &str = "lib/store.sh";
const TARGET: f64 = 1.5;

fn main() {
    for (whose, branch) in [("people's", "main"), ("a session's", "cowork/todo")] {
        let sandbox = planned();
        let task = trailers(&sandbox);
        let trailers = if branch == "main" { String::new() } else { task };
        grow(&sandbox, branch, &trailers);
        sandbox.git(&["switch", "-q", "-f", branch]);
        let oldest = sandbox.git(&["blame", "-s", "--date=raw", "-p", "--", FILE]);
        assert!(oldest.lines().count() > LINES);
        for place in [FILE.to_owned(), format!("{FILE}:{},{}", LINES / 2, LINES / 2)] {
            let lines = place.split_once(':').map(|(_, lines)| format!("-L{lines}"));
            let blame = ["blame", "-w", "-C"].map(str::to_owned).into_iter().chain(lines);
            let blame: Vec<String> = blame.chain(["--".to_owned(), FILE.to_owned()]).collect();
            let blame: Vec<&str> = blame.iter().map(String::as_str).collect();
            let [ours, theirs] = least(
                SAMPLES,
                [&|| vec![cowork(&sandbox, &["why", &place])], &|| vec![git(&sandbox, &blame)]],
            );
            let what = format!("why {place}, {whose}");
            ratio(&what, ours, "git blame -w -C", theirs, TARGET);
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

/// The trailers of a task's commit of that session.
fn trailers(sandbox: &Sandbox) -> String {
    let id = sandbox.trailers("cowork/todo")["Cowork-Session-Id"][0].clone();
    format!(
        "\nCowork-Session: todo\nCowork-Session-Id: {id}\nCowork-Task: TASK-001\nCowork-Feature: FEAT-001\n"
    )
}

/// Adds the commits to a branch: each changes a line of the file.
fn grow(sandbox: &Sandbox, branch: &str, trailers: &str) {
    let mut import = git(sandbox, &["fast-import", "--quiet", "--force"]);
    let mut child = import.stdin(Stdio::piped()).spawn().unwrap();
    let mut stream = child.stdin.take().unwrap();
    let line = |line: usize, n: usize| format!("echo 'line {line} as commit {n} has it'\n");
    let mut lines: Vec<String> = (0..LINES).map(|at| line(at, 0)).collect();
    for n in 0..COMMITS {
        let at = n * 7_919 % LINES;
        lines[at] = line(at, n);
        let message = format!("change {n}\n{trailers}");
        let text = lines.concat();
        let mut commit = String::new();
        let time = 1_800_000_000 + n;
        write!(commit, "commit refs/heads/{branch}\ncommitter A <a@example.org> {time} +0000\n")
            .unwrap();
        write!(commit, "data {}\n{message}\n", message.len()).unwrap();
        if n == 0 {
            writeln!(commit, "from refs/heads/{branch}^0").unwrap();
        }
        write!(commit, "M 100644 inline {FILE}\ndata {}\n{text}\n", text.len()).unwrap();
        stream.write_all(commit.as_bytes()).unwrap();
    }
    drop(stream);
    assert!(child.wait().unwrap().success());
}
