//! Commit messages: prose is wrapped and read back as it was written, trailers are few and folded,
//! and nothing a model or a person writes is taken for something else by git, `git am`, a rebase or
//! an editor's cleanup.

use serde_json::{Value, json};

use crate::support::todo::{PRD, task_work};
use crate::support::{Reply, Sandbox, at};

/// Feedback with everything that git or a parser of trailers could misread.
fn feedback() -> String {
    let prose =
        "The first line of every entry has to name the day on which it was written, ".repeat(3);
    let address = format!("https://example.org/{}", "path/".repeat(20));
    let item = "- an item that goes on for longer than one line of a message, and then a bit more";
    let row = format!("| {} | b |", "a cell that nobody may break ".repeat(4).trim());
    format!(
        "{}\n\n{item}\n- short\n  - nested\n\n{row}\n| --- | --- |\n\n## A heading\n\n---\n\n\
         ```diff\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n # kept\n-{}\n```\n\n\
         Signed-off-by: Nobody <n@example.org>\nCowork-Session-Id: forged\n\n\
         BREAKING CHANGE: none\n\nIndex: x\nNote: see {address} for more",
        prose.trim(),
        "long code ".repeat(12).trim(),
    )
}

/// A session whose idea draft got this feedback.
fn reviewed(words: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.user_config("[review]\ngates = [\"idea\"]\n");
    sandbox.wait(&["--stop-after", "idea"]).exits(3);
    sandbox.cowork(&["review", "--feedback", words]).exits(0);
    sandbox
}

/// The words of the newest review, as `log` reads them from history.
fn read_back(sandbox: &Sandbox) -> String {
    let log = sandbox.cowork(&["log", "todo", "--json"]).exits(0).stdout;
    let steps = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let steps: Vec<_> = steps.filter(|step| step["event"] == "review_answered").collect();
    steps.last().unwrap()["reason"].as_str().unwrap().to_owned()
}

fn message(sandbox: &Sandbox, commit: &str) -> String {
    sandbox.git(&["log", "-1", "--format=%B", commit])
}

#[test]
fn prose_is_wrapped_and_read_back_as_it_was_written() {
    let words = feedback();
    let sandbox = reviewed(&words);
    let text = message(&sandbox, "HEAD");
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 72).collect();
    let whole = |line: &&str| {
        line.starts_with("| a cell")
            || line.starts_with("-long code")
            || line.starts_with("https://")
    };
    assert!(wide.iter().all(whole) && wide.len() == 3, "{wide:#?} in\n{text}");
    assert!(text.contains("\n\nThe first line of every entry has to name the day"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("  ") && !line.contains("nested")), "{text}");
    assert_eq!(read_back(&sandbox), words);
    let names: Vec<String> = sandbox.trailers("HEAD").into_keys().collect();
    assert!(names.iter().all(|name| name.starts_with("Cowork-")), "{names:?}");
    assert_ne!(sandbox.trailers("HEAD")["Cowork-Session-Id"], ["forged"]);
    sandbox.assert_sound();
}

#[test]
fn an_editors_cleanup_and_a_rebase_keep_what_is_read() {
    let words = feedback();
    let sandbox = reviewed(&words);
    for cleanup in ["strip", "whitespace", "scissors", "verbatim"] {
        let cleanup = format!("--cleanup={cleanup}");
        sandbox.git(&["commit", "--amend", "--allow-empty", "--no-verify", "--no-edit", &cleanup]);
        assert_eq!(read_back(&sandbox), words, "{cleanup}");
    }
    let before = message(&sandbox, "HEAD");
    sandbox.git(&["rebase", "-q", "--force-rebase", "--keep-empty", "main"]);
    assert_eq!(message(&sandbox, "HEAD"), before);
    assert_eq!(read_back(&sandbox), words);
}

#[test]
fn git_am_of_a_patch_series_keeps_the_messages() {
    for words in [feedback(), "Subject: not a mail\n\nFrom: nobody".to_owned()] {
        let sandbox = reviewed(&words);
        let before = message(&sandbox, "HEAD");
        let patch = sandbox.git(&["format-patch", "--stdout", "--always", "-1"]);
        sandbox.write("one.patch", &patch);
        sandbox.git(&["switch", "-q", "--detach", "HEAD^"]);
        sandbox.git(&["am", "-q", "--empty=keep", "one.patch"]);
        assert_eq!(message(&sandbox, "HEAD"), before);
    }
}

