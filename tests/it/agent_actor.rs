//! Agent programs as actor: small scripts that speak the protocols, work on files in a working tree of
//! their own, and do what they must not.

mod failures;
#[cfg(target_os = "linux")]
mod network;
mod taken_over;
mod walls;

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::support::confinement::{Level, confinement};
use crate::support::{Reply, Sandbox, at, todo};

const CODING: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "coding"];
const KEY: &str = "sk-ant-api03-nobody-lends-this-0123456789";

/// What every script begins with: it notes what it is given, and knows how to speak and where it is.
const BEGINS: &str = r#"
N=$(($(cat "$NOTES/runs" 2>/dev/null || echo 0) + 1)); echo $N >"$NOTES/runs"
IN="$NOTES/input.$N"; cat >"$IN"
printf '%s\n' "$@" >"$NOTES/words.$N"; env >"$NOTES/env.$N"; pwd >"$NOTES/place.$N"
say() { printf '%s\n' "$1"; }
role=$(sed -n 's/^# Your role: \([a-zA-Z]*\).*/\1/p' "$IN" | tail -1 | tr A-Z a-z)
grep -q '^# The next task' "$IN" && role=coding
task=$(sed -n 's/^## \(TASK-[0-9]*\).*/\1/p' "$IN" | tail -1)
[ -n "$task" ] && [ -f "$NOTES/given/$task" ] && file=$(cat "$NOTES/given/$task")
session=.cowork/sessions/todo
document() { mkdir -p $session; cp "$NOTES/given/$1" "$session/$1"; }
task_file() { mkdir -p "$(dirname "$file")"; cp "$NOTES/given/$task.code" "$file"; }
"#;

/// Leaves what its role has to leave.
const DOES_ITS_PART: &str = r#"
case "$role" in
  idea) document idea.md ;; prd) document prd.md ;; design) document design.md ;;
  plan) document plan.md ;; check) document check_report.md ;;
  delivery) document delivery_report.md ;; coding) task_file ;;
esac
"#;

const ENDS: &str = r#"
say '{"type":"thread.started","thread_id":"t-1"}'
say '{"type":"item.completed","item":{"type":"agent_message","text":"It is written."}}'
say '{"type":"turn.completed","usage":{"input_tokens":114,"cached_input_tokens":100,"output_tokens":2}}'
"#;

/// A program, as one that is installed, and a folder it may note things in.
fn install(sandbox: &Sandbox, name: &str, does: &str) {
    let notes = sandbox.root().join("notes");
    fs::create_dir_all(notes.join("given")).unwrap();
    let give = |name: &str, text: &str| fs::write(notes.join("given").join(name), text).unwrap();
    for (name, text) in [
        ("idea.md", todo::IDEA),
        ("prd.md", todo::PRD),
        ("design.md", todo::DESIGN),
        ("check_report.md", todo::CHECK),
        ("delivery_report.md", todo::DELIVERY),
    ] {
        give(name, text);
    }
    if !notes.join("given/plan.md").exists() {
        give("plan.md", &todo::plan());
    }
    for (task, _, file, ..) in todo::TASKS {
        give(task, file);
        give(&format!("{task}.code"), &todo::code_of(task));
    }
    let script = format!("NOTES='{}'\n{BEGINS}\n{does}", notes.display());
    sandbox.executable(&sandbox.root().join("bin").join(name), &script);
}

/// The program is the actor; commands and it have the network.
fn settle(sandbox: &Sandbox, model: &str, more: &str) {
    let notes = sandbox.root().join("notes");
    fs::create_dir_all(&notes).unwrap();
    sandbox.user_config(&format!(
        "[models.worker]\n{model}\n[roles]\nactor = \"worker\"\n[sandbox]\nnetwork = true\n\
         writable = [\"{}\"]\n{more}",
        notes.display()
    ));
}

/// A session whose plan is passed, with Codex for the code.
fn coding_by(does: &str) -> Sandbox {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.server.forget();
    settle(&sandbox, "agent = \"codex\"", "");
    install(&sandbox, "codex", does);
    sandbox
}

