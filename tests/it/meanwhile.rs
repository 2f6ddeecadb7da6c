//! What a person does in the working tree while a session runs stays the person's; what commands
//! do there is the session's, also when both are cut short.

use serde_json::json;

use crate::support::pty::Terminal;
use crate::support::todo::{IDEA, PRD, approve, code_of, lingers, reject, task_work};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// Paths outside `.cowork` that the session's commits changed.
pub fn code(sandbox: &Sandbox) -> Vec<String> {
    let names = sandbox.git(&["log", "--format=", "--name-only", "main..cowork/todo"]);
    let mut code: Vec<String> = names
        .lines()
        .filter(|p| !p.is_empty() && !p.starts_with(".cowork/"))
        .map(Into::into)
        .collect();
    code.sort();
    code.dedup();
    code
}

const TODO: [&str; 5] = ["lib/add.sh", "lib/done.sh", "lib/list.sh", "lib/store.sh", "todo.sh"];

/// The first task begins with a command, and does its work afterwards.
pub fn first_task_runs(sandbox: &Sandbox, command: &str) {
    let run = Reply::call("run_command", json!({"command": command}));
    let first = at("coding", "actor").task("TASK-001");
    let rest = [task_work("TASK-001"), Reply::text("The task is done.")];
    sandbox.server.sequence(first, [&[run][..], &rest].concat());
}

#[test]
fn what_a_person_writes_while_the_actor_works_is_in_no_commit() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    sandbox.server.on_with(at("coding", "actor").task("TASK-002").turn(1), move |_| {
        std::fs::write(repo.join("README.md"), "# Mine now\n").ok()?;
        std::fs::write(repo.join("notes.txt"), "mine\n").ok()?;
        let run = json!({"command": "echo made >made.txt; echo mine too >>notes.txt"});
        Some(Reply::call("run_command", run))
    });
    let done = [task_work("TASK-002"), Reply::text("The task is done.")];
    for (turn, reply) in (2..).zip(done) {
        sandbox.server.on(at("coding", "actor").task("TASK-002").turn(turn), reply);
    }
    sandbox.auto(&[]).exits(0);
    assert_eq!(code(&sandbox), [&TODO[..3], &["lib/store.sh", "made.txt", "todo.sh"]].concat());
    assert_eq!(sandbox.read("README.md"), "# Mine now\n");
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M README.md\n?? notes.txt");
}

#[test]
fn what_a_person_writes_meanwhile_is_not_written_over() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    let task = || at("coding", "actor").task("TASK-002");
    sandbox.server.on_with(task().turn(1), move |_| {
        std::fs::write(repo.join("README.md"), "# Mine now\n").ok()?;
        std::fs::write(repo.join("lib/store.sh"), "mine\n").ok()?;
        let write = |path: &str| json!({"path": path, "content": "the model's\n"});
        let reply = Reply::call("write_file", write("README.md"));
        Some(reply.and("write_file", write("lib/store.sh")))
    });
    sandbox.server.on_with(task().turn(2), |received| {
        assert_eq!(received.text().matches("has uncommitted changes: ").count(), 2);
        Some(task_work("TASK-002"))
    });
    sandbox.server.on(task().turn(3), Reply::text("The task is done."));
    sandbox.auto(&["--stop-after", "coding"]).exits(0).says("README.md");
    assert_eq!(sandbox.read("README.md"), "# Mine now\n");
    assert_eq!(sandbox.read("lib/store.sh"), "mine\n");
    assert_eq!(sandbox.blob("cowork/todo", "lib/store.sh"), code_of("TASK-001"));
}

#[test]
fn a_document_edited_while_it_is_written_is_set_aside() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    let repo = sandbox.repo();
    let document = ".cowork/sessions/todo/idea.md";
    sandbox.server.on_with(at("idea", "actor").turn(2), move |_| {
        std::fs::write(repo.join(document), "# By hand\n").ok()?;
        Some(Reply::call("save_idea", json!({"content": format!("{IDEA}More.\n")})))
    });
    sandbox.server.on(at("idea", "actor").turn(3), Reply::text("Saved."));
    sandbox.auto(&["--stop-after", "idea"]).exits(0).says("your version is in");
    let aside = sandbox.path(".git/cowork/sessions/todo/set-aside");
    let kept: Vec<_> = std::fs::read_dir(aside).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(std::fs::read_to_string(&kept[0]).unwrap(), "# By hand\n");
}

#[test]
fn an_edit_of_an_approved_document_goes_along_and_is_said() {
    let sandbox = Sandbox::stopped_after("prd");
    let path = ".cowork/sessions/todo/prd.md";
    sandbox.write(path, &format!("{}\nBy hand.\n", sandbox.artifact("prd.md")));
    let resume = [&RESUME[..], &["--stop-after", "design"]].concat();
    sandbox.cowork(&resume).exits(0).says("prd.md has your edits since it was approved");
    assert!(sandbox.blob("HEAD", path).contains("By hand."));
    let told = sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
    assert!(!told.stderr.contains("has your edits"), "{}", told.stderr);
}

