//! What the model of this conversation has last read or written of each file. A file it has seen is
//! changed only while it is still that: a command or a person may have changed it since. One it has
//! not seen may be edited, for who knows a passage has seen it somewhere, and written over while it
//! is small.
//!
//! The conversation keeps these notes with its messages, so that one that was cut and goes on knows
//! what the one before has read.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::workspace::journal::{Fingerprint, Journal};
use crate::workspace::refusal::Refusal;

/// A file with more lines than this should be edited rather than written again, and read before.
pub(crate) const SMALL: usize = 300;
/// All lines there are.
const ALL: u64 = u64::MAX;

/// A file as a model has seen it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Relative to the root.
    pub path: String,
    /// What the file held.
    pub content: Fingerprint,
    /// So many lines from the first on were seen.
    pub lines: u64,
}

/// What the model of this conversation has seen.
#[derive(Default)]
pub struct ReadTracker {
    files: RefCell<BTreeMap<String, Seen>>,
    /// Not yet kept with the conversation.
    new: RefCell<Vec<Seen>>,
}

impl ReadTracker {
    /// Begins a conversation, whose model has seen nothing yet.
    pub fn forget(&self) {
        self.files.borrow_mut().clear();
        self.new.borrow_mut().clear();
    }

    /// Takes up what was seen before the conversation was cut.
    pub fn recall(&self, seen: Seen) {
        self.files.borrow_mut().insert(seen.path.clone(), seen);
    }

    /// What was seen since this was last asked.
    pub fn take_new(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.new.borrow_mut())
    }

    /// Notes lines `first` to `last` of a file of `total` lines as read.
    pub(crate) fn note_read(&self, path: &str, bytes: &[u8], first: u64, last: u64, total: u64) {
        let content = Fingerprint::of(bytes);
        let known = self.files.borrow().get(path).cloned();
        let before = known.filter(|seen| seen.content == content).map_or(0, |seen| seen.lines);
        let joins = first <= before.saturating_add(1);
        let lines = if joins { before.max(last) } else { before };
        let lines = if lines >= total { ALL } else { lines };
        self.note_seen(Seen { path: path.to_owned(), content, lines });
    }

    /// Notes a file as written by the model: as a `whole`, which it knows thereby, or a part of it.
    pub(crate) fn note_wrote(&self, path: &str, bytes: &[u8], whole: bool) {
        let before = self.files.borrow().get(path).map_or(0, |seen| seen.lines);
        let lines = if whole { ALL } else { before };
        self.note_seen(Seen { path: path.to_owned(), content: Fingerprint::of(bytes), lines });
    }

    /// Notes a file as gone: whatever comes there next was not seen.
    pub(crate) fn note_deleted(&self, path: &str) {
        self.files.borrow_mut().remove(path);
    }

    fn note_seen(&self, seen: Seen) {
        let mut files = self.files.borrow_mut();
        if files.get(&seen.path) != Some(&seen) {
            files.insert(seen.path.clone(), seen.clone());
            self.new.borrow_mut().push(seen);
        }
    }

    /// Refuses to change what is not as the model has last seen it. What it never saw may go: git
    /// has it, and nobody deletes by guessing.
    pub(crate) fn refuse_stale(
        &self,
        journal: &Journal,
        path: &str,
        now: Option<&Fingerprint>,
    ) -> Result<(), Refusal> {
        let files = self.files.borrow();
        let Some(seen) = files.get(path) else { return Ok(()) };
        if now == Some(&seen.content) || now.is_some_and(|now| wrote_over(journal, seen, now)) {
            return Ok(());
        }
        Err(Refusal::failed(format!(
            "{path} has changed since you last read or wrote it (a command or a person did that): \
             read_file it again, then send the change for what is there now"
        )))
    }

    /// Refuses to write over what the model has not seen as it is now, but for small files.
    pub(crate) fn refuse_unseen(
        &self,
        journal: &Journal,
        path: &str,
        now: &[u8],
    ) -> Result<(), Refusal> {
        let content = Fingerprint::of(now);
        self.refuse_stale(journal, path, Some(&content))?;
        let files = self.files.borrow();
        let known = files.get(path);
        if known.is_some_and(|seen| seen.lines == ALL || wrote_over(journal, seen, &content)) {
            return Ok(());
        }
        let Ok(text) = std::str::from_utf8(now) else {
            return Err(Refusal::failed(format!(
                "{path} exists and is not UTF-8 text, so you cannot know what is in it; if it is to \
                 go, delete_file it first"
            )));
        };
        let lines = text.lines().count();
        if lines <= SMALL {
            return Ok(());
        }
        let read = if known.is_some() {
            "you have read only a part of it"
        } else {
            "you have not read it"
        };
        Err(Refusal::failed(format!(
            "{path} has {lines} lines and {read} in this conversation: write_file would replace all of \
             it. Change a part of it with edit_file, or read_file all of it first"
        )))
    }
}

