//! What a run of five tasks and the commands that read history cost in each of git's four
//! repository formats, loose and packed: git processes, and time beside the same in sha1 with files
//! and, if `COWORK_BENCH_LAST` names it, beside the last build in the same repository. Samples
//! alternate; the least of each is compared.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod support;

#[expect(dead_code, reason = "other benchmarks use more of it")]
mod measure;

use std::collections::BTreeMap;
use std::process::Command;

use measure::{cowork, files_of, last_build, least, recording, time};
use support::Sandbox;
use support::children::started;

/// Hash and references, the first being what the others are compared with.
const FORMATS: [[&str; 2]; 4] =
    [["sha1", "files"], ["sha256", "files"], ["sha1", "reftable"], ["sha256", "reftable"]];

/// A command that reads, and the git processes that it may start.
const READING: [(&[&str], usize); 7] = [
    (&[], 4),
    (&["status"], 4),
    (&["list"], 4),
    (&["log"], 4),
    (&["verify"], 6),
    (&["why", "lib/add.sh"], 6),
    (&["trace", "REQ-001"], 6),
];

/// The git processes of a run of five tasks.
const RUN: usize = 100;
/// The most times a format may take beside sha1 with files.
const BESIDE_FIRST: f64 = 1.3;
/// The same of sha256 with reftable beside the last build there, for the run and these commands.
const BESIDE_LAST: f64 = 0.2;
const FASTER: [&str; 4] = ["a run", "status", "log", "verify"];
const SAMPLES: usize = 9;

fn main() {
    let mut first = BTreeMap::new();
    for [hash, refs] in FORMATS {
        let (sandbox, beside) = (repository(hash, refs), repository(hash, refs));
        println!("== {hash}, {refs}");
        println!("{:<22}{:>10}{:>10}{:>10}{:>10}", "", "processes", "ms", "sha1", "last");
        let new = new(&sandbox);
        let new: Vec<&str> = new.iter().map(String::as_str).collect();
        run(&sandbox, &new, (hash, refs), &mut first);
        // Each build reads what it wrote.
        time(vec![cowork(&sandbox, &new)]);
        time(Vec::from_iter(last_build(&beside, &new)));
        for packed in [false, true] {
            if packed {
                sandbox.git(&["gc", "-q"]);
                beside.git(&["gc", "-q"]);
            }
            for (args, most) in READING {
                let name = args.first().copied().unwrap_or("(bare)");
                let name = if packed { format!("{name}, packed") } else { name.to_owned() };
                let ours = processes(&sandbox, cowork(&sandbox, args));
                let [now, last] = least(
                    SAMPLES,
                    [&|| vec![cowork(&sandbox, args)], &|| {
                        Vec::from_iter(last_build(&beside, args))
                    }],
                );
                line(&name, (ours, most), now, last, (hash, refs), &mut first);
            }
        }
    }
}

fn repository(hash: &str, refs: &str) -> Sandbox {
    let (hash, refs) = (format!("--object-format={hash}"), format!("--ref-format={refs}"));
    let sandbox = Sandbox::unborn(&[&hash, &refs]);
    sandbox.write("README.md", "# Somewhere\n");
    sandbox.commit_all("first");
    sandbox
}

/// The arguments of a whole run from a recording.
fn new(sandbox: &Sandbox) -> Vec<String> {
    let replay = recording(sandbox, |task| files_of(task, 1, 1));
    let new = ["new", "-n", "todo", "a todo list", "--review", "auto", "--replay", &replay];
    new.map(str::to_owned).to_vec()
}

/// A whole run; each sample in a copy of its own.
fn run(sandbox: &Sandbox, args: &[&str], format: (&str, &str), first: &mut BTreeMap<String, f64>) {
    let forks = std::cell::RefCell::new(Vec::new());
    let fork = |command: &dyn Fn(&Sandbox) -> Option<Command>| {
        let fork = sandbox.fork();
        fork.git(&["status"]);
        let command = command(&fork);
        forks.borrow_mut().push(fork);
        Vec::from_iter(command)
    };
    let counted = sandbox.fork();
    let ours = processes(&counted, cowork(&counted, args));
    let [now, last] = least(
        SAMPLES / 3,
        [&|| fork(&|fork| Some(cowork(fork, args))), &|| fork(&|fork| last_build(fork, args))],
    );
    line("a run of 5 tasks", (ours, RUN), now, last, format, first);
}

/// The git processes that a command starts.
fn processes(sandbox: &Sandbox, mut command: Command) -> usize {
    let trace = sandbox.root().join("processes.trace");
    std::fs::write(&trace, "").unwrap();
    command.env("GIT_TRACE2_PERF", &trace).env("GIT_TRACE2_PERF_BRIEF", "1");
    time(vec![command]);
    started(&String::from_utf8_lossy(&std::fs::read(trace).unwrap())).count()
}

/// Prints a line, and remembers the time of the first format.
fn line(
    what: &str,
    (processes, most): (usize, usize),
    now: f64,
    last: f64,
    format: (&str, &str),
    first: &mut BTreeMap<String, f64>,
) {
    let of_first = now / *first.entry(what.to_owned()).or_insert(now);
    // Without a last build nothing was run.
    let of_last = if last > 0.1 { now / last } else { 0.0 };
    let is_new = format == ("sha256", "reftable");
    // Commits are git's own in every format, which they were not in this one.
    let of_last_most = if what.starts_with("a run") { 1.6 } else { 1.25 };
    let missed = [
        processes > most,
        of_first > BESIDE_FIRST,
        is_new && of_last > BESIDE_LAST && FASTER.iter().any(|name| what.starts_with(name)),
        format == ("sha1", "files") && of_last > of_last_most && now > last + 8.0,
    ];
    let missed = if missed.contains(&true) { "  MISSED" } else { "" };
    println!("{what:<22}{processes:>10}{now:>10.1}{of_first:>10.2}{of_last:>10.2}{missed}");
}
