//! The diff of a file.

use super::html::Html;
use super::room::{PATCH, Room};
use crate::git::patches::FilePatch;

/// Writes git's notes on the diff, then its hunks. If the hunks are cut, the page names `command`,
/// which shows all of them.
pub(super) fn patch(html: &mut Html<'_>, room: &mut Room, patch: &FilePatch, command: &str) {
    for note in &patch.notes {
        html.element("p", &[("class", "soft")], note);
    }
    if patch.hunks.is_empty() {
        return;
    }
    let hunks = html.clean(&patch.hunks);
    let mut cut = html.part();
    let shown = room.take(&hunks, PATCH, command, &mut cut);
    html.raw("<pre class=\"patch\">");
    for line in shown.lines() {
        let class = match line.as_bytes().first() {
            Some(b'+') => "a",
            Some(b'-') => "r",
            Some(b'@') => "h",
            _ => "c",
        };
        html.open("span", &[("class", class)]).text(line).raw("</span>");
    }
    html.raw("</pre>\n").add(cut);
}

/// `+3 −1`
pub(super) fn counts(patch: &FilePatch) -> String {
    format!("+{} −{}", patch.added, patch.removed)
}
