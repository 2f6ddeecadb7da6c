//! Tools for requirements and features.

use serde::Serialize;
use serde_json::{Map, Value};

use super::data::{
    Created, Delete, change, cleaned, create, exists, fields_of, keep_reason,
    keep_reason_of_update, reference, resolve, tally, updated, word,
};
use super::plain::{Plain, arguments};
use super::{Answer, Context, Effect, Tool};
use crate::artifact::sections::{Change, Record, criterion};
use crate::artifact::{
    Artifact, Category, FeatureStatus, IdKind, Priority, Requirement, TaskStatus,
};

arguments! {
    CreateRequirement {
        title: String,
        description: String,
        priority: Option<Priority>,
        category: Option<Category>,
        acceptance_criteria: Vec<String>,
    }

    UpdateRequirement {
        id: String,
        title: Option<String>,
        description: Option<String>,
        priority: Option<Priority>,
        category: Option<Category>,
        acceptance_criteria: Option<Vec<String>>,
        reason: Option<String>,
    }

    AddFeature {
        name: String,
        description: String,
        requirement_ids: Vec<String>,
        completion_criteria: Option<Vec<String>>,
    }

    UpdateFeature {
        id: String,
        name: Option<String>,
        description: Option<String>,
        requirement_ids: Option<Vec<String>>,
        completion_criteria: Option<Vec<String>>,
        reason: Option<String>,
    }

    UpdateFeatureStatus {
        feature_id: String,
        new_status: FeatureStatus,
    }
}

/// The tools of this file.
pub(super) static TOOLS: [&dyn Tool; 7] = [
    &Plain {
        name: "create_requirement",
        description: "Add a requirement.",
        effect: Effect::WritesRecords,
        run: create_requirement,
    },
    &Plain {
        name: "update_requirement",
        description: "Change a requirement.",
        effect: Effect::WritesRecords,
        run: update_requirement,
    },
    &Plain {
        name: "delete_requirement",
        description: "Delete a requirement.",
        effect: Effect::WritesRecords,
        run: delete_requirement,
    },
    &Plain {
        name: "add_feature",
        description: "Add a feature; returns its id.",
        effect: Effect::WritesRecords,
        run: add_feature,
    },
    &Plain {
        name: "update_feature",
        description: "Change a feature.",
        effect: Effect::WritesRecords,
        run: update_feature,
    },
    &Plain {
        name: "delete_feature",
        description: "Delete a feature.",
        effect: Effect::WritesRecords,
        run: delete_feature,
    },
    &Plain {
        name: "update_feature_status",
        description: "Set a feature's status.",
        effect: Effect::WritesRecords,
        run: update_feature_status,
    },
];

fn create_requirement(
    context: &mut Context<'_>,
    args: CreateRequirement,
) -> anyhow::Result<Answer> {
    let all = context.store.requirements()?;
    let fields = requirement_fields(&args, args.acceptance_criteria.as_slice(), &[])?;
    let requirement: Requirement = match create(context, &all.requirements, fields)? {
        Created::New(requirement) => requirement,
        Created::Same(id) => return Ok(exists(&id)),
    };
    let text = format!("Created {} '{}'.", requirement.id, requirement.title);
    context.ledger.change(&[Change::Put(Record::Requirement(requirement))])?;
    let limits = context.limits.requirements;
    let tally = tally(context, IdKind::Requirement, all.requirements.len() + 1, limits)?;
    Ok(Answer::ok(format!("{text} {tally} Next: features that serve it (add_feature).")))
}

fn update_requirement(
    context: &mut Context<'_>,
    args: UpdateRequirement,
) -> anyhow::Result<Answer> {
    let id = reference(context, IdKind::Requirement, &args.id)?;
    let all = context.store.requirements()?.requirements;
    let mut changed = Vec::new();
    for mut requirement in all.into_iter().filter(|r| r.id == id) {
        let criteria = args.acceptance_criteria.as_deref().unwrap_or_default();
        let fields = requirement_fields(&args, criteria, &["id", "reason"])?;
        changed = change(&mut requirement, fields)?;
        context.ledger.change(&[Change::Put(Record::Requirement(requirement))])?;
    }
    keep_reason_of_update(context, &id, &changed, args.reason.as_ref())?;
    Ok(updated(&id, &changed))
}

/// The given fields of a requirement; a criterion that names its test is one with a test.
fn requirement_fields(
    args: &impl Serialize,
    criteria: &[String],
    steering: &[&str],
) -> anyhow::Result<Map<String, Value>> {
    let mut fields = fields_of(args, steering)?;
    if let Some(given) = fields.get_mut("acceptance_criteria") {
        let criteria = criteria.iter().map(|text| criterion(text));
        *given = serde_json::to_value(criteria.collect::<Vec<_>>())?;
    }
    Ok(fields)
}

