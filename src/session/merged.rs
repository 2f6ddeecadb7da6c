//! Where a session is to be merged, and whether it has been, whichever way: by a merge commit, by a
//! squash on a forge or by hand, rebased, or without its artifacts.

use super::family::{delivered_in, known};
use super::message::{Trailers, key};
use super::{RefNames, Session, SessionName, artifact_path, session_file};
use crate::artifact::Artifact;
use crate::git::{Git, Oid, RefName};
use crate::stage::Stage;

/// Sessions that stand on one another, at most.
const MAX_GENERATIONS: usize = 16;

/// How much older than its session a commit on another machine may seem, in seconds.
const CLOCK_SKEW: i64 = 2 * 24 * 60 * 60;

/// What a merge of a session looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The commit that brought it in; the session's own tip where that is all there is.
    pub commit: Oid,
    /// The tip that was merged, where that is known.
    pub tip: Option<Oid>,
    /// All that is delivered now is in it; else it was merged before the session went on.
    pub whole: bool,
}

/// The short name of the branch a session is to be merged into: its base, or where that is the
/// branch of a session which is merged or gone, that one's base, and so on. `None` where a session
/// was started on no branch.
///
/// # Errors
/// Git cannot be read.
pub fn base_branch(
    git: &Git,
    refs: &RefNames,
    session: &Session,
) -> anyhow::Result<Option<String>> {
    for base in bases(git, refs, session)? {
        match refs.session_of(&format!("refs/heads/{base}")) {
            Some(name) if name == session.name => {}
            Some(name) if is_open(git, refs, &name)? => return Ok(Some(base)),
            Some(_) => {}
            None => return Ok(Some(base)),
        }
    }
    Ok(None)
}

/// The short name of the branch a pull request is for: the parent's while that is unmerged, else as
/// [`base_branch`].
///
/// # Errors
/// Git cannot be read.
pub fn review_base(
    git: &Git,
    refs: &RefNames,
    session: &Session,
) -> anyhow::Result<Option<String>> {
    let parent = session.file.parent.as_ref().map(|parent| parent.session.parse::<SessionName>());
    if let Some(Ok(parent)) = parent
        && is_open(git, refs, &parent)?
    {
        return Ok(Some(refs.short_branch(&parent)));
    }
    base_branch(git, refs, session)
}

/// Whether all a session delivered has been merged: into its base branch, here or as a remote has it, or by
/// `git cowork merge` into any other.
///
/// # Errors
/// Git cannot be read.
pub fn merged(git: &Git, refs: &RefNames, session: &Session) -> anyhow::Result<Option<Merged>> {
    let mut tips = Vec::new();
    for base in bases(git, refs, session)? {
        if base == refs.short_branch(&session.name) {
            continue;
        }
        let Ok(local) = RefName::branch(&base) else { continue };
        tips.extend(git.resolve(local.as_str())?);
        for remote in git.remote_branches(&base)? {
            tips.extend(git.resolve(remote.as_str())?);
        }
    }
    tips.sort();
    tips.dedup();
    for tip in &tips {
        if let Some(found) = merged_in(git, session, tip)?.filter(|found| found.whole) {
            return Ok(Some(found));
        }
    }
    let elsewhere = copies(git, session, &other_branches(refs))?.into_iter();
    Ok(elsewhere.filter(|copy| copy.is_merge).map(|copy| copy.merged).find(|found| found.whole))
}

/// What a commit holds of what a session delivered: by its ancestors, by its tree (a squash with
/// the artifacts), or by the trailers of a commit it has.
///
/// # Errors
/// Git cannot be read.
pub fn merged_in(git: &Git, session: &Session, branch: &Oid) -> anyhow::Result<Option<Merged>> {
    if git.is_ancestor(&session.tip, branch)? {
        let tip = session.tip.clone();
        return Ok(Some(Merged { commit: tip.clone(), tip: Some(tip), whole: true }));
    }
    let mut found = copies(git, session, &[branch.to_string()])?.into_iter();
    let copy = found.next().map(|copy| copy.merged);
    let there = delivered_in(git, &session.name, branch)?;
    if there.is_none_or(|file| file.id != session.file.id) {
        return Ok(copy);
    }
    let report = artifact_path(&session.name, Artifact::DeliveryReport);
    let same = git.blob_id(branch, &report)? == git.blob_id(&session.tip, &report)?;
    Ok(match copy {
        Some(copy) => Some(Merged { whole: copy.whole && same, ..copy }),
        None => same.then(|| Merged { commit: branch.clone(), tip: None, whole: true }),
    })
}

