//! Finds the lines of a file most similar to a passage that was not found, for the refusal of an
//! edit.

use strsim::sorensen_dice;

/// Minimum share of common letter pairs for a line to be shown.
const ALIKE: f64 = 0.5;
/// Longer lines are usually generated, not what an edit refers to.
const LINE_MAX: usize = 500;
const SHOWN_MAX: usize = 12;

/// Returns a few numbered lines around the one most similar to the first line of `passage`.
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
