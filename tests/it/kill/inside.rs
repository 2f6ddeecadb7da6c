//! Git killed in the middle of its own work, alone or with the program: while it writes the working
//! tree, holds the index, or moves references. Every command goes on by itself when given again.

use std::fs;
use std::path::Path;

use crate::support::Sandbox;
use crate::support::kill::signal_at_request;
use crate::support::sandbox::Outcome;
use crate::support::strike::{Spot, VICTIMS, Victim, some_of, spare, strike};
use crate::support::todo::lingers;

use super::{NEW, begun, outcome_of, stop_after};

/// A session whose user went back to `main`, where work went on, and is in the middle of something.
fn away_from(stage: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["edited", "changed", "dropped"] {
        sandbox.write(&format!("src/{name}.txt"), "one\ntwo\n");
    }
    sandbox.commit_all("second");
    sandbox.auto(&["--stop-after", stage]).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("src/changed.txt", "one\n");
    sandbox.write("src/added.txt", "three\n");
    fs::remove_file(sandbox.path("src/dropped.txt")).unwrap();
    sandbox.commit_all("third");
    sandbox.write("src/edited.txt", "mine\n");
    sandbox.write("notes.txt", "mine, too\n");
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(&["add", "staged.txt"]);
    sandbox
}

/// What is the user's, and where everything is.
fn all(sandbox: &Sandbox) -> [String; 5] {
    [
        sandbox.read("src/edited.txt"),
        sandbox.read("notes.txt"),
        sandbox.git(&["status", "--porcelain"]),
        sandbox.git(&["symbolic-ref", "--short", "HEAD"]),
        sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]),
    ]
}

/// Whatever was killed, no lock is left and the repository is whole.
fn is_whole(sandbox: &Sandbox, when: &str) {
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    let git = sandbox.path(".git");
    let left = |dir: &Path| {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".lock")).collect::<Vec<_>>()
    };
    assert!(left(&git).is_empty(), "{when}: {:?}", left(&git));
    let note = git.join("cowork/sessions/todo/unfinished.json");
    assert!(!note.exists(), "{when}: {}", note.display());
}

/// Runs a command with git killed at each of these moments, then the command once more where it was
/// killed as well or could not go on. The end is that of an undisturbed run.
fn killed_at(base: &Sandbox, spot: Spot, args: &[&str], end: impl Fn(&Sandbox) -> Vec<String>) {
    let undisturbed = base.fork();
    strike(&undisturbed, spot, 0, Victim::Git);
    undisturbed.cowork(args).exits(0);
    let moments = spare(&undisturbed);
    let expected = end(&undisturbed);
    for n in some_of(moments) {
        for victim in VICTIMS {
            let when = format!("{args:?}, {spot:?} {n} of {moments}, {victim:?} killed");
            let sandbox = base.fork();
            strike(&sandbox, spot, n, victim);
            let outcome = sandbox.cowork(args);
            spare(&sandbox);
            if victim == Victim::Both {
                outcome.was_killed();
            } else if outcome.code != 0 {
                assert_eq!(outcome.code, 5, "{when}\n{}", outcome.stderr);
                assert!(outcome.stderr.contains("was killed (signal 9)"), "{}", outcome.stderr);
                assert_eq!(spot, Spot::Transaction, "{when}: a move is made again");
            }
            let again = sandbox.cowork(args);
            assert_eq!(again.code, 0, "{when}\n{}", again.stderr);
            assert_eq!(end(&sandbox), expected, "{when}\n{}", again.stderr);
            is_whole(&sandbox, &when);
        }
    }
}

#[test]
fn a_switch_is_finished_or_taken_back() {
    let base = away_from("prd");
    killed_at(&base, Spot::Smudge, &stop_after("prd"), |sandbox| {
        [&all(sandbox)[..], &[sandbox.tree("cowork/todo"), sandbox.read("src/changed.txt")]]
            .concat()
    });
}

