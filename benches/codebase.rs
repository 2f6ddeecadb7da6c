//! What finding the map of a code base costs, next to what git takes to look through the same
//! files: with nothing known, with everything known, and after a few files changed. A session pays
//! it once, at its first request. Ours and git's samples alternate; medians are compared.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod support;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use git_cowork::codebase::{self, File, Map};
use git_cowork::git::{Git, Oid};
use support::Sandbox;

const FILES: usize = 10_000;
const SAMPLES: usize = 5;

fn main() {
    let sandbox = repository();
    let git = Git::discover(&sandbox.repo()).unwrap();
    let head = git.resolve("HEAD").unwrap().unwrap();
    let kept = sandbox.root().join("kept/symbols.jsonl");
    let mut taken = [const { Vec::new() }; 5];
    let mut text = String::new();
    for sample in 0..SAMPLES {
        std::fs::remove_file(&kept).ok();
        taken[0].push(timed(|| text = map(&git, &head, &kept)));
        taken[1].push(timed(|| assert_eq!(map(&git, &head, &kept), text)));
        for n in 0..10 {
            sandbox.write(&format!("part{n}/file1.rs"), &source(n, sample + 1_000_000));
        }
        sandbox.commit_all("ten files");
        let changed = git.resolve("HEAD").unwrap().unwrap();
        taken[2].push(timed(|| drop(map(&git, &changed, &kept))));
        taken[3].push(timed(|| drop(sandbox.git(&["grep", "-c", "-w", "fn", head.as_str()]))));
        taken[4].push(timed(|| drop(sandbox.git(&["ls-tree", "-r", "-l", head.as_str()]))));
    }
    let [cold, warm, changed, grep, list] = taken.map(median);
    println!("{FILES} source files, {} bytes of map", text.len());
    for (what, ours) in
        [("nothing known", cold), ("everything known", warm), ("ten files changed", changed)]
    {
        println!(
            "{what:<20}{ours:>9.1} ms   git grep{grep:>9.1} ms  ratio {:>5.1}   git ls-tree -l{list:>8.1} ms",
            ours / grep
        );
    }
}

fn map(git: &Git, commit: &Oid, kept: &Path) -> String {
    let files = git.tree_files(commit).unwrap().into_iter();
    let file = |f: git_cowork::git::TreeFile| File {
        path: f.path,
        blob: f.blob.to_string(),
        size: f.size,
    };
    let files: Vec<File> = files.map(file).collect();
    let read = |blobs: &[&str]| {
        let blobs: Vec<Oid> = blobs.iter().map(|blob| blob.parse().unwrap()).collect();
        git.blobs(&blobs)
    };
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let tree = codebase::tree(&paths, 2_500);
    let map = Map { files: &files, read: &read, cache: Some(kept), about: "make lists faster" };
    tree + &codebase::symbols(&map, 6_000).unwrap()
}

/// A source file that defines ten things and uses some of its neighbours'.
fn source(part: usize, n: usize) -> String {
    let mut text =
        format!("//! Part {part}, file {n}.\n\npub struct Thing{n} {{\n    size: usize,\n}}\n\n");
    for f in 0..10 {
        let (near, far) = (n / 2, n / 10);
        write!(
            text,
            "/// Does {f}.\npub fn work_{n}_{f}(thing: &Thing{near}, more: &[usize]) -> usize {{\n    \
             let sum: usize = more.iter().sum();\n    if sum > {f} {{\n        \
             return work_{far}_{f}(thing, more);\n    }}\n    thing.size + sum\n}}\n\n"
        )
        .unwrap();
    }
    text
}

fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut stream = "commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\n\
                      data 5\nfiles\nfrom refs/heads/main^0\n"
        .to_owned();
    for n in 0..FILES {
        let (part, text) = (n / 100, source(n / 100, n));
        write!(stream, "M 100644 inline part{part}/file{n}.rs\ndata {}\n{text}\n", text.len())
            .unwrap();
    }
    let mut import = sandbox.command("git");
    import.args(["fast-import", "--quiet"]).stdin(Stdio::piped());
    let mut child = import.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox
}

fn timed(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

fn median(mut samples: Vec<Duration>) -> f64 {
    samples.sort();
    samples[samples.len() / 2].as_secs_f64() * 1000.0
}
