//! Checks which branch a commit of git-cowork is on. Between the check of HEAD and `git commit`, a
//! hook or a person may switch, amend or commit: a commit on another branch is undone, so that
//! git-cowork never leaves a commit on an unexpected branch.

use anyhow::Result;

use super::Recorder;
use crate::error::Error;
use crate::git::{self, Head, Oid, RefName, RefTransaction};
use crate::session::{Message, Trailers, key};

/// Makes sure that `commit`, just made, is on the session's branch, directly on top of `tip`.
///
/// # Errors
/// Exit 5, with hints on how to continue. If the commit has this session's id and is the tip of
/// HEAD's branch, but in the wrong place, it was undone, and its files stay.
pub(super) fn expect_on_tip(
    recorder: &Recorder<'_>,
    tip: &Oid,
    commit: &Oid,
    paths: &[String],
) -> anyhow::Result<()> {
    let branch = recorder.refs.branch(recorder.name);
    let short = recorder.refs.short_branch(recorder.name);
    let head = recorder.git.head()?;
    let back = match recorder.git.resolve(branch.as_str())? {
        Some(_) => format!("git switch {short} && git cowork resume"),
        None => format!("git branch {short} {tip} && git cowork resume {}", recorder.name),
    };
    let parent = parent(recorder, commit)?;
    let on_tip = parent.as_ref() == Some(tip);
    if on_tip && head.branch() == Some(&branch) {
        return Ok(());
    }
    if on_tip && recorder.git.resolve(branch.as_str())?.as_ref() == Some(commit) {
        return Err(Error::moved(format!("HEAD left {short} during the commit"))
            .hint(format!("the commit exists; to continue: {back}"))
            .into());
    }
    let (Some(parent), true) = (parent, is_ours(recorder, commit)?) else {
        return Err(moved(&short).into());
    };
    match &head {
        Head::Branch { name, oid } if oid == commit => {
            take_off(recorder, name, &parent, commit, paths)?;
            let error = if *name == branch {
                Error::moved(format!("{short} moved during the commit"))
                    .hint("your commits stay; git-cowork's commit was undone, its files stay")
                    .hint(format!("to continue: git cowork resume {}", recorder.name))
            } else {
                let elsewhere = name.short();
                Error::moved(format!("HEAD moved to {elsewhere} during the commit"))
                    .hint(format!(
                        "{elsewhere} is as it was; the commit was undone, its files stay"
                    ))
                    .hint(format!("to continue: {back}"))
            };
            Err(error.into())
        }
        _ => Err(Error::moved(format!(
            "HEAD was moved off {short} during the commit; the commit is {commit}"
        ))
        .hint(format!("look at git log, then: {back}"))
        .into()),
    }
}

/// Makes sure that `commit`, just made on `tip`, has its trailers: only history is read afterwards,
/// and a stage that it does not name would be run again without end.
///
/// # Errors
/// Exit 5 if a hook took the trailers out of the message; the commit was undone.
pub(super) fn expect_readable(
    recorder: &Recorder<'_>,
    tip: &Oid,
    commit: &Oid,
    paths: &[String],
    message: &Message,
) -> anyhow::Result<()> {
    let trailers = trailers_of(recorder, commit)?;
    let says = [key::SESSION_ID, key::EVENT, key::STAGE, key::TASK];
    if says.iter().all(|key| trailers.get(key) == message.trailers.get(key)) {
        return Ok(());
    }
    take_off(recorder, &recorder.refs.branch(recorder.name), tip, commit, paths)?;
    Err(Error::repository("a hook took the trailers out of the commit message")
        .hint("history is read from them: check the commit-msg and prepare-commit-msg hooks")
        .hint("nothing was lost; afterwards run the command again")
        .into())
}

/// The commit that git made before it failed, if it got that far.
pub(super) fn made_before_it_failed(
    recorder: &Recorder<'_>,
    tip: &Oid,
    message: &Message,
) -> anyhow::Result<Option<Oid>> {
    let Head::Branch { name, oid } = recorder.git.head()? else { return Ok(None) };
    let ours = name == recorder.refs.branch(recorder.name)
        && parent(recorder, &oid)?.as_ref() == Some(tip)
        && trailers_of(recorder, &oid)?.begin_with(&message.trailers);
    Ok(ours.then_some(oid))
}

/// Moves a branch back to the parent of a commit; index entries follow, files stay.
pub(super) fn take_off(
    recorder: &Recorder<'_>,
    branch: &RefName,
    parent: &Oid,
    commit: &Oid,
    paths: &[String],
) -> anyhow::Result<()> {
    RefTransaction::new("cowork: not meant for this branch")
        .update(branch, parent, commit)
        .commit(recorder.git)?;
    git::commit::index_as_committed(recorder.git, paths)
}

fn parent(recorder: &Recorder<'_>, commit: &Oid) -> anyhow::Result<Option<Oid>> {
    recorder.git.resolve(&format!("{commit}^1"))
}

fn is_ours(recorder: &Recorder<'_>, commit: &Oid) -> Result<bool> {
    Ok(trailers_of(recorder, commit)?.get(key::SESSION_ID) == Some(recorder.id))
}

/// The trailers of a commit.
pub(super) fn trailers_of(recorder: &Recorder<'_>, commit: &Oid) -> Result<Trailers> {
    Ok(Trailers::parse(&recorder.git.reader().commit(commit)?.message))
}

fn moved(short: &str) -> Error {
    Error::moved(format!("{short} moved while git-cowork was working"))
        .hint("nothing was lost; look at git log, then: git cowork resume")
}
