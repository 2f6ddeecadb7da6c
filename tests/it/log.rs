//! `git cowork log`: every step, from history alone.

use serde_json::Value;

use crate::support::todo::{STAGES, reject};
use crate::support::{Sandbox, at};

fn log(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    sandbox.cowork(&[&["log", "--json"], args].concat()).exits(0).json_lines()
}

/// The commits that the session's branch has beyond `main`.
fn sandbox_commits(sandbox: &Sandbox) -> usize {
    sandbox.git(&["rev-list", "main..cowork/todo"]).lines().count()
}

fn of<'a>(steps: &'a [Value], event: &str) -> Vec<&'a Value> {
    steps.iter().filter(|step| step["event"] == event).collect()
}

#[test]
fn a_whole_session_is_an_audit_log() {
    let sandbox = Sandbox::new();
    let vague = "REQ-002 is vague";
    sandbox.server.times(1, at("prd", "critic").iteration(1), reject(vague));
    sandbox.auto(&[]).exits(0);
    let steps = log(&sandbox, &[]);
    for step in &steps {
        for field in ["timestamp", "event", "from", "to", "actor", "decision"] {
            assert!(step.get(field).is_some(), "{field} in {step}");
        }
        assert_eq!(step["session"], "todo");
    }
    assert_eq!((&steps[0]["event"], &steps[0]["to"]), (&"session_started".into(), &"idea".into()));
    let stages = of(&steps, "stage_completed");
    let names: Vec<&str> = stages.iter().map(|step| step["stage"].as_str().unwrap()).collect();
    assert_eq!(names, STAGES);
    let prd = stages[1];
    assert_eq!((&prd["from"], &prd["to"]), (&"prd".into(), &"design".into()));
    assert_eq!((&prd["decision"], &prd["iteration"]), (&"auto".into(), &2.into()));
    assert_eq!(prd["reason"], "It is simple and complete.");
    assert_eq!(prd["commit"], sandbox.stage_commit("prd").as_str());
    assert_eq!(prd["models"], serde_json::json!(["scripted-1"]));
    assert!(stages[6]["to"] == "completed" && of(&steps, "task_completed").len() == 5);
    // Said between the draft it is about and the next one.
    let at = steps.iter().position(|step| step["event"] == "feedback").unwrap();
    let (before, said, after) = (&steps[at - 1], &steps[at], &steps[at + 1]);
    assert_eq!((&before["event"], &before["iteration"]), (&"draft_kept".into(), &1.into()));
    assert_eq!((&said["actor"], &said["decision"]), (&"critic".into(), &"rejected".into()));
    assert_eq!((&said["reason"], &said["iteration"]), (&vague.into(), &1.into()));
    assert_eq!((&after["event"], &after["iteration"]), (&"draft_kept".into(), &2.into()));
    // The lines add up, and name the conversations on this machine.
    let sum: u64 = steps.iter().filter_map(|step| step["tokens"]["in"].as_u64()).sum();
    assert_eq!(sum, 100 * sandbox.server.asked() as u64);
    let transcripts = prd["transcripts"].as_array().unwrap();
    assert_eq!(transcripts.len(), 4, "{transcripts:?}");
    for path in transcripts {
        assert!(std::path::Path::new(path.as_str().unwrap()).is_file(), "{path}");
    }
    let shown = sandbox.cowork(&["log"]).exits(0).stdout;
    assert!(shown.contains("✗ prd       draft 1: critic, major: REQ-002 is vague\n"), "{shown}");
    assert!(shown.contains(" auto, 2 drafts "), "{shown}");
    // An event is a line, what it cannot hold is asked for.
    let total =
        format!("todo · a todo list for the terminal  {} commits · ", sandbox_commits(&sandbox));
    assert!(shown.starts_with(&total), "{total} in {shown}");
    assert!(!shown.contains("scripted-1") && !shown.contains("transcripts"), "{shown}");
    let whole = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
    assert!(whole.contains("2 drafts · auto · ") && whole.contains("scripted-1"), "{whole}");
    assert!(whole.contains("critic: It is simple and complete.\n"), "{whole}");
    assert!(whole.contains("/cowork/sessions/todo/transcripts\n"), "{whole}");
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("2 drafts (critic: 1 rejection)"), "{status}");
}

