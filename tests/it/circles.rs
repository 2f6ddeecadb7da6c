//! Circles and runs that get nowhere: noticed, told, and put before a person; without one the run
//! ends, and ends again without another request.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::script::At;
use crate::support::todo::{PRD, STAGES, reject};
use crate::support::{Reply, Sandbox, at};

/// A session whose next stage is prd, with room for many drafts.
fn before_prd() -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config("[limits]\niterations = { prd = 6 }\n");
    sandbox.server.forget();
    sandbox
}

fn drafts_differ(sandbox: &Sandbox) {
    sandbox.server.on_with(at("prd", "actor").turn(1), |received| {
        let text = format!("{PRD}\nDraft {}, fixed.\n", received.iteration);
        (received.iteration > 1).then(|| Reply::call("save_prd_doc", json!({"content": text})))
    });
}

fn refusals(sandbox: &Sandbox, words: &'static [&'static str]) {
    sandbox.server.on_with(at("prd", "critic"), |received| {
        words.get(usize::try_from(received.iteration).unwrap() - 1).map(|words| reject(words))
    });
}

const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];

/// Ends with exit 1 and this reason, twice; the second time nobody is asked.
#[track_caller]
fn fails_for_good(sandbox: &Sandbox, reason: &str) -> String {
    let outcome = sandbox.cowork(&RESUME).exits(1).says(reason);
    assert!(outcome.stderr.contains("│ ⚠ "), "no box in {}", outcome.stderr);
    assert!(!outcome.stderr.contains("limits.iterations"), "{}", outcome.stderr);
    sandbox.assert_sound();
    let asked = sandbox.server.requests().len();
    sandbox.cowork(&RESUME).exits(1).says(reason);
    assert_eq!(sandbox.server.requests().len(), asked, "the second end was paid for");
    outcome.stderr
}

#[test]
fn three_rejections_in_the_same_words() {
    let sandbox = before_prd();
    drafts_differ(&sandbox);
    refusals(
        &sandbox,
        &["nobody says who it is for", "Nobody says: who it is for?", "nobody says who it is for."],
    );
    let stderr = fails_for_good(&sandbox, "three rejections in a row say the same thing");
    assert!(stderr.contains("[critic] nobody says who it is for."), "{stderr}");
    assert!(stderr.contains("git cowork revert todo --to prd"), "{stderr}");
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 3);
}

#[test]
fn one_finding_on_one_id_in_ever_other_words() {
    let sandbox = before_prd();
    drafts_differ(&sandbox);
    refusals(&sandbox, &["REQ-002 is vague", "who could try REQ-002 out?", "what is REQ-002?"]);
    fails_for_good(&sandbox, "find the same problem with REQ-002");
}

#[test]
fn an_actor_that_changes_nothing() {
    let sandbox = before_prd();
    refusals(&sandbox, &["no user is named", "the order is missing", "what of empty lists?"]);
    fails_for_good(&sandbox, "the actor changes nothing after feedback");
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 3);
}

#[test]
fn the_second_strike_is_a_warning_and_makes_it_critical() {
    let sandbox = before_prd();
    drafts_differ(&sandbox);
    refusals(&sandbox, &["no user is named here", "no user is named HERE", "too long"]);
    let outcome = sandbox.cowork(&RESUME).exits(0);
    assert!(outcome.stderr.contains("warning: prd: two rejections"), "{}", outcome.stderr);
    let history: Value = serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    let severities: Vec<&str> =
        history.as_array().unwrap().iter().map(|e| e["severity"].as_str().unwrap()).collect();
    assert_eq!(severities, ["major", "critical", "major"]);
    let drafts = sandbox.server.requests_of("prd", "actor");
    let third = drafts.iter().find(|r| r.iteration == 3).unwrap();
    assert!(third.text().contains("critic, critical: no user is named HERE"));
}

