//! A terminal's screen as an SVG picture: its text can be selected, and is readable on light and
//! dark pages.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

/// Width of a character and height of a line, in pixels.
const CHARACTER: f64 = 8.4;
const LINE: f64 = 19.0;
/// Margin around the text.
const MARGIN: f64 = 16.0;
/// A monospaced font that every system has. Each run of text is positioned, so its width does not
/// matter.
const STYLE: &str = "\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:#24292f}\
rect{fill:#f6f8fa;stroke:#d0d7de}\
.b{font-weight:bold}.d{opacity:.65}\
.c1{fill:#b3261e}.c2{fill:#116329}.c3{fill:#7d4e00}.c4{fill:#0550ae}.c5{fill:#8250df}.c6{fill:#1b7c83}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#0d1117;stroke:#30363d}\
.c1{fill:#ff7b72}.c2{fill:#56d364}.c3{fill:#e3b341}.c4{fill:#79c0ff}.c5{fill:#d2a8ff}.c6{fill:#56d4dd}}";

/// The rows of a screen up to the last one that is not empty. The same screen gives the same bytes.
pub fn svg(screen: &Screen, title: &str) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let is_used = |row: u16| (0..columns).any(|column| !contents(screen, row, column).is_empty());
    let rows = (0..rows).rev().find(|row| is_used(*row)).map_or(0, |last| last + 1);
    let width = f64::from(columns) * CHARACTER + 2.0 * MARGIN;
    let height = f64::from(rows) * LINE + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\" aria-label=\"{0}\">\n<title>{0}</title>\n<style>{STYLE}</style>\n\
         <rect x=\".5\" y=\".5\" width=\"{1:.0}\" height=\"{2:.0}\" rx=\"6\"/>\n",
        escaped(title),
        width - 1.0,
        height - 1.0
    );
    for row in 0..rows {
        let y = MARGIN + LINE * (f64::from(row) + 0.75);
        let mut column = 0;
        while column < columns {
            let class = class(screen.cell(row, column));
            let begin = column;
            let mut text = String::new();
            // Two spaces start a new run, so that the text after them does not drift.
            while column < columns && self::class(screen.cell(row, column)) == class {
                let cell = contents(screen, row, column);
                if cell.is_empty() || cell == " " {
                    let next = contents(screen, row, column + 1);
                    if text.is_empty() || next.is_empty() || next == " " {
                        break;
                    }
                }
                text += if cell.is_empty() { " " } else { cell };
                column += 1;
            }
            if text.is_empty() {
                column += 1;
                continue;
            }
            let x = MARGIN + CHARACTER * f64::from(begin);
            let class = if class.is_empty() { class } else { format!(" class=\"{class}\"") };
            let _ =
                writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\"{class}>{}</text>", escaped(&text));
        }
    }
    out + "</svg>\n"
}

fn contents(screen: &Screen, row: u16, column: u16) -> &str {
    screen.cell(row, column).map_or("", Cell::contents)
}

/// The style classes of a cell.
fn class(cell: Option<&Cell>) -> String {
    let Some(cell) = cell else { return String::new() };
    let color = match cell.fgcolor() {
        Color::Idx(n @ 1..=6) | Color::Idx(n @ 9..=14) => format!("c{}", n % 8),
        _ => String::new(),
    };
    let words =
        [color.as_str(), if cell.bold() { "b" } else { "" }, if cell.dim() { "d" } else { "" }];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
