//! `git cowork merge`: into the base branch, with the report as message, or not at all.

use crate::support::todo::DELIVERY;
use crate::support::{Reply, Sandbox, at, todo};

const DIR: &str = ".cowork/sessions/todo/";

/// A delivered session, whose requests are not counted.
fn delivered() -> Sandbox {
    let sandbox = Sandbox::delivered();
    sandbox.server.forget();
    sandbox
}

fn state(sandbox: &Sandbox) -> String {
    let status = sandbox.cowork(&["status", "todo", "--json"]).exits(0).json();
    status["state"].as_str().unwrap().to_owned()
}

fn here(sandbox: &Sandbox) -> String {
    sandbox.git(&["symbolic-ref", "--short", "HEAD"])
}

/// Everything a refused merge must leave as it was.
fn all(sandbox: &Sandbox) -> String {
    let status = sandbox.git(&["status", "--porcelain", "--untracked-files=all"]);
    format!("{}\n{status}\n{}", here(sandbox), sandbox.all_refs())
}

/// A tree's entries outside of `.cowork`.
fn code(sandbox: &Sandbox, commit: &str) -> Vec<String> {
    let tree = sandbox.tree(commit);
    tree.lines().filter(|line| !line.contains(".cowork/")).map(str::to_owned).collect()
}

#[test]
fn a_dry_run_says_what_a_merge_would_do_and_does_nothing() {
    let sandbox = delivered();
    let before = all(&sandbox);
    let told = sandbox.cowork(&["merge", "--dry-run"]).exits(0).says("cowork/todo would be merged");
    let outside = format!(":!{DIR}");
    let files = sandbox.git(&["diff", "--name-only", "main", "cowork/todo", "--", &outside]);
    let files = format!("into main: {} files", files.lines().count());
    sandbox.cowork(&["merge", "--dry-run", "--without-artifacts"]).exits(0).says(&files);
    assert_eq!(all(&sandbox), before);
    sandbox.cowork(&["merge"]).exits(0);
    assert_eq!(told.stdout.trim_end(), sandbox.git(&["log", "-1", "--format=%B"]).trim_end());

    let sandbox = delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("lib/add.sh", "something else\n", "another add");
    let before = all(&sandbox);
    let told = sandbox.cowork(&["merge", "todo", "--dry-run"]).exits(5);
    assert!(told.stderr.contains("conflicts in lib/add.sh") && told.stdout.is_empty());
    assert_eq!(all(&sandbox), before);
}

#[test]
fn the_report_is_the_message_and_all_ends_on_the_base() {
    let sandbox = delivered();
    let tip = sandbox.git(&["rev-parse", "cowork/todo"]);
    let main = sandbox.git(&["rev-parse", "main"]);
    assert_eq!(state(&sandbox), "completed");
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("git cowork merge todo"), "{status}");
    sandbox.cowork(&["merge"]).exits(0).says("merged into main").says("nothing was pushed");
    assert_eq!(here(&sandbox), "main");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%P"]), format!("{main} {tip}"));
    assert_eq!(sandbox.tree("main"), sandbox.tree(&tip), "merging changes no artifact");
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    let mut lines = message.lines();
    assert_eq!(lines.next(), DELIVERY.lines().next());
    for said in ["## Summary", "A todo list of five small shell files.", "## Changes", "## Checks"]
    {
        assert!(message.contains(said), "{said} in\n{message}");
    }
    let trailers = sandbox.trailers("HEAD");
    assert_eq!(trailers["Cowork-Session"], ["todo"]);
    assert_eq!(trailers["Cowork-Event"], ["merge"]);
    assert_eq!(trailers["Cowork-Tip"], [tip.as_str()]);
    assert_eq!(trailers["Cowork-Depth"], ["thorough"]);
    assert_eq!(trailers["Assisted-by"], ["git-cowork:scripted-1"]);
    assert!(trailers["Cowork-Tokens"][0].starts_with("in="));
    assert_eq!(state(&sandbox), "merged");
    let list = sandbox.cowork(&["list", "--json"]).exits(0).json();
    assert_eq!(list["state"], "merged");
    sandbox.cowork(&["merge", "todo"]).exits(0).says("already");
    sandbox.cowork(&["merge"]).exits(5).says("no delivered session");
    sandbox.server.forget();
    sandbox.cowork(&["resume", "todo", "--review", "auto"]).exits(0);
    assert!(sandbox.server.requests().is_empty());
    assert_eq!(sandbox.git(&["rev-parse", "cowork/todo"]), tip);
    sandbox.assert_sound();
}

