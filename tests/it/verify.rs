//! `git cowork verify`: nothing to say about a good session, a line for each thing that does not
//! hold, and labels fixed on request. It reads what git has and leaves everything as it is.

use serde_json::Value;

use crate::support::Sandbox;

const DIR: &str = ".cowork/sessions/todo";

fn whole() -> Sandbox {
    Sandbox::delivered()
}

/// Every finding's code, once.
#[track_caller]
fn codes(sandbox: &Sandbox, code: i32) -> Vec<String> {
    let before = (sandbox.all_refs(), sandbox.git(&["status", "--porcelain"]));
    let found = sandbox.cowork(&["verify", "todo", "--json"]).exits(code).json_lines();
    assert_eq!((sandbox.all_refs(), sandbox.git(&["status", "--porcelain"])), before);
    for finding in &found {
        assert_eq!(finding["session"], "todo");
        assert!(finding["details"].as_str().is_some_and(|details| !details.is_empty()));
        assert!(finding["fixable"].is_boolean() && finding["about"].is_string(), "{finding}");
    }
    let mut codes: Vec<_> =
        found.iter().map(|f: &Value| f["code"].as_str().unwrap().to_owned()).collect();
    codes.dedup();
    codes
}

fn change(sandbox: &Sandbox, file: &str, from: &str, to: &str) {
    let path = format!("{DIR}/{file}");
    let text = sandbox.read(&path);
    assert!(text.contains(from), "{text}");
    sandbox.write(&path, &text.replacen(from, to, 1));
}

fn commit(sandbox: &Sandbox) {
    sandbox.git(&["commit", "-q", "-a", "-m", "by hand"]);
}

#[test]
fn a_good_session_has_no_findings_at_any_stage() {
    let sandbox = Sandbox::stopped_after("idea");
    for stage in crate::support::todo::STAGES {
        sandbox.cowork(&["resume", "--review", "auto", "--stop-after", stage]).exits(0);
        assert!(codes(&sandbox, 0).is_empty());
    }
    let said = sandbox.cowork(&["verify", "--all"]).exits(0).stdout;
    assert!(said.contains("todo: all is well"), "{said}");
    // Neither a revert nor a waiting draft is anything wrong.
    sandbox.cowork(&["revert", "--to", "design", "--review", "wait"]).exits(3);
    assert!(codes(&sandbox, 0).is_empty());
    sandbox.cowork(&["review", "--feedback", "shorter"]).exits(0);
    assert!(codes(&sandbox, 0).is_empty());
    sandbox.cowork(&["verify", "nowhere"]).exits(5);
}

#[test]
fn files_of_a_merged_session_may_change_later() {
    let sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    sandbox.cowork(&["merge"]).exits(0);
    sandbox.git(&["mv", "lib/store.sh", "lib/kept.sh"]);
    sandbox.git(&["rm", "-q", "lib/done.sh"]);
    sandbox.git(&["commit", "-qm", "the project goes on"]);
    let said = sandbox.cowork(&["verify"]).exits(0).stdout;
    assert!(said.contains("todo: all is well"), "{said}");
}

#[test]
fn what_was_approved_and_changed_since_is_said_here_and_in_status() {
    let sandbox = whole();
    sandbox.write(&format!("{DIR}/prd.md"), "not committed\n");
    assert_eq!(codes(&sandbox, 0), ["uncommitted-edit"], "it is named, and is not wrong");
    sandbox.git(&["checkout", "-q", "--", "."]);
    change(&sandbox, "prd.md", "REQ-001 Add a todo", "REQ-001 Add a todo, or two");
    commit(&sandbox);
    assert_eq!(codes(&sandbox, 1), ["records-differ", "changed-after-approval"]);
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("prd.md is not what was approved with prd"), "{status}");
    // An amend of the stage's own commit is seen as well, and code that came later.
    let sandbox = Sandbox::stopped_after("idea");
    change(&sandbox, "idea.md", "Notes get lost", "Notes got lost");
    sandbox.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    let found = codes(&sandbox, 1);
    assert!(found.contains(&"changed-after-approval".to_owned()), "{found:?}");
    let sandbox = whole();
    sandbox.write("lib/add.sh", "# something else\n");
    commit(&sandbox);
    let said = sandbox.cowork(&["verify"]).exits(1).stdout;
    assert!(said.contains("lib/add.sh") && said.contains("changed-after-approval"), "{said}");
}

