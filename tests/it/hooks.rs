//! Hooks of the repository that change what is committed, or refuse until somebody fixes them.

use crate::support::Sandbox;
use crate::support::server::Received;

/// A formatter in a hook: capitals in the PRD, added to the commit.
const SHOUTING: &str = "f=.cowork/sessions/todo/prd.md\ntest -f $f || exit 0\n\
                        sed 's/Tick/TICK/' $f > $f.new && mv $f.new $f && git add $f";

#[test]
fn what_a_hook_changes_is_approved_again_before_it_counts() {
    let sandbox = Sandbox::new();
    sandbox.hook("pre-commit", SHOUTING);
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let commit = sandbox.stage_commit("prd");
    assert!(sandbox.blob(&commit, ".cowork/sessions/todo/prd.md").contains("TICK"));
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    let blob = sandbox.git(&["rev-parse", &format!("{commit}:.cowork/sessions/todo/prd.md")]);
    let approved = &sandbox.trailers(&commit)["Cowork-Approved"].join(" ");
    assert!(approved.contains(&format!("prd.md@{}", &blob[..12])), "{approved}");
    sandbox.assert_sound();
    sandbox.assert_clean();
}

#[test]
fn a_person_sees_what_a_hook_changed() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.hook("pre-commit", SHOUTING);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees("stop for now");
    terminal.types("p");
    let shown = terminal.sees("stop for now");
    assert!(shown.contains("hook changed") && shown.contains("TICK"), "{shown}");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    sandbox.assert_sound();
}

#[test]
fn a_hook_that_never_ends_changing_is_named() {
    let sandbox = Sandbox::new();
    sandbox.hook(
        "pre-commit",
        "f=.cowork/sessions/todo/prd.md\ntest -f $f || exit 0\necho again >> $f && git add $f",
    );
    sandbox.auto(&["--stop-after", "prd"]).exits(5).says("every commit");
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
    sandbox.assert_sound();
}

#[test]
fn a_task_refused_until_drafts_ran_out_is_committed_once_the_hook_is_fixed() {
    let sandbox = Sandbox::new();
    sandbox.hook(
        "pre-commit",
        "git diff --cached --name-only | grep -q lib/add.sh || exit 0\n\
         echo 'the linter is broken' >&2; exit 1",
    );
    sandbox.user_config("[limits.iterations]\ncoding = 3\n");
    sandbox.auto(&[]).exits(1).says("the linter is broken");
    sandbox.assert_clean();
    let resume = ["resume", "--review", "auto"];
    sandbox.server.forget();
    sandbox.cowork(&resume).exits(1).says("the linter is broken");
    let asked: Vec<_> = sandbox.server.requests().iter().map(Received::position).collect();
    assert!(asked.is_empty(), "nothing has changed: nobody is asked: {asked:?}");

    sandbox.hook("pre-commit", "exit 0");
    sandbox.cowork(&resume).exits(0);
    let asked = sandbox.server.requests_of("coding", "actor");
    let tasks: Vec<_> = asked.iter().filter_map(|request| request.task.clone()).collect();
    assert!(!tasks.iter().any(|task| task == "TASK-001" || task == "TASK-002"), "{tasks:?}");
    for task in ["TASK-001", "TASK-002", "TASK-003", "TASK-004", "TASK-005"] {
        sandbox.commit_of("cowork/todo", &format!("coding: {task} "));
    }
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
    assert!(sandbox.git(&["show", "--name-only", &commit]).contains("lib/add.sh"));
    sandbox.assert_sound();
    sandbox.assert_clean();
}

/// Appends a line to one file of the code, once, in the commit that follows the last task's.
fn after_the_last_task(line: &str) -> String {
    format!(
        "git log -1 --format=%s | grep -q TASK-005 || exit 0\n\
         test -e .git/once && exit 0\n\
         : > .git/once && echo '{line}' >> lib/add.sh && git add lib/add.sh"
    )
}