#[test]
fn what_a_person_did_after_the_crash_is_kept() {
    let base = away_from("idea");
    let sandbox = base.fork();
    strike(&sandbox, Spot::Smudge, 3, Victim::Both);
    sandbox.cowork(&stop_after("idea")).was_killed();
    spare(&sandbox);
    assert!(sandbox.path(".git/index.lock").exists());
    sandbox.write("src/changed.txt", "edited after the crash\n");
    let outcome = sandbox.cowork(&stop_after("idea")).exits(5);
    assert!(outcome.stderr.contains("src/changed.txt"), "{}", outcome.stderr);
    assert_eq!(sandbox.read("src/changed.txt"), "edited after the crash\n");
    let status = sandbox.git(&["status", "--porcelain"]);
    let mut lines: Vec<&str> = status.lines().collect();
    lines.sort_unstable();
    let expected = [" M src/changed.txt", " M src/edited.txt", "?? notes.txt", "A  staged.txt"];
    assert_eq!(lines, expected, "nothing else is changed");
    sandbox.git(&["checkout", "-q", "--", "src/changed.txt"]);
    sandbox.cowork(&stop_after("idea")).exits(0);
}

#[test]
fn going_back_and_forth_is_finished_or_taken_back() {
    let base = Sandbox::stopped_after("design");
    base.write("notes.txt", "mine\n");
    base.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    killed_at(&base, Spot::Smudge, &["restore", "todo", "1"], |sandbox| {
        vec![
            sandbox.tree("cowork/todo"),
            sandbox.git(&["status", "--porcelain"]),
            sandbox.read("notes.txt"),
        ]
    });
}

#[test]
fn a_merge_is_finished_or_taken_back() {
    let base = Sandbox::delivered();
    base.git(&["switch", "-q", "main"]);
    base.commit_file("theirs.txt", "theirs\n", "meanwhile");
    base.git(&["switch", "-q", "cowork/todo"]);
    base.write("notes.txt", "mine\n");
    for args in [&["merge", "todo"][..], &["merge", "todo", "--without-artifacts"]] {
        killed_at(&base, Spot::Smudge, args, |sandbox| {
            let subjects = sandbox.subjects("main");
            let status = sandbox.git(&["status", "--porcelain"]);
            let head = sandbox.git(&["symbolic-ref", "--short", "HEAD"]);
            [subjects, vec![sandbox.tree("main"), status, head]].concat()
        });
    }
}

#[test]
fn a_linked_worktree_is_finished_or_taken_back() {
    let base = Sandbox::new();
    for name in ["a", "b", "c"] {
        base.write(name, "one\n");
    }
    base.commit_all("second");
    base.write("notes.txt", "mine\n");
    let new = [&NEW[..], &["--stop-after", "idea", "--worktree=../linked"]].concat();
    let undisturbed = base.fork();
    strike(&undisturbed, Spot::Smudge, 0, Victim::Git);
    undisturbed.cowork(&new).exits(0);
    let moments = spare(&undisturbed);
    let files = undisturbed.tree("cowork/todo").lines().count();
    for n in some_of(moments) {
        for victim in VICTIMS {
            let when = format!("smudge {n} of {moments}, {victim:?} killed");
            let mut sandbox = base.fork();
            strike(&sandbox, Spot::Smudge, n, victim);
            let outcome = sandbox.cowork(&new);
            spare(&sandbox);
            match victim {
                Victim::Git => drop(outcome.exits(0)),
                Victim::Both => {
                    outcome.was_killed();
                    // It is told where the session is.
                    let told = sandbox.cowork(&["resume", "todo"]).exits(5);
                    assert!(told.stderr.contains("cd "), "{when}\n{}", told.stderr);
                    sandbox.enter("../linked");
                    sandbox.cowork(&stop_after("idea")).exits(0);
                    sandbox.enter(".");
                }
            }
            let linked = |args: &[&str]| sandbox.git(&[&["-C", "../linked"], args].concat());
            assert_eq!(linked(&["status", "--porcelain"]), "", "{when}");
            assert_eq!(linked(&["ls-files"]).lines().count(), files, "{when}");
            assert_eq!(sandbox.subjects("main..cowork/todo").len(), 2, "{when}");
            assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? notes.txt", "{when}");
            is_whole(&sandbox, &when);
        }
    }
}

