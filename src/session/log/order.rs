//! The order of steps from different refs.

use std::collections::{HashMap, HashSet};

use super::Step;
use crate::git::{Git, Oid};
use crate::session::Session;

/// The steps of one ref, in order.
type Row = std::vec::IntoIter<Step>;

/// Maps each step's commit to its nearest ancestors that are steps as well. `known` has the parents
/// of most commits.
pub(super) fn below(
    git: &Git,
    session: &Session,
    rows: &[Vec<Step>],
    known: &HashMap<Oid, Vec<Oid>>,
) -> anyhow::Result<HashMap<Oid, Vec<Oid>>> {
    let commits = rows.iter().flatten().filter_map(|step| step.commit.clone());
    let told: HashSet<Oid> = commits.collect();
    let start = session.history.first();
    let base: Vec<Oid> = start.into_iter().flat_map(|start| start.parents.clone()).collect();
    let each =
        told.iter().map(|commit| Some((commit.clone(), nearest(commit, &told, &base, known)?)));
    if let Some(below) = each.collect() {
        return Ok(below);
    }
    let tips: Vec<Oid> = told.iter().cloned().chain([session.tip.clone()]).collect();
    let reader = git.reader();
    let mut below: HashMap<Oid, Vec<Oid>> = HashMap::new();
    // From the end, so that parents come before their children.
    for commit in reader.walk(&tips, &base)?.iter().rev() {
        let mut nearest: Vec<Oid> = Vec::new();
        for parent in &commit.parents {
            let through = below.get(parent).filter(|_| !told.contains(parent));
            let on = through.map_or(std::slice::from_ref(parent), Vec::as_slice);
            nearest.extend(on.iter().cloned());
        }
        nearest.sort();
        nearest.dedup();
        below.insert(commit.id.clone(), nearest);
    }
    Ok(below)
}

/// The nearest ancestors of a commit that are steps; `None` if a commit's parents are not known.
fn nearest(
    commit: &Oid,
    told: &HashSet<Oid>,
    base: &[Oid],
    known: &HashMap<Oid, Vec<Oid>>,
) -> Option<Vec<Oid>> {
    let (mut found, mut met) = (Vec::new(), HashSet::new());
    let mut open: Vec<&Oid> = known.get(commit)?.iter().collect();
    while let Some(at) = open.pop() {
        if told.contains(at) {
            found.push(at.clone());
        } else if met.insert(at) && !base.contains(at) {
            open.extend(known.get(at)?);
        }
    }
    Some(found)
}

/// Merges rows by time. The order within a row is kept, and no commit comes before one of its
/// ancestors (`below`), whatever the dates.
pub(super) fn merged(rows: Vec<Vec<Step>>, below: &HashMap<Oid, Vec<Oid>>) -> Vec<Step> {
    let mut ahead: HashSet<Oid> =
        rows.iter().flatten().filter_map(|step| step.commit.clone()).collect();
    let mut rows: Vec<std::iter::Peekable<Row>> =
        rows.into_iter().map(|row| row.into_iter().peekable()).collect();
    let mut steps = Vec::new();
    loop {
        let heads = rows.iter_mut().enumerate().filter_map(|(at, row)| {
            let head = row.peek()?;
            let on = head.commit.as_ref().and_then(|id| below.get(id));
            let waits = on.is_some_and(|on| on.iter().any(|id| ahead.contains(id)));
            // In the same second, abandoned work happened first.
            let (time, stage, iteration, rank) = head.order;
            let left = head.left.or(head.attempt).unwrap_or(u32::MAX);
            // The session's start comes first, even if the next step is in the same second.
            let begun = head.event != "session_started";
            Some(((waits, begun, time, left, stage, iteration, rank), at))
        });
        let Some((_, at)) = heads.min() else { return steps };
        let step = rows.get_mut(at).and_then(Iterator::next);
        if let Some(id) = step.as_ref().and_then(|step| step.commit.as_ref()) {
            ahead.remove(id);
        }
        steps.extend(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(time: i64, event: &'static str, attempt: Option<u32>) -> Step {
        let order = (time, None, 0, 0);
        Step { event, attempt, order, ..Step::default() }
    }

    #[test]
    fn rows_are_merged_by_time_and_never_reordered() {
        let main = vec![step(1, "a", None), step(5, "b", None), step(4, "c", None)];
        let left = vec![step(4, "x", Some(1)), step(5, "y", Some(1))];
        let merged = merged(vec![main, left], &HashMap::new());
        let names: Vec<&str> = merged.iter().map(|step| step.event).collect();
        assert_eq!(names, ["a", "x", "y", "b", "c"]);
    }

    #[test]
    fn no_commit_comes_before_its_ancestors() {
        let ids: Vec<Oid> = ["1", "2", "3"].map(|n| n.repeat(40).parse().unwrap()).to_vec();
        let at = |n: usize, time, attempt| Step {
            commit: Some(ids[n].clone()),
            ..step(time, "", attempt)
        };
        // In the same second, or with a clock that was set back.
        for time in [5, 3] {
            let main = vec![at(0, 5, None), at(1, 5, None)];
            let left = vec![at(2, time, Some(1))];
            let below = HashMap::from([(ids[2].clone(), vec![ids[1].clone()])]);
            let steps = merged(vec![left, main], &below);
            let order: Vec<_> = steps.iter().map(|step| step.commit.clone().unwrap()).collect();
            assert_eq!(order, ids);
        }
    }
}