#[track_caller]
fn noted(sandbox: &Sandbox, what: &str) -> String {
    let path: PathBuf = sandbox.root().join("notes").join(what);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn runs(sandbox: &Sandbox) -> usize {
    noted(sandbox, "runs").trim().parse().unwrap()
}

/// The folder in J with the working tree of the program.
fn place(sandbox: &Sandbox) -> PathBuf {
    sandbox.repo().join(".git/cowork/sessions/todo/agent")
}

#[track_caller]
fn has_left_nothing(sandbox: &Sandbox) {
    assert!(!place(sandbox).exists(), "its working tree is still there");
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    sandbox.assert_sound();
}

#[cfg(unix)]
#[test]
fn what_a_person_types_meanwhile_is_the_prompt_of_its_next_turn() {
    let waits = "[ $N = 1 ] && read -r x <\"$NOTES/go\"";
    let sandbox =
        coding_by(&format!("{waits}\n[ $N = 2 ] && {{\n{ENDS}\nexit 0; }}\n{DOES_ITS_PART}{ENDS}"));
    let go = sandbox.root().join("notes/go");
    assert!(sandbox.command("mkfifo").arg(&go).status().unwrap().success());
    let mut screen = sandbox.screen(100, &CODING);
    screen.shows(|text| text.contains("TASK-001 (1 of 5)"));
    screen.types("no bashisms\r");
    screen.shows(|text| text.contains("for the actor's next turn (Up edits it): no bashisms"));
    fs::write(&go, "go\n").unwrap();
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    assert!(!noted(&sandbox, "input.1").contains("no bashisms"));
    let told = noted(&sandbox, "input.2");
    assert!(told.contains("A person looks on") && told.contains("no bashisms"), "{told}");
    assert_eq!(runs(&sandbox), 6, "one more than there are tasks");
    let said: serde_json::Value =
        serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    let note = said.as_array().unwrap().iter().find(|entry| entry["from"] == "human").unwrap();
    assert_eq!((&note["severity"], &note["details"]), (&json!("minor"), &json!("no bashisms")));
    has_left_nothing(&sandbox);
}

#[test]
fn a_standard_session_is_written_by_a_program_and_judged_by_a_model() {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("ANTHROPIC_API_KEY", KEY);
    settle(&sandbox, "agent = \"codex\"\nmodel = \"m-1\"", "");
    sandbox.write("README.md", "# Somewhere\n\nMine.\n");
    install(&sandbox, "codex", &format!("{DOES_ITS_PART}{ENDS}"));
    let outcome = sandbox.auto(&["--depth", "standard"]).exits(0);
    assert!(outcome.stderr.contains("it works in a copy of the tree"), "{}", outcome.stderr);
    let all = ["start", "idea", "prd", "design", "plan", "coding", "check", "delivery"];
    assert_eq!(sandbox.stages("main..cowork/todo"), all);
    for (task, _, file, ..) in todo::TASKS {
        assert_eq!(sandbox.read(file), todo::code_of(task));
        let commit = sandbox.commit_of("cowork/todo", &format!("coding: {task}"));
        assert_eq!(sandbox.git(&["show", "--name-only", "--format=", &commit, "--", file]), file);
    }
    assert_eq!(sandbox.artifact("plan.md"), todo::plan());
    assert!(sandbox.artifact("requirements.json").contains("REQ-002"));
    for stage in ["prd", "plan", "coding"] {
        assert_eq!(sandbox.server.requests_of(stage, "critic").len(), 1, "{stage}");
        assert!(sandbox.server.requests_of(stage, "actor").is_empty(), "{stage}");
    }
    // Run 1 is the name of the session, 2 to 5 are documents, then come the tasks.
    let works = "exec\n--json\n--dangerously-bypass-approvals-and-sandbox\n--skip-git-repo-check\n\
                 -m\nm-1\n";
    let alone = "exec\n--json\n-s\nread-only\n--skip-git-repo-check\n-m\nm-1\n-\n";
    let first = match confinement() {
        Level::None => alone.to_owned(),
        _ => format!("{works}-\n"),
    };
    assert_eq!(noted(&sandbox, "words.1"), first);
    for run in 2..=6 {
        assert_eq!(noted(&sandbox, &format!("words.{run}")), format!("{works}-\n"), "run {run}");
        assert_eq!(
            noted(&sandbox, &format!("place.{run}")).trim(),
            place(&sandbox).join("tree").display().to_string()
        );
    }
    for run in 7..=10 {
        let words = noted(&sandbox, &format!("words.{run}"));
        assert_eq!(words, format!("{works}resume\nt-1\n-\n"), "one conversation: run {run}");
        let input = noted(&sandbox, &format!("input.{run}"));
        assert!(input.contains("# The next task") && !input.contains("# Rules"), "{input}");
    }
    let first = noted(&sandbox, "input.2");
    assert!(first.contains("a todo list for the terminal") && !first.contains("write_file is for"));
    assert!(first.contains("here `.cowork/sessions/todo/idea.md`"), "{first}");
    let env = noted(&sandbox, "env.6");
    assert!(!env.contains("COWORK_") && !env.contains("API_KEY"), "{env}");
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert!(trailers["Cowork-Model"][0].contains("m-1"), "{trailers:?}");
    // What the person has there is theirs.
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M README.md");
    assert_eq!(sandbox.read("README.md"), "# Somewhere\n\nMine.\n");
    sandbox.git(&["checkout", "-q", "README.md"]);
    has_left_nothing(&sandbox);
}

#[test]
fn a_quick_session_is_written_between_tags_in_a_subdirectory() {
    let mut sandbox = Sandbox::new();
    sandbox.commit_file("sub/start.sh", "echo start\n", "code");
    settle(&sandbox, "command = [\"scribe\", \"-x\"]", "");
    let mut plan = "# A todo list\n\nAssumed: one user.\n".to_owned();
    plan += &todo::requirement_section("REQ-001", "Add a todo");
    plan += &todo::feature_section("FEAT-001", "Adding", &["REQ-001"]);
    plan += "\n### TASK-001 Keep todos\n\n`FEAT-001` `lib/store.sh`\n\nKeep them.\n\n- it exists\n";
    let does = r#"
case "$role" in
  plan) echo 'Here it is:'; echo '<document>'; cat "$NOTES/given/plan.md"; echo '</document>' ;;
  coding) task_file; echo 'It keeps todos.' ;;
  *) echo 'A todo list.' ;;
