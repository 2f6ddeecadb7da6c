//! The project's files that a commit changed, with line counts.

use crate::git::{Git, Object, Oid, Reader, TreeChange};
use crate::line_count::changed_lines;
use crate::session::is_code;

/// Size in bytes above which a file's lines are not counted.
const LARGEST: usize = 1 << 20;

/// A file that a commit changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// Relative to the top of the working tree.
    pub path: String,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// The files outside `.cowork` that differ between two commits. Binary and very large files have no
/// line counts.
///
/// # Errors
/// Git cannot be read.
pub fn changed_files(git: &Git, from: &Oid, to: &Oid) -> anyhow::Result<Vec<ChangedFile>> {
    let reader = git.reader();
    let mut changes = reader.diff(Some(from), to)?;
    changes.retain(|change| is_code(&change.path));
    Ok(count_changes(reader.as_ref(), &changes).0)
}

/// The files of these changes, with their line counts; false if a file could not be read, so that
/// its lines are not counted.
pub(super) fn count_changes(
    reader: &dyn Reader,
    changes: &[TreeChange],
) -> (Vec<ChangedFile>, bool) {
    let mut all_read = true;
    let files = changes.iter().map(|change| counted(reader, change, &mut all_read)).collect();
    (files, all_read)
}

fn is_counted(bytes: &[u8]) -> bool {
    bytes.len() <= LARGEST && !bytes.contains(&0)
}

fn counted(reader: &dyn Reader, change: &TreeChange, all_read: &mut bool) -> ChangedFile {
    let mut text = |id: &Option<Oid>| {
        let Some(id) = id else { return Some(Vec::new()) };
        // In a partial clone, the blob may be elsewhere. A submodule's commit is not a blob.
        let bytes = reader.blob(Object::Id(id)).ok().flatten();
        *all_read &= bytes.is_some();
        bytes.filter(|bytes| is_counted(bytes))
    };
    let (added, removed) = match (text(&change.old), text(&change.new)) {
        (Some(before), Some(after)) => changed_lines(&before, &after),
        _ => (0, 0),
    };
    ChangedFile { path: change.path.clone(), added, removed }
}

/// Returns `store.py +42` or `2 files +42 −3`; empty if there are no files.
pub fn in_short(files: &[ChangedFile]) -> String {
    let what = match files {
        [] => return String::new(),
        [one] => one.path.rsplit('/').next().unwrap_or(&one.path).to_owned(),
        many => format!("{} files", many.len()),
    };
    let sum = |of: fn(&ChangedFile) -> usize| files.iter().map(of).sum::<usize>();
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    match (added, removed) {
        (0, 0) => what,
        (_, 0) => format!("{what} +{added}"),
        _ => format!("{what} +{added} −{removed}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_is_named_and_several_are_counted() {
        let file = |path: &str, added, removed| ChangedFile { path: path.into(), added, removed };
        assert_eq!(in_short(&[]), "");
        assert_eq!(in_short(&[file("lib/store.py", 42, 0)]), "store.py +42");
        assert_eq!(in_short(&[file("a.png", 0, 0)]), "a.png");
        assert_eq!(in_short(&[file("a", 2, 1), file("b", 3, 0)]), "2 files +5 −1");
    }
}
