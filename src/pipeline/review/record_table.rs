//! The records of a draft, as a table for the gate.

use crate::artifact::{Artifact, Priority, Store};
use crate::gate::{Record, Records};
use crate::stages::StageSpec;

/// The tasks of a plan, the components of a design, or the requirements. `None` if the stage writes
/// no records, or they cannot be read. `added` are the ids of new records.
pub(crate) fn record_table(
    spec: &StageSpec,
    store: &Store<'_>,
    added: &[String],
) -> Option<Records> {
    let has = |artifact| spec.artifacts.contains(&artifact);
    let (kind, heads, rows) = if has(Artifact::Plan) {
        ("task", vec!["feature", "after", "files"], tasks(store)?)
    } else if has(Artifact::Design) {
        ("component", vec!["type", "features"], components(store)?)
    } else if has(Artifact::Requirements) {
        ("requirement", vec!["priority"], requirements(store)?)
    } else {
        return None;
    };
    let plural = if rows.len() == 1 { "" } else { "s" };
    let record = |cells: Vec<String>| Record {
        is_new: cells.first().is_some_and(|id| added.contains(id)),
        cells,
    };
    let count = format!("{} {kind}{plural}", rows.len());
    Some(Records { count, heads, rows: rows.into_iter().map(record).collect() })
}

fn requirements(store: &Store<'_>) -> Option<Vec<Vec<String>>> {
    let all = store.requirements().ok()?.requirements.into_iter();
    let priority = |priority| match priority {
        Priority::High => "high",
        Priority::Medium => "medium",
        Priority::Low => "low",
    };
    Some(all.map(|r| vec![r.id, r.title, priority(r.priority).to_owned()]).collect())
}

fn components(store: &Store<'_>) -> Option<Vec<Vec<String>>> {
    let all = store.design().ok()?.components.into_iter();
    let row = |c: crate::artifact::Component| {
        vec![c.id, c.name, c.component_type, c.related_features.join(", ")]
    };
    Some(all.map(row).collect())
}

fn tasks(store: &Store<'_>) -> Option<Vec<Vec<String>>> {
    let plan = store.plan().ok()?;
    let features = store.features().ok()?.features;
    let row = |task: &crate::artifact::Task| {
        let feature = features.iter().find(|feature| feature.id == task.feature_id);
        let feature = feature.map_or(task.feature_id.clone(), |f| format!("{} {}", f.id, f.name));
        let short = |id: &String| id.strip_prefix("TASK-").unwrap_or(id).to_owned();
        let after: Vec<String> = task.dependencies.iter().map(short).collect();
        let after = if after.is_empty() { "–".to_owned() } else { after.join(", ") };
        let files: Vec<&str> = plan.files_of(&task.id).collect();
        vec![task.id.clone(), task.title.clone(), feature, after, files.join(", ")]
    };
    Some(plan.tasks.iter().filter(|task| task.is_top_level()).map(row).collect())
}