/// The draft, the answer to it, a task and a stage: each commit names what it takes along.
#[test]
fn a_commit_names_the_document_whose_edit_it_takes_up() {
    const NAMED: &str = "Edited by hand since it was passed: idea.md";
    let sandbox = Sandbox::stopped_after("idea");
    let edit = || {
        let text = sandbox.artifact("idea.md");
        sandbox.write(".cowork/sessions/todo/idea.md", &format!("{text}\nOne more line.\n"));
    };
    let named = |commit: &str| {
        let body = sandbox.git(&["log", "-1", "--format=%b", commit]);
        body.lines().filter(|line| *line == NAMED).count()
    };
    edit();
    let told = sandbox.cowork(&["resume", "--review", "wait"]).exits(3).stderr;
    assert!(!told.contains("waits for a person"), "{told}");
    assert_eq!(named("HEAD"), 1, "the draft");
    edit();
    sandbox.cowork(&["review", "--feedback", "name the users"]).exits(0);
    assert_eq!(named("HEAD"), 1, "the answer");
    let steps = sandbox.cowork(&["log", "--json"]).exits(0).stdout;
    assert!(!steps.contains("Edited by hand"), "{steps}");
    edit();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert_eq!(named("HEAD"), 1, "the stage");
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
    assert_eq!(named("HEAD"), 0, "nothing was edited since");
    edit();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    assert_eq!(named(&sandbox.commit_of("cowork/todo", "coding: TASK-001 ")), 1, "the task");
    assert_eq!(named(&sandbox.commit_of("cowork/todo", "coding: TASK-002 ")), 0);
    sandbox.assert_sound();
}

#[test]
fn a_command_that_dies_with_us_has_its_effects_recorded() {
    let mut sandbox = Sandbox::new();
    // A confined one cannot kill us.
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    first_task_runs(
        &sandbox,
        "test -e made.txt && exit; echo made >made.txt; kill -KILL $PPID; sleep 300",
    );
    sandbox.auto(&[]).was_killed();
    assert_eq!(sandbox.read("made.txt"), "made\n");
    sandbox.cowork(&RESUME).exits(0);
    assert!(code(&sandbox).contains(&"made.txt".to_owned()), "{:?}", code(&sandbox));
    sandbox.assert_clean();
    sandbox.assert_sound();
}

#[test]
fn a_command_that_is_interrupted_has_its_effects_kept() {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    first_task_runs(
        &sandbox,
        "test -e made.txt && exit; echo made >made.txt; kill -INT $PPID; sleep 300",
    );
    sandbox.auto(&[]).exits(130);
    sandbox.assert_clean();
    assert_eq!(sandbox.blob("refs/cowork/drafts/todo/coding", "made.txt"), "made\n");
    sandbox.cowork(&RESUME).exits(0);
    assert!(code(&sandbox).contains(&"made.txt".to_owned()), "{:?}", code(&sandbox));
    sandbox.assert_clean();
}

#[test]
fn a_promised_file_that_is_a_persons_is_told_in_coding() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/add.sh", "mine\n");
    let outcome = sandbox.auto(&[]).exits(1).says("coding: TASK-002 is not completed");
    assert!(outcome.stderr.contains("tools wanted to write lib/add.sh"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("commit or stash"), "{}", outcome.stderr);
    assert_eq!(sandbox.read("lib/add.sh"), "mine\n");
    // Once the person has committed it, it is a file like any other.
    sandbox.git(&["add", "lib/add.sh"]);
    sandbox.git(&["commit", "-qm", "mine"]);
    sandbox.user_config("[limits]\niterations = { coding = 9 }\n");
    sandbox.cowork(&RESUME).exits(0);
}

/// At the terminal, when the second task is kept from a person's file.
fn kept_from_their_file(sandbox: &Sandbox) -> Terminal {
    sandbox.user_config("[review]\ngates = [\"coding\"]\n");
    sandbox.write("lib/add.sh", "mine\n");
    sandbox.git(&["switch", "-qc", "elsewhere"]);
    let mut terminal =
        sandbox.terminal(&["new", "-n", "todo", "a todo list", "--stop-after", "coding"]);
    terminal.sees("go on here");
    terminal.types("j\r");
    terminal.sees("Allow it?");
    terminal
}

