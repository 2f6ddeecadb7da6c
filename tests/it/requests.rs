//! What a request is spared: words, tools and commands that its role has no use for.

use serde_json::json;

use crate::support::{Reply, Sandbox, at};

/// The heading above the raw idea.
const IDEA: &str = "## The idea, as it was given";

#[test]
fn the_raw_idea_is_sent_until_the_prd_is_passed() {
    let sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    for (stage, role, has) in [
        ("idea", "actor", true),
        ("prd", "actor", true),
        ("prd", "critic", true),
        ("design", "actor", false),
        ("plan", "critic", false),
        ("coding", "actor", false),
        ("coding", "critic", false),
    ] {
        let text = sandbox.server.requests_of(stage, role)[0].text();
        assert_eq!(text.contains(IDEA), has, "{stage} {role}: {text}");
    }
}

#[test]
fn a_tool_that_repeats_another_is_answered_but_not_declared() {
    let sandbox = Sandbox::new();
    let reads = Reply::call("get_requirements", json!({})).and("load_plan_doc", json!({}));
    let passes = Reply::call("exit_loop", json!({"summary": "Whole."}));
    sandbox.server.sequence(at("plan", "critic"), vec![reads, passes]);
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let requests = sandbox.server.requests_of("plan", "critic");
    let declared = requests[0].tools();
    for tool in ["load_plan_doc", "get_plan", "get_design", "get_requirements", "goto_stage"] {
        assert!(!declared.iter().any(|name| name == tool), "{tool} in {declared:?}");
    }
    for tool in ["exit_loop", "read_file", "request_replanning"] {
        assert!(declared.iter().any(|name| name == tool), "{tool} not in {declared:?}");
    }
    let results = requests[1].tool_results();
    assert!(
        results[0].contains("\"REQ-001\"") && results[1].contains("### TASK-001"),
        "{results:?}"
    );
}

#[test]
fn a_document_that_was_cut_can_be_read_on() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "cowork.project.depth", "standard"]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let path = ".cowork/sessions/todo/idea.md";
    let long = format!("{}\n{}", sandbox.read(path), "One more thought.\n".repeat(2_000));
    sandbox.write(path, &long);
    sandbox.commit_all("think more");
    let reads = Reply::call("read_file", json!({"path": path, "offset": 2_000, "limit": 5}));
    sandbox.server.sequence(at("prd", "actor"), vec![reads]);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    let requests = sandbox.server.requests_of("prd", "actor");
    assert!(requests[0].text().contains("[cut here: "), "{}", requests[0].text());
    let results = requests[1].tool_results();
    assert!(results[0].contains("One more thought."), "{results:?}");
}

#[test]
fn a_change_of_code_begins_with_the_files_its_triage_named() {
    let sandbox = Sandbox::delivered();
    sandbox.server.forget();
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.cowork(&["modify", "Say that adding is quick", "--review", "auto"]).exits(0);
    let text = sandbox.server.requests_of("coding", "actor")[0].text();
    assert!(text.contains("## lib/add.sh (as it is now)"), "{text}");
    assert!(
        text.contains("## The change, as requested"),
        "nothing else says what is wanted: {text}"
    );
}
