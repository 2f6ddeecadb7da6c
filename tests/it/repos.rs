//! Repositories as they are: hooks, shapes, formats and states. Right, or a clear message and
//! nothing changed.

use serde_json::json;

use crate::support::sandbox::Outcome;
use crate::support::skip::skipped;
use crate::support::todo::TASKS;
use crate::support::{Reply, Sandbox, at};

/// A new session is refused here, and nothing changes.
#[track_caller]
fn refused(sandbox: &Sandbox, fix: &str) {
    let before = (sandbox.all_refs(), sandbox.git(&["status", "--porcelain=v2"]));
    sandbox.auto(&[]).exits(5).says(fix);
    assert_eq!((sandbox.all_refs(), sandbox.git(&["status", "--porcelain=v2"])), before);
    assert!(sandbox.server.requests().is_empty(), "the model was asked");
}

/// Two branches that conflict in README.md; HEAD is on `main`.
fn conflicting() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-q", "-c", "other"]);
    sandbox.write("README.md", "# Other\n");
    sandbox.commit_all("other");
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("README.md", "# Main\n");
    sandbox.commit_all("main");
    sandbox
}

#[test]
fn a_failing_pre_commit_hook_becomes_feedback() {
    let sandbox = Sandbox::new();
    sandbox.hook(
        "pre-commit",
        "git diff --cached --name-only | grep -q lib/add.sh || exit 0\n\
         git show :lib/add.sh | grep -q fixed && exit 0\n\
         echo 'lib/add.sh: style rule 17 is broken' >&2; exit 1",
    );
    sandbox.server.on_with(at("coding", "actor").task("TASK-002"), |received| {
        let said = received.body["messages"].to_string();
        if !said.contains("style rule 17") {
            return None;
        }
        if said.contains("# fixed") {
            return Some(Reply::text("The style is fixed."));
        }
        let fixed = json!({"path": "lib/add.sh", "content": "# fixed\n"});
        let done = json!({"task_id": "TASK-002", "new_status": "completed"});
        Some(Reply::call("write_file", fixed).and("update_task_status", done))
    });
    sandbox.auto(&[]).exits(0);
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
    assert_eq!(sandbox.blob(&commit, "lib/add.sh"), "# fixed\n");
    let history = sandbox.artifact("feedback_history.json");
    assert!(history.contains("\"hook\"") && history.contains("style rule 17"), "{history}");
    sandbox.assert_sound();
}

#[test]
fn a_hook_that_is_never_content_ends_the_session_with_its_words() {
    let sandbox = Sandbox::new();
    sandbox.hook(
        "pre-commit",
        "git diff --cached --name-only | grep -q prd.md || exit 0\necho 'no PRDs here' >&2; exit 1",
    );
    for iteration in 2..=5 {
        let text = format!("{}\nDraft {iteration}.\n", crate::support::todo::PRD);
        let draft = Reply::call("save_prd_doc", json!({"content": text}));
        sandbox.server.on(at("prd", "actor").iteration(iteration).turn(1), draft);
    }
    sandbox.auto(&[]).exits(1).says("no PRDs here");
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
}

