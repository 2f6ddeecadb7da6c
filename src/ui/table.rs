//! A table that fits the screen: the widest columns become narrower, and their cells get more
//! lines.

use console::measure_text_width;
use pulldown_cmark::Alignment;

use super::styled::parts;

/// The space between two columns.
const GAP: &str = "  ";
/// No column becomes narrower than this.
const NARROWEST: usize = 6;

/// The rows as they are parsed; the first is the header.
#[derive(Default)]
pub(super) struct Table {
    sides: Vec<Alignment>,
    rows: Vec<Vec<String>>,
    row: Vec<String>,
}

impl Table {
    pub(super) fn new(sides: Vec<Alignment>) -> Self {
        Self { sides, ..Self::default() }
    }

    pub(super) fn cell(&mut self, text: String) {
        self.row.push(text);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Returns the table's lines, at most `room` columns wide if possible.
    pub(super) fn lines(&self, room: usize) -> Vec<String> {
        let widths = self.widths(room);
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<String>> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| {
                    let text = row.get(column).map_or("", |text| text.trim());
                    match at {
                        0 if !text.is_empty() => parts(&format!("\u{180b}{text}\u{180c}"), *width),
                        _ => parts(text, *width),
                    }
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            lines.extend((0..height).map(|line| self.line(&cells, &widths, line)));
            if at == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(rules.join(GAP));
            }
        }
        lines
    }

    fn line(&self, cells: &[Vec<String>], widths: &[usize], line: usize) -> String {
        let texts = cells.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            let text = cell.get(line).map_or("", String::as_str);
            let free = width.saturating_sub(measure_text_width(text));
            let left = match self.sides.get(column) {
                Some(Alignment::Right) => free,
                Some(Alignment::Center) => free / 2,
                _ => 0,
            };
            format!("{}{text}{}", " ".repeat(left), " ".repeat(free - left))
        });
        texts.collect::<Vec<_>>().join(GAP)
    }

    fn widths(&self, room: usize) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| measure_text_width(cell.trim())).max().unwrap_or(0).max(1)
        };
        let mut widths: Vec<usize> = (0..columns).map(widest).collect();
        let room = room.saturating_sub(GAP.len() * columns.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let Some(most) = widths.iter_mut().max() else { break };
            if *most <= NARROWEST {
                break;
            }
            *most -= 1;
        }
        widths
    }
}
