//! `git cowork new`: the start commit, names, where the idea comes from, and what is refused
//! before anything exists.

use serde_json::Value;

use crate::support::{Reply, Sandbox, at};

const IDEA: &str = "a todo list for the terminal";
const ONLY_IDEA: [&str; 4] = ["--review", "auto", "--stop-after", "idea"];

fn new(sandbox: &Sandbox, args: &[&str]) -> crate::support::sandbox::Outcome {
    sandbox.cowork(&[&["new"], args, &ONLY_IDEA].concat())
}

fn session_json(sandbox: &Sandbox, name: &str) -> Value {
    let path = format!(".cowork/sessions/{name}/session.json");
    serde_json::from_str(&sandbox.blob(&format!("cowork/{name}"), &path)).unwrap()
}

#[test]
fn tags_without_their_session_are_named_with_the_ways_on() {
    let sandbox = Sandbox::new();
    sandbox.git(&["tag", "cowork/todo/idea"]);
    sandbox.git(&["tag", "cowork/todo/prd"]);
    let refused = new(&sandbox, &["-n", "todo", IDEA]).exits(5);
    let refused = refused.says("here without its branch: cowork/todo/idea, cowork/todo/prd");
    refused.says("git tag -d cowork/todo/idea cowork/todo/prd");
    sandbox.git(&["tag", "-d", "cowork/todo/idea", "cowork/todo/prd"]);
    new(&sandbox, &["-n", "todo", IDEA]).exits(0);
}

/// Nothing was created: no ref, no file.
#[track_caller]
fn nothing_created(sandbox: &Sandbox, refs_before: &str) {
    assert_eq!(sandbox.all_refs(), refs_before);
    assert!(!sandbox.exists(".cowork"));
    assert!(sandbox.server.requests().is_empty(), "the model was asked");
    assert!(sandbox.server.first_requests().is_empty(), "the model was asked for names");
    sandbox.assert_clean();
}

#[test]
fn the_start_commit_holds_the_raw_idea() {
    let sandbox = Sandbox::new();
    let main = sandbox.git(&["rev-parse", "main"]);
    new(&sandbox, &[IDEA]).exits(0);
    assert!(sandbox.server.probes() > 0, "the model was not probed");
    let name = "a-todo-list-for-the-terminal";
    let branch = format!("cowork/{name}");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), branch);
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main);

    let start = sandbox.commit_of(&branch, "start: ");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s", &start]), format!("start: {IDEA}"));
    assert_eq!(sandbox.git(&["rev-parse", &format!("{start}^")]), main);
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%an <%ae>", &start]),
        "Ana Example <ana@example.org>"
    );
    let files = sandbox.git(&["diff", "--name-only", &format!("{start}^"), &start]);
    assert!(files.lines().all(|file| file.starts_with(".cowork/")), "{files}");

    let trailers = sandbox.trailers(&start);
    assert_eq!(trailers["Cowork-Event"], ["start"]);
    assert_eq!(trailers["Cowork-Session"], [name]);
    assert!(!trailers.contains_key("Cowork-Stage"), "{trailers:?}");

    let session = session_json(&sandbox, name);
    assert_eq!(session["schema_version"], "1.1");
    assert_eq!(session["id"], trailers["Cowork-Session-Id"][0].as_str());
    assert_eq!(session["name"], name);
    assert_eq!(session["kind"], "new");
    assert_eq!(session["title"], IDEA);
    assert_eq!(session["idea"], IDEA);
    assert_eq!(session["depth"], "thorough");
    assert_eq!(trailers["Cowork-Depth"], ["thorough"]);
    assert_eq!(session["base"]["branch"], "main");
    assert_eq!(session["base"]["commit"], main.as_str());
    assert_eq!(session["parent"], Value::Null);
    assert!(session["created_at"].as_str().unwrap().ends_with('Z'), "{session}");
    sandbox.assert_sound();
}