#[test]
fn white_space_a_hook_changes_in_code_is_no_change_and_words_are() {
    for (line, approvals) in [("", 1), ("# A line nobody saw.", 2)] {
        let sandbox = Sandbox::stopped_after("plan");
        sandbox.hook("pre-commit", &after_the_last_task(line));
        sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
        assert!(sandbox.blob("HEAD", "lib/add.sh").ends_with(&format!("{line}\n")));
        let critics = sandbox.server.requests_of("coding", "critic").len();
        assert_eq!(critics, approvals, "{line:?}");
        sandbox.assert_sound();
    }
}

#[test]
fn a_paragraph_a_hook_adds_to_the_message_hides_nothing() {
    let sandbox = Sandbox::new();
    sandbox.hook("prepare-commit-msg", "printf '\\nChange-Id: I17\\n' >> \"$1\"");
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    assert_eq!(sandbox.server.requests_of("idea", "actor").len(), 1, "idea is drafted once");
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["stage"], "design");
}

#[test]
fn a_hook_that_takes_the_trailers_away_ends_the_run() {
    let sandbox = Sandbox::new();
    sandbox.hook("commit-msg", "echo mine > \"$1\"");
    let before = sandbox.refs("refs");
    sandbox.auto(&[]).exits(5).says("took the trailers out");
    assert_eq!(sandbox.refs("refs"), before, "nothing was begun");
    sandbox.assert_clean();

    sandbox.hook("commit-msg", "exit 0");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let tip = sandbox.git(&["rev-parse", "cowork/todo"]);
    sandbox.hook("commit-msg", "echo mine > \"$1\"");
    let resume = ["resume", "--review", "auto", "--stop-after", "prd"];
    sandbox.cowork(&resume).exits(5).says("took the trailers out");
    assert_eq!(sandbox.git(&["rev-parse", "cowork/todo"]), tip, "it was taken off again");
    sandbox.hook("commit-msg", "exit 0");
    sandbox.server.forget();
    sandbox.cowork(&resume).exits(0);
    assert!(sandbox.server.requests().is_empty(), "the draft and its verdict are kept");
    sandbox.assert_sound();
    sandbox.assert_clean();
}

/// Everything the commits of the session hold outside `.cowork`.
fn code_in_session(sandbox: &Sandbox) -> String {
    sandbox.git(&["log", "--format=", "--name-only", "main..cowork/todo", "--", ":!.cowork"])
}

#[test]
fn a_hook_that_adds_everything_puts_nothing_of_a_persons_into_a_commit() {
    Sandbox::of_everybody().for_each(|sandbox| stays_a_persons(&sandbox));
}

fn stays_a_persons(sandbox: &Sandbox) {
    sandbox.commit_file(".gitignore", "*.log\n", "ignore");
    sandbox.write("notes.txt", "mine\n");
    sandbox.write("README.md", "# Mine now\n");
    sandbox.write("staged.txt", "mine\n");
    sandbox.git(&["add", "staged.txt"]);
    sandbox.hook("pre-commit", "git add -A");
    let before = sandbox.all_refs();
    let refused = sandbox.auto(&["--stop-after", "idea"]).exits(5);
    refused.says("pre-commit hook").says("notes.txt").says("README.md");
    assert_eq!(sandbox.all_refs(), before, "nothing was begun");
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "staged.txt");
    sandbox.hook("pre-commit", "exit 0");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    // What came later is a person's as well, and so is what git ignores.
    for (hook, path) in [("git add -A", "later.txt"), ("git add -f debug.log", "debug.log")] {
        let tip = sandbox.git(&["rev-parse", "cowork/todo"]);
        sandbox.write(path, "mine\n");
        sandbox.hook("pre-commit", hook);
        sandbox.cowork(&["resume", "--review", "auto"]).exits(5).says("pre-commit hook").says(path);
        assert_eq!(sandbox.git(&["rev-parse", "cowork/todo"]), tip, "{hook}");
        sandbox.hook("pre-commit", "exit 0");
    }
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let taken = code_in_session(sandbox);
    for mine in ["notes.txt", "README.md", "staged.txt", "later.txt", "debug.log"] {
        assert!(!taken.contains(mine), "{taken}");
        assert!(sandbox.read(mine).contains("ine"), "{mine}");
    }
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "staged.txt");
}

