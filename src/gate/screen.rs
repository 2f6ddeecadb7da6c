//! Renders a gate: pure functions from a draft to text.
//!
//! All text from a model or a file passes through [`clean`] here.

use std::path::Path;

use crate::gate::clean::{clean, clean_line};
use crate::gate::paint::Paint;
use crate::gate::terminal::Terminal;
use crate::gate::{Document, Draft, Gate, Since, Untold, hunks, menu_lines, since};
use crate::spent::{Spent, tokens};
use crate::wrap::{hanging, hanging_command, shortened, wrap};

/// A terminal is assumed to have at least this height, even if it reports a smaller one or none;
/// longer output scrolls.
const LEAST_HEIGHT: usize = 24;
/// Minimum number of rows of a table or a diff to show.
const LEAST_ROWS: usize = 6;
/// Minimum number of document lines worth showing.
const LEAST_PREVIEW: usize = 3;

/// Column of the text after a label.
const INDENT: usize = 9;

/// The whole screen of a gate except its menu. It fills the terminal: changes, records and document
/// share the lines left by the rest.
pub(super) fn draft(gate: &Gate<'_>, draft: &Draft<'_>) -> String {
    let paint = Paint::of(gate.terminal);
    let width = gate.terminal.width().max(20);
    let mut above = heading(gate, draft);
    if let Some(note) = &draft.note {
        labelled(&mut above, width, "Note", note);
    }
    if let Some(model) = &draft.next_by {
        labelled(&mut above, width, "Next", &format!("draft by {}", clean_line(model)));
    }
    let mut below = below(
        paint,
        width,
        draft,
        if draft.code.is_empty() { 0 } else { hunks::unsent(gate, draft) },
    );
    typed(&mut below, width, gate.untold, 'f');
    let height = gate.terminal.height().max(LEAST_HEIGHT);
    let taken = above.lines().count() + below.lines().count() + menu_lines::height(gate, draft);
    let mut room = Room(height.saturating_sub(taken));
    // The line below the document, with its length.
    room.take(usize::from(draft.main().is_some()));
    // Without changes since the last look, only the draft itself is shown.
    let since = draft.since.as_ref().filter(|since| !since.diff.trim().is_empty());
    let (head, rows) = match &draft.records {
        Some(records) if !records.rows.is_empty() => records.lines(paint, width),
        _ => Default::default(),
    };
    let mut out = above;
    if let Some(since) = since {
        changed(&mut out, paint, width, draft, since, &mut room, rows.len());
    }
    if let Some(diffstat) = &draft.diffstat {
        listed(&mut out, paint, &stat_lines(diffstat, width), "d shows the diff", &mut room);
    }
    if !rows.is_empty() {
        out.push_str(&format!("{head}\n"));
        room.take(1);
        let key = if draft.documents.is_empty() { "d shows the diff" } else { "v reads them" };
        listed(&mut out, paint, &rows, key, &mut room);
    }
    if let Some(main) = draft.main() {
        let shows = since.is_none() && draft.diffstat.is_none();
        preview(&mut out, paint, width, main, if shows { room.0 } else { 0 });
    }
    out + &below
}

/// Shows notes typed before the gate opened, and the key to continue them.
pub(super) fn typed(out: &mut String, width: usize, untold: &dyn Untold, key: char) {
    let text = clean_line(&untold.text());
    if !text.is_empty() {
        labelled(out, width, "Typed", &format!("\"{text}\"; {key} continues the text"));
    }
}

/// Number of lines left on the screen.
struct Room(usize);

impl Room {
    fn take(&mut self, lines: usize) {
        self.0 = self.0.saturating_sub(lines);
    }
}

