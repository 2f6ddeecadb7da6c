//! Counts the git children of the program, by kind.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use super::sandbox::{Outcome, Sandbox};

/// The children of one run by kind: the command and the first word after it.
///
/// Includes every git that the program starts itself, but not what a child starts in turn (hooks,
/// `git maintenance`).
#[derive(Debug, Default)]
pub struct Children(BTreeMap<String, usize>);

impl Children {
    pub fn count(&self) -> usize {
        self.0.values().sum()
    }
}

impl fmt::Display for Children {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds: Vec<_> = self.0.iter().collect();
        kinds.sort_by_key(|(kind, count)| (std::cmp::Reverse(**count), (*kind).clone()));
        writeln!(f, "{} git children:", self.count())?;
        kinds.iter().try_for_each(|(kind, count)| writeln!(f, "{count:>5} × {kind}"))
    }
}

/// Runs `git-cowork` with these arguments; returns its git children.
pub fn children(sandbox: &mut Sandbox, args: &[&str]) -> (Outcome, Children) {
    let trace = sandbox.root().join("children.trace");
    fs::write(&trace, "").unwrap();
    // The program itself uses the other form of a trace, `GIT_TRACE2_EVENT`.
    sandbox.set_env("GIT_TRACE2_PERF", &trace.display().to_string());
    sandbox.set_env("GIT_TRACE2_PERF_BRIEF", "1");
    let outcome = sandbox.cowork(args);
    sandbox.set_env("GIT_TRACE2_PERF", "");
    (outcome, started(&String::from_utf8_lossy(&fs::read(trace).unwrap())))
}

/// The git processes of a trace that were not started by another git.
pub fn started(trace: &str) -> Children {
    let mut children = Children::default();
    // A child of git is at depth 1.
    for line in trace.lines().filter(|line| line.starts_with("d0 ")) {
        let fields: Vec<&str> = line.splitn(8, '|').map(str::trim).collect();
        if fields[2] == "start" {
            *children.0.entry(kind(fields[7])).or_default() += 1;
        }
    }
    children
}

fn kind(arguments: &str) -> String {
    let mut words = arguments.split(' ').skip(1);
    let mut kind = Vec::new();
    while let Some(word) = words.next().filter(|_| kind.len() < 2) {
        if kind.is_empty() && matches!(word, "-c" | "-C") {
            words.next();
        } else if !kind.is_empty() || !word.starts_with('-') {
            kind.push(word);
        }
    }
    kind.join(" ")
}

/// True if any process has this word among its arguments.
pub fn is_running(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| line.split(|b| *b == 0).any(|arg| arg == word.as_bytes()))
    })
}
