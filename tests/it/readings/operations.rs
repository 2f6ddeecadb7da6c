//! What people, git and the program do to the histories of sessions between two readings.

use std::fs;

use crate::support::Sandbox;

/// The sessions of the repository these are done in.
pub const SESSIONS: [&str; 4] = ["delivered", "coding", "waiting", "early"];

macro_rules! operations {
    ($($name:ident),* $(,)?) => {
        /// One thing that is done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation { $($name),* }
        pub const ALL: &[Operation] = &[$(Operation::$name),*];
    };
}

operations! {
    Rebase, Amend, Reword, Squash, SquashQuoting, Revert, RevertByProgram, RestoreByProgram,
    MergeMainIn, MergeIntoMain, SquashIntoMain, MergeByProgram, PickOntoMain, PickFromOther,
    PersonCommits, ResetByGit, TagsDeleted, DraftsDeleted, NotesDeleted, Repaired, Packed,
    Collected, StateDeleted, Replaced, Shallow, LinkedWorktree,
}

/// Runs git; whether it succeeded.
type Run<'a> = dyn Fn(&[&str]) -> bool + 'a;

/// Does it to a session. What git refuses is not done; nothing is left in the middle.
pub fn apply(
    sandbox: &mut Sandbox,
    operation: Operation,
    session: &str,
    random: &mut fastrand::Rng,
) -> Option<&'static str> {
    use Operation as O;
    let branch = format!("cowork/{session}");
    let number = random.u32(0..1_000_000);
    let on_branch = |work: &dyn Fn(&Run<'_>)| {
        let git = |args: &[&str]| !sandbox.git_fails(args);
        if git(&["switch", "-q", &branch]) {
            work(&git);
            for what in ["merge", "rebase", "cherry-pick", "revert"] {
                git(&[what, "--abort"]);
            }
            git(&["reset", "-q", "--hard"]);
        }
        assert!(git(&["switch", "-q", "main"]), "main cannot be checked out any more");
    };
    let on_main = |work: &dyn Fn(&Run<'_>)| {
        let git = |args: &[&str]| !sandbox.git_fails(args);
        work(&git);
        git(&["merge", "--abort"]);
        git(&["cherry-pick", "--abort"]);
        git(&["reset", "-q", "--hard"]);
    };
    let program = |args: &[&str]| {
        // Some of it is refused in some of the states.
        let code = sandbox.cowork(args).code;
        assert!([0, 1, 3, 5].contains(&code), "{args:?}: exit {code}");
        sandbox.git(&["switch", "-q", "main"]);
    };
    let text = format!("{number}\n");
    match operation {
        O::Rebase => {
            sandbox.commit_file(&format!("main-{number}.txt"), &text, "main goes on");
            on_branch(&|git| {
                git(&["rebase", "-q", "main"]);
            });
        }
        O::Amend => on_branch(&|git| {
            sandbox.write("amended.txt", &text);
            git(&["add", "amended.txt"]);
            git(&["commit", "-q", "--amend", "--no-edit"]);
        }),
        O::Reword => on_branch(&|git| {
            git(&["commit", "-q", "--amend", "--allow-empty", "-m", &format!("reworded {number}")]);
        }),
        O::Squash => {
            let back = format!("{branch}~{}", random.u8(1..4));
            let tip = sandbox.git(&["rev-parse", &branch]);
            on_branch(&|git| {
                if git(&["reset", "-q", "--soft", &back]) {
                    git(&["commit", "-q", "--allow-empty", "-C", &tip]);
                }
            });
        }
        O::SquashQuoting => {
            let back = format!("{branch}~{}", random.u8(1..4));
            let quoted =
                sandbox.git(&["log", "--format=%w(0,4,4)%B", &format!("{back}..{branch}")]);
            on_branch(&|git| {
                if git(&["reset", "-q", "--soft", &back]) {
                    let message = format!("Squashed commit\n\n{quoted}\n");
                    git(&["commit", "-q", "--allow-empty", "-m", &message]);
                }
            });
        }
        O::Revert => on_branch(&|git| {
            git(&["revert", "--no-edit", "HEAD"]);
        }),
        O::RevertByProgram => {
            let stage = random.choice(["idea", "prd", "design", "plan", "coding"]).unwrap();
            program(&["revert", session, "--to", stage, "--no-run"]);
        }
        O::RestoreByProgram => program(&["restore", session, "1"]),
        O::MergeMainIn => {
            sandbox.commit_file(&format!("main-{number}.txt"), &text, "main goes on");
            on_branch(&|git| {
                git(&["merge", "-q", "--no-edit", "main"]);
            });
        }
        O::MergeIntoMain => on_main(&|git| {
            git(&["merge", "-q", "--no-edit", "--no-ff", &branch]);
        }),
        O::SquashIntoMain => on_main(&|git| {
            if git(&["merge", "-q", "--squash", &branch]) {
                git(&["commit", "-q", "--no-edit"]);
            }
        }),
        O::MergeByProgram => program(&["merge", session]),
        O::PickOntoMain => on_main(&|git| {
            git(&["cherry-pick", "--allow-empty", &branch]);
        }),
        O::PickFromOther => {
            let other = format!("cowork/{}", random.choice(SESSIONS).unwrap());
            on_branch(&|git| {
                git(&["cherry-pick", "--allow-empty", &other]);
            });
        }
        O::PersonCommits => on_branch(&|git| {
            sandbox.write("person.txt", &text);
            git(&["add", "person.txt"]);
            git(&["commit", "-q", "-m", &format!("a person's {number}")]);
        }),
        O::ResetByGit => {
            let back = format!("HEAD~{}", random.u8(1..3));
            on_branch(&|git| {
                git(&["reset", "-q", "--hard", &back]);
            });
        }
        O::TagsDeleted => delete(sandbox, &format!("refs/tags/cowork/{session}/")),
        O::DraftsDeleted => delete(sandbox, &format!("refs/cowork/drafts/{session}/")),
        O::NotesDeleted => delete(sandbox, "refs/notes/"),
        O::Repaired => program(&["verify", session, "--fix"]),
        O::Packed => drop(sandbox.git(&["pack-refs", "--all", "--prune"])),
        O::Collected => drop(sandbox.git(&["gc", "-q", "--prune=now"])),
        O::StateDeleted => {
            // Whatever the program keeps beside the history only makes it faster, or is about runs.
            fs::remove_dir_all(sandbox.path(".git/cowork")).ok();
        }
        O::Replaced => {
            let back = format!("{branch}~{}", random.u8(0..3));
            let tree = format!("{back}^{{tree}}");
            let parent = format!("{back}^1");
            let message = format!("replaced {number}");
            let made = sandbox.git_outcome(&["commit-tree", &tree, "-p", &parent, "-m", &message]);
            if made.code == 0 {
                sandbox.git(&["replace", "-f", &back, made.stdout.trim()]);
            }
        }
        O::Shallow => shallow(sandbox, random.u8(2..8)),
        O::LinkedWorktree => {
            let path = sandbox.root().join("linked");
            if !path.exists() {
                sandbox.git(&[
                    "worktree",
                    "add",
                    "-q",
                    "--detach",
                    &path.display().to_string(),
                    &branch,
                ]);
            }
            return Some("linked");
        }
    }
    None
}

fn delete(sandbox: &Sandbox, prefix: &str) {
    for name in sandbox.refs(prefix) {
        sandbox.git(&["update-ref", "-d", &name]);
    }
}

/// The repository becomes a clone of itself that knows only the newest commits.
fn shallow(sandbox: &Sandbox, depth: u8) {
    let (whole, clone) = (sandbox.repo(), sandbox.root().join("clone"));
    if sandbox.root().join("linked").exists() || sandbox.path(".git/shallow").exists() {
        return;
    }
    let from = format!("file://{}", whole.display());
    let depth = format!("--depth={depth}");
    sandbox.git(&["clone", "-q", &depth, "--no-tags", &from, &clone.display().to_string()]);
    let all =
        ["heads/cowork", "tags", "cowork"].map(|name| format!("+refs/{name}/*:refs/{name}/*"));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let there = clone.display().to_string();
    sandbox.git(&[&["-C", &there, "fetch", "-q", &depth, "origin"], &all[..]].concat());
    fs::rename(&whole, sandbox.root().join("whole")).unwrap();
    fs::rename(&clone, &whole).unwrap();
}
