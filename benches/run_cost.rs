//! What a whole run of five tasks costs, from `new` to the delivery, next to a script of the git
//! commands that leave the same: branch, commits, tags. Model time is nil (a replay). Ours and
//! git's samples alternate; medians are compared; with loose and with packed refs. Also the memory
//! of that run.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod support;

#[expect(dead_code, reason = "other benchmarks use more of it")]
mod measure;

use std::process::Command;

use measure::{compared, cowork, files_of, git, memory_line, ratio, recording, repository};
use support::Sandbox;
use support::copied::Refs;

const FILES: usize = 10;
const SAMPLES: usize = 9;

fn main() {
    let sandbox = repository(FILES);
    let replay = recording(&sandbox, |task| files_of(task, 1, 1));
    let new = ["new", "-n", "todo", "a todo list", "--review", "auto", "--replay", &replay];
    measure::time(vec![cowork(&sandbox, &new)]);
    let commits = sandbox.git(&["rev-list", "--reverse", "--topo-order", "main..cowork/todo"]);
    let commits: Vec<String> = commits.lines().map(str::to_owned).collect();
    // It stays when the branch goes.
    sandbox.git(&["update-ref", "refs/kept/run", "cowork/todo"]);
    let tags = sandbox.git(&["for-each-ref", "--format=%(objectname) %(refname)", "refs/tags"]);
    let tags: Vec<(String, String)> = tags
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(oid, name)| (oid.to_owned(), name.to_owned()))
        .collect();
    back(&sandbox);
    for kept in [Refs::Loose, Refs::Packed] {
        let count = std::cell::Cell::new(0);
        let forks = std::cell::RefCell::new(Vec::new());
        // Each sample has a copy of its own, and no copy is deleted before the last: where files
        // were just deleted, ext4 looks long for an inode for each new one.
        let fork = |commands: &dyn Fn(&Sandbox) -> Vec<Command>| {
            let fork = sandbox.fork();
            if kept == Refs::Packed {
                fork.git(&["pack-refs", "--all"]);
            }
            fork.git(&["status"]);
            let commands = commands(&fork);
            forks.borrow_mut().push(fork);
            commands
        };
        let by_git = |fork: &Sandbox| {
            // The files lie there, as a model would have written them.
            fork.git(&["restore", "--source", commits.last().unwrap(), "--", "."]);
            let script = script(fork, &commits, &tags);
            count.set(script.len());
            script
        };
        let [ours, theirs] =
            compared(SAMPLES, [&|| fork(&|fork| vec![cowork(fork, &new)]), &|| fork(&by_git)]);
        let reference = format!("{} git commands", count.get());
        ratio(&format!("a run of 5 tasks, {kept:?}"), ours, &reference, theirs, 2.0);
    }
    memory_line("memory of a run of 5 tasks", cowork(&sandbox, &new), 20.0);
}

/// To the state before the run; the objects stay.
fn back(sandbox: &Sandbox) {
    sandbox.git(&["switch", "-q", "--discard-changes", "main"]);
    sandbox.git(&["clean", "-q", "-f", "-d"]);
    for prefix in ["refs/heads/cowork", "refs/tags", "refs/cowork", "refs/notes"] {
        for name in sandbox.refs(prefix) {
            sandbox.git(&["update-ref", "-d", &name]);
        }
    }
    std::fs::remove_dir_all(sandbox.path(".git/cowork")).ok();
}

/// The commands that make these commits and tags.
fn script(sandbox: &Sandbox, commits: &[String], tags: &[(String, String)]) -> Vec<Command> {
    let mut script = vec![git(sandbox, &["switch", "-q", "-c", "cowork/todo"])];
    for commit in commits {
        let changed = sandbox.git(&["diff-tree", "--no-commit-id", "--name-only", "-r", commit]);
        let message = sandbox.git(&["log", "-1", "--format=%B", commit]);
        let paths: Vec<&str> = changed.lines().collect();
        if paths.is_empty() {
            script.push(git(sandbox, &["commit", "-q", "--allow-empty", "-m", &message]));
        } else {
            script.push(git(sandbox, &[&["add", "--"], &paths[..]].concat()));
            let only = ["commit", "-q", "--allow-empty", "--only", "-m", &message, "--"];
            script.push(git(sandbox, &[&only, &paths[..]].concat()));
        }
        if let Some((_, name)) = tags.iter().find(|(oid, _)| oid == commit) {
            script.push(git(sandbox, &["update-ref", "--create-reflog", name, "HEAD"]));
        }
    }
    script
}
