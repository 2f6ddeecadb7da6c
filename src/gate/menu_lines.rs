//! The menu of a gate: two lines of keys, and the full list for `?`.

use crate::gate::clean::clean_line;
use crate::gate::paint::Paint;
use crate::gate::screen;
use crate::gate::{Actor, Draft, Gate, edits};

/// The prompt before a key.
pub(super) const PROMPT: &str = "▸ ";

/// A key, its text in the menu, and its text in the help.
struct Entry {
    key: char,
    short: String,
    long: String,
}

fn entry(key: char, short: &str, long: impl Into<String>) -> Entry {
    Entry { key, short: short.to_owned(), long: long.into() }
}

/// The menu in two lines (more if the terminal is narrow), and the prompt.
pub(super) fn menu(gate: &Gate<'_>, draft: &Draft<'_>) -> String {
    let paint = Paint::of(gate.terminal);
    let width = gate.terminal.width().max(20);
    let mut out = String::new();
    for line in [decisions(gate, draft), looks(draft)] {
        let line: Vec<&Entry> = line.iter().filter(|entry| !entry.short.is_empty()).collect();
        packed(&mut out, paint, width, &line);
    }
    out + PROMPT
}

/// Every key, one per line.
pub(super) fn help(gate: &Gate<'_>, draft: &Draft<'_>) -> String {
    screen::keys(gate.terminal, &rows(gate, draft))
}

/// Every key with its help text.
pub(super) fn rows(gate: &Gate<'_>, draft: &Draft<'_>) -> Vec<Vec<(char, String)>> {
    let all = decisions(gate, draft).into_iter().chain(looks(draft));
    all.map(|entry| vec![(entry.key, entry.long)]).collect()
}

/// True if a key does something at this gate.
pub(super) fn has(gate: &Gate<'_>, draft: &Draft<'_>, key: char) -> bool {
    let mut all = decisions(gate, draft).into_iter().chain(looks(draft));
    all.any(|entry| entry.key == key)
}

/// Number of terminal lines of the menu.
pub(super) fn height(gate: &Gate<'_>, draft: &Draft<'_>) -> usize {
    menu(gate, draft).lines().count()
}

fn packed(out: &mut String, paint: Paint, width: usize, entries: &[&Entry]) {
    let columns = |entry: &Entry| 2 + console::measure_text_width(&entry.short);
    let all: usize = entries.iter().map(|entry| columns(entry)).sum();
    let gap = (2..=4).rev().find(|gap| 1 + all + gap * entries.len() < width).unwrap_or(2);
    let mut used = 0;
    for entry in entries {
        if used > 0 && used + gap + columns(entry) > width {
            out.push('\n');
            used = 0;
        }
        let before = if used == 0 { 1 } else { gap };
        out.push_str(&" ".repeat(before));
        out.push_str(&format!("{} {}", paint.bold(&entry.key.to_string()), entry.short));
        used += before + columns(entry);
    }
    out.push('\n');
}

/// Keys that decide or lead to a decision.
fn decisions(gate: &Gate<'_>, draft: &Draft<'_>) -> Vec<Entry> {
    let editor = gate.editor.name();
    let mut keys = Vec::new();
    match draft.critic_next {
        _ if !draft.can_pass => {}
        true => keys.push(entry(
            'p',
            "pass → critic → commit",
            "pass: the critic reads it next; if it passes, this becomes a commit",
        )),
        false => keys.push(entry('p', "pass → commit", "pass: this becomes a commit")),
    }
    if let Some(main) = draft.main() {
        let name = clean_line(&main.name);
        let mark = gate.comment_prefix.trim();
        let comment = format!(" (\"{mark} text\" on a line is a comment to the actor)");
        let comment = if mark.is_empty() { "" } else { comment.as_str() };
        keys.push(entry('e', "edit", format!("edit {name} in {editor}{comment}")));
        if draft.documents.len() > 1 {
            let names: Vec<_> = draft.documents.iter().map(|d| clean_line(&d.name)).collect();
            keys.push(entry('E', "", format!("edit {}", names.join(", "))));
        }
    } else if !draft.code.is_empty() {
        keys.push(entry('e', "edit", format!("edit the changed files in {editor}")));
        keys.push(entry('h', "hunks", "go through the diff hunk by hunk: accept, comment, edit"));
    }
    keys.push(entry(
        'f',
        "feedback",
        "feedback: say what to change (Enter sends it, Esc goes back)",
    ));
    keys.push(entry('F', "", format!("write feedback in {editor}")));
    match &draft.actor {
        Actor::Answers => keys.push(entry(
            't',
            "ask the actor",
            "ask the actor about the draft: it answers, changes nothing, and the draft stays as it is",
        )),
        Actor::Agent(name) => {
            let name = clean_line(name);
            keys.push(entry('t', "", format!("ask the actor: not possible here, {name} would write files")));
        }
        Actor::Absent => {}
    }
    if draft.other_models {
        let now = draft.next_by.as_ref().map(|name| format!(" (now {})", clean_line(name)));
        let now = now.unwrap_or_default();
        keys.push(entry(
            'm',
            "other model",
            format!(
                "another model for the next drafts of this stage{now}; the configuration is not changed"
            ),
        ));
    }
    keys
}

/// Keys that show something, and keys that leave the gate.
fn looks(draft: &Draft<'_>) -> Vec<Entry> {
    let mut keys = vec![entry('d', "diff", "the whole diff")];
    if !draft.documents.is_empty() {
        keys.push(entry('v', "read", "the whole document"));
    }
    if !draft.documents.is_empty() {
        // With one document, `V` does the same as `v`.
        let short = if draft.documents.len() > 1 { "all" } else { "" };
        keys.push(entry('V', short, "all documents"));
    }
    if !draft.earlier.is_empty() {
        keys.push(entry('g', "go back", "go back to an earlier stage"));
    }
    if let Some(depth) = draft.more {
        keys.push(entry('+', "deeper", format!("go deeper: continue as a {depth} session")));
    }
    if let Some(edited) = edits::edited(draft) {
        keys.push(entry(
            'x',
            "take my edit back",
            format!("take your edit of {edited} back (it is saved as an attempt first)"),
        ));
    }
    keys.push(entry('a', "abort", "abort (everything is kept)"));
    keys.push(entry('q', "stop for now", "stop for now: draft kept, working tree left clean"));
    keys.push(entry('?', "help", "this list"));
    keys
}