#[test]
fn a_review_tells_who_and_why() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    sandbox.cowork(&["review", "--feedback", "Name the users."]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    let steps = log(&sandbox, &[]);
    let waits = of(&steps, "review_requested");
    assert_eq!(waits.len(), 3, "{steps:?}");
    assert_eq!((&waits[0]["from"], &waits[0]["to"]), (&"idea".into(), &"waiting".into()));
    let answers = of(&steps, "review_answered");
    assert_eq!(answers[0]["decision"], "feedback");
    assert!(answers[0]["reason"].as_str().unwrap().contains("Name the users."));
    assert_eq!(answers[1]["decision"], "passed");
    assert_eq!((&answers[1]["from"], &answers[1]["to"]), (&"waiting".into(), &"idea".into()));
    assert_eq!(answers[1]["actor"], "Ana Example <ana@example.org>");
    let idea = of(&steps, "stage_completed")[0];
    assert_eq!(idea["decision"], "passed");
    assert_eq!(idea["actor"], "Ana Example <ana@example.org>");
    let said = of(&steps, "feedback");
    assert_eq!((said.len(), &said[0]["actor"]), (1, &answers[0]["actor"]));
    let shown = sandbox.cowork(&["log"]).exits(0).stdout;
    let passed = shown.lines().find(|line| line.contains("draft 2 passed")).unwrap();
    assert!(passed.ends_with("  Ana Example"), "{shown}");
    assert!(shown.contains("✗ idea   draft 1: Ana Example: Name the users.\n"), "{shown}");
    assert_eq!(shown.matches("Name the users.").count(), 1, "{shown}");
    let whole = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
    assert!(whole.matches("Name the users.").count() > 1, "{whole}");
}

#[test]
fn findings_about_one_draft_are_one_line_and_an_edit_is_no_saying() {
    let sandbox = Sandbox::new();
    let empty =
        crate::support::Reply::call("save_prd_doc", serde_json::json!({"content": "# PRD\n"}));
    sandbox.server.on(at("prd", "actor").iteration(1).turn(1), empty);
    sandbox.wait(&["--stop-after", "prd"]).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    let prd = ".cowork/sessions/todo/prd.md";
    let text = sandbox.read(prd).replace("# Product requirements", "# What it must do");
    sandbox.write(prd, &text);
    sandbox.commit_all("better words");
    sandbox.cowork(&["review", "--feedback", "Name the users."]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    let shown = sandbox.cowork(&["log"]).exits(0).stdout;
    assert_eq!(shown.matches("draft 1: validator, ").count(), 1, "{shown}");
    assert!(shown.contains(" more)\n"), "{shown}");
    let edited = shown.lines().find(|line| line.contains(": edited prd.md")).unwrap();
    assert!(edited.ends_with("  Ana Example"), "{shown}");
    assert!(!shown.contains("I edited"), "{shown}");
}

#[test]
fn what_was_said_of_a_stage_that_stays_was_not_left_behind() {
    let sandbox = Sandbox::new();
    sandbox.server.times(1, at("prd", "critic").iteration(1), reject("REQ-002 is vague"));
    sandbox.server.times(1, at("design", "critic").iteration(1), reject("COMP-002 is large"));
    sandbox.auto(&["--stop-after", "design"]).exits(0);
    sandbox.cowork(&["revert", "--to", "design", "--no-run"]).exits(0);
    let steps = log(&sandbox, &[]);
    let said = of(&steps, "feedback");
    let about = |reason: &str| said.iter().find(|step| step["reason"] == reason).unwrap();
    assert_eq!(about("REQ-002 is vague").get("attempt"), None, "{said:?}");
    assert_eq!(about("COMP-002 is large")["attempt"], 1, "{said:?}");
    assert!(steps[0]["event"] == "session_started", "{steps:?}");
}

#[test]
fn a_graph_draws_what_was_left_behind_beside_the_branch() {
    let sandbox = Sandbox::stopped_after("design");
    sandbox.cowork(&["revert", "--to", "design", "--no-run"]).exits(0);
    let resume = ["resume", "--review", "auto", "--stop-after", "design", "--model", "other"];
    sandbox.cowork(&resume).exits(0);
    let shown = sandbox.cowork(&["log", "--graph"]).exits(0).stdout;
    let lines: Vec<&str> = shown.lines().skip(1).collect();
    let at = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap();
    assert!(lines[0].starts_with("*   2") && lines[0].contains("start"), "{shown}");
    // The design that was left stands on the prd, to the right of the branch.
    assert!(lines.contains(&"|\\"), "{shown}");
    assert!(at("|\\") > at("3 requirements"), "{shown}");
    let left: Vec<_> = lines.iter().filter(|line| line.contains("2 components")).collect();
    assert!(left.len() == 2 && left[0].starts_with("| * 2"), "{shown}");
    let back = lines[at("attempt 1 left behind: ")];
    assert!(back.starts_with("| * 2"), "{shown}");
    let design = lines.iter().rfind(|line| line.contains("2 components")).unwrap();
    assert!(design.starts_with("*   2"), "{shown}");
    // Without it the lines are the same.
    let plain = sandbox.cowork(&["log"]).exits(0).stdout;
    assert!(plain.contains(design.trim_start_matches(['*', ' '])), "{plain}");
    let refused = sandbox.cowork(&["log", "--graph", "--json"]).exits(2).stdout;
    assert!(refused.contains("--graph cannot be used with --json"), "{refused}");
}

#[test]
fn a_revert_is_told_with_what_it_left_behind() {
    let sandbox = Sandbox::stopped_after("design");
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    // Another model: what is done again in the same second must not be the same commit.
    let resume = ["resume", "--review", "auto", "--stop-after", "prd", "--model", "other"];
    sandbox.cowork(&resume).exits(0);
    sandbox.cowork(&["revert", "--to", "idea", "--no-run"]).exits(0);
    sandbox.cowork(&resume).exits(0);
    let steps = log(&sandbox, &[]);
    let back = of(&steps, "went_back");
    assert_eq!(back.len(), 2);
    let way = |n: usize| (back[n]["from"].as_str().unwrap(), back[n]["to"].as_str().unwrap());
    assert_eq!((way(0), way(1)), (("plan", "prd"), ("design", "idea")));
    assert_eq!(back[0]["attempt"], 1);
    assert_eq!(back[0]["actor"], "Ana Example <ana@example.org>");
    let left =
        steps.iter().filter(|step| step["attempt"] == 1 && step["event"] == "stage_completed");
    assert_eq!(left.count(), 2);
    let counts = of(&steps, "stage_completed").into_iter().filter(|s| s.get("attempt").is_none());
    assert_eq!(counts.count(), 2);
    let shown = sandbox.cowork(&["log"]).exits(0).stdout;
    let back =
        shown.lines().find(|line| line.contains("attempt 1 left behind: back to prd")).unwrap();
    assert!(back.starts_with("│ ") && back.contains(" ↩ plan  "), "{shown}");
    // With the command that gets it back.
    assert!(back.ends_with("  git cowork restore todo 1"), "{shown}");
    let left = shown.lines().filter(|line| line.starts_with("│ ") && line.contains(" ✓ "));
    assert_eq!(left.count(), 4, "{shown}");
    let shown = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
    assert!(shown.contains("from plan to prd, by Ana Example"), "{shown}");
    // Each attempt has its comparisons, ready to run.
    let suggested: Vec<_> = shown.lines().filter_map(|line| line.get(10..)).collect();
    let suggested: Vec<_> = suggested.into_iter().filter(|l| l.starts_with("git ")).collect();
    assert_eq!(suggested.len(), 4, "{shown}");
    let run = |n: usize| sandbox.git(&suggested[n].split(' ').skip(1).collect::<Vec<_>>());
    assert!(run(0).contains("design: "), "{}", run(0));
    assert!(run(1).contains("design_spec.json"), "{}", run(1));
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("✓ prd-3") && status.contains("1 draft, after a revert"), "{status}");
}

