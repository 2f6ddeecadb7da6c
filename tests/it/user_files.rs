//! What is a person's is as it was after a command, and in no commit: uncommitted files, also under
//! another name; of ignored files a copy stays.

use serde_json::json;

use crate::meanwhile::{code, first_task_runs};
use crate::support::confinement::{Level, confinement};
use crate::support::received::Received;
use crate::support::todo::task_work;
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

/// Whatever comes first after that: another session in the same tree, or a move of the repository.
#[test]
fn a_killed_commands_changes_are_put_back_by_another_session_and_after_a_move() {
    let mut killed = Sandbox::new();
    killed.set_env("COWORK_TEST_SANDBOX", "none");
    killed.write("notes.txt", "mine\n");
    let dies = "test -e made.txt && exit; echo made >made.txt; echo over >notes.txt; \
                kill -KILL $PPID; sleep 300";
    first_task_runs(&killed, dies);
    killed.auto(&[]).was_killed();
    let mut moved = killed.fork();
    assert_eq!(killed.read("notes.txt"), "over\n");
    killed.git(&["switch", "-q", "main"]);
    let new = ["new", "-n", "two", "a todo list", "--review", "auto", "--stop-after", "idea"];
    let told = killed.cowork(&new).exits(0);
    told.says("session todo: a command changed your uncommitted notes.txt");
    assert_eq!(killed.read("notes.txt"), "mine\n");
    std::fs::remove_file(killed.path("notes.txt")).unwrap();
    killed.cowork(&["archive", "two"]).exits(0);
    assert!(!killed.exists("notes.txt"), "once");

    let new_place = moved.root().join("moved");
    std::fs::rename(moved.repo(), &new_place).unwrap();
    moved.enter(new_place.to_str().unwrap());
    moved.cowork(&["resume", "--review", "auto"]).exits(0);
    assert_eq!(std::fs::read_to_string(new_place.join("notes.txt")).unwrap(), "mine\n");
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
    assert_eq!(told.matches("which git ignores").count(), 4, "{told}");
    assert!(told.contains("emptied or deleted built/"), "{told}");
    let mut kept = set_aside(&sandbox);
    kept.sort();
    kept.retain(|text| !text.contains("linguist"));
    assert_eq!(kept, ["PORT=1\n", "rows\n", "untouched\n"]);
}

/// As in trees from systems with Latin-1 or CP 850.
#[cfg(unix)]
#[test]
fn files_whose_names_are_not_utf8_are_as_they_were_too() {
    use std::os::unix::ffi::OsStrExt as _;
    let names = [&b"b\xffd.txt"[..], b"sub/\x82t\x82.txt", b"b\xfed.txt"];
    let sandbox = Sandbox::new();
    sandbox.commit_file("sub/a.txt", "a\n", "a folder");
    let paths = names.map(|name| sandbox.repo().join(std::ffi::OsStr::from_bytes(name)));
    paths.iter().for_each(|path| std::fs::write(path, format!("mine: {path:?}")).unwrap());
    first_task_runs(
        &sandbox,
        "for f in b*.txt; do echo over >$f; done; rm sub/?t*.txt; echo new >$(printf 'x\\377')",
    );
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    for path in &paths {
        assert_eq!(std::fs::read_to_string(path).unwrap(), format!("mine: {path:?}"));
    }
    assert_eq!(told.matches("a command changed your uncommitted b\u{fffd}d.txt").count(), 2);
    assert!(
        told.contains("a command deleted your uncommitted sub/\u{fffd}t\u{fffd}.txt"),
        "{told}"
    );
    assert!(told.contains("is not UTF-8"), "the command's own file is in no commit: {told}");
    assert!(code(&sandbox).iter().all(|path| path.is_ascii()), "{:?}", code(&sandbox));
}

