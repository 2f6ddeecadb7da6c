//! The commits that a draft or an attempt adds to those already seen.
//!
//! Also the stage before an attempt was abandoned, and the stage the session was rewound to.

use std::collections::HashSet;

use super::Teller;
use crate::git::{Commit, Oid, Reader};
use crate::session::{Entry, Session};

/// Maximum number of commits to read one by one before walking history as a whole.
const LINE: usize = 256;

impl Teller<'_> {
    /// The session's commits that are reachable from a tip and in no other row, oldest first.
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
        Ok(commits.iter().rev().filter_map(|commit| Entry::from_commit(commit, id)).collect())
    }

    /// The commits from a tip down to one already seen: all commits below that one were seen as
    /// well, or belong to no row. `None` if there is a merge among those returned, or more than
    /// [`LINE`] commits.
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

impl Teller<'_> {
    /// The stage of an attempt's tip, and the stage the session was rewound to. `others` are the
    /// tips made later: the session continued from the newest commit that one of them shares with
    /// the attempt.
    pub(super) fn way_back(
        &self,
        attempt: &Entry,
        others: &[Oid],
    ) -> anyhow::Result<(Option<String>, Option<String>)> {
        let Some(tip) = attempt.parents.first() else { return Ok((None, None)) };
        let left = Session::load(self.git, &self.session.name, tip)?;
        let stands = |session: &Session| {
            let next = session.next_stage();
            next.map_or("completed".to_owned(), |stage| stage.to_string())
        };
        let from = stands(&left);
        let reader = self.git.reader();
        let gone = reader.walk(std::slice::from_ref(tip), others)?;
        let gone: HashSet<&Oid> = gone.iter().map(|commit| &commit.id).collect();
        let shared = left.history.iter().filter(|entry| !gone.contains(&entry.commit));
        let shared = Session { history: shared.cloned().collect(), ..left };
        Ok((Some(from), Some(stands(&shared))))
    }
}
