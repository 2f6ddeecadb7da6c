//! Files as tools wrote them: what the journal says of them, and whether they still lie so.

use anyhow::Context as _;

use crate::workspace::journal::Written;
use crate::workspace::working_tree::WorkingTree;

/// What tools wrote since the journal was last cleared.
pub struct WrittenFiles<'a>(&'a WorkingTree);

impl WorkingTree {
    /// What tools wrote.
    pub(crate) fn written(&self) -> WrittenFiles<'_> {
        WrittenFiles(self)
    }
}

impl WrittenFiles<'_> {
    /// Each of them, by path.
    pub fn entries(&self) -> Vec<Written> {
        self.0.journal.borrow().entries().cloned().collect()
    }

    /// The paths of [`Self::entries`], sorted.
    pub fn paths(&self) -> Vec<String> {
        self.0.journal.borrow().entries().map(|w| w.path.clone()).collect()
    }

    /// Whether a file is as a tool left it: what it wrote last, or what that write replaced, in
    /// case it never got through. False for a path no tool wrote.
    pub fn is_as_written(&self, path: &str) -> bool {
        let journal = self.0.journal.borrow();
        let Some(written) = journal.get(path) else {
            return false;
        };
        self.0.fingerprint(path).is_ok_and(|found| found == written.now || found == written.before)
    }

    /// Notes files as they are now as written by tools, when a draft was put back.
    pub fn adopt(&self, paths: &[String]) -> anyhow::Result<()> {
        let mut entries = Vec::new();
        for path in paths {
            let now = self.0.fingerprint(path).with_context(|| format!("reading {path}"))?;
            entries.push(Written { path: path.clone(), before: now.clone(), now });
        }
        self.0.journal.borrow_mut().note_all(entries)
    }

    /// Forgets these paths, after they were committed or put back.
    pub fn forget(&self, paths: &[String]) -> anyhow::Result<()> {
        self.0.journal.borrow_mut().retain(|path| !paths.iter().any(|p| p == path))
    }

    /// Forgets all paths but these.
    pub fn forget_all_but(&self, paths: &[String]) -> anyhow::Result<()> {
        self.0.journal.borrow_mut().retain(|path| paths.iter().any(|p| p == path))
    }

    /// Forgets everything.
    pub fn clear(&self) -> anyhow::Result<()> {
        self.0.journal.borrow_mut().retain(|_| false)
    }
}
