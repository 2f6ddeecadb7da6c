//! Limits the size of a page, so that any browser can open it and it can be sent to anybody.
//! Whatever is left out is noted in its place, with the command that shows it.

use serde_json::{Value, json};

use crate::excerpt::{beginning, ends};

/// Maximum size of the texts in a page, in bytes.
const PAGE: usize = 8 * 1024 * 1024;
/// Maximum size of one text, in bytes: a document, a log, the diff of one file.
pub(super) const DOCUMENT: usize = 128 * 1024;
pub(super) const LOG: usize = 32 * 1024;
pub(super) const PATCH: usize = 48 * 1024;
/// Maximum lengths of lists.
pub(super) const STEPS: usize = 1_000;
pub(super) const FILES: usize = 60;
pub(super) const COMMITS: usize = 200;
pub(super) const NODES: usize = 40;
pub(super) const VERSIONS: usize = 20;

/// The room that is left, and the number of things that were left out.
#[derive(Debug)]
pub(super) struct PageRoom {
    bytes: usize,
    /// Number of texts and list items that were cut or left out.
    pub(super) left_out: usize,
}

impl Default for PageRoom {
    fn default() -> Self {
        Self { bytes: PAGE, left_out: 0 }
    }
}

impl PageRoom {
    /// Returns at most `most` bytes from the beginning of a text, and a note on what was cut, with
    /// the command that shows the text.
    pub(super) fn take<'t>(
        &mut self,
        text: &'t str,
        most: usize,
        command: &str,
    ) -> (&'t str, Value) {
        let cut = beginning(text, most.min(self.bytes));
        (cut, self.spend(text, cut.len(), command))
    }

    /// Like [`Self::take`], but returns both ends of the text.
    pub(super) fn take_ends(&mut self, text: &str, most: usize, command: &str) -> (String, Value) {
        let cut = ends(text, most.min(self.bytes));
        let note = self.spend(text, cut.len().min(text.len()), command);
        (cut, note)
    }

    /// The first `most` items of a list, and the number of the others.
    pub(super) fn first<'t, T>(&mut self, all: &'t [T], most: usize) -> (&'t [T], usize) {
        let (head, rest) = all.split_at(all.len().min(most));
        self.left_out += rest.len();
        (head, rest.len())
    }

    fn spend(&mut self, text: &str, length: usize, command: &str) -> Value {
        self.bytes = self.bytes.saturating_sub(length);
        if length >= text.len() {
            return Value::Null;
        }
        self.left_out += 1;
        let kib = (text.len() - length).div_ceil(1024);
        json!({"text": format!("{kib} KiB left out here: "), "command": command})
    }
}

/// The note on items of a list that are left out; none if there are none.
pub(super) fn more(count: usize, items: &str, command: &str) -> Value {
    match count {
        0 => Value::Null,
        _ => json!({"text": format!("{count} {items} are left out here: "), "command": command}),
    }
}