/// Shows the changes since the last look; `rows` lines of records follow and also need room.
fn changed(
    out: &mut String,
    paint: Paint,
    width: usize,
    draft: &Draft<'_>,
    since: &Since,
    room: &mut Room,
    rows: usize,
) {
    let before = out.lines().count();
    let read = if draft.critic_next { "; the critic has not read it yet" } else { "" };
    let summary = format!("{}: {}{read}", since.heading, clean_line(&since.summary));
    out.push_str(&format!("{}\n", hanging(&summary, width, 2)));
    let columns = width.saturating_sub(2);
    let counted = since::shown(draft, &since.diff, columns, 0).counted.len();
    // The summary, the number of lines that do not fit, and the records with their heading, which
    // leave half of the room.
    let summary = out.lines().count() - before;
    let others = summary + counted + 1 + (rows + usize::from(rows > 0)).min(room.0 / 2);
    let most = room.0.saturating_sub(others).max(LEAST_ROWS);
    let shown = since::shown(draft, &since.diff, columns, most);
    for (sign, row) in &shown.rows {
        out.push_str(format!("  {}", paint.signed(*sign, row)).trim_end());
        out.push('\n');
    }
    for line in &shown.counted {
        out.push_str(&format!("   {line}\n"));
    }
    if shown.more > 0 {
        out.push_str(&format!(
            "  {}\n",
            paint.dim(&more(shown.more, "changed line", "d shows the diff"))
        ));
    }
    room.take(out.lines().count() - before);
}

/// Shows the lines that fit, and the number of the others.
fn listed(out: &mut String, paint: Paint, lines: &[String], key: &str, room: &mut Room) {
    let most = room.0.max(LEAST_ROWS);
    // The line with the number of the others takes a line itself.
    let shown = if lines.len() <= most { lines.len() } else { most - 1 };
    for line in &lines[..shown] {
        out.push_str(&format!("{line}\n"));
    }
    if shown < lines.len() {
        out.push_str(&format!("   {}\n", paint.dim(&more(lines.len() - shown, "more", key))));
    }
    room.take(shown + usize::from(shown < lines.len()));
}

fn more(count: usize, what: &str, key: &str) -> String {
    match what {
        "more" => format!("… {count} more, {key}"),
        _ if count == 1 => format!("… 1 more {what}, {key}"),
        _ => format!("… {count} more {what}s, {key}"),
    }
}