#[test]
fn the_session_file_is_written_in_a_fixed_order() {
    let sandbox = Sandbox::new();
    new(&sandbox, &[IDEA, "-n", "todo", "--depth", "thorough"]).exits(0);
    let text = sandbox.artifact("session.json");
    let fields = [
        "schema_version",
        "id",
        "name",
        "kind",
        "title",
        "idea",
        "depth",
        "base",
        "parent",
        "created_at",
    ];
    let places: Vec<_> = fields.iter().map(|f| text.find(&format!("\n  \"{f}\": "))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    assert!(text.contains("\"depth\": \"thorough\"") && text.ends_with("}\n"));
}

#[test]
fn a_taken_slug_gets_a_number_and_the_same_base() {
    let sandbox = Sandbox::new();
    new(&sandbox, &["A list!"]).exits(0);
    new(&sandbox, &["a LIST"]).exits(0);
    new(&sandbox, &["a  list"]).exits(0);
    let branches = sandbox.refs("refs/heads/cowork/");
    assert_eq!(
        branches,
        ["refs/heads/cowork/a-list", "refs/heads/cowork/a-list-2", "refs/heads/cowork/a-list-3"]
    );
    let main = sandbox.git(&["rev-parse", "main"]);
    for branch in branches {
        let start = sandbox.commit_of(&branch, "start: ");
        assert_eq!(sandbox.git(&["rev-parse", &format!("{start}^")]), main, "{branch}");
    }
}

#[test]
fn slugs_are_ascii_short_and_never_empty() {
    let sandbox = Sandbox::new();
    new(&sandbox, &["Écrire un naïf café"]).exits(0);
    new(&sandbox, &["待办事项"]).exits(0);
    new(&sandbox, &["one two three four five six seven eight nine ten"]).exits(0);
    assert_eq!(
        sandbox.refs("refs/heads/cowork/"),
        [
            "refs/heads/cowork/ecrire-un-naif-cafe",
            "refs/heads/cowork/one-two-three-four-five-six-seven-eight",
            "refs/heads/cowork/session",
        ]
    );
}

#[test]
fn a_name_somebody_has_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "cowork/taken"]);
    sandbox.git(&["tag", "cowork/tagged/idea"]);
    let before = sandbox.all_refs();
    new(&sandbox, &[IDEA, "-n", "taken"]).exits(5).says("taken");
    new(&sandbox, &[IDEA, "--name", "tagged"]).exits(5).says("tagged");
    nothing_created(&sandbox, &before);
}

#[test]
fn an_impossible_name_is_a_usage_error() {
    let sandbox = Sandbox::new();
    let before = sandbox.all_refs();
    let long = "x".repeat(65);
    for name in ["Todo", "a--b", "a-", "a/b", "a_b", "ä", long.as_str()] {
        new(&sandbox, &[IDEA, "-n", name]).exits(2);
    }
    nothing_created(&sandbox, &before);
}

#[test]
fn project_is_an_alias_of_name() {
    let sandbox = Sandbox::new();
    new(&sandbox, &[IDEA, "--project", "todo"]).exits(0);
    assert_eq!(session_json(&sandbox, "todo")["name"], "todo");
}

#[test]
fn without_an_idea_and_a_terminal_it_is_a_usage_error() {
    let sandbox = Sandbox::new();
    let before = sandbox.all_refs();
    new(&sandbox, &[]).exits(2).says("idea");
    new(&sandbox, &["   "]).exits(2);
    sandbox.cowork_in(&["new", "-F", "-", "--review", "auto"], "\n \n").exits(2);
    let latin1 = sandbox.path("../latin1.txt");
    std::fs::write(&latin1, b"caf\xe9\n").unwrap();
    let mut from_pipe = sandbox.command("sh");
    let binary = env!("CARGO_BIN_EXE_git-cowork");
    from_pipe.args(["-c", "\"$0\" new -F - <../latin1.txt", binary]);
    assert_eq!(from_pipe.output().unwrap().status.code(), Some(2));
    nothing_created(&sandbox, &before);
}

#[test]
fn the_idea_may_come_from_a_file_or_standard_input() {
    let sandbox = Sandbox::new();
    let idea = "A list\n\nWith naïve details.\n";
    sandbox.write("../idea.txt", idea);
    new(&sandbox, &["-F", "../idea.txt", "-n", "file"]).exits(0);
    let args = [&["new", "-F", "-", "-n", "stdin"], &ONLY_IDEA[..]].concat();
    sandbox.cowork_in(&args, idea).exits(0);
    for name in ["file", "stdin"] {
        let session = session_json(&sandbox, name);
        assert_eq!(session["idea"].as_str().unwrap().trim_end(), idea.trim_end());
        assert_eq!(session["title"], "A list");
        let branch = format!("cowork/{name}");
        let start = sandbox.commit_of(&branch, "start: ");
        assert_eq!(sandbox.git(&["log", "-1", "--format=%s", &start]), "start: A list");
    }
    new(&sandbox, &["-F", "../nowhere.txt"]).exits(2).says("nowhere.txt");
}

#[test]
fn the_words_of_an_idea_need_no_quotes() {
    let sandbox = Sandbox::new();
    new(&sandbox, &["a", "todo", "list"]).exits(0);
    assert_eq!(session_json(&sandbox, "a-todo-list")["idea"], "a todo list");
}

