//! Copies changes of a linked working tree to the session's own, like a tool's write: with the same
//! refusals, and recorded in the journal first.

use super::changed::{NowThere, is_executable};
use crate::activity::Activity;
use crate::line_count::changed_lines;
use crate::path_text::decoded;
use crate::secret::Secrets;
use crate::workspace::effects::repositories;
use crate::workspace::files::git_control_files;
use crate::workspace::files::guard::{self, Purpose};
use crate::workspace::files::{portable, write};
use crate::workspace::journal::Fingerprint;
use crate::workspace::refusal::Refusal;
use crate::workspace::working_tree::WorkingTree;

pub(super) fn take_over(
    tree: &WorkingTree,
    secrets: &Secrets,
    (path, is_new): (&str, bool),
    now: &NowThere,
) -> Result<bool, Refusal> {
    match now {
        NowThere::Gone if tree.look(path).is_err() => Ok(false),
        NowThere::Gone => write::delete(tree, path).map(|_| true),
        NowThere::File { content, executable } => {
            if secrets.are_in(&String::from_utf8_lossy(content)) {
                return Err(Refusal::protected(format!(
                    "{path} contains a secret key. Keys are never written: read the key \
                     from an environment variable"
                )));
            }
            let path = guard::resolve_new(tree, path, Purpose::Change)?;
            let changed = take_file(tree, &path, is_new, (content, *executable))?;
            repositories::look_after_writing(tree, &path);
            Ok(changed)
        }
    }
}

fn take_file(
    tree: &WorkingTree,
    path: &str,
    is_new: bool,
    (content, executable): (&[u8], bool),
) -> Result<bool, Refusal> {
    clear_folder(tree, path);
    let there = tree.look(path).ok();
    if there.as_ref().is_some_and(cap_std::fs::Metadata::is_dir) {
        return Err(Refusal::failed(format!("{path} has become a directory in the tree")));
    }
    if !is_new && there.is_none() {
        return Err(Refusal::protected(format!("{path} was deleted in the meantime by the user")));
    }
    guard::refuse_protected(tree, path, there.is_some())?;
    let before =
        tree.fingerprint(path).map_err(|error| tree.io_errors.failed("reading", path, error))?;
    let after = Fingerprint::of(content);
    let was_executable = there.as_ref().is_some_and(is_executable);
    if before.as_ref() == Some(&after) && was_executable == executable {
        return Ok(false);
    }
    git_control_files::leave_to_person(tree, path, Some(content))?;
    if there.is_none() {
        portable::refuse(path)?;
    }
    let old = tree.bytes_if_there(path).ok().flatten();
    let same = before.as_ref() == Some(&after);
    tree.note(path, Some(after), before)?;
    let failed = |error| tree.io_errors.failed("writing", path, error);
    match was_executable == executable {
        true => tree.put(path, content, there.is_some()).map_err(failed)?,
        false => {
            tree.put_as(path, content, mode_with(there.as_ref(), executable)).map_err(failed)?
        }
    }
    if let Some(watch) = tree.watch.as_ref().filter(|_| !same) {
        let (added, removed) = changed_lines(old.as_deref().unwrap_or_default(), content);
        watch(Activity::Changed { path: path.to_owned(), added, removed });
    }
    Ok(true)
}

/// Removes a folder to be replaced by a file, if it contains nothing but empty folders.
fn clear_folder(tree: &WorkingTree, path: &str) {
    if !tree.look(path).is_ok_and(|found| found.is_dir()) {
        return;
    }
    let Ok((dir, name)) = tree.place(path) else { return };
    let entries = dir.open_dir(&name).and_then(|folder| folder.entries());
    for entry in entries.into_iter().flatten().flatten() {
        clear_folder(tree, &format!("{path}/{}", decoded(entry.file_name().as_encoded_bytes())));
    }
    // If anything else is in the folder, the removal fails and the folder stays.
    let _ = dir.remove_dir(name);
}

/// Returns the mode of a file with the executable bit set or cleared; never readable by more users
/// than before.
#[cfg(unix)]
fn mode_with(there: Option<&cap_std::fs::Metadata>, executable: bool) -> u32 {
    use cap_std::fs::PermissionsExt as _;
    let mode = there.map_or(0o644, |there| there.permissions().mode() & 0o777);
    if executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 }
}

#[cfg(not(unix))]
fn mode_with(_there: Option<&cap_std::fs::Metadata>, _executable: bool) -> u32 {
    0o644
}
