//! Whether completed tasks meet the requirements.

use std::collections::BTreeMap;

use super::Baseline;
use crate::artifact::{FeatureList, Plan, Requirements, Task, TaskStatus};

/// Returns the requirements that no completed task meets, by id, with the reason. In a change
/// request (`added`), only what it adds counts, requirements and criteria without a test, and a task
/// of the change must work on one of the features: what was delivered before does not meet what was
/// not asked for then. A session without tasks is coded as a whole, and then the review of the code
/// covers all of it.
pub fn not_covered(
    requirements: &Requirements,
    features: &FeatureList,
    plan: &Plan,
    added: Option<&Baseline>,
) -> BTreeMap<String, String> {
    let is_old = |id: &str| added.is_some_and(|known| known.has(id));
    let is_own = |task: &&Task| task.is_top_level() && !task.is_from_review() && !is_old(&task.id);
    if !plan.tasks.iter().any(|task| is_own(&task)) {
        return BTreeMap::new();
    }
    let own: Vec<&Task> = plan
        .tasks
        .iter()
        .filter(|task| is_own(task) && task.status == TaskStatus::Completed)
        .flat_map(|task| plan.with_sub_tasks(&task.id))
        .collect();
    let is_built = |feature: &str| {
        plan.tasks_of(feature).any(|task| is_own(&task) && task.status == TaskStatus::Completed)
    };
    let mut uncovered = BTreeMap::new();
    for requirement in &requirements.requirements {
        let features = features.features.iter();
        let of_it = |id: &String| *id == requirement.id;
        let all: Vec<&str> = features
            .filter(|feature| feature.requirement_ids.iter().any(of_it))
            .map(|feature| feature.id.as_str())
            .collect();
        let unbuilt: Vec<&str> = all.iter().copied().filter(|id| !is_built(id)).collect();
        if let Some(known) = added.filter(|known| known.has(&requirement.id)) {
            let names_it = |task: &Task| task.requirement_ids.contains(&requirement.id);
            let is_met = unbuilt.len() < all.len() || own.iter().any(|task| names_it(task));
            let adds = requirement.acceptance_criteria.iter().any(|criterion| {
                criterion.test.is_none() && !known.has_criterion(&requirement.id, criterion)
            });
            if adds && !is_met {
                let why = "no completed task of this change works on it".to_owned();
                uncovered.insert(requirement.id.clone(), why);
            }
            continue;
        }
        // A task on one feature may do what a delivered one lacked.
        let is_met = unbuilt.len() < all.len() && unbuilt.iter().all(|id| is_old(id));
        let why = match unbuilt.as_slice() {
            _ if is_met => continue,
            [] => "no feature meets it".to_owned(),
            ids => format!("no completed task works on {}", ids.join(", ")),
        };
        uncovered.insert(requirement.id.clone(), why);
    }
    uncovered
}
