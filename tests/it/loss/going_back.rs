//! Going back, forward again, and putting away, with uncommitted work of every kind.

use super::{Belongings, designed, keeps, scatter};
use crate::support::{Reply, Sandbox, at, todo};

const SESSION: &str = ".cowork/sessions/todo";

fn status(sandbox: &Sandbox) -> String {
    sandbox.git(&["status", "--porcelain", "--ignored"])
}

#[test]
fn work_that_is_not_in_the_way_stays_as_it_is() {
    let base = designed();
    scatter(&base);
    let before = status(&base);
    for args in [
        &["revert", "--to", "prd", "--no-run"][..],
        &["resume", "--goto-stage", "design", "--review", "auto", "--stop-after", "design"],
        &["revert", "--to", "idea", "--no-run"],
        &["archive"],
        &["delete", "todo", "--yes"],
    ] {
        let sandbox = base.fork();
        keeps(&sandbox, args, 0);
        assert_eq!(status(&sandbox), before, "{args:?}");
        let back: &[&str] = if args[0] == "archive" { &["restore", "todo"] } else { &["undo"] };
        keeps(&sandbox, back, 0);
        assert_eq!(status(&sandbox), before, "{args:?}, {back:?}");
        if args[0] != "archive" {
            keeps(&sandbox, &["undo"], 0);
            keeps(&sandbox, &["restore", "todo", "1"], 0);
            assert_eq!(status(&sandbox), before, "{args:?}, restored");
        }
    }
}

#[test]
fn a_persons_edits_of_the_sessions_documents_are_in_the_attempt() {
    let base = designed();
    let document = format!("{SESSION}/design.md");
    base.write(&document, "staged by hand\n");
    base.git(&["add", &document]);
    base.write(&document, "staged by hand, and changed again\n");
    base.write(&format!("{SESSION}/notes of mine.md"), "untracked, in the session's folder\n");
    base.write(&format!("{SESSION}/idea.md"), "an earlier document, by hand\n");
    base.write(&format!("{SESSION}/scratch.log"), "ignored, in the session's folder\n");
    base.write(&format!("{SESSION}/sketches/a.md"), "in a folder below\n");
    for args in [
        &["revert", "--to", "prd", "--no-run"][..],
        &["revert", "--to", "design", "--no-run"],
        &["archive"],
        &["delete", "todo", "--yes"],
    ] {
        let sandbox = base.fork();
        keeps(&sandbox, args, 0);
        if args[0] == "archive" {
            keeps(&sandbox, &["restore", "todo"], 0);
            keeps(&sandbox, &["restore", "todo", "1"], 0);
        } else {
            keeps(&sandbox, &["undo"], 0);
        }
        assert_eq!(sandbox.read(&document), "staged by hand, and changed again\n", "{args:?}");
        assert!(sandbox.exists(&format!("{SESSION}/notes of mine.md")), "{args:?}");
        keeps(&sandbox, &["undo"], if args[0] == "archive" { 5 } else { 0 });
    }
}

/// Pain 2: what an older `.gitignore` does not ignore is not the program's either.
#[test]
fn an_older_gitignore_makes_nothing_ours() {
    let sandbox = designed();
    sandbox.write(".gitignore", "*.log\n.env\nbuild/\ncache/\nlib/\n");
    sandbox.commit_all("ignore more");
    sandbox.write("cache/a", "ignored only now\n");
    sandbox.write("lib/store.sh", "ignored, where the code will come\n");
    keeps(&sandbox, &["revert", "--to", "prd", "--no-run"], 0);
    keeps(&sandbox, &["undo"], 0);
    keeps(&sandbox, &["revert", "--to", "design", "--no-run"], 0);
    keeps(&sandbox, &["archive"], 0);
    keeps(&sandbox, &["restore", "todo"], 0);
}

#[test]
fn what_lies_where_an_attempt_writes_is_not_overwritten() {
    let base = Sandbox::stopped_after("coding");
    base.cowork(&["revert", "--to", "plan", "--no-run"]).exits(0);
    base.write(".git/info/exclude", "add.sh\n");
    for (path, text) in [
        ("lib/add.sh", "mine, ignored or not\n"),
        ("lib", "a file where the folder was\n"),
        ("lib/add.sh/deep", "a folder where the file was\n"),
        (&format!("{SESSION}/plan.md"), "mine, in the session's folder\n"),
    ] {
        for args in [&["undo"][..], &["restore", "todo", "1"]] {
            let sandbox = base.fork();
            sandbox.write(path, text);
            let before = Belongings::of(&sandbox);
            let told = sandbox.cowork(args);
            before.assert_kept(&sandbox, &format!("{path} {args:?}\n{}", told.stderr));
            if !path.starts_with(".cowork") {
                assert_eq!(told.code, 5, "{path} {}", told.stderr);
                assert_eq!(sandbox.read(path), text);
            }
        }
    }
}