fn delete_requirement(context: &mut Context<'_>, args: Delete) -> anyhow::Result<Answer> {
    let id = reference(context, IdKind::Requirement, &args.id)?;
    let left = context.store.requirements()?.requirements.len().saturating_sub(1);
    let mut changes = vec![Change::Delete(id.clone())];
    let mut from = Vec::new();
    for mut feature in context.store.features()?.features {
        if feature.requirement_ids.contains(&id) {
            feature.requirement_ids.retain(|other| *other != id);
            from.push(feature.id.clone());
            changes.push(Change::Put(Record::Feature(feature)));
        }
    }
    context.ledger.change(&changes)?;
    keep_reason(context, &id, "deleted", args.reason.as_ref())?;
    let tally = tally(context, IdKind::Requirement, left, context.limits.requirements)?;
    let cleaned = cleaned(&from);
    Ok(Answer::ok(format!("Deleted {id}.{cleaned} {tally}")))
}

fn add_feature(context: &mut Context<'_>, args: AddFeature) -> anyhow::Result<Answer> {
    let mut fields = fields_of(&args, &[])?;
    resolve(context, IdKind::Requirement, &mut fields, "requirement_ids")?;
    let traced = fields.get("requirement_ids").and_then(|ids| ids.as_array());
    anyhow::ensure!(
        traced.is_some_and(|ids| !ids.is_empty()),
        "a feature must serve at least one requirement: give requirement_ids"
    );
    let all = context.store.features()?;
    let feature = match create(context, &all.features, fields)? {
        Created::New(feature) => feature,
        Created::Same(id) => return Ok(exists(&id)),
    };
    let text = format!("Created {} '{}'.", feature.id, feature.name);
    context.ledger.change(&[Change::Put(Record::Feature(feature))])?;
    let limits = context.limits.features;
    let tally = tally(context, IdKind::Feature, all.features.len() + 1, limits)?;
    Ok(Answer::ok(format!("{text} {tally}")))
}

fn update_feature(context: &mut Context<'_>, args: UpdateFeature) -> anyhow::Result<Answer> {
    let id = reference(context, IdKind::Feature, &args.id)?;
    let mut fields = fields_of(&args, &["id", "reason"])?;
    resolve(context, IdKind::Requirement, &mut fields, "requirement_ids")?;
    let all = context.store.features()?.features;
    let mut changed = Vec::new();
    for mut feature in all.into_iter().filter(|feature| feature.id == id) {
        changed = change(&mut feature, std::mem::take(&mut fields))?;
        context.ledger.change(&[Change::Put(Record::Feature(feature))])?;
    }
    keep_reason_of_update(context, &id, &changed, args.reason.as_ref())?;
    Ok(updated(&id, &changed))
}

fn delete_feature(context: &mut Context<'_>, args: Delete) -> anyhow::Result<Answer> {
    let id = reference(context, IdKind::Feature, &args.id)?;
    let rest = context.store.features()?.features.len().saturating_sub(1);
    // Components and tasks belong to later stages, which a change request runs again. The feature
    // is removed from components here; tasks that still name it are only reported.
    let mut changes = vec![Change::Delete(id.clone())];
    let mut from = Vec::new();
    let components = context.store.design()?.components.into_iter();
    for mut component in components.filter(|c| c.related_features.contains(&id)) {
        component.related_features.retain(|other| *other != id);
        from.push(component.id.clone());
        changes.push(Change::Put(Record::Component(component)));
    }
    context.ledger.change(&changes)?;
    keep_reason(context, &id, "deleted", args.reason.as_ref())?;
    let tasks = context.store.plan()?.tasks;
    let left: Vec<_> = tasks.iter().filter(|t| t.feature_id == id).map(|t| t.id.as_str()).collect();
    let left = if left.is_empty() {
        String::new()
    } else {
        format!(" These tasks still name it; fix them in the plan stage: {}.", left.join(", "))
    };
    let tally = tally(context, IdKind::Feature, rest, context.limits.features)?;
    let cleaned = cleaned(&from);
    Ok(Answer::ok(format!("Deleted {id}.{cleaned}{left} {tally}")))
}

