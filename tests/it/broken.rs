//! Documents and records of finished stages that cannot be read: no stage runs on them, whoever broke
//! them, the way out can be pasted, and `verify --fix` takes it and loses nothing.

use std::fs;

use serde_json::Value;

use crate::support::change::triage;
use crate::support::kill::{abort_at, points};
use crate::support::{Sandbox, at};

const DIR: &str = ".cowork/sessions/todo";
const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "design"];
const FIX: [&str; 3] = ["verify", "todo", "--fix"];

/// What is done to a file.
#[derive(Clone, Copy, Debug)]
enum Break {
    /// These bytes instead.
    Bytes(&'static [u8]),
    /// Its first half.
    Truncate,
    /// Gone.
    Delete,
    /// A folder in its place, with a file in it.
    Folder,
}
use Break::{Bytes, Delete, Folder, Truncate};

const CONFLICT: &[u8] = b"# PRD\n\n<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> other\n";

/// A file of a finished stage, what is done to it, the finding's code, and words that say why.
const CASES: [(&str, Break, &str, &str); 13] = [
    ("requirements.json", Truncate, "schema", "cannot be read: EOF"),
    ("requirements.json", Bytes(b""), "schema", "is empty"),
    ("requirements.json", Bytes(b"{\"requirements\": \"three\"}\n"), "schema", "invalid type"),
    ("feature_list.json", Bytes(b"{}\n"), "schema", "has no list 'features'"),
    (
        "feature_list.json",
        Bytes(b"{\n<<<<<<< HEAD\n=======\n>>>>>>> x\n}\n"),
        "conflict-marker",
        "lines 2 to 4",
    ),
    ("feature_list.json", Delete, "missing-document", "is missing"),
    ("idea.md", Bytes(b"\0\0\0\0\0\0"), "unreadable-document", "NUL bytes"),
    ("idea.md", Bytes(b"# \xff\xfe\n"), "unreadable-document", "not UTF-8"),
    ("idea.md", Folder, "unreadable-document", "is a folder"),
    ("prd.md", Bytes(CONFLICT), "conflict-marker", "lines 3 to 7"),
    ("prd.md", Delete, "missing-document", "is missing"),
    (
        "session.json",
        Bytes(b"{\"schema_version\": \"9.9\", \"id\": \"a\", \"name\": \"todo\"}\n"),
        "schema",
        "9.9",
    ),
    ("session.json", Truncate, "schema", "cannot be read"),
];

fn with_prd() -> Sandbox {
    let sandbox = Sandbox::stopped_after("prd");
    sandbox.server.forget();
    sandbox
}

fn damage(sandbox: &Sandbox, file: &str, how: Break) {
    let path = sandbox.path(file);
    match how {
        Bytes(bytes) => fs::write(path, bytes).unwrap(),
        Truncate => {
            let text = fs::read(&path).unwrap();
            fs::write(path, &text[..text.len() / 2]).unwrap();
        }
        Delete => fs::remove_file(path).unwrap(),
        Folder => {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            fs::write(path.join("mine.txt"), "mine\n").unwrap();
        }
    }
}

fn commit(sandbox: &Sandbox) {
    sandbox.git(&["commit", "-q", "-a", "-m", "by hand"]);
}

/// The command is refused before anybody is asked; the hint to paste, without the program's own way.
#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], path: &str, why: &str) -> String {
    sandbox.server.forget();
    let (before, probes) = (sandbox.all_refs(), sandbox.server.probes());
    let told = sandbox.cowork(args).exits(5).stderr;
    assert!(told.contains(path) && told.contains(why), "{path} {why}: {told}");
    assert!(told.contains("git cowork verify todo --fix"), "{told}");
    assert_eq!((sandbox.server.requests().len(), sandbox.server.probes()), (0, probes), "{told}");
    assert_eq!(sandbox.all_refs(), before);
    let hint = told.lines().filter_map(|line| line.trim().strip_prefix("hint: "));
    let mut hint = hint.filter(|hint| hint.contains("git checkout"));
    hint.next().unwrap_or_else(|| panic!("nothing to paste: {told}")).to_owned()
}

