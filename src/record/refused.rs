//! Drafts without what must not be committed, such as a key: git's objects can be pushed, copied and
//! packed, and nobody finds a blob again. A draft has a text without the secret in its place; the
//! bytes lie in the session's state directory and come back with the draft.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{Leak, Recorder, leaks};
use crate::git::{self, Oid};
use crate::replace_file::replace_file;

/// The folder in the state directory: a file for each blob that has a text without the secret. Only
/// its owner can enter it.
const FOLDER: &str = "refused";

impl Recorder<'_> {
    /// The tree that a commit would have now, without what must not be committed.
    pub fn tree(&self, tip: &Oid) -> Result<Oid> {
        tree(self, tip, &self.changes()?)
    }

    /// True when there is something to commit on top of `tip`.
    pub fn differs_from(&self, tip: &Oid) -> Result<bool> {
        Ok(git::snapshot::tree_of(self.git, tip.as_str())?.as_ref() != Some(&self.tree(tip)?))
    }
}

/// The tree that a commit of these paths would have, without refused content.
pub(super) fn tree(recorder: &Recorder<'_>, tip: &Oid, paths: &[String]) -> Result<Oid> {
    let git = recorder.git;
    let refused = leaks::files_with_any(recorder, tip, paths)?;
    if refused.is_empty() {
        return git::snapshot::tree(git, tip, paths);
    }
    let others: Vec<&String> = paths.iter().filter(|path| !refused.contains_key(*path)).collect();
    let tree = git::snapshot::tree(git, tip, &others)?;
    let replaced = |(path, leak): (&String, &Leak)| {
        let full = git.top().join(path);
        let kept = fs::read(&full).map_err(anyhow::Error::from);
        let kept = kept.and_then(|bytes| keep(recorder, &bytes, leak, is_program(&full)));
        Ok((path.clone(), kept.with_context(|| format!("saving {path}"))?))
    };
    let replaced: Result<Vec<(String, Oid)>> = refused.iter().map(replaced).collect();
    git::snapshot::tree_with(git, &tree, &replaced?)
}

/// Restores files of a draft in the working tree, with their refused content.
///
/// # Errors
/// Git fails, or a file cannot be written.
pub fn restore_worktree(recorder: &Recorder<'_>, draft: &Oid, paths: &[String]) -> Result<()> {
    git::put_back::restore_worktree(recorder.git, draft, paths)?;
    let folder = folder(recorder);
    if !folder.exists() {
        return Ok(());
    }
    for (path, blob) in paths.iter().zip(git::snapshot::blob_ids(recorder.git, draft, paths)?) {
        let Some(blob) = blob else { continue };
        let copy = folder.join(blob.as_str());
        if let Ok(content) = fs::read(&copy) {
            let mode = if is_program(&copy) { 0o755 } else { 0o644 };
            recorder.workspace.written().put_back(path, &content, mode)?;
        }
    }
    Ok(())
}

/// The blob of a document for a draft.
pub(super) fn store(recorder: &Recorder<'_>, path: &str, text: &str) -> Result<Oid> {
    match recorder.workspace.secrets().find(text.as_bytes(), 1)?.pop() {
        None => git::made::store_blob(recorder.git, text),
        Some(found) => {
            let (path, line, kind) = (path.to_owned(), found.line, found.kind);
            keep(recorder, text.as_bytes(), &Leak::Secret { path, line, kind }, false)
        }
    }
}

/// True if a file has the content in whose place a draft has this blob.
pub(super) fn is_there(recorder: &Recorder<'_>, path: &str, blob: &Oid) -> bool {
    let kept = fs::read(folder(recorder).join(blob.as_str()));
    kept.is_ok_and(|kept| fs::read(recorder.git.top().join(path)).is_ok_and(|now| now == kept))
}

/// Saves content in the state directory, and returns the blob of the text in its place.
fn keep(recorder: &Recorder<'_>, bytes: &[u8], leak: &Leak, is_program: bool) -> Result<Oid> {
    let blob = git::made::store_blob(recorder.git, without(recorder, bytes, leak)?)?;
    let folder = folder(recorder);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder)?;
    let copy = folder.join(blob.as_str());
    // Like every temporary file, one that only its owner can read.
    replace_file(&copy, bytes)?;
    #[cfg(unix)]
    if is_program {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o700))?;
    }
    Ok(blob)
}

/// A text without what must not be committed.
fn without(recorder: &Recorder<'_>, bytes: &[u8], leak: &Leak) -> Result<Vec<u8>> {
    let secrets = recorder.workspace.secrets();
    if let (Leak::Secret { .. }, Ok(text)) = (leak, str::from_utf8(bytes)) {
        let text = secrets.blanked(text);
        if secrets.find(text.as_bytes(), 1)?.is_empty() {
            return Ok(text.into_owned().into());
        }
    }
    Ok(format!("not recorded: {leak}\n").into())
}

fn folder(recorder: &Recorder<'_>) -> PathBuf {
    recorder.state.path().join(FOLDER)
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::symlink_metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_program(_file: &Path) -> bool {
    false
}
