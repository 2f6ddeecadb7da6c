//! A delivery report is short: forty-five lines for a small change, few more for a large one, none
//! wider than a mail program shows. So is the message of its merge.

use serde_json::json;

use crate::support::todo::{self, task, task_work};
use crate::support::{Reply, Sandbox, at};

/// Columns of a line.
const WIDE: usize = 100;

/// The report's lines; none is too wide.
#[track_caller]
fn lines(sandbox: &Sandbox) -> Vec<String> {
    let report = sandbox.artifact("delivery_report.md");
    let wide: Vec<&str> = report.lines().filter(|line| line.chars().count() > WIDE).collect();
    assert!(wide.is_empty(), "{wide:?} in\n{report}");
    report.lines().map(str::to_owned).collect()
}

/// Merges, and compares the message with the report: only trailers are added.
#[track_caller]
fn is_the_merges_message(sandbox: &Sandbox, report: &[String]) {
    sandbox.cowork(&["merge"]).exits(0);
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    let (body, _) = message.rsplit_once("\n\n").unwrap();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    // A message is narrower than the report, and otherwise says the same.
    assert_eq!(words(body), words(report.join("\n").trim_start_matches("# ")), "{message}");
    assert!(sandbox.trailers("HEAD").values().map(Vec::len).sum::<usize>() <= 10, "{message}");
}

#[test]
fn the_report_on_a_small_change_is_read_on_one_page() {
    let sandbox = Sandbox::new();
    for (draft, details) in [(1, "REQ-001 is vague"), (2, "REQ-002 is vague")] {
        let refusal = todo::reject(&details.repeat(20));
        sandbox.server.times(1, at("prd", "critic").iteration(draft), refusal);
    }
    sandbox.auto(&[]).exits(0);
    let report = lines(&sandbox);
    assert!(report.len() <= 45, "{} lines", report.len());
    is_the_merges_message(&sandbox, &report);
}

#[test]
fn the_report_on_a_large_change_says_where_the_rest_is() {
    let sandbox = Sandbox::new();
    let criterion = |n: usize| {
        format!("{} {n}", "WHEN a user does it THEN it is done, and nothing is ".repeat(5))
    };
    let long = |title: &str| {
        let mut record = todo::requirement(title);
        record["acceptance_criteria"] = (0..4).map(criterion).collect();
        record
    };
    let prd = Reply::call("save_prd_doc", json!({"content": "# PRD\n\nWhat it must do.\n"}))
        .and("create_requirement", long("Add a todo"))
        .and("create_requirement", long("List todos"))
        .and("create_requirement", long("Tick a todo off"))
        .and("add_feature", todo::feature("Adding", &["REQ-001"]))
        .and("add_feature", todo::feature("Reading and ticking", &["REQ-002", "REQ-003"]));
    sandbox.script("prd", prd);
    let mut first = task(0);
    let files: Vec<String> =
        (0..60).map(|n| format!("lib/a/rather/deep/folder/part{n}.sh")).collect();
    let mut named = vec!["lib/store.sh".to_owned()];
    named.extend(files.iter().cloned());
    first["files_to_create"] = json!(named);
    let draft = Reply::call("save_plan_doc", json!({"content": "# Plan\n\nIn order.\n"}))
        .and("create_task", first);
    sandbox
        .script("plan", (1..5).fold(draft, |draft, index| draft.and("create_task", task(index))));
    let text = "echo\n".repeat(10);
    let work = files.iter().fold(task_work("TASK-001"), |work, path| {
        work.and("write_file", json!({"path": path, "content": text}))
    });
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), work);
    let much = "Everything that can be said of it is said here. ".repeat(90);
    let own = format!(
        "Add a todo list\n\n## Summary\n\n{much}\n\n```sh\n{}```\n",
        "todo add\n".repeat(50)
    );
    sandbox.script("delivery", Reply::call("save_delivery_report", json!({"content": own})));
    sandbox.auto(&[]).exits(0);
    let report = lines(&sandbox);
    // Thirty-five lines, and those that are about what it brings: criteria are never cut.
    let whole = report.join("\n");
    let criteria = whole.split("\n## Acceptance criteria\n\n").nth(1).unwrap();
    let criteria = criteria.split("\n\n## Changes\n").next().unwrap();
    let room = 35 + criteria.lines().count() + 4;
    assert!(report.len() <= room, "{} lines:\n{}", report.len(), report.join("\n"));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for n in 0..4 {
        let met = format!("{} (by review)", words(&criterion(n)));
        assert_eq!(words(criteria).matches(&met).count(), 3, "{criteria}");
    }
    for part in [
        " more\n- TASK-002 Add a todo: `lib/add.sh`",
        "All files: `git cowork diff todo --stat",
        "more: `git cowork diff todo --stat --without-artifacts`",
        "- **REQ-003 Tick a todo off**: FEAT-002",
        "more lines: see the transcript that `git cowork log -v` names",
        "\n## Checks\n\nNo test command is known, so nothing was run.",
    ] {
        assert!(whole.contains(part), "{part} in\n{whole}");
    }
    is_the_merges_message(&sandbox, &report);
}
