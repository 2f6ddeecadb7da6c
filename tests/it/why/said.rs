//! What is said of lines that no task wrote, of a whole file, and where there is no answer.

use serde_json::{Value, json};

use super::{BY_HAND, DIR, clone_of_main, delivered, ids, lines, title, why};
use crate::support::Sandbox;
use crate::support::todo::TASKS;

#[test]
fn a_line_tells_everything_that_history_knows_of_it() {
    let sandbox = delivered();
    let answer = why(&sandbox, "lib/add.sh:3");
    assert_eq!(answer["idea"], "a todo list for the terminal");
    assert_eq!(answer["component"], json!({"id": "COMP-001", "title": "Todo core"}));
    assert_eq!(answer["requirements"][0]["criteria"], json!([{"text": "Add a todo works"}]));
    let rejected = &answer["rejected"][0];
    assert_eq!((&rejected["stage"], &rejected["by"]), (&"coding".into(), &"critic".into()));
    assert_eq!(rejected["reason"], "lib/list.sh is hard to read");
    assert_eq!(answer["checks"], "none");
    let told = sandbox.cowork(&["why", "lib/add.sh:3"]).exits(0).stdout;
    for said in [
        "lib/add.sh:3\n",
        "Task         TASK-002 Add a todo\n",
        "Component    COMP-001 Todo core\n",
        "Feature      FEAT-001 Adding\n",
        "Requirement  REQ-001 Add a todo\n             - Add a todo works\n",
        "Session      todo: ",
        "Passed       coding passed by Ana Example · plan auto",
        "Rejected     coding draft 1 by critic: lib/list.sh is hard to read\n",
        "More         git cowork trace todo TASK-002\n",
    ] {
        assert!(told.contains(said), "{said} in\n{told}");
    }
    // From a folder, of a session by its name, and of a document.
    let mut sandbox = sandbox;
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["why", "lib/add.sh:3"]).exits(5).says("there is no file 'lib/add.sh'");
    let by_name = ["why", "lib/add.sh:3", "--session", "todo", "--json"];
    assert_eq!(sandbox.cowork(&by_name).exits(0).json()["task"]["id"], "TASK-002");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    let prd = why(&sandbox, &format!("{DIR}/prd.md:5"));
    assert_eq!((&prd["origin"], &prd["stage"]), (&"stage".into(), &"prd".into()), "{prd}");
    sandbox.enter("lib");
    assert_eq!(why(&sandbox, "add.sh:3")["file"], "lib/add.sh");
    assert_eq!(why(&sandbox, "../todo.sh:3")["task"]["id"], "TASK-005");
    sandbox.cowork(&["why", "../../x:1"]).exits(5).says("outside of this repository");
}

#[test]
fn moves_and_later_edits_are_followed() {
    let sandbox = delivered();
    sandbox.cowork(&["merge"]).exits(0);
    // One file renamed, half of another moved, and everything indented.
    let text = sandbox.read("lib/done.sh");
    let (head, tail) = text.split_at(text.len() / 2);
    let tail_line = tail.lines().nth(2).unwrap().to_owned();
    let indented: String = tail.lines().map(|line| format!("    {line}\n")).collect();
    sandbox.git(&["mv", "lib/add.sh", "lib/put.sh"]);
    sandbox.write("lib/done.sh", head);
    sandbox.write("lib/finish.sh", &format!("# mine\n{indented}"));
    sandbox.commit_all("tidy up");
    let answer = why(&sandbox, "lib/put.sh:3");
    assert_eq!(
        (&answer["task"]["id"], &answer["path"]),
        (&"TASK-002".into(), &"lib/add.sh".into())
    );
    let answer = why(&sandbox, "lib/finish.sh:4");
    assert_eq!(answer["text"][0].as_str().unwrap().trim(), tail_line);
    assert_eq!(
        (&answer["task"]["id"], &answer["path"]),
        (&"TASK-004".into(), &"lib/done.sh".into())
    );
    let mine = why(&sandbox, "lib/finish.sh:1");
    assert_eq!(
        (&mine["origin"], &mine["subject"]),
        (&"outside".into(), &"tidy up".into()),
        "{mine}"
    );
}

