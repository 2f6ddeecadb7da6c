//! Configuration and programs in the tree that a person's git would read and run outside of the
//! sandbox: commands leave them as they are.

use std::os::unix::fs::MetadataExt as _;

use super::{at_every_level, results, sandbox};
use crate::support::Sandbox;

/// Runs a command that changes these files; all of them are restored, and git runs nothing of it.
#[track_caller]
fn is_restored(sandbox: &Sandbox, command: &str, paths: &[&str]) {
    let told = results(sandbox, &[command], 20).remove(0);
    assert!(told.starts_with("exit 0"), "{told}");
    for path in paths {
        assert!(told.contains(&format!("{path} changed and was restored")), "{path}: {told}");
    }
    sandbox.git(&["status"]);
    sandbox.git(&["add", "--all"]);
    assert!(!sandbox.exists("../ran"), "git ran a command's program");
}

#[test]
fn configuration_that_is_included_but_not_there_yet_is_not_made() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        sandbox.write("lib/team.gitconfig", "[include]\n\tpath = local.inc\n");
        sandbox.commit_all("configuration");
        sandbox.git(&["config", "include.path", "../lib/team.gitconfig"]);
        sandbox.git(&["config", "includeIf.onbranch:main.path", "../lib/main.inc"]);
        let ran = sandbox.root().join("ran");
        let made = format!("printf '[core]\\n\\tfsmonitor = \"touch {}\"\\n'", ran.display());
        let command = format!("{made} >lib/local.inc; {made} >lib/main.inc");
        is_restored(&sandbox, &command, &["lib/local.inc", "lib/main.inc"]);
        assert!(!sandbox.exists("lib/local.inc") && !sandbox.exists("lib/main.inc"));
        sandbox.git(&["switch", "-q", "main"]);
        assert!(!sandbox.exists("../ran"), "git ran a command's program");
    });
}

#[test]
fn a_program_that_git_runs_on_files_is_not_changed() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        sandbox.write(".gitattributes", "*.enc filter=enc\n");
        sandbox.write(".gitignore", "node_modules/\n");
        sandbox.executable(&sandbox.path("node_modules/enc/run"), "cat");
        std::fs::create_dir(sandbox.path("node_modules/.bin")).unwrap();
        let link = sandbox.path("node_modules/.bin/enc");
        std::os::unix::fs::symlink("../enc/run", &link).unwrap();
        sandbox.commit_all("a filter");
        sandbox.git(&["config", "filter.enc.clean", "node_modules/.bin/enc"]);
        let evil = format!("#!/bin/sh\ntouch {}\n", sandbox.root().join("ran").display());
        let made = format!("printf '{}'", evil.replace('\n', "\\n"));
        let command = format!(
            "{made} >node_modules/enc/run; {made} >node_modules/evil; chmod +x node_modules/evil; \
             ln -sf ../evil node_modules/.bin/enc; echo x >lib/n.enc"
        );
        is_restored(&sandbox, &command, &["node_modules/.bin/enc", "node_modules/enc/run"]);
        assert_eq!(sandbox.read("node_modules/enc/run"), "#!/bin/sh\ncat\n");
        assert_eq!(std::fs::read_link(link).unwrap().to_str(), Some("../enc/run"));
    });
}

#[test]
fn a_command_leaves_no_program_that_runs_as_its_owner() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let made =
            |mode: &str, name: &str| format!("cp /bin/sh lib/{name}; chmod {mode} lib/{name}");
        let commands = [
            made("4755", "user"),
            made("u+s", "also"),
            "cp /bin/sh lib/group; chmod 2755 lib/group; mkdir lib/deep; chmod 2775 lib/deep"
                .to_owned(),
        ];
        let told = results(&sandbox, &commands.each_ref().map(String::as_str), 20);
        assert!(told[0].contains("Operation not permitted"), "{}", told[0]);
        assert!(told[1].contains("Operation not permitted"), "{}", told[1]);
        assert!(told[2].starts_with("exit 0"), "{}", told[2]);
        let mode = |path: &str| sandbox.path(path).metadata().unwrap().mode() & 0o7000;
        assert_eq!(["user", "also", "group"].map(|name| mode(&format!("lib/{name}"))), [0; 3]);
        assert_eq!(mode("lib/deep"), 0o2000);
    });
}
