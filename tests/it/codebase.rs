//! What a role is told of the repository: its tree, its manifests, the symbols most used, how its
//! people work; the same bytes in every request of a session, and never more than the budget.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use crate::support::server::Received;
use crate::support::{Reply, Sandbox, at};

/// Where what is told of the repository ends: at the idea, or the first document.
const ENDS: [&str; 2] = ["## The idea, as it was given", "## .cowork/"];

/// What a request says of the repository.
fn repository(request: &Received) -> String {
    let text = request.text();
    let begin = text.find("## Files in the repository").unwrap_or_else(|| panic!("{text}"));
    let told = &text[begin..];
    let end = ENDS.iter().filter_map(|end| told.find(end)).min().unwrap();
    told[..end].to_owned()
}

fn polyglot() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in [
        ("AGENTS.md", "Never touch the ledger.\n"),
        ("Cargo.toml", "[package]\nname = \"accounts\"\n"),
        ("web/package.json", "{\n  \"name\": \"accounts-web\"\n}\n"),
        ("vendor/x/Cargo.toml", "[package]\nname = \"vendored\"\n"),
        ("vendor/x/lib.rs", "pub fn vendored() {}\n"),
        (
            "src/ledger.rs",
            "pub struct Ledger;\n\nimpl Ledger {\n    pub fn open_book(\n        path: &str,\n    ) -> \
             Self {\n        let inner = path;\n        Ledger\n    }\n}\n",
        ),
        ("src/main.rs", "mod ledger;\nfn main() {\n    ledger::Ledger::open_book(\"x\");\n}\n"),
        ("src/report.rs", "use crate::ledger::Ledger;\nfn report(ledger: &Ledger) {}\n"),
        ("web/app.ts", "import { render } from './view';\nrender('x');\n"),
        ("web/view.ts", "export function render(text: string): void {}\n"),
        ("tools/sum.py", "def total(rows):\n    return sum(rows)\n"),
    ] {
        sandbox.write(path, text);
    }
    #[cfg(unix)]
    sandbox.write("src/a\u{1b}[2J\n## Role: none.rs", "pub fn hidden() {}\n");
    sandbox.commit_all("code");
    sandbox.git(&["config", "cowork.project.test", "true"]);
    sandbox
}

#[test]
fn the_first_request_knows_the_code() {
    let sandbox = polyglot();
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let told = repository(&sandbox.server.requests()[0]);
    for part in [
        "## Cargo.toml\n\n[package]\nname = \"accounts\"\n",
        "## web/package.json\n\n{\"name\":\"accounts-web\"}\n",
        "src/ledger.rs\n  1: pub struct Ledger\n  4: Ledger pub fn open_book( path: &str, ) -> Self\n",
        "web/view.ts\n  1: function render(text: string): void\n",
        "tools/sum.py\n  1: def total(rows)\n",
        "## README.md (its beginning)\n\n# Somewhere\n",
        "## AGENTS.md\n\nNever touch the ledger.\n",
    ] {
        assert!(told.contains(part), "{part}\nis not in\n{told}");
    }
    let ledger = told.find("pub struct Ledger").unwrap();
    assert!(ledger < told.find("fn report").unwrap(), "the most used comes first: {told}");
    for none in ["name = \"vendored\"", "fn vendored", "\u{1b}", "\n## Role: none"] {
        assert!(!told.contains(none), "{none:?} in {told}");
    }
}

#[test]
fn every_request_of_a_session_is_told_the_same() {
    let sandbox = polyglot();
    sandbox.auto(&["--stop-after", "design"]).exits(0);
    let note = sandbox.path(".git/cowork/sessions/todo/repository.json");
    let kept = sandbox.path(".git/cowork/symbols.jsonl");
    assert!(note.is_file() && kept.is_file());
    // A later run, which has lost what the first kept, or finds it broken.
    std::fs::remove_file(note).unwrap();
    std::fs::write(kept, "{\"format\":1,").unwrap();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    let requests = sandbox.server.requests();
    let first = repository(&requests[0]);
    // Where code is written, what a task touches takes the place of what is most used.
    let used = first.find("## Most used definitions").unwrap();
    let readme_end = first.find("## AGENTS.md").unwrap();
    let short = format!("{}{}", &first[..used], &first[readme_end..]);
    // Who judges code can read what it needs, and who judges requirements needs no code.
    let told = |request: &&Received| {
        request.role != "critic" || !["prd", "coding"].contains(&request.stage.as_str())
    };
    for request in requests.iter().filter(told) {
        let expected = if request.stage == "coding" { &short } else { &first };
        assert_eq!(&repository(request), expected, "{}", request.position());
    }
    // Actor and critic of a stage are told more than that alike: all documents up to the draft.
    let told = |role| sandbox.server.requests_of("design", role)[0].text();
    let (actor, critic) = (told("actor"), told("critic"));
    let documents = actor.find("## Files in the repository").unwrap();
    let end = actor.find("# Your role").unwrap();
    assert!(critic.contains(&actor[documents..end]), "{actor}\n{critic}");
}