esac"#;
    fs::create_dir_all(sandbox.root().join("notes/given")).unwrap();
    fs::write(sandbox.root().join("notes/given/plan.md"), &plan).unwrap();
    install(&sandbox, "scribe", does);
    sandbox.enter("sub");
    sandbox.auto(&["--depth", "quick"]).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "plan", "coding", "delivery"]);
    assert_eq!(sandbox.artifact("plan.md"), plan);
    assert_eq!(sandbox.read("lib/store.sh"), todo::code_of("TASK-001"));
    assert!(sandbox.artifact("delivery_report.md").contains("It keeps todos."));
    assert_eq!(noted(&sandbox, "words.2"), "-x\n");
    let cost = &sandbox.trailers(&sandbox.stage_commit("plan"))["Cowork-Cost"][0];
    assert!(cost.contains("uncounted=2"), "{cost}");
    has_left_nothing(&sandbox);
}

#[test]
fn what_is_missing_is_told_in_the_same_conversation() {
    let sandbox = Sandbox::stopped_after("idea");
    settle(&sandbox, "agent = \"codex\"", "");
    let does = format!(
        "case $N in\n1) ;;\n2) mkdir -p $session; echo '# Nothing' >$session/prd.md ;;\n\
         *) document prd.md ;;\nesac\n{ENDS}"
    );
    install(&sandbox, "codex", &does);
    let args = ["resume", "--review", "auto", "--stop-after", "prd"];
    sandbox.cowork(&args).exits(0);
    let path = ".cowork/sessions/todo/prd.md";
    let told = noted(&sandbox, "input.2");
    assert_eq!(
        told.trim(),
        format!(
            "prd.md is not written yet. Write all of it to the file {path} in your working directory."
        )
    );
    let told = noted(&sandbox, "input.3");
    assert!(told.starts_with("git-cowork checked your files"), "{told}");
    assert!(told.contains("in your working directory") && !told.contains("Saved"), "{told}");
    assert_eq!(runs(&sandbox), 3);
    assert_eq!(sandbox.artifact("prd.md"), todo::PRD);
    has_left_nothing(&sandbox);
}

