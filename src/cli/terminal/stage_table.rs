//! The stages of a session as a table: how each was passed, its usage, its outcome.

use std::fmt::Write as _;
use std::time::Duration;

use console::measure_text_width;

use crate::cli::terminal::paint::Paint;
use crate::session::{Details, Entry, Kind, Status, Verdict, Waiting, key};
use crate::spent::{Spent, tokens};
use crate::stage::Stage;
use crate::stages::row;
use crate::ui::{bar, elapsed, one_line};
use crate::wrap::shortened;

/// The gap between two columns.
const GAP: &str = "  ";
/// Width before the first column: two spaces, the sign and a space.
const INDENT: usize = 4;
/// Maximum width of an outcome if the width of the screen is unknown.
const OUTCOME: usize = 100;
/// Up to this width, showing the outcome is more important than details about drafts.
const OUTCOME_LEAST: usize = 40;
/// Minimum width for an outcome.
const NARROWEST: usize = 12;
/// Minimum width of the column with stage names, so that its width does not change when another
/// stage is done.
const NAME: usize = 8;
/// Indentation of the current activity if it has its own line.
const BELOW: usize = 6;

/// Columns: name, commit, who passed it, drafts, tokens, money, time.
const COLUMNS: usize = 7;
/// The columns with numbers, which are aligned to the right.
const NUMBERS: std::ops::Range<usize> = 4..COLUMNS;
/// Columns that narrow screens leave out, in this order: time, money, tokens, drafts.
const DISPENSABLE: [usize; 4] = [6, 5, 4, DRAFTS];
/// The column of the drafts, which can be shortened.
const DRAFTS: usize = 3;

/// A stage that is done or in progress.
#[derive(Default)]
struct Line {
    sign: String,
    cells: [String; COLUMNS],
    /// Shown instead of two columns (commit, who passed it): the progress, or where the stage is
    /// from.
    lead: String,
    /// The outcome, shortened to the room that is left.
    outcome: String,
    /// The current activity, or what the stage waits for; has its own line if there is no room.
    present: String,
}

/// One line for each stage that is done or in progress, and one for all later stages. If `width` is
/// `None`, no column is left out.
pub(crate) fn stage_table(
    status: &Status,
    details: &Details,
    hows: &[(Stage, String)],
    width: Option<usize>,
    paint: &Paint,
) -> String {
    let session = &status.session;
    let mut lines = Vec::new();
    let mut later = Vec::new();
    for (stage, how) in hows {
        if session.done().contains(stage) {
            lines.push(done(status, details, *stage, how, paint));
        } else if status.stage == Some(*stage) {
            lines.push(in_progress(status, details, *stage, paint));
        } else {
            later.push(*stage);
        }
    }
    let name = session.order().into_iter().map(|stage| label(details, stage).len()).max();
    let mut out = laid_out(&mut lines, name.unwrap_or(0).max(NAME), width, paint);
    if let Some((last, all)) = later.split_last() {
        // All names have the same width, so that the dots are aligned.
        let all: String = all.iter().map(|stage| format!("· {stage:<7} ")).collect();
        let _ = writeln!(out, "  {all}· {last}");
    }
    out
}

fn laid_out(lines: &mut [Line], name: usize, screen: Option<usize>, paint: &Paint) -> String {
    let widths = fitted(lines, name, screen);
    let used: usize =
        widths.iter().filter(|width| **width > 0).map(|width| width + GAP.len()).sum();
    let room = screen.map_or(OUTCOME, |screen| screen.saturating_sub(INDENT + used));
    let mut out = String::new();
    for line in lines {
        let mut text = String::new();
        for (at, (cell, &width)) in line.cells.iter().zip(&widths).enumerate() {
            let has_lead = !line.lead.is_empty();
            let (cell, width) = match at {
                // Show a lead even if its columns have no width because no stage has a commit.
                1 if has_lead => (&line.lead, span(&widths)),
                2 if has_lead => continue,
                _ if width == 0 => continue,
                _ => (cell, width),
            };
            let free = " ".repeat(width.saturating_sub(measure_text_width(cell)));
            text += &match NUMBERS.contains(&at) {
                true => format!("{free}{cell}{GAP}"),
                false => format!("{cell}{free}{GAP}"),
            };
        }
        let mut below = None;
        if measure_text_width(&line.present) > room {
            below = screen.map(|screen| shortened(&line.present, screen.saturating_sub(BELOW)));
        } else {
            text += &line.present;
        }
        if room >= NARROWEST {
            text += &paint.checks(&shortened(&one_line(&line.outcome, OUTCOME), room));
        }
        let _ = writeln!(out, "  {} {}", line.sign, text.trim_end());
        if let Some(below) = below {
            let _ = writeln!(out, "{:BELOW$}{below}", "");
        }
    }
    out
}

