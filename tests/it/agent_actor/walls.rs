//! What a program must not change, reach or leave behind, and what it finds.

use std::fs;

use super::{CODING, ENDS, KEY, coding_by, has_left_nothing, install, noted, settle};
use crate::support::children::is_running;
use crate::support::confinement::{Level, confinement};
use crate::support::skip::skipped;
use crate::support::{Sandbox, todo};

#[test]
fn what_it_must_not_change_is_refused_and_told_and_the_rest_lands() {
    let does = format!(
        r#"
if [ "$task" = TASK-001 ] || grep -q 'were not copied' "$IN"; then :; else task_file; fi
if [ $N = 1 ]; then
  task_file
  echo theirs >>README.md
  echo '* text' >.gitattributes
  ln -s /etc/passwd lib/link
  echo 'key = {KEY}' >lib/key.sh
  mkdir many; i=0; while [ $i -lt 201 ]; do echo $i >many/$i; i=$((i + 1)); done
  mkdir repo; (cd repo; git init -q; echo x >x)
  echo changed >>$session/prd.md
  mkdir .claude; echo '{{}}' >.claude/settings.json
  echo out >'{root}/out'; echo out >'{root}/repo/out'
  git add -A; git commit -qm mine; git checkout -q --detach HEAD~1
  printf '\000\377\001' >logo.bin
  printf '#!/bin/sh\n' >run.sh; chmod 755 run.sh
  chmod 755 tool.sh
  (cd data && seq 20001 | xargs touch)
  rm old.txt; git mv move.txt moved.txt 2>/dev/null || mv move.txt moved.txt
fi
{ENDS}"#,
        root = "ROOT"
    );
    let mut sandbox = Sandbox::new();
    for (path, text) in [
        ("old.txt", "old\n"),
        ("move.txt", "moves\n"),
        ("tool.sh", "true\n"),
        ("data/kept", "data\n"),
    ] {
        sandbox.write(path, text);
    }
    sandbox.commit_all("files");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    sandbox.server.forget();
    sandbox.set_env("ANTHROPIC_API_KEY", KEY);
    settle(&sandbox, "agent = \"codex\"", "");
    install(&sandbox, "codex", &does.replace("ROOT", &sandbox.root().display().to_string()));
    sandbox.write("README.md", "# Mine\n");
    let main = sandbox.git(&["rev-parse", "main"]);
    let outcome = sandbox.cowork(&CODING).exits(0);

    let told = noted(&sandbox, "input.2");
    assert!(told.contains("The following changes were not copied"), "{told}");
    for (path, why) in [
        ("README.md", "has uncommitted changes"),
        (".gitattributes", "git itself acts on it"),
        ("lib/link", "it is a symbolic link"),
        ("lib/key.sh", "contains a secret key"),
        (
            "many/",
            "too big to be recorded (201 new files); to keep them out for good, add a line to .gitignore, like /many/",
        ),
        ("data/", "too big to be recorded (20001 new files)"),
        ("repo/", "it is a separate repository"),
        (".cowork/sessions/todo/prd.md", "the coding stage must not change it"),
        (".claude/settings.json", "it configures agent programs"),
    ] {
        let line = told.lines().find(|line| line.starts_with(&format!("- {path}: ")));
        assert!(line.is_some_and(|line| line.contains(why)), "{path}: {told}");
        assert!(outcome.stderr.contains(&format!("{path} was not copied")), "{path}");
    }
    assert!(noted(&sandbox, "words.2").ends_with("resume\nt-1\n-\n"));
    assert_eq!(sandbox.read("README.md"), "# Mine\n");
    for path in ["lib/link", "lib/key.sh", "many", "repo", ".claude", ".gitattributes"] {
        assert!(sandbox.path(path).symlink_metadata().is_err(), "{path}");
    }
    let tree = sandbox.git(&["ls-tree", "-r", "cowork/todo"]);
    let mode = |path: &str| {
        let line = tree.lines().find(|line| line.ends_with(&format!("\t{path}")));
        line.map(|line| line[..6].to_owned()).unwrap_or_default()
    };
    assert_eq!(["logo.bin", "run.sh", "tool.sh"].map(mode), ["100644", "100755", "100755"]);
    assert_eq!(["old.txt", "move.txt", "moved.txt"].map(mode), ["", "", "100644"]);
    assert_eq!(fs::read(sandbox.path("logo.bin")).unwrap(), [0, 255, 1]);
    assert_eq!(sandbox.read("lib/store.sh"), todo::code_of("TASK-001"));
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    assert!(sandbox.git(&["branch", "--show-current"]).ends_with("cowork/todo"));
    assert!(!sandbox.git(&["log", "--format=%s", "--all"]).lines().any(|line| line == "mine"));
    assert!(!sandbox.exists("out"));
    if confinement() == Level::None {
        skipped("a program that writes outside: nothing confines it here");
    } else {
        assert!(!sandbox.root().join("out").exists());
    }
    sandbox.git(&["checkout", "-q", "README.md"]);
    has_left_nothing(&sandbox);
}

