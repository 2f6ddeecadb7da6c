//! Approving and editing at a gate: the approved bytes are those shown, or those the person saved.

use std::path::PathBuf;

use anyhow::Result;

use crate::gate::clean::clean_line;
use crate::gate::editor::EditResult;
use crate::gate::menu::{failed, say};
use crate::gate::terminal::Terminal;
use crate::gate::{Actor, AfterEdit, Decision, Draft, Gate, comments, screen};

/// The files' contents when the person was told that they differ from those shown.
pub(super) type Announced = Option<Vec<Vec<u8>>>;

/// Approves the draft as shown. If files on disk have changed since it was shown, names them first;
/// a second `p` then approves them as the person's edit.
pub(super) fn pass(
    gate: &Gate<'_>,
    draft: &Draft<'_>,
    announced: &mut Announced,
) -> Result<Option<Decision>> {
    let Some(now) = read(gate.terminal, draft)? else { return Ok(None) };
    let differing = differing(draft, &now, &[]);
    if differing.is_empty() {
        return Ok(Some(Decision::Pass));
    }
    if announced.as_ref() == Some(&now) {
        return Ok(Some(Decision::Edited));
    }
    *announced = Some(now);
    gate.terminal.discard_typed();
    let changed = format!("not passed yet: {differing} changed on disk after the draft was shown");
    say(gate.terminal, &changed)?;
    say(gate.terminal, "press e to open the editor, or p again to pass the draft as it is now")?;
    Ok(None)
}

/// Opens files in the editor. Saving changes decides on the draft, unless other files changed
/// meanwhile.
pub(super) fn edit(
    gate: &Gate<'_>,
    draft: &Draft<'_>,
    files: &[PathBuf],
    announced: &mut Announced,
) -> Result<Option<Decision>> {
    let terminal = gate.terminal;
    if files.is_empty() {
        say(terminal, "there is no document to edit here; press f to request changes")?;
        return Ok(None);
    }
    let mut changed: Vec<PathBuf> = Vec::new();
    let now = loop {
        match gate.editor.open(files) {
            Ok(EditResult::Changed(now)) => {
                changed.extend(now);
                changed.sort();
                changed.dedup();
            }
            Ok(EditResult::Unchanged) if changed.is_empty() => {
                say(terminal, "nothing was changed; p passes the draft as it is")?;
                return Ok(None);
            }
            Ok(EditResult::Unchanged) => {}
            Err(error) => {
                failed(terminal, &error)?;
                return Ok(None);
            }
        }
        let Some(now) = read(terminal, draft)? else { return Ok(None) };
        // Comments lead to another draft, so this one need not pass the checks.
        let broken = (draft.broken)(count_comments(gate, draft, &now) == 0)?;
        if broken.lines.is_empty() {
            break now;
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
    let names = names.join(", ");
    let others = differing(draft, &now, files);
    if !others.is_empty() {
        *announced = Some(now);
        terminal.discard_typed();
        say(terminal, &format!("saved {names}, but {others} also changed on disk"))?;
        say(terminal, "p passes everything as it is now")?;
        return Ok(None);
    }
    let follows = match count_comments(gate, draft, &now) {
        0 => "passing your version".to_owned(),
        1 => "your comment goes to the actor".to_owned(),
        n => format!("your {n} comments go to the actor"),
    };
    say(terminal, &format!("saved {names}: {follows}"))?;
    Ok(Some(Decision::Edited))
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

/// Names of documents that differ from those shown, except those the person just edited.
fn differing(draft: &Draft<'_>, now: &[Vec<u8>], but: &[PathBuf]) -> String {
    let names: Vec<_> = draft
        .documents
        .iter()
        .zip(now)
        .filter(|(document, now)| *now != document.text.as_bytes() && !but.contains(&document.path))
        .map(|(document, _)| clean_line(&document.name))
        .collect();
    names.join(", ")
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

/// Opens the changed files; saved changes are checked and shown again.
pub(super) fn edit_code(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<Option<Decision>> {
    let files: Vec<_> = draft.code.iter().filter(|path| path.is_file()).cloned().collect();
    if files.is_empty() {
        say(gate.terminal, "there is no changed file to edit; press d for the diff")?;
        return Ok(None);
    }
    match gate.editor.open(&files) {
        Ok(EditResult::Changed(now)) => {
            let names: Vec<_> =
                now.iter().map(|path| screen::shown_path(path, &gate.editor.cwd)).collect();
            say(
                gate.terminal,
                &format!("saved {}: it is checked and shown again", names.join(", ")),
            )?;
            Ok(Some(Decision::Look))
        }
        Ok(EditResult::Unchanged) => {
            say(gate.terminal, "nothing was changed; p passes the draft as it is")?;
            Ok(None)
        }
        Err(error) => {
            failed(gate.terminal, &error)?;
            Ok(None)
        }
    }
}