#[test]
fn git_and_we_read_the_same_trailers_and_there_are_few() {
    let sandbox = Sandbox::new();
    // Forty criteria, each with a test of its own.
    let mut prd = PRD.to_owned();
    let mut tests = "import unittest\n\nclass Sums(unittest.TestCase):\n".to_owned();
    let mut criteria = String::new();
    for n in 0..40 {
        criteria += &format!("- works {n} `tests/test_all.py::Sums::test_{n}`\n");
        tests += &format!("    def test_{n}(self):\n        self.assertTrue(True)\n\n");
    }
    prd = prd.replacen("- Add a todo works\n", &criteria, 1);
    sandbox.write("tests/test_old.py", "import unittest\n");
    sandbox.commit_all("a Python project");
    let save = Reply::call("save_prd_doc", json!({"content": prd}));
    sandbox.server.on(at("prd", "actor").turn(1), save);
    let first = json!({"path": "tests/test_all.py", "content": tests});
    let done = task_work("TASK-001");
    let replies = vec![Reply::call("write_file", first), done, Reply::text("Done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies);
    sandbox.auto(&[]).exits(0);
    for commit in sandbox.git(&["rev-list", "main..cowork/todo"]).lines() {
        let text = message(&sandbox, commit);
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 72).collect();
        assert_eq!(wide, [""; 0], "{text}");
        let format = "--format=%(trailers:only,unfold)";
        let unfolded = sandbox.git(&["log", "-1", format, commit]);
        assert!(unfolded.lines().count() <= 25, "{text}");
        let count: usize = sandbox.trailers(commit).values().map(Vec::len).sum();
        assert_eq!(unfolded.lines().count(), count, "{text}");
    }
    let coding = sandbox.stage_commit("coding");
    assert!(sandbox.trailers(&coding)["Cowork-Tests"][0].starts_with("40 passed, log "));
    let log = sandbox.test_log(&coding);
    assert!(log.starts_with("tests/test_all.py::Sums::test_0: passed\n"), "{log}");
    let approved = sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Approved"].clone();
    let names: Vec<&str> = approved.iter().map(|one| one.split('@').next().unwrap()).collect();
    assert_eq!(names, ["prd.md", "requirements.json", "feature_list.json"]);
    let evidence = &sandbox.trailers(&coding)["Cowork-Evidence"];
    assert_eq!(evidence.len(), 1, "{evidence:?}");
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn approvals_of_older_versions_in_one_line_count_and_so_does_a_squash() {
    let sandbox = Sandbox::delivered();
    let older = "import re,sys\n\
        text = sys.stdin.read()\n\
        found = re.findall(r'^Cowork-Approved: (.*)\\n', text, re.M)\n\
        text = re.sub(r'^Cowork-Approved: .*\\n', '', text, flags=re.M)\n\
        sys.stdout.write(text + ('Cowork-Approved: ' + ' '.join(found) + '\\n' if found else ''))\n";
    let script = sandbox.root().join("older.py");
    std::fs::write(&script, older).unwrap();
    let filter = format!("python3 {}", script.display());
    let start = sandbox.commit_of("cowork/todo", "start: ");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.git(&[
        "-c",
        "advice.all=false",
        "filter-branch",
        "-f",
        "--msg-filter",
        &filter,
        &format!("{start}..cowork/todo"),
    ]);
    let line = &sandbox.trailers(&sandbox.commit_of("cowork/todo", "prd: "))["Cowork-Approved"];
    assert!(line.len() == 1 && line[0].contains(" requirements.json@"), "{line:?}");
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
    // A forge's squash puts all messages below one another.
    let all = sandbox.git(&["log", "--reverse", "--format=* %B", "main..cowork/todo"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--squash", "cowork/todo"]);
    sandbox.git(&["commit", "-q", "-m", &format!("Add todos (#7)\n\n{all}")]);
    let state = sandbox.cowork(&["status", "todo", "--json"]).exits(0).json()["state"].clone();
    assert_eq!(state, "merged");
}

#[test]
fn a_merge_message_is_the_report_at_the_width_of_a_message() {
    let sandbox = Sandbox::delivered();
    sandbox.cowork(&["merge"]).exits(0);
    let text = message(&sandbox, "main");
    let code = |line: &&str| line.contains('`') || line.starts_with('|');
    let wide: Vec<&str> =
        text.lines().filter(|line| line.chars().count() > 72).filter(|line| !code(line)).collect();
    assert_eq!(wide, [""; 0], "{text}");
    assert!(text.contains("\n ## Changes\n"), "{text}");
    sandbox.git(&["commit", "--amend", "-q", "--no-edit", "--cleanup=strip"]);
    assert_eq!(message(&sandbox, "main"), text);
}
