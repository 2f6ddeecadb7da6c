//! The lines that `log -v` shows below the line of an event: everything that does not fit there.

use crate::cli::terminal::log_row::Row;
use crate::cli::terminal::log_table::Columns;
use crate::cli::terminal::paint::Paint;
use crate::session::{ChangedFile, Step, in_short};
use crate::ui::{one_line, sanitize};
use crate::wrap::wrap;

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
