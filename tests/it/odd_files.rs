//! Files that are too large, and names that other systems cannot check out.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::received::Received;
use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

#[test]
fn a_large_file_of_a_command_is_recorded_nowhere_and_named() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/here.txt", "here\n");
    sandbox.commit_all("a folder");
    let make = "head -c 10600000 /dev/zero >lib/large.bin && echo x >lib/small.txt";
    let calls = Reply::call("run_command", json!({"command": make}));
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0).says("lib/large.bin is too big");
    let changed = sandbox.git(&["diff", "--name-only", "main", "cowork/todo"]);
    assert!(!changed.contains("large.bin") && changed.contains("lib/small.txt"), "{changed}");
    let requests = sandbox.server.requests_of("coding", "actor");
    let second = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    let told = second.unwrap().tool_results().concat();
    assert!(told.contains("lib/large.bin is larger than 10 MiB"), "{told}");
}

#[test]
fn names_that_other_systems_cannot_check_out_are_refused_to_the_model() {
    let sandbox = Sandbox::new();
    let names = ["lib/aux.c", "lib/what?.md", "lib/dot.", "lib/a\u{202e}cod.sh"];
    let write =
        |reply: Reply, name: &&str| reply.and("write_file", json!({"path": name, "content": "x"}));
    let calls = names.iter().fold(Reply::empty(), write);
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let requests = sandbox.server.requests_of("coding", "actor");
    let second = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    for told in second.unwrap().tool_results() {
        assert!(told.contains("choose another one"), "{told}");
    }
    assert!(names.iter().all(|name| !sandbox.exists(name)));
}

const TO_IDEA: [&str; 2] = ["--stop-after", "idea"];

#[test]
fn a_traced_git_is_read_as_any_other() {
    let mut sandbox = Sandbox::new();
    for variable in ["GIT_TRACE", "GIT_TRACE_SETUP", "GIT_TRACE_PERFORMANCE", "GIT_TRACE2"] {
        sandbox.set_env(variable, "1");
    }
    sandbox.auto(&TO_IDEA).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
}

/// Git takes a variable's word for what a path means.
#[test]
fn paths_mean_themselves_whatever_variables_say() {
    for variable in ["GIT_ICASE_PATHSPECS", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS"] {
        let mut sandbox = Sandbox::stopped_after("plan");
        sandbox.commit_file("NOTES.md", "notes\n", "notes");
        sandbox.write("NOTES.md", "a person's own\n");
        sandbox.set_env(variable, "1");
        let write = Reply::call("write_file", json!({"path": "notes.md", "content": "written\n"}));
        let first = at("coding", "actor").task("TASK-001");
        sandbox.server.sequence(first, vec![write, task_work("TASK-001"), Reply::text("Done.")]);
        sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
        assert_eq!(sandbox.git(&["show", "cowork/todo:NOTES.md"]), "notes", "{variable}");
        assert_eq!(sandbox.git(&["show", "cowork/todo:notes.md"]), "written", "{variable}");
        assert_eq!(sandbox.read("NOTES.md"), "a person's own\n", "{variable}");
    }
}

#[test]
fn an_unreadable_untracked_file_stops_nothing() {
    let Some(sandbox) = Sandbox::new().into_ordinary_user() else { return };
    sandbox.write("secret.txt", "mine\n");
    sandbox.write("folder/secret.txt", "mine\n");
    for path in ["secret.txt", "folder"] {
        std::fs::set_permissions(sandbox.path(path), PermissionsExt::from_mode(0o000)).unwrap();
    }
    let outcome = sandbox.auto(&TO_IDEA).exits(0);
    outcome.says("could not save a copy of your file secret.txt").says("Permission denied");
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
    let listed = sandbox.git(&["ls-tree", "-r", "--name-only", "cowork/todo"]);
    assert!(!listed.contains("secret.txt"), "{listed}");
}

#[test]
fn a_missing_filter_program_stops_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.bin filter=gone\n");
    sandbox.commit_all("attributes");
    sandbox.git(&["config", "filter.gone.clean", "no-such-program"]);
    sandbox.git(&["config", "filter.gone.required", "true"]);
    sandbox.write("a.bin", "x\n");
    let outcome = sandbox.auto(&TO_IDEA).exits(0);
    outcome.says("could not save a copy of your file a.bin").says("no-such-program");
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
}

