//! The change requests merged into a session, by whatever kind of merge.

use anyhow::Result;

use super::change_requests::{is_straight, known, related_commits};
use super::{Entry, RefNames, Session, SessionName, Trailers, artifact_path, key};
use crate::artifact::{Artifact, SessionFile};
use crate::git::{self, Git, Object, Oid};

/// A merged change request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedChange {
    /// Its name.
    pub name: SessionName,
    /// Its newest merged commit.
    pub tip: Oid,
    /// Its start commit, with the records before the change.
    pub start: Option<Oid>,
}

/// The change requests merged into a session, newest first: those with commits reachable from its
/// tip, and squashed ones whose own commits are still in this repository. If the session is
/// a change request, also its parent's commits made while the change request was in progress.
///
/// # Errors
/// Git cannot be read.
pub fn merged_changes(git: &Git, refs: &RefNames, session: &Session) -> Result<Vec<MergedChange>> {
    let own_start: Vec<Oid> =
        session.history.first().map(|entry| entry.commit.clone()).into_iter().collect();
    let mut found: Vec<MergedChange> = Vec::new();
    let related = match is_straight(session) {
        true => Vec::new(),
        false => related_commits(git, &session.name, &session.tip, &own_start)?,
    };
    for (name, commit) in related {
        let trailers = Trailers::parse(&commit.message);
        // A merge commit names the merged tip; its other changes do not belong to the change
        // request.
        if trailers.get(key::EVENT) == Some("merge") {
            continue;
        }
        let entry = trailers.get(key::SESSION_ID).and_then(|id| Entry::from_commit(&commit, id));
        let Some(entry) = entry.filter(|_| name != session.name) else { continue };
        let start = entry.is_start().then(|| entry.commit.clone());
        match found.iter_mut().find(|change| change.name == name) {
            Some(change) => change.start = change.start.take().or(start),
            None => found.push(MergedChange { name, tip: entry.commit, start }),
        }
    }
    if session.is_patch() {
        // These commits were made since this change request began, by its parent or by a change
        // request that it is based on.
        for change in &mut found {
            change.start = change.start.take().or_else(|| own_start.first().cloned());
        }
        return Ok(found);
    }
    for change in squashed(git, refs, session)? {
        if !found.iter().any(|other| other.name == change.name) {
            found.push(change);
        }
    }
    Ok(found)
}

/// Squashed change requests: the tip has their records, and their commits are still on a branch
/// (local or remote) or in the archive.
fn squashed(git: &Git, refs: &RefNames, session: &Session) -> Result<Vec<MergedChange>> {
    let reader = git.reader();
    let mut found = Vec::new();
    let folder = format!("{}/changes", session.name.artifact_dir());
    for change in git::paths::names_in(git, &session.tip, &folder)? {
        let Ok(change) = change.parse::<SessionName>() else { continue };
        let Ok(name) = session.name.change(&change) else { continue };
        let path = artifact_path(&name, Artifact::Session);
        let file = reader.blob(Object::At(&session.tip, &path))?;
        let file: Option<SessionFile> = file.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        // Ignore an unreadable branch.
        let there = known(git, refs, &name).ok().flatten().map(|(there, _)| there);
        if let (Some(file), Some(there)) = (file, there)
            && file.id == there.file.id
        {
            let start = there.history.first().filter(|entry| entry.is_start());
            let start = start.map(|entry| entry.commit.clone());
            found.push(MergedChange { name, tip: there.tip, start });
        }
    }
    Ok(found)
}
