//! The records of a draft as a table: requirements, components, or tasks in order.

use console::{measure_text_width, pad_str};

use crate::gate::clean::clean_line;
use crate::gate::paint::Paint;
use crate::wrap::shortened;

/// Spaces between two columns.
const GAP: usize = 2;
/// Minimum width of the title column; columns to its right are dropped first.
const TITLE: usize = 16;

/// The records of a draft.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The number of records: `5 tasks`.
    pub count: String,
    /// Headings of the columns after id and title.
    pub heads: Vec<&'static str>,
    /// The rows, one per record.
    pub rows: Vec<Record>,
}

/// A record: its id, its title, and a cell for each heading.
#[derive(Clone, Debug)]
pub struct Record {
    /// True if it did not exist at the last look.
    pub is_new: bool,
    /// Id, title, and a cell for each heading.
    pub cells: Vec<String>,
}

impl Records {
    /// The table in `width` columns: its heading, then one line per record.
    pub(super) fn lines(&self, paint: Paint, width: usize) -> (String, Vec<String>) {
        let cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.cells.iter().map(|cell| clean_line(cell)).collect())
            .collect();
        let widths = self.widths(&cells, width);
        let heads: Vec<String> = self.heads.iter().map(|head| (*head).to_owned()).collect();
        let behind = paint.dim(&row(&heads, &widths[2..]));
        let first = widths[0] + widths[1] + GAP + 2;
        let first = pad_str(&self.count, first, console::Alignment::Left, None);
        let head = format!(" {first}{}{behind}", " ".repeat(GAP));
        let lines = self.rows.iter().zip(&cells).map(|(record, cells)| {
            let line = row(cells, &widths);
            match record.is_new {
                true => format!(" {} {line}", paint.good("+")),
                false => format!("   {line}"),
            }
        });
        (head.trim_end().to_owned(), lines.collect())
    }

    /// Column widths that fit: the last columns are dropped first, then the title is cut.
    fn widths(&self, cells: &[Vec<String>], width: usize) -> Vec<usize> {
        let room = width.saturating_sub(4);
        let widest = |column: usize| {
            let head = match column.checked_sub(2) {
                Some(at) => self.heads.get(at).map_or(0, |head| head.len()),
                None => 0,
            };
            let cells = cells.iter().filter_map(|row| row.get(column));
            cells.map(|cell| measure_text_width(cell)).max().unwrap_or(0).max(head)
        };
        let mut widths: Vec<usize> = (0..self.heads.len() + 2).map(widest).collect();
        let sum = |widths: &[usize]| widths.iter().sum::<usize>() + GAP * (widths.len() - 1);
        let least = |widths: &[usize]| sum(widths) - widths[1].saturating_sub(TITLE);
        // Wide columns are narrowed before any is dropped.
        while least(&widths) > room {
            match widths.iter_mut().skip(2).max().filter(|most| **most > TITLE) {
                Some(most) => *most -= 1,
                None => break,
            }
        }
        while widths.len() > 2 && least(&widths) > room {
            widths.pop();
        }
        let over = sum(&widths).saturating_sub(room);
        widths[1] = widths[1].saturating_sub(over).max(1);
        widths
    }
}

fn row(cells: &[String], widths: &[usize]) -> String {
    let cut = |(cell, width): (&String, &usize)| {
        let cell = shortened(cell, *width);
        pad_str(&cell, *width, console::Alignment::Left, None).into_owned()
    };
    let line: Vec<String> = cells.iter().zip(widths).map(cut).collect();
    line.join(&" ".repeat(GAP)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks() -> Records {
        let row = |id: &str, title: &str, is_new| Record {
            is_new,
            cells: [id, title, "FEAT-001 Manage", "001", "cli.py"].map(str::to_owned).to_vec(),
        };
        Records {
            count: "2 tasks".to_owned(),
            heads: vec!["feature", "after", "files"],
            rows: vec![
                row("TASK-001", "Store todos in a JSON file", false),
                row("TASK-002", "Parse the command line", true),
            ],
        }
    }

    #[test]
    fn a_table_has_a_row_per_record_and_marks_new_ones() {
        let (head, rows) = tasks().lines(Paint(false), 100);
        assert_eq!(
            format!("{head}\n{}", rows.join("\n")),
            " 2 tasks                                 feature          after  files\n   \
             TASK-001  Store todos in a JSON file  FEAT-001 Manage  001    cli.py\n \
             + TASK-002  Parse the command line      FEAT-001 Manage  001    cli.py"
        );
    }

    #[test]
    fn a_narrow_table_drops_columns_and_fits_its_width() {
        for width in [20, 40, 60] {
            let (head, rows) = tasks().lines(Paint(false), width);
            let widest = rows.iter().chain([&head]).map(|line| measure_text_width(line)).max();
            assert!(widest.unwrap() <= width, "{width}: {head}\n{rows:?}");
        }
        let (_, rows) = tasks().lines(Paint(false), 40);
        assert_eq!(rows[0], "   TASK-001  Store todos in a JSON file");
    }
}
