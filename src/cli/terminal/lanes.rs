//! `log --graph`: draws a lane for the branch and one for each attempt beside the steps, like
//! `git log --graph`, but oldest first.

use std::collections::BTreeMap;

/// How a step is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// The attempt that the step is part of; `None` for a step on the branch.
    pub lane: Option<u32>,
    /// On the first step of an attempt, the lane that it forks from.
    pub fork: Option<Option<u32>>,
    /// The sign of the step: `*` for a commit, `o` for a saved draft, `|` for a remark about a
    /// draft.
    pub sign: char,
}

/// What is drawn before the lines of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// An extra line before the step, if an attempt forks there.
    pub fork: Option<String>,
    /// Text before the first line of the step.
    pub first: String,
    /// Text before the other lines of the step.
    pub rest: String,
}

/// Draws the lanes for all steps, with the same width.
pub(crate) fn lanes(marks: &[Mark]) -> Vec<Drawn> {
    let last: BTreeMap<Option<u32>, usize> =
        marks.iter().enumerate().map(|(at, mark)| (mark.lane, at)).collect();
    // The branch has the first column; each attempt has the first column that is free.
    let mut columns: Vec<Option<Option<u32>>> = vec![None];
    let mut drawn = Vec::new();
    for (at, mark) in marks.iter().enumerate() {
        let known = columns.iter().position(|lane| *lane == Some(mark.lane));
        let column = known.unwrap_or_else(|| {
            let free = match mark.lane {
                None => Some(0),
                Some(_) => (1..columns.len()).find(|column| columns[*column].is_none()),
            };
            free.unwrap_or_else(|| {
                columns.push(None);
                columns.len() - 1
            })
        });
        let from = mark.fork.filter(|_| known.is_none());
        let from = from.and_then(|lane| columns.iter().position(|open| *open == Some(lane)));
        let fork = from.filter(|from| *from < column).map(|from| forked(&columns, from, column));
        columns[column] = Some(mark.lane);
        let first = line(&columns, Some((column, mark.sign)));
        if last.get(&mark.lane) == Some(&at) {
            columns[column] = None;
        }
        drawn.push(Drawn { fork, first, rest: line(&columns, None) });
    }
    let width = 2 * columns.len();
    for one in &mut drawn {
        one.first = format!("{:<width$}", one.first);
        one.rest = format!("{:<width$}", one.rest);
    }
    drawn
}

/// The open lanes in one line, with a sign in one of them.
fn line(columns: &[Option<Option<u32>>], sign: Option<(usize, char)>) -> String {
    let of = |(at, lane): (usize, &Option<Option<u32>>)| match sign {
        Some((column, sign)) if column == at => sign,
        _ if lane.is_some() => '|',
        _ => ' ',
    };
    let signs: Vec<String> = columns.iter().enumerate().map(|one| of(one).to_string()).collect();
    signs.join(" ").trim_end().to_owned()
}

/// The line of a fork: `|\`, or `|-|-\` if there are lanes in between.
fn forked(columns: &[Option<Option<u32>>], from: usize, to: usize) -> String {
    let mut out = String::new();
    for (at, lane) in columns.iter().enumerate().take(to) {
        let between = at > from;
        out.push(if lane.is_some() {
            '|'
        } else if between {
            '-'
        } else {
            ' '
        });
        let crosses = (from..to - 1).contains(&at);
        out.push(if crosses {
            '-'
        } else if at + 1 == to {
            '\\'
        } else {
            ' '
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(steps: &[(Option<u32>, Option<Option<u32>>)]) -> Vec<String> {
        let marks: Vec<Mark> =
            steps.iter().map(|&(lane, fork)| Mark { lane, fork, sign: '*' }).collect();
        let all = lanes(&marks).into_iter();
        all.flat_map(|one| one.fork.into_iter().chain([one.first.trim_end().to_owned()])).collect()
    }

    #[test]
    fn an_attempt_leaves_the_branch_and_ends() {
        let (main, one) = ((None, None), (Some(1), None));
        let shown = drawn(&[main, (Some(1), Some(None)), one, main, main]);
        assert_eq!(shown, ["*", "|\\", "| *", "| *", "*", "*"]);
    }

    #[test]
    fn attempts_that_overlap_have_columns_of_their_own() {
        let main = (None, None);
        let shown = drawn(&[
            main,
            (Some(2), Some(None)),
            (Some(1), Some(Some(2))),
            (Some(1), None),
            (Some(2), None),
            (Some(3), Some(None)),
            main,
        ]);
        assert_eq!(shown, ["*", "|\\", "| *", "| |\\", "| | *", "| | *", "| *", "|\\", "| *", "*"]);
        let over =
            drawn(&[main, (Some(1), Some(None)), (Some(2), Some(None)), (Some(1), None), main]);
        assert_eq!(over, ["*", "|\\", "| *", "|-|\\", "| | *", "| *", "*"]);
    }
}
