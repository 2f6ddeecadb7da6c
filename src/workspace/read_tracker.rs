//! Tracks the content of each file that the model of this conversation last read or wrote. A file
//! the model has seen is changed only if it still has that content: a command or a person may have
//! changed it since. A file the model has not seen may be overwritten if it is small, and may be
//! edited, because whoever can quote a passage has seen it somewhere.
//!
//! These records are saved with the messages of the conversation, so that an interrupted
//! conversation can resume with them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::workspace::journal::{Fingerprint, Journal};
use crate::workspace::refusal::Refusal;

/// A file with more lines than this must be read before it is overwritten; models should edit such
/// files instead.
pub(crate) const SMALL: usize = 300;
/// The value of `Seen::lines` if the whole file was seen.
const ALL: u64 = u64::MAX;

/// A file as the model has seen it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Relative to the root.
    pub path: String,
    /// The content of the file.
    pub content: Fingerprint,
    /// Number of lines seen, counted from the first line.
    pub lines: u64,
}

/// The file contents that the model of this conversation has seen.
#[derive(Default)]
pub struct ReadTracker {
    files: RefCell<BTreeMap<String, Seen>>,
    /// Not yet saved with the conversation.
    new: RefCell<Vec<Seen>>,
}

impl ReadTracker {
    /// Starts a conversation, whose model has seen nothing yet.
    pub fn forget(&self) {
        self.files.borrow_mut().clear();
        self.new.borrow_mut().clear();
    }

    /// Restores a record of the interrupted conversation.
    pub fn recall(&self, seen: Seen) {
        self.files.borrow_mut().insert(seen.path.clone(), seen);
    }

    /// Returns the records added since the last call.
    pub fn take_new(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.new.borrow_mut())
    }

    /// Records lines `first` to `last` of a file of `total` lines as read.
    pub(crate) fn note_read(&self, path: &str, bytes: &[u8], first: u64, last: u64, total: u64) {
        let content = Fingerprint::of(bytes);
        let known = self.files.borrow().get(path).cloned();
        let before = known.filter(|seen| seen.content == content).map_or(0, |seen| seen.lines);
        let joins = first <= before.saturating_add(1);
        let lines = if joins { before.max(last) } else { before };
        let lines = if lines >= total { ALL } else { lines };
        self.note_seen(Seen { path: path.to_owned(), content, lines });
    }

    /// Records that the model wrote a file: all of it (`whole`), so that it knows the content, or a
    /// part.
    pub(crate) fn note_wrote(&self, path: &str, bytes: &[u8], whole: bool) {
        let before = self.files.borrow().get(path).map_or(0, |seen| seen.lines);
        let lines = if whole { ALL } else { before };
        self.note_seen(Seen { path: path.to_owned(), content: Fingerprint::of(bytes), lines });
    }

    /// Records a file as deleted: the model has not seen a file that is written there later.
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

    /// Refuses to change a file that is not as the model last saw it. A file it never saw may be
    /// deleted: git has the file, and a deletion does not depend on its content.
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
             read_file it again, then make the change to its new content"
        )))
    }

    /// Refuses to overwrite a file whose current content the model has not seen, except small
    /// files.
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
                "{path} exists and is not UTF-8 text, so you cannot know what is in it; to replace \
                 it, delete_file it first"
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

/// True if a tool replaced `seen` by `now`. The tool was called in this conversation, but its
/// result was lost because git-cowork was killed.
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

    /// Returns a file of `count` lines.
    fn lines(count: usize) -> String {
        (1..=count).map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn a_file_changed_since_it_was_seen_is_not_overwritten() {
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
    fn seen_files_survive_a_restart() {
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
    fn a_write_with_a_lost_result_is_not_a_foreign_change() {
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
