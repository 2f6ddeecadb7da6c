//! Changes to files: atomic, and recorded in the journal first.

use std::io::ErrorKind;

use cap_std::fs::Metadata;

use crate::activity::Activity;
use crate::line_count::changed_lines;
use crate::workspace::edit::apply::{self, Edit};
use crate::workspace::edit::placeholder;
use crate::workspace::files::git_control_files;
use crate::workspace::files::guard::{self, Purpose};
use crate::workspace::files::portable;
use crate::workspace::files::read;
use crate::workspace::journal::Fingerprint;
use crate::workspace::read_tracker::SMALL;
use crate::workspace::refusal::Refusal;
use crate::workspace::user_files::{UserFileChange, UserFileChangeKind};
use crate::workspace::working_tree::WHOLE_FILE_MAX;
use crate::workspace::working_tree::WorkingTree;

/// Advice in the refusal to write a directory.
const WRITES: &str = "give the path of a file in it; list_files shows what is there";
/// Advice in the refusal to delete a directory.
const DELETES: &str =
    "delete its files one by one (list_files shows them); git keeps no empty directories";

/// The effect of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Created,
    Replaced,
    Unchanged,
}

/// Replaces a file's content, or creates the file and its directories. The file's line endings,
/// byte-order mark and final newline are preserved. Returns the resolved path, and the answer.
pub(crate) fn write(
    tree: &WorkingTree,
    path: &str,
    content: &str,
) -> Result<(String, String), Refusal> {
    let path = guard::resolve_new(tree, path, Purpose::Change)?;
    let found = file_at(tree, &path, WRITES)?;
    guard::refuse_protected(tree, &path, found.is_some())?;
    // Looked at again: a person may have made the file in the meantime.
    let old = tree.bytes_if_there(&path)?;
    let old_text = old.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    placeholder::refuse(content, old_text.unwrap_or_default())?;
    let content = apply::in_style_of(old_text.unwrap_or_default(), content);
    if let Some(old) = old.as_deref().filter(|old| *old != content.as_bytes()) {
        tree.read_tracker.refuse_unseen(&tree.journal.borrow(), &path, old)?;
    }
    if old.as_deref() != Some(content.as_bytes()) {
        git_control_files::leave_to_person(tree, &path, Some(content.as_bytes()))?;
    }
    if old.is_none() {
        portable::refuse(&path)?;
    }
    let effect = replace(tree, &path, content.as_bytes(), old.as_deref())?;
    tree.read_tracker.note_wrote(&path, content.as_bytes(), true);
    let lines = content.lines().count();
    let was = old_text.map_or(0, |text| text.lines().count());
    let answer = match effect {
        Effect::Created => format!("created {path} ({lines} lines)"),
        Effect::Replaced if was > SMALL => format!(
            "wrote {path} ({lines} lines, {was} before); to change a part of such a long \
             file, edit_file is cheaper"
        ),
        Effect::Replaced => format!("wrote {path} ({lines} lines)"),
        Effect::Unchanged => format!("unchanged: {path} already has exactly this content"),
    };
    Ok((path, answer))
}

/// Replaces passages of a file: all of them, or none. Returns the resolved path, and the answer.
pub(crate) fn edit(
    tree: &WorkingTree,
    path: &str,
    edits: &[Edit],
) -> Result<(String, String), Refusal> {
    let path = guard::resolve(tree, path, Purpose::Change)?;
    let found = file_at(tree, &path, WRITES)?;
    guard::refuse_protected(tree, &path, found.is_some())?;
    let bytes = tree.bytes_if_there(&path)?;
    let bytes = bytes.ok_or_else(|| Refusal::failed(format!("{path} does not exist")))?;
    // Edits apply to the version that waits for a person, if there is one.
    let text = git_control_files::proposed_content(tree, &path).unwrap_or_else(|| bytes.clone());
    let text = std::str::from_utf8(&text).map_err(|_| read::not_utf8(&path, None))?;
    // Checked first: a stale view explains why an edit does not match.
    tree.read_tracker.refuse_stale(
        &tree.journal.borrow(),
        &path,
        Some(&Fingerprint::of(&bytes)),
    )?;
    let edited = apply::apply(&path, text, edits)?;
    git_control_files::leave_to_person(tree, &path, Some(edited.text.as_bytes()))?;
    replace(tree, &path, edited.text.as_bytes(), Some(&bytes))?;
    tree.read_tracker.note_wrote(&path, edited.text.as_bytes(), false);
    Ok((path, edited.summary))
}

