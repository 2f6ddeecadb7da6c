//! What `status` and the bare command say comes next after a run that could not go on.

use serde_json::json;

use crate::support::todo::{PRD, reject};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];

/// What both say.
fn both(sandbox: &Sandbox) -> [String; 2] {
    [&["status"][..], &[]].map(|args| sandbox.cowork(args).exits(0).stdout)
}

#[track_caller]
fn both_say(sandbox: &Sandbox, lines: &[&str]) {
    for shown in both(sandbox) {
        for line in lines {
            assert!(shown.contains(line), "{line} is not in\n{shown}");
        }
    }
}

#[test]
fn after_a_reached_budget_the_next_step_is_to_raise_it() {
    for (key, limit, more) in [("tokens", "1000", "2000"), ("requests", "4", "8")] {
        let sandbox = Sandbox::new();
        sandbox.user_config(&format!("[budget]\n{key} = {limit}\n"));
        let told = sandbox.auto(&[]).exits(4).stderr;
        let raise = format!("git config cowork.budget.{key} {more}");
        assert!(told.contains(&raise), "{told}");
        let stopped = format!("Stopped  the session's budget of {key} is reached: ");
        let exceed =
            format!("Stopped  the next request would exceed the session's budget of {key}");
        for shown in both(&sandbox) {
            assert!(shown.contains(&stopped) || shown.contains(&exceed), "{shown}");
        }
        let then = "         then: git cowork resume todo\n";
        both_say(&sandbox, &[&format!("Next     {raise}\n{then}")]);
        // Also from elsewhere.
        sandbox.git(&["switch", "-q", "main"]);
        let shown = sandbox.cowork(&[]).exits(0).stdout;
        assert!(shown.contains(&raise), "{shown}");
        sandbox.git(&["switch", "-q", "cowork/todo"]);
        // Once it is raised, that is all.
        sandbox.git(&["config", &format!("cowork.budget.{key}"), "100000"]);
        both_say(&sandbox, &["Next     git cowork resume todo\n"]);
        assert!(both(&sandbox).iter().all(|shown| !shown.contains("Stopped")));
        sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    }
}

#[test]
fn a_price_nobody_knows_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[budget]\nusd = 5.0\n");
    sandbox.auto(&[]).exits(4);
    let price = "Next     git config cowork.budget.prices.scripted.in DOLLARS\n         \
                 then: git config cowork.budget.prices.scripted.out DOLLARS\n         \
                 then: git cowork resume todo\n";
    both_say(&sandbox, &["Stopped  cannot enforce the session's budget of money", price]);
    for key in ["in", "out"] {
        sandbox.git(&["config", &format!("cowork.budget.prices.scripted.{key}"), "0"]);
    }
    both_say(&sandbox, &["Next     git cowork resume todo\n"]);
}

/// One PRD draft is allowed and refused.
fn refused() -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config("[limits]\niterations = { prd = 1 }\n");
    sandbox.server.times(1, at("prd", "critic"), reject("no user is named"));
    sandbox.cowork(&RESUME).exits(1);
    sandbox
}

#[test]
fn after_the_drafts_are_used_up_a_person_is_asked_for() {
    let sandbox = refused();
    both_say(
        &sandbox,
        &[
            "Stopped  prd: the only draft was refused\n",
            "Next     git cowork resume todo\n",
            "         or allow more drafts: git config cowork.limits.iterations.prd 3\n",
            "draft 1 of prd (git show refs/cowork/drafts/todo/prd)",
        ],
    );
    // Asking again changes nothing, allowing more does.
    sandbox.cowork(&RESUME).exits(1);
    both_say(&sandbox, &["Stopped  prd"]);
    sandbox.git(&["config", "cowork.limits.iterations.prd", "3"]);
    both_say(&sandbox, &["Next     git cowork resume todo\n"]);
    sandbox.cowork(&RESUME).exits(0);
    assert!(both(&sandbox).iter().all(|shown| !shown.contains("Stopped")));
}

#[test]
fn a_persons_word_unblocks_the_session() {
    let sandbox = refused();
    let mut terminal = sandbox.terminal(&RESUME);
    terminal.sees("What now");
    terminal.sees("resume asks again");
    terminal.types("1");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    both_say(&sandbox, &["Next     git cowork resume todo\n"]);
}

#[test]
fn a_role_that_goes_round_is_named() {
    let sandbox = Sandbox::stopped_after("idea");
    let goes_round = Reply::call("read_file", json!({"path": "no"}));
    sandbox.server.on(at("prd", "actor"), goes_round);
    sandbox.cowork(&RESUME).exits(1);
    both_say(
        &sandbox,
        &[
            "Stopped  prd: the actor: ",
            "         or let the draft wait for an answer: git cowork resume todo --review wait\n",
        ],
    );
}

#[test]
fn the_bare_command_names_a_draft_that_is_kept() {
    let sandbox = Sandbox::stopped_after("idea");
    // A call that fails is looked at in another turn.
    let save = Reply::call("save_prd_doc", json!({"content": PRD}))
        .and("read_file", json!({"path": "nowhere.txt"}));
    let gone = Reply::status(401, "enough");
    sandbox.server.sequence(at("prd", "actor"), vec![save, gone]);
    sandbox.cowork(&RESUME).exits(4);
    let kept = "draft 1 of prd, not finished (git show refs/cowork/drafts/todo/prd)";
    both_say(&sandbox, &[kept, "Next     git cowork resume todo\n"]);
}