#[test]
fn conflicts_without_a_merge_are_named() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("a.txt", "one\n", "one");
    sandbox.git(&["switch", "-q", "-c", "other", "HEAD~1"]);
    sandbox.commit_file("a.txt", "two\n", "two");
    assert!(sandbox.git_fails(&["merge", "main"]));
    std::fs::remove_file(sandbox.path(".git/MERGE_HEAD")).unwrap();
    let outcome = sandbox.auto(&TO_IDEA).exits(5);
    outcome.says("a.txt has conflicts that are not resolved").says("hint: git add -- a.txt");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "other");
    assert!(sandbox.refs("refs/heads/cowork").is_empty());
}

#[test]
fn files_of_a_command_with_names_that_other_systems_cannot_check_out_are_named_and_left_out() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/here.txt", "here\n");
    sandbox.commit_all("a folder");
    let make = "for name in aux.c 'what?.md' \"$(printf 'a\\342\\200\\256cod.sh')\" small.txt; do \
                echo x >\"lib/$name\"; done";
    let calls = Reply::call("run_command", json!({"command": make}));
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    let ran = sandbox.auto(&["--stop-after", "coding"]).exits(0);
    ran.says("lib/aux.c is not recorded: its name is a device on Windows");
    let changed = sandbox.git(&["diff", "--name-only", "main", "cowork/todo", "--", "lib"]);
    let is_there = |name: &str| changed.lines().any(|line| line.contains(name));
    assert!(is_there("small.txt"), "{changed}");
    assert!(!["aux.c", "what", "cod.sh"].into_iter().any(is_there), "{changed}");
    assert!(sandbox.exists("lib/aux.c"), "it stays in the working tree");
    let requests = sandbox.server.requests_of("coding", "actor");
    let second = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    let told = second.unwrap().tool_results().concat();
    for part in ["lib/aux.c is not", "lib/what?.md is not", "lib/a\\u{202e}cod.sh is not"] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_fifo_in_place_of_a_tracked_file_is_a_tools_error_and_a_deletion() {
    is_an_error_and_a_deletion(&Sandbox::new());
    // Then git itself makes the commits.
    let hooked = Sandbox::new();
    hooked.hook("pre-commit", "exit 0");
    is_an_error_and_a_deletion(&hooked);
}

fn is_an_error_and_a_deletion(sandbox: &Sandbox) {
    sandbox.commit_file("lib/here.txt", "here\n", "a file");
    let make = json!({"command": "rm lib/here.txt && mkfifo lib/here.txt"});
    let read = Reply::call("read_file", json!({"path": "lib/here.txt"}))
        .and("search_files", json!({"pattern": "here"}));
    let first = at("coding", "actor").task("TASK-001");
    let all =
        vec![Reply::call("run_command", make), read, task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(first, all);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let requests = sandbox.server.requests_of("coding", "actor");
    let third = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 3);
    let told = third.unwrap().tool_results().concat();
    assert!(told.contains("lib/here.txt is not a regular file"), "{told}");
    let deleted = ["diff", "--name-only", "--diff-filter=D", "main", "cowork/todo"];
    assert_eq!(sandbox.git(&deleted), "lib/here.txt");
}

#[test]
fn a_file_that_a_command_made_unreadable_is_read_and_recorded() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("lib/here.txt", "here\n", "a file");
    let Some(sandbox) = sandbox.into_ordinary_user() else { return };
    let make = json!({"command": "echo more >>lib/here.txt && chmod 000 lib/here.txt"});
    let read = Reply::call("read_file", json!({"path": "lib/here.txt"}));
    let first = at("coding", "actor").task("TASK-001");
    let all =
        vec![Reply::call("run_command", make), read, task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(first, all);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let requests = sandbox.server.requests_of("coding", "actor");
    let third = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 3);
    assert!(third.unwrap().tool_results().concat().contains("more"));
    assert_eq!(sandbox.blob("cowork/todo", "lib/here.txt"), "here\nmore\n");
}

#[test]
fn no_file_outside_of_the_tree_is_made_readable() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("lib/here.txt", "here\n", "a file");
    let outside = sandbox.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("here.txt"), "mine\n").unwrap();
    let closed = PermissionsExt::from_mode(0o000);
    std::fs::set_permissions(outside.join("here.txt"), closed).unwrap();
    let make = format!("rm -r lib && ln -s '{}' lib", outside.display());
    let calls = Reply::call("run_command", json!({"command": make}))
        .and("run_command", json!({"command": "rm lib"}));
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let mode = outside.join("here.txt").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0);
}

