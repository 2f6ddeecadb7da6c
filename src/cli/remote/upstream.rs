//! What a remote has of a session that is not here: going on without it would part the two, and
//! pushing over it would lose it.

use crate::error::Error;
use crate::git::{self, Git, Oid, RefName};
use crate::session::{RefNames, SessionName};

/// Makes sure that no remote-tracking branch of the session holds commits we have never seen on
/// ours. What was here once and was left behind (a revert, an amend, a rebase) is our own.
///
/// # Errors
/// Exit 5 with the way to bring the two together.
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
            Error::repository(format!("{remote} has {} that {short} has not", commits(new)))
                .hint(format!("take them: git switch {short} && git merge --ff-only {remote}"))
        } else {
            Error::repository(format!(
                "{short} and {remote} have diverged: {} here, {} there",
                commits(ours),
                commits(new)
            ))
            .hint(format!("see both: git log --oneline --graph {short} {remote}"))
            .hint(format!("keep both: git switch {short} && git merge {remote}"))
            .hint(format!("or theirs only: git switch {short} && git reset --keep {remote}"))
        };
        return Err(error.hint("then run the command again").into());
    }
    Ok(())
}

/// Makes sure that pushing `tip` to where `remote` has `theirs` takes away no commit that was never
/// on our branch: git refuses that by itself, but not when it is forced, and it does not say what
/// to do about a session.
///
/// # Errors
/// Exit 5 with the way to bring the two together.
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
        "{remote} has {theirs} on {short}, which was never here: somebody went on with it elsewhere"
    ))
    .hint(format!("look at it: git fetch {remote} && git log --oneline --graph {short} {theirs}"))
    .hint(format!("then git cowork resume {name} says how the two come together"))
    .hint("nothing was pushed; to lose theirs all the same: git push --force --no-verify")
    .into())
}

/// True when our branch has the commit, or had it once.
fn is_ours(git: &Git, branch: &RefName, tip: &Oid, theirs: &Oid) -> anyhow::Result<bool> {
    Ok(git::refs::is_ancestor(git, theirs, tip)? || was_here(git, branch, theirs.as_str())?)
}

fn was_here(git: &Git, branch: &RefName, commit: &str) -> anyhow::Result<bool> {
    let log = git.read(["reflog", "show", "--format=%H", branch.as_str(), "--"]).output()?;
    Ok(log.text().lines().any(|line| line == commit))
}
