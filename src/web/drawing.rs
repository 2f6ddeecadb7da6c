//! The places of boxes in columns, and of the lines that join them, for an SVG. Colours and fonts
//! come from the page's style.

use serde::Serialize;
use serde_json::{Value, json};

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

/// A requirement, task or file, with the place on the page that shows more of it.
#[derive(Serialize)]
pub(super) struct GraphNode {
    pub(super) id: String,
    /// May be empty.
    pub(super) title: String,
    /// The id that the box links to.
    pub(super) place: Option<String>,
    pub(super) done: bool,
}

/// Lines from a box to a box in the next column, by their indices, and the number of a line's
/// colour.
pub(super) type Edges<'a> = (&'a [(usize, usize)], fn((usize, usize)) -> usize);

/// Draws three columns with their titles, and the lines between neighbours.
pub(super) fn drawing(columns: [(&str, &[GraphNode]); 3], lines: [Edges<'_>; 2]) -> Value {
    let rows = columns.iter().map(|(_, items)| items.len()).max().unwrap_or(0);
    let count = |column: u32| columns[column as usize].1.len();
    let mut edges = Vec::new();
    for (at, (pairs, color)) in (0..).zip(lines) {
        for (from, to) in pairs {
            let (x1, x2) = (left(at) + BOX, left(at + 1));
            let middle = (x1 + x2) / 2;
            let y1 = top(*from, count(at), rows) + HEIGHT / 2;
            let y2 = top(*to, count(at + 1), rows) + HEIGHT / 2;
            edges.push(json!({
                "class": COLORS[color((*from, *to)) % COLORS.len()],
                "path": format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}"),
            }));
        }
    }
    let node = |row: usize, item: &GraphNode, count: usize| {
        json!({
            "item": item,
            "id": one_line(&item.id, LETTERS - 2),
            "title": one_line(&item.title, LETTERS),
            "y": top(row, count, rows),
        })
    };
    let column = |(at, (title, items)): (u32, (&str, &[GraphNode]))| {
        let nodes = items.iter().enumerate().map(|(row, item)| node(row, item, items.len()));
        json!({"title": title, "x": left(at), "nodes": nodes.collect::<Vec<Value>>()})
    };
    json!({
        "width": WIDTH,
        "height": TOP + number(rows) * ROW + EDGE,
        "box": [BOX, HEIGHT],
        "lines": edges,
        "columns": (0..).zip(columns).map(column).collect::<Vec<Value>>(),
    })
}

/// The left edge of a column.
fn left(column: u32) -> u32 {
    EDGE + column * (BOX + GAP)
}

/// The top edge of a box; the boxes of a short column are spread over the height of the longest.
fn top(row: usize, count: usize, rows: usize) -> u32 {
    let share = number(rows) * ROW / number(count).max(1);
    TOP + number(row) * share + (share - ROW) / 2
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX / ROW / 4)
}

#[cfg(test)]
mod tests {
    use super::super::template::render;
    use super::*;
    use crate::secret::Secrets;

    #[test]
    fn lines_join_the_boxes_they_name_and_titles_are_text() {
        let item = |id: &str| GraphNode {
            id: id.to_owned(),
            title: "</text><script>".to_owned(),
            place: Some("here".to_owned()),
            done: true,
        };
        let drawn = drawing(
            [
                ("Requirements", &[item("REQ-001")]),
                ("Tasks", &[item("TASK-001"), item("TASK-002")]),
                ("Files", &[]),
            ],
            [(&[(0, 1)], |_| 7), (&[], |_| 0)],
        );
        let (x1, x2) = (EDGE + BOX, EDGE + BOX + GAP);
        let from = TOP + ROW / 2 + HEIGHT / 2;
        let to = TOP + ROW + HEIGHT / 2;
        let page = json!({"overview": {}, "sections": [{"id": "graph", "data": drawn}]});
        let out = render(page, &Secrets::new([])).unwrap();
        assert!(out.contains("class=\"e1\""), "{out}");
        assert!(out.contains(&format!("M{x1} {from}C")) && out.contains(&format!("{x2} {to}\"")));
        assert!(!out.contains("<script") && out.contains("&lt;/text&gt;"), "{out}");
    }
}
