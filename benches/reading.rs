//! What reading history costs, next to git reading the same: `status` in small and large
//! repositories, `log` and `verify` of sessions of few and many tasks, the bare command beside few
//! and many sessions; with loose and with packed refs. Ours and git's samples alternate; the least
//! of each is compared.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod support;

#[expect(dead_code, reason = "other benchmarks use more of it")]
mod measure;

use measure::{cowork, files_of, git, least, ratio, recording, repository, time};
use support::Sandbox;
use support::copied::Refs;
use support::many::delivered;
use support::sessions::Sessions;

const SAMPLES: usize = 15;

fn main() {
    for (files, target) in [(10, 6.0), (100_000, 1.2)] {
        status(files, target);
    }
    let per_task: Vec<f64> = [10, 100, 500].map(tasks).into();
    // What does not depend on tasks is in both ends; between them a task costs the same.
    let (first, second) = ((per_task[1] - per_task[0]) / 90.0, (per_task[2] - per_task[1]) / 400.0);
    ratio("verify, a task of 100 to 500", second, "a task of 10 to 100", first, 1.5);
    for kept in [Refs::Loose, Refs::Packed] {
        bare(kept);
    }
}

/// Both ways of keeping refs, the second time packed.
fn packed(sandbox: &Sandbox, measured: impl Fn(&str)) {
    measured("loose");
    sandbox.git(&["pack-refs", "--all"]);
    measured("packed");
}

fn status(files: usize, target: f64) {
    let sandbox = repository(files);
    let replay = recording(&sandbox, |task| files_of(task, 1, 1));
    let new = ["new", "-b", "main", "-n", "todo", "a todo list", "--review", "auto", "--replay"];
    time(vec![cowork(&sandbox, &[&new[..], &[&replay, "--stop-after", "coding"]].concat())]);
    sandbox.git(&["status"]);
    packed(&sandbox, |refs| {
        let [ours, theirs] = least(
            SAMPLES,
            [&|| vec![cowork(&sandbox, &["status"])], &|| vec![git(&sandbox, &["status"])]],
        );
        ratio(&format!("status, {files} files, {refs}"), ours, "git status", theirs, target);
    });
}

/// How long `verify` takes with packed refs.
fn tasks(tasks: usize) -> f64 {
    let sandbox = delivered(tasks);
    let taken = std::cell::Cell::new(0.0);
    packed(&sandbox, |refs| {
        // The drafts beside the branch are told of, too.
        let log = ["log", "--glob=refs/heads/cowork/*", "--glob=refs/cowork/drafts/*", "^main"];
        let [status, told, verified, plain, by_git] = least(
            SAMPLES,
            [
                &|| vec![cowork(&sandbox, &["status"])],
                &|| vec![cowork(&sandbox, &["log"])],
                &|| vec![cowork(&sandbox, &["verify"])],
                &|| vec![git(&sandbox, &log)],
                &|| vec![git(&sandbox, &["status"])],
            ],
        );
        ratio(&format!("status, {tasks} tasks, {refs}"), status, "git status", by_git, 6.0);
        ratio(&format!("log, {tasks} tasks, {refs}"), told, "git log", plain, 3.0);
        println!("{:<42}{verified:>9.1} ms", format!("verify, {tasks} tasks, {refs}"));
        taken.set(verified);
    });
    taken.get()
}

/// The bare command on `main` beside many sessions, next to itself beside one.
fn bare(kept: Refs) {
    let (one, mut many) = (Sessions::new(), Sessions::new());
    for sessions in [200, 2_000, 10_000] {
        many.grow(sessions, kept);
        let [ours, alone] = least(
            SAMPLES / 3,
            [&|| vec![cowork(&many.sandbox, &[])], &|| vec![cowork(&one.sandbox, &[])]],
        );
        ratio(&format!("git cowork, {sessions} sessions, {kept:?}"), ours, "1 session", alone, 1.5);
    }
}
