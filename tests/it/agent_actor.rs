//! Agent programs as actor: small scripts that speak the protocols, work on files in a working tree of
//! their own, and do what they must not.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::confinement::{Level, confinement};
use crate::support::sandbox::Outcome;
use crate::support::skip::skipped;
use crate::support::{Sandbox, at, todo};

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
    let alone = "exec\n--json\n-s\nread-only\n--skip-git-repo-check\n-m\nm-1\n-\n";
    let works = "exec\n--json\n--dangerously-bypass-approvals-and-sandbox\n--skip-git-repo-check\n\
                 -m\nm-1\n";
    assert_eq!(noted(&sandbox, "words.1"), alone);
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
fn what_it_must_not_change_is_refused_and_told_and_the_rest_lands() {
    let does = format!(
        r#"
if [ "$task" = TASK-001 ] || grep -q 'was not taken over' "$IN"; then :; else task_file; fi
if [ $N = 1 ]; then
  task_file
  echo theirs >>README.md
  echo '* text' >.gitattributes
  ln -s /etc/passwd lib/link
  echo 'key = {KEY}' >lib/key.sh
  mkdir many; i=0; while [ $i -lt 201 ]; do echo $i >many/$i; i=$((i + 1)); done
  mkdir repo; (cd repo; git init -q; echo x >x)
  echo changed >>$session/prd.md
  mkdir .claude; echo '{{}}' >.claude/settings.json
  echo out >'{root}/out'; echo out >'{root}/repo/out'
  git add -A; git commit -qm mine; git checkout -q --detach HEAD~1
  printf '\000\377\001' >logo.bin
  printf '#!/bin/sh\n' >run.sh; chmod 755 run.sh
  chmod 755 tool.sh
  rm old.txt; git mv move.txt moved.txt 2>/dev/null || mv move.txt moved.txt
fi
{ENDS}"#,
        root = "ROOT"
    );
    let mut sandbox = Sandbox::new();
    for (path, text) in [("old.txt", "old\n"), ("move.txt", "moves\n"), ("tool.sh", "true\n")] {
        sandbox.write(path, text);
    }
    sandbox.commit_all("files");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    sandbox.server.forget();
    sandbox.set_env("ANTHROPIC_API_KEY", KEY);
    settle(&sandbox, "agent = \"codex\"", "");
    install(&sandbox, "codex", &does.replace("ROOT", &sandbox.root().display().to_string()));
    sandbox.write("README.md", "# Mine\n");
    let main = sandbox.git(&["rev-parse", "main"]);
    let outcome = sandbox.cowork(&CODING).exits(0);

    let told = noted(&sandbox, "input.2");
    assert!(told.contains("this was not taken over"), "{told}");
    for (path, why) in [
        ("README.md", "has your uncommitted changes"),
        (".gitattributes", "git itself acts on it"),
        ("lib/link", "it is a symbolic link"),
        ("lib/key.sh", "holds a key"),
        ("many/", "too big to be recorded (201 files)"),
        ("repo/", "it is a repository of its own"),
        (".cowork/sessions/todo/prd.md", "coding does not change it"),
        (".claude/settings.json", "it configures agent programs"),
    ] {
        let line = told.lines().find(|line| line.starts_with(&format!("- {path}: ")));
        assert!(line.is_some_and(|line| line.contains(why)), "{path}: {told}");
        assert!(outcome.stderr.contains(&format!("{path} was not taken over")), "{path}");
    }
    assert!(noted(&sandbox, "words.2").ends_with("resume\nt-1\n-\n"));
    assert_eq!(sandbox.read("README.md"), "# Mine\n");
    for path in ["lib/link", "lib/key.sh", "many", "repo", ".claude", ".gitattributes"] {
        assert!(sandbox.path(path).symlink_metadata().is_err(), "{path}");
    }
    let tree = sandbox.git(&["ls-tree", "-r", "cowork/todo"]);
    let mode = |path: &str| {
        let line = tree.lines().find(|line| line.ends_with(&format!("\t{path}")));
        line.map(|line| line[..6].to_owned()).unwrap_or_default()
    };
    assert_eq!(["logo.bin", "run.sh", "tool.sh"].map(mode), ["100644", "100755", "100755"]);
    assert_eq!(["old.txt", "move.txt", "moved.txt"].map(mode), ["", "", "100644"]);
    assert_eq!(fs::read(sandbox.path("logo.bin")).unwrap(), [0, 255, 1]);
    assert_eq!(sandbox.read("lib/store.sh"), todo::code_of("TASK-001"));
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    assert!(sandbox.git(&["branch", "--show-current"]).ends_with("cowork/todo"));
    assert!(!sandbox.git(&["log", "--format=%s", "--all"]).lines().any(|line| line == "mine"));
    assert!(!sandbox.exists("out"));
    if confinement() == Level::None {
        skipped("a program that writes outside: nothing confines it here");
    } else {
        assert!(!sandbox.root().join("out").exists());
    }
    has_left_nothing(&sandbox);
}

