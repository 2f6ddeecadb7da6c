//! The events of a session as a table as wide as the screen, one line for each event,
//! and the lines that `log -v` shows below it: everything that does not fit there.

use console::{Alignment, measure_text_width, pad_str};

use crate::cli::terminal::log_row::Row;
use crate::cli::terminal::paint::Paint;
use crate::session::{ChangedFile, Step, in_short};
use crate::ui::{one_line, sanitize};
use crate::wrap::{hanging, shortened, wrap};

/// Gap between the text and the columns after it.
const GAP: usize = 2;
/// Minimum width of the text: other columns are left out until the text has this width.
const LEAST: usize = 24;
/// Maximum width of the text if the width of the screen is unknown.
const MOST: usize = 72;
/// Maximum width of the column with names, on a screen.
const WHO: usize = 26;
/// Width of a short commit id, in columns.
const COMMIT: usize = 7;
/// Indentation of a command that has its own line.
const BELOW: usize = 6;

/// The width of each column; 0 if the column is left out.
pub(crate) struct Columns {
    screen: Option<usize>,
    margin: usize,
    time: usize,
    label: usize,
    text: usize,
    /// Width of the titles of tasks, which are followed by files.
    title: usize,
    who: usize,
    tokens: usize,
    cost: usize,
}

impl Columns {
    /// The columns for these rows, after a margin of `margin` columns. `with_date` shows the day of
    /// each event.
    pub(crate) fn of(rows: &[Row], margin: usize, screen: Option<usize>, with_date: bool) -> Self {
        let widest = |of: fn(&Row) -> &str| {
            rows.iter().map(|row| measure_text_width(of(row))).max().unwrap_or(0)
        };
        let tasks = rows.iter().filter(|row| !row.files.is_empty());
        let title = tasks.clone().map(|row| measure_text_width(&row.text)).max().unwrap_or(0);
        let files = tasks.map(|row| measure_text_width(&row.files)).max().unwrap_or(0);
        let told = rows.iter().filter(|row| row.has_end());
        let told = told.map(|row| measure_text_width(&row.text)).max().unwrap_or(0);
        let whole = told.max(if files > 0 { title + GAP + files } else { 0 });
        let mut columns = Self {
            screen,
            margin,
            time: if with_date { 16 } else { 5 },
            label: widest(|row| &row.label),
            text: whole.min(MOST),
            title,
            who: widest(|row| &row.who),
            tokens: widest(|row| &row.tokens),
            cost: widest(|row| &row.cost),
        };
        if let Some(screen) = screen {
            columns.who = columns.who.min(WHO);
            let room = columns.fitted(screen, whole.min(LEAST));
            columns.text = whole.min(room);
        }
        columns.title = columns.title.min(columns.text);
        columns
    }

    /// The table's columns for rows that are not yet known, because events are printed as they
    /// happen.
    pub(crate) fn of_a_stream(screen: Option<usize>) -> Self {
        let with_date = screen.is_none();
        let row = Row {
            label: " ".repeat(9),
            who: " ".repeat(12),
            tokens: " ".repeat(4),
            cost: " ".repeat(5),
            text: " ".repeat(if with_date { 0 } else { MOST }),
            ..Row::default()
        };
        Self::of(&[row], 0, screen, with_date)
    }

    /// Leaves out columns of the table until the text is at least `least` wide; returns the width
    /// of the text.
    fn fitted(&mut self, screen: usize, least: usize) -> usize {
        for left_out in 0..5 {
            match left_out {
                1 => self.cost = 0,
                2 => self.tokens = 0,
                3 => self.time = 0,
                4 => self.who = 0,
                _ => {}
            }
            if screen.saturating_sub(self.text_begins() + self.end()) >= least {
                break;
            }
        }
        screen.saturating_sub(self.text_begins() + self.end())
    }

    /// The column at which the text of a line begins.
    fn text_begins(&self) -> usize {
        let time = if self.time > 0 { self.time + 2 } else { 0 };
        let label = if self.label > 0 { self.label + GAP } else { 0 };
        self.margin + time + COMMIT + 1 + 2 + label
    }

    /// The column at which the text of a line begins, without the margin.
    pub(crate) fn indent(&self) -> usize {
        self.text_begins() - self.margin
    }

    /// Width from the start of the text to the right edge of the screen.
    pub(crate) fn room(&self) -> Option<usize> {
        self.screen.map(|screen| screen.saturating_sub(self.text_begins()))
    }

    /// Total width of the table's columns after the text.
    fn end(&self) -> usize {
        [self.who, self.tokens, self.cost].into_iter().filter(|w| *w > 0).map(|w| w + GAP).sum()
    }

