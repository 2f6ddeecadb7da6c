//! A person's decision about facts that sessions propose: one commit, with `.cowork/knowledge.md`
//! if it changes.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::attributes::{self, ATTRIBUTES};
use super::{Recorded, Recorder, commit, point};
use crate::artifact::knowledge::KNOWLEDGE;
use crate::git::{self, Oid, Store};
use crate::session::{DROPPED, KNOWLEDGE_EVENT, Message, TAKEN, key};

/// The record in the state directory of files that are written but not committed.
const NOTE: &str = "knowledge.json";

/// A person's decision about proposed facts.
#[derive(Clone, Debug, Default)]
pub struct KnowledgeDecision {
    /// The new text of the file, if it changes.
    pub text: Option<String>,
    /// Accepted facts: added or removed.
    pub taken: Vec<String>,
    /// Rejected facts.
    pub dropped: Vec<String>,
}

/// Files that were written for a commit on this tip.
#[derive(Serialize, Deserialize)]
struct Unfinished {
    tip: String,
    files: Vec<(String, String)>,
}

/// Commits a decision.
///
/// # Errors
/// HEAD is elsewhere, a file cannot be written, or git fails. No file is left in these cases.
pub fn decide(
    recorder: &Recorder<'_>,
    tip: &Oid,
    decision: &KnowledgeDecision,
) -> anyhow::Result<Recorded> {
    recorder.expect_tip(tip)?;
    let mut files = Vec::new();
    if let Some(text) = &decision.text {
        files.push((KNOWLEDGE.to_owned(), text.clone()));
        let text = attributes::at_tip(recorder.git, tip)?;
        let line = attributes::with_union_merge(text);
        files.extend(line.map(|text| (ATTRIBUTES.to_owned(), text)));
    }
    let mut trailers = recorder.base_trailers();
    trailers.push(key::EVENT, KNOWLEDGE_EVENT);
    for (how, facts) in [(TAKEN, &decision.taken), (DROPPED, &decision.dropped)] {
        facts.iter().for_each(|fact| trailers.push(key::KNOWLEDGE, format!("{how} {fact}")));
    }
    let facts =
        |count: usize| if count == 1 { "1 fact".to_owned() } else { format!("{count} facts") };
    let summary =
        format!("{} taken, {} dropped", facts(decision.taken.len()), decision.dropped.len());
    let subject = recorder.project.subject_for("knowledge", &summary);
    let message = Message { subject, body: String::new(), trailers };
    let note = Unfinished { tip: tip.to_string(), files };
    recorder.state.set_note(NOTE, Some(&note))?;
    let paths: Vec<String> = note.files.iter().map(|(path, _)| path.clone()).collect();
    let recorded = write_all(recorder, &note).and_then(|()| {
        point("knowledge.before-commit");
        commit::commit(recorder, tip, &paths, &message)
    });
    point("knowledge.after-commit");
    take_back(recorder, tip)?;
    recorded
}

/// Undoes what a decision has written but not committed on this tip; the person is asked for the
/// decision again.
///
/// # Errors
/// Git fails.
pub fn take_back(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<()> {
    // An incomplete record counts as none: the files are written after it.
    let note: Option<Unfinished> = recorder.state.note(NOTE).ok().flatten();
    let Some(note) = note else { return Ok(()) };
    if note.tip == tip.as_str() && recorder.expect_tip(tip).is_ok() {
        let top = recorder.git.top();
        // Any other content is a person's.
        let ours = |(path, text): &&(String, String)| {
            is_regular(&top.join(path))
                && fs::read(top.join(path)).is_ok_and(|now| now == text.as_bytes())
        };
        let paths: Vec<&String> = note.files.iter().filter(ours).map(|(path, _)| path).collect();
        git::put_back::restore_paths(recorder.git, tip, &paths)?;
    }
    recorder.state.set_note::<Unfinished>(NOTE, None)
}

/// True if these files are the same in the working tree and in the tip, so that a decision may
/// write them.
///
/// # Errors
/// Git fails.
pub fn may_write(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<bool> {
    let paths = [KNOWLEDGE, ATTRIBUTES];
    let top = recorder.git.top();
    let real = fs::symlink_metadata(top.join(".cowork")).is_ok_and(|folder| folder.is_dir());
    // Reading a pipe in place of a file would never end.
    let regular = |path: &&str| match fs::symlink_metadata(top.join(path)) {
        Ok(there) => there.is_file(),
        Err(_) => true,
    };
    if !real || !paths.iter().all(regular) {
        return Ok(false);
    }
    let there = git::blobs::hash_files(recorder.git, &paths, Store::No)?;
    Ok(there == git::snapshot::blob_ids(recorder.git, tip, &paths)?)
}

fn write_all(recorder: &Recorder<'_>, note: &Unfinished) -> anyhow::Result<()> {
    for (path, text) in &note.files {
        let full = recorder.git.top().join(path);
        let name = full.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A killed run must not leave half a file, so the new text is written to another file that
        // then replaces the old one. Its name begins with a dot, so it is not taken for a document.
        let new = full.with_file_name(format!(".{name}.new"));
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &full));
        written.with_context(|| format!("writing {}", full.display()))?;
    }
    Ok(())
}

fn is_regular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_file())
}