/// Whether a tool put `now` where `seen` was: a call of this conversation whose answer was lost
/// because the program was killed.
fn wrote_over(journal: &Journal, seen: &Seen, now: &Fingerprint) -> bool {
    journal.get(&seen.path).is_some_and(|written| {
        written.now.as_ref() == Some(now) && written.before.as_ref() == Some(&seen.content)
    })
}

#[cfg(test)]
mod tests {
    use super::SMALL;
    use crate::workspace::testing::{Tree, edit};

    fn refusal(result: Result<String, crate::workspace::Refusal>) -> String {
        result.unwrap_err().message
    }

    /// A file of so many lines.
    fn lines(count: usize) -> String {
        (1..=count).map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn what_has_changed_since_it_was_seen_is_not_changed() {
        let tree = Tree::new();
        tree.put("a", "one\ntwo\n");
        let write = |text: &str| tree.workspace.write("a", text);
        tree.workspace.read("a", None, None).unwrap();
        write("1\n").unwrap();
        write("2\n").unwrap();
        tree.put("a", "formatted\n");
        assert!(write("formatted\n").unwrap().starts_with("unchanged"));
        tree.put("a", "formatted twice\n");
        assert!(refusal(write("3\n")).contains("has changed since you last read"));
        assert!(refusal(tree.edit("a", "formatted", "x")).contains("has changed since"));
        assert!(refusal(tree.workspace.delete("a")).contains("has changed since"));
        tree.workspace.read("a", None, None).unwrap();
        tree.edit("a", "formatted", "x").unwrap();
        tree.workspace.delete("a").unwrap();
        tree.put("a", "somebody else's\n");
        write("4\n").unwrap();
        tree.put("a", "and again\n");
        tree.workspace.read_tracker().forget();
        write("5\n").unwrap();
    }

    #[test]
    fn a_long_file_is_written_over_only_when_it_was_read() {
        let tree = Tree::new();
        tree.put("long", &lines(SMALL + 1));
        let write = |text: &str| tree.workspace.write("long", text);
        let refused = refusal(write("x\n"));
        assert!(refused.contains("has 301 lines and you have not read it"), "{refused}");
        assert!(write(&lines(SMALL + 1)).unwrap().starts_with("unchanged"));
        tree.workspace.read_tracker().forget();
        tree.edit("long", "line 7\n", "line seven\n").unwrap();
        assert!(refusal(write("x\n")).contains("only a part"));
        tree.workspace.read("long", Some(201), None).unwrap();
        tree.workspace.read("long", None, Some(100)).unwrap();
        assert!(refusal(write("x\n")).contains("only a part"));
        tree.workspace.read("long", Some(101), Some(100)).unwrap();
        tree.workspace.read("long", Some(201), None).unwrap();
        let answer = write("x\n").unwrap();
        assert!(answer.contains("301 before") && answer.contains("edit_file"), "{answer}");
        tree.put_bytes("latin1", b"caf\xe9\n");
        let refused = refusal(tree.workspace.write("latin1", "cafe\n"));
        assert!(refused.contains("delete_file it first"), "{refused}");
    }

    #[test]
    fn the_next_process_knows_what_was_seen() {
        let tree = Tree::new();
        tree.put("a", "one\n");
        tree.workspace.read("a", None, None).unwrap();
        let seen = tree.workspace.read_tracker().take_new();
        assert!(tree.workspace.read_tracker().take_new().is_empty());
        let next = tree.reopened();
        seen.into_iter().for_each(|seen| next.read_tracker().recall(seen));
        tree.put("a", "somebody else's\n");
        assert!(refusal(next.write("a", "two\n")).contains("has changed since"));
    }

    #[test]
    fn a_write_whose_answer_was_lost_is_nobody_elses_change() {
        let tree = Tree::new();
        tree.put("a", "one\n");
        tree.workspace.read("a", None, None).unwrap();
        let seen = tree.workspace.read_tracker().take_new();
        tree.workspace.write("a", "two\n").unwrap();
        let next = tree.reopened();
        seen.into_iter().for_each(|seen| next.read_tracker().recall(seen));
        let again = next.edit("a", &[edit("one", "two")]).unwrap_err().message;
        assert!(again.contains("new_text is already there"), "{again}");
        assert!(next.write("a", "two\n").unwrap().starts_with("unchanged"));
        next.write("a", "three\n").unwrap();
    }
}
