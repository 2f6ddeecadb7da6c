//! How much of everything a page holds: it is to be opened by any browser and sent to anybody. What is
//! left out is said where it would be, with the command that shows it.

use super::html::Html;
use crate::excerpt::{beginning, ends};

/// Bytes of a page.
const PAGE: usize = 8 * 1024 * 1024;
/// Bytes of one text in it: a document, a log, the difference of one file.
pub(super) const DOCUMENT: usize = 128 * 1024;
pub(super) const LOG: usize = 32 * 1024;
pub(super) const PATCH: usize = 48 * 1024;
/// Of lists.
pub(super) const STEPS: usize = 1_000;
pub(super) const FILES: usize = 60;
pub(super) const COMMITS: usize = 200;
pub(super) const NODES: usize = 40;
pub(super) const VERSIONS: usize = 20;

/// What is left of it, and what was left out.
#[derive(Debug)]
pub(super) struct Room {
    left: usize,
    /// Texts that were cut or left out.
    pub(super) left_out: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { left: PAGE, left_out: 0 }
    }
}

impl Room {
    /// At most `most` bytes of a text from its beginning; what is missing is noted with the command
    /// that shows it.
    pub(super) fn take<'t>(
        &mut self,
        text: &'t str,
        most: usize,
        command: &str,
        notes: &mut Html<'_>,
    ) -> &'t str {
        let cut = beginning(text, most.min(self.left));
        self.spend(text, cut.len(), command, notes);
        cut
    }

    /// The same, from both ends.
    pub(super) fn take_ends(
        &mut self,
        text: &str,
        most: usize,
        command: &str,
        notes: &mut Html<'_>,
    ) -> String {
        let cut = ends(text, most.min(self.left));
        self.spend(text, cut.len().min(text.len()), command, notes);
        cut
    }

    /// The first `most` of a list, and how many there are beyond.
    pub(super) fn first<'t, T>(&mut self, all: &'t [T], most: usize) -> (&'t [T], usize) {
        let (shown, rest) = all.split_at(all.len().min(most));
        self.left_out += rest.len();
        (shown, rest.len())
    }

    fn spend(&mut self, text: &str, shown: usize, command: &str, notes: &mut Html<'_>) {
        self.left = self.left.saturating_sub(shown);
        if shown < text.len() {
            self.left_out += 1;
            let kib = (text.len() - shown).div_ceil(1024);
            notes.raw("<p class=\"note\">").text(&format!("{kib} KiB left out here: "));
            notes.element("code", &[], command).raw("</p>\n");
        }
    }
}