#[test]
fn it_finds_what_builds_need_and_changes_nobody_elses() {
    for level in [Level::Namespaces, Level::Landlock] {
        if level > confinement() {
            skipped(&format!("confinement by {}, which this kernel has not", level.word()));
            continue;
        }
        let mut sandbox = coding_by(&format!(
            "cat node_modules/x/index.js >\"$NOTES/seen.$N\" 2>&1\n\
             echo mine >node_modules/x/index.js; rm -f node_modules/x/old.js\n\
             ls -a . target >\"$NOTES/files.$N\" 2>&1; task_file\n{ENDS}"
        ));
        sandbox.set_env("COWORK_TEST_SANDBOX", level.word());
        sandbox.write(".git/info/exclude", "node_modules\ntarget\n.env\n");
        sandbox.write("node_modules/x/index.js", "theirs\n");
        sandbox.write("node_modules/x/old.js", "theirs\n");
        sandbox.write(".env", "PASSWORD=1\n");
        sandbox.write("target/big", "");
        let big = fs::File::options().write(true).open(sandbox.path("target/big")).unwrap();
        big.set_len(2 << 30).unwrap();
        let outcome = sandbox.cowork(&CODING).exits(0);
        assert_eq!(noted(&sandbox, "seen.1"), "theirs\n", "{level:?}");
        assert_eq!(noted(&sandbox, "seen.2"), "mine\n", "{level:?}");
        let files = noted(&sandbox, "files.1");
        assert!(!files.contains(".env"), "{files}");
        // What is too large to be copied is shown where there are mounts, else named.
        assert_eq!(files.contains("big"), level == Level::Namespaces, "{files}");
        let named =
            "target is not in the working tree of Codex: more than 1024 MiB are too much to copy";
        assert_eq!(outcome.stderr.contains(named), level == Level::Landlock, "{level:?}");
        for file in ["index.js", "old.js"] {
            assert_eq!(sandbox.read(&format!("node_modules/x/{file}")), "theirs\n");
        }
        has_left_nothing(&sandbox);
    }
}

#[test]
fn where_only_landlock_confines_it_works_and_reaches_nothing_outside() {
    if confinement() < Level::Landlock {
        return skipped("confinement by landlock, which this kernel has not");
    }
    let mut sandbox = coding_by("");
    sandbox.set_env("COWORK_TEST_SANDBOX", "landlock");
    let outside = sandbox.root().display().to_string();
    let does = format!(
        "task_file; (setsid sleep 309.25 >&- 2>&- <&- &); echo x >'{outside}/out'; echo x >'{outside}/repo/out'\n\
         git commit -q --allow-empty -m mine; rm -f .git; echo x >\"$NOTES/went.on.$N\"\n{ENDS}"
    );
    install(&sandbox, "codex", &does);
    sandbox.cowork(&CODING).exits(0);
    assert_eq!(noted(&sandbox, "went.on.5"), "x\n");
    assert_eq!(sandbox.read("todo.sh"), todo::code_of("TASK-005"));
    assert!(!sandbox.root().join("out").exists() && !sandbox.exists("out"));
    assert!(!sandbox.git(&["log", "--format=%s", "--all"]).lines().any(|line| line == "mine"));
    assert!(!is_running("309.25"));
    has_left_nothing(&sandbox);
}

