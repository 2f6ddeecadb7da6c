//! Ids that two change requests gave to different things before a merge brought both together.

use std::collections::BTreeSet;

use crate::artifact::{Artifact, Files, Store, collided, renumber, renumber_text};
use crate::error::Error;
use crate::git::{self, Git, Oid};
use crate::record::{self, Recorded, Recorder};
use crate::session::{
    CommittedFiles, KnownRecords, MergedChange, Session, SessionName, merged_changes,
};

/// The records of a change that name ids.
const RECORDS: [Artifact; 4] =
    [Artifact::ChangeRequest, Artifact::Feedback, Artifact::CheckReport, Artifact::DeliveryReport];

/// Gives one of every two things with the same id a new one, with all references, in a commit on the
/// branch that is checked out. What each became, in words.
///
/// # Errors
/// Exit 5: another branch is checked out, the session's files have uncommitted changes, or a hook
/// refuses the commit.
pub fn renumber_collisions(
    git: &Git,
    session: &Session,
    recorder: &Recorder<'_>,
) -> anyhow::Result<Vec<String>> {
    let folder = session.name.artifact_dir();
    if git.head()?.oid() != Some(&session.tip) {
        return Err(Error::repository(format!("'{}' is not checked out here", session.name))
            .hint("switch to the branch that was merged into, then: git cowork verify --fix")
            .into());
    }
    if let Some(entry) = git::status::of(git, &[&folder])?.first() {
        return Err(Error::repository(format!("{} has uncommitted changes", entry.path))
            .hint("commit or stash them, then: git cowork verify --fix")
            .into());
    }
    let changes = merged_changes(git, recorder.refs, session)?;
    let of_sides = sides(git, session, &changes)?;
    let sides: Vec<CommittedFiles> = committed(git, session, &of_sides);
    let files = |record_dir| recorder.workspace.session_files(folder.clone(), record_dir);
    let merged = files(folder.clone());
    let mut floors = KnownRecords::of(git, session)?.floors;
    for side in sides.iter().map(|side| side as &dyn Files).chain([&merged as &dyn Files]) {
        Store::new(side).see_ids(&mut floors)?;
    }
    let views: Vec<&dyn Files> = sides.iter().map(|side| side as &dyn Files).collect();
    let done = renumber(&merged, &views, &mut floors)?;
    for (at, (name, _)) in of_sides.iter().enumerate() {
        let own = files(name.record_dir());
        for artifact in RECORDS {
            let Some(text) = own.read(artifact)? else { continue };
            let new = renumber_text(&text, at, &done);
            if new != text {
                own.write(artifact, &new)?;
            }
        }
    }
    if done.is_empty() {
        return Ok(Vec::new());
    }
    let moved: Vec<[String; 3]> =
        done.into_iter().map(|one| [of_sides[one.side].0.to_string(), one.from, one.to]).collect();
    let told = |[name, from, to]: &[String; 3]| format!("{from} of {name} is {to} now");
    match record::repair::commit_renumbered(recorder, &session.tip, &moved)? {
        Recorded::Done(_) => Ok(moved.iter().map(told).collect()),
        Recorded::Refused(why) => Err(Error::repository(why.to_string())
        .hint("the files are changed; commit them yourself, or take them back: git checkout -- .cowork")
        .into()),
    }
}

/// The ids that two things have and [`renumber_collisions`] can tell apart.
///
/// # Errors
/// Git cannot be read.
pub(super) fn tellable(
    git: &Git,
    session: &Session,
    changes: &[MergedChange],
) -> anyhow::Result<BTreeSet<String>> {
    let sides = committed(git, session, &sides(git, session, changes)?);
    let views: Vec<&dyn Files> = sides.iter().map(|side| side as &dyn Files).collect();
    collided(&CommittedFiles::new(git, &session.name, &session.tip), &views)
}

/// Who gave ids, and the commit that holds them: each change, and the session itself before it took
/// in the first, for reviewers' comments make tasks of its own.
fn sides(
    git: &Git,
    session: &Session,
    changes: &[MergedChange],
) -> anyhow::Result<Vec<(SessionName, Oid)>> {
    let mut sides: Vec<(SessionName, Oid)> =
        changes.iter().map(|change| (change.name.clone(), change.tip.clone())).collect();
    let folder = format!("{}/changes", session.name.artifact_dir());
    for entry in session.history.iter().rev() {
        let mut is_before =
            session.is_patch() || git::paths::names_in(git, &entry.commit, &folder)?.is_empty();
        for change in changes.iter().filter(|_| session.is_patch()) {
            is_before &= !git::refs::is_ancestor(git, &change.tip, &entry.commit)?;
        }
        if is_before {
            sides.push((session.name.clone(), entry.commit.clone()));
            break;
        }
    }
    Ok(sides)
}

fn committed(git: &Git, session: &Session, sides: &[(SessionName, Oid)]) -> Vec<CommittedFiles> {
    sides.iter().map(|(_, tip)| CommittedFiles::new(git, &session.name, tip)).collect()
}