#[test]
fn what_a_hook_makes_itself_is_told() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.hook(
        "pre-commit",
        "test -e lib/add.sh || exit 0\nls lib > index.txt && git add index.txt",
    );
    let run = sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    run.says("the pre-commit hook added to the commit: index.txt");
    assert!(code_in_session(&sandbox).contains("index.txt"));
    sandbox.assert_sound();
    sandbox.assert_clean();
}

/// Fixes files and refuses, as the formatters of pre-commit do: the second commit passes. It touches
/// a file beside those of the commit, too.
const FIXER: &str = "code=0\n\
    for f in $(git diff --cached --name-only --diff-filter=AM); do\n\
    case $f in lib/*.sh|*/prd.md) ;; *) continue ;; esac\n\
    tail -n 1 \"$f\" | grep -q . || continue\n\
    echo >>\"$f\"; echo \"Fixing $f\"; echo touched >>README.md; code=1\n\
    done\n\
    test $code = 0 || echo '- files were modified by this hook'; exit $code";

#[test]
fn what_a_refusing_hook_fixed_is_committed_without_a_request() {
    let asked = |sandbox: &Sandbox| -> Vec<_> {
        sandbox.server.requests().iter().map(Received::position).collect()
    };
    let plain = Sandbox::new();
    plain.auto(&[]).exits(0);
    let sandbox = Sandbox::new();
    sandbox.hook("pre-commit", FIXER);
    let readme = sandbox.read("README.md");
    let run = sandbox.auto(&[]).exits(0);
    run.says("committed as the refusing hook left them: lib/add.sh (pre-commit)")
        .says("the pre-commit hook changed README.md, or you did meanwhile: it was restored");
    assert_eq!(asked(&sandbox), asked(&plain), "no request was made because of the hook");
    assert!(sandbox.blob("HEAD", "lib/add.sh").ends_with("\n\n"));
    assert_eq!(sandbox.read("README.md"), readme);
    sandbox.assert_sound();
    sandbox.assert_clean();
}

#[test]
fn refusals_that_were_fixed_do_not_count_as_a_loop() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.hook(
        "pre-commit",
        "f=$(git diff --cached --name-only | grep '^lib/' | head -n 1)\n\
         test -n \"$f\" || exit 0\nseen=.git/seen-$(basename \"$f\")\n\
         test -e \"$seen\" && exit 0\n: >\"$seen\"; echo 'lint: the license header is missing'; exit 1",
    );
    let run = sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    assert!(!run.stderr.contains("rejections in a row"), "{}", run.stderr);
    assert!(run.stderr.matches("license header").count() > 2, "{}", run.stderr);
    sandbox.assert_sound();
}

#[test]
fn a_hook_that_refuses_generated_files_ends_the_run_with_the_way_out() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".pre-commit-config.yaml", "repos: []\n", "hooks");
    sandbox.hook(
        "pre-commit",
        "f=$(git diff --cached --name-only | grep requirements.json) || exit 0\n\
         echo \"$f: not sorted\"; exit 1",
    );
    let run = sandbox.auto(&[]).exits(5);
    run.says("not sorted").says("files that only git-cowork writes").says(r"exclude: ^\.cowork/");
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), 1, "nobody was asked again");
    sandbox.hook("pre-commit", "exit 0");
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert!(sandbox.server.requests_of("prd", "actor").is_empty(), "the draft was kept");
    sandbox.assert_sound();
}
