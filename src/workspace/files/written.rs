//! The files that tools wrote, according to the journal; detects later changes to them.

use anyhow::Context as _;

use crate::workspace::journal::Written;
use crate::workspace::working_tree::WorkingTree;

/// The files that tools wrote since the journal was last cleared.
pub struct WrittenFiles<'a>(&'a WorkingTree);

impl WorkingTree {
    /// The files that tools wrote.
    pub(crate) fn written(&self) -> WrittenFiles<'_> {
        WrittenFiles(self)
    }
}

impl WrittenFiles<'_> {
    /// Returns the journal's entries, by path.
    pub fn entries(&self) -> Vec<Written> {
        self.0.journal.borrow().entries().cloned().collect()
    }

    /// Writes a tool's file as it was, with this mode.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put_back(&self, path: &str, content: &[u8], mode: u32) -> std::io::Result<()> {
        self.0.put_as(path, content, mode)
    }

    /// The paths of [`Self::entries`], sorted.
    pub fn paths(&self) -> Vec<String> {
        self.0.journal.borrow().entries().map(|w| w.path.clone()).collect()
    }

    /// True if a file has the content that a tool last wrote, or the content before that write,
    /// which may have been interrupted. False for a path no tool wrote.
    pub fn is_as_written(&self, path: &str) -> bool {
        let journal = self.0.journal.borrow();
        let Some(written) = journal.get(path) else {
            return false;
        };
        self.0.fingerprint(path).is_ok_and(|found| found == written.now || found == written.before)
    }

    /// Records the current content of these files as written by tools, after a draft was restored.
    pub fn adopt(&self, paths: &[String]) -> anyhow::Result<()> {
        let mut entries = Vec::new();
        for path in paths {
            let now = self.0.fingerprint(path).with_context(|| format!("reading {path}"))?;
            entries.push(Written { path: path.clone(), before: now.clone(), now });
        }
        self.0.journal.borrow_mut().note_all(entries)
    }

    /// Removes these paths from the journal, after they were committed or restored.
    pub fn forget(&self, paths: &[String]) -> anyhow::Result<()> {
        self.0.journal.borrow_mut().retain(|path| !paths.iter().any(|p| p == path))
    }

    /// Removes all paths but these from the journal.
    pub fn forget_all_but(&self, paths: &[String]) -> anyhow::Result<()> {
        self.0.journal.borrow_mut().retain(|path| paths.iter().any(|p| p == path))
    }

    /// Clears the journal.
    pub fn clear(&self) -> anyhow::Result<()> {
        self.0.journal.borrow_mut().retain(|_| false)
    }
}
