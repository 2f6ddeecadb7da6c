//! The records in a session's history: which ids were ever used, and their titles.
//!
//! Also the artifacts of a session as a commit contains them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Entry, KeptDraft, Kind, Session, SessionName, Trailers, artifact_path, change_requests,
    kept_draft, key,
};
use crate::artifact::{Artifact, Files, History, IdFloors, is_settled, records_of};
use crate::git::{self, Git, Object, Oid, Reader};

/// The ids of all versions of a session's records in its history, in that of its parent and of the
/// change requests merged into it.
pub struct KnownRecords {
    /// The highest id number of each kind of record, also in drafts, so that no number is given
    /// twice.
    pub floors: IdFloors,
    /// The title of each id in the newest commit that has it. Drafts waiting for review do not
    /// count, because they may be discarded.
    pub titles: BTreeMap<String, String>,
    reader: Box<dyn Reader>,
    committed: CommittedFiles,
    /// The commit the session was started from, if it is in this repository.
    base: Option<Oid>,
}

impl KnownRecords {
    /// Reads them from all commits.
    ///
    /// # Errors
    /// Git fails. A broken version is skipped: the commits around it have its ids.
    pub fn read(git: &Git, session: &Session) -> anyhow::Result<Self> {
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
        let documents = documents(&session.name);
        let documents = documents.each_ref().map(String::as_str);
        let (mut seen, mut read) = (BTreeSet::new(), BTreeSet::new());
        for (commit, says) in commits.iter().filter(|(commit, _)| seen.insert(commit.clone())) {
            // A task commit changes nothing in a record except its status, which is not in the
            // documents.
            let entries = known.reader.entries(commit, &documents).unwrap_or_default();
            let blobs: Vec<_> = entries.into_iter().map(|entry| entry.map(|e| e.oid)).collect();
            if *says == Says::Code && read.contains(&blobs) {
                continue;
            }
            let files = CommittedFiles::new(git, &session.name, commit);
            let records = records_of(&files).unwrap_or_default();
            records.ids().for_each(|id| known.floors.see_all(id));
            if *says == Says::Ids {
                continue;
            }
            read.insert(blobs);
            for record in records.into_records() {
                known.titles.entry(record.id().to_owned()).or_insert(record.title().to_owned());
            }
        }
        Ok(known)
    }
}

impl KnownRecords {
    /// The known records after one more commit on the tip `before`, if it is a task commit that
    /// leaves the documents unchanged; `None` after any other commit.
    pub(crate) fn after_task(&self, git: &Git, session: &Session, before: &Oid) -> Option<Self> {
        let newest = session.history.last()?;
        let is_it = matches!(newest.kind, Kind::Task(_))
            && newest.commit == session.tip
            && newest.parents == std::slice::from_ref(before)
            && newest.trailers.get(key::IDS).is_none();
        let documents = documents(&session.name);
        let blobs = |commit: &Oid| git::snapshot::blob_ids(git, commit, &documents).ok();
        if !is_it || blobs(before)? != blobs(&session.tip)? {
            return None;
        }
        Some(Self {
            floors: self.floors,
            titles: self.titles.clone(),
            reader: git.reader(),
            committed: CommittedFiles::new(git, &session.name, newest_of_ours(session)),
            base: self.base.clone(),
        })
    }
}

/// The documents that have records.
fn documents(name: &SessionName) -> [String; 3] {
    [Artifact::Prd, Artifact::Design, Artifact::Plan].map(|document| artifact_path(name, document))
}

/// How much of a commit's records to read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    /// Ids and titles.
    Records,
    /// Only ids: a draft may be discarded.
    Ids,
    /// Nothing, unless a document differs from those already read.
    Code,
}

/// The newest commit that git-cowork made.
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
        // A shallow clone may lack the commit.
        found.is_ok_and(|entries| entries.iter().any(Option::is_some))
    }
}

/// The artifacts of a session as last recorded with documents that agree with their JSON: in a
/// draft of the stage in progress, else at the newest completed stage or at the start. Newer drafts
/// and a person's own commits may contain later edits.
///
/// # Errors
/// Git fails.
pub fn recorded_files(git: &Git, session: &Session) -> anyhow::Result<CommittedFiles> {
    for commit in drafts(git, session)? {
        let files = CommittedFiles::new(git, &session.name, &commit?);
        if is_settled(&files)? {
            return Ok(files);
        }
    }
    let completed = |entry: &&Entry| matches!(entry.kind, Kind::Stage(_) | Kind::Start);
    let newest = session.history.iter().rev().find(completed);
    let commit = newest.map_or(&session.tip, |entry| &entry.commit);
    Ok(CommittedFiles::new(git, &session.name, commit))
}

/// The commits of the stage in progress, newest first: saved drafts, and the commits since the last
/// stage.
fn drafts<'a>(
    git: &'a Git,
    session: &'a Session,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Oid>> + 'a> {
    let stage = session.next_stage();
    let mut next = match stage.map(|stage| kept_draft(git, session, stage)).transpose()?.flatten() {
        Some(KeptDraft::Live(entry)) => Some(entry),
        _ => None,
    };
    let saved = std::iter::from_fn(move || {
        let entry = next.take()?;
        // The second parent of a draft is the draft before it.
        let before = entry.parents.get(1).map(|before| session.entry_at(git, before)).transpose();
        Some(before.map(|before| {
            next = before.flatten();
            entry.commit
        }))
    });
    let since = session.since_last_stage().iter().rev();
    Ok(saved.chain(since.map(|entry| Ok(entry.commit.clone()))))
}

/// Reads the artifacts of a session at a commit; writing fails.
pub struct CommittedFiles {
    reader: Box<dyn Reader>,
    commit: Oid,
    name: SessionName,
}

impl CommittedFiles {
    /// The artifacts of `name` as they are in `commit`.
    pub fn new(git: &Git, name: &SessionName, commit: &Oid) -> Self {
        Self { reader: git.reader(), commit: commit.clone(), name: name.clone() }
    }
}

impl Files for CommittedFiles {
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        let path = artifact_path(&self.name, artifact);
        match self.reader.blob(Object::At(&self.commit, &path))? {
            Some(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            None => Ok(None),
        }
    }

    fn write(&self, artifact: Artifact, _text: &str) -> anyhow::Result<()> {
        anyhow::bail!("{} of a commit cannot be written", artifact.file_name())
    }
}
