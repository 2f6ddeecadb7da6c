//! Moves between branches. Every move first checks for untracked and ignored files that git itself
//! would overwrite silently, and can be undone if git dies in the middle of it.

use anyhow::Result;

use crate::error::Error;
use crate::git::locate::{not_there, same_place};
use crate::git::unfinished::Goal;
use crate::git::{Cmd, Git, Head, Oid, RefName, StatusKind};
use crate::git::{in_the_way, refs, take_back};
use crate::shell_quote::quoted;

/// Checks out a local branch, keeping uncommitted changes that the checkout does not touch.
///
/// # Errors
/// It is checked out elsewhere (the path is named), changes or untracked files are in the way, HEAD
/// is on commits that no reference contains, or it does not exist: exit 5.
pub fn to(git: &Git, branch: &str) -> Result<()> {
    let name = RefName::branch(branch)?;
    let Some(info) = refs::list(git, &[name.as_str()])?.into_iter().find(|r| r.name == name) else {
        return Err(Error::repository(format!("there is no branch {branch}")).into());
    };
    if let Some(path) = info.worktree.filter(|path| !same_place(path, &git.top)) {
        if !path.exists() {
            return Err(not_there(&path).into());
        }
        let path = path.display();
        return Err(Error::repository(format!("{branch} is checked out in {path}"))
            .hint(format!("work there: cd {path}"))
            .into());
    }
    refuse_losing_head(git, &info.oid)?;
    in_the_way::refuse_overwriting(git, &info.oid)?;
    switched(git, Goal::Branch(branch.to_owned()), &info.oid, |_| Ok(to_branch(git, branch)))
}

/// Checks out a commit without a branch, keeping uncommitted changes that the checkout does not
/// touch.
///
/// # Errors
/// Changes or untracked files are in the way: exit 5.
pub fn detach(git: &Git, at: &Oid) -> Result<()> {
    in_the_way::refuse_overwriting(git, at)?;
    switched(git, Goal::Detached, at, |_| {
        Ok(git.hooked(["switch", "--quiet", "--detach", at.as_str()]))
    })
}

/// Creates a branch at `start` and checks it out, keeping uncommitted changes.
///
/// # Errors
/// Like [`to`]; or the branch exists.
pub fn to_new(git: &Git, branch: &str, start: &Oid) -> Result<()> {
    refs::refuse_dangling(git, &RefName::branch(branch)?)?;
    if refs::branch_exists(git, branch)? {
        return Err(Error::repository(format!("the branch {branch} already exists")).into());
    }
    refuse_losing_head(git, start)?;
    in_the_way::refuse_overwriting(git, start)?;
    switched(git, Goal::NewBranch(branch.to_owned()), start, |again| {
        if again && refs::branch_exists(git, branch)? {
            return Ok(to_branch(git, branch));
        }
        let switch = git.hooked(["switch", "--quiet", "--no-track", "--create", branch]);
        Ok(switch.arg(start.as_str()))
    })
}

/// Moves HEAD's branch, index and working tree to `target`, keeping uncommitted changes, staged
/// ones staged, and the flags of the index. (`reset --keep` would unstage everything.)
///
/// # Errors
/// A change or an untracked or ignored file would be lost, or HEAD is not on a branch: exit 5, with
/// the paths; nothing has moved.
pub fn move_branch(git: &Git, target: &Oid) -> Result<()> {
    let head = git.head()?;
    let Some(branch) = head.branch() else {
        return Err(Error::repository("HEAD is not on a branch").into());
    };
    in_the_way::refuse_overwriting(git, target)?;
    switched(git, Goal::MovedBranch(branch.short().to_owned()), target, |_| {
        let switch = git.hooked(["switch", "--quiet", "--no-track", "--force-create"]);
        Ok(switch.args([branch.short(), target.as_str()]))
    })
}

