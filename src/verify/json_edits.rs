//! A person's edits of JSON. JSON is generated from the documents, so such an edit is kept and the
//! JSON is written again; a sentence names the document to edit instead.

use anyhow::Result;

use crate::artifact::sections::Writer;
use crate::artifact::{EditedJson, Ledger, RECORDS, unreadable};
use crate::error::Error;
use crate::git::{self, Git, Oid, Store};
use crate::record::{self, Recorded, Recorder};
use crate::session::{KnownRecords, Session, Verdict, artifact_path, recorded_files};

/// Puts back a person's edits of the JSON in the working tree, and keeps them as an attempt.
/// Returns a sentence for each file; empty if there were no edits.
///
/// # Errors
/// Git fails, or a file cannot be read or written.
pub fn put_back_json(git: &Git, session: &Session, recorder: &Recorder<'_>) -> Result<Vec<String>> {
    let Some(edits) = Edits::find(git, session, recorder)? else { return Ok(Vec::new()) };
    let reason = format!("your edit of {}, put back", edits.names());
    let tip = &session.tip;
    let number = record::attempt::keep(recorder, tip, &reason, Verdict::Edited)?;
    let mut lines = edits.undo(git, session, recorder)?;
    if let Some(first) = lines.first_mut() {
        let name = &session.name;
        *first +=
            &format!("; your version is attempt {number}: git cowork restore {name} {number}");
    }
    Ok(lines)
}

/// Puts back the edits of JSON that a person committed since git-cowork's newest commit, with a
/// commit. Returns a sentence for each file. Edits beside uncommitted ones are left to
/// [`put_back_json`].
///
/// # Errors
/// Git fails, a file cannot be read or written, or a hook rejects the commit.
pub fn put_back_committed_json(
    git: &Git,
    session: &Session,
    recorder: &Recorder<'_>,
) -> Result<Vec<String>> {
    if since(git, session)? == session.tip || git.head()?.oid() != Some(&session.tip) {
        return Ok(Vec::new());
    }
    let paths: Vec<String> = crate::artifact::Artifact::ALL
        .iter()
        .map(|one| artifact_path(&session.name, *one))
        .collect();
    if !git::status::of(git, &paths)?.is_empty() {
        return Ok(Vec::new());
    }
    let Some(edits) = Edits::find(git, session, recorder)? else { return Ok(Vec::new()) };
    let mut lines = edits.undo(git, session, recorder)?;
    if let Some(first) = lines.first_mut() {
        *first += &format!("; your version is in {}", session.tip.short());
    }
    let changed: Vec<String> =
        git::status::of(git, &paths)?.into_iter().map(|entry| entry.path).collect();
    match record::repair::commit_derived(recorder, &session.tip, &changed, &lines)? {
        Recorded::Done(_) => Ok(lines),
        Recorded::Refused(why) => {
            git::put_back::restore_paths(git, &session.tip, &changed)?;
            Err(Error::repository(why.to_string())
                .hint("undo your commit of the JSON yourself, then run the command again")
                .into())
        }
    }
}

/// The commit whose JSON is not a person's edit: git-cowork's newest one, or the tip if it contains
/// a merge since then.
fn since(git: &Git, session: &Session) -> Result<Oid> {
    let Some(newest) = session.history.last().map(|entry| &entry.commit) else {
        return Ok(session.tip.clone());
    };
    let later =
        git.reader().walk(std::slice::from_ref(&session.tip), std::slice::from_ref(newest))?;
    let is_merged = later.iter().any(|commit| commit.parents.len() > 1);
    Ok(if is_merged { session.tip.clone() } else { newest.clone() })
}

/// The JSON files that a person edited.
struct Edits(Vec<EditedJson>);

impl Edits {
    /// Finds them; `None` if there are none.
    fn find(git: &Git, session: &Session, recorder: &Recorder<'_>) -> Result<Option<Self>> {
        let paths = RECORDS.map(|artifact| artifact_path(&session.name, artifact));
        let now = git::blobs::hash_files(git, &paths, Store::No)?;
        let then = git::snapshot::blob_ids(git, &since(git, session)?, &paths)?;
        let written = recorder.workspace.written();
        let mut candidates = Vec::new();
        for ((artifact, path), (now, then)) in
            RECORDS.into_iter().zip(&paths).zip(now.iter().zip(then))
        {
            if now.is_none() || *now == then || written.is_as_written(path) {
                continue;
            }
            // What cannot be read is restored by others.
            let bytes = std::fs::read(git.top().join(path)).unwrap_or_default();
            if unreadable(artifact, &bytes).is_none() {
                candidates.push(artifact);
            }
        }
        if candidates.is_empty() {
            return Ok(None);
        }
        let found = with_ledger(git, session, recorder, |ledger| ledger.edited_json(&candidates))?;
        Ok((!found.is_empty()).then_some(Self(found)))
    }

    /// Writes the JSON again. Returns a sentence for each file, and notes about the documents.
    fn undo(&self, git: &Git, session: &Session, recorder: &Recorder<'_>) -> Result<Vec<String>> {
        let settled = with_ledger(git, session, recorder, |ledger| {
            ledger.put_back(&self.0)?;
            ledger.settle(Writer::Person)
        })?;
        let lines = self.0.iter().map(|one| {
            let (file, document) = (one.artifact.file_name(), one.document.artifact().file_name());
            let ids = one.ids.join(", ");
            format!("{file} is generated, so the edit of {ids} in it is put back; edit {document} instead")
        });
        Ok(lines.chain(settled.notes).collect())
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|one| one.artifact.file_name()).collect();
        names.join(", ")
    }
}

fn with_ledger<T>(
    git: &Git,
    session: &Session,
    recorder: &Recorder<'_>,
    act: impl FnOnce(&Ledger<'_>) -> Result<T>,
) -> Result<T> {
    let folder = session.name.artifact_dir();
    let files = recorder.workspace.session_files(folder.clone(), folder);
    let (recorded, history) = (recorded_files(git, session)?, KnownRecords::read(git, session)?);
    act(&Ledger { files: &files, recorded: &recorded, history: &history })
}