/// What it is called, and the person who does it.
type Edit = (&'static str, fn(&Sandbox));

#[test]
fn an_edit_in_the_way_of_going_back_is_not_overwritten() {
    let base = Sandbox::stopped_after("coding");
    let edits: [Edit; 5] = [
        ("edited", |s| s.write("lib/add.sh", "mine\n")),
        ("staged", |s| {
            s.write("lib/add.sh", "mine\n");
            s.git(&["add", "lib/add.sh"]);
        }),
        ("staged, then put back", |s| {
            let text = s.read("lib/add.sh");
            s.write("lib/add.sh", "mine, staged\n");
            s.git(&["add", "lib/add.sh"]);
            s.write("lib/add.sh", &text);
        }),
        ("renamed", |s| {
            s.git(&["mv", "lib/add.sh", "lib/plus.sh"]);
        }),
        ("beside, in the folder that goes", |s| s.write("lib/mine.txt", "mine\n")),
    ];
    for (what, edit) in edits {
        for args in
            [&["revert", "--to", "plan", "--no-run"][..], &["archive"], &["delete", "--yes"]]
        {
            let sandbox = base.fork();
            edit(&sandbox);
            let before = Belongings::of(&sandbox);
            let told = sandbox.cowork(args);
            before.assert_kept(&sandbox, &format!("{what} {args:?}\n{}", told.stderr));
            let beside = what.starts_with("beside");
            assert_eq!(told.code == 0, beside, "{what} {args:?}\n{}", told.stderr);
        }
    }
}

#[test]
fn an_unfinished_draft_and_what_a_person_changed_of_it_is_kept() {
    let base = designed();
    base.server.on(at("plan", "critic"), Reply::status(401, "no"));
    base.cowork(&["resume", "--review", "auto"]).exits(4);
    for args in [
        &["revert", "--to", "plan", "--no-run"][..],
        &["revert", "--to", "idea", "--no-run"],
        &["archive"],
        &["delete", "todo", "--yes"],
    ] {
        let sandbox = base.fork();
        sandbox.write(&format!("{SESSION}/plan.md"), "A plan of mine.\n");
        keeps_drafts_apart(&sandbox, args);
        let back: &[&str] = if args[0] == "archive" { &["restore", "todo"] } else { &["undo"] };
        keeps(&sandbox, back, 0);
    }
}

/// Archiving ends the drafts of a session; what they held last is in an attempt.
#[track_caller]
fn keeps_drafts_apart(sandbox: &Sandbox, args: &[&str]) {
    if args[0] != "archive" {
        keeps(sandbox, args, 0);
        return;
    }
    let draft = sandbox.blob("refs/cowork/drafts/todo/plan", &format!("{SESSION}/plan.md"));
    sandbox.cowork(args).exits(0);
    let attempts = sandbox.refs("refs/cowork/attempts/todo");
    let held = |text: &str| {
        attempts.iter().any(|a| {
            sandbox.git_outcome(&["show", &format!("{a}:{SESSION}/plan.md")]).stdout == text
        })
    };
    assert!(held("A plan of mine.\n"), "{attempts:?}");
    assert!(held(&draft), "{attempts:?}");
}

#[test]
fn an_edit_of_a_waiting_draft_survives_every_answer() {
    let base = designed();
    base.cowork(&["resume", "--review", "wait"]).exits(3);
    base.write(&format!("{SESSION}/plan.md"), "A plan of mine.\n");
    base.write("README.md", "# Mine\n");
    for args in [
        &["review", "--abort"][..],
        &["review", "--feedback", "no"],
        &["review", "--pass"],
        &["resume", "--goto-stage", "plan", "--review", "wait"],
        &["revert", "--to", "prd", "--no-run"],
    ] {
        let sandbox = base.fork();
        let before = Belongings::of(&sandbox);
        let told = sandbox.cowork(args);
        before.assert_kept(&sandbox, &format!("{args:?}\n{}", told.stderr));
        // And when it goes on.
        let before = Belongings::of(&sandbox);
        let told = sandbox.cowork(&["resume", "--review", "wait"]);
        before.assert_kept(&sandbox, &format!("{args:?}, resumed\n{}", told.stderr));
        assert_eq!(sandbox.read("README.md"), "# Mine\n");
    }
}

/// Pain 3: commits made since are behind a reference, and named.
#[test]
fn commits_of_a_persons_own_on_top_are_kept_and_named() {
    let base = designed();
    base.write("mine.txt", "mine\n");
    base.commit_all("my own work");
    for args in
        [&["revert", "--to", "prd", "--no-run"][..], &["delete", "todo", "--yes"], &["archive"]]
    {
        let sandbox = base.fork();
        let told = keeps(&sandbox, args, 0);
        if args[0] == "revert" {
            assert!(told.contains("3 commits of cowork/todo"), "{told}");
            assert!(told.contains("my own work"), "{told}");
            assert!(told.contains("git cowork restore todo 1"), "{told}");
            assert!(!told.contains("already"), "{told}");
        }
    }
    // So are those others may have by now.
    let sandbox = base.fork();
    sandbox.git(&["init", "-q", "--bare", "../hub"]);
    sandbox.git(&["remote", "add", "hub", "../hub"]);
    sandbox.git(&["push", "-q", "hub", "cowork/todo~1:refs/heads/cowork/todo"]);
    sandbox.git(&["fetch", "-q", "hub"]);
    let told = keeps(&sandbox, &["revert", "--to", "prd", "--no-run"], 0);
    assert!(told.contains("2 of the attempt's commits are on hub/cowork/todo already"), "{told}");
    // Going forward again leaves those made after going back.
    base.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    base.write("later.txt", "later\n");
    base.commit_all("my later work");
    keeps(&base, &["undo"], 0);
    keeps(&base, &["undo"], 0);
    assert_eq!(base.read("later.txt"), "later\n");
}

/// Pain 8: there and back as often as one likes.
#[test]
fn going_to_and_fro_piles_up_nothing_and_loses_nothing() {
    let sandbox = designed();
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    for stage in ["design", "prd", "idea"] {
        keeps(&sandbox, &["revert", "--to", stage, "--no-run"], 0);
        keeps(&sandbox, &["undo"], 0);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    }
    // With plain git it is the same: history says where it stands.
    sandbox.git(&["reset", "-q", "--keep", "HEAD~1"]);
    keeps(&sandbox, &["resume", "--review", "auto", "--stop-after", "design"], 0);
    sandbox.git(&["reset", "-q", "--keep", &tip]);
    keeps(&sandbox, &["resume", "--review", "auto", "--stop-after", "plan"], 0);
    assert_eq!(sandbox.server.requests_of("design", "actor").len(), 2, "once more");
}

#[test]
fn a_session_put_away_from_inside_its_working_tree_loses_nothing() {
    let mut sandbox = Sandbox::new();
    sandbox.auto(&["-w=../tree", "--stop-after", "idea"]).exits(0);
    sandbox.write("../tree/notes.txt", "mine\n");
    sandbox.write(&format!("../tree/{SESSION}/idea.md"), "by hand\n");
    sandbox.enter("../tree");
    for command in ["archive", "delete"] {
        let before = Belongings::of(&sandbox);
        let told = sandbox.cowork(&[command, "todo"]);
        before.assert_kept(&sandbox, &told.stderr);
        assert_eq!(told.code, 5, "{}", told.stderr);
        assert_eq!(sandbox.read(&format!("../tree/{SESSION}/idea.md")), "by hand\n");
    }
}

#[test]
fn a_models_wish_to_go_back_loses_nothing_either() {
    let sandbox = designed();
    scatter(&sandbox);
    sandbox.server.times(
        1,
        at("plan", "critic"),
        Reply::call("goto_stage", serde_json::json!({"stage": "prd", "reason": "too vague"})),
    );
    let before = super::belongings::Belongings::of(&sandbox);
    let uncommitted = status(&sandbox);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
    before.assert_kept(&sandbox, "goto_stage");
    assert_eq!(status(&sandbox), uncommitted);
    assert_eq!(sandbox.artifact("prd.md"), todo::PRD);
}
