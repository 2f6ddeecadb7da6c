//! `[review] decide`: a command of the user's looks at a draft before a person is asked.

use serde_json::{Value, json};

use crate::support::todo::PRD;
use crate::support::{Reply, Sandbox, at};

const NAME: &str = "judge";

/// The next stage is prd, and this is what the command does.
fn decided_by(does: &str) -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    let path = sandbox.root().join("bin").join(NAME);
    let runs = sandbox.root().join("decided");
    sandbox.executable(
        &path,
        &format!("echo \"$COWORK_STAGE $COWORK_ITERATION\" >>'{}'; {does}", runs.display()),
    );
    sandbox.user_config(&format!("[review]\ndecide = \"{} --strict\"\n", path.display()));
    sandbox.server.on_with(at("prd", "actor").turn(1), |received| {
        let text = format!("{PRD}\nDraft {}, fixed.\n", received.iteration);
        (received.iteration > 1).then(|| Reply::call("save_prd_doc", json!({"content": text})))
    });
    sandbox.server.forget();
    sandbox
}

fn resume(mode: &str) -> [&str; 5] {
    ["resume", "--review", mode, "--stop-after", "prd"]
}

fn runs(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.root().join("decided")).unwrap_or_default()
}

#[test]
fn it_passes_a_draft_under_its_own_name_and_as_nobodys_review() {
    let sandbox = decided_by("grep -q REQ-002 .cowork/sessions/todo/prd.md");
    sandbox.cowork(&resume("wait")).exits(0);
    assert_eq!(runs(&sandbox), "prd 1\n");
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Review"], ["auto"]);
    assert_eq!(trailers["Cowork-Decided-By"], [NAME]);
    assert!(!trailers.contains_key("Reviewed-by"), "{trailers:?}");
    assert!(trailers.contains_key("Cowork-Approved"));
    sandbox.cowork(&["verify"]).exits(0);
    let log = sandbox.cowork(&["log", "--json"]).exits(0).json_lines();
    let done = log.iter().find(|row| row["event"] == "stage_completed" && row["stage"] == "prd");
    assert_eq!(done.unwrap()["actor"], NAME, "{done:?}");
    sandbox.assert_sound();
}

#[test]
fn what_it_prints_with_exit_1_is_feedback_for_the_next_draft() {
    let does =
        "grep -q fixed .cowork/sessions/todo/prd.md || { echo 'no order is named'; exit 1; }";
    let sandbox = decided_by(does);
    sandbox.cowork(&resume("wait")).exits(0);
    assert_eq!(runs(&sandbox), "prd 1\nprd 2\n");
    let drafts = sandbox.server.requests_of("prd", "actor");
    let second = drafts.iter().find(|r| r.iteration == 2).unwrap();
    assert!(second.text().contains("judge: no order is named"), "{}", second.text());
    let history: Value = serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    assert_eq!(history[0]["from"], "validator");
}

#[test]
fn anything_else_is_left_to_a_person() {
    for (does, told) in [
        ("exit 3", "judge left the decision to a person (exit 3)"),
        ("kill -9 $$", "judge left the decision to a person (e"),
        ("echo x >>.cowork/sessions/todo/prd.md", "changed while judge looked at it"),
    ] {
        for mode in ["wait", "auto"] {
            let sandbox = decided_by(does);
            sandbox.cowork(&resume(mode)).exits(3).says(told);
            assert!(sandbox.refs("refs/tags/cowork/todo/prd").is_empty(), "{does}");
            sandbox.assert_sound();
        }
    }
    let sandbox = decided_by("exit 3");
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees("judge left the decision to a person");
    terminal.sees("stop for now");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert!(!trailers.contains_key("Cowork-Decided-By"));
}

#[test]
fn a_file_that_came_with_the_project_names_no_command() {
    let sandbox = Sandbox::new();
    sandbox.write(".cowork/config.toml", "[review]\ndecide = \"touch decided\"\n");
    sandbox.commit_all("theirs");
    sandbox.wait(&["--stop-after", "idea"]).exits(3);
    assert!(!sandbox.exists("decided"));
}

#[cfg(unix)]
#[test]
fn code_that_a_person_edits_at_the_gate_is_shown_to_them_again() {
    let mut sandbox = Sandbox::stopped_after("plan");
    let path = sandbox.root().join("bin").join(NAME);
    let runs = sandbox.root().join("decided");
    // It leaves the first draft to a person, and would pass all others.
    let does = format!("test -e '{0}' && exit 0; touch '{0}'; exit 2", runs.display());
    sandbox.executable(&path, &does);
    sandbox.user_config(&format!("[review]\ndecide = \"{}\"\n", path.display()));
    let file = crate::support::todo::file_of("TASK-001");
    sandbox.editor(&format!("case $f in *{file}) echo '# by hand' >>\"$f\";; esac"));
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "coding"]);
    terminal.sees("? help");
    terminal.types("e");
    terminal.sees("it is checked and shown again");
    let shown = terminal.sees("? help");
    assert!(shown.contains("Your edit: 1 line added") && shown.contains("+# by hand"), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("coding"));
    assert_eq!(trailers["Cowork-Review"], ["edited"]);
    assert!(!trailers.contains_key("Cowork-Decided-By"), "{trailers:?}");
}