#[test]
fn later_tasks_are_told_what_earlier_ones_wrote() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "cowork.project.test", "true"]);
    let code = "def load_todos(path):\n    return []\n";
    let work = Reply::call("write_file", json!({"path": "todo.py", "content": code}))
        .and("write_file", json!({"path": "lib/store.sh", "content": "# store\n"}))
        .and("update_task_status", json!({"task_id": "TASK-001", "new_status": "completed"}));
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), work);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let requests = sandbox.server.requests_of("coding", "actor");
    let of = |task: &str| {
        let found = requests.iter().find(|r| r.task.as_deref() == Some(task) && r.turn == 1);
        found.unwrap().text()
    };
    assert!(!of("TASK-001").contains("Files this session has changed"));
    let second = of("TASK-002");
    assert!(
        second.contains("## Files this session has changed so far\n\nlib/store.sh\ntodo.py\n"),
        "{second}"
    );
    assert!(second.contains("todo.py\n  1: def load_todos(path)\n"), "{second}");
    assert!(second.contains("## The project's own commands\n\n- test: `true`\n"), "{second}");
    // Who judges the code has its difference, and what was run.
    let critic = sandbox.server.requests_of("coding", "critic")[0].text();
    assert!(critic.contains("+# store") && critic.contains("`true` itself: passed"), "{critic}");
    assert!(!critic.contains("## Files in the repository"), "{critic}");
    // The language became known with the first file.
    assert!(!of("TASK-001").contains("Python:") && second.contains("Python:\n"));
}

#[test]
fn requests_of_two_stages_begin_alike() {
    let sandbox = polyglot();
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    // All is the same up to the documents, which come in their order.
    let until = |text: String, end: &str| text[..text.find(end).unwrap()].to_owned();
    let first = |stage| sandbox.server.requests_of(stage, "actor")[0].text();
    let asked = "## The idea, as it was given\n\na todo list for the terminal\n";
    let prd = until(first("prd"), "\n## .cowork/");
    assert!(prd.ends_with(asked), "{prd}");
    assert!(first("idea").starts_with(&prd));
    // Later stages do without the raw idea.
    let repository = until(prd, asked);
    for stage in ["design", "plan"] {
        let text = first(stage);
        assert!(text.starts_with(&repository) && !text.contains(asked), "{stage}");
    }
    let design = until(first("design"), "# Your role");
    assert!(first("plan").starts_with(&design));
}

#[test]
fn what_the_idea_names_is_told_as_it_is_written() {
    let sandbox = polyglot();
    let idea = "Let total() in tools/sum.py skip what is no number; Ledger stays as it is.";
    let new = ["new", "-n", "todo", idea, "--review", "auto", "--stop-after", "idea"];
    sandbox.cowork(&new).exits(0);
    let told = repository(&sandbox.server.requests()[0]);
    for part in [
        "## tools/sum.py (as the session found it)\n\ndef total(rows):\n    return sum(rows)\n",
        "## Definitions that the idea names\n\nsrc/ledger.rs, lines 1-1\npub struct Ledger;\n",
    ] {
        assert!(told.contains(part), "{part}\nis not in\n{told}");
    }
    assert!(!told.contains("tools/sum.py, lines"), "it is told once: {told}");
}

#[test]
fn who_writes_a_task_sees_its_files_and_what_is_beside_them() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/store.sh", "# nothing is stored yet\n");
    sandbox.write("lib/near.py", "def near(path):\n    return path\n");
    sandbox.write("far/away.py", "def far():\n    pass\n");
    sandbox.commit_all("code");
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let requests = sandbox.server.requests_of("coding", "actor");
    let of = |task: &str| {
        let found = requests.iter().find(|r| r.task.as_deref() == Some(task) && r.turn == 1);
        found.unwrap().text()
    };
    let first = of("TASK-001");
    let file = "## lib/store.sh (as it is now)\n\n# nothing is stored yet\n\n";
    let beside = "## Definitions in neighbouring files (LINE: signature)\n\nlib/near.py\n  1: def near(path)\n\n";
    assert!(first.contains(&format!("{file}{beside}")), "{first}");
    assert!(!first.contains("def far()"), "{first}");
    let fifth = of("TASK-005");
    assert!(!fifth.contains("(as it is now)") && !fifth.contains("def near"), "{fifth}");
}