#[test]
fn a_circle_is_noticed_across_a_kill() {
    let sandbox = before_prd();
    drafts_differ(&sandbox);
    refusals(&sandbox, &["no user is named", "no user is named!", "no user is named."]);
    // Draft and critic are two requests: this is the third critic.
    sandbox.server.signal_at(6, Signal::KILL);
    let server = &sandbox.server;
    sandbox.cowork_watched(&RESUME, |pid| server.set_victim(pid)).was_killed();
    sandbox.server.spare_everyone();
    sandbox.cowork(&RESUME).exits(1).says("three rejections in a row say the same thing");
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 4);
    sandbox.assert_sound();
}

#[test]
fn a_persons_word_ends_a_circle() {
    let sandbox = before_prd();
    drafts_differ(&sandbox);
    refusals(&sandbox, &["no user is named", "no user is named!", "no user is named."]);
    sandbox.cowork(&RESUME).exits(1);
    let mut terminal = sandbox.terminal(&RESUME);
    let shown = terminal.sees("What now");
    // In the box, and above the menu.
    assert_eq!(shown.matches("stuck in a loop").count(), 2, "{shown}");
    terminal.sees("resume asks again");
    terminal.types("2");
    terminal.sees("what should the actor do?");
    terminal.enters("the user is a gardener");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
}

#[test]
fn json_readers_are_warned_on_stderr() {
    let sandbox = before_prd();
    refusals(&sandbox, &["no user is named", "the order is missing", "what of empty lists?"]);
    let outcome = sandbox.cowork(&[&RESUME[..], &["--json"]].concat()).exits(1);
    let warning = "warning: prd: stuck in a loop: three drafts in a row are the same";
    assert!(outcome.stderr.contains(warning), "{}", outcome.stderr);
    let error = outcome.json_lines().into_iter().find(|line| line["event"] == "error").unwrap();
    assert_eq!(error["exit"], 1);
    assert!(error["message"].as_str().unwrap().contains("what of empty lists?"), "{error}");
}

#[test]
fn the_same_call_again_and_again_is_told_and_then_ends_the_run() {
    let sandbox = before_prd();
    sandbox.server.on(at("prd", "actor"), Reply::call("load_prd_doc", json!({})));
    sandbox.write("README.md", "# Somewhere\n");
    sandbox
        .server
        .on(at("prd", "actor"), Reply::call("read_file", json!({"path": "README.md", "limit": 5})));
    fails_for_good(&sandbox, "read_file was called 5 times with the same arguments");
    let requests = sandbox.server.requests_of("prd", "actor");
    assert_eq!(requests.len(), 5);
    assert!(!requests[2].text().contains("nothing changed in between"));
    assert!(requests[3].text().contains("nothing changed in between"));
    // Where reviews wait, so does this.
    sandbox.cowork(&["resume", "--review", "wait"]).exits(1).says("called 5 times");
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), 5);
}

#[test]
fn a_call_that_always_fails_needs_a_person() {
    let sandbox = before_prd();
    let edit = json!({"id": "REQ-009", "title": "none"});
    sandbox.server.on(at("prd", "actor"), Reply::call("update_requirement", edit));
    fails_for_good(&sandbox, "the same call to update_requirement failed 3 times");
    assert_eq!(sandbox.server.requests().len(), 3);
}

#[test]
fn guards_that_refuse_three_times_in_a_stage_need_a_person() {
    let sandbox = Sandbox::stopped_after("plan");
    // Twice in the first task, once in the second.
    for (task, paths) in [("TASK-001", &["../a", ".git/config"][..]), ("TASK-002", &["../b"])] {
        let write = |reply: Reply, path: &&str| {
            reply.and("write_file", json!({"path": path, "content": "owned"}))
        };
        let reply = paths.iter().fold(crate::support::todo::task_work(task), write);
        sandbox.server.on(at("coding", "actor").task(task).turn(1), reply);
    }
    sandbox.server.forget();
    let outcome = sandbox.cowork(&["resume", "--review", "auto"]).exits(1);
    assert!(outcome.stderr.contains("3 calls were refused by a guard"), "{}", outcome.stderr);
    sandbox.assert_sound();
    let asked = sandbox.server.requests().len();
    sandbox.cowork(&["resume", "--review", "auto"]).exits(1).says("refused by a guard");
    assert_eq!(sandbox.server.requests().len(), asked);
    // A person's word restarts the count.
    let mut terminal = sandbox.terminal(&["resume", "--review", "auto"]);
    terminal.sees("resume asks again");
    terminal.types("1");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
}