#[test]
fn what_no_session_wrote_is_said_to_be_so() {
    let sandbox = delivered();
    let told = |place: &str| sandbox.cowork(&["why", place]).exits(0).stdout;
    let first = told("README.md:1");
    assert!(
        first.contains("Origin       Ana Example wrote it before the first session, todo\n"),
        "{first}"
    );
    let during = why(&sandbox, &format!("{BY_HAND}:2"));
    assert_eq!(during["during"]["session"], "todo", "{during}");
    assert!(during["during"]["after"].as_str().unwrap().starts_with("plan: "), "{during}");
    let hand = told(&format!("{BY_HAND}:2"));
    assert!(hand.contains("Ana Example wrote it by hand in session todo, after plan: "), "{hand}");
    sandbox.cowork(&["merge"]).exits(0);
    sandbox.commit_file("later.sh", "echo later\n", "later");
    assert!(told("later.sh:1").contains("Ana Example wrote it outside of any session\n"));
    sandbox.write("later.sh", "echo later\necho now\n");
    assert!(told("later.sh:2").contains("not committed yet: git diff HEAD -- later.sh\n"));
    assert_eq!(why(&sandbox, "later.sh:1")["origin"], "outside");

    let plain = Sandbox::new();
    let told = plain.cowork(&["why", "README.md:1"]).exits(0).stdout;
    assert!(told.contains("Ana Example wrote it; there is no session in this history\n"), "{told}");
}

#[test]
fn what_a_person_resolves_in_a_merge_is_theirs() {
    let sandbox = delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("lib/add.sh", &lines("theirs", "lib/add.sh", 3), "another one");
    assert!(sandbox.git_fails(&["merge", "-q", "cowork/todo"]));
    let both = format!("echo resolved by hand\n{}", lines(TASKS[1].1, "lib/add.sh", 12));
    sandbox.write("lib/add.sh", &both);
    sandbox.git(&["add", "lib/add.sh"]);
    sandbox.git(&["commit", "-q", "-m", "Merge todo"]);
    let answer = why(&sandbox, "lib/add.sh:1");
    assert_eq!((&answer["origin"], &answer["subject"]), (&"merge".into(), &"Merge todo".into()));
    let told = sandbox.cowork(&["why", "lib/add.sh:1"]).exits(0).stdout;
    assert!(told.contains("Ana Example wrote it while merging: neither side has it\n"), "{told}");
    assert_eq!(why(&sandbox, "lib/add.sh:2")["task"]["id"], "TASK-002");
}

#[test]
fn what_a_hook_wrote_is_said_to_be_so() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.user_config("[project]\ntest = \"true\"\n");
    // One hook that adds a file, and puts a line into another.
    sandbox.hook(
        "pre-commit",
        "test -e lib/add.sh || exit 0\ngrep -q formatted lib/add.sh && exit 0\nls lib >index.txt\n\
         echo '# formatted by a hook of this repository' >>lib/add.sh\ngit add index.txt lib/add.sh",
    );
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0).says("added to the commit: index.txt");
    let added = why(&sandbox, "index.txt:1");
    assert_eq!(
        (&added["origin"], &added["hook"]),
        (&"hook".into(), &"pre-commit".into()),
        "{added}"
    );
    assert_eq!(added["task"]["id"], "TASK-002", "{added}");
    let told = sandbox.cowork(&["why", "index.txt:1"]).exits(0).stdout;
    assert!(told.contains("the pre-commit hook wrote it into this commit\n"), "{told}");
    assert_eq!(sandbox.read("lib/add.sh").lines().count(), 2);
    assert_eq!(why(&sandbox, "lib/add.sh:1")["origin"], "task");
    assert_eq!(why(&sandbox, "lib/add.sh:2")["origin"], "hook");
    let said = sandbox.git(&["log", "--format=%(trailers:key=Cowork-Hook)", "main.."]);
    assert_eq!(said.trim(), "Cowork-Hook: pre-commit index.txt");
}