/// True while the session has a branch here that is not merged.
fn is_open(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<bool> {
    let Some(tip) = git.resolve(refs.branch(name).as_str())? else { return Ok(false) };
    // What is no session any more is a branch like any other.
    let Ok(session) = Session::load(git, name, &tip) else { return Ok(true) };
    Ok(!session.is_completed() || merged(git, refs, &session)?.is_none())
}

/// The branch the session was started from, and where that is another session's, the branch that one
/// was started from, and so on.
pub(super) fn bases(git: &Git, refs: &RefNames, session: &Session) -> anyhow::Result<Vec<String>> {
    let reader = git.reader();
    let mut file = session.file.clone();
    let mut found: Vec<String> = Vec::new();
    for _ in 0..MAX_GENERATIONS {
        let base = std::mem::take(&mut file.base.branch);
        let parent = file.parent.take().and_then(|parent| parent.session.parse().ok());
        // A change request carries its parent's records, wherever the parent's branch has gone.
        let carried =
            parent.and_then(|parent| session_file(reader.as_ref(), &parent, &session.tip).ok());
        let of_branch = refs.session_of(&format!("refs/heads/{base}"));
        if !base.is_empty() && !found.contains(&base) {
            found.push(base);
        }
        file = match (carried, of_branch) {
            (Some((parent, _)), _) => parent,
            (None, Some(name)) => match known(git, refs, &name)? {
                Some((session, _)) => session.file,
                None => break,
            },
            (None, None) => break,
        };
    }
    Ok(found)
}

/// Arguments of `git log` for all branches that are no session's.
fn other_branches(refs: &RefNames) -> Vec<String> {
    let root = refs.branch_root();
    let prefix = root.trim_start_matches("refs/heads/").trim_end_matches('/').to_owned();
    let hidden = |before: &str| {
        [prefix.as_str(), "cowork-pr"].map(|name| format!("--exclude={before}{name}/*"))
    };
    let mut args = Vec::new();
    args.extend(hidden(""));
    args.push("--branches".to_owned());
    args.extend(hidden("*/"));
    args.push("--remotes".to_owned());
    args
}

/// A commit that is not in a session's history and speaks for it.
struct Copy {
    merged: Merged,
    /// It says itself that it is a merge.
    is_merge: bool,
}

/// Commits outside the session's history that carry what it delivered, newest first: by their
/// trailers, or because they quote those of its delivery (`git merge --squash`).
fn copies(git: &Git, session: &Session, from: &[String]) -> anyhow::Result<Vec<Copy>> {
    let since = session.history.first().map_or(0, |start| start.time - CLOCK_SKEW).max(0);
    let id = &session.file.id;
    let log = git.read(["log", "-z", "--format=%H%n%B", "--fixed-strings"]);
    let log = log.args([format!("--grep={id}"), format!("--since=@{since}")]);
    let log = log.args(from).args(["--not", session.tip.as_str(), "--"]);
    let mut found = Vec::new();
    for record in log.checked()?.text().split('\0') {
        let Some((commit, message)) = record.trim_start().split_once('\n') else { continue };
        let Ok(commit) = commit.parse::<Oid>() else { continue };
        let trailers = Trailers::parse(message);
        let ours = trailers.get(key::SESSION_ID) == Some(id);
        let is_merge = ours && trailers.get(key::EVENT) == Some("merge");
        if is_merge || (ours && is_delivery(&trailers)) || quotes_delivery(message, id) {
            let tip = trailers.get(key::TIP).filter(|_| ours).and_then(|tip| tip.parse().ok());
            let whole = tip.as_ref().is_none_or(|tip| *tip == session.tip);
            found.push(Copy { merged: Merged { commit, tip, whole }, is_merge });
        }
    }
    Ok(found)
}

fn is_delivery(trailers: &Trailers) -> bool {
    trailers.get(key::EVENT).is_none()
        && trailers.get(key::STAGE).is_some_and(|stage| stage == Stage::Delivery.name())
}

/// True for a message that quotes a delivery commit, as squashes do: indented, among others.
fn quotes_delivery(message: &str, id: &str) -> bool {
    let has = |key: &str, value: &str| {
        let line = format!("{key}: {value}");
        message.lines().any(|quoted| quoted.trim() == line)
    };
    has(key::SESSION_ID, id) && has(key::STAGE, Stage::Delivery.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_squash_by_hand_quotes_the_delivery() {
        let quoted = "Squashed commit of the following:\n\ncommit 1\n\n    delivery: x\n\n    \
                      Cowork-Session: todo\n    Cowork-Session-Id: 1-2\n    Cowork-Stage: delivery\n";
        assert!(quotes_delivery(quoted, "1-2"));
        assert!(!quotes_delivery(quoted, "1-3"));
        assert!(!quotes_delivery(&quoted.replace("delivery\n", "check\n"), "1-2"));
    }
}
