//! Approving and editing at a gate: the approved bytes are those shown. What a person edited is
//! shown before it can be approved.

use std::path::PathBuf;

use anyhow::Result;

use crate::gate::clean::clean_line;
use crate::gate::editor::EditResult;
use crate::gate::menu::{failed, say};
use crate::gate::terminal::Terminal;
use crate::gate::{Actor, AfterEdit, Decision, Draft, Gate, comments, screen};

/// Approves the draft as shown. If files on disk have changed since then, they are shown first.
pub(super) fn pass(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<Option<Decision>> {
    let Some(now) = read(gate.terminal, draft)? else { return Ok(None) };
    let documents = draft.documents.iter().zip(&now);
    let differing: Vec<_> = documents
        .filter(|(document, now)| *now != document.text.as_bytes())
        .map(|(document, _)| clean_line(&document.name))
        .collect();
    if differing.is_empty() {
        return Ok(Some(Decision::Pass));
    }
    let differing = differing.join(", ");
    let changed = format!("not passed: {differing} changed on disk after the draft was shown");
    saved(gate.terminal, &changed, count_comments(gate, draft, &now)).map(Some)
}

/// Opens files in the editor. Saved changes are checked and shown; comments in them go to the actor.
pub(super) fn edit(
    gate: &Gate<'_>,
    draft: &Draft<'_>,
    files: &[PathBuf],
) -> Result<Option<Decision>> {
    let terminal = gate.terminal;
    if files.is_empty() {
        say(terminal, "there is no file to edit here; press f to request changes")?;
        return Ok(None);
    }
    let mut changed: Vec<PathBuf> = Vec::new();
    let comments = loop {
        match gate.editor.open(files) {
            Ok(EditResult::Changed(now)) => {
                changed.extend(now);
                changed.sort();
                changed.dedup();
            }
            Ok(EditResult::Unchanged) if changed.is_empty() => {
                let pass = if draft.can_pass { "; p passes the draft as it is" } else { "" };
                say(terminal, &format!("nothing was changed{pass}"))?;
                return Ok(None);
            }
            Ok(EditResult::Unchanged) => {}
            Err(error) => {
                failed(terminal, &error)?;
                return Ok(None);
            }
        }
        let Some(now) = read(terminal, draft)? else { return Ok(None) };
        let comments = count_comments(gate, draft, &now);
        // Comments lead to another draft, so this one need not pass the checks.
        let broken = (draft.broken)(comments == 0)?;
        if broken.lines.is_empty() {
            break comments;
        }
        match gate.broken(&broken, draft.actor != Actor::Absent)? {
            AfterEdit::EditAgain => {}
            AfterEdit::TakeBack => return Ok(Some(Decision::TakeBack)),
            AfterEdit::HandOver => return Ok(Some(Decision::HandOver)),
            AfterEdit::Leave => return Ok(Some(Decision::Stop)),
        }
    };
    let names: Vec<_> =
        changed.iter().map(|path| screen::shown_path(path, &gate.editor.cwd)).collect();
    saved(terminal, &format!("saved {}", names.join(", ")), comments).map(Some)
}

/// Says what changed in the files and what follows from it.
fn saved(terminal: &dyn Terminal, changed: &str, comments: usize) -> Result<Decision> {
    let (follows, decision) = match comments {
        0 => ("it is checked and shown again".to_owned(), Decision::Look),
        1 => ("your comment goes to the actor".to_owned(), Decision::Commented),
        n => (format!("your {n} comments go to the actor"), Decision::Commented),
    };
    say(terminal, &format!("{changed}: {follows}"))?;
    Ok(decision)
}

/// The documents' contents on disk; `None` after an error message if one cannot be read.
fn read(terminal: &dyn Terminal, draft: &Draft<'_>) -> Result<Option<Vec<Vec<u8>>>> {
    let mut now = Vec::with_capacity(draft.documents.len());
    for document in &draft.documents {
        match std::fs::read(&document.path) {
            Ok(bytes) => now.push(bytes),
            Err(error) => {
                let name = clean_line(&document.name);
                say(terminal, &format!("not passed: {name} cannot be read: {error}"))?;
                return Ok(None);
            }
        }
    }
    Ok(Some(now))
}

/// Names of the documents with edits by the person: known ones, and those that differ on disk from
/// those shown.
pub(super) fn edited(draft: &Draft<'_>) -> Option<String> {
    let mut names = draft.edited.clone().into_iter().collect::<Vec<_>>();
    for document in &draft.documents {
        let now = std::fs::read(&document.path);
        if names.is_empty() && now.is_ok_and(|now| now != document.text.as_bytes()) {
            names.push(clean_line(&document.name));
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// Counts the person's comments.
fn count_comments(gate: &Gate<'_>, draft: &Draft<'_>, now: &[Vec<u8>]) -> usize {
    let documents = draft.documents.iter().zip(now);
    documents
        .map(|(document, now)| {
            let now = String::from_utf8_lossy(now);
            comments::take(&now, &document.text, gate.comment_prefix).comments.len()
        })
        .sum()
}
