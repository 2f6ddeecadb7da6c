//! The lines of a file that look most like a passage that was not found, for the answer to a
//! failed edit.

use std::collections::HashMap;

/// Share of common letter pairs below which nothing is worth showing.
const ALIKE: f64 = 0.5;
/// Lines longer than this are generated, and not what anybody looks for.
const LINE_MAX: usize = 500;
const SHOWN_MAX: usize = 12;

/// A few numbered lines around the one most like the first line of `passage`.
pub(super) fn excerpt(text: &str, passage: &str) -> Option<String> {
    let (skipped, wanted) = passage.lines().enumerate().find(|(_, line)| line.trim().len() > 2)?;
    let pairs = pairs(wanted.trim());
    let lines: Vec<_> = text.lines().collect();
    let mut best = (ALIKE, None);
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.len() <= LINE_MAX) {
        let score = likeness(&pairs, line.trim());
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

fn pairs(line: &str) -> HashMap<(char, char), usize> {
    let mut pairs = HashMap::new();
    for pair in line.chars().zip(line.chars().skip(1)) {
        *pairs.entry(pair).or_default() += 1;
    }
    pairs
}

/// Dice's coefficient over letter pairs, 0 to 1.
fn likeness(wanted: &HashMap<(char, char), usize>, line: &str) -> f64 {
    let found = pairs(line);
    let all: usize = wanted.values().sum::<usize>() + found.values().sum::<usize>();
    let common: usize =
        wanted.iter().map(|(pair, n)| (*n).min(found.get(pair).copied().unwrap_or(0))).sum();
    if all == 0 { 0.0 } else { 2.0 * common as f64 / all as f64 }
}