#[track_caller]
fn paste(sandbox: &Sandbox, command: &str) {
    let status = sandbox.command("sh").args(["-c", command]).output().unwrap();
    assert!(status.status.success(), "{command}: {status:?}");
}

#[test]
fn no_stage_runs_on_a_file_that_is_broken_in_the_working_tree() {
    let base = with_prd();
    for (file, how, _, why) in CASES {
        let sandbox = base.fork();
        let path = format!("{DIR}/{file}");
        let good = sandbox.read(&path);
        damage(&sandbox, &path, how);
        if follows_a_document(file) && !matches!(how, Folder) {
            sandbox.cowork(&RESUME).exits(0).says("was regenerated from prd.md");
            assert_eq!(sandbox.read(&path), good, "{file} {how:?}");
            continue;
        }
        let command = refused(&sandbox, &RESUME, &path, why);
        paste(&sandbox, &command);
        assert_eq!(sandbox.read(&path), good, "{file} {how:?}: {command}");
        sandbox.cowork(&["verify", "todo"]).exits(0);
    }
    // What is restored goes on.
    base.cowork(&RESUME).exits(0);
}

/// Records that cannot be read, or are missing, are written again from the document that holds them.
fn follows_a_document(file: &str) -> bool {
    matches!(file, "requirements.json" | "feature_list.json")
}

#[test]
fn no_stage_runs_on_a_file_that_a_commit_broke() {
    let base = with_prd();
    for (file, how, _, why) in CASES {
        if matches!(how, Folder) {
            continue;
        }
        let mut sandbox = base.fork();
        let path = format!("{DIR}/{file}");
        let good = sandbox.read(&path);
        damage(&sandbox, &path, how);
        commit(&sandbox);
        // A good commit that came later has no part in it.
        sandbox.commit_file("README.md", "# Mine\n", "mine");
        if follows_a_document(file) {
            sandbox.cowork(&RESUME).exits(0).says("was regenerated from prd.md");
            assert_eq!(sandbox.blob("HEAD", &path), good, "{file} {how:?}");
            continue;
        }
        let command = refused(&sandbox, &RESUME, &path, why);
        // In any folder of the tree.
        sandbox.enter(DIR);
        paste(&sandbox, &command);
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{command}");
        assert_eq!(sandbox.blob("HEAD", &path), good, "{file} {how:?}: {command}");
        sandbox.cowork(&["verify", "todo"]).exits(0);
    }
}

#[test]
fn verify_fix_restores_it_and_keeps_what_was_there() {
    let base = with_prd();
    for (file, how, code, why) in CASES {
        let sandbox = base.fork();
        let path = format!("{DIR}/{file}");
        let good = sandbox.read(&path);
        damage(&sandbox, &path, how);
        let broken = fs::read(sandbox.path(&path)).ok();
        let found = sandbox.cowork(&["verify", "todo", "--json"]).exits(1).json_lines();
        assert_eq!(
            (&found[0]["code"], &found[0]["fixable"]),
            (&code.into(), &true.into()),
            "{found:?}"
        );
        assert_eq!(found[0]["severity"], "error");
        assert!(found[0]["details"].as_str().unwrap().contains(why), "{found:?}");
        let head = sandbox.git(&["rev-parse", "HEAD"]);
        let told = sandbox.cowork(&FIX).exits(0).stderr;
        assert_eq!(sandbox.read(&path), good);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head, "nothing to commit");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        match how {
            Bytes(_) | Truncate => {
                let kept = format!("refs/cowork/attempts/todo/1:{path}");
                let kept = sandbox.command("git").args(["show", &kept]).output().unwrap().stdout;
                assert_eq!(Some(kept), broken, "{told}");
            }
            Folder => {
                let kept = ".git/cowork/sessions/todo/set-aside/idea.md-1/mine.txt";
                assert_eq!(sandbox.read(kept), "mine\n");
                assert!(told.contains("set-aside/idea.md-1"), "{told}");
            }
            Delete => assert!(sandbox.refs("refs/cowork/attempts").is_empty(), "{told}"),
        }
        // Again there is nothing to do.
        let refs = sandbox.all_refs();
        sandbox.cowork(&FIX).exits(0);
        assert_eq!(sandbox.all_refs(), refs);
        sandbox.assert_sound();
    }
}