#[test]
fn a_person_may_allow_it_and_their_version_is_kept() {
    let sandbox = Sandbox::new();
    let mut terminal = kept_from_their_file(&sandbox);
    let again = at("coding", "actor").task("TASK-002").iteration(2).turn(1);
    sandbox.server.on_with(again, |received| {
        assert!(received.text().contains("you may now change lib/add.sh"));
        None
    });
    terminal.types("y");
    terminal.sees("attempt 1");
    terminal.sees("p pass ");
    terminal.sees("stop for now");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.blob("refs/cowork/attempts/todo/1", "lib/add.sh"), "mine\n");
    assert_eq!(sandbox.blob("cowork/todo", "lib/add.sh"), code_of("TASK-002"));
    assert!(!sandbox.cowork(&["status"]).stdout.contains("Yours"));
    let log = sandbox.cowork(&["log"]).stdout;
    assert!(log.contains("attempt 1: before tools were allowed to write lib/add.sh"), "{log}");
    assert!(!log.contains("from coding to"), "nothing went back: {log}");
    sandbox.assert_sound();
}

#[test]
fn a_run_that_was_kept_from_their_file_too_often_asks_the_same() {
    let sandbox = Sandbox::new();
    let stubborn = Reply::call("write_file", json!({"path": "lib/add.sh", "content": "x\n"}));
    sandbox.server.on(at("coding", "actor").task("TASK-002").iteration(1), stubborn);
    let mut terminal = kept_from_their_file(&sandbox);
    terminal.types("y");
    terminal.sees("attempt 1");
    terminal.sees("p pass ");
    terminal.sees("stop for now");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.blob("refs/cowork/attempts/todo/1", "lib/add.sh"), "mine\n");
}

#[test]
fn a_person_may_keep_it_to_themselves() {
    let sandbox = Sandbox::new();
    let mut terminal = kept_from_their_file(&sandbox);
    terminal.types("n");
    // The actor hears of it from the check, and the drafts go on from there.
    terminal.sees("TASK-002 is not completed");
    terminal.control('c');
    terminal.ends();
    assert_eq!(sandbox.read("lib/add.sh"), "mine\n");
    assert!(sandbox.refs("refs/cowork/attempts").is_empty());
}

#[test]
fn code_a_person_fixes_beside_the_gate_is_their_edit() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[review]\ngates = [\"coding\"]\n");
    let mut terminal =
        sandbox.terminal(&["new", "-n", "todo", "a todo list", "--stop-after", "coding"]);
    terminal.sees("p pass ");
    terminal.sees("stop for now");
    sandbox.write("lib/add.sh", "# fixed by hand\n");
    sandbox.write("notes.txt", "mine\n");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let commit = sandbox.stage_commit("coding");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
    assert_eq!(sandbox.blob(&commit, "lib/add.sh"), "# fixed by hand\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? notes.txt");
}

#[test]
fn an_edit_made_while_the_critic_reads_is_recorded_as_edited() {
    let sandbox = Sandbox::new();
    let document = ".cowork/sessions/todo/prd.md";
    for order in ["draft-first", "critic-first"] {
        let sandbox = sandbox.fork();
        sandbox.user_config(&format!("[review]\norder = \"{order}\"\n"));
        let (repo, edited) = (sandbox.repo(), format!("{PRD}\nBy hand.\n"));
        let by_hand = edited.clone();
        sandbox.server.on_with(at("prd", "critic"), move |received| {
            let first = !received.text().contains("By hand.");
            if first {
                std::fs::write(repo.join(document), &by_hand).ok()?;
            }
            None
        });
        // The records are brought in line with the document.
        sandbox.server.on(at("prd", "actor").turn(3), Reply::text("Nothing to do."));
        let run = sandbox.auto(&["--stop-after", "prd"]).exits(0);
        assert!(!run.stderr.contains("hook"), "{order}: {}", run.stderr);
        assert!(run.stderr.contains("while the critic read"), "{order}: {}", run.stderr);
        assert_eq!(sandbox.blob("HEAD", document), edited, "{order}");
        let trailers = sandbox.trailers("HEAD");
        assert_eq!(trailers["Cowork-Review"], ["edited"], "{order}");
        assert_eq!(trailers["Cowork-Iterations"], ["1"], "{order}");
        let blob = sandbox.git(&["rev-parse", &format!("HEAD:{document}")]);
        let approved = format!("prd.md@{}", &blob[..12]);
        assert!(trailers["Cowork-Approved"].contains(&approved), "{order}: {trailers:?}");
        // The critic has read what the person wrote.
        let read = sandbox.server.requests_of("prd", "critic");
        assert!(read.last().unwrap().text().contains("By hand."), "{order}");
        sandbox.cowork(&["verify"]).exits(0);
        sandbox.assert_sound();
    }
}

