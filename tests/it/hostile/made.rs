//! Repositories that commands and tools make below the tree: named, and out of git's way where they
//! would run something.

use serde_json::json;

use super::{at_every_level, results, sandbox};
use crate::support::confinement::Level;
use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

/// What is told of a repository that runs something.
const MOVED: &str = "was moved to";

fn with_submodule(level: Level) -> Sandbox {
    let mut sandbox = sandbox(level);
    sandbox.git(&["init", "-q", "../theirs"]);
    sandbox.enter("../theirs");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    sandbox.enter(".");
    sandbox.git(&["submodule", "--quiet", "add", "../theirs", "lib/sub"]);
    sandbox.write(".gitignore", "/ignored/\n");
    sandbox.write("ignored/keep", "");
    sandbox.write("lib/dir/keep", "");
    sandbox.commit_all("a submodule");
    sandbox.git(&["submodule", "--quiet", "deinit", "-f", "lib/sub"]);
    sandbox
}

#[test]
fn a_repository_that_would_run_something_is_put_out_of_gits_way_and_named() {
    at_every_level(|level| {
        put_out_of_gits_way(&with_submodule(level));
        with_submodule(level).into_ordinary_user().iter().for_each(put_out_of_gits_way);
    });
}

fn put_out_of_gits_way(sandbox: &Sandbox) {
    let ran = sandbox.root().join("ran");
    let evil =
        format!("{{ printf '#!/bin/sh\\ntouch {}\\n' >evil; chmod +x evil; }}", ran.display());
    let init = format!("g=git; {evil}; $g init -q . && $g config core.fsmonitor $PWD/evil");
    let commands = [
            format!("cd lib/sub && {init}"),
            format!("mkdir -p lib/dir/new && cd lib/dir/new && {init}"),
            format!("mkdir -p lib/dir/bare && cd lib/dir/bare && {evil}; g=git; $g init -q --bare . && $g --git-dir=. config core.fsmonitor $PWD/evil"),
            "mkdir -p lib/dir/hook && cd lib/dir/hook && g=git; $g init -q . && printf '#!/bin/sh\\n' >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit".to_owned(),
            "mkdir -p lib/dir/at && cd lib/dir/at && echo 'gitdir: ../bare' >.git".to_owned(),
            "mkdir -p lib/dir/good && cd lib/dir/good && g=git; $g init -q .".to_owned(),
            // Two commands, each of which does nothing bad.
            "mkdir -p lib/dir/later && cd lib/dir/later && g=git; $g init -q .".to_owned(),
            format!("cd lib/dir/later && {evil}; g=git; $g config core.fsmonitor $PWD/evil"),
            format!("mkdir -p ignored/deep/x && cd ignored/deep/x && {init}"),
        ];
    let broken = "mkdir -p lib/sub/.git";
    let commands: Vec<&str> = commands.iter().map(String::as_str).chain([broken]).collect();
    let told = results(sandbox, &commands, 20);
    for (told, (path, bad)) in told.iter().zip([
        ("lib/sub/.git", true),
        ("lib/dir/new/.git", true),
        ("lib/dir/bare", true),
        ("lib/dir/hook/.git", true),
        ("lib/dir/at/.git", true),
        ("lib/dir/good/.git", false),
        ("lib/dir/later/.git", false),
        ("lib/dir/later/.git", true),
    ]) {
        assert!(told.starts_with("exit 0"), "{told}");
        assert!(told.contains(&format!("\n{path} is a separate repository")), "{path}: {told}");
        assert_eq!(told.contains(MOVED), bad, "{path}: {told}");
    }
    // Who goes there, or has an editor that does.
    for path in [
        "",
        "lib/sub",
        "lib/dir/new",
        "lib/dir/bare",
        "lib/dir/at",
        "lib/dir/later",
        "ignored/deep/x",
    ] {
        sandbox.git_outcome(&["-C", &format!("./{path}"), "status"]);
        assert!(!ran.exists(), "{path}");
    }
    assert!(sandbox.exists("lib/dir/good/.git/HEAD"));
    assert!(!sandbox.exists("lib/sub/.git") && told.last().unwrap().contains("would fail"));
    let status = sandbox.git(&["ls-files"]);
    assert!(!status.contains(".moved"), "{status}");
    let done = sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let report = sandbox.artifact("delivery_report.md");
    for path in ["lib/dir/good/.git", "lib/sub/.git", "ignored/deep/x/.git"] {
        assert!(report.contains(path), "{path}: {report}\n{}", done.stderr);
    }
}