#[test]
fn a_whole_file_is_told_by_ranges_and_by_requirement() {
    let sandbox = delivered();
    let told = sandbox.cowork(&["why", "lib/store.sh"]).exits(0).stdout;
    let rows: Vec<&str> = told.lines().collect();
    assert_eq!(rows[0], "lib/store.sh · 15 lines");
    assert!(rows[1].starts_with("  1-2   ") && rows[1].contains("TASK-001 Keep todos in a file"));
    assert!(rows[1].ends_with(" · REQ-001 · coding passed by Ana Example"), "{told}");
    assert!(rows[2].starts_with("  3-5   ") && rows[2].contains("TASK-005 "), "{told}");
    assert!(rows[3].starts_with("  6-15  ") && rows[3].contains("TASK-001 "), "{told}");
    assert_eq!(rows[5], "  REQ-001 Add a todo · 15 lines");
    let json = sandbox.cowork(&["why", "lib/store.sh", "--json"]).exits(0).json_lines();
    let ranges: Vec<_> = json.iter().map(|one| one["lines"].clone()).collect();
    assert_eq!(ranges, [json!([1, 2]), json!([3, 5]), json!([6, 15])]);
    for one in &json {
        let title = title(one["text"][0].as_str().unwrap()).to_owned();
        assert_eq!(one["task"]["title"], title.as_str());
    }
    // Of a range as well: two answers, for they differ.
    let both = sandbox.cowork(&["why", "lib/store.sh:2,3", "--json"]).exits(0).json_lines();
    assert_eq!(
        both.iter().map(|one| ids(&json!([one["task"]]))[0].to_owned()).collect::<Vec<_>>(),
        ["TASK-001", "TASK-005"]
    );
}

#[test]
fn a_change_of_code_alone_says_what_it_was_to_show() {
    let sandbox = Sandbox::delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.cowork(&["modify", "be quick", "-n", "quick", "--review", "auto"]).exits(0);
    let answer = why(&sandbox, "lib/add.sh:1");
    assert_eq!((&answer["session"], &answer["stage"]), (&"todo--quick".into(), &"coding".into()));
    // The session's task names the file, but did not write this.
    assert_eq!(
        (&answer["known_by"], &answer["task"]),
        (&"session".into(), &json!(null)),
        "{answer}"
    );
    assert_eq!(answer["change_criteria"], json!(["Say more can be seen"]));
}

#[test]
fn where_there_is_no_answer_it_says_why() {
    let sandbox = delivered();
    let fails = |place: &str, code: i32, words: &str| {
        sandbox.cowork(&["why", place]).exits(code).says(words);
    };
    fails("lib/none.sh", 5, "there is no file 'lib/none.sh'");
    fails("lib/none.sh:3", 5, "there is no file 'lib/none.sh'");
    fails("lib", 5, "'lib' is a folder");
    fails(".", 5, "'.' is a folder");
    fails("lib/add.sh:0", 2, "'0' is neither a line nor a range");
    fails("lib/add.sh:x", 2, "git cowork why lib/add.sh:1,10");
    fails("lib/add.sh:5,2", 2, "'5,2': the first line must not be after the second");
    fails("lib/add.sh:5,2", 2, "hint: git cowork why lib/add.sh:2,5");
    fails("lib/add.sh:99", 5, "has only 12 lines");
    fails("lib/add.sh:99", 5, "hint: explain all its lines: git cowork why lib/add.sh");
    sandbox.write("new.sh", "echo new\n");
    fails("new.sh:1", 5, "'new.sh' is not committed");
    // A name may hold a colon and what a terminal would obey.
    sandbox.commit_file("a:1", "echo \x1b[2J\n", "odd");
    let told = sandbox.cowork(&["why", "a:1:1"]).exits(0).stdout;
    assert!(told.starts_with("a:1:1\n") && !told.contains('\x1b'), "{told:?}");
    assert!(sandbox.cowork(&["why", "a:1"]).exits(0).stdout.starts_with("a:1 · 1 line\n"));
    // A file that is deleted here is meant as it is committed.
    sandbox.git(&["rm", "-q", "lib/add.sh"]);
    assert_eq!(why(&sandbox, "lib/add.sh:3")["task"]["id"], "TASK-002");
    let unborn = Sandbox::unborn(&[]);
    unborn.cowork(&["why", "x:1"]).exits(5).says("nothing is committed here yet");
}

