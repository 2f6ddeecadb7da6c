//! What is a person's is as it was after a command, and in no commit: uncommitted files, also under
//! another name; of ignored files a copy stays.

use serde_json::json;

use crate::meanwhile::{code, first_task_runs};
use crate::support::received::Received;
use crate::support::{Reply, Sandbox, at};

/// The answers to the first task's commands.
fn answers(sandbox: &Sandbox) -> String {
    let requests = sandbox.server.requests_of("coding", "actor");
    requests.iter().map(Received::text).collect::<Vec<_>>().join("\n")
}

/// The copies in the state directory.
fn set_aside(sandbox: &Sandbox) -> Vec<String> {
    let aside = sandbox.path(".git/cowork/sessions/todo/set-aside");
    let kept = std::fs::read_dir(aside).unwrap();
    kept.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

/// Also a lock file that a build writes anew: the build passes, and the person's version stays. At
/// every level of confinement that the machine has.
#[test]
fn a_persons_files_are_as_they_were_after_a_command() {
    for level in ["namespaces", "landlock", "none"] {
        Sandbox::of_everybody().for_each(|sandbox| are_as_they_were(sandbox, level));
    }
}

fn are_as_they_were(mut sandbox: Sandbox, level: &str) {
    sandbox.set_env("COWORK_TEST_SANDBOX", level);
    sandbox.commit_file("work/some.lock", "one\n", "a lock file");
    let mine = [
        ("work/some.lock", "one of mine\n"),
        ("work/notes.txt", "mine\n"),
        ("work/drafts/deep/one.txt", "first of mine\n"),
        ("work/drafts/two.txt", "second of mine\n"),
    ];
    mine.iter().for_each(|(path, text)| sandbox.write(path, text));
    first_task_runs(
        &sandbox,
        "cd work && rm notes.txt && echo over >some.lock && cat some.lock && mv drafts moved && \
         ln -s moved drafts && echo made >made.txt",
    );
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert!(told.contains("a command changed your uncommitted work/some.lock"), "{told}");
    assert!(told.contains("a command deleted your uncommitted work/notes.txt"), "{told}");
    mine.iter().for_each(|(path, text)| assert_eq!(sandbox.read(path), *text, "{path}"));
    let heard = answers(&sandbox);
    assert!(heard.contains("stdout:\nover"), "the command saw what it wrote: {heard}");
    assert!(heard.contains("uncommitted work of your user, which was put back"), "{heard}");
    assert!(set_aside(&sandbox).contains(&"over\n".to_owned()));
    let mut work = code(&sandbox);
    work.retain(|path| path.starts_with("work/"));
    assert_eq!(work, ["work/made.txt"], "{level}");
}

#[test]
fn a_persons_files_are_put_back_after_a_command_that_died_with_the_run() {
    let mut sandbox = Sandbox::new();
    // A confined one cannot kill us.
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    sandbox.write("notes.txt", "mine\n");
    sandbox.write("README.md", "# Mine now\n");
    let dies = "test -e made.txt && exit; echo made >made.txt; rm notes.txt; echo >README.md; \
                kill -KILL $PPID; sleep 300";
    first_task_runs(&sandbox, dies);
    sandbox.auto(&[]).was_killed();
    assert!(!sandbox.exists("notes.txt"));
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    told.says("a command deleted your uncommitted notes.txt; it is as it was");
    assert_eq!(sandbox.read("notes.txt") + &sandbox.read("README.md"), "mine\n# Mine now\n");
    assert!(code(&sandbox).contains(&"made.txt".to_owned()), "{:?}", code(&sandbox));
}

#[test]
fn a_copy_of_a_persons_file_is_in_no_commit() {
    const MINE: &str = "what nobody else should ever read about this project\n";
    let sandbox = Sandbox::new();
    sandbox.write("private-notes.txt", MINE);
    sandbox.commit_file("src/a.txt", "tracked\n", "a file");
    first_task_runs(&sandbox, "cp private-notes.txt src/a.txt; cp private-notes.txt lib-copy.txt;");
    let clean =
        Reply::call("run_command", json!({"command": "rm lib-copy.txt; echo b >src/a.txt"}));
    sandbox.server.on(at("coding", "actor").task("TASK-001").iteration(2).turn(1), clean);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let heard = answers(&sandbox);
    assert!(heard.contains("src/a.txt is a copy of the uncommitted private-notes.txt"), "{heard}");
    assert!(heard.contains("lib-copy.txt is a copy of the uncommitted"), "{heard}");
    assert_eq!(sandbox.read("private-notes.txt"), MINE);
    let blob = sandbox.git(&["hash-object", "private-notes.txt"]);
    let listed = sandbox.git(&["log", "--raw", "--no-abbrev", "--format=", "main..HEAD"]);
    assert!(!listed.contains(&blob) && !listed.contains("private-notes"), "{listed}");
}

/// Those that lie in no ignored folder and were there before the session.
#[test]
fn of_ignored_files_a_copy_stays_when_a_command_changes_them() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitignore", ".env*\n*.db\nbuilt/\n", "ignore");
    sandbox.write(".env", "PORT=1\n");
    sandbox.write("local.db", "rows\n");
    sandbox.write("other.db", "untouched\n");
    sandbox.write("built/out", "made\n");
    let large = std::fs::File::create(sandbox.path("large.db")).unwrap();
    large.set_len(10 * 1024 * 1024 + 1).unwrap();
    first_task_runs(&sandbox, "rm .env; echo row >>local.db; echo new >new.db; rm built/out");
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert!(told.contains("large.db, which git ignores, is too large to be copied"), "{told}");
    for (path, text) in [(".env", "PORT=1\n"), ("local.db", "rows\n")] {
        let copy = format!("a command changed or deleted {path}, which git ignores; as it was: ");
        let copy = told.split_once(&copy).unwrap().1.lines().next().unwrap();
        assert_eq!(std::fs::read_to_string(copy).unwrap(), text);
    }
    assert_eq!(sandbox.read("local.db"), "rows\nrow\n", "a command may change it");
    assert_eq!(told.matches("which git ignores").count(), 3, "{told}");
    let mut kept = set_aside(&sandbox);
    kept.sort();
    kept.retain(|text| !text.contains("linguist"));
    assert_eq!(kept, ["PORT=1\n", "rows\n", "untouched\n"]);
}