/// Deletes a file, or a symbolic link itself; never a directory.
pub(crate) fn delete(tree: &WorkingTree, path: &str) -> Result<String, Refusal> {
    let path = guard::resolve_entry(tree, path, Purpose::Change)?;
    let found = file_at(tree, &path, DELETES)?;
    guard::refuse_protected(tree, &path, found.is_some())?;
    let metadata = found.ok_or_else(|| Refusal::failed(format!("{path} does not exist")))?;
    if !metadata.is_file() && !metadata.is_symlink() {
        return Err(Refusal::guard(format!("Security: {path} is not a regular file")));
    }
    let before =
        tree.fingerprint(&path).map_err(|error| tree.io_errors.failed("reading", &path, error))?;
    tree.read_tracker.refuse_stale(&tree.journal.borrow(), &path, before.as_ref())?;
    git_control_files::leave_to_person(tree, &path, None)?;
    tree.note(&path, None, before)?;
    tree.unlink(&path).map_err(|error| tree.io_errors.failed("deleting", &path, error))?;
    tree.read_tracker.note_deleted(&path);
    Ok(format!("deleted {path}"))
}

/// What is at the path, if anything. Refuses a directory; called before the check for protected
/// paths, so that this refusal comes first.
fn file_at(tree: &WorkingTree, path: &str, instead: &str) -> Result<Option<Metadata>, Refusal> {
    let look = tree.look(path);
    if path == "." || look.as_ref().is_ok_and(Metadata::is_dir) {
        return Err(Refusal::failed(format!("{path} is a directory, not a file; {instead}")));
    }
    match look {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(tree.io_errors.unreadable(path, error)),
    }
}

/// Records a write in the journal, then makes it. `path` is resolved, `old` is the current content.
pub(crate) fn replace(
    tree: &WorkingTree,
    path: &str,
    content: &[u8],
    old: Option<&[u8]>,
) -> Result<Effect, Refusal> {
    if content.len() as u64 > WHOLE_FILE_MAX {
        return Err(Refusal::failed(format!(
            "{path} would be larger than {} MiB",
            WHOLE_FILE_MAX >> 20
        )));
    }
    if old == Some(content) {
        return Ok(Effect::Unchanged);
    }
    if let Some(old) = old
        && path.starts_with(".cowork/")
        && guard::is_persons_edit(tree, path)
    {
        set_aside(tree, path, old)
            .map_err(|error| tree.io_errors.failed("copying", path, error))?;
    }
    tree.note(path, Some(Fingerprint::of(content)), old.map(Fingerprint::of))?;
    tree.put(path, content, old.is_some())
        .map_err(|error| tree.io_errors.failed("writing", path, error))?;
    if let Some(watch) = &tree.watch {
        let (added, removed) = changed_lines(old.unwrap_or_default(), content);
        watch(Activity::Changed { path: path.to_owned(), added, removed });
    }
    Ok(if old.is_some() { Effect::Replaced } else { Effect::Created })
}

/// Saves a person's version of a document that is about to be replaced.
fn set_aside(tree: &WorkingTree, path: &str, old: &[u8]) -> std::io::Result<()> {
    let copy = tree.copy_of(path, &Fingerprint::of(old));
    if !copy.exists() {
        std::fs::create_dir_all(copy.parent().unwrap_or(&tree.state_dir))?;
        std::fs::write(&copy, old)?;
        let (path, kind) = (path.to_owned(), UserFileChangeKind::Replaced(copy));
        tree.user_file_changes.borrow_mut().push(UserFileChange { path, kind });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