/// The total width of the columns for the commit and for who passed it.
fn span(widths: &[usize; COLUMNS]) -> usize {
    let gap = if widths[1] > 0 && widths[2] > 0 { GAP.len() } else { 0 };
    widths[1] + gap + widths[2]
}

/// The width of each column on this screen; 0 if it is left out. Shortens the drafts first if there
/// is no room for the outcome.
fn fitted(lines: &mut [Line], name: usize, screen: Option<usize>) -> [usize; COLUMNS] {
    let mut widths = widths(lines, name);
    let Some(screen) = screen else { return widths };
    let is_wider = |widths: &[usize; COLUMNS]| {
        let used = widths.iter().filter(|width| **width > 0).map(|width| width + GAP.len());
        INDENT + used.sum::<usize>() > screen + GAP.len()
    };
    // The outcome is more important than the reason for many drafts.
    let outcome = lines.iter().map(|line| measure_text_width(&line.outcome)).max().unwrap_or(0);
    let used: usize =
        widths.iter().filter(|width| **width > 0).map(|width| width + GAP.len()).sum();
    if INDENT + used + outcome.min(OUTCOME_LEAST) > screen {
        for line in lines.iter_mut() {
            let drafts = &mut line.cells[DRAFTS];
            let end = drafts.find([',', '(']).unwrap_or(drafts.len());
            drafts.truncate(drafts[..end].trim_end().len());
        }
        widths[DRAFTS] = self::widths(lines, name)[DRAFTS];
    }
    for column in DISPENSABLE {
        if is_wider(&widths) {
            widths[column] = 0;
        }
    }
    widths
}

/// The width of each column without a limit.
fn widths(lines: &[Line], name: usize) -> [usize; COLUMNS] {
    let mut widths = [0; COLUMNS];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(&line.cells) {
            *width = (*width).max(measure_text_width(cell));
        }
    }
    widths[0] = widths[0].max(name);
    let lead = lines.iter().map(|line| measure_text_width(&line.lead)).max().unwrap_or(0);
    widths[2] += lead.saturating_sub(span(&widths));
    widths
}

fn label(details: &Details, stage: Stage) -> &str {
    details.labels.get(&stage).map_or(stage.name(), String::as_str)
}

fn done(status: &Status, details: &Details, stage: Stage, how: &str, paint: &Paint) -> Line {
    let session = &status.session;
    let mut line = Line { sign: paint.green("✓"), ..Line::default() };
    let Some(entry) = session.stage_entry(stage) else {
        let inherited = session.inherited().filter(|(last, _)| stage < *last);
        let place = match inherited.and_then(|(_, start)| start.from()) {
            Some(from) => format!("from {from}"),
            None if session.squashed => "squashed".to_owned(),
            None => "in a later commit".to_owned(),
        };
        stage.name().clone_into(&mut line.cells[0]);
        line.lead = format!("({place})");
        return line;
    };
    let took = match entry.from() {
        Some(from) => format!("from {from}"),
        None => drafts(entry, details, stage),
    };
    let spent = spent(status, stage, false);
    let [tokens, cost, time] = costs(&spent);
    line.cells = [
        label(details, stage).to_owned(),
        entry.commit.short().to_owned(),
        how.to_owned(),
        took,
        tokens,
        cost,
        time,
    ];
    // For code, the results of git-cowork's own checks say more than a summary.
    let checks = entry.trailers.get(key::CHECKS).filter(|checks| *checks != "none");
    line.outcome = match checks {
        Some(checks) => checks.to_owned(),
        None => entry.summary().to_owned(),
    };
    line
}

/// The usage of a stage, including the draft in progress if `with_draft`.
fn spent(status: &Status, stage: Stage, with_draft: bool) -> Spent {
    let stages = &status.used.stages;
    let mut spent = stages.iter().find(|(of, _)| *of == stage).map_or_else(Spent::default, |s| s.1);
    if with_draft {
        spent += status.used.draft;
    }
    spent
}