#[test]
fn the_newest_delivered_session_is_meant_and_json_says_what_was_done() {
    let sandbox = delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("mine.txt", "mine\n", "meanwhile");
    let outcome = sandbox.cowork(&["merge", "--json"]).exits(0);
    let said = outcome.json();
    assert_eq!((&said["session"], &said["branch"]), (&"todo".into(), &"main".into()));
    assert_eq!(said["commit"], sandbox.git(&["rev-parse", "main"]));
    assert!(sandbox.exists("mine.txt") && sandbox.exists("todo.sh"));
    sandbox.assert_sound();
}

#[test]
fn a_conflict_is_named_and_changes_nothing_until_it_is_solved() {
    for without in [false, true] {
        let sandbox = delivered();
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.commit_file("todo.sh", "another program\n", "theirs");
        sandbox.git(&["switch", "-q", "cowork/todo"]);
        sandbox.write("notes.txt", "mine\n");
        let before = all(&sandbox);
        let args: &[&str] = if without { &["merge", "--without-artifacts"] } else { &["merge"] };
        let refused = sandbox.cowork(args).exits(5);
        refused.says("conflicts in todo.sh").says("git merge main").says("git rebase main");
        assert_eq!(all(&sandbox), before);
        assert!(sandbox.git_fails(&["rev-parse", "-q", "--verify", "MERGE_HEAD"]));
        assert!(sandbox.git_fails(&["merge", "main"]));
        sandbox.git(&["checkout", "--ours", "todo.sh"]);
        sandbox.git(&["add", "todo.sh"]);
        sandbox.git(&["commit", "-q", "--no-edit"]);
        sandbox.cowork(args).exits(0);
        assert_eq!(code(&sandbox, "main"), code(&sandbox, "cowork/todo"));
        assert_eq!(sandbox.git(&["ls-tree", "main", "--", DIR]).is_empty(), without);
        assert_eq!(state(&sandbox), "merged");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? notes.txt");
    }
}

#[test]
fn uncommitted_work_in_the_way_is_named_and_other_work_stays() {
    let sandbox = delivered();
    sandbox.write("README.md", "# Mine\n");
    sandbox.write("notes.txt", "mine\n");
    sandbox.write("todo.sh", "mine\n");
    let before = all(&sandbox);
    sandbox.cowork(&["merge"]).exits(5).says("in the way").says("todo.sh").says("git stash");
    assert_eq!(all(&sandbox), before);
    sandbox.git(&["checkout", "-q", "todo.sh"]);
    sandbox.git(&["add", "README.md"]);
    sandbox.cowork(&["merge"]).exits(5).says("README.md");
    sandbox.git(&["reset", "-q"]);
    // Files the merge brings, untracked or ignored where it brings them.
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("todo.sh", "untracked\n");
    sandbox.write("lib/add.sh", "ignored\n");
    sandbox.write(".git/info/exclude", "lib/\n");
    let refused = sandbox.cowork(&["merge", "todo"]).exits(5);
    refused.says("lib/add.sh, todo.sh");
    assert_eq!(sandbox.read("lib/add.sh"), "ignored\n");
    std::fs::remove_file(sandbox.path("todo.sh")).unwrap();
    std::fs::remove_file(sandbox.path("lib/add.sh")).unwrap();
    sandbox.cowork(&["merge", "todo"]).exits(0);
    assert_eq!(sandbox.read("README.md"), "# Mine\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M README.md\n?? notes.txt");
}

#[test]
fn what_is_not_ready_is_refused_with_the_way_on() {
    let sandbox = Sandbox::stopped_after("prd");
    let before = all(&sandbox);
    sandbox.cowork(&["merge"]).exits(5).says("design is next").says("git cowork resume todo");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    sandbox.cowork(&["merge"]).exits(5).says("waits for review").says("git cowork review todo");
    sandbox.git(&["reset", "-q", "--keep", "HEAD^"]);
    assert_eq!(all(&sandbox).lines().next(), before.lines().next());
    sandbox.cowork(&["merge", "nobody"]).exits(5).says("no session 'nobody'");
}