#[test]
fn verify_fix_commits_what_a_commit_broke_as_it_was() {
    let base = with_prd();
    for (file, how, code, _) in CASES {
        if matches!(how, Folder) {
            continue;
        }
        let sandbox = base.fork();
        let path = format!("{DIR}/{file}");
        let good = sandbox.read(&path);
        damage(&sandbox, &path, how);
        commit(&sandbox);
        let broken = sandbox.git(&["rev-parse", "--short=7", "HEAD"]);
        let found = sandbox.cowork(&["verify", "todo", "--json"]).exits(1).json_lines();
        let code = if follows_a_document(file) { "schema" } else { code };
        assert!(found.iter().any(|one| one["code"] == code), "{file} {how:?}: {found:?}");
        let told = sandbox.cowork(&FIX).exits(0).stderr;
        assert_eq!(sandbox.blob("HEAD", &path), good, "{file} {how:?}: {told}");
        assert_eq!(sandbox.git(&["rev-parse", "--short=7", "HEAD^"]), broken);
        let said = match follows_a_document(file) {
            true => format!("{file} was regenerated from prd.md"),
            false => format!("git show {broken}:{path}"),
        };
        assert!(told.contains(&said), "{told}");
        sandbox.assert_sound();
        if file == "prd.md" {
            sandbox.cowork(&RESUME).exits(0);
        }
    }
}

#[test]
fn what_was_corrected_and_not_committed_is_committed_as_it_is() {
    let sandbox = with_prd();
    let path = format!("{DIR}/idea.md");
    let mine = sandbox.read(&path).replace("One file", "A single file");
    damage(&sandbox, &path, Bytes(b""));
    commit(&sandbox);
    sandbox.write(&path, &mine);
    let told = sandbox.cowork(&RESUME).exits(5).stderr;
    assert!(
        told.contains("but readable in the working tree") && told.contains("git commit -m"),
        "{told}"
    );
    sandbox.cowork(&FIX);
    assert_eq!(sandbox.blob("HEAD", &path), mine);
    sandbox.assert_sound();
}

#[test]
fn a_bad_merge_is_undone_from_the_branchs_own_side() {
    let sandbox = with_prd();
    let path = format!("{DIR}/idea.md");
    let text = sandbox.read(&path);
    sandbox.git(&["switch", "-q", "-c", "other"]);
    sandbox.commit_file(&path, &text.replace("One file", "Their file"), "theirs");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    let ours = text.replace("One file", "Our file");
    sandbox.commit_file(&path, &ours, "ours");
    assert!(sandbox.git_fails(&["merge", "other"]));
    // In the middle of it verify does not commit.
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&FIX);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    sandbox.commit_all("merged, with the markers in it");
    let command = refused(&sandbox, &RESUME, &path, "contains a merge conflict");
    assert!(command.contains("git checkout"), "{command}");
    sandbox.cowork(&FIX);
    assert_eq!(sandbox.blob("HEAD", &path), ours);
    sandbox.assert_sound();
}

