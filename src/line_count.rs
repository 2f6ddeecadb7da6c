//! Counts the lines that a change adds and removes.

/// Maximum number of line pairs compared; beyond it, all lines count as changed.
const MOST: usize = 4_000_000;

/// Returns the number of added and of removed lines.
pub(crate) fn changed_lines(before: &[u8], after: &[u8]) -> (usize, usize) {
    let lines = |text| <[u8]>::split_inclusive(text, |byte| *byte == b'\n').collect::<Vec<_>>();
    let (before, after) = (lines(before), lines(after));
    let same = |(a, b): &(&&[u8], &&[u8])| a == b;
    let head = before.iter().zip(&after).take_while(same).count();
    let (before, after) = (&before[head..], &after[head..]);
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(same).count();
    let (before, after) = (&before[..before.len() - tail], &after[..after.len() - tail]);
    let common_lines = match before.len() * after.len() <= MOST {
        true => common(before, after),
        false => 0,
    };
    (after.len() - common_lines, before.len() - common_lines)
}

/// Returns the length of the longest common subsequence.
fn common(before: &[&[u8]], after: &[&[u8]]) -> usize {
    let mut row = vec![0; after.len() + 1];
    for line in before {
        let mut diagonal = 0;
        for (at, other) in after.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if line == other { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[after.len()]
}

#[cfg(test)]
mod tests {
    use super::changed_lines;

    #[test]
    fn lines_are_counted_as_git_does() {
        for (before, after, counts) in [
            ("", "a\nb\n", (2, 0)),
            ("a\nb\n", "", (0, 2)),
            ("a\nb\nc\n", "a\nB\nc\n", (1, 1)),
            ("a\nb\nc\nd\n", "a\nx\nb\nd\ny\n", (2, 1)),
            ("a\n", "a\n", (0, 0)),
            ("a", "a\n", (1, 1)),
        ] {
            assert_eq!(changed_lines(before.as_bytes(), after.as_bytes()), counts, "{before:?}");
        }
    }
}