#[test]
fn an_idea_full_of_markdown_breaks_no_trailer() {
    let sandbox = Sandbox::new();
    let idea =
        "A list\n\n---\n## Heading\n\nCowork-Stage: delivery\nNote: this is not a trailer\n# end";
    new(&sandbox, &[idea, "-n", "todo"]).exits(0);
    let start = sandbox.commit_of("cowork/todo", "start: ");
    let trailers = sandbox.trailers(&start);
    assert_eq!(trailers["Cowork-Event"], ["start"]);
    assert!(!trailers.contains_key("Cowork-Stage"), "{trailers:?}");
    assert!(!trailers.contains_key("Note"), "{trailers:?}");
}

#[test]
fn an_unborn_repository_gets_an_empty_root_first() {
    let sandbox = Sandbox::unborn(&[]);
    new(&sandbox, &[IDEA, "-n", "todo"]).exits(0);
    let roots = sandbox.git(&["rev-list", "--max-parents=0", "cowork/todo"]);
    assert_eq!(roots.lines().count(), 1);
    assert_eq!(sandbox.tree(&roots), "");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), roots);
    assert_eq!(session_json(&sandbox, "todo")["base"]["commit"], roots.as_str());
    sandbox.assert_sound();
}

#[test]
fn nothing_is_created_when_the_model_cannot_be_reached() {
    let mut sandbox = Sandbox::new();
    let before = sandbox.all_refs();
    sandbox.set_env("COWORK_LLM_BASE_URL", "http://127.0.0.1:1/v1");
    new(&sandbox, &[IDEA]).exits(4).says("127.0.0.1:1");
    nothing_created(&sandbox, &before);
}

#[test]
fn what_was_not_committed_before_stays_so() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "mine\n");
    sandbox.write("README.md", "# Mine, in work\n");
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(&["add", "staged.txt"]);
    let before = sandbox.git(&["status", "--porcelain"]);
    sandbox.auto(&[]).exits(0);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), before);
    assert_eq!(sandbox.read("README.md"), "# Mine, in work\n");
    assert_eq!(sandbox.blob("HEAD", "README.md"), "# Somewhere\n");
    let committed = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(!committed.contains("notes.txt") && !committed.contains("staged.txt"), "{committed}");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_tool_does_not_write_what_has_uncommitted_changes() {
    let sandbox = Sandbox::new();
    sandbox.write("README.md", "# Mine, in work\n");
    let overwrite = serde_json::json!({"path": "README.md", "content": "# The model's\n"});
    let work = crate::support::todo::task_work("TASK-001");
    sandbox.server.sequence(
        at("coding", "actor").task("TASK-001"),
        vec![Reply::call("write_file", overwrite), work, Reply::text("Done otherwise.")],
    );
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert_eq!(sandbox.read("README.md"), "# Mine, in work\n");
    let told = sandbox.server.requests_of("coding", "actor")[1].tool_results().join("\n");
    assert!(told.contains("README.md has uncommitted changes"), "{told}");
}

#[test]
fn it_can_start_elsewhere_than_here() {
    let sandbox = Sandbox::new();
    sandbox.git(&["tag", "-a", "-m", "old", "v1"]);
    sandbox.write("later.txt", "later\n");
    sandbox.commit_all("second");
    new(&sandbox, &[IDEA, "-n", "todo", "-b", "v1"]).exits(0);
    let first = sandbox.git(&["rev-parse", "v1^{commit}"]);
    assert_eq!(session_json(&sandbox, "todo")["base"]["commit"], first.as_str());
    assert!(!sandbox.exists("later.txt"));
    new(&sandbox, &[IDEA, "-n", "other", "-b", "nowhere"]).exits(2).says("nowhere");
}

#[test]
fn in_a_linked_worktree_the_users_own_tree_stays_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("README.md", "# Mine, in work\n");
    new(&sandbox, &[IDEA, "-n", "todo", "-w=../side"]).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M README.md");
    assert!(!sandbox.exists(".cowork"));
    assert_eq!(sandbox.git(&["-C", "../side", "symbolic-ref", "--short", "HEAD"]), "cowork/todo");
    assert!(sandbox.exists("../side/.cowork/sessions/todo/idea.md"));
    let shown = sandbox.cowork(&["status", "todo"]).exits(0).stdout;
    let side = sandbox.path("../side").canonicalize().unwrap();
    assert!(shown.contains(&format!("is checked out in {}", side.display())), "{shown}");
}

#[test]
fn outside_a_repository_it_says_so() {
    let sandbox = Sandbox::nowhere();
    new(&sandbox, &[IDEA]).exits(5).says("git init");
    assert!(!sandbox.exists(".cowork"));
}