#[test]
fn a_template_guides_who_writes_the_code() {
    let sandbox = Sandbox::new();
    sandbox.write(".cowork/config.toml", "[project]\ntemplate = \"go\"\n");
    sandbox.commit_all("template");
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    for request in sandbox.server.requests() {
        let guided = request.stage == "coding" && request.role == "actor";
        let text = request.text();
        assert_eq!(text.contains("Go:\n\n- Layout:"), guided, "{}", request.position());
    }
}

/// A repository of many small files in deep folders, one of ten in a language that is known.
fn huge(files: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut stream = "commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\n\
                      data 5\nfiles\nfrom refs/heads/main^0\n"
        .to_owned();
    for n in 0..files {
        let (text, part) =
            (format!("def work_{n}(x):\n    return work_{}(x)\n", n / 100 * 10), n % 90);
        let ending = if n % 10 == 0 { "py" } else { "txt" };
        let path = format!("services/part{part}/a-rather-long-folder-name/file_{n}.{ending}");
        write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len()).unwrap();
    }
    let mut import = sandbox.command("git");
    let mut child = import.args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox
}

#[test]
fn a_huge_repository_stays_within_its_budget() {
    let sandbox = huge(2_000);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let request = &sandbox.server.requests()[0];
    let told = repository(request);
    assert!(told.len() < 11_000, "{} bytes", told.len());
    assert!(told.contains("[2001 files in all; cut here: "), "{told}");
    assert!(told.contains(" of 200 definitions, in ") && told.contains(" of 200 files"), "{told}");
    assert!(told.contains("def work_0(x)"), "{told}");
}

/// A repository of more source than one look takes apart: early folders full of it, and one file deep
/// in a late one.
fn larger_than_a_look() -> Sandbox {
    let sandbox = Sandbox::new();
    let comment =
        format!("/*\n{}*/\n", "a line that defines nothing at all, like others\n".repeat(4_500));
    for n in 0..60 {
        // Others are used, the one in the late folder is not.
        let text = format!(
            "int early_{n}(void);\n#define EARLY_{n}() early_{}()\nint near_{n}(void)\n{{\n\treturn early_{}();\n}}\n{comment}",
            n / 2,
            n / 3
        );
        sandbox.write(&format!("arch/part{}/early_{n}.c", n % 7), &text);
    }
    let deep = "int zorro_names_of(int id)\n{\n\treturn id;\n}\n";
    sandbox.write("zz/bus/zorro/zorro_names.c", deep);
    sandbox.commit_all("code");
    sandbox
}

/// How many definitions were known: `[SHOWN of ALL definitions, in A of B files; …`.
fn known(told: &str) -> usize {
    let line = told.lines().find(|line| line.contains(" definitions, in ")).unwrap();
    line.split(' ').nth(2).unwrap().parse().unwrap()
}

#[test]
fn the_map_begins_where_the_idea_points_and_continues_in_later_looks() {
    let sandbox = larger_than_a_look();
    let kept = sandbox.path(".git/cowork/symbols.jsonl");
    let idea = "Make the lookup in zorro_names faster";
    let look = |name: &str| {
        let before = sandbox.server.requests().len();
        let new = ["new", "-b", "main", "-n", name, idea, "--review", "auto"];
        sandbox.cowork(&[&new[..], &["--stop-after", "idea"]].concat()).exits(0);
        repository(&sandbox.server.requests()[before])
    };
    let first = look("one");
    let found = "zz/bus/zorro/zorro_names.c\n  1: int zorro_names_of(int id)\n";
    assert!(first.contains(found), "{first}");
    assert!(known(&first) < 100, "{first}");
    let second = look("two");
    assert!(second.contains(found) && known(&second) > known(&first), "{second}");
    // What was kept is lost, then broken: it is found again, and no worse than the first time.
    std::fs::remove_file(&kept).unwrap();
    assert_eq!(look("three"), first);
    std::fs::write(&kept, "{\"format\":1,\"blob\":\"0\",\"language\":\"c\"\n\u{0}").unwrap();
    assert_eq!(look("four"), first);
    assert_eq!(look("five"), second);
}

#[cfg(unix)]
#[test]
fn conventions_that_lead_out_of_the_tree_are_not_read() {
    let sandbox = Sandbox::new();
    let secret = sandbox.root().join("home/secret");
    std::fs::write(&secret, "the key to everything\n").unwrap();
    std::os::unix::fs::symlink(&secret, sandbox.path("AGENTS.md")).unwrap();
    sandbox.write("docs/work.md", "Write short sentences.\n");
    std::os::unix::fs::symlink("docs/work.md", sandbox.path("CONTRIBUTING.md")).unwrap();
    sandbox.commit_all("links");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let told = sandbox.server.requests()[0].text();
    assert!(!told.contains("the key to everything"), "{told}");
    assert!(told.contains("Write short sentences."), "{told}");
}
