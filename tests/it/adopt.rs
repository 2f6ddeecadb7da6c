//! `git cowork adopt BRANCH`: a branch of plain commits becomes a session, is checked, delivered, merged.

use serde_json::Value;

use crate::support::sandbox::Outcome;
use crate::support::todo::reject;
use crate::support::{Reply, Sandbox, at};

/// A branch of ten commits with one file each, while `main` is checked out and has gone on.
fn ten() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-qc", "feature/todo-list"]);
    for number in 1..=10 {
        let message = format!("Write part {number}\n\nBecause part {number} was missing.");
        let text = format!("# part {number}\necho {number}\n");
        sandbox.commit_file(&format!("lib/part{number}.sh"), &text, &message);
    }
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("news.txt", "news\n", "news");
    sandbox
}

#[track_caller]
fn adopt(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    sandbox.cowork(&[&["adopt", "feature/todo-list"], more].concat())
}

fn json_of(sandbox: &Sandbox, commit: &str, name: &str) -> Value {
    let path = format!(".cowork/sessions/todo-list/{name}");
    serde_json::from_str(&sandbox.blob(commit, &path)).unwrap()
}

#[test]
fn ten_plain_commits_are_adopted_delivered_and_merged() {
    let sandbox = ten();
    let branch = sandbox.git(&["rev-parse", "feature/todo-list"]);
    let commits = sandbox.git(&["rev-list", "--reverse", "main..feature/todo-list"]);
    let commits: Vec<&str> = commits.lines().collect();
    adopt(&sandbox, &["--review", "wait"])
        .exits(3)
        .says("Adopted from feature/todo-list: 10 commits by Ana Example\n")
        .says(
            "draft 1 of the plan has 10 tasks made from these commits; feature/todo-list is not changed\n",
        );
    assert!(sandbox.server.requests().is_empty() && sandbox.server.first_requests().is_empty());
    let plan = sandbox.blob("HEAD", ".cowork/sessions/todo-list/plan.md");
    for words in [
        "# todo list\n\nAdopted from feature/todo-list: 10 commits by Ana Example.",
        "### REQ-001 todo list\n\n`medium` `functional`\n",
        "- Write part 1\n- Write part 2\n",
        "### TASK-010 Write part 10\n\n`FEAT-001` `REQ-001` `lib/part10.sh`\n",
        "Because part 10 was missing.",
    ] {
        assert!(plan.contains(words), "{words}\n---\n{plan}");
    }
    let file = json_of(&sandbox, "HEAD", "session.json");
    assert_eq!(file["origin"]["kind"], "branch");
    assert_eq!(file["origin"]["adopted"][2]["task"], "TASK-003");
    assert_eq!(file["origin"]["adopted"][2]["commits"][0], commits[2]);
    assert_eq!(file["base"]["branch"], "main");
    assert_eq!(file["base"]["commit"], sandbox.git(&["merge-base", "main", &branch]));

    sandbox.cowork(&["review", "--pass"]).exits(0);
    // Coding waits with all its tasks done: the person sees the whole code.
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    assert!(sandbox.server.requests().is_empty(), "no code is asked for");
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("10 of 10 tasks"), "{status}");
    let shown = sandbox.cowork(&["diff", "--stat"]).exits(0).stdout;
    assert!(shown.contains("lib/part1.sh") && shown.contains("lib/part10.sh"), "{shown}");
    assert!(!shown.contains("news.txt"), "{shown}");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let critic = sandbox.server.requests_of("coding", "critic");
    assert_eq!(critic.len(), 1);
    assert!(critic[0].text().contains("echo 7"), "{}", critic[0].text());
    assert_eq!(sandbox.server.requests().len(), 1, "only the critic was asked");

    let stages = sandbox.stages("main..cowork/todo-list");
    let ours: Vec<&str> =
        stages.iter().map(String::as_str).filter(|stage| !stage.starts_with("Write")).collect();
    assert_eq!((ours.first(), ours.last()), (Some(&"start"), Some(&"delivery")), "{stages:?}");
    let coding = sandbox.commit_of("cowork/todo-list", "coding: ");
    let subject = sandbox.git(&["log", "-1", "--format=%s", &coding]);
    assert_eq!(subject, "coding: 10 of 10 tasks, 10 files");
    // The commits are the very same.
    let after = sandbox.git(&["rev-list", "--reverse", "main..cowork/todo-list"]);
    assert_eq!(after.lines().take(10).collect::<Vec<_>>(), commits);
    assert_eq!(sandbox.git(&["rev-parse", "feature/todo-list"]), branch);
    let features = json_of(&sandbox, "cowork/todo-list", "feature_list.json");
    assert_eq!(features["features"][0]["status"], "delivered");
    let report = sandbox.read(".cowork/sessions/todo-list/delivery_report.md");
    assert!(report.contains("10 files: 20 lines added, 0 removed."), "{report}");
    assert!(report.contains("\n- TASK-003 Write part 3: `lib/part3.sh`\n"), "{report}");
    let page = sandbox.cowork(&["show", "--web", "-o", "-"]).exits(0).stdout;
    let changes = page.split("Changes by task</h2>").nth(1).unwrap();
    assert!(changes.contains("TASK-003 Write part 3"), "{changes}");

    for command in
        [&["verify"][..], &["log"], &["log", "--graph"], &["show", "plan"], &["list", "--all"]]
    {
        sandbox.cowork(command).exits(0);
    }
    let log = sandbox.cowork(&["log", "--json"]).exits(0).json_lines();
    let step = log.iter().find(|step| step["task"] == "TASK-003").unwrap();
    assert_eq!((&step["event"], &step["commit"]), (&"commit_adopted".into(), &commits[2].into()));
    assert!(sandbox.cowork(&["log"]).exits(0).stdout.contains("Write part 3"));
    why_and_trace(&sandbox, commits[2]);
    sandbox.git(&["init", "-q", "--bare", "../shared.git"]);
    sandbox.git(&["remote", "add", "origin", "../shared.git"]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let pr = sandbox.cowork(&["pr", "--dry-run"]).exits(0).stdout;
    assert!(pr.contains("todo list"), "{pr}");
    sandbox.cowork(&["merge"]).exits(0);
    assert_eq!(
        sandbox.cowork(&["status", "--json", "todo-list"]).exits(0).json()["state"],
        "merged"
    );
    sandbox.git(&["merge-base", "--is-ancestor", &branch, "main"]);
    why_and_trace(&sandbox, commits[2]);
    sandbox.cowork(&["archive", "todo-list"]).exits(0);
    why_and_trace(&sandbox, commits[2]);
    sandbox.assert_sound();
}