#[test]
fn what_configures_agents_is_there_once_it_is_trusted_exactly_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/settings.json", "{\"hooks\": {}}\n");
    sandbox.write(".mcp.json", "{}\n");
    sandbox.commit_all("settings for agents");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    sandbox.server.forget();
    settle(&sandbox, "agent = \"codex\"", "");
    let does = format!(
        "cat .claude/settings.json .mcp.json >\"$NOTES/config.$N\" 2>/dev/null\n\
         [ $N -ge 3 ] || exit 3\ntask_file\n{ENDS}"
    );
    install(&sandbox, "codex", &does);
    let hidden = "Codex does not see the agent configuration of this repository \
                  (.claude/settings.json, .mcp.json)";
    let outcome = sandbox.cowork(&CODING).exits(4).says(hidden);
    assert!(outcome.stderr.contains("git cowork trust"), "{}", outcome.stderr);
    assert_eq!(noted(&sandbox, "config.1"), "");

    let trusted = sandbox.cowork(&["trust"]).exits(0).says("is trusted exactly as it is");
    assert_eq!(trusted.stdout, ".claude/settings.json\n.mcp.json\n");
    sandbox.cowork(&["trust"]).exits(0).says("is already trusted");
    let object = sandbox.cowork(&["--json", "trust"]).exits(0).json();
    assert_eq!(object["agent_files"], serde_json::json!([".claude/settings.json", ".mcp.json"]));
    let outcome = sandbox.cowork(&CODING).exits(4);
    assert!(!outcome.stderr.contains("does not see"), "{}", outcome.stderr);
    assert_eq!(noted(&sandbox, "config.2"), "{\"hooks\": {}}\n{}\n");

    sandbox.write(".mcp.json", "{\"mcpServers\": {\"evil\": {}}}\n");
    sandbox.git(&["commit", "-qam", "another server"]);
    sandbox.cowork(&CODING).exits(0).says(hidden);
    assert_eq!(noted(&sandbox, "config.3"), "");
    sandbox.cowork(&["trust", "--revoke"]).exits(0).says("is no longer trusted here");
    has_left_nothing(&sandbox);
}

#[test]
fn at_a_terminal_settings_for_agents_are_trusted_by_a_yes_only() {
    let sandbox = Sandbox::new();
    sandbox.write(".gemini/settings.json", "{}\n");
    sandbox.commit_all("settings for agents");
    for (answer, code) in [("\r", 1), ("n", 1), ("y", 0)] {
        let mut terminal = sandbox.terminal(&["trust"]);
        terminal.sees(".gemini/settings.json");
        terminal.sees("let these files configure agent programs");
        terminal.types(answer);
        let (ended, rest) = terminal.ends();
        assert_eq!(ended, code, "{answer:?}: {rest}");
    }
    sandbox.cowork(&["trust"]).exits(0).says("is already trusted");
}

#[cfg(unix)]
#[test]
fn a_tree_that_it_closed_to_everybody_is_opened_again() {
    let Some(sandbox) = coding_by("").into_ordinary_user() else { return };
    install(
        &sandbox,
        "codex",
        &format!("task_file\nmkdir -p deep/er\nchmod 000 deep lib .\n{ENDS}"),
    );
    sandbox.cowork(&CODING).exits(0);
    assert_eq!(sandbox.read("lib/add.sh"), todo::code_of("TASK-002"));
    has_left_nothing(&sandbox);
}