#[test]
fn it_finds_what_builds_need_and_changes_nobody_elses() {
    let sandbox = coding_by(&format!(
        "cat node_modules/x/index.js >\"$NOTES/seen.$N\" 2>&1; echo mine >node_modules/x/index.js\n\
         ls -a >\"$NOTES/files.$N\"; task_file\n{ENDS}"
    ));
    sandbox.write(".git/info/exclude", "node_modules\n.env\n");
    sandbox.write("node_modules/x/index.js", "theirs\n");
    sandbox.write(".env", "PASSWORD=1\n");
    sandbox.cowork(&CODING).exits(0);
    assert_eq!(noted(&sandbox, "seen.1"), "theirs\n");
    assert_eq!(noted(&sandbox, "seen.2"), "mine\n");
    assert!(!noted(&sandbox, "files.1").contains(".env"));
    assert_eq!(sandbox.read("node_modules/x/index.js"), "theirs\n");
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
    assert!(told.starts_with("The program has checked what you left"), "{told}");
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
    has_left_nothing(&sandbox);
}

/// The program fails so; the draft is kept, and another run goes on with it.
#[track_caller]
fn fails(does: &str, settings: &str, told: &str) -> Outcome {
    let sandbox = coding_by(does);
    settle(&sandbox, settings, "");
    if does.is_empty() {
        fs::remove_file(sandbox.root().join("bin/codex")).unwrap();
    }
    let outcome = sandbox.cowork(&CODING).exits(4);
    assert!(outcome.stderr.contains(told), "{does}: {}", outcome.stderr);
    has_left_nothing(&sandbox);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    install(&sandbox, "codex", &format!("ls lib >\"$NOTES/found.$N\" 2>&1; task_file\n{ENDS}"));
    settle(&sandbox, "agent = \"codex\"", "");
    let first = fs::read_to_string(sandbox.root().join("notes/runs")).unwrap_or_default();
    sandbox.cowork(&CODING).exits(0);
    has_left_nothing(&sandbox);
    if does.contains("task_file") {
        let next = first.trim().parse::<u32>().unwrap() + 1;
        let found = noted(&sandbox, &format!("found.{next}"));
        assert!(found.contains("store.sh"), "half a draft is kept: {found}");
    }
    outcome
}

#[test]
fn whatever_goes_wrong_the_draft_is_kept_and_the_next_run_goes_on() {
    let half = r#"say '{"type":"thread.started","thread_id":"t-1"}'
say '{"type":"item.completed","item":{"type":"agent_message","text":"So far"}}'"#;
    let out = r#"say '{"type":"turn.failed","error":{"message":"Missing environment variable: `K`."}}'; exit 1"#;
    let codex = "agent = \"codex\"";
    let cases = [
        ("", codex, "there is no program 'codex' on PATH"),
        (out, codex, "Codex is not signed in (exit 1)"),
        (&format!("task_file; {half}; exit 3"), codex, "in the middle of its answer (exit 3)"),
        ("task_file; cat /dev/zero", codex, "Codex printed more than 64 MiB and was stopped"),
        (
            "task_file; sleep 300.5",
            "agent = \"codex\"\nanswer_s = 2",
            "Codex did not end within 2 s and was stopped",
        ),
    ];
    for (does, settings, told) in cases {
        let outcome = fails(does, settings, told);
        // A program that is not there ends the run before anything is begun.
        assert_eq!(outcome.stderr.contains("git cowork resume"), !does.is_empty(), "{does}");
    }
}