#[test]
fn a_killed_verify_fix_is_done_again() {
    let base = with_prd();
    let path = format!("{DIR}/prd.md");
    let good = base.read(&path);
    let idea = base.read(&format!("{DIR}/idea.md"));
    damage(&base, &path, Bytes(b""));
    commit(&base);
    damage(&base, &format!("{DIR}/idea.md"), Bytes(b"mine, and no idea \0"));
    base.git(&["tag", "-d", "cowork/todo/prd"]);
    let (_, all) = points(&mut base.fork(), &FIX);
    let named = |name: &str| all.iter().any(|point| point.starts_with(name));
    assert!(named("attempt.after-ref") && named("restore.after-files"), "{all:?}");
    assert!(named("restored.before-commit") && named("labels.before-refs"), "{all:?}");
    for point in &all {
        let mut sandbox = base.fork();
        abort_at(&mut sandbox, &FIX, point).was_killed();
        sandbox.cowork(&FIX).exits(0);
        assert_eq!(sandbox.blob("HEAD", &path), good, "{point}");
        assert_eq!(sandbox.read(&format!("{DIR}/idea.md")), idea, "{point}");
        let kept = sandbox.blob("refs/cowork/attempts/todo/1", &format!("{DIR}/idea.md"));
        assert!(kept.starts_with("mine, and no idea"), "{point}: {kept}");
        sandbox.assert_sound();
    }
}

#[test]
fn verify_leads_to_the_working_tree_that_has_the_session() {
    let mut sandbox = Sandbox::new();
    sandbox.auto(&["-w=../linked", "--stop-after", "prd"]).exits(0);
    let path = format!("{DIR}/prd.md");
    let full = sandbox.root().join("linked").join(&path);
    let good = fs::read_to_string(&full).unwrap();
    fs::write(&full, "").unwrap();
    let found = sandbox.cowork(&["verify", "todo", "--json"]).exits(1).json_lines();
    let fix = found[0]["suggested_fix"].as_str().unwrap();
    let (fix, paste_in_place) = fix.split_once("; or: ").unwrap();
    assert!(fix.starts_with("cd ") && fix.ends_with("git cowork verify todo --fix"), "{fix}");
    sandbox.cowork(&FIX).exits(5);
    paste(&sandbox, paste_in_place);
    assert_eq!(fs::read_to_string(&full).unwrap(), good);
    fs::write(&full, "").unwrap();
    let shown = sandbox.cowork(&["status", "todo"]).exits(0).stdout;
    assert!(shown.contains(&format!("Broken   {path} is empty")), "{shown}");
    sandbox.enter("../linked");
    sandbox.cowork(&FIX).exits(0);
    assert_eq!(fs::read_to_string(&full).unwrap(), good);
}

#[test]
fn a_broken_commit_is_restored_only_where_its_branch_is_checked_out() {
    let sandbox = with_prd();
    let path = format!("{DIR}/session.json");
    damage(&sandbox, &path, Truncate);
    commit(&sandbox);
    sandbox.git(&["switch", "-q", "main"]);
    let told = sandbox.cowork(&["resume", "todo", "--review", "auto"]).exits(5).stderr;
    assert!(!told.contains("git checkout"), "it would go to main: {told}");
    let told = sandbox.cowork(&FIX).exits(5).stderr;
    let command = "git switch cowork/todo && git cowork verify todo --fix";
    assert!(told.contains(command), "{told}");
    paste(&sandbox, command);
    sandbox.cowork(&["status"]).exits(0);
}

#[test]
fn tags_are_rebuilt_also_where_the_state_directory_is_gone() {
    let base = with_prd();
    let tags = base.git(&["for-each-ref", "refs/tags"]);
    base.git(&["tag", "-d", "cowork/todo/prd", "cowork/todo/idea"]);
    fs::remove_dir_all(base.path(".git/cowork")).unwrap();
    for reflog in [true, false] {
        let sandbox = base.fork();
        if !reflog {
            fs::remove_dir_all(sandbox.path(".git/logs")).unwrap();
        }
        // Where nothing tells that the stages were made here, a clone needs no tags.
        let code = i32::from(reflog);
        let found = sandbox.cowork(&["verify", "todo", "--json"]).exits(code).json_lines();
        assert_eq!(
            found.iter().filter(|one| one["code"] == "tag-missing").count(),
            if reflog { 2 } else { 0 }
        );
        assert!(!sandbox.exists(".git/cowork"), "it only looks");
        sandbox.cowork(&FIX).exits(0);
        assert_eq!(sandbox.git(&["for-each-ref", "refs/tags"]), tags);
    }
}

