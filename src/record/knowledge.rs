//! What a person decided about facts that sessions propose: one commit, with `.cowork/knowledge.md` where
//! that changes.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::{Recorded, Recorder, commit, point};
use crate::artifact::knowledge::KNOWLEDGE;
use crate::git::{self, Oid, Store};
use crate::session::{DROPPED, KNOWLEDGE_EVENT, Message, TAKEN, key};

/// What git does with files of ours.
pub const ATTRIBUTES: &str = ".cowork/.gitattributes";
/// What it does from the first session on.
pub const ATTRIBUTES_TEXT: &str = "*.json linguist-generated\nknowledge.md merge=union\n";
/// Facts that two sessions add are both kept.
const MERGE: &str = "knowledge.md merge=union";
/// The note in the session's room about files that are written and not committed.
const NOTE: &str = "knowledge.json";

/// A decision.
#[derive(Clone, Debug, Default)]
pub struct KnowledgeDecision {
    /// The file from now on, where it changes.
    pub text: Option<String>,
    /// Facts that were taken: added, or taken out.
    pub taken: Vec<String>,
    /// Facts that were not.
    pub dropped: Vec<String>,
}

/// Files that were written for a commit on this tip.
#[derive(Serialize, Deserialize)]
struct Unfinished {
    tip: String,
    files: Vec<(String, String)>,
}

/// Records a decision.
///
/// # Errors
/// HEAD is elsewhere, a file cannot be written, git fails. Nothing is left behind then.
pub fn decide(
    recorder: &Recorder<'_>,
    tip: &Oid,
    decision: &KnowledgeDecision,
) -> anyhow::Result<Recorded> {
    recorder.expect_tip(tip)?;
    let mut files = Vec::new();
    if let Some(text) = &decision.text {
        files.push((KNOWLEDGE.to_owned(), text.clone()));
        files.extend(attributes(recorder, tip)?.map(|text| (ATTRIBUTES.to_owned(), text)));
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
    let subject = recorder.subject("knowledge", &summary);
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

/// Takes back what a decision has written that was not committed on this tip: it is asked for again.
///
/// # Errors
/// Git fails.
pub fn take_back(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<()> {
    // Half a note is none: the files are written after it.
    let note: Option<Unfinished> = recorder.state.note(NOTE).ok().flatten();
    let Some(note) = note else { return Ok(()) };
    if note.tip == tip.as_str() && recorder.expect_tip(tip).is_ok() {
        let top = recorder.git.top();
        // Anything else that lies there is a person's.
        let ours = |(path, text): &&(String, String)| {
            is_regular(&top.join(path))
                && fs::read(top.join(path)).is_ok_and(|now| now == text.as_bytes())
        };
        let paths: Vec<&String> = note.files.iter().filter(ours).map(|(path, _)| path).collect();
        git::put_back::restore_paths(recorder.git, tip, &paths)?;
    }
    recorder.state.set_note::<Unfinished>(NOTE, None)
}

/// Whether the working tree has of these files what the tip has, so that a decision may write them.
///
/// # Errors
/// Git fails.
pub fn may_write(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<bool> {
    let paths = [KNOWLEDGE, ATTRIBUTES];
    let top = recorder.git.top();
    let real = fs::symlink_metadata(top.join(".cowork")).is_ok_and(|folder| folder.is_dir());
    // A pipe in its place would never end.
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

/// The attributes with ours, where the tip lacks it.
fn attributes(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<Option<String>> {
    let bytes = recorder.git.reader().blob(git::Object::At(tip, ATTRIBUTES))?;
    let Some(bytes) = bytes else { return Ok(Some(ATTRIBUTES_TEXT.to_owned())) };
    let Ok(mut text) = String::from_utf8(bytes) else { return Ok(None) };
    if text.lines().any(|line| line.trim_start().starts_with("knowledge.md ")) {
        return Ok(None);
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(Some(format!("{text}{MERGE}\n")))
}

fn write_all(recorder: &Recorder<'_>, note: &Unfinished) -> anyhow::Result<()> {
    for (path, text) in &note.files {
        let full = recorder.git.top().join(path);
        let name = full.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Whole or not at all, for a run may be killed. A name with a dot is nobody's document.
        let new = full.with_file_name(format!(".{name}.new"));
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &full));
        written.with_context(|| format!("writing {}", full.display()))?;
    }
    Ok(())
}

fn is_regular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_file())
}