#[test]
fn a_fresh_clone_tells_the_same_from_any_branch() {
    let sandbox = Sandbox::stopped_after("prd");
    sandbox.git(&["switch", "-q", "main"]);
    let before = sandbox.all_refs();
    let here = log(&sandbox, &["todo"]);
    assert_eq!(sandbox.all_refs(), before);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    sandbox.git(&["clone", "-q", ".", "../clone"]);
    let mut clone = sandbox.fork();
    clone.enter("../clone");
    let there = log(&clone, &["todo"]);
    let commits = |steps: &[Value]| -> Vec<Value> {
        let told = steps.iter().filter(|step| step["event"] != "draft_kept");
        told.map(|step| step["commit"].clone()).collect()
    };
    assert_eq!(commits(&here), commits(&there));
    assert!(there.iter().all(|step| step.get("transcripts").is_none()), "{there:?}");
    assert_eq!(clone.git(&["branch", "--list", "cowork/*"]), "");
    let shown = clone.cowork(&["log", "todo", "-v"]).exits(0).stdout;
    assert!(!shown.contains("Transcripts"), "{shown}");
    sandbox.cowork(&["log", "nowhere"]).exits(5).says("nowhere");
}

#[test]
fn status_names_the_task_and_what_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("README.md", "# Mine\n");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let begin = crate::support::Reply::call(
        "update_task_status",
        serde_json::json!({"task_id": "TASK-002", "new_status": "in_progress"}),
    );
    sandbox.server.on(at("coding", "actor").task("TASK-002").turn(1), begin);
    let gone = crate::support::Reply::status(401, "enough");
    sandbox.server.on(at("coding", "actor").task("TASK-002").turn(2), gone);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(4);
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    let coding = shown.lines().find(|line| line.contains("● coding ")).unwrap();
    assert!(coding.contains("█░") && coding.contains(" 1 of 5 tasks  draft 1 "), "{shown}");
    assert!(coding.ends_with("TASK-002 in progress"), "{shown}");
    assert!(shown.contains("Kept     draft 1 of coding, not finished (git show "), "{shown}");
    assert!(shown.contains("Yours    README.md has your uncommitted edits"), "{shown}");
    sandbox.git(&["checkout", "-q", "README.md"]);
    assert!(!sandbox.cowork(&["status"]).exits(0).stdout.contains("Yours"));
}