#[track_caller]
fn why_and_trace(sandbox: &Sandbox, commit: &str) {
    let why = sandbox.cowork(&["why", "lib/part3.sh:2"]).exits(0).stdout;
    for words in [
        &format!("Commit       {} Write part 3\n", &commit[..7]),
        "Origin       Ana Example wrote it by hand, before session todo-list adopted the commit\n",
        "Task         TASK-003 Write part 3\n",
        "Requirement  REQ-001 todo list\n",
    ] {
        assert!(why.contains(words), "{words}\n---\n{why}");
    }
    let json = sandbox.cowork(&["why", "lib/part3.sh:2", "--json"]).exits(0).json();
    assert_eq!((&json["origin"], &json["known_by"]), (&"adopted".into(), &"commit".into()));
    let all = sandbox.cowork(&["why", "lib/part3.sh"]).exits(0).stdout;
    assert!(all.contains("TASK-003 Write part 3 · Ana Example wrote it by hand"), "{all}");
    let trace = sandbox.cowork(&["trace", "todo-list", "TASK-003", "--json"]).exits(0).json();
    let task = &trace["features"][0]["tasks"][0];
    assert_eq!((&task["commits"][0], &task["lines"]), (&commit.into(), &2.into()), "{trace}");
}

#[test]
fn what_the_critic_refuses_is_corrected_on_top() {
    let sandbox = ten();
    sandbox.server.times(
        1,
        at("coding", "critic").iteration(1),
        reject("part 4 says the wrong number"),
    );
    sandbox.server.on(
        at("coding", "actor").iteration(2).turn(1),
        Reply::call(
            "edit_file",
            serde_json::json!({"path": "lib/part4.sh", "old_text": "echo 4", "new_text": "echo four"}),
        ),
    );
    adopt(&sandbox, &["--review", "auto"]).exits(0);
    assert_eq!(sandbox.blob("cowork/todo-list", "lib/part4.sh"), "# part 4\necho four\n");
    let why = sandbox.cowork(&["why", "lib/part4.sh"]).exits(0).stdout;
    assert!(why.contains("TASK-004"), "{why}");
    sandbox.cowork(&["verify"]).exits(0);
    // Its plan can be gone back to, and the commits stay.
    sandbox.cowork(&["revert", "--to", "coding", "--no-run"]).exits(0);
    assert_eq!(sandbox.read("lib/part4.sh"), "# part 4\necho 4\n");
    sandbox.cowork(&["undo"]).exits(0);
    sandbox.cowork(&["delete", "todo-list", "--yes"]).exits(0);
    sandbox.git(&["rev-parse", "feature/todo-list"]);
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn a_rebase_makes_other_commits_of_the_same_tasks() {
    let sandbox = ten();
    adopt(&sandbox, &["--review", "auto"]).exits(0);
    sandbox.git(&["rebase", "-q", "main", "cowork/todo-list"]);
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    let commit = sandbox.commit_of("cowork/todo-list", "Write part 3");
    assert!(!sandbox.git(&["rev-list", "feature/todo-list"]).contains(&commit));
    why_and_trace(&sandbox, &commit);
    let shown = sandbox.cowork(&["diff", "--stat"]).exits(0).stdout;
    assert!(!shown.contains("news.txt"), "{shown}");
    sandbox.cowork(&["merge"]).exits(0);
    why_and_trace(&sandbox, &commit);
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn merges_fixups_and_deletions_are_no_tasks_of_their_own() {
    let sandbox = ten();
    sandbox.git(&["switch", "-q", "feature/todo-list"]);
    sandbox.commit_file("lib/part2.sh", "# part 2\necho two\n", "fixup! Write part 2");
    sandbox.git(&["merge", "-q", "--no-edit", "main"]);
    sandbox.git(&["rm", "-q", "lib/part9.sh"]);
    sandbox.git(&["commit", "-qm", "Drop part 9"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "Nothing"]);
    // On the branch itself it is compared with main.
    adopt(&sandbox, &["--review", "auto", "--stop-after", "plan"])
        .exits(0)
        .says("12 commits")
        .says("2 commits have no task");
    let file = json_of(&sandbox, "HEAD", "session.json");
    let adopted = file["origin"]["adopted"].as_array().unwrap();
    assert_eq!(adopted[1]["commits"].as_array().unwrap().len(), 2, "the fixup: {adopted:?}");
    assert_eq!(file["base"]["commit"], sandbox.git(&["rev-parse", "main"]));
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert!(sandbox.server.requests_of("coding", "actor").is_empty());
    let report = sandbox.read(".cowork/sessions/todo-list/delivery_report.md");
    assert!(report.contains("9 files: "), "{report}");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn commits_whose_files_were_moved_later_are_tasks_of_their_own() {
    let sandbox = ten();
    sandbox.git(&["switch", "-q", "feature/todo-list"]);
    sandbox.git(&["mv", "lib", "src"]);
    sandbox.git(&["commit", "-qm", "Move lib to src"]);
    sandbox.commit_file("gone.sh", "echo gone\n", "Add what is dropped again");
    sandbox.git(&["rm", "-q", "gone.sh"]);
    sandbox.git(&["commit", "-qm", "Drop it"]);
    sandbox.commit_file("more.sh", "echo more\n", "Add more");
    sandbox.git(&["switch", "-q", "main"]);
    adopt(&sandbox, &["--review", "wait"]).exits(3).says("14 commits").says("12 tasks");
    let plan = sandbox.blob("HEAD", ".cowork/sessions/todo-list/plan.md");
    for words in [
        "### TASK-003 Write part 3\n\n`FEAT-001` `REQ-001` `src/part3.sh`\n",
        "### TASK-011 Move lib to src (+ 2 commits)\n",
        "by Ana Example: Add what is dropped again\n",
        "by Ana Example: Drop it\n",
        "### TASK-012 Add more\n\n`FEAT-001` `REQ-001` `more.sh`\n",
    ] {
        assert!(plan.contains(words), "{words}\n---\n{plan}");
    }
}

#[test]
fn what_cannot_be_adopted_is_refused() {
    let mut sandbox = ten();
    let before = sandbox.all_refs();
    sandbox.cowork(&["adopt"]).exits(2);
    sandbox.cowork(&["adopt", "nowhere"]).exits(2).says("there is no branch 'nowhere'");
    sandbox.git(&["branch", "same"]);
    sandbox
        .cowork(&["adopt", "same"])
        .exits(5)
        .says("nothing to adopt: 'same' has no change that is not in main")
        .says("hint: compare with another revision: git cowork adopt same --base REV");
    sandbox.git(&["branch", "-D", "same"]);
    adopt(&sandbox, &["--base", "nope"]).exits(2).says("'nope' names no commit");
    adopt(&sandbox, &["--stop-after", "prd"]).exits(2).says("has no stage prd");
    adopt(&sandbox, &["-n", "a--b"]).exits(2).says("change request");
    sandbox.git(&["checkout", "-q", "--orphan", "alone"]);
    sandbox.commit_file("x.txt", "x\n", "alone");
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["adopt", "alone"]).exits(5).says("'alone' and main have no common ancestor");
    sandbox.git(&["branch", "-D", "alone"]);
    assert_eq!(sandbox.all_refs(), before);
    assert!(!sandbox.exists(".cowork"));

    adopt(&sandbox, &["--review", "wait"]).exits(3);
    let again = "a session named 'todo-list' already exists";
    adopt(&sandbox, &[]).exits(5).says(again).says("git cowork resume todo-list");
    sandbox.cowork(&["adopt", "todo-list"]).exits(5).says("'todo-list' is already a session");
    sandbox
        .cowork(&["adopt", "cowork/todo-list"])
        .exits(5)
        .says("'cowork/todo-list' is the branch of session todo-list")
        .says("hint: continue it: git cowork resume todo-list");
    sandbox.git(&["branch", "on-top"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["adopt", "on-top"]).exits(5).says("contains commits of session todo-list");
    // Nothing makes its plan a deeper one.
    sandbox.cowork(&["resume", "todo-list", "--depth", "standard"]).exits(5).says("is adopted");
    sandbox.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    sandbox.enter("../bare.git");
    sandbox.cowork(&["adopt", "feature/todo-list"]).exits(5);
}

#[test]
fn a_branch_in_another_worktree_and_files_of_a_persons_are_left_alone() {
    let sandbox = ten();
    let other = sandbox.root().join("other");
    sandbox.git(&["worktree", "add", "-q", other.to_str().unwrap(), "feature/todo-list"]);
    sandbox.write("README.md", "# Mine\n");
    sandbox.git(&["switch", "-q", "--detach", "main"]);
    adopt(&sandbox, &["--base", "main", "--review", "auto"])
        .exits(0)
        .says("1 file with your uncommitted changes");
    assert_eq!(sandbox.read("README.md"), "# Mine\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M README.md");
    let there = sandbox.git(&["-C", other.to_str().unwrap(), "symbolic-ref", "--short", "HEAD"]);
    assert_eq!(there, "feature/todo-list");
    assert_eq!(sandbox.stages("main..cowork/todo-list").last().unwrap(), "delivery");
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn work_that_a_person_adds_to_the_plan_is_done_by_the_model() {
    let mut sandbox = ten();
    adopt(&sandbox, &["--review", "wait"]).exits(3);
    let task = "\\n### TASK-011 Say what it is\\n\\n`FEAT-001` `docs/what.md`\\n\\nSay it.\\n\\n- it is said\\n";
    sandbox.editor(&format!("case $f in *.md) printf '{task}' >> $f;; esac"));
    sandbox.cowork(&["review", "--edit"]).exits(0);
    sandbox.server.on(
        at("coding", "actor").task("TASK-011").turn(1),
        Reply::call(
            "write_file",
            serde_json::json!({"path": "docs/what.md", "content": "# What\n"}),
        )
        .and(
            "update_task_status",
            serde_json::json!({"task_id": "TASK-011", "new_status": "completed"}),
        ),
    );
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let asked = sandbox.server.requests_of("coding", "actor");
    assert!(asked.iter().all(|one| one.task.as_deref() == Some("TASK-011")));
    assert_eq!(sandbox.blob("cowork/todo-list", "docs/what.md"), "# What\n");
    let coding = sandbox.commit_of("cowork/todo-list", "coding: 11 of 11 tasks");
    assert!(!coding.is_empty());
    sandbox.cowork(&["verify"]).exits(0);
}