/// Fails if a detached HEAD that moves to `target` would abandon a commit that no reference
/// contains. Git itself only warns.
fn refuse_losing_head(git: &Git, target: &Oid) -> Result<()> {
    let Head::Detached { oid } = git.head()? else { return Ok(()) };
    let holds = git.read(["for-each-ref", "--count=1", "--contains", oid.as_str()]);
    if refs::is_ancestor(git, &oid, target)? || !holds.checked()?.stdout.is_empty() {
        return Ok(());
    }
    let short = oid.short();
    Err(Error::repository(format!("HEAD is on {short}, which is not on any branch"))
        .hint(format!("make a branch for it, then run the command again: git branch NAME {short}"))
        .into())
}

fn to_branch<'a>(git: &'a Git, branch: &str) -> Cmd<'a> {
    git.hooked(["switch", "--quiet", "--no-guess", branch])
}

/// Runs a switch. If only the post-checkout hook fails, the exit code is not 0, but the switch is
/// done.
fn switched<'a>(
    git: &'a Git,
    goal: Goal,
    to: &Oid,
    command: impl Fn(bool) -> Result<Cmd<'a>>,
) -> Result<()> {
    let step = take_back::move_to(git, goal, None, to)?;
    let (switch, output) = take_back::go(git, &step, &|| true, &command)?;
    if output.success() || take_back::has_arrived(git, &step)? {
        return Ok(());
    }
    let unmerged = unmerged(git)?;
    if unmerged.is_empty() {
        return Err(switch.failure(&output).into());
    }
    let all: Vec<_> = unmerged.iter().map(|path| quoted(path)).collect();
    // No operation is in progress that could be continued: the conflicts are from a stash, or from
    // a merge whose record is lost.
    Err(Error::repository(format!("{} has conflicts that are not resolved", unmerged.join(", ")))
        .hint("git status shows them; resolve them, then stage the result:")
        .hint(format!("git add -- {}", all.join(" ")))
        .into())
}

/// The paths with conflicts.
fn unmerged(git: &Git) -> Result<Vec<String>> {
    let status = git.status()?.into_iter();
    Ok(status.filter(|entry| entry.kind == StatusKind::Unmerged).map(|entry| entry.path).collect())
}