/// Tokens, money and time, each empty if unknown.
fn costs(spent: &Spent) -> [String; 3] {
    let count = spent.tokens();
    [
        if count > 0 { tokens(count) } else { String::new() },
        spent.cost().unwrap_or_default(),
        match spent.millis {
            0..1_000 => String::new(),
            millis => elapsed(Duration::from_millis(millis)),
        },
    ]
}

/// How many drafts a finished stage took, and how many of them its critic refused.
fn drafts(entry: &Entry, details: &Details, stage: Stage) -> String {
    let mut drafts = count(entry.iterations() as usize, "draft");
    if let Some(rejections) = details.rejections.get(&stage) {
        drafts += &format!(" (critic: {})", count(*rejections, "rejection"));
    }
    if details.reverted.contains(&stage) {
        drafts += ", after a revert";
    }
    drafts
}

fn in_progress(status: &Status, details: &Details, stage: Stage, paint: &Paint) -> Line {
    let session = &status.session;
    let (ready, all) = status.tasks;
    let has_tasks = row(stage).writes_code() && all > 0;
    let draft = match status.iteration {
        0 => String::new(),
        number => format!("draft {number}"),
    };
    let (lead, took) = match (has_tasks, status.iteration) {
        (true, _) => (format!("{} {}", bar(ready, all), of_tasks(status)), draft),
        (_, 0) => ("not begun".to_owned(), draft),
        _ => (draft, String::new()),
    };
    let mut present = Vec::new();
    if let (Some((task, how)), true) = (&status.task, all > 0) {
        present.push(format!("{task} {}", how.words()));
    }
    let last = session.history.iter().rev().find(|e| matches!(e.kind, Kind::Task(_)));
    if let Some(checks) = last.and_then(|entry| entry.trailers.get(key::CHECKS))
        && row(stage).writes_code()
        && checks != "none"
    {
        present.push(format!("last test run: {}", paint.checks(checks)));
    }
    let waiting = session.waiting();
    let back = waiting.as_ref().and_then(Waiting::goes_back);
    match waiting.map(|waiting| waiting.answer) {
        Some(None) => present.push("waits for review".to_owned()),
        Some(Some(answer)) => present.push(match (back, answer.verdict()) {
            (Some(stage), _) => format!("resume goes back to {stage}"),
            (_, Some(Verdict::Aborted)) => format!("aborted, resume {}", row(stage).after_abort),
            (_, Some(Verdict::Feedback)) => "feedback given; resume to continue".to_owned(),
            _ => "reviewed; resume to continue".to_owned(),
        }),
        None => {}
    }
    present.extend(details.next_by.as_ref().map(|model| format!("next draft by {model}")));
    let [tokens, cost, time] = costs(&spent(status, stage, true));
    let none = String::new;
    Line {
        sign: paint.yellow("●"),
        cells: [stage.name().to_owned(), none(), none(), took, tokens, cost, time],
        lead,
        present: present.join(" · "),
        outcome: String::new(),
    }
}

/// `2 of 5 tasks`
pub(crate) fn of_tasks(status: &Status) -> String {
    format!("{} of {}", status.tasks.0, count(status.tasks.1, "task"))
}

/// `1 draft`, `3 drafts`
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_decides_where_the_commits_stand() {
        let line = |name: &str| {
            let mut line = Line { sign: "✓".to_owned(), ..Line::default() };
            (line.cells[0], line.cells[1]) = (name.to_owned(), "1234567".to_owned());
            line
        };
        let table =
            laid_out(&mut [line("idea"), line("delivery-12")], 11, None, &Paint { on: false });
        let places: Vec<_> = table.lines().map(|line| line.find("1234567")).collect();
        assert_eq!(places[0], places[1], "{table}");
    }

    #[test]
    fn outcomes_are_aligned_if_only_one_stage_has_a_time() {
        let line = |time: &str| {
            let cells = ["coding", "1234567", "auto", "1 draft", "", "", time].map(str::to_owned);
            let (sign, outcome) = ("✓".to_owned(), "passed".to_owned());
            Line { sign, cells, outcome, ..Line::default() }
        };
        for width in [80, 100] {
            let mut lines = [line(""), line("5 s"), line("")];
            let table = laid_out(&mut lines, 8, Some(width), &Paint { on: false });
            let places: Vec<_> = table.lines().map(|line| line.find("passed")).collect();
            assert!(places[0].is_some() && places.iter().all(|at| *at == places[0]), "{table}");
        }
    }
}