/// The project's own rules come after a person's: a line there takes the file back.
#[test]
fn a_persons_own_ignore_file_that_hides_promised_files_is_named() {
    let sandbox = Sandbox::new();
    let ignore = sandbox.root().join("ignore").display().to_string();
    std::fs::write(&ignore, "*.log\n*.sh\n").unwrap();
    sandbox.git(&["config", "--global", "core.excludesFile", &ignore]);
    let ran = sandbox.auto(&["--stop-after", "plan"]).exits(1);
    let cause = format!("git ignores todo.sh, which TASK-005 creates: {ignore}, line 2 (*.sh)");
    ran.says(&cause);
    let requests = sandbox.server.requests_of("plan", "actor");
    let told = requests.last().unwrap().text();
    assert!(told.contains(&cause) && told.contains("add a line !/todo.sh to .gitignore"), "{told}");

    // Where the plan was approved before, it is the cause of what coding misses.
    let sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    sandbox.git(&["config", "--global", "core.excludesFile", &ignore]);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(1).says(&cause);
    sandbox.write(".gitignore", "!*.sh\n");
    sandbox.commit_all("scripts are not ignored");
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
}

/// A clone would follow them to whatever lies there.
#[test]
fn links_that_lead_out_of_the_tree_and_fifos_are_named() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("src/tracked.txt", "text\n", "a file");
    let command = "ln -s /etc/hosts out.txt; ln -s ../outside up; ln -s README.md in.txt; \
                   ln -s up/x over; rm src/tracked.txt; mkfifo src/tracked.txt";
    let run = Reply::call("run_command", json!({"command": command}));
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![run, task_work("TASK-001"), Reply::text("Done.")]);
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    for named in [
        "out.txt is not recorded: it is a link to /etc/hosts, outside of the working tree",
        "up is not recorded: it is a link to ../outside",
        "src/tracked.txt is not recorded: it is a FIFO, socket or device",
    ] {
        assert_eq!(told.matches(named).count(), 1, "{named}: {told}");
    }
    let names = sandbox.git(&["log", "--format=", "--name-only", "main..HEAD"]);
    let has = |path: &str| names.lines().any(|name| name == path);
    assert!(has("in.txt") && has("src/tracked.txt"), "{names}");
    assert!(!has("out.txt") && !has("up"), "{names}");
}

#[test]
fn a_path_that_no_system_takes_is_refused_in_a_few_words() {
    let sandbox = Sandbox::new();
    let write = |path: String| json!({"path": path, "content": "x\n"});
    let deep = vec!["d".repeat(200); 25].join("/");
    let calls = Reply::call("write_file", write("n".repeat(300))).and("write_file", write(deep));
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert!(!told.contains("warning"), "{told}");
    let requests = sandbox.server.requests_of("coding", "actor");
    let results = requests.iter().find(|request| request.turn == 2).unwrap().tool_results();
    for result in &results {
        assert!(result.contains("longer than systems take") && result.len() < 300, "{result}");
    }
    assert_eq!(results.len(), 2);
}

#[test]
fn a_fifo_that_a_command_leaves_is_named_once_and_none_of_a_person() {
    let sandbox = Sandbox::new();
    assert!(sandbox.command("mkfifo").arg(sandbox.path("mine")).status().unwrap().success());
    let calls = ["mkdir made sub && mkfifo made/pipe sub/.git && touch mine", "true"]
        .map(|command| Reply::call("run_command", json!({"command": command})));
    let first = at("coding", "actor").task("TASK-001");
    let rest = [task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(first, calls.into_iter().chain(rest).collect());
    let ran = sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let named = "made/pipe is not recorded: it is a FIFO, socket or device";
    assert!(ran.stderr.contains(named), "{}", ran.stderr);
    let requests = sandbox.server.requests_of("coding", "actor");
    let told = |turn| {
        let of = |r: &&Received| r.task.as_deref() == Some("TASK-001") && r.turn == turn;
        requests.iter().find(of).unwrap().tool_results().concat()
    };
    assert!(told(2).contains(named), "{}", told(2));
    assert!(!told(3).contains("is not recorded"), "{}", told(3));
    assert!(!ran.stderr.contains("mine is"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches(named).count(), 1, "{}", ran.stderr);
}