#[test]
fn a_rejected_draft_goes_on_in_its_conversation_and_a_blocked_task_ends_it() {
    let sandbox = Sandbox::stopped_after("idea");
    settle(&sandbox, "agent = \"codex\"", "");
    sandbox.server.on(at("prd", "critic").turn(1).iteration(1), todo::reject("REQ-001 is vague."));
    let does = format!(
        "document prd.md\n[ $N = 2 ] && echo 'Said better.' >>$session/prd.md\n\
         [ \"$role\" = coding ] && rm -f $session/prd.md\n{ENDS}"
    );
    install(&sandbox, "codex", &does);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert!(noted(&sandbox, "words.2").ends_with("resume\nt-1\n-\n"));
    let told = noted(&sandbox, "input.2");
    assert!(told.contains("REQ-001 is vague.") && !told.contains("# Rules"), "{told}");
    assert!(sandbox.artifact("prd.md").ends_with("Said better.\n"));

    let blocked = ENDS.replace("It is written.", "I cannot.\\nBLOCKED: no compiler");
    let sandbox = coding_by(&blocked);
    let outcome = sandbox.cowork(&CODING).exits(1);
    outcome.says("TASK-001 is not completed: the actor says that it is blocked");
    let history = ".cowork/sessions/todo/feedback_history.json";
    let history = sandbox.blob("refs/cowork/drafts/todo/coding", history);
    assert!(history.contains("\"TASK-001 blocked: no compiler\""), "{history}");
    has_left_nothing(&sandbox);
}

#[test]
fn a_task_that_needs_no_change_is_completed_for_a_reason_only() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("lib/add.sh", "# it adds\n", "adding");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    settle(&sandbox, "agent = \"codex\"", "");
    let does = |last: &str| {
        let none = ENDS.replace("It is written.", &format!("Nothing to do.\\n{last}"));
        format!("if [ \"$task\" = TASK-002 ]; then\n{none}\nelse {DOES_ITS_PART}{ENDS}\nfi")
    };
    // Also where it has not said that it is done.
    for (asked, last) in [(1, "DONE:"), (2, "")] {
        install(&sandbox, "codex", &does(last));
        let outcome = sandbox.cowork(&CODING).exits(1).says("TASK-002 is not completed");
        let outcome = outcome.says("nothing was changed, and the actor gave no reason");
        assert!(outcome.stderr.contains("; TASK-005 waits"), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("draft 2"), "{}", outcome.stderr);
        let told = (1..=runs(&sandbox)).map(|run| noted(&sandbox, &format!("input.{run}")));
        let why = "Nothing was changed for TASK-002.";
        assert_eq!(told.filter(|told| told.contains(why)).count(), asked, "{last}");
    }
    install(&sandbox, "codex", &does("DONE: lib/add.sh adds already"));
    sandbox.cowork(&CODING).exits(0);
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-002");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Reason"], ["lib/add.sh adds already"]);
    has_left_nothing(&sandbox);
}

