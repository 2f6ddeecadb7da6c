//! The ids that the draft in progress has used, besides those in its history: records that were
//! deleted in it, and numbers of calls that were refused.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::id::next_below;
use super::sections::{Records, Writer};
use super::{Files, History, IdFloors, IdKind};

/// The ids that the draft in progress has used. None of them is given again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftIds {
    /// Ids that calls were given for new records, each with a digest of the call. A call that is
    /// repeated after a kill keeps its id.
    #[serde(default)]
    given: BTreeMap<String, String>,
    /// Records that existed in the draft, with their titles.
    #[serde(default)]
    existed: BTreeMap<String, String>,
    /// Ids of new records in documents that the current answer sends. If a document is refused, no
    /// later call of the answer gets its numbers.
    #[serde(default)]
    sent: BTreeSet<String>,
}

impl DraftIds {
    /// Notes the records that exist, unless `history` knows them.
    pub fn see(&mut self, records: &Records, history: &dyn History) {
        for record in records.iter() {
            let (id, title) = (record.id(), record.title());
            if history.titles().get(id).map(String::as_str) != Some(title) {
                self.existed.insert(id.to_owned(), title.to_owned());
            }
        }
    }

    /// Notes the ids in a document before it is saved.
    pub fn send(&mut self, ids: impl IntoIterator<Item = String>) {
        self.sent.extend(ids);
    }

    /// Begins the next answer of the model, which knows what was refused before.
    pub fn begin_answer(&mut self) {
        self.sent.clear();
    }

    /// Returns the id of the record that a call creates; a sub-task's begins with `above`.
    pub fn give(
        &mut self,
        call: String,
        (kind, above): (IdKind, Option<&str>),
        records: &Records,
        history: &dyn History,
    ) -> String {
        let of_call = self.given.iter().find(|(_, other)| **other == call);
        if let Some((id, _)) = of_call {
            return id.clone();
        }
        let id = self.next((kind, above), records, history);
        self.given.insert(id.clone(), call);
        id
    }

    /// Returns the id that the next new record gets.
    pub fn next(
        &self,
        (kind, above): (IdKind, Option<&str>),
        records: &Records,
        history: &dyn History,
    ) -> String {
        let used = self.given.keys().chain(self.existed.keys()).chain(&self.sent);
        let used = used.chain(history.titles().keys()).map(String::as_str).chain(records.ids());
        match above {
            Some(above) => next_below(above, used),
            None => {
                let mut floors = history.floors();
                used.for_each(|id| floors.see(kind, id));
                floors.next(kind)
            }
        }
    }

    /// Raises `floors` to the ids of this draft.
    pub fn raise(&self, floors: &mut IdFloors) {
        let used = self.given.keys().chain(self.existed.keys()).chain(&self.sent);
        used.for_each(|id| floors.see_all(id));
    }

    /// Returns what became of an id that no record has: `TASK-002 was refused`.
    pub fn became(&self, id: &str) -> Option<String> {
        if let Some(title) = self.existed.get(id) {
            return Some(format!("{id} \"{title}\" was deleted"));
        }
        let is_used = self.given.contains_key(id) || self.sent.contains(id);
        is_used.then(|| format!("{id} was refused"))
    }

    /// Returns the session's history with the ids of this draft: a model does not make another
    /// record of an id that was deleted in it.
    pub fn after<'a>(&self, history: &'a dyn History, by: Writer) -> impl History + use<'a> {
        let mut titles = history.titles().clone();
        if by == Writer::Model {
            titles.extend(self.existed.clone());
        }
        let mut floors = history.floors();
        self.raise(&mut floors);
        InDraft { history, titles, floors }
    }
}

/// A session's history up to a draft.
struct InDraft<'a> {
    history: &'a dyn History,
    titles: BTreeMap<String, String>,
    floors: IdFloors,
}

impl History for InDraft<'_> {
    fn titles(&self) -> &BTreeMap<String, String> {
        &self.titles
    }

    fn floors(&self) -> IdFloors {
        self.floors
    }

    fn in_base(&self, path: &str) -> bool {
        self.history.in_base(path)
    }

    fn committed(&self) -> Option<&dyn Files> {
        self.history.committed()
    }
}
