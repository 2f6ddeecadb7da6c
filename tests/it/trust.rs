//! The project's configuration comes with a clone: what it may set is set by it only after
//! `git cowork trust`, on exactly that content.

use crate::support::Sandbox;

const FILE: &str = ".cowork/config.toml";

/// A file whose test command would leave a trace, and a limit that always counts.
const HOSTILE: &str = "[project]\ntest = \"touch was-run\"\n[limits]\ntool_turns = 50\n";

#[test]
fn exactly_the_accepted_content_counts_and_only_until_it_changes() {
    let mut sandbox = Sandbox::new();
    sandbox.write(FILE, HOSTILE);
    sandbox.commit_all("configuration");
    let warned = sandbox.cowork(&["list"]).exits(0).says("ignored: project.test");
    assert!(warned.stderr.contains("git cowork trust"), "{}", warned.stderr);
    assert!(!warned.stderr.contains("tool_turns"), "{}", warned.stderr);

    let trusted = sandbox.cowork(&["trust"]).exits(0).says("is trusted exactly as it is");
    assert_eq!(trusted.stdout, "project.test = \"touch was-run\"\n");
    let quiet = sandbox.cowork(&["list"]).exits(0);
    assert!(!quiet.stderr.contains("ignored"), "{}", quiet.stderr);
    sandbox.cowork(&["trust"]).exits(0).says("already");
    // A linked working tree of the repository shares it; the tree itself holds nothing of it.
    sandbox.git(&["worktree", "add", "-q", "../linked"]);
    sandbox.enter("../linked");
    assert!(!sandbox.cowork(&["list"]).exits(0).stderr.contains("ignored"));
    sandbox.enter("");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");

    sandbox.write(FILE, &format!("{HOSTILE}[sandbox]\nnetwork = true\n"));
    sandbox.cowork(&["list"]).exits(0).says("has changed since you trusted it");
    // What was accepted once is so again when it is back.
    sandbox.write(FILE, HOSTILE);
    assert!(!sandbox.cowork(&["list"]).exits(0).stderr.contains("ignored"));
    sandbox.cowork(&["trust", "--revoke"]).exits(0).says("no longer trusted");
    sandbox.cowork(&["list"]).exits(0).says("came with the repository");
    sandbox.cowork(&["trust", "--revoke"]).exits(0).says("nothing was changed");
}

#[test]
fn trust_does_not_come_with_a_clone() {
    let mut sandbox = Sandbox::new();
    sandbox.write(FILE, HOSTILE);
    // What a repository could pretend to have accepted.
    sandbox.write(".cowork/trusted", "everything\n");
    sandbox.commit_all("configuration");
    sandbox.cowork(&["trust"]).exits(0);
    sandbox.git(&["clone", "-q", ".", "../clone"]);
    sandbox.enter("../clone");
    sandbox.cowork(&["list"]).exits(0).says("ignored: project.test");
}

#[test]
fn a_file_that_sets_nothing_of_the_kind_needs_no_trust() {
    let sandbox = Sandbox::new();
    sandbox.cowork(&["trust"]).exits(5).says("there is no .cowork/config.toml");
    sandbox.cowork(&["init"]).exits(0);
    sandbox.cowork(&["trust"]).exits(0).says("nothing that must be trusted");
    sandbox.write(FILE, "[limits]\ntool_turns = 9\n");
    sandbox.cowork(&["trust"]).exits(0).says("nothing that must be trusted");
    // A broken one is refused rather than accepted.
    sandbox.write(FILE, "[project]\ntest = 3\n");
    sandbox.cowork(&["trust"]).exits(4).says("must be a string");
}

#[test]
fn what_is_accepted_is_shown_without_keys_and_without_what_a_terminal_obeys() {
    let sandbox = Sandbox::new();
    sandbox.write(
        FILE,
        "[llm]\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = \"sk-project-0123456789\"\n\
         [review]\neditor = \"vi \\u001b[2J\\u202e\"\n",
    );
    let told = sandbox.cowork(&["--json", "trust"]).exits(0);
    let object = told.json();
    assert_eq!(object["trusted"], true);
    assert_eq!(object["keys"]["llm.base_url"], "\"http://127.0.0.1:1/v1\"");
    assert_eq!(object["sha256"].as_str().map(str::len), Some(64));
    sandbox.cowork(&["trust", "--revoke"]).exits(0);
    let told = sandbox.cowork(&["trust"]).exits(0);
    let all = format!("{}{}", told.stdout, told.stderr);
    assert!(!all.contains("sk-project") && !all.contains('\u{1b}'), "{all}");
    assert!(!all.contains('\u{202e}') && all.contains("\\u{1b}[2J"), "{all}");
}

#[test]
fn an_accepted_test_command_is_really_run() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "[project]\ntest = \"echo ran-the-test\"\n");
    sandbox.commit_all("configuration");
    sandbox.cowork(&["trust"]).exits(0);
    sandbox.auto(&["--stop-after", "coding"]).exits(0).says("running echo ran-the-test");
}
