//! Draws columns of boxes that are joined by lines, as SVG. Colours and fonts come from the page's
//! style; all positions are computed here.

use super::html::Html;
use crate::clean::one_line;

/// Width of the whole drawing, of a box, and of the gap between columns.
const WIDTH: u32 = 960;
const BOX: u32 = 250;
const GAP: u32 = (WIDTH - 3 * BOX - 2 * EDGE) / 2;
/// The margin at the sides and below, and the space above the boxes.
const EDGE: u32 = 8;
const TOP: u32 = 30;
/// Height of a box, and of a row.
const HEIGHT: u32 = 40;
const ROW: u32 = 52;
/// Maximum number of characters in a line of a box.
const LETTERS: usize = 34;
/// Classes of the page's style that colour the lines.
const COLORS: [&str; 6] = ["e0", "e1", "e2", "e3", "e4", "e5"];

/// A box.
pub(super) struct Node {
    pub(super) id: String,
    /// May be empty.
    pub(super) title: String,
    /// The id that the box links to.
    pub(super) place: Option<String>,
    pub(super) done: bool,
}

/// A line from a box to a box in the next column, by their indices.
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Any number; lines with equal numbers have the same colour.
    pub(super) color: usize,
}

/// Three columns, and the lines between neighbours.
pub(super) struct Drawing {
    pub(super) columns: [(&'static str, Vec<Node>); 3],
    pub(super) edges: [Vec<Edge>; 2],
}

impl Drawing {
    /// Writes the drawing; on a narrow screen it scrolls sideways.
    pub(super) fn write(&self, html: &mut Html<'_>) {
        let rows = self.columns.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0);
        let height = TOP + number(rows) * ROW + EDGE;
        html.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Graph\">\n");
        let view = format!("0 0 {WIDTH} {height}");
        html.open(
            "svg",
            &[
                ("viewBox", view.as_str()),
                ("role", "group"),
                ("aria-label", "Requirements, tasks and files"),
            ],
        );
        for (at, edges) in (0..).zip(&self.edges) {
            self.lines(html, at, edges, rows);
        }
        for (at, (title, nodes)) in (0..).zip(&self.columns) {
            let x = (left(at) + 2).to_string();
            html.element("text", &[("class", "column"), ("x", &x), ("y", "18")], title);
            for (row, node) in nodes.iter().enumerate() {
                node.write(html, left(at), top(row, nodes.len(), rows));
            }
        }
        html.raw("</svg>\n").close("div");
    }

    /// The lines from a column to the next.
    fn lines(&self, html: &mut Html<'_>, at: u32, edges: &[Edge], rows: usize) {
        let count = |column: u32| self.columns[column as usize].1.len();
        for Edge { from, to, color } in edges {
            let (x1, x2) = (left(at) + BOX, left(at + 1));
            let middle = (x1 + x2) / 2;
            let y1 = top(*from, count(at), rows) + HEIGHT / 2;
            let y2 = top(*to, count(at + 1), rows) + HEIGHT / 2;
            let path = format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}");
            html.open("path", &[("class", COLORS[color % COLORS.len()]), ("d", &path)]);
            html.close("path");
        }
    }
}

impl Node {
    fn write(&self, html: &mut Html<'_>, x: u32, y: u32) {
        html.open("g", &[("class", if self.done { "done" } else { "open" })]);
        let place = self.place.as_ref().map(|place| format!("#{place}"));
        if let Some(place) = &place {
            html.open("a", &[("href", place)]);
        }
        let [left, top, width, height] = [x, y, BOX, HEIGHT].map(|number| number.to_string());
        let whole = format!("{} {}", self.id, self.title);
        html.element("title", &[], whole.trim());
        let place_of_box = [
            ("x", left.as_str()),
            ("y", &top),
            ("width", &width),
            ("height", &height),
            ("rx", "6"),
        ];
        html.open("rect", &place_of_box).close("rect");
        self.words(html, x, y);
        if place.is_some() {
            html.raw("</a>");
        }
        html.close("g");
    }

    /// Writes the id with the title below it, or the id alone in the middle.
    fn words(&self, html: &mut Html<'_>, x: u32, y: u32) {
        let x = (x + 10).to_string();
        let sign = if self.done { "✓ " } else { "" };
        let id = format!("{sign}{}", one_line(&self.id, LETTERS - 2));
        let first = if self.title.is_empty() { y + 25 } else { y + 17 };
        html.element("text", &[("class", "id"), ("x", &x), ("y", &first.to_string())], &id);
        if !self.title.is_empty() {
            let title = one_line(&self.title, LETTERS);
            html.element("text", &[("x", &x), ("y", &(y + 33).to_string())], &title);
        }
    }
}

/// The left edge of a column.
fn left(column: u32) -> u32 {
    EDGE + column * (BOX + GAP)
}

/// The top edge of a box; the boxes of a short column are spread over the height of the longest.
fn top(row: usize, of: usize, rows: usize) -> u32 {
    let share = number(rows) * ROW / number(of).max(1);
    TOP + number(row) * share + (share - ROW) / 2
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX / ROW / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secrets;

    #[test]
    fn lines_join_the_boxes_they_name_and_titles_are_text() {
        let node = |id: &str| Node {
            id: id.to_owned(),
            title: "</text><script>".to_owned(),
            place: Some("here".to_owned()),
            done: true,
        };
        let drawing = Drawing {
            columns: [
                ("Requirements", vec![node("REQ-001")]),
                ("Tasks", vec![node("TASK-001"), node("TASK-002")]),
                ("Files", Vec::new()),
            ],
            edges: [vec![Edge { from: 0, to: 1, color: 7 }], Vec::new()],
        };
        let secrets = Secrets::new([]);
        let mut html = Html::new(&secrets);
        drawing.write(&mut html);
        let out = html.into_string();
        let (x1, x2) = (EDGE + BOX, EDGE + BOX + GAP);
        let from = TOP + ROW / 2 + HEIGHT / 2;
        let to = TOP + ROW + HEIGHT / 2;
        assert!(out.contains("class=\"e1\""), "{out}");
        assert!(out.contains(&format!("M{x1} {from}C")) && out.contains(&format!("{x2} {to}\"")));
        assert!(!out.contains("<script") && out.contains("&lt;/text&gt;"), "{out}");
    }
}