#[test]
fn a_refusing_commit_msg_hook_says_the_way_out() {
    let sandbox = Sandbox::new();
    sandbox.hook(
        "commit-msg",
        "head -n 1 \"$1\" | grep -qE '^(feat|fix|chore)(\\([a-z]+\\))?: ' && exit 0\n\
         echo 'subject must be conventional' >&2; exit 1",
    );
    let before = sandbox.all_refs();
    let outcome = sandbox.auto(&[]).exits(5);
    assert!(outcome.stderr.contains("subject must be conventional"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("project.subject"), "{}", outcome.stderr);
    assert_eq!(sandbox.all_refs(), before);
    sandbox.assert_clean();

    sandbox.git(&["config", "cowork.project.subject", "chore({stage}): {summary}"]);
    sandbox.auto(&[]).exits(0);
    let subjects = sandbox.subjects("main..cowork/todo");
    assert_eq!(subjects[0], "chore(start): a todo list for the terminal");
    assert!(subjects.iter().all(|s| s.starts_with("chore(")), "{subjects:#?}");
    assert_eq!(sandbox.cowork(&["status", "--json"]).json()["state"], "completed");
}

#[test]
fn commits_are_signed_when_git_is_configured_to() {
    let sandbox = Sandbox::new();
    let signer = sandbox.root().join("bin/signer");
    sandbox.executable(
        &signer,
        "cat >/dev/null; echo '[GNUPG:] SIG_CREATED ' >&2\n\
         printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nscripted\\n-----END PGP SIGNATURE-----\\n'",
    );
    sandbox.git(&["config", "gpg.program", &signer.display().to_string()]);
    sandbox.git(&["config", "commit.gpgsign", "true"]);
    sandbox.git(&["config", "tag.gpgsign", "true"]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    for commit in ["cowork/todo", "cowork/todo^"] {
        let raw = sandbox.git(&["cat-file", "commit", commit]);
        assert!(raw.contains("gpgsig"), "{raw}");
    }
    let tag = sandbox.git(&["cat-file", "-t", "refs/tags/cowork/todo/idea"]);
    assert_eq!(tag, "commit");
}

#[test]
fn filters_and_attributes_apply() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.shout.clean", "tr a-z A-Z"]);
    sandbox.git(&["config", "filter.shout.smudge", "cat"]);
    sandbox.write(".gitattributes", "lib/*.sh filter=shout\n");
    sandbox.commit_all("shout");
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert!(sandbox.blob("HEAD", "lib/add.sh").contains("ADD A TODO"));
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn from_a_subdirectory_it_works_on_the_whole_tree() {
    let mut sandbox = Sandbox::new();
    sandbox.write("sub/deep/here.txt", "x\n");
    sandbox.commit_all("sub");
    sandbox.enter("sub/deep");
    sandbox.auto(&[]).exits(0);
    sandbox.enter("");
    for task in TASKS {
        assert!(sandbox.exists(task.2), "{}", task.2);
    }
    assert!(sandbox.exists(".cowork/sessions/todo/delivery_report.md"));
    assert!(!sandbox.exists("sub/deep/.cowork"));
    sandbox.assert_sound();
}

#[test]
fn in_a_linked_worktree_it_works_there() {
    let mut sandbox = Sandbox::new();
    sandbox.git(&["worktree", "add", "-q", "../side", "-b", "side"]);
    sandbox.enter("../side");
    sandbox.auto(&[]).exits(0);
    sandbox.assert_sound();
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo");
    sandbox.enter("");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    assert!(!sandbox.exists(".cowork") && sandbox.exists(".git/cowork"));
    // Its branch is checked out elsewhere.
    sandbox.cowork(&["resume", "todo", "--review", "auto"]);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    sandbox.assert_sound();
}

#[test]
fn a_session_checked_out_elsewhere_is_named() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["worktree", "add", "-q", "../side", "cowork/todo"]);
    let before = sandbox.all_refs();
    sandbox.cowork(&["resume", "todo", "--review", "auto"]).exits(5).says("side");
    assert_eq!(sandbox.all_refs(), before);
}

#[test]
fn a_cone_without_the_artifacts_is_refused_and_the_rest_is_never_lost() {
    let sandbox = Sandbox::new();
    sandbox.write("a/x.txt", "x\n");
    sandbox.write("b/y.txt", "y\n");
    sandbox.commit_all("two folders");
    sandbox.git(&["sparse-checkout", "set", "--cone", "a"]);
    refused(&sandbox, "sparse-checkout add");
    sandbox.git(&["sparse-checkout", "add", ".cowork", "lib"]);
    sandbox.auto(&[]).exits(0);
    assert_eq!(sandbox.blob("HEAD", "b/y.txt"), "y\n");
    assert!(!sandbox.exists("b/y.txt"), "the cone was widened");
    let deleted = sandbox.git(&["diff", "--name-only", "--diff-filter=D", "main", "HEAD"]);
    assert_eq!(deleted, "");
    sandbox.assert_sound();
}

#[test]
fn a_rebase_in_progress_is_refused() {
    let sandbox = conflicting();
    assert!(sandbox.git_fails(&["rebase", "other"]));
    refused(&sandbox, "rebase");
}

#[test]
fn a_merge_in_progress_is_refused() {
    let sandbox = conflicting();
    assert!(sandbox.git_fails(&["merge", "other"]));
    refused(&sandbox, "merge");
}