    /// Width of a whole line.
    fn all(&self) -> usize {
        self.text_begins() + self.text + self.end()
    }

    /// The title of the table, with the totals of the session on the right.
    pub(crate) fn header(&self, left: &str, right: &str, paint: &Paint) -> String {
        let (columns, gap) = (measure_text_width, 2);
        let both = columns(left) + gap + columns(right);
        let Some(screen) = self.screen else { return format!("{left}{:gap$}{right}\n", "") };
        if both > screen {
            let left = paint.bold(&shortened(left, screen));
            let right = hanging(right, screen, 2);
            return format!("{left}\n  {right}\n");
        }
        let free = self.all().clamp(both, screen) - columns(left) - columns(right);
        format!("{}{:free$}{right}\n", paint.bold(left), "")
    }

    /// The line of a row without its margin, and a second line for a command that does not fit
    /// beside the text.
    pub(crate) fn lines(&self, row: &Row, paint: &Paint) -> Vec<String> {
        let mut line = self.begin(row, paint);
        let room = self.screen.map(|screen| screen.saturating_sub(self.text_begins()));
        let fit = |text: &str, room: Option<usize>| {
            room.map_or_else(|| text.to_owned(), |room| shortened(text, room))
        };
        if !row.command.is_empty() {
            let beside =
                room.map(|room| room.saturating_sub(GAP + measure_text_width(&row.command)));
            let has_room =
                beside.is_none_or(|beside| beside >= measure_text_width(&row.text).min(LEAST));
            if !has_room {
                line += &fit(&row.text, room);
                return vec![line, format!("{:BELOW$}{}", "", row.command)];
            }
            let text = fit(&row.text, beside);
            let column = self.text.min(beside.unwrap_or(self.text));
            line += &pad_str(&text, column, Alignment::Left, None);
            return vec![format!("{line}{:GAP$}{}", "", row.command)];
        }
        if !row.has_end() {
            line += &fit(&row.text, room);
            return vec![line.trim_end().to_owned()];
        }
        let text = self.text_and_files(row);
        line += &pad_str(&text, self.text, Alignment::Left, None);
        line += &self.ending(row, paint);
        vec![line.trim_end().to_owned()]
    }

    /// Time, commit, mark and label.
    fn begin(&self, row: &Row, paint: &Paint) -> String {
        let mut line = String::new();
        if self.time > 0 {
            let all = row.time.len();
            let time = row.time.get(all.saturating_sub(self.time)..).unwrap_or_default();
            line += &format!("{time:<width$}  ", width = self.time);
        }
        line += &paint.yellow(&format!("{:<COMMIT$}", row.commit));
        let mark = row.mark.unwrap_or(' ');
        let mark = match mark {
            '✓' => paint.green("✓"),
            '✗' => paint.red("✗"),
            '↩' | '?' => paint.yellow(&mark.to_string()),
            other => other.to_string(),
        };
        line += &format!(" {mark} ");
        if self.label > 0 {
            let label = pad_str(&row.label, self.label + GAP, Alignment::Left, None);
            line += &if row.is_left { paint.dim(&label) } else { label.into_owned() };
        }
        line
    }

    /// The text; after the title of a task, also the files it changed, if there is room.
    fn text_and_files(&self, row: &Row) -> String {
        let most = self.screen.map_or(usize::MAX, |_| self.text);
        let title = measure_text_width(&row.text);
        let files = measure_text_width(&row.files);
        if files == 0 || title + GAP + files > most {
            return shortened(&row.text, most);
        }
        let column = title.max(self.title).min(most - GAP - files);
        let title = pad_str(&row.text, column, Alignment::Left, None);
        format!("{title}{:GAP$}{}", "", row.files)
    }

    /// Who decided, and the usage.
    fn ending(&self, row: &Row, paint: &Paint) -> String {
        let mut line = String::new();
        if self.who > 0 {
            let who = match self.screen {
                Some(_) => shortened(&row.who, self.who),
                None => row.who.clone(),
            };
            let who = pad_str(&who, self.who, Alignment::Left, None).into_owned();
            let who = if row.who == "tests ✗" { paint.red(&who) } else { who };
            line += &format!("{:GAP$}{who}", "");
        }
        for (width, cell) in [(self.tokens, &row.tokens), (self.cost, &row.cost)] {
            if width > 0 {
                line += &format!("{:GAP$}{cell:>width$}", "");
            }
        }
        line
    }
}

impl Row {
    /// True if the row has cells after its text.
    fn has_end(&self) -> bool {
        [&self.who, &self.tokens, &self.cost, &self.files].iter().any(|cell| !cell.is_empty())
    }
}

