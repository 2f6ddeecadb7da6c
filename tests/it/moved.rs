//! A person uses git while the program runs: commits, amends, switches, merges, deletes. That is
//! noticed before or right after the next commit; nothing of theirs moves, nothing is lost, and it
//! goes on.

use crate::support::sandbox::Outcome;
use crate::support::todo::lingers;
use crate::support::{Reply, Sandbox, at, todo};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// Runs a session and does something with git, as a person, between the program's last look at
/// HEAD and its commit of the design.
fn just_before_the_commit(sandbox: &Sandbox, script: &str) -> Outcome {
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file());
    let git = git.unwrap().display().to_string();
    let wrapper = sandbox.root().join("bin/git");
    // With a hook the commit is git's; without, nobody comes between.
    sandbox.hook("pre-commit", "exit 0");
    sandbox.executable(
        &wrapper,
        &format!(
            "case \" $* \" in *' commit --only '*)\n\
             if [ -e .cowork/sessions/todo/design.md ] && mkdir '{}' 2>/dev/null; then\n\
             git() {{ '{git}' \"$@\"; }}\n({script}) >/dev/null 2>&1 || exit 99\nfi;;\nesac\n\
             exec '{git}' \"$@\"",
            sandbox.root().join("once").display()
        ),
    );
    let outcome = sandbox.auto(&[]);
    std::fs::remove_file(wrapper).unwrap();
    std::fs::remove_file(sandbox.path(".git/hooks/pre-commit")).unwrap();
    outcome
}

/// The same while the model thinks about the design.
fn while_the_model_works(sandbox: &Sandbox, script: &str) -> Outcome {
    let (repo, script) = (sandbox.repo(), script.to_owned());
    let mut sh = sandbox.command("sh");
    sh.current_dir(repo).args(["-c", &script]);
    let sh = std::sync::Mutex::new(sh);
    sandbox.server.manner(lingers);
    sandbox.server.on_with(at("design", "actor").turn(2), move |_| {
        assert!(sh.lock().unwrap().status().unwrap().success());
        Some(Reply::text("The draft is saved."))
    });
    let outcome = sandbox.auto(&[]);
    sandbox.server.on(at("design", "actor").turn(2), Reply::text("The draft is saved."));
    outcome
}

#[track_caller]
fn resumes(sandbox: &Sandbox) {
    sandbox.cowork(&RESUME).exits(0);
    let mut stages = sandbox.stages("main..cowork/todo");
    stages.retain(|stage| stage != "mine" && !stage.starts_with("Merge"));
    assert_eq!(stages[1..], todo::STAGES);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo");
    sandbox.assert_sound();
}

/// Every case, at both moments.
#[track_caller]
fn noticed(script: &str, fix: impl Fn(&Sandbox, &str)) {
    for moment in [just_before_the_commit, while_the_model_works] {
        let sandbox = Sandbox::new();
        let main = sandbox.git(&["rev-parse", "main"]);
        let outcome = moment(&sandbox, script).exits(5);
        assert!(outcome.stderr.contains("git cowork resume"), "{}", outcome.stderr);
        // What happened is said once.
        let error = outcome.stderr.lines().find_map(|line| line.strip_prefix("error: ")).unwrap();
        assert_eq!(outcome.stderr.matches(error).count(), 1, "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("left unchanged:"), "{}", outcome.stderr);
        assert_eq!(sandbox.git(&["rev-parse", "main"]), main, "{}", outcome.stderr);
        fix(&sandbox, &outcome.stderr);
        resumes(&sandbox);
        assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    }
}

#[test]
fn switched_to_another_branch() {
    noticed("git switch -q main", |sandbox, told| {
        assert!(told.contains("git switch cowork/todo"), "{told}");
        sandbox.git(&["switch", "-q", "cowork/todo"]);
    });
}

#[test]
fn switched_to_no_branch() {
    noticed("git switch -q --detach", |sandbox, told| {
        assert!(told.contains("git switch cowork/todo"), "{told}");
        sandbox.git(&["switch", "-q", "cowork/todo"]);
    });
}

#[test]
fn amended() {
    noticed("git commit -q --amend --allow-empty -C HEAD --date=2001-01-01T00:00:00", |_, told| {
        assert!(told.contains("moved"), "{told}");
    });
}

#[test]
fn committed() {
    noticed(
        "echo mine >mine && git add mine && git commit -q -m 'mine: a file' mine",
        |sandbox, _| {
            let mine = sandbox.git(&["log", "-1", "--format=%s", "cowork/todo"]);
            assert_eq!(mine, "mine: a file");
        },
    );
}

#[test]
fn rebased() {
    // Git itself refuses to rebase once a commit has begun. Another committer, since commits made
    // again in the second of the first ones would be the same commits.
    let sandbox = Sandbox::new();
    let rebase = "GIT_COMMITTER_NAME=Rebaser git rebase -q --force-rebase main";
    while_the_model_works(&sandbox, rebase).exits(5).says("moved");
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    resumes(&sandbox);
}

#[test]
fn the_branch_was_deleted() {
    noticed("git switch -q main && git branch -q -D cowork/todo", |sandbox, told| {
        let fix = told.lines().find_map(|line| line.split_once("git branch ")).unwrap().1;
        let tip = fix.split_whitespace().nth(1).unwrap();
        sandbox.git(&["branch", "cowork/todo", tip]);
        sandbox.git(&["switch", "-q", "cowork/todo"]);
    });
}

#[test]
fn a_merge_was_started() {
    // Git itself refuses to merge once a commit has begun.
    let sandbox = Sandbox::new();
    let script = "git switch -q -c side main && echo side >side && git add side && \
                  git commit -q -m side && git switch -q cowork/todo && \
                  git merge -q --no-ff --no-commit side";
    while_the_model_works(&sandbox, script).exits(5).says("merge --abort");
    sandbox.git(&["merge", "--abort"]);
    resumes(&sandbox);
}

#[test]
fn files_edited_between_two_commands_are_the_persons_and_a_gate_follows() {
    let sandbox = Sandbox::stopped_after("idea");
    // Stopped in the middle of a draft, put away, and brought back.
    sandbox.server.times(1, at("prd", "critic"), Reply::status(401, "no"));
    sandbox.cowork(&RESUME).exits(4);
    sandbox.assert_sound();
    let path = ".cowork/sessions/todo/prd.md";
    let mine = format!("{}\nA line of mine.\n", todo::PRD);
    sandbox.write(path, &mine);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    assert_eq!(sandbox.blob("HEAD", path), mine);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
    sandbox.assert_sound();
}
