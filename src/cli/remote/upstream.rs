//! Commits of a session that exist only on a remote: continuing without newer ones would make the two
//! branches diverge, and a forced push would lose them; a shallow clone fetches older ones.

use crate::cli::context::Context;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{self, Git, Oid, RefName};
use crate::session::{Kind, RefNames, Session, SessionName};

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

/// Number of commits that a shallow clone fetches first.
const DEEPEN: usize = 100;

/// True if this shallow clone does not have all commits of the session and the one it began from.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn is_cut_off(git: &Git, session: &Session) -> anyhow::Result<bool> {
    let ends = git::blame::shallow_ends(git)?;
    let has_start = session.history.iter().any(|entry| entry.kind == Kind::Start);
    Ok(!ends.is_empty()
        && (!has_start || session.history.iter().any(|entry| ends.contains(&entry.commit))))
}

/// The command that fetches the commits of a session that a shallow clone does not have.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn deepen_command(git: &Git, branch: &str) -> anyhow::Result<String> {
    let is_here = git::refs::branch_exists(git, branch)?
        || !git::refs::remote_branches(git, branch)?.is_empty();
    Ok(match git::remote::upstream_remote(git, branch)?.filter(|_| is_here) {
        Some(remote) => format!("git fetch --deepen={DEEPEN} {remote} {branch}"),
        None => "git fetch --unshallow".to_owned(),
    })
}

/// Fetches the commits of a session that a shallow clone, such as a runner's, does not have:
/// without them the critic would get no diff, and reports would count nothing. True if there were
/// some: what was read of the session before is not all of it.
///
/// # Errors
/// Exit 5, with the command: they cannot be fetched.
pub(crate) fn fetch_missing(
    context: &Context,
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
) -> anyhow::Result<bool> {
    let mut by = DEEPEN;
    let mut ends = git::blame::shallow_ends(git)?;
    while !ends.is_empty()
        // The caller reports a session that cannot be read.
        && let Ok(session) = Session::find(git, refs, name)
        && is_cut_off(git, &session)?
    {
        let branch = refs.short_branch(name);
        let command = deepen_command(git, &branch)?;
        let refused = |why: String| {
            let lacks = format!("this shallow clone does not have all commits of {name}");
            Error::repository(format!("{lacks}; {why}")).hint(&*command)
        };
        let Some(remote) = git::remote::upstream_remote(git, &branch)? else {
            return Err(refused("it has no remote to fetch them from".to_owned()).into());
        };
        let text = format!("fetching the commits of {name} that this shallow clone does not have");
        context.ui.emit(Event::Note { text });
        git::remote::deepen(git, &remote, &branch, by, context.attended())
            .map_err(|error| refused(format!("fetching them failed: {error:#}")))?;
        let before = std::mem::replace(&mut ends, git::blame::shallow_ends(git)?);
        if before == ends {
            return Err(refused(format!("{remote} does not have them either")).into());
        }
        by *= 2;
    }
    Ok(by > DEEPEN)
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
