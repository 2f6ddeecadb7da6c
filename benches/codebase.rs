//! What a first look at a code base costs, next to `git status` in the same working tree: with
//! nothing known, with what the first look found, and in a later look that knows all there is room
//! for; and how much memory it takes. A session pays it once, at its first request. Each look is a
//! process of its own that does what the first request does. Ours and git's samples alternate;
//! the smallest of each are compared, since others only add to them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod support;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use git_cowork::git::Git;
use git_cowork::pipeline::describe;
use support::Sandbox;

const SIZES: [usize; 3] = [1_000, 10_000, 80_000];
const SAMPLES: usize = 5;
/// Looks after which nothing more is found: each parses 2.5 MiB.
const LOOKS: usize = 12;
/// What is wanted in the largest, as a multiple of `git status` and in megabytes.
const TARGET: (f64, f64) = (5.0, 30.0);
const IDEA: &str = "Make the lookup in zorro-names faster";

fn main() {
    // A look, in a process of its own.
    if std::env::var_os("LOOK").is_some() {
        let git = Git::discover(Path::new(".")).unwrap();
        let head = git.resolve("HEAD").unwrap().unwrap();
        let text = describe(&git, &head, IDEA, &git_cowork::private::PrivateFiles::default())
            .unwrap()
            .text;
        assert!(text.contains("int zorro_names_of(int id)"), "{text}");
        let line = text.lines().find(|line| line.contains(" definitions, in ")).unwrap_or("[all]");
        println!("{line}\n{}", peak_of_memory());
        return;
    }
    for size in SIZES {
        let sandbox = repository(size);
        let kept = sandbox.path(".git/cowork/symbols.jsonl");
        let mut taken = [const { Vec::new() }; 4];
        let mut memory = [0.0_f64; 3];
        let mut told = String::new();
        let mut look = |which: usize, taken: &mut Vec<Duration>| {
            let begin = Instant::now();
            let (line, peak) = look(&sandbox);
            taken.push(begin.elapsed());
            memory[which] = memory[which].max(peak);
            told = line;
        };
        let status = |taken: &mut Vec<Duration>| {
            let begin = Instant::now();
            sandbox.git(&["status", "--short"]);
            taken.push(begin.elapsed());
        };
        for _ in 0..SAMPLES {
            std::fs::remove_file(&kept).ok();
            look(0, &mut taken[0]);
            status(&mut taken[3]);
            look(1, &mut taken[1]);
            status(&mut taken[3]);
        }
        for _ in 0..LOOKS {
            look(2, &mut Vec::new());
        }
        for _ in 0..SAMPLES {
            look(2, &mut taken[2]);
            status(&mut taken[3]);
        }
        println!("{size} files; known in the end: {told}");
        let [cold, warm, late, status] = taken.map(smallest);
        for (what, ours, memory) in [
            ("first look", cold, memory[0]),
            ("second look", warm, memory[1]),
            ("all known", late, memory[2]),
        ] {
            let ratio = ours / status;
            let missed = size == SIZES[2] && (ratio > TARGET.0 || memory > TARGET.1);
            let held = if missed { "  MISSED" } else { "" };
            println!(
                "{what:<20}{ours:>9.1} ms   git status{status:>9.1} ms  ratio {ratio:>5.1}, target {}   \
                 peak {memory:>5.1} MB, target {}{held}",
                TARGET.0, TARGET.1
            );
        }
    }
}

/// What it says it knows, and its peak memory in megabytes.
fn look(sandbox: &Sandbox) -> (String, f64) {
    let mut command: Command = sandbox.command(std::env::current_exe().unwrap());
    let output = command.env("LOOK", "1").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (line, peak) = text.trim_end().rsplit_once('\n').unwrap();
    (line.to_owned(), peak.parse().unwrap())
}

/// This process's own, without its children's, as Linux tells it; else 0.
fn peak_of_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1000.0
}

fn smallest(samples: Vec<Duration>) -> f64 {
    samples.into_iter().min().unwrap().as_secs_f64() * 1000.0
}

/// A source file of the kernel's kind: a few functions in most, very many in some.
fn source(n: usize) -> String {
    let mut text = format!("// SPDX\n#include <linux/part{}.h>\n#include \"near.h\"\n\n", n % 97);
    let functions = if n.is_multiple_of(40) { 60 } else { 2 + n % 7 };
    for f in 0..functions {
        let other = n * 7 / 11;
        write!(
            text,
            "/* Does {f}. */\nint work_{n}_{f}(struct device *dev, unsigned long flags)\n{{\n\tint ret = \
             work_{other}_0(dev, flags);\n\n\tif (ret < 0) {{\n\t\tdev_err(dev, \"failed {f}\\n\");\n\t\t\
             return ret;\n\t}}\n\tspin_lock(&dev->lock);\n\tdev->state[{f}] = flags & 0x{n:x};\n\t\
             spin_unlock(&dev->lock);\n\treturn 0;\n}}\n\n"
        )
        .unwrap();
    }
    text
}

/// A repository of Linux's shape: some 16 files in a folder, three quarters of them C.
fn repository(files: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut import = sandbox.command("git");
    import.args(["fast-import", "--quiet"]).stdin(Stdio::piped());
    let mut child = import.spawn().unwrap();
    let mut stream = std::io::BufWriter::new(child.stdin.take().unwrap());
    let head = "commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\n\
                data 5\nfiles\nfrom refs/heads/main^0\n";
    stream.write_all(head.as_bytes()).unwrap();
    let tops = ["arch", "drivers", "fs", "include", "net", "sound", "tools"];
    let mut add = |path: &str, text: &str| {
        writeln!(stream, "M 100644 inline {path}\ndata {}\n{text}", text.len()).unwrap();
    };
    for n in 0..files - 1 {
        let folder = n / 16;
        let top = format!("{}/class{}", tops[folder % tops.len()], folder % 89);
        let (ending, text) = match n % 4 {
            0 | 1 => ("c", source(n)),
            2 => ("h", format!("int work_{}_0(struct device *dev, unsigned long flags);\n", n - 1)),
            _ => ("rst", format!("Words of {n}\n").repeat(n % 300)),
        };
        add(&format!("{top}/device{folder}/part-{n}.{ending}"), &text);
    }
    add("zz/bus/zorro/zorro-names.c", "int zorro_names_of(int id)\n{\n\treturn id;\n}\n");
    stream.flush().unwrap();
    drop(stream);
    assert!(child.wait().unwrap().success());
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.git(&["status"]);
    sandbox
}