/// The lines of git's diffstat. If they are wider than the screen, the graph is left out, and paths
/// are cut at the start.
fn stat_lines(diffstat: &str, width: usize) -> Vec<String> {
    let columns = console::measure_text_width;
    let text = clean(diffstat);
    let fits = text.lines().all(|line| columns(line.trim_end()) < width);
    if fits {
        return text.lines().map(|line| format!(" {}", line.trim_end())).collect();
    }
    let is_graph = ['+', '-', ' '];
    let parts = |line: &str| {
        let (path, change) = line.rsplit_once(" | ")?;
        Some((path.trim().to_owned(), change.trim_end_matches(is_graph).to_owned()))
    };
    let rows: Vec<(String, String)> = text.lines().filter_map(parts).collect();
    let widest = |of: fn(&(String, String)) -> &String| {
        rows.iter().map(|row| columns(of(row))).max().unwrap_or_default()
    };
    let room = width.saturating_sub(widest(|row| &row.1) + 5).max(1);
    let path = widest(|row| &row.0).min(room);
    let line = |line: &str| match parts(line) {
        Some((name, change)) => {
            let name = end_of(&name, path);
            let gap = " ".repeat(path.saturating_sub(columns(&name)));
            format!("  {name}{gap} | {change}")
        }
        None => format!("  {}", hanging(line.trim(), width, 2)),
    };
    text.lines().flat_map(|one| line(one).lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The end of a path, at most `width` columns wide.
fn end_of(path: &str, width: usize) -> String {
    let columns = console::measure_text_width;
    if columns(path) <= width {
        return path.to_owned();
    }
    let ends = path.char_indices().map(|(at, _)| &path[at..]);
    let end = ends.into_iter().find(|end| columns(end) < width).unwrap_or_default();
    format!("…{end}")
}

/// Entries of a menu, as many per line as fit.
pub(super) fn entries(width: usize, entries: &[impl AsRef<str>]) -> String {
    let columns = console::measure_text_width;
    let mut lines = vec![String::new()];
    for entry in entries.iter().map(AsRef::as_ref) {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(&format!(" {entry}"));
        } else if columns(line) + 4 + columns(entry) <= width {
            line.push_str(&format!("    {entry}"));
        } else {
            lines.push(format!(" {entry}"));
        }
    }
    lines.join("\n")
}

/// What else is decided here, the checks, and the comments on the draft.
fn below(paint: Paint, width: usize, draft: &Draft<'_>, unsent: usize) -> String {
    let mut out = String::new();
    let main = draft.main().map(|main| &main.name);
    let is_beside = |one: &&Document| one.name.ends_with(".md") && Some(&one.name) != main;
    let beside = draft.documents.iter().filter(is_beside).map(|one| {
        format!("{} ({})", clean_line(&one.name), count(one.shown().lines().count(), "line"))
    });
    let beside: Vec<String> = beside.collect();
    if !beside.is_empty() {
        let text = format!("{}: decided here as well; V reads all", beside.join(", "));
        labelled(&mut out, width, "With it", &text);
    }
    for (label, text) in &draft.tried {
        labelled(&mut out, width, label, text);
    }
    let lines =
        Checks { passed: &draft.passed, findings: &draft.findings, warnings: &draft.warnings };
    checks(&mut out, paint, width, &lines);
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
    if unsent > 0 {
        let comments = count(unsent, "comment");
        labelled(&mut out, width, "", &format!("{comments} on hunks, not sent yet; h continues"));
    }
    out
}

/// The header of a gate.
pub(super) fn heading(gate: &Gate<'_>, draft: &Draft<'_>) -> String {
    let paint = Paint::of(gate.terminal);
    let width = gate.terminal.width().max(20);
    let (number, of) = draft.place;
    let mut right = vec![format!("stage {number} of {of}")];
    right.extend(costs(&draft.spent));
    header(paint, width, &title(draft), &right)
}

/// Rows of keys with their texts. A row that is too wide is split.
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

/// A full-width rule with a title that separates the screen from earlier output. If the parts in
/// `right` do not fit, they are dropped, starting with the first.
pub(super) fn header(paint: Paint, width: usize, left: &str, right: &[String]) -> String {
    let columns = console::measure_text_width;
    let left = shortened(left, width.saturating_sub(4));
    let left = format!("━━ {left} ");
    let fits = |right: &String| columns(&left) + 2 + columns(right) <= width;
    let ends = (0..right.len()).map(|at| format!(" {} ━━", right[at..].join(" · ")));
    let right = ends.into_iter().find(fits).unwrap_or_default();
    let line = "━".repeat(width.saturating_sub(columns(&left) + columns(&right)));
    format!("{}\n", paint.bold(&format!("{left}{line}{right}")))
}

/// Text with a label; further lines are indented like the first. A git command at the end of a line
/// is not broken.
pub(super) fn labelled(out: &mut String, width: usize, label: &str, text: &str) {
    for (i, line) in clean(text.trim()).lines().enumerate() {
        let label = if i == 0 { label } else { "" };
        let line = hanging_command(line, width, INDENT);
        out.push_str(format!("{label:<8} {line}").trim_end());
        out.push('\n');
    }
}

/// Colours a diff for a terminal.
pub(super) fn colored_diff(paint: Paint, diff: &str) -> String {
    let mut out = String::with_capacity(diff.len());
    for line in clean(diff).lines() {
        out.push_str(&diff_line(paint, line));
        out.push('\n');
    }
    out
}

/// A path relative to the top of the working tree, like git shows it.
pub(super) fn shown_path(path: &Path, top: &Path) -> String {
    clean_line(&path.strip_prefix(top).unwrap_or(path).to_string_lossy())
}

fn title(draft: &Draft<'_>) -> String {
    let of = if draft.limit == 0 { String::new() } else { format!(" of {}", draft.limit) };
    format!("{} · draft {}{of} · your decision", draft.stage, draft.iteration)
}

fn costs(spent: &Spent) -> Vec<String> {
    let time = duration(spent.millis / 1000);
    let tokens = (spent.tokens() > 0).then(|| format!("{} tokens", tokens(spent.tokens())));
    [Some(time), tokens, spent.cost()].into_iter().flatten().collect()
}

fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

/// The first lines of a document, as many as fit, and the key to read all of it.
fn preview(out: &mut String, paint: Paint, width: usize, main: &Document, room: usize) {
    let text = clean(main.shown());
    let lines = text.lines().count();
    let all = format!("{}: {}", clean_line(&main.name), count(lines, "line"));
    let mut height = room;
    let mut whole = height >= LEAST_PREVIEW || lines <= height;
    if whole {
        for line in text.lines() {
            // A tab's width depends on its column.
            let line = line.replace('\t', "    ");
            let parts = wrap(&line, width.saturating_sub(3));
            for part in parts.iter().take(height) {
                out.push_str(format!("  {part}").trim_end());
                out.push('\n');
            }
            whole = parts.len() <= height;
            height = height.saturating_sub(parts.len());
            if !whole {
                break;
            }
        }
    }
    let key = if whole { "" } else { ", v reads it" };
    out.push_str(&format!(" {}\n", paint.dim(&format!("{all}{key}"))));
}

fn count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn diff_line(paint: Paint, line: &str) -> String {
    paint.signed(line.chars().next().unwrap_or(' '), line)
}

/// The results of the checks.
struct Checks<'a> {
    passed: &'a [String],
    findings: &'a [String],
    warnings: &'a [String],
}

