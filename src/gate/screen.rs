//! What a gate looks like: pure functions from a draft to text.
//!
//! Everything that came from a model or a file passes through [`clean`] here.

use std::path::Path;

use crate::gate::clean::{clean, clean_line};
use crate::gate::terminal::Terminal;
use crate::gate::{Draft, Gate, since};
use crate::spent::{Spent, tokens};
use crate::wrap::{hanging, wrap};

/// Lines of a document or a diff that are shown unasked.
const PREVIEW_LINES: usize = 15;

/// Widest header and check lines: beyond that the eye loses them.
const MAX_WIDTH: usize = 80;

/// Where the text behind a label begins.
const INDENT: usize = 9;

/// Colours, or their absence.
#[derive(Clone, Copy)]
pub(super) struct Paint(bool);

impl Paint {
    pub(super) fn of(terminal: &dyn Terminal) -> Self {
        Self(terminal.colors())
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }
}

/// The whole screen of a gate but its menu.
pub(super) fn draft(gate: &Gate<'_>, draft: &Draft<'_>) -> String {
    let paint = Paint::of(gate.terminal);
    let width = gate.terminal.width().max(20);
    let mut out = heading(gate, draft);
    if let Some(note) = &draft.note {
        labelled(&mut out, width, "Note", note);
    }
    let place = draft.main().map(|main| shown_path(&main.path, &gate.editor.cwd));
    let place = place.as_deref().unwrap_or_default();
    // A draft that is what it was has nothing to show but itself.
    let since = draft.since.as_ref().filter(|since| !since.diff.trim().is_empty());
    if let Some(since) = since {
        let summary = format!("{}: {}", since.heading, clean_line(&since.summary));
        out.push_str(&format!("{}\n", hanging(&summary, width, 2)));
        let shown = since::shown(draft, &since.diff, width.saturating_sub(2), PREVIEW_LINES);
        for (sign, row) in &shown.rows {
            out.push_str(format!("  {}", signed(paint, *sign, row)).trim_end());
            out.push('\n');
        }
        for line in &shown.counted {
            out.push_str(&format!("   {line}\n"));
        }
        let main = draft.main().is_some_and(|main| since::touches(&since.diff, &main.name));
        rest(&mut out, paint, width, shown.more, if main { place } else { "" });
    }
    if let Some(diffstat) = &draft.diffstat {
        for line in clean(diffstat).lines() {
            out.push_str(&format!(" {}\n", line.trim_end()));
        }
    } else if let (None, Some(main)) = (since, draft.main()) {
        preview(&mut out, paint, width, &clean(main.shown()), place);
    }
    let lines =
        Checks { passed: &draft.passed, findings: &draft.findings, warnings: &draft.warnings };
    checks(&mut out, paint, width.min(MAX_WIDTH), &lines);
    for unfixed in &draft.unfixed {
        labelled(&mut out, width, "Unfixed", &format!("self-review: {unfixed}"));
    }
    if let Some(said) = &draft.critic_said {
        labelled(&mut out, width, "Critic", said);
    }
    if let Some(said) = &draft.challenger_said {
        labelled(&mut out, width, "Second", &format!("opinion: {said}"));
    }
    if let Some(said) = &draft.actor_said {
        labelled(&mut out, width, "Actor", said);
    }
    for said in &draft.said {
        let outcome = said.outcome.as_deref().map(|text| format!("  → {}", clean_line(text)));
        let text = clean_line(&said.text);
        let line = format!("You said \"{text}\"{}", outcome.unwrap_or_default());
        out.push_str(&format!("{}\n", hanging(&line, width, INDENT)));
    }
    out
}

/// The header of a gate.
pub(super) fn heading(gate: &Gate<'_>, draft: &Draft<'_>) -> String {
    let paint = Paint::of(gate.terminal);
    let width = gate.terminal.width().max(20);
    header(paint, width, &title(draft), &costs(&draft.spent))
}

/// The menu of a gate: what each key does.
pub(super) fn menu(gate: &Gate<'_>, draft: &Draft<'_>) -> String {
    let paint = Paint::of(gate.terminal);
    let rows: Vec<_> = rows(gate, draft);
    format!("{} Your decision\n{}", paint.bold("?"), keys(gate.terminal, &rows))
}

/// The same in a line.
pub(super) fn short_menu(gate: &Gate<'_>, draft: &Draft<'_>) -> String {
    let keys: Vec<_> =
        rows(gate, draft).iter().flatten().map(|(key, _)| (*key).to_string()).collect();
    let text = format!("? Your decision ({}; ? says what they do)", keys.join(" "));
    format!("{}\n", hanging(&text, gate.terminal.width(), 2))
}

