//! Which branch a commit of ours is on. Between the look at HEAD and `git commit` a hook or a person may
//! switch, amend or commit: a commit on another branch is taken off again, so that nothing of ours
//! ever stays on a branch we did not expect.

use super::Recorder;
use crate::error::Error;
use crate::git::{self, Head, Oid, RefName, RefTransaction};
use crate::session::{Message, Trailers, key};

/// Makes sure that `commit`, just made, is on the session's branch and on `tip`.
///
/// # Errors
/// Exit 5 with the way to fix it: it was taken off again, and the files are where they were.
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
        return Err(Error::moved(format!("HEAD left {short} while it was committed to"))
            .hint(format!("the commit exists; continue: {back}"))
            .into());
    }
    let (Some(parent), true) = (parent, is_ours(recorder, commit)?) else {
        return Err(moved(&short).into());
    };
    match &head {
        Head::Branch { name, oid } if oid == commit => {
            take_off(recorder, name, &parent, commit, paths)?;
            let error = if *name == branch {
                Error::moved(format!("{short} moved while it was committed to"))
                    .hint("your commits stay; ours was taken off again, its files lie there")
                    .hint(format!("continue: git cowork resume {}", recorder.name))
            } else {
                let elsewhere = name.short();
                Error::moved(format!("HEAD went to {elsewhere} while we committed"))
                    .hint(format!(
                        "{elsewhere} is as it was; ours was taken off again, its files lie there"
                    ))
                    .hint(format!("continue: {back}"))
            };
            Err(error.into())
        }
        _ => Err(Error::moved(format!(
            "HEAD left {short} while we committed; the commit is {commit}"
        ))
        .hint(format!("look at git log, then: {back}"))
        .into()),
    }
}

/// Makes sure that `commit`, just made on `tip`, says what it stands for: history is all that
/// is read afterwards, and a stage it does not name would be run again without end.
///
/// # Errors
/// Exit 5 when a hook took the trailers out of the message; it was taken off again.
pub(super) fn expect_readable(
    recorder: &Recorder<'_>,
    tip: &Oid,
    commit: &Oid,
    paths: &[String],
    message: &Message,
) -> anyhow::Result<()> {
    let found =
        recorder.git.reader().walk(std::slice::from_ref(commit), std::slice::from_ref(tip))?;
    let found = found.first().map(|found| Trailers::parse(&found.message)).unwrap_or_default();
    let says = [key::SESSION_ID, key::EVENT, key::STAGE, key::TASK];
    if says.iter().all(|key| found.get(key) == message.trailers.get(key)) {
        return Ok(());
    }
    take_off(recorder, &recorder.refs.branch(recorder.name), tip, commit, paths)?;
    Err(Error::repository("a hook took the trailers out of the commit message")
        .hint("they are what history is read from; look at the commit-msg and prepare-commit-msg hooks")
        .hint("nothing was lost; then run the command again")
        .into())
}

/// The commit `git` made before it was stopped, if it came so far.
pub(super) fn made_before_it_failed(
    recorder: &Recorder<'_>,
    tip: &Oid,
    message: &Message,
) -> anyhow::Result<Option<Oid>> {
    let Head::Branch { name, oid } = recorder.git.head()? else { return Ok(None) };
    let ours = name == recorder.refs.branch(recorder.name)
        && parent(recorder, &oid)?.as_ref() == Some(tip)
        && trailers(recorder, &oid)?.is_some_and(|trailers| trailers.begin_with(&message.trailers));
    Ok(ours.then_some(oid))
}

/// Moves a branch back to where it was; index entries follow, files stay.
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

fn is_ours(recorder: &Recorder<'_>, commit: &Oid) -> anyhow::Result<bool> {
    let trailers = trailers(recorder, commit)?;
    Ok(trailers.is_some_and(|trailers| trailers.get(key::SESSION_ID) == Some(recorder.id)))
}

fn trailers(recorder: &Recorder<'_>, commit: &Oid) -> anyhow::Result<Option<Trailers>> {
    let parents: Vec<Oid> = parent(recorder, commit)?.into_iter().collect();
    let found = recorder.git.reader().walk(std::slice::from_ref(commit), &parents)?;
    let found = found.iter().find(|found| found.id == *commit);
    Ok(found.map(|found| Trailers::parse(&found.message)))
}

fn moved(short: &str) -> Error {
    Error::moved(format!("{short} moved while we worked"))
        .hint("nothing was lost; look at git log, then: git cowork resume")
}