/// Passed checks, as many per line as fit; then failed ones and warnings, one per line.
fn checks(out: &mut String, paint: Paint, width: usize, found: &Checks<'_>) {
    let Checks { passed, findings, warnings } = found;
    let mut used = 0;
    for check in *passed {
        let check = clean_line(check);
        let columns = console::measure_text_width(&check) + 2;
        // A check wider than the screen is wrapped.
        let check = if columns < width { check } else { hanging(&check, width, 3) };
        if used > 0 && used + 2 + columns > width {
            out.push('\n');
            used = 0;
        }
        let before = if used == 0 { 1 } else { 2 };
        out.push_str(&format!("{}{} {check}", " ".repeat(before), paint.good("✓")));
        used += before + columns;
    }
    if used > 0 {
        out.push('\n');
    }
    let full =
        |sign: &str, text: &String| format!(" {sign} {}\n", hanging(&clean_line(text), width, 3));
    findings.iter().for_each(|finding| out.push_str(&full(&paint.bad("✗"), finding)));
    warnings.iter().for_each(|warning| out.push_str(&full(&paint.warned("!"), warning)));
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
    fn a_diffstat_is_never_wider_than_the_screen() {
        let stat = " .cowork/sessions/todo/plan.md |   2 +-\n src/main.rs                   | \
                    120 ++++++++++++\n 2 files changed, 121 insertions(+), 1 deletion(-)";
        assert_eq!(stat_lines(stat, 100)[1], "  src/main.rs                   | 120 ++++++++++++");
        let narrow = stat_lines(stat, 30);
        assert_eq!(
            narrow[..2],
            ["  …sessions/todo/plan.md |   2", "  src/main.rs            | 120"]
        );
        assert_eq!(narrow[2..], ["  2 files changed, 121", "  insertions(+), 1 deletion(-)"]);
    }

    #[test]
    fn entries_of_a_menu_break_between_them() {
        assert_eq!(entries(40, &["y accept", "q end"]), " y accept    q end");
        assert_eq!(entries(12, &["y accept", "q end"]), " y accept\n q end");
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
            " ✓ one thing  ✓ another thing  ✓ third\n ✗ TASK-002 names a feature that is not\n   there\n ! a_test.py: deleted\n"
        );
    }

    #[test]
    fn colours_are_optional() {
        assert_eq!(colored_diff(Paint(true), "+a\n b\n"), "\x1b[32m+a\x1b[0m\n b\n");
        assert_eq!(colored_diff(Paint(false), "+a\x1b[2J\n"), "+a\n");
    }
}
