//! The commit that raises a session's format: it rewrites `session.json` and nothing else.

use std::path::Path;

use anyhow::Context as _;

use super::{Recorded, Recorder, commit, point};
use crate::git::{self, Oid, Store};
use crate::session::Message;

/// Rewrites `session.json` as `text` in a separate commit. `None` if a person has uncommitted edits
/// there: nothing is written then.
///
/// # Errors
/// HEAD is elsewhere, the file cannot be written, or git fails.
pub fn raise(
    recorder: &Recorder<'_>,
    tip: &Oid,
    path: &str,
    text: &str,
    (from, to): (&str, &str),
) -> anyhow::Result<Option<Recorded>> {
    recorder.expect_tip(tip)?;
    let full = recorder.git.top().join(path);
    let paths = [path.to_owned()];
    let there = git::blobs::hash_files(recorder.git, &paths, Store::No)?;
    // Content written here by a killed run is not a person's.
    let ours = std::fs::read(&full).is_ok_and(|bytes| bytes == text.as_bytes());
    if !ours
        && (there != git::snapshot::blob_ids(recorder.git, tip, &paths)?
            || git::status::is_uncommitted(recorder.git, path)?)
    {
        return Ok(None);
    }
    write(&full, text)?;
    point("format.before-commit");
    let message = Message {
        subject: recorder.project.subject_for("session", &format!("format {from} -> {to}")),
        body: format!("Convert {path} to format {to}."),
        // It completes nothing, and is not an event of the session either.
        trailers: recorder.base_trailers(),
    };
    let recorded = commit::commit(recorder, tip, &paths, &message);
    if !matches!(recorded, Ok(Recorded::Done(_))) && recorder.expect_tip(tip).is_ok() {
        git::put_back::restore_paths(recorder.git, tip, &paths)?;
    }
    point("format.after-commit");
    recorded.map(Some)
}

/// Writes the whole file or nothing, because a run may be killed. The temporary file's name begins
/// with a dot, so that it is not taken for a document.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let new = path.with_file_name(".session.json.new");
    std::fs::write(&new, text).with_context(|| format!("writing {}", new.display()))?;
    std::fs::rename(&new, path).with_context(|| format!("writing {}", path.display()))
}
