//! Records of two branches: merged, rebased or picked with git, and the JSON that follows from them.

mod approvals;
mod clean;
mod matrix;
mod tasks;

use serde_json::Value;

use crate::support::{Sandbox, todo};

const DIR: &str = ".cowork/sessions/todo";

/// An edit of a document: file, what is there, what it becomes.
type Edit<'a> = (&'a str, &'a str, &'a str);
/// What it is about, the edits of both sides, what the result holds.
type Case<'a> = (&'a str, &'a [Edit<'a>], &'a [Edit<'a>], &'a [&'a str]);

/// How two branches meet.
const WAYS: [&str; 3] = ["merge", "rebase", "cherry-pick"];

fn write(sandbox: &Sandbox, edits: &[Edit<'_>]) {
    for (file, from, to) in edits {
        let path = format!("{DIR}/{file}");
        let text = sandbox.read(&path);
        assert!(text.contains(from), "no {from:?} in {text}");
        sandbox.write(&path, &text.replacen(from, to, 1));
    }
}

/// A person edits documents, and the JSON follows them in the same commit.
fn edit(sandbox: &Sandbox, edits: &[Edit<'_>]) {
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    write(sandbox, edits);
    sandbox.git(&["commit", "-q", "-a", "-m", "by hand"]);
    sandbox.cowork(&["verify", "--fix"]);
    sandbox.git(&["reset", "-q", "--soft", &before]);
    sandbox.git(&["commit", "-q", "-m", "by hand"]);
}

/// What the session's branch and another one made of the same commit meet.
fn meet(sandbox: &Sandbox, way: &str, ours: &[Edit<'_>], theirs: &[Edit<'_>]) -> bool {
    sandbox.git(&["branch", "begun"]);
    edit(sandbox, theirs);
    sandbox.git(&["branch", "-q", "-f", "theirs"]);
    sandbox.git(&["reset", "-q", "--hard", "begun"]);
    edit(sandbox, ours);
    match way {
        "merge" => {
            let args = ["merge", "-q", "--no-ff", "-m", "Merge theirs", "theirs"];
            sandbox.git_outcome(&args).code == 0
        }
        "cherry-pick" => sandbox.git_outcome(&["cherry-pick", "begun..theirs"]).code == 0,
        _ => {
            sandbox.git(&["branch", "-q", "-f", "ours"]);
            sandbox.git(&["reset", "-q", "--hard", "theirs"]);
            sandbox.git_outcome(&["rebase", "-q", "ours"]).code == 0
        }
    }
}

/// Solves what is left, as often as git stops, and ends the operation.
fn solve(sandbox: &Sandbox, name: &str, way: &str) {
    for _ in 0..5 {
        let unmerged = || sandbox.git(&["diff", "--name-only", "--diff-filter=U"]);
        // Where all that the other side did was there already, nothing is unmerged.
        if !unmerged().is_empty() {
            let outcome = sandbox.cowork(&["verify", "--fix"]);
            assert_eq!(outcome.code, 0, "{name} by {way}: {} {}", outcome.stdout, outcome.stderr);
        }
        assert_eq!(unmerged(), "", "{way}");
        let go_on = match way {
            "merge" => sandbox.git_outcome(&["commit", "-q", "--no-edit"]),
            _ => sandbox.git_outcome(&["-c", "core.editor=true", way, "--continue"]),
        };
        if go_on.code == 0 {
            return;
        }
        if go_on.stderr.contains("is now empty") {
            sandbox.git(&[way, "--skip"]);
            return;
        }
    }
    panic!("{way} does not end");
}

/// The ids of a list at the tip.
fn ids(sandbox: &Sandbox, file: &str, list: &str) -> Vec<String> {
    let text = sandbox.blob("HEAD", &format!("{DIR}/{file}"));
    let all: Value = serde_json::from_str(&text).unwrap();
    let ids = all[list].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

/// No problem of records is left.
fn assert_whole(sandbox: &Sandbox) {
    let problems = sandbox.cowork(&["verify", "--json"]).json_lines();
    let bad = ["records-differ", "unreadable-record", "duplicate-id", "schema", "conflict-marker"];
    let bad: Vec<&Value> =
        problems.iter().filter(|one| bad.iter().any(|code| one["code"] == *code)).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

const AFTER_REQUIREMENTS: &str = "\n## Features\n";

#[test]
fn what_two_branches_did_to_records_meets_by_merge_rebase_and_cherry_pick() {
    let export = format!("{}{AFTER_REQUIREMENTS}", todo::requirement_section("REQ-004", "Export"));
    let import = format!("{}{AFTER_REQUIREMENTS}", todo::requirement_section("REQ-004", "Import"));
    let moved = todo::requirement_section("REQ-001", "Add a todo");
    let behind = format!("{moved}{AFTER_REQUIREMENTS}");
    let cases: [Case<'_>; 8] = [
        (
            "neighbours",
            &[("prd.md", "REQ-001 Add a todo", "REQ-001 Add one")],
            &[("prd.md", "REQ-002 List todos", "REQ-002 List all")],
            &["REQ-001 Add one", "REQ-002 List all"],
        ),
        (
            "two fields of one record",
            &[("prd.md", "REQ-001 Add a todo\n\n`high`", "REQ-001 Add a todo\n\n`low`")],
            &[("prd.md", "REQ-001 Add a todo", "REQ-001 Add one")],
            &["REQ-001 Add one\n\n`low` `functional`"],
        ),
        (
            "items at one place",
            &[("prd.md", "- List todos works\n", "- List todos works\n- ours\n")],
            &[("prd.md", "- List todos works\n", "- List todos works\n- theirs\n")],
            &["- List todos works\n- ours\n- theirs\n"],
        ),
        (
            "two new records",
            &[("prd.md", AFTER_REQUIREMENTS, &export)],
            &[("prd.md", AFTER_REQUIREMENTS, &import)],
            &["### REQ-004 Export", "### REQ-005 Import"],
        ),
        (
            "a new record that a feature names",
            &[("prd.md", AFTER_REQUIREMENTS, &export)],
            &[
                ("prd.md", AFTER_REQUIREMENTS, &import),
                (
                    "prd.md",
                    "FEAT-002 Reading and ticking\n\n`REQ-002`",
                    "FEAT-002 Reading and ticking\n\n`REQ-004` `REQ-002`",
                ),
            ],
            &["### REQ-005 Import", "`REQ-005`"],
        ),
        (
            "moved and changed",
            &[("prd.md", &moved, ""), ("prd.md", AFTER_REQUIREMENTS, &behind)],
            &[("prd.md", "- Add a todo works", "- it works at once")],
            &["- it works at once"],
        ),
        (
            "deleted and another one changed",
            &[
                ("prd.md", "`REQ-002` `REQ-003`", "`REQ-002`"),
                (
                    "prd.md",
                    "\n### REQ-003 Tick a todo off\n\n`high` `functional`\n\nA user can: Tick a todo off.\n\n- Tick a todo off works\n",
                    "",
                ),
            ],
            &[("prd.md", "- List todos works", "- it lists")],
            &["- it lists", "FEAT-002"],
        ),
        (
            "paths of one task",
            &[("plan.md", "`lib/store.sh`", "`lib/store.sh` `lib/a.sh`")],
            &[("plan.md", "`lib/store.sh`", "`lib/store.sh` `lib/b.sh`")],
            &["`lib/store.sh` `lib/a.sh` `lib/b.sh`"],
        ),
    ];
    let begun = Sandbox::stopped_after("plan");
    for (name, ours, theirs, expected) in cases {
        for way in WAYS {
            let sandbox = begun.fork();
            if !meet(&sandbox, way, ours, theirs) {
                solve(&sandbox, name, way);
            }
            sandbox.cowork(&["verify", "--fix"]);
            let read = |file: &str| sandbox.blob("HEAD", &format!("{DIR}/{file}"));
            let all = format!("{}{}", read("prd.md"), read("plan.md"));
            for text in expected {
                assert!(all.contains(text), "{name} by {way}: no {text:?} in\n{all}");
            }
            assert_whole(&sandbox);
            if name == "two new records" {
                let ids = ids(&sandbox, "requirements.json", "requirements");
                assert_eq!(ids, ["REQ-001", "REQ-002", "REQ-003", "REQ-004", "REQ-005"], "{way}");
            }
        }
    }
}

#[test]
fn true_conflicts_are_named_and_left_to_a_person() {
    let begun = Sandbox::stopped_after("plan");
    let deleted: &[Edit<'_>] = &[
        ("prd.md", "`REQ-002` `REQ-003`", "`REQ-002`"),
        (
            "prd.md",
            "\n### REQ-003 Tick a todo off\n\n`high` `functional`\n\nA user can: Tick a todo off.\n\n- Tick a todo off works\n",
            "",
        ),
    ];
    let cases: [(&[Edit<'_>], &[Edit<'_>], &str); 2] = [
        (
            &[("prd.md", "REQ-001 Add a todo", "REQ-001 Ours")],
            &[("prd.md", "REQ-001 Add a todo", "REQ-001 Theirs")],
            "prd.md: title of REQ-001 was changed on both sides",
        ),
        (
            deleted,
            &[("prd.md", "- Tick a todo off works", "- it ticks")],
            "prd.md: REQ-003 was deleted on one side and changed on the other",
        ),
    ];
    for (ours, theirs, said) in cases {
        for way in WAYS {
            let sandbox = begun.fork();
            assert!(!meet(&sandbox, way, ours, theirs), "{said}");
            let outcome = sandbox.cowork(&["verify", "--fix"]).exits(1);
            assert!(outcome.stdout.contains(said), "{way}: {}", outcome.stdout);
            let unmerged = sandbox.git(&["diff", "--name-only", "--diff-filter=U"]);
            assert!(unmerged.contains("prd.md"), "{way}: {unmerged}");
        }
    }
}

#[test]
fn verify_names_file_line_and_record_and_writes_the_json_again() {
    let sandbox = Sandbox::delivered();
    write(&sandbox, &[("prd.md", "REQ-002 List todos", "REQ-002 List everything")]);
    sandbox.git(&["commit", "-q", "-a", "-m", "by hand"]);
    let line = todo::PRD.lines().position(|line| line.contains("### REQ-002")).unwrap() + 1;
    let problems = sandbox.cowork(&["verify", "--json"]).exits(1).json_lines();
    let found = problems.iter().find(|one| one["code"] == "records-differ").unwrap();
    let said = format!("{DIR}/prd.md:{line}: REQ-002 differs from requirements.json: title");
    assert_eq!(found["details"], said);
    assert_eq!((&found["about"], &found["fixable"]), (&"REQ-002".into(), &true.into()));
    sandbox.cowork(&["verify", "--fix"]);
    let json = sandbox.blob("HEAD", &format!("{DIR}/requirements.json"));
    assert!(json.contains("\"List everything\""), "{json}");
    assert_whole(&sandbox);
}

#[test]
fn json_that_cannot_be_read_is_written_again_by_the_next_command() {
    let begun = Sandbox::stopped_after("prd");
    let path = format!("{DIR}/requirements.json");
    let before = begun.read(&path);
    begun.write(&path, "{\"requirements\": [{");
    begun.git(&["commit", "-q", "-a", "-m", "by hand"]);
    let found = begun.cowork(&["verify"]).exits(1).stdout;
    assert!(found.contains("requirements.json cannot be read"), "{found}");
    let fixed = begun.fork();
    fixed.cowork(&["verify", "--fix"]).exits(0);
    assert_eq!(fixed.blob("HEAD", &path), before);
    let told = begun.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    assert!(
        told.stderr.contains("requirements.json was regenerated from prd.md"),
        "{}",
        told.stderr
    );
    assert_eq!(begun.blob("HEAD", &path), before);
}

#[test]
fn committed_markdown_that_cannot_be_read_stops_what_writes() {
    let sandbox = Sandbox::stopped_after("prd");
    write(
        &sandbox,
        &[("prd.md", "REQ-002 List todos\n\n`high`", "REQ-002 List todos\n\n`urgent`")],
    );
    sandbox.git(&["commit", "-q", "-a", "-m", "by hand"]);
    let line = todo::PRD.lines().position(|line| line.contains("### REQ-002")).unwrap() + 1;
    let outcome = sandbox.cowork(&["resume", "--review", "auto"]).exits(5);
    assert!(outcome.stderr.contains(&format!("{DIR}/prd.md:{}", line + 2)), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("'urgent' is not a priority"), "{}", outcome.stderr);
    let found = sandbox.cowork(&["verify"]).exits(1).stdout;
    assert!(found.contains("unreadable-record"), "{found}");
    for shows in [&["status"][..], &["log"], &["show", "prd"], &["list"]] {
        let told = sandbox.cowork(shows).exits(0).stderr;
        assert!(told.contains("'urgent' is not a priority"), "{shows:?}: {told}");
    }
}

#[test]
fn json_broken_only_in_the_working_tree_is_written_again_and_kept() {
    let sandbox = Sandbox::stopped_after("prd");
    let path = format!("{DIR}/requirements.json");
    let (before, broken) = (sandbox.read(&path), "{\"requirements\": [{\"title\": \"mine\"");
    sandbox.write(&path, broken);
    let told = sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    let line = told.stderr.lines().find(|line| line.contains("was regenerated from prd.md"));
    let line = line.unwrap_or_else(|| panic!("{}", told.stderr));
    let kept = line.split("git show ").nth(1).unwrap();
    assert_eq!(sandbox.git_outcome(&["show", kept]).exits(0).stdout, broken);
    assert_eq!(sandbox.read(&path), before);
    sandbox.assert_sound();
}

#[test]
fn json_that_a_person_corrected_beside_a_broken_commit_is_kept() {
    let begun = Sandbox::stopped_after("prd");
    let path = format!("{DIR}/requirements.json");
    let corrected = begun.read(&path).replace("List todos", "List all of them");
    begun.write(&path, "{\"requirements\": [{");
    begun.git(&["commit", "-q", "-a", "-m", "by hand"]);
    begun.write(&path, &corrected);
    for command in
        [&["resume", "--review", "auto", "--stop-after", "design"][..], &["verify", "--fix"]]
    {
        let sandbox = begun.fork();
        let outcome = sandbox.cowork(command);
        let there = sandbox.read(&path).contains("List all of them");
        let objects =
            sandbox.git(&["log", "--all", "-S", "List all of them", "--format=%H", "--", &path]);
        assert!(
            there || !objects.is_empty(),
            "{command:?} lost it: {} {}",
            outcome.stdout,
            outcome.stderr
        );
    }
}

#[test]
fn merge_solves_what_only_records_conflict_about() {
    let sandbox = Sandbox::delivered();
    let title = ("prd.md", "- List todos works\n", "- List todos works\n- ours\n");
    sandbox.cowork(&["merge"]).exits(0);
    edit(&sandbox, &[title]);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    edit(&sandbox, &[("prd.md", title.1, "- List todos works\n- theirs\n")]);
    let outcome = sandbox.cowork(&["merge"]).exits(0);
    let prd = sandbox.blob("main", &format!("{DIR}/prd.md"));
    assert!(prd.contains("- List todos works\n- ours\n- theirs\n"), "{} {prd}", outcome.stderr);
    let message = sandbox.git(&["log", "-1", "--format=%B", "main"]);
    assert!(message.contains("\nCowork-Tip: "), "{message}");
    assert_eq!(sandbox.git(&["rev-list", "--parents", "-1", "main"]).split(' ').count(), 3);
    // A true conflict is aborted, and the tree is as it was.
    edit(&sandbox, &[("prd.md", "REQ-001 Add a todo", "REQ-001 Ours")]);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    edit(&sandbox, &[("prd.md", "REQ-001 Add a todo", "REQ-001 Theirs")]);
    let outcome = sandbox.cowork(&["merge"]).exits(5);
    assert!(outcome.stderr.contains("prd.md"), "{}", outcome.stderr);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}