/// The command after `Next`, which both commands and pasting it agree on.
#[track_caller]
fn next(sandbox: &Sandbox) -> String {
    let both = both(sandbox).map(|shown| {
        let line = shown.lines().find_map(|line| line.strip_prefix("Next     "));
        line.unwrap_or_else(|| panic!("nothing comes next:\n{shown}")).to_owned()
    });
    assert_eq!(both[0], both[1]);
    both[0].clone()
}

#[track_caller]
fn paste(sandbox: &Sandbox, line: &str) {
    let mut shell = sandbox.command("sh");
    let output = shell.args(["-c", line]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_was_started_on_no_branch_is_merged_into_one_that_is_named() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-q", "--detach"]);
    sandbox.auto(&[]).exits(0);
    assert_eq!(next(&sandbox), "git cowork merge todo --into main");
    paste(&sandbox, &next(&sandbox));
    assert!(sandbox.git(&["log", "-1", "--format=%B", "main"]).contains("Cowork-Event: merge"));
    // Where there is no such branch, the report can be read.
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-q", "--detach"]);
    sandbox.git(&["branch", "-q", "-D", "main"]);
    sandbox.auto(&[]).exits(0);
    assert_eq!(next(&sandbox), "git cowork show todo report");
    paste(&sandbox, &next(&sandbox));
}

#[test]
fn in_a_linked_worktree_the_merge_is_made_where_the_base_is() {
    let mut sandbox = Sandbox::new();
    sandbox.auto(&["-w=../side"]).exits(0);
    let main = sandbox.repo();
    sandbox.enter("../side");
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    let line = shown.lines().find_map(|line| line.strip_prefix("Next     ")).unwrap();
    let place = main.canonicalize().unwrap();
    assert_eq!(line, format!("git -C {} cowork merge todo", place.display()));
    paste(&sandbox, line);
}

#[test]
fn a_draft_that_waits_in_another_working_tree_is_answered_there() {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(3);
    let place = sandbox.repo().canonicalize().unwrap();
    sandbox.git(&["worktree", "add", "-q", "--detach", "../side"]);
    sandbox.enter("../side");
    for args in [&["status", "todo"][..], &[]] {
        let shown = sandbox.cowork(args).exits(0).stdout;
        let line = shown.lines().find_map(|line| line.strip_prefix("Next     ")).unwrap();
        assert_eq!(line, format!("git -C {} cowork review todo", place.display()));
    }
}

#[test]
fn a_clone_of_a_sessions_branch_is_not_merged_into_itself() {
    let mut sandbox = Sandbox::delivered();
    sandbox.git(&["clone", "-q", ".", "../clone"]);
    sandbox.enter("../clone");
    assert_eq!(next(&sandbox), "git cowork show todo report");
}

#[test]
fn in_a_merge_gits_own_next_step_comes_first() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.git(&["switch", "-q", "-c", "mine", "main"]);
    for (branch, text) in [("mine", "one\n"), ("main", "two\n")] {
        sandbox.git(&["switch", "-q", branch]);
        sandbox.write("both.txt", text);
        sandbox.commit_all(branch);
    }
    assert!(!sandbox.command("git").args(["merge", "-q", "mine"]).status().unwrap().success());
    let status = || {
        let shown = sandbox.cowork(&["status", "todo"]).exits(0).stdout;
        let bare = sandbox.cowork(&[]).exits(0).stdout;
        let last = |text: &str| text.lines().rev().take(2).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(last(&shown)[0], last(&bare)[0], "{shown}{bare}");
        last(&shown)
    };
    let merging = "Stopped  a merge is in progress";
    assert_eq!(status(), ["Next     git status", merging]);
    sandbox.write("both.txt", "one and two\n");
    sandbox.git(&["add", "both.txt"]);
    assert_eq!(status(), ["Next     git merge --continue", merging]);
    paste(&sandbox, "GIT_EDITOR=true git merge --continue");
    assert_eq!(status()[0], "Next     git cowork resume todo");
}

#[test]
fn an_archived_session_is_restored_and_a_delivered_one_merged_from_main() {
    let sandbox = Sandbox::delivered();
    sandbox.git(&["switch", "-q", "main"]);
    let shown = sandbox.cowork(&[]).exits(0).stdout;
    assert!(shown.ends_with("\nNext     git cowork merge todo\n"), "{shown}");
    sandbox.cowork(&["archive", "todo"]).exits(0);
    let shown = sandbox.cowork(&[]).exits(0).stdout;
    assert!(shown.contains("others are merged or archived (git cowork list --all)"), "{shown}");
    sandbox.cowork(&["status"]).exits(5).says("look at all: git cowork list --all");
    let shown = sandbox.cowork(&["status", "todo"]).exits(0).stdout;
    assert!(shown.ends_with("\nNext     git cowork restore todo\n"), "{shown}");
    paste(&sandbox, "git cowork restore todo");
    sandbox.git(&["switch", "-q", "-c", "mine", "main"]);
    let merged = sandbox.cowork(&["merge", "todo"]).exits(0);
    merged.says("you are on main now; go back: git switch mine");
    let shown = sandbox.cowork(&[]).exits(0).stdout;
    assert!(shown.ends_with("\nNext     git cowork new \"what you want built\"\n"), "{shown}");
}
