//! Ids that two change requests, or two clones of a branch, gave to different records before a
//! merge, rebase or cherry-pick.

use std::collections::BTreeSet;

use super::problem::uncommitted;
use crate::artifact::{
    Artifact, Files, Side, Store, collided, renumber, renumber_text, repeats_ids,
};
use crate::error::Error;
use crate::git::{self, Git, Oid};
use crate::record::{self, Recorded, Recorder};
use crate::session::{
    CommittedFiles, KnownRecords, MergedChange, Session, SessionName, merged_changes,
};

/// A change request's own files, which mention ids.
const RECORDS: [Artifact; 4] =
    [Artifact::ChangeRequest, Artifact::Feedback, Artifact::CheckReport, Artifact::DeliveryReport];

/// Gives new ids to colliding records, updates all references, and commits this on the checked-out
/// branch. Returns a description of each change.
///
/// # Errors
/// Exit 5: another branch is checked out, the session's files have uncommitted changes, or a hook
/// rejects the commit.
pub fn renumber_collisions(
    git: &Git,
    session: &Session,
    recorder: &Recorder<'_>,
) -> anyhow::Result<Vec<String>> {
    let folder = session.name.artifact_dir();
    if git.head()?.oid() != Some(&session.tip) {
        return Err(Error::repository(format!("'{}' is not checked out here", session.name))
            .hint("switch to the branch that received the merge, then: git cowork verify --fix")
            .into());
    }
    if let Some(entry) = git::status::of(git, &[&folder])?.first() {
        return Err(Error::repository(format!("{} has uncommitted changes", entry.path))
            .hint("commit or stash them, then: git cowork verify --fix")
            .into());
    }
    let changes = merged_changes(git, recorder.refs, session)?;
    let found = Sides::find(git, session, &changes)?;
    let Some(found) = found.filter(|found| !found.tellable.is_empty()) else {
        return Ok(Vec::new());
    };
    let files = |record_dir| recorder.workspace.session_files(folder.clone(), record_dir);
    let merged = files(folder.clone());
    let mut floors = KnownRecords::read(git, session)?.floors;
    for side in found.files.iter().map(|side| side as &dyn Files).chain([&merged as &dyn Files]) {
        Store::new(side).see_ids(&mut floors)?;
    }
    // The records that existed first keep their ids.
    let keeps = found.is_one_session.then_some(0);
    let done = renumber(&merged, &found.views(), keeps, &mut floors)?;
    for (at, name) in found.names.iter().enumerate().filter(|_| !found.is_one_session) {
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
        done.into_iter().map(|one| [found.names[one.side].to_string(), one.from, one.to]).collect();
    let told = |[name, from, to]: &[String; 3]| format!("{from} of {name} is {to} now");
    match record::repair::commit_renumbered(recorder, &session.tip, &moved)? {
        Recorded::Done(_) => Ok(moved.iter().map(told).collect()),
        Recorded::Refused(why) => Err(uncommitted(&why)),
    }
}

/// The duplicate ids that [`renumber_collisions`] can resolve.
///
/// # Errors
/// Git cannot be read.
pub(super) fn tellable(
    git: &Git,
    session: &Session,
    changes: &[MergedChange],
) -> anyhow::Result<BTreeSet<String>> {
    Ok(Sides::find(git, session, changes)?.map(|found| found.tellable).unwrap_or_default())
}

/// The origins of colliding ids.
struct Sides {
    /// The session or change request of each side.
    names: Vec<SessionName>,
    /// The files of each side, at the commit with its records.
    files: Vec<CommittedFiles>,
    /// The duplicate ids whose records belong to different sides.
    tellable: BTreeSet<String>,
    /// True if both sides are of one session: two clones of its branch were merged.
    is_one_session: bool,
    /// True if there was no merge: the second side is based on the first.
    is_rebased: bool,
}

impl Sides {
    /// Finds the sides; `None` if there are no duplicate ids.
    fn find(
        git: &Git,
        session: &Session,
        changes: &[MergedChange],
    ) -> anyhow::Result<Option<Self>> {
        let tip = CommittedFiles::new(git, &session.name, &session.tip);
        if !repeats_ids(&tip)? {
            return Ok(None);
        }
        let at = |commit: &Oid| CommittedFiles::new(git, &session.name, commit);
        let found = of_changes(git, session, changes)?;
        let mut sides = Self {
            names: found.iter().map(|(name, _)| name.clone()).collect(),
            files: found.iter().map(|(_, commit)| at(commit)).collect(),
            tellable: BTreeSet::new(),
            is_one_session: false,
            is_rebased: false,
        };
        sides.tellable = collided(&tip, &sides.views())?;
        if !sides.tellable.is_empty() {
            return Ok(Some(sides));
        }
        let Some((commit, parents)) = meeting(git, session)? else { return Ok(Some(sides)) };
        let commits = match &parents[..] {
            [before] => vec![before, &commit],
            all => all.iter().collect(),
        };
        sides.names = vec![session.name.clone(); commits.len()];
        sides.files = commits.into_iter().map(at).collect();
        (sides.is_one_session, sides.is_rebased) = (true, parents.len() == 1);
        sides.tellable = collided(&tip, &sides.views())?;
        Ok(Some(sides))
    }

    fn views(&self) -> Vec<Side<'_>> {
        match &self.files[..] {
            [before, after] if self.is_rebased => {
                vec![Side::Whole(before), Side::Added { before, after }]
            }
            files => files.iter().map(|files| Side::Whole(files)).collect(),
        }
    }
}

/// The tip of each change request, and the session's last own commit before it merged the first of
/// them, because reviewers' comments add tasks to the session itself.
fn of_changes(
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

/// The commit that introduced a duplicate id, and its parents, none of which has one: the commit is
/// a merge, or was rebased or cherry-picked.
fn meeting(git: &Git, session: &Session) -> anyhow::Result<Option<(Oid, Vec<Oid>)>> {
    let hidden = session.history.first().map_or(&[][..], |first| &first.parents);
    let walked = git.reader().walk(std::slice::from_ref(&session.tip), hidden)?;
    let mut at = session.tip.clone();
    // An unreadable version counts as one without duplicates.
    let repeats = |commit: &Oid| {
        repeats_ids(&CommittedFiles::new(git, &session.name, commit)).unwrap_or_default()
    };
    loop {
        let Some(commit) = walked.iter().find(|commit| commit.id == at) else { return Ok(None) };
        match commit.parents.iter().find(|parent| repeats(parent)) {
            Some(parent) => at = parent.clone(),
            None => return Ok(Some((at, commit.parents.clone()))),
        }
    }
}