#[test]
fn a_cherry_pick_in_progress_is_refused() {
    let sandbox = conflicting();
    assert!(sandbox.git_fails(&["cherry-pick", "other"]));
    refused(&sandbox, "cherry-pick");
}

#[test]
fn a_bisect_in_progress_is_refused() {
    let sandbox = conflicting();
    sandbox.git(&["bisect", "start"]);
    refused(&sandbox, "bisect");
}

#[test]
fn a_bare_repository_is_refused() {
    let sandbox = Sandbox::unborn(&["--bare"]);
    sandbox.auto(&[]).exits(5).says("bare");
    assert_eq!(sandbox.all_refs(), "");
}

#[test]
fn on_a_detached_head_the_base_is_a_commit_without_a_branch() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-q", "--detach"]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let session: serde_json::Value =
        serde_json::from_str(&sandbox.artifact("session.json")).unwrap();
    assert_eq!(session["base"]["branch"], "");
    assert_eq!(session["base"]["commit"], sandbox.git(&["rev-parse", "main"]).as_str());
}

#[test]
fn a_branch_named_like_the_prefix_is_named_with_the_way_out() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "cowork"]);
    refused(&sandbox, "branchprefix");
    sandbox.git(&["config", "cowork.project.branchprefix", "session"]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert!(sandbox.refs("refs/heads/").contains(&"refs/heads/session/todo".to_owned()));
    assert_eq!(sandbox.tags().len(), 1);
}

#[test]
fn without_an_identity_it_says_how_to_get_one() {
    let mut sandbox = Sandbox::new();
    let home = sandbox.root().join("nobody");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join(".gitconfig"), "[user]\n\tuseConfigOnly = true\n").unwrap();
    sandbox.set_env("HOME", &home.display().to_string());
    refused(&sandbox, "user.email");
}

#[test]
fn artifacts_are_committed_even_where_they_are_ignored() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".cowork\n*.json\n");
    sandbox.commit_all("ignore");
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(files.contains(".cowork/sessions/todo/requirements.json"), "{files}");
}

#[test]
fn a_half_written_file_of_a_killed_run_is_not_committed() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.write(".cowork/sessions/todo/.tmpAbC123", "half");
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(files.contains("/prd.md") && !files.contains(".tmp"), "{files}");
}

/// The whole way in a repository of this format, if this git can make one.
#[track_caller]
fn whole_run_in(options: &[&str]) {
    let Some(sandbox) = Sandbox::in_format(options) else { return };
    sandbox.wait(&[]).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "completed");
    assert_eq!(sandbox.tags().len(), 7);
    sandbox.assert_sound();
}

/// The other tests do without git's examples of hooks, which are no hooks.
#[test]
fn a_repository_made_from_gits_template_works() {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q"]);
    if !sandbox.exists(".git/hooks/pre-commit.sample") {
        skipped("this git has no template");
        return;
    }
    sandbox.auto(&[]).exits(0);
    sandbox.assert_sound();
    let told = sandbox.cowork(&["doctor"]).stdout;
    assert!(told.contains("git") && !told.contains("pre-commit"), "{told}");
}

#[test]
fn sha256_repositories_work() {
    whole_run_in(&["--object-format=sha256"]);
}

#[test]
fn reftable_repositories_work() {
    whole_run_in(&["--ref-format=reftable"]);
    whole_run_in(&["--object-format=sha256", "--ref-format=reftable"]);
}

/// Between two commands, git moves the references from files into tables, or back.
#[test]
fn references_that_are_migrated_go_on_where_they_were() {
    for (from, to) in [("files", "reftable"), ("reftable", "files")] {
        let Some(sandbox) = Sandbox::in_format(&[&format!("--ref-format={from}")]) else {
            continue;
        };
        sandbox.wait(&["--stop-after", "prd"]).exits(3);
        let (status, list) = (sandbox.cowork(&["status", "--json"]), sandbox.cowork(&["list"]));
        let migrate = ["refs", "migrate", &format!("--ref-format={to}")];
        if sandbox.git_fails(&migrate) {
            // Before 2.48, git migrates only references without logs.
            std::fs::remove_dir_all(sandbox.path(".git/logs")).ok();
            if sandbox.git_fails(&migrate) {
                skipped(&format!("this git cannot migrate references to {to}"));
                continue;
            }
        }
        assert_eq!(sandbox.git(&["rev-parse", "--show-ref-format"]), to);
        assert_eq!(sandbox.cowork(&["status", "--json"]).stdout, status.stdout);
        assert_eq!(sandbox.cowork(&["list"]).stdout, list.stdout);
        sandbox.cowork(&["review", "--pass"]).exits(0);
        sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
        assert_eq!(sandbox.stages("main..").last().unwrap(), "delivery");
        sandbox.cowork(&["verify"]).exits(0);
        sandbox.assert_sound();
    }
}

