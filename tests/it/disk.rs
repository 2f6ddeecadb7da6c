//! What the operating system refuses: the model is told, the person is told and reminded, nothing
//! half-written stays, and on a full disk the run stops and goes on later.

use serde_json::json;

use crate::support::todo::lingers;
use crate::support::{Reply, Sandbox, at, todo};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

fn write(path: &str) -> Reply {
    Reply::call("write_file", json!({"path": path, "content": "x\n"}))
}

#[test]
fn what_cannot_be_written_is_told_to_the_model_and_the_person() {
    let sandbox = Sandbox::new();
    // Permission bits do not bind root; a link to itself stops everybody.
    std::os::unix::fs::symlink("loop", sandbox.path("loop")).unwrap();
    sandbox.commit_all("a link to itself");
    let tries = write("loop/x").and("write_file", json!({"path": "README.md/x", "content": "x\n"}));
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), tries);
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(2), todo::task_work("TASK-001"));
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(3), Reply::text("Done."));
    let outcome = sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let told = sandbox.server.requests_of("coding", "actor")[1].tool_results().join("\n");
    assert!(told.contains("loop/x"), "{told}");
    assert!(told.contains("README.md/x"), "{told}");
    let said = outcome.stderr.matches("loop/x cannot be read").count();
    assert!(said >= 2, "warned and reminded: {}", outcome.stderr);
    let last = outcome.stderr.lines().rev().find(|line| line.contains("loop/x")).unwrap();
    assert!(last.contains("skipped in this run"), "{}", outcome.stderr);
    sandbox.assert_sound();
    assert!(sandbox.read("README.md").contains("Somewhere"));
}

#[test]
fn a_directory_in_the_place_of_a_document_stops_nothing_it_need_not() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.write(".cowork/sessions/todo/prd.md/mine", "mine\n");
    let outcome = sandbox.cowork(&RESUME);
    assert_ne!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("prd.md"), "{}", outcome.stderr);
    sandbox.git(&["fsck", "--strict"]);
    let everywhere = sandbox.git(&["log", "--all", "-p", "--format=", "--", ".cowork"]);
    assert!(everywhere.contains("+mine"), "it is nowhere");
    std::fs::remove_dir_all(sandbox.path(".cowork/sessions/todo/prd.md")).ok();
    sandbox.git(&["update-ref", "-d", "refs/cowork/drafts/todo/prd"]);
    sandbox.cowork(&RESUME).exits(0);
    sandbox.assert_sound();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_the_run_with_everything_kept() {
    let sandbox = Sandbox::stopped_after("prd");
    sandbox.server.manner(lingers);
    let transcripts = sandbox.repo().join(".git/cowork/sessions/todo/transcripts");
    let before: Vec<_> = std::fs::read_dir(&transcripts).unwrap().collect();
    assert!(!before.is_empty());
    // In the middle of the draft, whatever is noted about the next write meets a full disk.
    let note = sandbox.repo().join(".git/cowork/sessions/todo/written.json");
    let full = note.clone();
    sandbox.server.on_with(at("design", "actor").turn(2), move |_| {
        std::fs::remove_file(&full).unwrap();
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        let second = json!({"content": format!("{}\nMore.\n", todo::DESIGN)});
        Some(Reply::call("save_design_doc", second))
    });
    let outcome = sandbox.cowork(&RESUME).exits(5);
    assert!(outcome.stderr.contains("the disk is full"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("git cowork resume todo"), "{}", outcome.stderr);
    sandbox.assert_sound();
    let design = ".cowork/sessions/todo/design.md";
    assert_eq!(sandbox.blob("refs/cowork/drafts/todo/design", design), todo::DESIGN);
    // Old transcripts made room, those of the stage in progress did not.
    let left = std::fs::read_dir(&transcripts).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.map(|name| name.into_string().unwrap()).collect();
    assert!(left.iter().all(|name| name.starts_with("design.")), "{left:?}");
    assert!(!left.is_empty());
    std::fs::remove_file(&note).ok();
    sandbox.server.on(at("design", "actor").turn(2), Reply::text("Done."));
    sandbox.server.on(at("design", "actor").turn(3), Reply::text("Done."));
    sandbox.server.forget();
    sandbox.cowork(&RESUME).exits(0);
    let asked = sandbox.server.requests_of("design", "actor");
    assert!(asked.iter().all(|request| request.turn > 1), "drafted from the beginning");
    sandbox.assert_sound();
}

#[cfg(unix)]
#[test]
fn a_limit_on_file_sizes_leaves_no_half_of_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write("big.txt", &"a\n".repeat(20_000));
    sandbox.commit_all("second");
    let longer = json!({"path": "big.txt", "old_text": "a", "new_text": "a".repeat(60),
                        "replace_all": true});
    let work = Reply::call("edit_file", longer)
        .and("write_file", json!({"path": "lib/small.txt", "content": "small\n"}));
    sandbox.server.times(1, at("coding", "actor").task("TASK-001").turn(1), work);
    let work = todo::task_work("TASK-001");
    sandbox.server.times(1, at("coding", "actor").task("TASK-001").turn(2), work);
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(3), Reply::text("Done."));
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let mut command = sandbox.command("sh");
    // 1000 blocks of 512 bytes; the signal that would kill is ignored.
    let script = "trap '' XFSZ; ulimit -f 1000; exec git-cowork resume --review auto";
    let output = command.args(["-c", script]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("writing big.txt failed: File too large"), "{told}");
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(sandbox.read("big.txt").len(), 40_000);
    assert!(!sandbox.exists(".big.txt.cowork-new"));
    sandbox.assert_sound();
}
