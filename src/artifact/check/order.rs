//! The order of tasks, and dependency cycles.

use std::collections::{BTreeMap, BTreeSet};

use crate::artifact::Plan;

/// Returns the top-level tasks in an order in which each task comes after its dependencies; apart
/// from that, they keep the order of the file. A dependency of or on a sub-task counts as a
/// dependency of or on its top-level task; unknown ids are ignored.
///
/// # Errors
///
/// A cycle; the first id is repeated at the end.
pub fn task_order(plan: &Plan) -> Result<Vec<String>, Vec<String>> {
    let mut graph: Graph<'_> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for task in &plan.tasks {
        let own = top(&task.id);
        let at = *places.entry(own).or_insert_with(|| {
            graph.push((own, Vec::new()));
            graph.len() - 1
        });
        // Dependencies within one top-level task do not affect the order of tasks.
        let outward = |id: &&String| top(id) != own || **id == task.id;
        graph[at].1.extend(task.dependencies.iter().filter(outward).map(|id| top(id)));
    }
    if let Some(cycle) = find_cycle(&graph) {
        return Err(cycle);
    }
    // By index: the number of unfinished dependencies of each task, and the tasks that wait for it.
    let mut open = vec![0_usize; graph.len()];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); graph.len()];
    for (at, (_, needs)) in graph.iter().enumerate() {
        for need in needs.iter().filter_map(|need| places.get(need)) {
            open[at] += 1;
            waiting[*need].push(at);
        }
    }
    let mut ready: BTreeSet<usize> = (0..graph.len()).filter(|at| open[*at] == 0).collect();
    let mut done: Vec<String> = Vec::with_capacity(graph.len());
    while let Some(at) = ready.pop_first() {
        done.push(graph[at].0.to_owned());
        for next in &waiting[at] {
            open[*next] -= 1;
            if open[*next] == 0 {
                ready.insert(*next);
            }
        }
    }
    Ok(done)
}

/// Each node with its dependencies.
pub(super) type Graph<'a> = Vec<(&'a str, Vec<&'a str>)>;

fn top(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

/// Returns a cycle; the first id is repeated at the end.
pub(super) fn find_cycle(graph: &Graph<'_>) -> Option<Vec<String>> {
    let needs: BTreeMap<_, _> = graph.iter().map(|(id, needs)| (*id, needs)).collect();
    let mut safe = BTreeSet::new();
    for (start, _) in graph {
        let mut path: Vec<(&str, usize)> = vec![(start, 0)];
        let mut on_path = BTreeSet::from([*start]);
        while let Some((id, next)) = path.last_mut() {
            let Some(need) = needs.get(id).and_then(|n| n.get(*next)).copied() else {
                safe.insert(*id);
                on_path.remove(*id);
                path.pop();
                continue;
            };
            *next += 1;
            if on_path.contains(need) {
                let at = path.iter().position(|(id, _)| *id == need).unwrap_or_default();
                let ring = path[at..].iter().map(|(id, _)| *id).chain([need]);
                return Some(ring.map(str::to_owned).collect());
            }
            if !safe.contains(need) && needs.contains_key(need) {
                path.push((need, 0));
                on_path.insert(need);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Task;

    fn tasks(edges: &[(&str, &[&str])]) -> Plan {
        let task = |(id, needs): &(&str, &[&str])| Task {
            id: (*id).to_owned(),
            dependencies: needs.iter().map(|s| (*s).to_owned()).collect(),
            ..Task::default()
        };
        Plan { tasks: edges.iter().map(task).collect(), ..Plan::default() }
    }

    #[test]
    fn the_order_is_by_dependency_and_otherwise_stable() {
        let plan = tasks(&[
            ("TASK-003", &["TASK-002", "TASK-777"]),
            ("TASK-001", &[]),
            ("TASK-002", &[]),
            ("TASK-001.1", &["TASK-004.1"]),
            ("TASK-001.2", &["TASK-001.1", "TASK-001"]),
            ("TASK-004", &[]),
            ("TASK-004.1", &[]),
        ]);
        assert_eq!(task_order(&plan).unwrap(), ["TASK-002", "TASK-003", "TASK-004", "TASK-001"]);
    }

    #[test]
    fn a_cycle_begins_and_ends_with_the_same_task() {
        let own = tasks(&[("TASK-001", &["TASK-001"])]);
        assert_eq!(task_order(&own), Err(vec!["TASK-001".to_owned(), "TASK-001".to_owned()]));
        let three = tasks(&[
            ("TASK-001", &["TASK-002"]),
            ("TASK-002", &["TASK-003"]),
            ("TASK-003", &["TASK-002"]),
        ]);
        assert_eq!(task_order(&three).unwrap_err().join(" "), "TASK-002 TASK-003 TASK-002");
        let through_sub_tasks =
            tasks(&[("TASK-001", &[]), ("TASK-001.1", &["TASK-002"]), ("TASK-002", &["TASK-001"])]);
        assert!(task_order(&through_sub_tasks).is_err());
    }
}