#[test]
fn a_change_request_is_written_by_a_program() {
    let sandbox = Sandbox::delivered();
    settle(&sandbox, "agent = \"codex\"", "");
    let change = json!({
        "summary": "Say more",
        "scope": {"prd": false, "design": false, "plan": false, "code": true},
        "risk": "low",
        "affected_files": ["lib/add.sh"],
        "acceptance_criteria": ["more is said"],
    });
    let does = format!(
        r#"
case "$role" in
  triage) cat >"$(sed -n 's/.*JSON object to the file `\([^`]*\)`.*/\1/p' "$IN")" <<'END'
{change}
END
  ;;
  coding) echo '# more' >>lib/add.sh ;;
  delivery) f=$(sed -n 's/.*here `\([^`]*\)`.*/\1/p' "$IN" | tail -1)
    mkdir -p "$(dirname "$f")"; cp "$NOTES/given/delivery_report.md" "$f" ;;
  check) f=$(sed -n 's/.*here `\([^`]*\)`.*/\1/p' "$IN" | tail -1)
    mkdir -p "$(dirname "$f")"; cp "$NOTES/given/check_report.md" "$f" ;;
esac
{ENDS}"#
    );
    install(&sandbox, "codex", &does);
    sandbox.cowork(&["modify", "todo", "say more", "-n", "more", "--review", "auto"]).exits(0);
    assert!(sandbox.read("lib/add.sh").ends_with("# more\n"));
    has_left_nothing(&sandbox);
}

#[test]
fn it_reads_its_own_draft_again_and_its_changes_count() {
    let sandbox = Sandbox::stopped_after("idea");
    settle(&sandbox, "agent = \"codex\"", "[project]\nself_review = [\"prd\"]\n");
    let passes = ENDS.replace("It is written.", "Said better.\\n<review>PASS</review>");
    let does = format!(
        "if grep -q '^# Your role: self-review' \"$IN\"; then\n\
         echo 'One more thought.' >>$session/prd.md\n{passes}\nelse document prd.md\n{ENDS}\nfi"
    );
    install(&sandbox, "codex", &does);
    let args = ["resume", "--review", "auto", "--stop-after", "prd", "--json"];
    let events = sandbox.cowork(&args).exits(0).json_lines();
    assert_eq!(runs(&sandbox), 2);
    assert!(sandbox.artifact("prd.md").ends_with("One more thought.\n"));
    let all = json!(events).to_string();
    assert!(all.contains("revised") && !all.contains("without a marker"), "{all}");
    has_left_nothing(&sandbox);
}

#[cfg(unix)]
#[test]
fn a_program_cannot_be_asked_at_the_gate_and_a_model_takes_its_place() {
    if confinement() == Level::None {
        return;
    }
    let sandbox = coding_by(&format!("{DOES_ITS_PART}{ENDS}"));
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "coding"]);
    let shown = terminal.sees("? help");
    assert!(!shown.contains("t ask the actor"), "{shown}");
    terminal.types("t");
    terminal.sees("cannot be asked");
    terminal.sees("? help");
    terminal.types("m");
    let shown = terminal.sees("another one, by its name");
    assert!(shown.contains("codex (worker) at this machine (current)"), "{shown}");
    terminal.types("k\r");
    terminal.sees("model: ");
    terminal.enters("default");
    let shown = terminal.sees("? help");
    assert!(shown.contains("next draft by scripted"), "{shown}");
    assert!(shown.contains("t ask the actor"), "{shown}");
    assert!(sandbox.server.requests_of("coding", "actor").is_empty());
    sandbox.server.sequence(
        at("coding", "actor").iteration(2),
        vec![
            Reply::call("write_file", json!({"path": "lib/list.sh", "content": "# by date\n"})),
            Reply::text("It is sorted by date now."),
        ],
    );
    let ran = runs(&sandbox);
    terminal.types("f");
    terminal.sees("f  ");
    terminal.enters("sort by date");
    terminal.sees("your decision");
    terminal.sees("? help");
    assert_eq!(runs(&sandbox), ran);
    assert!(!sandbox.server.requests_of("coding", "actor").is_empty());
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Actor-Model"], ["default"]);
    has_left_nothing(&sandbox);
}