#[test]
fn a_bare_repository_that_tools_write_runs_nothing() {
    Sandbox::of_everybody().for_each(|sandbox| runs_nothing(&sandbox));
}

fn runs_nothing(sandbox: &Sandbox) {
    let ran = sandbox.root().join("ran");
    let config =
        format!("[core]\n\tbare = true\n\tworktree = .\n\tfsmonitor = touch {}\n", ran.display());
    let files = [
        ("HEAD", "ref: refs/heads/main\n"),
        ("objects/keep", "x\n"),
        ("refs/keep", "x\n"),
        ("config", &config),
    ];
    let write = |reply: Reply, (name, text): (&str, &str)| {
        reply.and("write_file", json!({"path": format!("lib/db/{name}"), "content": text}))
    };
    let calls = files.into_iter().fold(Reply::empty(), write);
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    let told = sandbox.auto(&[]).exits(0);
    told.says("lib/db is a separate repository").says("core.fsmonitor");
    assert!(sandbox.exists("lib/db/HEAD.moved") && !sandbox.exists("lib/db/HEAD"));
    sandbox.git_outcome(&["-C", "lib/db", "status"]);
    assert!(!ran.exists());
}

/// A linked working tree of a bare repository, and a hook that visits a mirror.
#[test]
fn a_person_may_work_with_bare_repositories() {
    let mut sandbox = Sandbox::new();
    sandbox.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    sandbox.git(&["-C", "../bare.git", "worktree", "add", "-q", "../linked"]);
    let hook = "unset $(git rev-parse --local-env-vars | grep -v CONFIG)\n\
                cd ../bare.git && git rev-parse HEAD >>../seen";
    sandbox.executable(&sandbox.root().join("bare.git/hooks/pre-commit"), hook);
    sandbox.enter("../linked");
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    assert!(std::fs::read_to_string(sandbox.root().join("seen")).unwrap().len() > 40);
    sandbox.enter("../bare.git");
    sandbox.cowork(&["resume"]).exits(5).says("a bare repository");
}

/// Each task writes a part that is none yet; the last one would complete it.
#[test]
fn a_bare_repository_that_tasks_build_bit_by_bit_is_in_no_commit() {
    let sandbox = Sandbox::new();
    let config = "[core]\n\tbare = true\n\tfsmonitor = touch /tmp/ran\n";
    let parts = [
        ("TASK-001", "lib/db/HEAD", "ref: refs/heads/main\n"),
        ("TASK-002", "lib/db/config", config),
        ("TASK-003", "lib/db/refs/keep", "x\n"),
        ("TASK-004", "lib/db/objects/keep", "x\n"),
    ];
    for (task, path, text) in parts {
        let write = Reply::call("write_file", json!({"path": path, "content": text}));
        let rest = [task_work(task), Reply::text("Done.")];
        let first = at("coding", "actor").task(task);
        sandbox.server.sequence(first, [&[write][..], &rest].concat());
    }
    // The model that is told does not listen; what it made is on the disk, and git sees no repository.
    let told = sandbox.auto(&[]).stderr;
    assert!(told.contains("lib/db is a separate repository"), "{told}");
    let tree = sandbox.git(&["ls-tree", "-r", "--name-only", "cowork/todo", "lib/db/"]);
    let whole = ["HEAD", "objects/keep", "refs/keep"];
    let whole = whole.iter().all(|name| tree.contains(&format!("lib/db/{name}")));
    assert!(!whole, "{tree}\n{told}");
}

#[test]
fn merge_and_verify_look_at_the_whole_branch() {
    let sandbox = Sandbox::delivered();
    for (path, text) in [
        ("lib/db/HEAD", "ref: refs/heads/main\n"),
        ("lib/db/objects/keep", "x\n"),
        ("lib/db/refs/keep", "x\n"),
        ("lib/db/config", "[core]\n\tbare = true\n\tfsmonitor = touch /tmp/ran\n"),
    ] {
        sandbox.commit_file(path, text, "a part");
    }
    let named = "lib/db is a repository, and git would run core.fsmonitor in it";
    sandbox.cowork(&["merge", "todo"]).exits(5).says(named).says("git rm -r lib/db");
    let found = sandbox.cowork(&["verify", "todo"]).exits(1).stdout;
    assert!(found.contains(named) && found.contains("embedded-repository"), "{found}");
    sandbox.git(&["rm", "-rq", "lib/db"]);
    sandbox.git(&["commit", "-qm", "take it out"]);
    sandbox.cowork(&["merge", "todo"]).exits(0);
}
