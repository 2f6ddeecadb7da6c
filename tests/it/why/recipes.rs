//! What the guide says plain git answers, run as it is written there.

use std::path::Path;

use super::{delivered, why};

/// The commands of the page's section, each with the line before it that says what it is for.
fn recipes() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/why.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split("## The same with plain git").nth(1).unwrap();
    let block = section.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let mut all: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("# ") {
            Some(what) => all.push((what.to_owned(), String::new())),
            None => all.last_mut().unwrap().1 += &format!("{line}\n"),
        }
    }
    all
}

#[test]
fn plain_git_answers_the_same() {
    let sandbox = delivered();
    let run = |what: &str, file: &str| {
        let all = recipes();
        let (_, command) = all.iter().find(|(about, _)| about.contains(what)).unwrap();
        let command = command.replace("src/store.rs", file).replace("12,12", "4,4");
        let mut shell = sandbox.command("sh");
        let output = shell.args(["-c", &command]).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(recipes().len(), 5);
    let answer = why(&sandbox, "lib/add.sh:4");
    let commit = run("the commit a line came with", "lib/add.sh");
    assert!(commit.contains("coding: TASK-002 Add a todo\nCowork-Session: todo\nCowork-Task: TASK-002\nCowork-Feature: FEAT-001\n"), "{commit}");
    assert!(answer["commit"].as_str().unwrap().starts_with(commit.split(' ').next().unwrap()));
    let task = run("what that task is for", "");
    assert!(task.starts_with("### TASK-002 Add a todo\n\n`FEAT-001` `COMP-001`"), "{task}");
    // A plan without records of other kinds has its tasks one level higher.
    let path = ".cowork/sessions/todo/plan.md";
    let plan = sandbox.blob("HEAD", path);
    sandbox.write(path, &plan.replace("\n### TASK-", "\n## TASK-"));
    sandbox.commit_all("headings");
    assert_eq!(run("what that task is for", ""), task.replace("### TASK-", "## TASK-"));
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let passed = run("who passed the code", "");
    assert!(passed.contains("Cowork-Review: passed\n"), "{passed}");
    assert!(passed.contains("Reviewed-by: Ana Example <ana@example.org>\n"), "{passed}");
    let rejected = run("what was rejected", "");
    assert!(rejected.contains("lib/list.sh is hard to read"), "{rejected}");
    // The todo project has two features.
    let (_, command) =
        recipes().into_iter().find(|(about, _)| about.starts_with("from a")).unwrap();
    let mut shell = sandbox.command("sh");
    let output = shell.args(["-c", &command.replace("FEAT-003", "FEAT-002")]).output().unwrap();
    let files = String::from_utf8(output.stdout).unwrap();
    assert!(files.contains("lib/list.sh\n") && files.contains("lib/done.sh\n"), "{files}");
    assert!(!files.contains(".cowork") && !files.contains("lib/add.sh"), "{files}");
}