/// What the one finding about `file` suggests, as shell commands by what they are for.
#[track_caller]
fn ways(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let found = sandbox.cowork(&["verify", "todo", "--json"]).exits(1).json_lines();
    let about = |f: &&Value| f["about"].as_str().is_some_and(|about| about.ends_with(file));
    let found = found.iter().find(about).unwrap();
    assert_eq!(found["code"], "changed-after-approval");
    found["suggested_fix"].as_str().unwrap().split("; ").map(str::to_owned).collect()
}

#[test]
fn the_stage_that_owns_a_changed_artifact_and_both_ways_out_are_named() {
    let by_hand = |sandbox: &Sandbox, file: &str| {
        let ways = ways(sandbox, file);
        assert_eq!(ways.len(), 4, "{ways:?}");
        assert!(ways[2].contains(" as it is now: git cowork review todo --stage "), "{ways:?}");
        let look = ways[0].strip_prefix("compare: git ").unwrap();
        assert!(sandbox.git(&look.split(' ').collect::<Vec<_>>()).contains("diff --git"));
        let back = ways[1].strip_prefix("restore the approved version: ").unwrap().to_owned();
        let outcome = sandbox.command("sh").args(["-c", &back]).status().unwrap();
        assert!(outcome.success(), "{back}");
        assert!(codes(sandbox, 0).is_empty(), "{back}");
        ways[3].clone()
    };
    let sandbox = whole();
    change(&sandbox, "design.md", "COMP-001", "COMP-001, the first,");
    commit(&sandbox);
    let again = by_hand(&sandbox, "design.md");
    assert!(again.ends_with("git cowork revert todo --to design"), "{again}");
    // Code that was changed, and code that came later.
    sandbox.write("lib/add.sh", "# something else\n");
    commit(&sandbox);
    assert!(by_hand(&sandbox, "lib/add.sh").ends_with("--to coding"));
    sandbox.write("lib/more.sh", "# more\n");
    sandbox.commit_all("more");
    by_hand(&sandbox, "lib/more.sh");
    // An amend of the commit that says what was approved.
    let sandbox = Sandbox::stopped_after("idea");
    change(&sandbox, "idea.md", "Notes get lost", "Notes got lost");
    sandbox.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    let suggested = ways(&sandbox, "idea.md");
    assert!(suggested[1].contains("git show ") && suggested.len() == 4, "{suggested:?}");
    // The other way out works, too.
    let again = suggested[3].rsplit_once(": git cowork ").unwrap().1;
    let args: Vec<&str> = again.split(' ').chain(["--review", "auto"]).collect();
    sandbox.cowork(&args).exits(0);
    assert!(codes(&sandbox, 0).is_empty());
}

#[test]
fn labels_are_checked_and_rebuilt() {
    let sandbox = whole();
    let tags = sandbox.git(&["for-each-ref", "refs/tags"]);
    sandbox.git(&["tag", "-d", "cowork/todo/prd"]);
    let other = sandbox.git(&["commit-tree", "-m", "precious", "HEAD^{tree}"]);
    sandbox.git(&["tag", "-f", "cowork/todo/design", &other]);
    assert_eq!(codes(&sandbox, 1), ["tag-elsewhere", "tag-missing"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["verify", "todo", "--fix"]).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    assert_eq!(sandbox.git(&["rev-parse", "cowork/todo"]), head);
    assert_eq!(sandbox.git(&["for-each-ref", "refs/tags"]), tags);
    // What the wrong tag kept alive is kept.
    assert_eq!(sandbox.git(&["rev-parse", "refs/cowork/attempts/todo/1"]), other);
    assert!(codes(&sandbox, 0).is_empty());
    // A clone that never ran it has no tags, and needs none.
    let mut clone = whole();
    clone.git(&["clone", "-q", "--no-tags", ".", "../clone"]);
    clone.enter("../clone");
    clone.cowork(&["verify", "todo"]).exits(0);
}

#[test]
fn labels_that_the_next_resume_makes_are_no_finding_where_the_work_was_done_elsewhere() {
    let mut sandbox = Sandbox::stopped_after("prd");
    sandbox.git(&["init", "-q", "--bare", "../hub.git"]);
    sandbox.git(&["remote", "add", "origin", "../hub.git"]);
    sandbox.git(&["push", "-q", "-u", "origin", "main", "cowork/todo"]);
    sandbox.git(&["clone", "-q", "-b", "cowork/todo", "../hub.git", "../second"]);
    let first = sandbox.repo();
    sandbox.enter("../second");
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    sandbox.git(&["push", "-q"]);
    sandbox.enter(first);
    sandbox.git(&["pull", "-q", "--ff-only"]);
    assert!(codes(&sandbox, 0).is_empty());
    // What was made here and lost its label is still said.
    sandbox.git(&["tag", "-d", "cowork/todo/prd"]);
    assert_eq!(codes(&sandbox, 1), ["tag-missing"]);
    // It is nothing that a push would carry.
    sandbox.cowork(&["init", "--hooks"]).exits(0);
    sandbox.commit_file("README.md", "# Mine\n", "mine");
    sandbox.git(&["push", "-q"]);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
    assert!(codes(&sandbox, 0).is_empty());
    assert!(sandbox.refs("refs/tags/cowork/todo").contains(&"refs/tags/cowork/todo/design".into()));
    let help = sandbox.cowork(&["verify", "--help"]).exits(0).stdout;
    assert!(help.contains("enumber ids"), "{help}");
}

#[test]
fn drafts_nobody_can_take_up_are_named_and_put_away() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.times(
        1,
        crate::support::at("prd", "critic"),
        crate::support::Reply::status(401, "no"),
    );
    sandbox.cowork(&["resume", "--review", "auto"]).exits(4);
    assert!(codes(&sandbox, 0).is_empty());
    let draft = sandbox.git(&["rev-parse", "refs/cowork/drafts/todo/prd"]);
    sandbox.git(&["commit", "-q", "--amend", "--no-edit", "--date=2001-01-01T00:00:00"]);
    let found = codes(&sandbox, 1);
    assert!(found.contains(&"stale-draft".to_owned()), "{found:?}");
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    assert!(
        !sandbox.refs("refs/cowork/drafts").contains(&"refs/cowork/drafts/todo/prd".to_owned())
    );
    let kept = sandbox.git(&["for-each-ref", "--format=%(objectname)", "refs/cowork/attempts"]);
    assert!(kept.contains(&draft), "{kept}");
}