/// Rows of keys and what they do. A row that does not fit becomes several.
pub(super) fn keys(terminal: &dyn Terminal, rows: &[Vec<(char, String)>]) -> String {
    let paint = Paint::of(terminal);
    let width = terminal.width().max(20);
    let entry = |(key, text): &(char, String)| {
        let text = hanging(&clean(text), width, 7);
        format!("{}  {text}", paint.bold(&key.to_string()))
    };
    let mut out = String::new();
    for row in rows {
        let one = row.iter().map(entry).collect::<Vec<_>>().join("   ");
        if console::measure_text_width(&one) + 4 <= width {
            out.push_str(&format!("    {one}\n"));
        } else {
            row.iter().for_each(|one| out.push_str(&format!("    {}\n", entry(one))));
        }
    }
    out
}

fn rows(gate: &Gate<'_>, draft: &Draft<'_>) -> Vec<Vec<(char, String)>> {
    let editor = gate.editor.name();
    let mut rows: Vec<Vec<(char, String)>> = Vec::new();
    let pass = if draft.critic_next {
        "pass: the critic reads it next; if it passes, this becomes a commit"
    } else {
        "pass: this becomes a commit"
    };
    rows.push(vec![('p', pass.to_owned())]);
    if let Some(main) = draft.main() {
        let name = clean_line(&main.name);
        let mark = gate.comment_prefix.trim();
        let comment = format!(" (\"{mark} text\" on a line is a comment to the actor)");
        let comment = if mark.is_empty() { "" } else { comment.as_str() };
        rows.push(vec![('e', format!("edit {name} in {editor}{comment}"))]);
        if draft.documents.len() > 1 {
            let names: Vec<_> = draft.documents.iter().map(|d| clean_line(&d.name)).collect();
            rows.push(vec![('E', format!("edit {}", names.join(", ")))]);
        }
    }
    rows.push(vec![
        ('f', "feedback: say what to change".to_owned()),
        ('F', format!("write it in {editor}")),
    ]);
    let mut look = vec![('d', "whole diff".to_owned())];
    if !draft.documents.is_empty() {
        look.push(('v', "whole document".to_owned()));
    }
    if draft.documents.len() > 1 {
        look.push(('V', "all documents".to_owned()));
    }
    rows.push(look);
    let abort = ('a', "abort (everything is kept)".to_owned());
    rows.push(if draft.earlier.is_empty() {
        vec![abort]
    } else {
        vec![('g', "go back to an earlier stage".to_owned()), abort]
    });
    if let Some(depth) = draft.more {
        rows.push(vec![('+', format!("more process: go on as a {depth} session"))]);
    }
    rows.push(vec![('q', "stop for now: draft kept, working tree left clean".to_owned())]);
    rows
}

/// A line that separates what follows from what scrolled by. What does not fit beside the title
/// is left out.
pub(super) fn header(paint: Paint, width: usize, left: &str, right: &str) -> String {
    let width = width.min(MAX_WIDTH);
    let left = console::truncate_str(left, width.saturating_sub(6), "…");
    let left = format!("── {left} ");
    let mut right = if right.is_empty() { String::new() } else { format!(" {right} ──") };
    let columns = console::measure_text_width;
    if columns(&left) + 2 + columns(&right) > width {
        right.clear();
    }
    let line = "─".repeat(width.saturating_sub(columns(&left) + columns(&right)).max(2));
    format!("{}\n", paint.bold(&format!("{left}{line}{right}")))
}

/// A text with a label, its further lines below its first.
pub(super) fn labelled(out: &mut String, width: usize, label: &str, text: &str) {
    for (i, line) in clean(text.trim()).lines().enumerate() {
        let label = if i == 0 { label } else { "" };
        let line = hanging(line, width, INDENT);
        out.push_str(format!("{label:<8} {line}").trim_end());
        out.push('\n');
    }
}

/// A diff, coloured for a terminal.
pub(super) fn colored_diff(paint: Paint, diff: &str) -> String {
    let mut out = String::with_capacity(diff.len());
    for line in clean(diff).lines() {
        out.push_str(&diff_line(paint, line));
        out.push('\n');
    }
    out
}

/// A path as git names it: from the top of the working tree.
pub(super) fn shown_path(path: &Path, top: &Path) -> String {
    clean_line(&path.strip_prefix(top).unwrap_or(path).to_string_lossy())
}

fn title(draft: &Draft<'_>) -> String {
    let of = if draft.limit == 0 { String::new() } else { format!(" of {}", draft.limit) };
    format!("{} · draft {}{of} · waiting for you", draft.stage, draft.iteration)
}