#[test]
fn log_names_files_and_features() {
    let sandbox = delivered();
    let steps = sandbox.cowork(&["log", "--json"]).exits(0).json_lines();
    let of = |task: &str| steps.iter().find(|step| step["task"] == task).unwrap();
    assert_eq!(of("TASK-002")["files"], json!(["lib/add.sh"]));
    assert_eq!(of("TASK-002")["features"], json!(["FEAT-001"]));
    assert_eq!(of("TASK-005")["files"], json!(["lib/store.sh", "todo.sh"]));
    assert!(
        steps.iter().any(|step| step["event"] == "stage_completed" && step.get("files").is_none())
    );
}

#[test]
fn a_file_that_the_report_gives_to_two_tasks_is_of_no_single_one() {
    let sandbox = delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--squash", "cowork/todo"]);
    // The plan gives it to one.
    let path = format!("{DIR}/implementation_plan.json");
    let mut plan: Value = serde_json::from_str(&sandbox.read(&path)).unwrap();
    for field in ["files_to_create", "files_to_change"] {
        let files = plan["tasks"][4][field].as_array_mut().unwrap();
        files.retain(|file| file != "lib/store.sh");
    }
    sandbox.write(&path, &format!("{plan:#}\n"));
    sandbox.commit_all("All of it");
    let clone = clone_of_main(sandbox);
    let answer = why(&clone, "lib/store.sh:4");
    assert_eq!((&answer["known_by"], &answer["task"]), (&"session".into(), &Value::Null));
    assert_eq!(ids(&answer["candidates"]), ["TASK-001", "TASK-005"]);
    let answer = why(&clone, "lib/add.sh:4");
    assert_eq!((&answer["known_by"], &answer["task"]["id"]), (&"plan".into(), &"TASK-002".into()));
    let told = clone.cowork(&["trace", "todo", "TASK-001"]).exits(0).stdout;
    assert!(told.contains("TASK-001 Keep todos in a file · COMP-001 · "), "{told}");
    assert!(
        told.contains(" · 0 lines · files with lines of this task or another: lib/store.sh\n"),
        "{told}"
    );
    assert!(
        told.contains("cannot tell which lines of lib/store.sh belong to this requirement's tasks"),
        "{told}"
    );
    assert!(!told.contains("replaced or removed"), "{told}");
}

#[test]
fn where_a_shallow_clone_ends_nothing_is_credited() {
    let mut sandbox = delivered();
    sandbox.cowork(&["merge"]).exits(0);
    let clone = sandbox.root().join("clone");
    let from = format!("file://{}", sandbox.repo().display());
    sandbox.git(&["clone", "-q", "--depth", "1", "-b", "main", &from, clone.to_str().unwrap()]);
    sandbox.enter(clone);
    let answer = why(&sandbox, "lib/add.sh:3");
    assert_eq!((&answer["origin"], &answer["known_by"]), (&"shallow".into(), &"nothing".into()));
    assert!(answer.get("task").is_none(), "{answer}");
    let told = sandbox.cowork(&["why", "lib/add.sh:3"]).exits(0).stdout;
    assert!(told.contains("history ends at this commit; fetch the rest: git fetch --unshallow"));
    let told = sandbox.cowork(&["trace", "todo", "REQ-001"]).exits(0).stdout;
    assert!(told.contains("git fetch --unshallow") && !told.contains("replaced"), "{told}");
    sandbox.git(&["fetch", "-q", "--unshallow"]);
    assert_eq!(why(&sandbox, "lib/add.sh:3")["task"]["id"], "TASK-002");
}