/// Creates a local branch that tracks the only remote branch of this name; checks nothing out.
///
/// # Errors
/// No remote has it, or several have it (they are named): exit 5.
pub fn track_remote(git: &Git, branch: &str) -> Result<()> {
    let remotes = refs::remote_branches(git, branch)?;
    match remotes.as_slice() {
        [remote] => {
            let track = git.write(["branch", "--quiet", "--track", branch, remote.as_str()]);
            let track = track.once();
            let output = track.attempt(|| true, || false)?;
            if output.success() || (output.killed() && refs::branch_exists(git, branch)?) {
                return Ok(());
            }
            Err(track.failure(&output).into())
        }
        [] => Err(Error::repository(format!("no remote has a branch {branch}"))
            .hint("to get the newest branches: git fetch")
            .into()),
        several => {
            let names: Vec<&str> = several.iter().map(RefName::short).collect();
            let first = names.first().copied().unwrap_or_default();
            Err(Error::repository(format!(
                "several remotes have this branch: {}",
                names.join(", ")
            ))
            .hint(format!("choose one: git branch --track {branch} {first}"))
            .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::hints_of;
    use crate::git::test_repo::Repo;
    use crate::git::worktree;

    #[test]
    fn a_branch_moves_with_edits_or_not_at_all() {
        let repo = Repo::with_commit();
        let git = repo.git();
        repo.file("a", "1");
        let first = repo.commit_all("a");
        repo.file("b", "1");
        let second = repo.commit_all("b");
        repo.file("a", "edited");
        move_branch(&git, &first).unwrap();
        assert_eq!((repo.text("a").as_deref(), repo.text("b")), (Some("edited"), None));
        move_branch(&git, &second).unwrap();
        repo.file("b", "edited");
        assert!(move_branch(&git, &first).is_err());
        assert_eq!(repo.head(), second);
    }

    #[test]
    fn what_is_staged_stays_staged_when_the_branch_moves() {
        for options in [&[][..], &["--object-format=sha256"]] {
            let repo = Repo::with_commit_in(options);
            for name in ["edited", "gone", "kept-on-disk", "mode", "assumed", "skipped"] {
                repo.file(name, "1\n");
            }
            let first = repo.commit_all("first");
            repo.file("ours", "1\n");
            repo.commit_all("second");
            repo.file("edited", "2\n");
            repo.file("new", "1\n");
            repo.run(&["add", "edited", "new"]);
            repo.file("edited", "3\n");
            repo.file("promised", "1\n");
            repo.run(&["add", "--intent-to-add", "promised"]);
            repo.run(&["rm", "-q", "gone"]);
            repo.run(&["rm", "-q", "--cached", "kept-on-disk"]);
            repo.run(&["update-index", "--chmod=+x", "mode"]);
            repo.run(&["update-index", "--assume-unchanged", "assumed"]);
            repo.run(&["update-index", "--skip-worktree", "skipped"]);
            let status = || repo.run(&["status", "--short"]);
            let staged = || repo.run(&["diff", "--cached", "HEAD"]);
            let flags = || repo.run(&["ls-files", "-v", "--", ":!ours"]);
            let before = (status(), staged(), flags());
            assert!(before.0.contains("MM edited") && before.0.contains(" A promised"));
            move_branch(&repo.git(), &first).unwrap();
            assert_eq!((status(), staged(), flags()), before);
            assert_eq!((repo.head(), repo.text("ours")), (first, None));
            assert_eq!(repo.run(&["branch", "--show-current"]), "main");
        }
    }

    #[test]
    fn switching() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let head = repo.head();
        to_new(&git, "cowork/s", &head).unwrap();
        assert_eq!(repo.run(&["branch", "--show-current"]), "cowork/s");
        repo.file("README.md", "an edit");
        to(&git, "main").unwrap();
        assert_eq!(repo.text("README.md").unwrap(), "an edit");
        assert!(to_new(&git, "cowork/s", &head).is_err());
        assert!(to(&git, "nope").is_err());
        assert!(to(&git, "--detach").is_err());

        let linked = worktree::add(&git, &repo.root().join("linked"), "busy", Some(&head)).unwrap();
        let error = to(&git, "busy").unwrap_err();
        let place = linked.top().display().to_string();
        assert!(error.to_string().contains(&place) && hints_of(&error)[0].contains(&place));
        to(&linked, "busy").unwrap();

        repo.hook("post-checkout", "exit 1");
        to_new(&git, "hooked", &head).unwrap();
        move_branch(&git, &head).unwrap();
        to(&git, "main").unwrap();
        worktree::add(&git, &repo.root().join("hooked"), "another", Some(&head)).unwrap();
        assert!(worktree::add(&git, &repo.root().join("hooked"), "third", Some(&head)).is_err());
    }

    #[test]
    fn a_remote_branch_is_tracked() {
        let repo = Repo::with_commit();
        let git = repo.git();
        assert!(track_remote(&git, "cowork/s").is_err());
        repo.run(&["branch", "cowork/s"]);
        repo.run(&["clone", "-q", "--bare", ".", "../r.git"]);
        repo.run(&["branch", "-D", "cowork/s"]);
        repo.run(&["remote", "add", "origin", "../r.git"]);
        repo.run(&["fetch", "-q", "origin"]);
        track_remote(&git, "cowork/s").unwrap();
        assert_eq!(repo.run(&["rev-parse", "--abbrev-ref", "cowork/s@{u}"]), "origin/cowork/s");
        repo.run(&["remote", "add", "fork", "../r.git"]);
        repo.run(&["fetch", "-q", "fork"]);
        repo.run(&["branch", "-D", "cowork/s"]);
        let error = track_remote(&git, "cowork/s").unwrap_err().to_string();
        assert!(error.contains("fork/cowork/s, origin/cowork/s"), "{error}");
    }
}
