//! Repositories below the tree, and the session's own documents.

use super::{at_every_level, contents, none_gets_in, results, sandbox};
use crate::support::Sandbox;
use crate::support::confinement::{Level, confinement};
use crate::support::skip::skipped;

/// A submodule, a repository nobody tracks, one that is ignored, one whose data lies beside it, and a
/// linked working tree deep in an ignored folder.
fn with_others(level: Level) -> Sandbox {
    let mut sandbox = sandbox(level);
    sandbox.git(&["init", "-q", "../theirs"]);
    sandbox.enter("../theirs");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    sandbox.enter(".");
    sandbox.git(&["submodule", "--quiet", "add", "../theirs", "lib/sub"]);
    sandbox.write(".gitignore", "/ignored/\n/trees/\n");
    sandbox.write("lib/dir/keep", "");
    sandbox.write("out/keep", "");
    sandbox.commit_all("a submodule");
    for path in ["lib/own", "ignored"] {
        sandbox.git(&["clone", "-q", "../theirs", path]);
    }
    sandbox.git(&["clone", "-q", "--separate-git-dir=lib/data", "../theirs", "lib/apart"]);
    sandbox.git(&["worktree", "add", "-q", "-b", "topic", "trees/deep/topic", "main"]);
    sandbox
}

#[test]
fn repositories_below_the_tree_are_out_of_reach() {
    at_every_level(|level| {
        let sandbox = with_others(level);
        let all = [
            "lib/own/.git",
            "lib/sub/.git",
            "ignored/.git",
            "lib/data",
            "lib/apart/.git",
            "trees/deep/topic/.git",
        ];
        let kept = |name: &str| {
            let path = sandbox.path(name);
            if path.is_dir() {
                contents(&path).into_values().collect()
            } else {
                vec![std::fs::read(path).unwrap()]
            }
        };
        let before = all.map(kept);
        let attempts = [
            "echo '[core] editor = evil' >>lib/own/.git/config",
            "echo evil >lib/own/.git/hooks/pre-commit",
            "rm -rf lib/own/.git; ! test -e lib/own/.git/HEAD",
            "mv lib/own/.git lib/dir/gone",
            "ln lib/own/.git/config lib/dir/config && echo x >>lib/dir/config",
            "cd lib/own && g=git && $g commit -q --allow-empty -m evil",
            "echo 'gitdir: /nowhere' >lib/sub/.git",
            "rm -f lib/sub/.git && ! test -e lib/sub/.git",
            "cd lib/sub && g=git && $g commit -q --allow-empty -m evil",
            "echo x >>ignored/.git/config",
            "echo 'gitdir: /nowhere' >trees/deep/topic/.git",
            "rm -f trees/deep/topic/.git && ! test -e trees/deep/topic/.git",
            "echo x >>lib/data/config",
            "rm -f lib/apart/.git && ! test -e lib/apart/.git",
            // Commands after one another, as a model would.
            "mv lib/own lib/dir/own; echo x >>lib/dir/own/.git/config",
            "echo x >>lib/dir/own/.git/config",
            "mv lib/dir/own ignored/own; echo x >>ignored/own/.git/config",
            "echo x >>ignored/own/.git/config",
            "mkdir -p lib/own && mv ignored/own/* ignored/own/.git lib/own/ && ! test -e ignored/own/.git",
        ];
        none_gets_in(&sandbox, &attempts);
        let now = all.map(|name| match sandbox.path(name).exists() {
            true => kept(name),
            false => kept("ignored/own/.git"),
        });
        assert_eq!(now, before);
    });
}

/// More than fits into an argument of a program.
#[test]
fn a_thousand_repositories_are_out_of_reach() {
    if confinement() != Level::Namespaces {
        skipped("the kernel gives no namespaces");
        return;
    }
    let sandbox = sandbox(Level::Namespaces);
    let name = |n: usize| format!("lib/{}/{n}/.git", "deep".repeat(40));
    for n in 0..600 {
        sandbox.write(&format!("{}/config", name(n)), "");
    }
    let attempts = [0, 599].map(|n| format!("echo x >{}/config", name(n)));
    none_gets_in(&sandbox, &attempts.each_ref().map(String::as_str));
}

#[test]
fn what_a_command_makes_for_itself_is_its_own() {
    at_every_level(|level| {
        let sandbox = with_others(level);
        let commands = [
            "g=git; $g init -q out/mine && cd out/mine && $g commit -q --allow-empty -m x",
            "cd out/mine && g=git && $g commit -q --allow-empty -m y && $g config a.b c",
            "rm -rf out/mine && ! test -e out/mine",
            "echo x >lib/sub/work && echo x >lib/own/work",
        ];
        // Beside something sealed, Landlock alone allows nothing new.
        let count = if level.has_mounts() { 4 } else { 3 };
        for (command, told) in commands.iter().zip(results(&sandbox, &commands[..count], 20)) {
            assert!(told.starts_with("exit 0"), "{command}: {told}");
        }
        if !level.has_mounts() {
            skipped("new files beside a repository's .git, which Landlock alone forbids");
        }
    });
}

#[test]
fn the_sessions_documents_are_written_by_tools_only() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let attempts = [
            "echo evil >>.cowork/sessions/todo/prd.md",
            "echo evil >.cowork/config.toml",
            "rm .cowork/sessions/todo/session.json",
            "mv .cowork gone",
            "mkdir .cowork/sessions/other",
            "printf evil | tee .cowork/sessions/todo/idea.md",
        ];
        none_gets_in(&sandbox, &attempts);
        assert!(!sandbox.exists(".cowork/config.toml"));
        for name in ["prd.md", "idea.md"] {
            assert!(!sandbox.artifact(name).contains("evil"), "{name}");
        }
    });
}
