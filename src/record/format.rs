//! The commit that raises a session's format: `session.json` anew, and nothing else.

use std::path::Path;

use anyhow::Context as _;

use super::{Recorded, Recorder, point};
use crate::git::{Oid, Store};
use crate::session::Message;

impl Recorder<'_> {
    /// Writes `session.json` anew, as `text`, in a commit of its own. `None` when a person has
    /// uncommitted edits there: nothing is written then.
    ///
    /// # Errors
    /// HEAD is elsewhere, the file cannot be written, git fails.
    pub fn raise_format(
        &self,
        tip: &Oid,
        path: &str,
        text: &str,
        (from, to): (&str, &str),
    ) -> anyhow::Result<Option<Recorded>> {
        self.expect_tip(tip)?;
        let full = self.git.top().join(path);
        let paths = [path.to_owned()];
        let there = self.git.hash_files(&paths, Store::No)?;
        // What a run that was killed here has written is not a person's.
        let ours = std::fs::read(&full).is_ok_and(|bytes| bytes == text.as_bytes());
        if !ours && (there != self.git.blob_ids(tip, &paths)? || self.git.is_uncommitted(path)?) {
            return Ok(None);
        }
        write(&full, text)?;
        point("format.before-commit");
        let message = Message {
            subject: self.subject("session", &format!("format {from} -> {to}")),
            body: format!("{path} as programs of format {to} read and write it."),
            // It completes nothing, and is no event of the session either.
            trailers: self.base_trailers(),
        };
        let recorded = self.commit(tip, &paths, &message);
        if !matches!(recorded, Ok(Recorded::Done(_))) && self.expect_tip(tip).is_ok() {
            self.git.restore_paths(tip, &paths)?;
        }
        point("format.after-commit");
        recorded.map(Some)
    }
}

/// Whole or not at all, for a run may be killed. A name with a dot is nobody's document.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let new = path.with_file_name(".session.json.new");
    std::fs::write(&new, text).with_context(|| format!("writing {}", new.display()))?;
    std::fs::rename(&new, path).with_context(|| format!("writing {}", path.display()))
}
