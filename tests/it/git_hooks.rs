//! The hooks of `init --hooks`: what they do, beside whom they live, and how they go.

use crate::support::Sandbox;

const HOOKS: [&str; 3] = ["post-rewrite", "pre-push", "prepare-commit-msg"];

/// A session up to its PRD in a repository with our hooks, where git finds the program.
fn hooked() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.cowork(&["init", "--hooks"]).exits(0);
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    sandbox
}

fn git_succeeds(sandbox: &Sandbox, args: &[&str]) -> bool {
    let mut git = sandbox.command("git");
    git.args(args).current_dir(sandbox.repo()).output().unwrap().status.success()
}

fn hook(event: &str) -> String {
    format!(".git/hooks/{event}")
}

#[test]
fn a_persons_commit_on_a_session_says_which() {
    let sandbox = hooked();
    sandbox.write("README.md", "# By hand\n");
    sandbox.git(&["commit", "-qam", "by hand"]);
    let id = &sandbox.trailers("HEAD~1")["Cowork-Session-Id"];
    assert_eq!(&sandbox.trailers("HEAD")["Cowork-Session-Id"], id);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Session"], ["todo"]);
    // Ours have them already, once; elsewhere nothing is added.
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Session"], ["todo"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "elsewhere"]);
    assert!(!sandbox.trailers("HEAD").contains_key("Cowork-Session"));
}

#[test]
fn an_empty_message_is_still_empty() {
    let mut sandbox = hooked();
    sandbox.editor("true");
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    assert!(!git_succeeds(&sandbox, &["commit", "--allow-empty"]));
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
}

#[test]
fn rewritten_stages_get_their_new_tags() {
    let sandbox = hooked();
    assert_eq!(sandbox.tags(), ["cowork/todo/idea", "cowork/todo/prd"]);
    sandbox.git(&["commit", "-q", "--amend", "--no-edit", "--date=2001-02-03T04:05:06"]);
    assert_eq!(sandbox.tags(), ["cowork/todo/idea", "cowork/todo/prd", "cowork/todo/prd-2"]);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    assert_eq!(sandbox.git(&["rev-parse", "cowork/todo/prd-2"]), tip);
}

#[test]
fn a_push_of_a_session_that_does_not_hold_is_stopped() {
    let sandbox = hooked();
    sandbox.git(&["init", "-q", "--bare", "../remote"]);
    sandbox.git(&["push", "-q", "../remote", "cowork/todo", "main"]);
    let prd = ".cowork/sessions/todo/prd.md";
    sandbox.write(prd, "# Nothing any more\n");
    sandbox.git(&["commit", "-qm", "broken", "--", prd]);
    assert!(!git_succeeds(&sandbox, &["push", "-q", "../remote", "cowork/todo"]));
    sandbox.git(&["push", "-q", "../remote", "main"]);
    sandbox.git(&["push", "-q", "--no-verify", "../remote", "cowork/todo"]);
}

#[test]
fn hooks_of_the_user_still_run_with_their_input() {
    let sandbox = Sandbox::new();
    let theirs = "cat >\"$(git rev-parse --git-dir)/seen\"";
    for event in ["post-rewrite", "pre-push"] {
        sandbox.hook(event, theirs);
    }
    sandbox.cowork(&["init", "--hooks"]).exits(0).says("its old content still runs");
    sandbox.git(&["commit", "-q", "--amend", "--no-edit", "--allow-empty"]);
    assert!(sandbox.read(".git/seen").contains(&sandbox.git(&["rev-parse", "HEAD"])));
    sandbox.git(&["init", "-q", "--bare", "../remote"]);
    sandbox.git(&["push", "-q", "../remote", "main"]);
    assert!(sandbox.read(".git/seen").contains("refs/heads/main"));
    sandbox.cowork(&["init", "--no-hooks"]).exits(0);
    assert_eq!(sandbox.read(&hook("pre-push")), format!("#!/bin/sh\n{theirs}\n"));
    assert!(!sandbox.exists(&hook("prepare-commit-msg")));
}

#[test]
fn without_the_program_nothing_fails() {
    let mut sandbox = Sandbox::new();
    sandbox.cowork(&["init", "--hooks"]).exits(0);
    sandbox.set_env("PATH", "/usr/local/bin:/usr/bin:/bin");
    for event in HOOKS {
        assert!(sandbox.exists(&hook(event)), "{event}");
    }
    sandbox.git(&["commit", "-q", "--amend", "-m", "again"]);
    sandbox.git(&["init", "-q", "--bare", "../remote"]);
    sandbox.git(&["push", "-q", "../remote", "main"]);
}

#[test]
fn a_hooks_path_elsewhere_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.write(".husky/pre-push", "#!/bin/sh\ntrue\n");
    sandbox.git(&["config", "core.hooksPath", ".husky"]);
    let outcome = sandbox.cowork(&["init", "--hooks"]).exits(0).says("git-cowork hook pre-push");
    assert!(outcome.stderr.contains(".husky"), "{}", outcome.stderr);
    assert_eq!(sandbox.read(".husky/pre-push"), "#!/bin/sh\ntrue\n");
    assert!(!sandbox.exists(".husky/post-rewrite"));
}
