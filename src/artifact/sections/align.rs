//! Aligns two lists: which entries were kept, added, removed or replaced.

/// A step from one list to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The old entry and the new one are equal.
    Keep(usize, usize),
    Replace(usize, usize),
    Delete(usize),
    Insert(usize),
}

/// Returns the steps from one list to another, in order. An entry that is removed where another is
/// added counts as replaced.
pub(super) fn steps<T: PartialEq>(old: &[T], new: &[T]) -> Vec<Step> {
    let mut all = Vec::new();
    let (mut deleted, mut inserted) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    let lengths = common_lengths(old, new);
    while i < old.len() || j < new.len() {
        let same = i < old.len() && j < new.len() && old[i] == new[j];
        if same {
            flush(&mut all, &mut deleted, &mut inserted);
            all.push(Step::Keep(i, j));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && lengths[i + 1][j] >= lengths[i][j + 1] {
            deleted.push(i);
            i += 1;
        } else {
            inserted.push(j);
            j += 1;
        }
    }
    flush(&mut all, &mut deleted, &mut inserted);
    all
}

fn flush(all: &mut Vec<Step>, deleted: &mut Vec<usize>, inserted: &mut Vec<usize>) {
    let pairs = deleted.len().min(inserted.len());
    all.extend(deleted.iter().zip(inserted.iter()).map(|(i, j)| Step::Replace(*i, *j)));
    all.extend(deleted.drain(..).skip(pairs).map(Step::Delete));
    all.extend(inserted.drain(..).skip(pairs).map(Step::Insert));
}

/// Returns, for each pair of positions, the length of the longest common subsequence of the lists
/// from there to the end.
fn common_lengths<T: PartialEq>(old: &[T], new: &[T]) -> Vec<Vec<usize>> {
    let mut lengths = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i][j] = if old[i] == new[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::Step::{Delete, Insert, Keep, Replace};
    use super::*;

    #[test]
    fn lists_are_aligned() {
        for (old, new, expected) in [
            ("abc", "abc", vec![Keep(0, 0), Keep(1, 1), Keep(2, 2)]),
            ("abc", "axc", vec![Keep(0, 0), Replace(1, 1), Keep(2, 2)]),
            ("ac", "abc", vec![Keep(0, 0), Insert(1), Keep(1, 2)]),
            ("abc", "c", vec![Delete(0), Delete(1), Keep(2, 0)]),
            ("", "ab", vec![Insert(0), Insert(1)]),
            ("ab", "xyz", vec![Replace(0, 0), Replace(1, 1), Insert(2)]),
        ] {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(steps(&letters(old), &letters(new)), expected, "{old} {new}");
        }
    }
}
