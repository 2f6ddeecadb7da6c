//! Moving between branches. Every move first looks for untracked and ignored files that git itself
//! would overwrite without a word, and can be taken back where git dies in the middle of it.

use std::path::Path;

use anyhow::Result;

use super::take_back::Goal;
use super::{Cmd, Git, Head, Oid, RefName};
use crate::error::Error;

impl Git {
    /// Checks out a local branch, keeping uncommitted changes it does not touch.
    ///
    /// # Errors
    /// It is checked out elsewhere (the path is named), changes or untracked files stand in the
    /// way, HEAD is on commits that no reference holds, it does not exist: exit 5.
    pub fn switch(&self, branch: &str) -> Result<()> {
        let name = RefName::branch(branch)?;
        let Some(info) = self.list_refs(&[name.as_str()])?.into_iter().find(|r| r.name == name)
        else {
            return Err(Error::repository(format!("there is no branch {branch}")).into());
        };
        if let Some(path) = info.worktree.filter(|path| !same_place(path, &self.top)) {
            if !path.exists() {
                return Err(not_there(&path).into());
            }
            let path = path.display();
            return Err(Error::repository(format!("{branch} is checked out in {path}"))
                .hint(format!("work there: cd {path}"))
                .into());
        }
        self.refuse_losing_head(&info.oid)?;
        self.refuse_overwriting(&info.oid)?;
        self.switched(Goal::Branch(branch.to_owned()), &info.oid, |_| Ok(self.to_branch(branch)))
    }

    /// Checks out a commit without a branch, keeping uncommitted changes it does not touch.
    ///
    /// # Errors
    /// Changes or untracked files stand in the way: exit 5.
    pub fn detach(&self, at: &Oid) -> Result<()> {
        self.refuse_overwriting(at)?;
        self.switched(Goal::Detached, at, |_| {
            Ok(self.hooked(["switch", "--quiet", "--detach", at.as_str()]))
        })
    }

    /// Makes a branch at `start` and checks it out, keeping uncommitted changes.
    ///
    /// # Errors
    /// As [`Git::switch`]; the branch exists.
    pub fn switch_new(&self, branch: &str, start: &Oid) -> Result<()> {
        RefName::branch(branch)?;
        if self.branch_exists(branch)? {
            return Err(Error::repository(format!("there is a branch {branch} already")).into());
        }
        self.refuse_losing_head(start)?;
        self.refuse_overwriting(start)?;
        self.switched(Goal::NewBranch(branch.to_owned()), start, |again| {
            if again && self.branch_exists(branch)? {
                return Ok(self.to_branch(branch));
            }
            let switch = self.hooked(["switch", "--quiet", "--no-track", "--create", branch]);
            Ok(switch.arg(start.as_str()))
        })
    }

    /// Moves HEAD's branch, index and working tree to `target`, keeping uncommitted changes, what is
    /// staged of them and the flags of the index. (`reset --keep` would unstage everything.)
    ///
    /// # Errors
    /// A change or an untracked or ignored file would be lost, HEAD is on no branch: exit 5, named,
    /// nothing moved.
    pub fn move_branch(&self, target: &Oid) -> Result<()> {
        let head = self.head()?;
        let Some(branch) = head.branch() else {
            return Err(Error::repository("HEAD is on no branch").into());
        };
        self.refuse_overwriting(target)?;
        self.switched(Goal::MovedBranch(branch.short().to_owned()), target, |_| {
            let switch = self.hooked(["switch", "--quiet", "--no-track", "--force-create"]);
            Ok(switch.args([branch.short(), target.as_str()]))
        })
    }

    /// Makes sure that a detached HEAD which goes to `target` leaves no commit behind that only it
    /// holds. Git itself warns, and goes.
    fn refuse_losing_head(&self, target: &Oid) -> Result<()> {
        let Head::Detached { oid } = self.head()? else { return Ok(()) };
        let holds = self.read(["for-each-ref", "--count=1", "--contains", oid.as_str()]);
        if self.is_ancestor(&oid, target)? || !holds.checked()?.stdout.is_empty() {
            return Ok(());
        }
        let short = oid.short();
        Err(Error::repository(format!("HEAD is on {short}, which is on no branch"))
            .hint(format!("keep it, then run the command again: git branch NAME {short}"))
            .into())
    }

