//! Checks for commits of a session that exist only on a remote: continuing without them would make
//! the two branches diverge, and a forced push would lose them.

use crate::error::Error;
use crate::git::{self, Git, Oid, RefName};
use crate::session::{RefNames, SessionName};

/// Checks that no remote-tracking branch of the session contains commits that were never on the
/// local branch. Commits that the local branch once had, before a revert, an amend or a rebase, are
/// allowed.
///
/// # Errors
/// Exit 5, with hints on how to combine the two branches.
pub(crate) fn require_not_behind(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
) -> anyhow::Result<()> {
    let short = refs.short_branch(name);
    let branch = refs.branch(name);
    let Some(tip) = git.resolve(branch.as_str())? else { return Ok(()) };
    for remote in git::refs::remote_branches(git, &short)? {
        let Some(theirs) = git.resolve(remote.as_str())? else { continue };
        if is_ours(git, &branch, &tip, &theirs)? {
            continue;
        }
        let (ours, new) = git::refs::ahead_behind(git, &tip, &theirs)?;
        let remote = remote.short();
        let commits =
            |n: usize| if n == 1 { "1 commit".to_owned() } else { format!("{n} commits") };
        let error = if ours == 0 {
            Error::repository(format!("{remote} has {} that {short} does not have", commits(new)))
                .hint(format!(
                    "fast-forward to them: git switch {short} && git merge --ff-only {remote}"
                ))
        } else {
            Error::repository(format!(
                "{short} and {remote} have diverged: {} here, {} there",
                commits(ours),
                commits(new)
            ))
            .hint(format!("see both: git log --oneline --graph {short} {remote}"))
            .hint(format!("merge both: git switch {short} && git merge {remote}"))
            .hint(format!("or keep only theirs: git switch {short} && git reset --keep {remote}"))
        };
        return Err(error.hint("then run the command again").into());
    }
    Ok(())
}

/// Checks that pushing `tip` over `theirs` on `remote` removes no commit that was never on the
/// local branch. Git itself refuses such a push too, but not with `--force`, and its error has no
/// hints about the session.
///
/// # Errors
/// Exit 5, with hints on how to combine the two branches.
pub(crate) fn require_not_over(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
    remote: &str,
    tip: &Oid,
    theirs: &Oid,
) -> anyhow::Result<()> {
    let known = git::snapshot::tree_of(git, theirs.as_str())?.is_some();
    if known && is_ours(git, &refs.branch(name), tip, theirs)? {
        return Ok(());
    }
    let short = refs.short_branch(name);
    let (remote, theirs) = (remote.trim(), theirs.short());
    Err(Error::repository(format!(
        "{short} on {remote} has commit {theirs}, which was never here: somebody continued the \
         branch elsewhere"
    ))
    .hint(format!("look at it: git fetch {remote} && git log --oneline --graph {short} {theirs}"))
    .hint(format!("then see how to combine both branches: git cowork resume {name}"))
    .hint("nothing was pushed; to overwrite theirs anyway: git push --force --no-verify")
    .into())
}

/// True if the local branch contains the commit, or once did.
fn is_ours(git: &Git, branch: &RefName, tip: &Oid, theirs: &Oid) -> anyhow::Result<bool> {
    Ok(git::refs::is_ancestor(git, theirs, tip)? || was_here(git, branch, theirs.as_str())?)
}

fn was_here(git: &Git, branch: &RefName, commit: &str) -> anyhow::Result<bool> {
    let log = git.read(["reflog", "show", "--format=%H", branch.as_str(), "--"]).output()?;
    Ok(log.text().lines().any(|line| line == commit))
}