#[test]
fn a_change_request_needs_its_parents_files_and_its_own() {
    let base = Sandbox::delivered();
    base.script("triage", triage("Say more", &["prd", "plan", "code"], &["lib/add.sh"]));
    let stop = ["--review", "auto", "--stop-after", "triage"];
    base.cowork(&[&["modify", "say more", "-n", "more"], &stop[..]].concat()).exits(0);
    let own = format!("{DIR}/changes/more");
    let resume = ["resume", "--review", "auto", "--stop-after", "prd"];
    for (path, how, why) in [
        (format!("{DIR}/idea.md"), Bytes(b"\n"), "is empty"),
        (format!("{DIR}/design.md"), Bytes(b"\0"), "contains NUL bytes"),
        (format!("{DIR}/prd.md"), Delete, "is missing"),
        (format!("{own}/change_request.json"), Bytes(b"{\"scope\": 1}"), "cannot be read"),
        (format!("{own}/session.json"), Delete, "is missing"),
    ] {
        for committed in [false, true] {
            let sandbox = base.fork();
            let good = sandbox.read(&path);
            damage(&sandbox, &path, how);
            if committed {
                commit(&sandbox);
            }
            sandbox.server.forget();
            let told = sandbox.cowork(&resume).exits(5).stderr;
            assert!(told.contains(&path), "{path}: {told}");
            if !(committed && path.ends_with("session.json")) {
                assert!(told.contains(why), "{path}: {told}");
            }
            assert_eq!((sandbox.server.requests().len(), sandbox.server.probes()), (0, 0));
            sandbox.cowork(&["verify", "todo--more", "--fix"]).exits(0);
            assert_eq!(sandbox.blob("HEAD", &path), good, "{path} {committed}");
            assert_eq!(sandbox.read(&path), good);
        }
    }
}

#[test]
fn an_answer_does_not_record_a_broken_file_of_an_earlier_stage() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    damage(&sandbox, &format!("{DIR}/idea.md"), Bytes(b""));
    let refs = sandbox.all_refs();
    sandbox.cowork(&["review", "--pass"]).exits(5).says("git checkout");
    assert_eq!(sandbox.all_refs(), refs);
    // The draft's own files are its stage's business.
    sandbox.git(&["checkout", "-q", "--", "."]);
    damage(&sandbox, &format!("{DIR}/requirements.json"), Truncate);
    let told = sandbox.cowork(&["verify", "todo"]).exits(0).stdout;
    assert!(told.contains("requirements.json has edits that are not committed"), "{told}");
    sandbox.cowork(&["review", "--pass"]).exits(0).says("was regenerated from prd.md");
}

#[test]
fn a_file_that_breaks_in_the_middle_of_a_run_stops_it_before_the_next_stage() {
    let sandbox = with_prd();
    let path = sandbox.path(&format!("{DIR}/feature_list.json"));
    sandbox.server.on_with(at("design", "critic"), move |_| {
        fs::write(&path, "{").unwrap();
        Some(crate::support::todo::approve())
    });
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(5).stderr;
    assert!(told.contains("feature_list.json cannot be read"), "{told}");
    assert!(sandbox.server.requests_of("plan", "actor").is_empty());
}

#[test]
fn status_and_verify_say_so_as_json_too() {
    let sandbox = with_prd();
    let path = format!("{DIR}/requirements.json");
    damage(&sandbox, &path, Truncate);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["run"], Value::Null);
    let problems = status["problems"].as_array().unwrap();
    assert_eq!((&problems[0]["code"], &problems[0]["about"]), (&"schema".into(), &path.into()));
    for args in [&["status"][..], &[]] {
        let shown = sandbox.cowork(args).exits(0).stdout;
        assert!(shown.contains("Broken   .cowork/sessions/todo/requirements.json"), "{shown}");
        assert!(shown.contains("\nNext     git cowork verify todo --fix\n"), "{shown}");
    }
    sandbox.cowork(&FIX).exits(0);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["problems"], serde_json::json!([]));
}