    fn to_branch(&self, branch: &str) -> Cmd<'_> {
        self.hooked(["switch", "--quiet", "--no-guess", branch])
    }

    /// Runs a switch. A failing post-checkout hook sets its exit code although it is done.
    fn switched<'a>(
        &'a self,
        goal: Goal,
        to: &Oid,
        command: impl Fn(bool) -> Result<Cmd<'a>>,
    ) -> Result<()> {
        let step = self.move_to(goal, None, to)?;
        let (switch, output) = self.go(&step, &|| true, &command)?;
        if output.success() || self.has_arrived(&step)? {
            return Ok(());
        }
        Err(switch.failure(&output).into())
    }

    /// Makes a local branch that tracks the one remote branch of this name; checks nothing out.
    ///
    /// # Errors
    /// No remote has it, or more than one has (they are named): exit 5.
    pub fn track_remote(&self, branch: &str) -> Result<()> {
        let remotes = self.remote_branches(branch)?;
        match remotes.as_slice() {
            [remote] => {
                let track = self.write(["branch", "--quiet", "--track", branch, remote.as_str()]);
                let track = track.once();
                let output = track.attempt(|| true, || false)?;
                if output.success() || (output.killed() && self.branch_exists(branch)?) {
                    return Ok(());
                }
                Err(track.failure(&output).into())
            }
            [] => Err(Error::repository(format!("no remote has a branch {branch}"))
                .hint("git fetch gets the newest branches")
                .into()),
            several => {
                let names: Vec<&str> = several.iter().map(RefName::short).collect();
                let first = names.first().copied().unwrap_or_default();
                Err(Error::repository(format!("more than one: {}", names.join(", ")))
                    .hint(format!("choose one: git branch --track {branch} {first}"))
                    .into())
            }
        }
    }
}

pub(super) fn same_place(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// A linked working tree that git knows and the disk does not: it may be on another disk.
pub(super) fn not_there(path: &Path) -> Error {
    Error::repository(format!("the working tree {} is not there", path.display()))
        .hint("if it is gone for good: git worktree prune")
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use crate::error::hints_of;

    #[test]
    fn a_branch_moves_with_edits_or_not_at_all() {
        let repo = Repo::with_commit();
        let git = repo.git();
        repo.file("a", "1");
        let first = repo.commit_all("a");
        repo.file("b", "1");
        let second = repo.commit_all("b");
        repo.file("a", "edited");
        git.move_branch(&first).unwrap();
        assert_eq!((repo.text("a").as_deref(), repo.text("b")), (Some("edited"), None));
        git.move_branch(&second).unwrap();
        repo.file("b", "edited");
        assert!(git.move_branch(&first).is_err());
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
            repo.git().move_branch(&first).unwrap();
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
        git.switch_new("cowork/s", &head).unwrap();
        assert_eq!(repo.run(&["branch", "--show-current"]), "cowork/s");
        repo.file("README.md", "an edit");
        git.switch("main").unwrap();
        assert_eq!(repo.text("README.md").unwrap(), "an edit");
        assert!(git.switch_new("cowork/s", &head).is_err());
        assert!(git.switch("nope").is_err());
        assert!(git.switch("--detach").is_err());

        let linked = git.worktree_add(&repo.root().join("linked"), "busy", &head).unwrap();
        let error = git.switch("busy").unwrap_err();
        let place = linked.top().display().to_string();
        assert!(error.to_string().contains(&place) && hints_of(&error)[0].contains(&place));
        linked.switch("busy").unwrap();

        repo.hook("post-checkout", "exit 1");
        git.switch_new("hooked", &head).unwrap();
        git.move_branch(&head).unwrap();
        git.switch("main").unwrap();
        git.worktree_add(&repo.root().join("hooked"), "another", &head).unwrap();
        assert!(git.worktree_add(&repo.root().join("hooked"), "third", &head).is_err());
    }

    #[test]
    fn a_remote_branch_is_tracked() {
        let repo = Repo::with_commit();
        let git = repo.git();
        assert!(git.track_remote("cowork/s").is_err());
        repo.run(&["branch", "cowork/s"]);
        repo.run(&["clone", "-q", "--bare", ".", "../r.git"]);
        repo.run(&["branch", "-D", "cowork/s"]);
        repo.run(&["remote", "add", "origin", "../r.git"]);
        repo.run(&["fetch", "-q", "origin"]);
        git.track_remote("cowork/s").unwrap();
        assert_eq!(repo.run(&["rev-parse", "--abbrev-ref", "cowork/s@{u}"]), "origin/cowork/s");
        repo.run(&["remote", "add", "fork", "../r.git"]);
        repo.run(&["fetch", "-q", "fork"]);
        repo.run(&["branch", "-D", "cowork/s"]);
        let error = git.track_remote("cowork/s").unwrap_err().to_string();
        assert!(error.contains("fork/cowork/s, origin/cowork/s"), "{error}");
    }
}