fn update_feature_status(
    context: &mut Context<'_>,
    args: UpdateFeatureStatus,
) -> anyhow::Result<Answer> {
    let id = reference(context, IdKind::Feature, &args.feature_id)?;
    let status = args.new_status;
    let mut all = context.store.features()?;
    if status == FeatureStatus::Implemented {
        let plan = context.store.plan()?;
        let coded = (context.coded)(&plan);
        let open = plan
            .tasks_of(&id)
            .filter(|task| task.status != TaskStatus::Completed || !coded.contains(&task.id));
        let open: Vec<_> = open.map(|task| task.id.as_str()).collect();
        anyhow::ensure!(
            open.is_empty(),
            "{id} is implemented only when all its tasks are completed with code; open: {}",
            open.join(", ")
        );
    }
    for feature in all.features.iter_mut().filter(|feature| feature.id == id) {
        anyhow::ensure!(
            feature.status < FeatureStatus::Verified,
            "{id} is already verified; only check and delivery can change that"
        );
        feature.status = status;
    }
    context.store.save(Artifact::Features, &all)?;
    Ok(Answer::ok(format!("{id} is {}.", word(status))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::stage::Stage;
    use crate::tool::testing::Bench;

    const REQUIREMENT: &str = r#"{"title":"Add","description":"d","acceptance_criteria":["a"]}"#;

    #[test]
    fn ids_are_assigned_in_call_order_and_never_reused() {
        let bench = Bench::empty(Stage::Prd);
        let mut context = bench.context();
        context.0.numbers.note(|ids| ids.send(["REQ-004".to_owned()])).unwrap();
        let answer = context.call("create_requirement", REQUIREMENT);
        assert!(answer.text.starts_with("Created REQ-005 'Add'. 1 of 3–6"), "{}", answer.text);
        let answer = context.call("create_requirement", REQUIREMENT);
        assert!(answer.ok && answer.text.starts_with("REQ-005 exists already"), "{}", answer.text);
        assert!(answer.text.ends_with("used up REQ-006; the next requirement is REQ-007."));
        let answer = context.call("create_requirement", r#"{"title":"Broken"}"#);
        assert!(answer.text.ends_with("used up REQ-007; the next requirement is REQ-008."));
        let answer = context.call("create_requirement", &REQUIREMENT.replace("Add", "List"));
        assert!(answer.text.starts_with("Created REQ-008"), "{}", answer.text);
        let feature = r#"{"name":"f","description":"d","requirement_ids":["REQ-008","req-5"]}"#;
        let answer = context.call("add_feature", &feature.replace("req-5", "req-7"));
        assert!(answer.text.starts_with("REQ-007 was refused: "), "{}", answer.text);
        let answer = context.call("add_feature", feature);
        assert!(answer.text.starts_with("Created FEAT-002"), "{}", answer.text);
        let answer = context.call("delete_requirement", r#"{"requirement_id":"REQ-008"}"#);
        assert!(answer.text.starts_with("Deleted REQ-008. Removed from FEAT-002. 1 of 3–6"));
        assert!(answer.text.ends_with("\nThe next requirement is REQ-009."), "{}", answer.text);
        assert_eq!(bench.store().features().unwrap().features[0].requirement_ids, ["REQ-005"]);
        let answer = context.call("add_feature", &feature.replace("f\"", "g\""));
        assert!(answer.text.starts_with("REQ-008 \"List\" was deleted: "), "{}", answer.text);
        let answer = context.call("create_requirement", &REQUIREMENT.replace("Add", "Drop"));
        assert!(answer.text.starts_with("Created REQ-009"), "{}", answer.text);
    }

    #[test]
    fn a_feature_needs_known_requirements() {
        let bench = Bench::new(Stage::Prd);
        let mut context = bench.context();
        let feature = json!({"name": "f", "description": "d", "requirement_ids": ["REQ-009"]});
        let answer = context.call("add_feature", &feature.to_string());
        assert!(!answer.ok);
        assert_eq!(
            answer.text,
            "REQ-009 does not exist; the requirements are REQ-001, REQ-002, REQ-003\n\
             This call used up FEAT-003; the next feature is FEAT-004."
        );
        let feature = json!({"name": "f", "description": "d", "requirement_ids": [""]});
        assert!(!context.call("add_feature", &feature.to_string()).ok);
    }

    #[test]
    fn updates_name_what_changed() {
        let bench = Bench::new(Stage::Prd);
        let mut context = bench.context();
        let update = r#"{"id":"REQ-002","title":"New","priority":"HIGH","description":"d"}"#;
        let answer = context.call("update_requirement", update);
        assert_eq!(answer.text, "Updated REQ-002: title, priority.");
        let answer = context.call("update_requirement", update);
        assert_eq!(answer.text, "REQ-002 already has these values; nothing changed.");
        assert!(!context.call("update_requirement", r#"{"id":"REQ-002"}"#).ok);
        let answer =
            context.call("update_feature", r#"{"id":"FEAT-001","requirement_ids":"REQ-003"}"#);
        assert_eq!(answer.text, "Updated FEAT-001: requirement_ids.");
    }

    #[test]
    fn an_earlier_stage_is_read_only() {
        let bench = Bench::new(Stage::Design);
        let answer = bench.context().call("create_requirement", REQUIREMENT);
        assert!(!answer.ok);
        assert!(answer.text.contains("belongs to prd and cannot be changed in design"));
    }

    #[test]
    fn a_feature_is_implemented_by_its_tasks_only() {
        let bench = Bench::new(Stage::Coding);
        let mut context = bench.context();
        let status = r#"{"feature_id":"FEAT-001","new_status":"implemented"}"#;
        let answer = context.call("update_feature_status", status);
        assert!(answer.text.contains("open: TASK-001, TASK-002"), "{}", answer.text);
        let status = r#"{"feature_id":"FEAT-001","new_status":"delivered"}"#;
        assert!(!context.call("update_feature_status", status).ok);
    }
}