#[test]
fn what_the_system_refuses_is_told_to_the_model_and_to_the_person() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.write("locked/kept.txt", "kept\n");
    sandbox.commit_all("a folder");
    let allow = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(sandbox.path("locked"), mode).unwrap();
    };
    allow(0o555);
    if std::fs::write(sandbox.path("locked/probe"), "").is_ok() {
        // Nothing is locked to this user.
        return;
    }
    let write = json!({"path": "locked/a.txt", "content": "a"});
    let reply = crate::support::todo::task_work("TASK-001").and("write_file", write);
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), reply);
    let outcome = sandbox.cowork(&["resume", "--review", "auto", "-q"]).exits(0);
    allow(0o755);
    assert!(outcome.stderr.contains("warning: writing locked/a.txt failed"), "{}", outcome.stderr);
    let told = &sandbox.server.requests_of("coding", "actor");
    assert!(told.iter().any(|r| r.text().contains("writing locked/a.txt failed")));
}

fn replan() -> Reply {
    Reply::call(
        "request_replanning",
        json!({
            "target_stage": "prd", "issue_type": "requirement_mismatch", "severity": "major",
            "details": "REQ-001 cannot be built",
        }),
    )
}

#[test]
fn going_back_again_and_again_is_bounded() {
    let sandbox = Sandbox::stopped_after("prd");
    sandbox.server.on(at("design", "critic"), replan());
    let resume = ["resume", "--review", "auto", "--stop-after", "design"];
    let outcome = sandbox.cowork(&resume).exits(1).says("the limit is 2");
    assert!(outcome.stderr.contains("git cowork revert todo --to prd"), "{}", outcome.stderr);
    assert_eq!(sandbox.server.requests_of("design", "critic").len(), 3);
    sandbox.assert_sound();
    sandbox.server.forget();
    sandbox.cowork(&resume).exits(1).says("the limit is 2");
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.server.on(at("design", "critic"), crate::support::todo::approve());
    let mut terminal = sandbox.terminal(&resume);
    let shown = terminal.sees("What now");
    assert!(shown.contains("the limit is 2"), "{shown}");
    terminal.sees("resume asks again");
    terminal.types("2");
    terminal.sees("what should the actor do?");
    terminal.enters("leave REQ-001 out");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let drafts = sandbox.server.requests_of("design", "actor");
    assert!(drafts[0].text().contains("human, critical: leave REQ-001 out"));
}

/// What models do instead of working. Every kind was seen to end at every stage; two of them a
/// stage keep that so.
fn nonsense_at(place: usize) -> Vec<(&'static str, Reply)> {
    let all = nonsense();
    [place, place + 1].map(|n| all[n % all.len()].clone()).to_vec()
}

fn nonsense() -> Vec<(&'static str, Reply)> {
    vec![
        ("says nothing", Reply::empty()),
        ("says it is done", Reply::text("Done.")),
        ("breaks its JSON", Reply::empty().and_raw("read_file", "{\"path\": \"a")),
        ("calls what is not there", Reply::call("save_the_world", json!({"when": "now"}))),
        ("answers too long", Reply::text("and then ").finish("length")),
    ]
}

