//! The stage before an attempt was abandoned, and the stage the session was rewound to.

use std::collections::HashSet;

use super::Teller;
use crate::git::Oid;
use crate::session::{Entry, Session};

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