#[test]
fn documents_are_held_to_schemas_limits_coverage_and_order() {
    let cases = [
        ("requirements.json", "\"requirements\"", "\"requirements", "schema"),
        ("design.md", "COMP-002", "COMP-009", "unknown-id-in-document"),
        ("implementation_plan.json", "\"FEAT-002\"", "\"FEAT-009\"", "untraced-task"),
        ("implementation_plan.json", "\"TASK-002\"", "\"TASK-001\"", "duplicate-id"),
    ];
    for (file, from, to, code) in cases {
        let sandbox = Sandbox::stopped_after("plan");
        change(&sandbox, file, from, to);
        commit(&sandbox);
        let found = codes(&sandbox, 1);
        assert!(found.iter().any(|found| found == code), "{file}: {code} is not in {found:?}");
    }
    let sandbox = Sandbox::stopped_after("plan");
    let plan = format!("{DIR}/implementation_plan.json");
    let mut json: Value = serde_json::from_str(&sandbox.read(&plan)).unwrap();
    json["tasks"][0]["dependencies"] = serde_json::json!(["TASK-005"]);
    sandbox.write(&plan, &format!("{json:#}\n"));
    commit(&sandbox);
    let found = codes(&sandbox, 1);
    assert!(found.contains(&"dependency-cycle".to_owned()), "{found:?}");
    sandbox.git(&["config", "cowork.limits.tasks", "[1, 4]"]);
    let found = sandbox.cowork(&["verify", "todo", "--json"]).exits(1).stdout;
    assert!(found.contains("task-count"), "{found}");
}

#[test]
fn history_is_held_to_well_formed_trailers_in_order() {
    let sandbox = whole();
    let id = sandbox.trailers("HEAD")["Cowork-Session-Id"][0].clone();
    let message = |trailers: &str| {
        format!("by hand\n\nCowork-Session: todo\nCowork-Session-Id: {id}\n{trailers}\n")
    };
    let cases = [
        ("Cowork-Stage: cooking", "trailer"),
        ("Cowork-Stage: prd\nCowork-Iterations: many", "trailer"),
        ("Cowork-Stage: prd\nCowork-Review: auto", "order"),
        ("Cowork-Event: review\nCowork-Stage: prd\nCowork-Review: passed", "order"),
        ("Cowork-Task: TASK-001\nCowork-Feature: FEAT-001", "order"),
        ("and a word among them", "trailer"),
    ];
    for (trailers, code) in cases {
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", &message(trailers)]);
        let found = codes(&sandbox, 1);
        assert!(found.iter().any(|found| found == code), "{trailers}: {found:?}");
        sandbox.git(&["reset", "-q", "--hard", "HEAD^"]);
    }
    assert!(codes(&sandbox, 0).is_empty());
}