#[test]
fn a_commit_is_made_once() {
    let base = Sandbox::stopped_after("idea");
    base.write("notes.txt", "mine\n");
    killed_at(&base, Spot::Transaction, &stop_after("prd"), |sandbox| {
        let (subjects, tree, tags) = outcome_of(sandbox);
        [subjects, vec![tree, sandbox.git(&["status", "--porcelain"])], tags].concat()
    });
}

#[test]
fn a_git_that_a_hook_killed_leaves_no_lock_and_resume_continues() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.hook("pre-commit", "kill -9 $PPID");
    let outcome = sandbox.cowork(&stop_after("prd")).exits(5);
    let says = |text: &str| assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
    says("git commit was killed (signal 9)");
    is_whole(&sandbox, "a commit was killed");
    sandbox.assert_clean();
    fs::remove_file(sandbox.path(".git/hooks/pre-commit")).unwrap();
    sandbox.server.forget();
    sandbox.cowork(&stop_after("prd")).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), 0, "it was drafted again");
    sandbox.assert_sound();
}

#[test]
fn a_draft_that_is_put_back_when_git_dies_is_whole_when_it_comes_again() {
    let base = Sandbox::stopped_after("plan");
    let undisturbed = base.fork();
    undisturbed.server.manner(lingers);
    undisturbed.cowork(&stop_after("coding")).exits(0);
    let requests = undisturbed.server.requests().len();
    // In the middle of coding, tracked documents have changed and are put back.
    let term = rustix::process::Signal::TERM;
    let stop = |sandbox: &Sandbox| {
        sandbox.server.manner(lingers);
        signal_at_request(sandbox, &stop_after("coding"), requests - 1, term)
    };
    let counted = base.fork();
    strike(&counted, Spot::Smudge, 0, Victim::Git);
    stop(&counted).exits(130);
    for n in some_of(spare(&counted)) {
        for victim in VICTIMS {
            let when = format!("smudge {n}, {victim:?} killed");
            let sandbox = base.fork();
            strike(&sandbox, Spot::Smudge, n, victim);
            let outcome: Outcome = stop(&sandbox);
            spare(&sandbox);
            if victim == Victim::Git {
                outcome.exits(130);
                sandbox.assert_clean();
            } else {
                outcome.was_killed();
            }
            sandbox.cowork(&stop_after("coding")).exits(0);
            assert_eq!(outcome_of(&sandbox), outcome_of(&undisturbed), "{when}");
            sandbox.assert_clean();
            is_whole(&sandbox, &when);
        }
    }
}

#[test]
fn a_lock_of_somebody_else_is_named_before_a_model_is_asked() {
    let sandbox = Sandbox::stopped_after("idea");
    let lock = sandbox.path(".git/index.lock");
    let file = fs::File::create(&lock).unwrap();
    let age = std::time::Duration::from_secs(7300);
    file.set_modified(std::time::SystemTime::now() - age).unwrap();
    drop(file);
    sandbox.server.forget();
    let outcome = sandbox.cowork(&stop_after("prd")).exits(5);
    let remove = format!("rm {}", lock.display());
    for text in [lock.display().to_string(), "2 hours old".to_owned(), remove] {
        assert!(outcome.stderr.contains(&text), "{text} in\n{}", outcome.stderr);
    }
    assert!(lock.exists(), "it is not ours");
    assert_eq!(sandbox.server.requests().len(), 0);
    fs::remove_file(lock).unwrap();
    sandbox.cowork(&stop_after("prd")).exits(0);
}

#[test]
fn a_start_that_died_before_head_moved_is_found_without_its_name() {
    let sandbox = Sandbox::new();
    let older = ["new", "-n", "older", "an older one", "--review", "auto", "--stop-after", "idea"];
    sandbox.cowork(&older).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    // The third change of references: the branch is there, HEAD is not on it.
    strike(&sandbox, Spot::Transaction, 3, Victim::Both);
    sandbox.cowork(&NEW).was_killed();
    spare(&sandbox);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    assert!(begun(&sandbox));
    sandbox.cowork(&["status"]).exits(5).says("git cowork resume todo");
    assert!(sandbox.cowork(&[]).exits(0).stdout.contains("git cowork resume todo"));
    sandbox.cowork(&stop_after("idea")).exits(0).says("session todo");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo");
    assert_eq!(sandbox.subjects("main..cowork/todo").len(), 2);
}