#[test]
fn ignored_files_made_between_two_runs_are_a_persons() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitignore", ".env\n*.db\n", "ignore");
    first_task_runs(&sandbox, "echo one >made.db");
    let run = Reply::call("run_command", json!({"command": "rm .env; echo two >made.db"}));
    let rest = [run, task_work("TASK-002"), Reply::text("The task is done.")];
    let second = at("coding", "actor").task("TASK-002");
    sandbox.server.sequence(second, [&[Reply::status(403, "no")][..], &rest].concat());
    sandbox.auto(&[]).exits(4);
    sandbox.write(".env", "PORT=1\n");
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(0).stderr;
    assert!(told.contains("a command changed or deleted .env, which git ignores"), "{told}");
    assert!(!told.contains("changed or deleted made.db"), "a command made it: {told}");
    assert!(set_aside(&sandbox).contains(&"PORT=1\n".to_owned()));
}

#[test]
fn a_person_is_told_when_a_model_reads_an_ignored_file() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitignore", ".env\n", "ignore");
    sandbox.write(".env", "PORT=1\n");
    let reads = Reply::call("read_file", json!({"path": ".env"}));
    let first = at("coding", "actor").task("TASK-001");
    let rest = [task_work("TASK-001"), Reply::text("The task is done.")];
    sandbox.server.sequence(first, [&[reads.clone(), reads][..], &rest].concat());
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert_eq!(told.matches("a model read .env, which git ignores").count(), 1, "{told}");
}

/// The rules that a command writes say nothing of what was there before.
#[test]
fn what_a_command_stops_to_ignore_is_not_its_work() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitignore", ".env\nbuilt/\n", "ignore");
    sandbox.write(".env", "PORT=1\n");
    sandbox.write("built/out", "made\n");
    first_task_runs(&sandbox, "echo '# nothing' >.gitignore; echo more >>built/out; echo a >a.txt");
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let made = code(&sandbox);
    assert!(made.contains(&"a.txt".to_owned()) && made.contains(&".gitignore".to_owned()));
    assert!(!made.iter().any(|path| path.contains("env") || path.contains("built")), "{made:?}");
}

#[test]
fn files_that_a_model_has_git_ignore_are_put_back_all_the_same() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitignore", "*.o\n", "ignore");
    sandbox.write("notes.txt", "mine\n");
    sandbox.write("drafts/one.md", "first of mine\n");
    let rules = json!({"path": ".gitignore", "content": "*.o\nnotes*\ndrafts/\n"});
    let run = |command| Reply::call("run_command", json!({"command": command}));
    let answers = [
        Reply::call("read_file", json!({"path": ".gitignore"})),
        Reply::call("write_file", rules),
        run("echo over >notes.txt; rm -r drafts"),
        task_work("TASK-001"),
        Reply::text("The task is done."),
    ];
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), answers.to_vec());
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert!(told.contains("a command changed your uncommitted notes.txt"), "{told}");
    assert!(told.contains("a command deleted your uncommitted drafts/one.md"), "{told}");
    assert_eq!(sandbox.read("notes.txt") + &sandbox.read("drafts/one.md"), "mine\nfirst of mine\n");
    assert!(code(&sandbox).contains(&".gitignore".to_owned()), "{:?}", code(&sandbox));
}