#[test]
fn a_base_that_is_busy_or_gone_is_said() {
    let sandbox = delivered();
    sandbox.git(&["worktree", "add", "-q", "../elsewhere", "main"]);
    let refused = sandbox.cowork(&["merge"]).exits(5);
    refused.says("main is checked out in").says("elsewhere && git cowork merge todo");
    sandbox.git(&["worktree", "remove", "../elsewhere"]);
    sandbox.git(&["branch", "-q", "-m", "main", "trunk"]);
    sandbox.cowork(&["merge"]).exits(5).says("no branch main").says("--into");
    sandbox.git(&["switch", "-q", "trunk"]);
    sandbox.git(&["switch", "-q", "-c", "release"]);
    sandbox.commit_file("README.md", "# Release\n", "release");
    sandbox.git(&["switch", "-q", "-c", "topic", "trunk"]);
    sandbox.commit_file("README.md", "# Topic\n", "topic");
    assert!(sandbox.git_fails(&["merge", "release"]));
    sandbox.cowork(&["merge", "todo", "--into", "trunk"]).exits(5).says("merge is in progress");
    sandbox.git(&["merge", "--abort"]);
    sandbox.cowork(&["merge", "todo", "--into", "trunk"]).exits(0).says("merged into trunk");
    assert_eq!(here(&sandbox), "trunk");
    assert_eq!(state(&sandbox), "merged", "wherever it was merged");
    sandbox.assert_sound();
}

#[test]
fn a_session_in_a_working_tree_of_its_own_is_merged_from_the_main_one() {
    let mut sandbox = Sandbox::new();
    sandbox.auto(&["--worktree"]).exits(0);
    let list = sandbox.git(&["worktree", "list", "--porcelain"]);
    let linked = list.lines().filter_map(|line| line.strip_prefix("worktree ")).nth(1).unwrap();
    let linked = linked.to_owned();
    sandbox.enter(&linked);
    sandbox.cowork(&["merge"]).exits(5).says("checked out in");
    let repo = sandbox.repo();
    sandbox.enter(&repo);
    sandbox.cowork(&["merge"]).exits(0);
    assert!(sandbox.exists("todo.sh"));
    sandbox.assert_sound();
}