/// The HEAD of a linked working tree is in tables of its own.
#[test]
fn a_linked_working_tree_of_a_reftable_repository_works() {
    let format = ["--object-format=sha256", "--ref-format=reftable"];
    let Some(mut sandbox) = Sandbox::in_format(&format) else { return };
    sandbox.auto(&["--worktree=../linked", "--stop-after", "plan"]).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    sandbox.enter("../linked");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo");
    sandbox.git(&["switch", "-q", "--detach"]);
    assert!(!sandbox.cowork(&["list"]).exits(0).stdout.contains("linked"));
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert_eq!(sandbox.stages("main..").last().unwrap(), "delivery");
    sandbox.assert_sound();
}

#[test]
fn after_a_merge_git_describe_says_what_it_said() {
    let sandbox = Sandbox::new();
    sandbox.git(&["tag", "-a", "-m", "one", "v1.0"]);
    sandbox.auto(&[]).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "Add a todo list", "cowork/todo"]);
    let described = sandbox.git(&["describe"]);
    assert!(described.starts_with("v1.0-"), "{described}");
    assert_eq!(sandbox.cowork(&["status", "todo", "--json"]).exits(0).json()["state"], "merged");
}

#[test]
fn sessions_do_not_see_each_other() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.git(&["switch", "-q", "main"]);
    let other = ["new", "-n", "other", "another list", "--review", "auto", "--stop-after", "idea"];
    sandbox.cowork(&other).exits(0);
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", "cowork/other"]);
    assert!(!files.contains("sessions/todo/"), "{files}");
    assert_ne!(
        sandbox.trailers("cowork/todo")["Cowork-Session-Id"],
        sandbox.trailers("cowork/other")["Cowork-Session-Id"]
    );
}

#[test]
fn history_may_be_amended_rebased_and_merged_into() {
    let sandbox = Sandbox::stopped_after("design");
    sandbox.git(&["commit", "-q", "--amend", "--no-edit", "--date", "2001-01-01T00:00:00Z"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("other.txt", "somebody else's\n");
    sandbox.commit_all("somebody else's work");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.git(&["rebase", "-q", "main"]);
    sandbox.write("mine.txt", "by hand\n");
    sandbox.commit_all("by hand");
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
    assert!(sandbox.server.requests().iter().all(|r| r.stage == "plan"));
    assert_eq!(sandbox.read("mine.txt"), "by hand\n");
    sandbox.assert_sound();
}

#[test]
fn when_somebody_else_moves_head_nothing_is_committed_there() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    let home = sandbox.root().join("home");
    sandbox.server.on_with(at("prd", "critic"), move |_| {
        // Another terminal, in the middle of the run.
        let mut git = std::process::Command::new("git");
        git.current_dir(&repo).env("HOME", &home).args(["switch", "-q", "--detach"]);
        git.status().unwrap();
        Some(crate::support::todo::approve())
    });
    let outcome: Outcome = sandbox.auto(&[]);
    let outcome = outcome.exits(5);
    assert!(outcome.stderr.contains("cowork/todo"), "{}", outcome.stderr);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
    assert_eq!(sandbox.stages("main..HEAD"), ["start", "idea"]);
}

#[cfg(unix)]
#[test]
fn a_repository_several_people_write_to_stays_writable_for_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.sharedRepository", "group"]);
    // All that is there so far is in one pack.
    sandbox.git(&["gc", "--quiet", "--prune=now"]);
    sandbox.auto(&["--stop-after", "design"]).exits(0);
    let mut folders = 0;
    for entry in std::fs::read_dir(sandbox.path(".git/objects")).unwrap() {
        let folder = entry.unwrap();
        if folder.file_name().len() == 2 {
            let mode = folder.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o2070, 0o2070, "{}: {mode:o}", folder.path().display());
            folders += 1;
        }
    }
    assert!(folders > 20, "only {folders}");
}