#[test]
fn an_edit_made_while_the_critic_reads_is_asked_about_where_somebody_is_asked() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    let document = ".cowork/sessions/todo/prd.md";
    let repo = sandbox.repo();
    sandbox.server.on_with(at("prd", "critic"), move |received| {
        if !received.text().contains("By hand.") {
            std::fs::write(repo.join(document), format!("{PRD}\nBy hand.\n")).ok()?;
        }
        None
    });
    sandbox.server.on(at("prd", "actor").turn(3), Reply::text("Nothing to do."));
    let waits = sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    waits.says("edited while the critic read it");
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
    assert!(sandbox.blob("HEAD", document).contains("By hand."));
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn code_edited_while_the_critic_reads_is_recorded_as_edited() {
    let sandbox = Sandbox::stopped_after("plan");
    let repo = sandbox.repo();
    // A correction leaves code that is in no commit yet; a person goes on with it.
    sandbox.server.times(1, at("coding", "critic"), reject("say more"));
    let more = json!({"path": "more.sh", "content": "# more\n"});
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), Reply::call("write_file", more));
    sandbox.server.on(at("coding", "actor").iteration(2).turn(2), Reply::text("Done."));
    sandbox.server.on_with(at("coding", "critic").iteration(2).turn(1), move |received| {
        if !received.text().contains("# by hand") {
            std::fs::write(repo.join("more.sh"), "# more\n# by hand\n").ok()?;
        }
        Some(approve())
    });
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "coding"]].concat()).exits(0);
    let recorded = sandbox.blob("HEAD", "more.sh");
    let review = sandbox.trailers("HEAD")["Cowork-Review"].clone();
    // Whatever is recorded is said to be what it is.
    let expected = if recorded.contains("by hand") { "edited" } else { "auto" };
    assert_eq!(review, [expected], "{recorded}");
    assert_eq!(sandbox.read("more.sh"), "# more\n# by hand\n");
    sandbox.cowork(&["verify"]).exits(0);
}

/// Between a stage's commit and the next stage nothing but the hook runs.
#[test]
fn what_a_commit_hook_edits_is_seen_by_the_next_stage() {
    let sandbox = Sandbox::new();
    let document = ".cowork/sessions/todo/prd.md";
    sandbox.hook(
        "post-commit",
        &format!("test -e {document} && git diff --quiet -- {document} && echo 'By hand.' >>{document}; exit 0"),
    );
    let told = sandbox.auto(&["--stop-after", "design"]).exits(0).stderr;
    assert!(told.contains("prd.md has your edits since it was approved"), "{told}");
    assert!(sandbox.blob("HEAD", document).contains("By hand."));
}

/// A check runs on a copy of what is to be committed, and changes neither that nor the working tree.
#[test]
fn what_a_check_writes_is_in_no_commit() {
    let sandbox = Sandbox::new();
    let test = "test -e lib/add.sh || exit 0; echo '# formatted' >>lib/add.sh; echo made >made.txt";
    sandbox
        .user_config(&format!("[project]\nbuild = \"true\"\ntest = \"{test}\"\nlint = \"true\"\n"));
    sandbox.write("notes.txt", "mine\n");
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert!(!code(&sandbox).contains(&"made.txt".to_owned()), "{:?}", code(&sandbox));
    assert!(!sandbox.blob("HEAD", "lib/add.sh").contains("# formatted"));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? notes.txt");
    sandbox.git(&["fsck", "--strict"]);
}

/// Two answers of a model in a row: the second may not write over what a person wrote between them,
/// also where the file was not there when the first was carried out.
#[test]
fn an_edit_between_two_answers_is_seen_by_the_second() {
    let sandbox = Sandbox::new();
    let task = || at("coding", "actor").task("TASK-001");
    let write = |path: &str| json!({"path": path, "content": "the model's\n"});
    let first = Reply::call("write_file", write("lib/one.sh"));
    sandbox.server.on(task().turn(1), first);
    let repo = sandbox.repo();
    sandbox.server.on_with(task().turn(2), move |_| {
        std::fs::write(repo.join("lib/one.sh"), "mine\n").ok()?;
        std::fs::write(repo.join("lib/two.sh"), "mine\n").ok()?;
        let reply = Reply::call("write_file", write("lib/one.sh"));
        Some(reply.and("write_file", write("lib/two.sh")))
    });
    sandbox.server.on_with(task().turn(3), |received| {
        assert_eq!(received.text().matches("has uncommitted changes: ").count(), 2);
        Some(task_work("TASK-001"))
    });
    sandbox.server.on(task().turn(4), Reply::text("The task is done."));
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    for path in ["lib/one.sh", "lib/two.sh"] {
        assert_eq!(sandbox.read(path), "mine\n", "{path}");
    }
    assert!(!code(&sandbox).contains(&"lib/two.sh".to_owned()), "{:?}", code(&sandbox));
}