#[test]
fn hooks_may_refuse_and_then_nothing_has_changed() {
    let sandbox = delivered();
    let before = all(&sandbox);
    for (hook, args) in [
        ("pre-merge-commit", &["merge"][..]),
        ("commit-msg", &["merge"]),
        ("pre-commit", &["merge", "--without-artifacts"]),
        ("commit-msg", &["merge", "--without-artifacts"]),
    ] {
        sandbox.hook(hook, "echo not on a Friday >&2; exit 1");
        sandbox
            .cowork(args)
            .exits(5)
            .says(hook)
            .says("not on a Friday")
            .says("nothing has changed");
        let after = all(&sandbox);
        let kept = |line: &&str| !line.starts_with("refs/cowork/archive/");
        assert!(after.lines().filter(kept).eq(before.lines()), "{hook}: {after}");
        std::fs::remove_file(sandbox.path(".git/hooks").join(hook)).unwrap();
    }
    // One that takes the trailers out would make the session look as if it were not merged.
    sandbox.hook("commit-msg", "sed -i /^Cowork/d \"$1\"");
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(5).says("trailers");
    assert_eq!(here(&sandbox), "cowork/todo");
    std::fs::remove_file(sandbox.path(".git/hooks/commit-msg")).unwrap();
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn the_users_configuration_about_merges_does_not_change_what_it_is() {
    let sandbox = delivered();
    sandbox.git(&["config", "merge.ff", "only"]);
    sandbox.git(&["config", "merge.log", "true"]);
    sandbox.git(&["config", "merge.autoStash", "true"]);
    sandbox.git(&["config", "branch.main.mergeOptions", "--squash"]);
    sandbox.git(&["config", "format.signOff", "true"]);
    sandbox.cowork(&["merge"]).exits(0);
    let trailers = sandbox.trailers("main");
    assert_eq!(trailers["Cowork-Event"], ["merge"]);
    assert_eq!(trailers["Signed-off-by"], ["Ana Example <ana@example.org>"]);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%P"]).split(' ').count(), 2);
}

#[test]
fn without_artifacts_the_code_is_that_of_the_merge() {
    let sandbox = delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("README.md", "# Meanwhile\n", "meanwhile");
    sandbox.git(&["mv", "README.md", "READ.md"]);
    sandbox.git(&["commit", "-q", "-m", "rename"]);
    let main = sandbox.git(&["rev-parse", "main"]);
    let whole = sandbox.fork();
    whole.cowork(&["merge", "todo"]).exits(0);
    let done = sandbox.cowork(&["merge", "todo", "--without-artifacts"]).exits(0);
    done.says("its artifacts stay in cowork/todo");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%P", "main"]), main, "one commit");
    assert_eq!(sandbox.tree("main").lines().collect::<Vec<_>>(), code(&whole, "main"));
    assert!(sandbox.git(&["ls-tree", "-r", "main", "--", ".cowork/sessions"]).is_empty());
    assert_eq!(sandbox.trailers("main")["Cowork-Event"], ["merge"]);
    assert_eq!(sandbox.trailers("main"), whole.trailers("main"));
    assert_eq!(state(&sandbox), "merged");
    sandbox.cowork(&["merge", "todo", "--without-artifacts"]).exits(0).says("already");
    sandbox.cowork(&["merge", "todo"]).exits(0).says("already");
    sandbox.assert_sound();
    // Who deletes the branch, as one does, has lost nothing.
    sandbox.git(&["branch", "-q", "-D", "cowork/todo"]);
    assert_eq!(sandbox.cowork(&["list", "--all", "--json"]).exits(0).json()["state"], "archived");
    sandbox.cowork(&["restore", "todo"]).exits(0);
    assert_eq!(state(&sandbox), "merged");
    sandbox.cowork(&["archive", "todo"]).exits(0);
    sandbox.cowork(&["restore", "todo"]).exits(0);
    sandbox.cowork(&["merge", "todo", "--without-artifacts"]).exits(0).says("already");
}

#[test]
fn what_came_after_a_merge_without_artifacts_is_merged_on_its_own() {
    let sandbox = delivered();
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(0);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.commit_file("todo.sh", "echo a person was here\n", "by hand");
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(0);
    assert_eq!(sandbox.git(&["diff", "--name-only", "main^", "main"]), "todo.sh");
    assert_eq!(code(&sandbox, "main"), code(&sandbox, "cowork/todo"));
    let tip = sandbox.git(&["rev-parse", "cowork/todo"]);
    assert_eq!(sandbox.git(&["rev-parse", "refs/cowork/archive/todo"]), tip);
    sandbox.assert_sound();
}

#[test]
fn squashes_and_rebases_by_others_count_as_merged() {
    let sandbox = delivered();
    // As git does it by hand.
    let by_hand = sandbox.fork();
    by_hand.git(&["switch", "-q", "main"]);
    by_hand.git(&["merge", "-q", "--squash", "cowork/todo"]);
    by_hand.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(state(&by_hand), "merged");
    by_hand.cowork(&["merge", "todo"]).exits(0).says("already");
    // As a forge does it with the commits' messages, and only a remote knows so far.
    let forge = sandbox.fork();
    let messages = forge.git(&["log", "--reverse", "--format=* %B", "main..cowork/todo"]);
    let tree = forge.git(&["rev-parse", "cowork/todo^{tree}"]);
    let message = format!("Add todos (#1)\n\n{messages}\n\nCo-authored-by: Bo <bo@example.org>");
    let squash = forge.git(&["commit-tree", "-p", "main", "-m", &message, &tree]);
    forge.git(&["update-ref", "refs/remotes/origin/main", &squash]);
    assert_eq!(state(&forge), "merged");
    // Replayed, commit by commit, on a base that went on.
    let replayed = sandbox.fork();
    replayed.git(&["switch", "-q", "main"]);
    replayed.commit_file("more.txt", "more\n", "meanwhile");
    replayed.git(&["switch", "-q", "-c", "copy", "cowork/todo"]);
    replayed.git(&["rebase", "-q", "main"]);
    replayed.git(&["switch", "-q", "main"]);
    replayed.git(&["merge", "-q", "--ff-only", "copy"]);
    replayed.git(&["branch", "-q", "-D", "copy"]);
    assert_eq!(state(&replayed), "merged");
    // A branch that is no base and only has the commits says nothing.
    sandbox.git(&["branch", "backup", "cowork/todo"]);
    assert_eq!(state(&sandbox), "completed");
}

#[test]
fn whenever_it_is_killed_the_next_merge_ends_it() {
    let sandbox = delivered();
    let whole = sandbox.fork();
    whole.cowork(&["merge"]).exits(0);
    for (point, args) in [
        ("merge.before-merge", &["merge", "todo"][..]),
        ("merge.after-merge", &["merge", "todo"]),
        ("merge.after-keep", &["merge", "todo", "--without-artifacts"]),
        ("merge.before-commit", &["merge", "todo", "--without-artifacts"]),
        ("merge.after-commit", &["merge", "todo", "--without-artifacts"]),
    ] {
        let mut killed = sandbox.fork();
        killed.write("notes.txt", "mine\n");
        killed.set_env("COWORK_TEST_ABORT_AT", point);
        killed.cowork(args).was_killed();
        killed.set_env("COWORK_TEST_ABORT_AT", "");
        killed.cowork(args).exits(0);
        assert_eq!(code(&killed, "main"), code(&whole, "main"), "{point}");
        let merges = killed.git(&["log", "--first-parent", "--format=%s", "main"]);
        assert_eq!(merges.lines().count(), 2, "{point}: {merges}");
        assert_eq!(killed.git(&["status", "--porcelain"]), "?? notes.txt", "{point}");
        assert_eq!(state(&killed), "merged", "{point}");
        killed.git(&["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn hostile_markdown_in_the_report_stays_text() {
    let sandbox = Sandbox::new();
    let report = "# Add a todo list\n\n## Summary\nWell.\n\n---\n\ndiff --git a/x b/x\n\n# ---- >8 ----\n\nNote: all\nCowork-Session-Id: someone-else\nCowork-Event: start";
    sandbox.server.on(
        at("delivery", "actor").turn(1),
        Reply::call("save_delivery_report", serde_json::json!({ "content": report })),
    );
    sandbox.auto(&[]).exits(0);
    sandbox.cowork(&["merge"]).exits(0);
    let trailers = sandbox.trailers("main");
    assert_eq!(trailers["Cowork-Session"], ["todo"]);
    assert_eq!(trailers["Cowork-Event"], ["merge"]);
    assert_eq!(trailers["Cowork-Session-Id"].len(), 1);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "Add a todo list");
    assert_eq!(state(&sandbox), "merged");
}

#[test]
fn a_change_is_merged_into_what_it_changes_or_where_that_went() {
    let sandbox = delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    let modify = ["modify", "Say that adding is quick", "-n", "quick", "--review", "auto"];
    sandbox.cowork(&modify).exits(0);
    // The parent goes first.
    let after = sandbox.fork();
    after.cowork(&["merge", "todo"]).exits(0).says("merged into main");
    after.cowork(&["merge", "todo--quick"]).exits(0).says("merged into main");
    assert!(after.read("lib/add.sh").contains("at once"));
    after.assert_sound();
    // Or the change does.
    sandbox.cowork(&["merge"]).exits(0).says("todo--quick is merged into cowork/todo");
    assert_eq!(here(&sandbox), "cowork/todo");
    assert_eq!(state(&sandbox), "completed");
    sandbox.cowork(&["merge"]).exits(0).says("todo is merged into main");
    let list = sandbox.cowork(&["list", "--json"]).exits(0).json_lines();
    assert!(list.iter().all(|session| session["state"] == "merged"), "{list:?}");
    assert_eq!(code(&sandbox, "main"), code(&after, "main"));
    sandbox.assert_sound();
}

#[test]
fn a_change_to_what_was_merged_without_artifacts_finds_them_and_leaves_them_out_again() {
    let sandbox = delivered();
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(0);
    sandbox.git(&["branch", "-q", "-D", "cowork/todo"]);
    sandbox.script_small_change("lib/add.sh", "at once");
    let modify = ["modify", "Say that adding is quick", "--session", "todo", "-n", "quick"];
    sandbox.cowork(&[&modify[..], &["--review", "auto"]].concat()).exits(0);
    assert!(sandbox.exists(&format!("{DIR}prd.md")));
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(0).says("merged into main");
    assert_eq!(sandbox.git(&["diff", "--name-only", "main^", "main"]), "lib/add.sh");
    assert!(sandbox.git(&["ls-tree", "-r", "main", "--", DIR]).is_empty());
    sandbox.assert_sound();
}

#[test]
fn the_report_tells_what_the_program_knows_for_certain() {
    let sandbox = Sandbox::new();
    sandbox.server.times(1, at("prd", "critic").iteration(1), todo::reject("REQ-002 is | vague"));
    sandbox.auto(&[]).exits(0);
    let report = sandbox.cowork(&["show", "report"]).exits(0).stdout;
    let headings: Vec<&str> = report.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(
        headings,
        [
            "## Summary",
            "## Scope",
            "## Testing",
            "## Acceptance criteria",
            "## Changes",
            "## Checks",
            "## Rejected on the way",
        ]
    );
    for line in [
        "- TASK-002 Add a todo: `lib/add.sh`",
        "- prd, by the critic: REQ-002 is \\| vague",
        "- **REQ-001 Add a todo**: FEAT-001 verified by the check: TASK-001, TASK-002, TASK-005",
        "Judged in review by the critic; no person approved the code.",
    ] {
        assert!(report.contains(&format!("\n{line}\n")), "{line} in\n{report}");
    }
    assert!(!report.contains("graph LR") && !report.contains("`todo.sh` and"), "{report}");
    sandbox.cowork(&["verify"]).exits(0);
}