#[test]
fn nonsense_is_bounded_at_every_stage() {
    for (at_stage, stage) in STAGES.iter().enumerate() {
        let before = Sandbox::new();
        if let Some(done) = at_stage.checked_sub(1) {
            before.auto(&["--stop-after", STAGES[done]]).exits(0);
        }
        for (what, reply) in nonsense_at(at_stage) {
            let sandbox = before.fork();
            sandbox.server.on(at(stage, "actor"), reply);
            let run = ["resume", "--review", "auto"];
            let outcome = if at_stage == 0 { sandbox.auto(&[]) } else { sandbox.cowork(&run) };
            assert_eq!(outcome.code, 1, "{stage} {what}: {}", outcome.stderr);
            assert!(outcome.stderr.contains("error: "), "{stage} {what}: {}", outcome.stderr);
            let asked = sandbox.server.requests().len();
            assert!(asked <= 15, "{stage} {what}: {asked} requests");
            sandbox.assert_sound();
            sandbox.server.forget();
            sandbox.cowork(&run).exits(1);
            let asked = sandbox.server.requests().len();
            assert_eq!(asked, 0, "{stage} {what}: {asked} requests for the same end");
        }
    }
}

#[test]
fn a_critic_without_a_verdict_is_bounded_at_every_stage() {
    for (place, (before, stage)) in STAGES.iter().zip(&STAGES[1..5]).enumerate() {
        let done = Sandbox::new();
        done.auto(&["--stop-after", before]).exits(0);
        for (what, reply) in nonsense_at(place) {
            let sandbox = done.fork();
            sandbox.server.on(at(stage, "critic"), reply);
            let outcome = sandbox.cowork(&["resume", "--review", "auto"]).exits(1);
            assert!(outcome.stderr.contains("critic"), "{stage} {what}: {}", outcome.stderr);
            let asked = sandbox.server.requests_of(stage, "critic").len();
            assert!(asked <= 15, "{stage} {what}: {asked} requests");
            sandbox.assert_sound();
        }
    }
}

/// A file that fills a small window.
fn big_file(sandbox: &Sandbox) {
    let line = "A line of a text that goes on and on.\n";
    sandbox.write("big.txt", &line.repeat(2_000));
    sandbox.commit_all("a big file");
}

/// Reads another part of the big file in each of the first turns, then does `work`.
fn reads_a_lot(sandbox: &Sandbox, place: At, turns: u32, work: Reply) {
    sandbox.server.on_with(place, move |received| {
        let begun = received.text().contains("You have begun this already");
        if received.turn == turns || (begun && received.turn == 1) {
            return Some(work.clone());
        }
        let offset = 100 * received.turn;
        let read = json!({"path": "big.txt", "offset": offset, "limit": 90});
        (!begun && received.turn < turns).then(|| Reply::call("read_file", read))
    });
}

/// Window of this many tokens.
fn window(sandbox: &Sandbox, tokens: u32) {
    sandbox.user_config(&format!("[llm]\ncontext_window = {tokens}\n"));
}

#[test]
fn old_output_is_masked_before_anything_else() {
    let sandbox = Sandbox::new();
    big_file(&sandbox);
    window(&sandbox, 12_000);
    let save = Reply::call("save_idea", json!({"content": crate::support::todo::IDEA}));
    reads_a_lot(&sandbox, at("idea", "actor"), 15, save);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let requests = sandbox.server.requests();
    assert_eq!(requests.len(), 15);
    let bytes = requests.iter().map(|r| r.bytes).max().unwrap();
    assert!(bytes < 48_000, "{bytes} bytes in a window of 12000 tokens");
    let messages = requests[14].messages().iter().filter(|m| m["role"] == "tool");
    let read: Vec<&str> = messages.map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(read.len(), 14);
    assert!(read[0].starts_with("[output of an earlier call"), "{}", &read[0][..100]);
    assert!(read[13].contains("on and on"), "what was read last is there");
    assert!(!requests.iter().any(|r| r.text().contains("You have begun this already")));
}

