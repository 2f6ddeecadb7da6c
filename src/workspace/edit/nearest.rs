//! The lines of a file that look most like a passage that was not found, for the answer to a
//! failed edit.

use strsim::sorensen_dice;

/// Share of common letter pairs below which nothing is worth showing.
const ALIKE: f64 = 0.5;
/// Lines longer than this are generated, and not what anybody looks for.
const LINE_MAX: usize = 500;
const SHOWN_MAX: usize = 12;

/// A few numbered lines around the one most like the first line of `passage`.
pub(crate) fn excerpt(text: &str, passage: &str) -> Option<String> {
    let (skipped, wanted) = passage.lines().enumerate().find(|(_, line)| line.trim().len() > 2)?;
    let lines: Vec<_> = text.lines().collect();
    let mut best = (ALIKE, None);
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.len() <= LINE_MAX) {
        let score = sorensen_dice(wanted.trim(), line.trim());
        if score > best.0 {
            best = (score, Some(index));
        }
    }
    let first = best.1?.saturating_sub(skipped);
    let count = passage.lines().count().clamp(1, SHOWN_MAX);
    let shown = lines.iter().enumerate().skip(first).take(count);
    Some(
        shown.map(|(index, line)| format!("{} | {line}", index + 1)).collect::<Vec<_>>().join("\n"),
    )
}