fn costs(spent: &Spent) -> String {
    let time = duration(spent.millis / 1000);
    match spent.tokens() {
        0 => time,
        all => format!("{time} · {} tokens", tokens(all)),
    }
}

fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

/// The first lines of a text, and where the rest is.
fn preview(out: &mut String, paint: Paint, width: usize, text: &str, place: &str) {
    let mut height = PREVIEW_LINES;
    let mut shown = 0;
    for line in text.lines() {
        // A tab's width depends on where it stands.
        let line = line.replace('\t', "    ");
        let parts = wrap(&line, width.saturating_sub(3));
        // The first line is shown as far as it goes: there must be something to see.
        if parts.len() > height && shown > 0 || height == 0 {
            break;
        }
        let whole = parts.len() <= height;
        for part in parts.iter().take(height) {
            out.push_str(format!("  {part}").trim_end());
            out.push('\n');
        }
        height = height.saturating_sub(parts.len());
        if !whole {
            break;
        }
        shown += 1;
    }
    rest(out, paint, width, text.lines().count() - shown, place);
}

/// How many lines are not shown, and where all of them are.
fn rest(out: &mut String, paint: Paint, width: usize, more: usize, place: &str) {
    let more = match more {
        0 => String::new(),
        1 => "(+1 more line)".to_owned(),
        n => format!("(+{n} more lines)"),
    };
    let one = format!("  {more}       {place}");
    if more.is_empty() || place.is_empty() {
        if !(more.is_empty() && place.is_empty()) {
            out.push_str(&format!("  {}\n", paint.dim(&format!("{more}{place}"))));
        }
    } else if console::measure_text_width(&one) < width {
        out.push_str(&format!("  {}\n", paint.dim(one.trim_start())));
    } else {
        out.push_str(&format!("  {}\n  {}\n", paint.dim(&more), paint.dim(place)));
    }
}

fn diff_line(paint: Paint, line: &str) -> String {
    signed(paint, line.chars().next().unwrap_or(' '), line)
}

fn signed(paint: Paint, sign: char, line: &str) -> String {
    match sign {
        '+' => paint.good(line),
        '-' => paint.bad(line),
        '@' => paint.dim(line),
        _ => line.to_owned(),
    }
}

/// What holds, as many to a line as fit; then what does not, a line each.
/// What the checks found.
struct Checks<'a> {
    passed: &'a [String],
    findings: &'a [String],
    warnings: &'a [String],
}

fn checks(out: &mut String, paint: Paint, width: usize, found: &Checks<'_>) {
    let Checks { passed, findings, warnings } = found;
    let mut line = String::new();
    let mut used = INDENT;
    let mut lines = Vec::new();
    for check in *passed {
        let check = clean_line(check);
        let columns = console::measure_text_width(&check) + 2;
        if !line.is_empty() && used + 2 + columns > width {
            lines.push(std::mem::take(&mut line));
            used = INDENT;
        }
        if !line.is_empty() {
            line.push_str("  ");
            used += 2;
        }
        line.push_str(&format!("{} {check}", paint.good("✓")));
        used += columns;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    let full = |sign: &str, text: &String| {
        format!("{sign} {}", hanging(&clean_line(text), width, INDENT + 2))
    };
    lines.extend(findings.iter().map(|finding| full(&paint.bad("✗"), finding)));
    lines.extend(warnings.iter().map(|warning| full(&paint.bold("!"), warning)));
    for (i, line) in lines.iter().enumerate() {
        let label = if i == 0 { "Checks" } else { "" };
        out.push_str(&format!("{label:<INDENT$}{line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let shown: Vec<_> = [41, 61, 3_725].into_iter().map(duration).collect();
        assert_eq!(shown, ["41 s", "1 min 01 s", "1 h 02 min"]);
    }

    #[test]
    fn checks_wrap_and_findings_stand_alone() {
        let mut out = String::new();
        let passed = ["one thing".to_owned(), "another thing".to_owned(), "third".to_owned()];
        let findings = ["TASK-002 names a\nfeature that is not there".to_owned()];
        let warnings = ["a_test.py: deleted".to_owned()];
        let found = Checks { passed: &passed, findings: &findings, warnings: &warnings };
        checks(&mut out, Paint(false), 40, &found);
        assert_eq!(
            out,
            "Checks   ✓ one thing  ✓ another thing\n         ✓ third\n         ✗ TASK-002 names a feature that\n           is not there\n         ! a_test.py: deleted\n"
        );
    }

    #[test]
    fn colours_only_where_wanted() {
        assert_eq!(colored_diff(Paint(true), "+a\n b\n"), "\x1b[32m+a\x1b[0m\n b\n");
        assert_eq!(colored_diff(Paint(false), "+a\x1b[2J\n"), "+a\n");
    }
}