/// Writes long answers, which nothing masks, until it begins from scratch.
fn talks_a_lot(sandbox: &Sandbox, place: At, first: Reply, after: Reply) {
    sandbox.server.on_with(place, move |received| {
        if received.text().contains("You have begun this already") {
            return Some(if received.turn == 1 { after.clone() } else { Reply::text("Done now.") });
        }
        if received.turn == 1 {
            return Some(first.clone());
        }
        let mut reply = Reply::call("list_files", json!({"pattern": received.turn.to_string()}));
        reply.text = "I think about it at length. ".repeat(200);
        Some(reply)
    });
}

#[test]
fn a_full_window_restarts_from_the_documents() {
    let sandbox = before_prd();
    window(&sandbox, 14_000);
    let nowhere = json!({"path": "nowhere.txt"});
    let first = crate::support::todo::prd_draft().and("read_file", nowhere);
    let text = format!("{PRD}\nThe end.\n");
    let after = Reply::call("save_prd_doc", json!({"content": text}));
    talks_a_lot(&sandbox, at("prd", "actor"), first, after);
    sandbox.cowork(&RESUME).exits(0).says("restarts from the files");
    let requests = sandbox.server.requests_of("prd", "actor");
    let restarted = requests.iter().find(|r| r.text().contains("You have begun this already"));
    let restarted = restarted.unwrap();
    assert_eq!((restarted.turn, restarted.iteration), (1, 1));
    assert!(restarted.text().contains("Tick a todo off"), "what was made is in the message");
    assert!(requests.iter().all(|r| r.bytes < 56_000));
    assert!(sandbox.artifact("prd.md").ends_with("The end.\n"));
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Iterations"], ["1"]);
    let tokens = u64::try_from(requests.len()).unwrap() * 100 + 100;
    assert_eq!(trailers["Cowork-Tokens"], [format!("in={tokens} out={} cached=0", tokens / 5)]);
}

#[test]
fn a_full_window_in_a_task_restarts_from_its_files() {
    let sandbox = Sandbox::stopped_after("plan");
    window(&sandbox, 16_000);
    let first = Reply::call("write_file", json!({"path": "lib/store.sh", "content": "# store\n"}));
    let done = json!({"task_id": "TASK-001", "new_status": "completed"});
    let after = Reply::call("update_task_status", done);
    talks_a_lot(&sandbox, at("coding", "actor").task("TASK-001"), first, after);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0).says("restarts from the files");
    let requests = sandbox.server.requests_of("coding", "actor");
    let restarted = requests.iter().find(|r| r.text().contains("You have begun this already"));
    assert!(restarted.unwrap().text().contains("lib/store.sh"));
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    assert_eq!(sandbox.blob(&commit, "lib/store.sh"), "# store\n");
}

#[test]
fn a_window_that_nothing_fits_ends_with_what_to_do() {
    let sandbox = before_prd();
    window(&sandbox, 14_000);
    sandbox.server.on_with(at("prd", "actor"), |received| {
        let mut reply = Reply::call("list_files", json!({"pattern": received.number.to_string()}));
        reply.text = "I think about it at length. ".repeat(200);
        Some(reply)
    });
    let outcome = sandbox.cowork(&RESUME).exits(4).says("context_window");
    assert!(outcome.stderr.contains("does not fit"), "{}", outcome.stderr);
    sandbox.assert_sound();
    // A server that says so itself is believed.
    let sandbox = before_prd();
    let error = json!({"error": {"code": "context_length_exceeded", "message": "too long"}});
    let refuse =
        crate::support::Fault::Status { code: 400, headers: Vec::new(), body: error.to_string() };
    sandbox.server.on(at("prd", "actor"), Reply::empty().fault(refuse));
    sandbox.cowork(&RESUME).exits(4).says("contextwindow");
    assert_eq!(sandbox.server.requests().len(), 1);
}