#[test]
fn a_conversation_it_no_longer_knows_begins_again() {
    let lost = "echo 'Error: no rollout found for thread id t-1' >&2; exit 1";
    let does = format!("case \"$*\" in *resume*) {lost};; esac\ntask_file\n{ENDS}");
    let sandbox = coding_by(&does);
    let outcome = sandbox.cowork(&CODING).exits(0);
    outcome.says("Session not found: Codex no longer knows t-1");
    let again = noted(&sandbox, "input.3");
    assert!(again.contains("# Rules") && again.contains("# The next task"), "{again}");
}

#[test]
fn what_a_killed_run_leaves_the_next_one_removes() {
    let sandbox = coding_by(&format!("task_file\n{ENDS}"));
    let mut command = sandbox.cowork_command(&CODING);
    command.env("COWORK_TEST_ABORT_AT", "agent.worktree-made");
    let status = command.output().unwrap().status;
    assert!(!status.success());
    assert!(place(&sandbox).join("tree/.git").exists());
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 2);
    // Also where a model writes by now.
    sandbox.user_config("");
    sandbox.cowork(&CODING).exits(0);
    has_left_nothing(&sandbox);
}

#[test]
fn what_a_program_cannot_do_is_said_before_anything_begins() {
    let refused = |sandbox: &Sandbox| {
        let outcome = sandbox.auto(&["--depth", "quick"]).exits(4);
        assert!(sandbox.refs("refs/heads/cowork").is_empty());
        assert!(!sandbox.root().join("notes/runs").exists());
        outcome
    };
    let sandbox = Sandbox::new();
    install(&sandbox, "codex", ENDS);
    install(&sandbox, "scribe", "echo so");
    sandbox.user_config("[llm]\nprovider = \"agent\"\nagent = \"codex\"\n");
    let outcome = refused(&sandbox);
    outcome.says("inside the sandbox, which has no network");
    sandbox.user_config("[models.x]\nprovider = \"agent\"\n");
    sandbox.auto(&[]).exits(4).says("names neither of agent and command");
    settle(&sandbox, "agent = \"codex\"", "[project]\nprivate = [\"secret\"]\n");
    refused(&sandbox).says("nothing here keeps these files from it");
    settle(&sandbox, "command = [\"scribe\"]", "[budget]\ntokens = 1000\n");
    refused(&sandbox).says("'worker' does not say how many tokens it uses");
    settle(&sandbox, "agent = \"codex\"", "[budget]\nusd = 1.0\n");
    refused(&sandbox).says("'worker' does not say what it costs");
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
fn a_signal_ends_it_and_keeps_what_it_has_written() {
    let sandbox = coding_by("task_file; touch \"$NOTES/ready\"; sleep 300.75");
    let ready = sandbox.root().join("notes/ready");
    let outcome = sandbox.cowork_watched(&CODING, |pid| {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        std::thread::spawn(move || {
            for _ in 0..600 {
                if ready.exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            kill_process(pid, Signal::INT)
        });
    });
    outcome.exits(130);
    let kept = sandbox.git(&["show", "refs/cowork/drafts/todo/coding:lib/store.sh"]);
    assert_eq!(format!("{kept}\n"), todo::code_of("TASK-001"));
    assert!(!sandbox.exists("lib/store.sh"));
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

#[test]
fn where_only_landlock_confines_it_works_and_reaches_nothing_outside() {
    if confinement() < Level::Landlock {
        return skipped("confinement by landlock, which this kernel has not");
    }
    let mut sandbox = coding_by("");
    sandbox.set_env("COWORK_TEST_SANDBOX", "landlock");
    let outside = sandbox.root().display().to_string();
    let does = format!(
        "task_file; echo x >'{outside}/out'; echo x >'{outside}/repo/out'\n\
         git commit -q --allow-empty -m mine; rm -f .git; echo x >\"$NOTES/went.on.$N\"\n{ENDS}"
    );
    install(&sandbox, "codex", &does);
    sandbox.cowork(&CODING).exits(0);
    assert_eq!(noted(&sandbox, "went.on.5"), "x\n");
    assert_eq!(sandbox.read("todo.sh"), todo::code_of("TASK-005"));
    assert!(!sandbox.root().join("out").exists() && !sandbox.exists("out"));
    assert!(!sandbox.git(&["log", "--format=%s", "--all"]).lines().any(|line| line == "mine"));
    has_left_nothing(&sandbox);
}
