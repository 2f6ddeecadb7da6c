//! What history knows of the records of a session: which ids were ever used, and what they meant.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CommittedFiles, Entry, KeptDraft, Kind, Session, Trailers, artifact_path, change_requests,
    kept_draft, key,
};
use crate::artifact::{Artifact, Files, History, IdFloors, Store, is_settled, named_records};
use crate::git::{Git, Oid, Reader};

/// The ids of all versions of a session's records in history, in that of its parent and of the
/// change requests it has taken in.
pub struct KnownRecords {
    /// The highest number of each kind, drafts included: no number is given twice.
    pub floors: IdFloors,
    /// What each id is called, in the newest commit that has it. Drafts that wait for a review do not
    /// count, for they may be dropped.
    pub titles: BTreeMap<String, String>,
    reader: Box<dyn Reader>,
    committed: CommittedFiles,
    /// The commit that the session began with, where it is here.
    base: Option<Oid>,
}

impl KnownRecords {
    /// Reads them from every commit.
    ///
    /// # Errors
    /// Git fails. A version somebody broke by hand is left out: its ids are in its neighbours.
    pub fn of(git: &Git, session: &Session) -> anyhow::Result<Self> {
        let mut known = Self {
            floors: IdFloors::default(),
            titles: BTreeMap::new(),
            reader: git.reader(),
            committed: CommittedFiles::new(git, &session.name, newest_of_ours(session)),
            base: session.file.base.commit.parse().ok(),
        };
        let mut commits = vec![(session.tip.clone(), Says::Records)];
        for entry in session.history.iter().rev() {
            known.floors.see_all(entry.trailers.get(key::IDS).unwrap_or_default());
            let says = match &entry.kind {
                Kind::Draft(_) | Kind::Review(..) => Says::Ids,
                Kind::Task(_) => Says::Code,
                _ => Says::Records,
            };
            commits.push((entry.commit.clone(), says));
        }
        for (_, commit) in change_requests::related_commits(git, &session.name, &session.tip, &[])?
        {
            let trailers = Trailers::parse(&commit.message);
            known.floors.see_all(trailers.get(key::IDS).unwrap_or_default());
            let is_task = trailers.get(key::TASK).is_some();
            commits.push((commit.id, if is_task { Says::Code } else { Says::Records }));
        }
        let documents = [Artifact::Prd, Artifact::Design, Artifact::Plan]
            .map(|document| artifact_path(&session.name, document));
        let documents = documents.each_ref().map(String::as_str);
        let (mut seen, mut read) = (BTreeSet::new(), BTreeSet::new());
        for (commit, says) in commits.iter().filter(|(commit, _)| seen.insert(commit.clone())) {
            // Of a task nothing but its status is new, and that in no document.
            let entries = known.reader.entries(commit, &documents).unwrap_or_default();
            let blobs: Vec<_> = entries.into_iter().map(|entry| entry.map(|e| e.oid)).collect();
            if *says == Says::Code && read.contains(&blobs) && session.older.is_none() {
                continue;
            }
            let files = CommittedFiles::new(git, &session.name, commit);
            let _ = Store::new(&files).see_ids(&mut known.floors);
            if *says == Says::Ids {
                continue;
            }
            read.insert(blobs);
            for record in named_records(&files).unwrap_or_default() {
                known.titles.entry(record.id).or_insert(record.name);
            }
        }
        Ok(known)
    }
}

/// What a commit says of records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    /// Which there are, and what they are called.
    Records,
    /// Which ids were given: a draft may be dropped.
    Ids,
    /// As little as a task's commit does, unless a document is another one in it.
    Code,
}

/// The newest commit that this program made.
fn newest_of_ours(session: &Session) -> &Oid {
    session.history.last().map_or(&session.tip, |entry| &entry.commit)
}

impl History for KnownRecords {
    fn committed(&self) -> Option<&dyn Files> {
        Some(&self.committed)
    }

    fn titles(&self) -> &BTreeMap<String, String> {
        &self.titles
    }

    fn floors(&self) -> IdFloors {
        self.floors
    }

    fn in_base(&self, path: &str) -> bool {
        let Some(base) = &self.base else { return false };
        let found = self.reader.entries(base, &[path]);
        // A shallow clone may not have it.
        found.is_ok_and(|entries| entries.iter().any(Option::is_some))
    }
}

/// The artifacts of a session as its newest completed stage left them, or its start: JSON and documents
/// say the same there, unless they are those of an older session. A draft that an older release began
/// is what counts for its documents: their records were never in them.
///
/// # Errors
/// Git fails.
pub fn completed_files(git: &Git, session: &Session) -> anyhow::Result<CommittedFiles> {
    if session.older.is_some()
        && let Some(first) = drafts(git, session)?.last()
    {
        // The format is raised before a stage begins, so that no draft of ours is the first.
        return Ok(CommittedFiles::new(git, &session.name, first));
    }
    let completed = |entry: &&Entry| matches!(entry.kind, Kind::Stage(_) | Kind::Start);
    let newest = session.history.iter().rev().find(completed);
    let commit = newest.map_or(&session.tip, |entry| &entry.commit);
    Ok(CommittedFiles::new(git, &session.name, commit))
}

/// The artifacts of a session as they were recorded last with documents that had been read: in a
/// draft of the stage in progress, else by the newest completed stage. What a person has written since
/// may be in newer drafts, and in commits of their own.
///
/// # Errors
/// Git fails.
pub fn recorded_files(git: &Git, session: &Session) -> anyhow::Result<CommittedFiles> {
    let completed = completed_files(git, session)?;
    for commit in drafts(git, session)? {
        let files = CommittedFiles::new(git, &session.name, &commit);
        if is_settled(&files, &completed)? {
            return Ok(files);
        }
    }
    Ok(completed)
}

/// What was recorded of the stage in progress, the newest first: drafts that were kept, and the
/// commits since the last stage.
fn drafts(git: &Git, session: &Session) -> anyhow::Result<Vec<Oid>> {
    let mut drafts: Vec<Oid> = Vec::new();
    let stage = session.next_stage();
    let mut next = match stage.map(|stage| kept_draft(git, session, stage)).transpose()?.flatten() {
        Some(KeptDraft::Live(entry)) => Some(entry),
        _ => None,
    };
    // The second parent of a draft is the one before.
    while let Some(entry) = next.filter(|entry| !drafts.contains(&entry.commit)) {
        next = match entry.parents.get(1) {
            Some(before) => session.entry_at(git, before)?,
            None => None,
        };
        drafts.push(entry.commit);
    }
    drafts.extend(session.since_last_stage().iter().rev().map(|entry| entry.commit.clone()));
    Ok(drafts)
}