/// A name outside of the tree, the folder's mode, a time before 1970 and a link to anything.
#[cfg(unix)]
#[test]
fn a_persons_odd_files_are_as_they_were() {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::{Duration, SystemTime};
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    sandbox.write("../outside.txt", "mine\n");
    std::fs::hard_link(sandbox.path("../outside.txt"), sandbox.path("notes.txt")).unwrap();
    symlink(std::ffi::OsStr::from_bytes(b"\xff"), sandbox.path("link")).unwrap();
    sandbox.write("old/one.txt", "old\n");
    let long = "\u{8b70}".repeat(80);
    sandbox.write(&long, "long\n");
    let old = SystemTime::UNIX_EPOCH - Duration::from_secs(1_000_000);
    let file = std::fs::File::options().append(true).open(sandbox.path("old/one.txt")).unwrap();
    file.set_modified(old).unwrap();
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(sandbox.path("old"), mode(0o700)).unwrap();
    let before = sandbox.path(".").metadata().unwrap().permissions().mode();
    first_task_runs(
        &sandbox,
        "for f in *; do test -d $f || echo over >$f; done; rm link; echo over >old/one.txt; chmod 777 old; touch made.txt; \
         chmod 000 .",
    );
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert_eq!(sandbox.read("../outside.txt"), "mine\n");
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
    assert_eq!(sandbox.path("link").read_link().unwrap().as_os_str().as_bytes(), b"\xff");
    assert_eq!(sandbox.read("old/one.txt") + &sandbox.read(&long), "old\nlong\n");
    assert_eq!(sandbox.path("old/one.txt").metadata().unwrap().modified().unwrap(), old);
    let modes =
        ["old", "."].map(|path| sandbox.path(path).metadata().unwrap().permissions().mode());
    assert_eq!(modes.map(|mode| mode & 0o777), [0o700, before & 0o777]);
    assert!(code(&sandbox).contains(&"made.txt".to_owned()));
}

/// In a folder that a command filled, and an ignored file that a command has changed before.
#[test]
fn what_a_person_writes_between_two_commands_is_the_persons() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitignore", ".env\n", "ignore");
    sandbox.write(".env", "PORT=1\n");
    let repo = sandbox.repo();
    let run = |command: &str| Reply::call("run_command", json!({"command": command}));
    let task = || at("coding", "actor").task("TASK-001");
    let fill = "mkdir docs; for i in $(seq 201); do echo $i >docs/$i; done; echo one >.env; \
                echo made >made.txt";
    sandbox.server.on(task().turn(1), run(fill));
    let over = run("echo over >docs/chapter.md; rm .env made.txt");
    sandbox.server.on_with(task().turn(2), move |_| {
        std::fs::write(repo.join("docs/chapter.md"), "mine\n").ok()?;
        std::fs::write(repo.join(".env"), "PORT=2\n").ok()?;
        std::fs::write(repo.join("made.txt"), "made, and edited\n").ok()?;
        Some(over.clone())
    });
    sandbox.server.on(task().turn(3), task_work("TASK-001"));
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert_eq!(sandbox.read("docs/chapter.md"), "mine\n", "{told}");
    assert_eq!(told.matches("a command changed or deleted .env").count(), 2, "{told}");
    assert!(
        told.contains("a command changed or deleted made.txt after you had edited it"),
        "{told}"
    );
    let kept = set_aside(&sandbox);
    assert!(
        ["PORT=1\n", "PORT=2\n", "made, and edited\n"]
            .iter()
            .all(|text| kept.contains(&text.to_string()))
    );
}

/// A build in place may write hundreds.
#[test]
fn many_ignored_files_are_told_in_a_few_lines() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitignore", "*.o\n", "ignore");
    (0..30).for_each(|number| sandbox.write(&format!("src/{number}.o"), "built\n"));
    first_task_runs(&sandbox, "for f in src/*.o; do echo again >$f; done");
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert_eq!(told.matches("which git ignores; as it was").count(), 10, "{told}");
    assert!(told.contains("changed or deleted 20 more files that git ignores; as they were: /"));
}

/// Also in repositories below the tree, wherever a command moves them. Of what they ignore a copy
/// stays, and what a command made there is nobody's.
#[test]
fn a_persons_files_in_repositories_below_the_tree_are_as_they_were() {
    for level in ["namespaces", "landlock", "none"] {
        Sandbox::of_everybody().for_each(|sandbox| nested_ones_are_as_they_were(sandbox, level));
    }
}

