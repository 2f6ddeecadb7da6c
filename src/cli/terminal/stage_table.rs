//! The stages of a session as a table: how each was passed, what it took, what came out of it.

use std::fmt::Write as _;
use std::time::Duration;

use console::measure_text_width;

use crate::cli::terminal::paint::Paint;
use crate::session::{Details, Entry, Kind, Status, Verdict, key};
use crate::spent::{Spent, tokens};
use crate::stage::Stage;
use crate::stages::row;
use crate::ui::{bar, elapsed, one_line};
use crate::wrap::shortened;

/// Between two columns.
const GAP: &str = "  ";
/// What stands before the first column: two spaces, the sign and a space.
const INDENT: usize = 4;
/// Longest outcome of a stage where nothing says how wide the screen is.
const OUTCOME: usize = 100;
/// So much of an outcome comes before details of drafts.
const OUTCOME_LEAST: usize = 40;
/// Fewer columns are no room for an outcome.
const NARROWEST: usize = 12;
/// What goes on stands so far to the right where it has a line of its own.
const BELOW: usize = 6;

/// Columns: name, commit, who passed it, drafts, tokens, money, time.
const COLUMNS: usize = 7;
/// The columns that hold numbers; they stand to the right.
const NUMBERS: std::ops::Range<usize> = 4..COLUMNS;
/// What narrow screens leave out, in this order: time, money, tokens, at last the drafts.
const DISPENSABLE: [usize; 4] = [6, 5, 4, DRAFTS];
/// The column of the drafts, which may be told in fewer words.
const DRAFTS: usize = 3;

/// A stage that is done or in progress.
#[derive(Default)]
struct Line {
    sign: String,
    cells: [String; COLUMNS],
    /// What stands in place of a commit and of who passed it: how far it is, or where it is from.
    lead: String,
    /// What came out of it, as much as there is room for.
    outcome: String,
    /// What goes on or is waited for: said on a line of its own where there is no room.
    present: String,
}

/// A line for each stage that is done or in progress, one for all that come later, and the total.
/// Nothing is left out where there is no `width`.
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
    let mut out = laid_out(&mut lines, name.unwrap_or(0).max(9), width, paint);
    if let Some((last, all)) = later.split_last() {
        // As wide as the names of the stages above, so that the dots stand in columns.
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
            let cell = match at {
                1 if !line.lead.is_empty() => &line.lead,
                2 if !line.lead.is_empty() => continue,
                _ => cell,
            };
            // A lead stands also where no stage has a commit.
            if width == 0 && (line.lead.is_empty() || cell != &line.lead) {
                continue;
            }
            let width = if cell == &line.lead { span(&widths) } else { width };
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

/// Columns of the commit and of who passed it together.
fn span(widths: &[usize; COLUMNS]) -> usize {
    let gap = if widths[1] > 0 && widths[2] > 0 { GAP.len() } else { 0 };
    widths[1] + gap + widths[2]
}

/// How wide each column is on this screen; 0 for one that is left out. Where that is not enough, drafts
/// are told in fewer words.
fn fitted(lines: &mut [Line], name: usize, screen: Option<usize>) -> [usize; COLUMNS] {
    let mut widths = widths(lines, name);
    let Some(screen) = screen else { return widths };
    let is_wider = |widths: &[usize; COLUMNS]| {
        let used = widths.iter().filter(|width| **width > 0).map(|width| width + GAP.len());
        INDENT + used.sum::<usize>() > screen + GAP.len()
    };
    // Why there were so many drafts is less than what came out of them.
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

/// How wide each column is.
fn widths(lines: &[Line], name: usize) -> [usize; COLUMNS] {
    let mut widths = [0; COLUMNS];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(&line.cells) {
            *width = (*width).max(measure_text_width(cell));
        }
    }
    // One space is enough between the name of a stage and its commit.
    widths[0] = widths[0].max(name).saturating_sub(GAP.len() - 1);
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
    // Of code the program's own checks say more than words do.
    let checks = entry.trailers.get(key::CHECKS).filter(|checks| *checks != "none");
    line.outcome = match checks {
        Some(checks) => checks.to_owned(),
        None => entry.summary().to_owned(),
    };
    line
}

/// What a stage took; the draft in progress is part of it.
fn spent(status: &Status, stage: Stage, with_draft: bool) -> Spent {
    let stages = &status.used.stages;
    let mut spent = stages.iter().find(|(of, _)| *of == stage).map_or_else(Spent::default, |s| s.1);
    if with_draft {
        spent += status.used.draft;
    }
    spent
}

/// Tokens, money and time, each empty where it is not known.
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
    match session.waiting().map(|waiting| waiting.answer) {
        Some(None) => present.push("waits for review".to_owned()),
        Some(Some(answer)) => present.push(match answer.verdict() {
            Some(Verdict::Aborted) => format!("aborted, resume {}", row(stage).after_abort),
            Some(Verdict::Feedback) => "feedback given; resume continues".to_owned(),
            _ => "reviewed; resume continues".to_owned(),
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