/// Minimum width of a detail, for narrow screens.
const NARROWEST: usize = 16;

/// The lines of details below an event. `line` is the event's row as it was printed, without its
/// margin; text that it shows in full is not repeated.
pub(crate) fn details(step: &Step, row: &Row, line: &str, columns: &Columns) -> Vec<String> {
    let mut told = Vec::new();
    // Do not repeat text that the line shows in full.
    let is_cut = !line.contains(&row.text) || row.text.contains('…');
    let is_whole = !is_cut && !step.words().contains('\n');
    if !is_whole {
        told.extend(sanitize(&step.words()).lines().map(str::to_owned));
    }
    let facts = step.facts();
    if !facts.is_empty() {
        told.push(one_line(&facts.join(" · "), usize::MAX));
    }
    if step.event == "stage_completed" && !step.reason.is_empty() {
        told.push(format!("critic: {}", one_line(&step.reason, usize::MAX)));
    }
    if step.event == "question_answered" {
        told.push(format!("actor: {}", one_line(&step.summary, usize::MAX)));
    }
    told.extend(step.counted().iter().map(file));
    told.extend(step.transcripts.iter().map(|path| path.display().to_string()));
    let indent = columns.indent();
    let told = told.into_iter().flat_map(|line| match columns.room() {
        Some(room) => wrap(&line, room.max(NARROWEST)),
        None => vec![line],
    });
    told.map(|line| format!("{:indent$}{line}", "")).collect()
}

/// `lib/store.py +42 −3`
fn file(changed: &ChangedFile) -> String {
    let nameless = ChangedFile { path: String::new(), ..changed.clone() };
    let counts = in_short(&[nameless]);
    one_line(&format!("{}{counts}", changed.path), usize::MAX)
}

/// The lines of an event that is shown as it happens, with details if `verbose`.
pub(crate) fn as_it_happens(
    (step, more): (&Step, usize),
    screen: Option<usize>,
    verbose: bool,
    paint: &Paint,
) -> String {
    let row = Row::of(step, more, None);
    let columns = Columns::of_a_stream(screen);
    let mut lines = columns.lines(&row, paint);
    if verbose {
        lines.extend(details(step, &row, &lines[0], &columns));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let row = |commit: &str, mark, label: &str, text: &str, who: &str| Row {
            time: "2026-11-21 02:42".to_owned(),
            commit: commit.to_owned(),
            mark,
            label: label.to_owned(),
            text: text.to_owned(),
            who: who.to_owned(),
            ..Row::default()
        };
        let took = |row: Row, tokens: &str, cost: &str| Row {
            tokens: tokens.to_owned(),
            cost: cost.to_owned(),
            ..row
        };
        let left = row("497ef95", Some('↩'), "plan", "attempt 1 left behind: going round", "");
        let task = row("f3022e5", None, "TASK-001", "Store todos in a JSON file", "tests ✓");
        vec![
            took(row("8857553", Some('✓'), "idea", "Todo CLI", "you"), "3.2k", "$0.01"),
            row("", Some('✗'), "prd", "draft 1: critic, major: make point 1 clearer", ""),
            Row { command: "git cowork restore todo 1".to_owned(), is_left: true, ..left },
            Row { files: "store.py +2".to_owned(), ..took(task, "8k", "") },
        ]
    }

    fn shown(width: usize) -> Vec<String> {
        let columns = Columns::of(&rows(), 2, Some(width), false);
        let paint = Paint { on: false };
        rows().iter().flat_map(|row| columns.lines(row, &paint)).collect()
    }

    #[test]
    fn an_event_is_a_line() {
        assert_eq!(
            shown(100),
            [
                "02:42  8857553 ✓ idea      Todo CLI                                 you      3.2k  $0.01",
                "02:42          ✗ prd       draft 1: critic, major: make point 1 clearer",
                "02:42  497ef95 ↩ plan      attempt 1 left behind: going round       git cowork restore todo 1",
                "02:42  f3022e5   TASK-001  Store todos in a JSON file  store.py +2  tests ✓    8k",
            ]
        );
    }

    #[test]
    fn narrow_screens_leave_columns_out_and_never_break_a_command() {
        for width in 30..120 {
            for line in shown(width) {
                let fits = measure_text_width(&line) + 2 <= width;
                assert!(fits || line.trim() == "git cowork restore todo 1", "{width}: {line}");
            }
        }
        assert_eq!(
            shown(40),
            [
                "8857553 ✓ idea      Todo CLI",
                "        ✗ prd       draft 1: critic…",
                "497ef95 ↩ plan      attempt 1 left…",
                "      git cowork restore todo 1",
                "f3022e5   TASK-001  Store todos in a…",
            ]
        );
    }
}