fn nested_ones_are_as_they_were(mut sandbox: Sandbox, level: &str) {
    sandbox.set_env("COWORK_TEST_SANDBOX", level);
    sandbox.commit_file(".gitignore", "/trees/\n", "ignore");
    sandbox.git(&["init", "-q", "../theirs"]);
    sandbox.write("../theirs/t.txt", "theirs\n");
    sandbox.write("../theirs/clean.txt", "theirs\n");
    sandbox.write("../theirs/.gitignore", "*.env\n");
    sandbox.enter("../theirs");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "theirs"]);
    sandbox.enter(".");
    sandbox.git(&["submodule", "--quiet", "add", "../theirs", "lib/sub"]);
    sandbox.git(&["commit", "-q", "-m", "a submodule"]);
    sandbox.git(&["clone", "-q", "../theirs", "lib/own"]);
    sandbox.git(&["worktree", "add", "-q", "-b", "topic", "trees/topic", "main"]);
    let mine = [
        "lib/sub/t.txt",
        "lib/sub/notes.txt",
        "lib/own/t.txt",
        "lib/own/deep/notes.txt",
        "trees/topic/README.md",
    ];
    mine.iter().for_each(|path| sandbox.write(path, "mine\n"));
    sandbox.write("lib/sub/a.env", "PORT=1\n");
    let pointer = sandbox.read("trees/topic/.git");
    let run = |command: &str| Reply::call("run_command", json!({"command": command}));
    let first = "for f in lib/sub/t.txt trees/topic/README.md lib/own/clean.txt lib/sub/a.env; do \
                 echo over >$f; done; rm lib/sub/notes.txt; mv lib/own lib/moved; \
                 echo over >lib/moved/t.txt; rm -r lib/moved/deep";
    let second = "echo again >lib/own/clean.txt; test -e lib/moved || echo moved back";
    let replies = [run(first), run(second), task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies.to_vec());
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    mine.iter().for_each(|path| assert_eq!(sandbox.read(path), "mine\n", "{level}: {path} {told}"));
    // Landlock alone moves nothing that lies beside a repository's `.git`; a confined command writes
    // nothing in a linked working tree.
    let changed = match level {
        "namespaces" => &["lib/sub/t.txt", "lib/own/t.txt"][..],
        "landlock" => &["lib/sub/t.txt"],
        _ => &["lib/sub/t.txt", "lib/own/t.txt", "trees/topic/README.md"],
    };
    for path in changed {
        assert!(told.contains(&format!("a command changed your uncommitted {path}")), "{told}");
    }
    assert!(told.contains("a command changed or deleted lib/sub/a.env, which"), "{told}");
    assert!(set_aside(&sandbox).contains(&"PORT=1\n".to_owned()));
    assert_eq!(sandbox.read("lib/own/clean.txt"), "again\n", "a command's own work");
    assert!(answers(&sandbox).contains("moved back"), "{level}");
    assert_eq!(sandbox.read("trees/topic/.git"), pointer);
    assert!(!code(&sandbox).iter().any(|path| path.starts_with("lib/own")));
}

#[test]
fn what_is_in_closed_folders_stays() {
    let Some(sandbox) = Sandbox::new().into_ordinary_user() else { return };
    sandbox.write("closed/one.txt", "mine\n");
    sandbox.write("half/two.txt", "mine\n");
    let mode = |mode: &str, path: &str| sandbox.shell(&format!("chmod {mode} {path}"));
    mode("000", "closed").exits(0);
    mode("500", "half").exits(0);
    first_task_runs(
        &sandbox,
        "chmod 700 closed half; rm -r closed; rm half/two.txt; echo over >half/two.txt; chmod 500 half",
    );
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert_eq!(sandbox.read("half/two.txt"), "mine\n");
    let modes = sandbox.shell("stat -c %a closed half").stdout;
    let has_mounts = confinement() >= Level::Bubblewrap;
    assert!(modes.ends_with("500\n") && (!has_mounts || modes.starts_with("0\n")), "{modes}");
    if has_mounts {
        mode("700", "closed").exits(0);
        assert_eq!(sandbox.read("closed/one.txt"), "mine\n");
    }
    mode("700", "half").exits(0);
}
