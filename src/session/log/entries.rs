//! The commits that a draft or an attempt adds to what was told.

use super::Teller;
use crate::git::{Commit, Oid, Reader};
use crate::session::Entry;

/// How far from what was seen a draft or an attempt is looked at by itself.
const LINE: usize = 256;

impl Teller<'_> {
    /// The session's commits below a tip that no other row tells of, oldest first.
    pub(super) fn new_entries(&mut self, tip: &Oid) -> anyhow::Result<Vec<Entry>> {
        let reader = self.git.reader();
        let mut commits = match self.line_to_seen(reader.as_ref(), tip) {
            Some(line) => line,
            None => {
                let hide = std::slice::from_ref(&self.session.tip);
                reader.walk(std::slice::from_ref(tip), hide)?
            }
        };
        commits
            .retain(|commit| self.seen.insert(commit.id.clone(), commit.parents.clone()).is_none());
        let id = &self.session.file.id;
        Ok(commits.iter().rev().filter_map(|commit| Entry::of(commit, id)).collect())
    }

    /// The commits from a tip to one that was seen: what lies below was seen, too, or belongs to no
    /// row. `None` where they are not one line, or a long one.
    fn line_to_seen(&self, reader: &dyn Reader, tip: &Oid) -> Option<Vec<Commit>> {
        let (mut line, mut next) = (Vec::new(), tip.clone());
        while !self.seen.contains_key(&next) {
            let commit = reader.commit(&next).ok().filter(|_| line.len() < LINE)?;
            let [parent] = commit.parents.as_slice() else { return None };
            next = parent.clone();
            line.push(commit);
        }
        Some(line)
    }
}
