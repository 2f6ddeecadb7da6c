//! What it costs to look at many sessions, next to git reading the stage of the same branches: `list`,
//! `list --json` and the bare command on `main`, with loose and with packed refs. Ours and git's samples
//! alternate, so that a busy machine slows both; medians are compared.
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

use measure::{compared, cowork, git, line, ratio};
use support::Sandbox;
use support::copied::Refs;
use support::sessions::Sessions;

const SESSIONS: [usize; 3] = [200, 2_000, 10_000];
const SAMPLES: usize = 7;

/// Commits that the base of a few sessions has gained.
const GAINED: usize = 50_000;

fn main() {
    for kept in [Refs::Loose, Refs::Packed] {
        let mut sessions = Sessions::new();
        for number in SESSIONS {
            sessions.grow(number, kept);
            listed(&sessions.sandbox, number, kept);
        }
    }
    gained();
}

/// What the bare command takes is compared with itself beside few sessions in `reading.rs`.
fn listed(sandbox: &Sandbox, sessions: usize, kept: Refs) {
    let format = "--format=%(refname) %(contents:trailers:key=Cowork-Stage)";
    let [list, json, bare, theirs] = compared(
        SAMPLES,
        [
            &|| vec![cowork(sandbox, &["list"])],
            &|| vec![cowork(sandbox, &["list", "--json"])],
            &|| vec![cowork(sandbox, &[])],
            &|| vec![git(sandbox, &["for-each-ref", format, "refs/heads/cowork/"])],
        ],
    );
    let told = |what: &str| format!("{what}, {sessions} sessions, {kept:?}");
    ratio(&told("list"), list, "git for-each-ref", theirs, 3.0);
    ratio(&told("list --json"), json, "git for-each-ref", theirs, 12.0);
    line(&told("(bare)"), bare, "git for-each-ref", theirs);
}

/// Twenty sessions beside a base that went on: about one walk.
fn gained() {
    let mut sessions = Sessions::new();
    sessions.grow(20, Refs::Packed);
    let sandbox = &sessions.sandbox;
    let newest = sandbox.git(&["log", "-1", "--format=%ct", "main"]);
    let newest: usize = newest.parse().unwrap();
    let mut stream = String::new();
    for n in 0..GAINED {
        let from = if n == 0 { "from refs/heads/main^0\n" } else { "" };
        writeln!(stream, "commit refs/heads/main\ncommitter A <a@x> {} +0000", newest + n).unwrap();
        write!(stream, "data 5\nnewer{from}\n").unwrap();
    }
    let mut import = git(sandbox, &["fast-import", "--quiet"]);
    let mut child = import.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let [ours, theirs] = compared(
        SAMPLES,
        [&|| vec![cowork(sandbox, &["list"])], &|| {
            let log = ["log", "--fixed-strings", "--grep=Cowork-Session-Id", "--format=%H", "main"];
            vec![git(sandbox, &log)]
        }],
    );
    line(&format!("list, base gained {GAINED}"), ours, "git log --grep", theirs);
}
