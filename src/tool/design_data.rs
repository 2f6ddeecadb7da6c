//! Tools for the components of the design.

use super::data::{
    Created, Delete, change, create, exists, fields_of, keep_reason, keep_reason_of_update,
    reference, resolve, tally, updated,
};
use super::plain::{Plain, arguments};
use super::{Answer, Context, Effect, Tool};
use crate::artifact::check::uncovered_features;
use crate::artifact::sections::{Change, Record};
use crate::artifact::{Component, DesignSpec, IdKind};

arguments! {
    CreateComponent {
        name: String,
        description: Option<String>,
        component_type: String,
        responsibilities: Vec<String>,
        technology: String,
        interfaces: Option<Vec<String>>,
        related_features: Option<Vec<String>>,
    }

    UpdateComponent {
        id: String,
        name: Option<String>,
        description: Option<String>,
        component_type: Option<String>,
        responsibilities: Option<Vec<String>>,
        technology: Option<String>,
        interfaces: Option<Vec<String>>,
        related_features: Option<Vec<String>>,
        reason: Option<String>,
    }
}

/// The tools of this file.
pub(super) static TOOLS: [&dyn Tool; 3] = [
    &Plain {
        name: "create_design_component",
        description: "Add a component; returns its id.",
        effect: Effect::WritesRecords,
        run: create_component,
    },
    &Plain {
        name: "update_design_component",
        description: "Change fields of a component.",
        effect: Effect::WritesRecords,
        run: update_component,
    },
    &Plain {
        name: "delete_design_component",
        description: "Delete a component.",
        effect: Effect::WritesRecords,
        run: delete_component,
    },
];

fn create_component(context: &mut Context<'_>, args: CreateComponent) -> anyhow::Result<Answer> {
    let mut fields = fields_of(&args, &[])?;
    resolve(context, IdKind::Feature, &mut fields, "related_features")?;
    let mut design = context.store.design()?;
    let component: Component = match create(context, &design.components, fields)? {
        Created::New(component) => component,
        Created::Same(id) => return Ok(exists(&id)),
    };
    let text = format!("Created {} '{}'.", component.id, component.name);
    context.ledger.change(&[Change::Put(Record::Component(component.clone()))])?;
    design.components.push(component);
    Ok(Answer::ok(format!("{text} {}", standing(context, &design)?)))
}

fn update_component(context: &mut Context<'_>, args: UpdateComponent) -> anyhow::Result<Answer> {
    let id = reference(context, IdKind::Component, &args.id)?;
    let mut fields = fields_of(&args, &["id", "reason"])?;
    resolve(context, IdKind::Feature, &mut fields, "related_features")?;
    let components = context.store.design()?.components;
    let mut changed = Vec::new();
    for mut component in components.into_iter().filter(|component| component.id == id) {
        changed = change(&mut component, std::mem::take(&mut fields))?;
        context.ledger.change(&[Change::Put(Record::Component(component))])?;
    }
    keep_reason_of_update(context, &id, &changed, args.reason.as_ref())?;
    Ok(updated(&id, &changed))
}

fn delete_component(context: &mut Context<'_>, args: Delete) -> anyhow::Result<Answer> {
    let id = reference(context, IdKind::Component, &args.id)?;
    let mut design = context.store.design()?;
    design.components.retain(|component| component.id != id);
    context.ledger.change(&[Change::Delete(id.clone())])?;
    keep_reason(context, &id, "deleted", args.reason.as_ref())?;
    let tasks = context.store.plan()?.tasks;
    let left: Vec<_> =
        tasks.iter().filter(|t| t.component_id == id).map(|t| t.id.as_str()).collect();
    let left = if left.is_empty() {
        String::new()
    } else {
        format!(" These tasks still name it; fix them in the plan stage: {}.", left.join(", "))
    };
    let standing = standing(context, &design)?;
    Ok(Answer::ok(format!("Deleted {id}.{left} {standing}")))
}

/// The number of components, and the features that no component covers yet.
fn standing(context: &Context<'_>, design: &DesignSpec) -> anyhow::Result<String> {
    let count = design.components.len();
    let tally = tally(context, IdKind::Component, count, context.limits.components)?;
    let uncovered = uncovered_features(&context.store.features()?, design);
    let ids: Vec<_> = uncovered.into_iter().map(|(id, _)| id).collect();
    Ok(if ids.is_empty() {
        format!("{tally} Every feature is covered.")
    } else {
        format!("{tally} Not covered yet: {}.", ids.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use crate::stage::Stage;
    use crate::tool::testing::Bench;

    #[test]
    fn components_are_created_changed_and_deleted() {
        let bench = Bench::new(Stage::Design);
        let mut context = bench.context();
        let component = r#"{"name":"store","component_type":"module","responsibilities":"keep",
            "technology":"json","related_features":["FEAT-001"]}"#;
        let answer = context.call("create_design_component", component);
        assert_eq!(
            answer.text,
            "Created COMP-003 'store'. 3 of 2–4 components. Every feature is covered."
        );
        let answer = context.call("create_design_component", component);
        assert!(answer.text.starts_with("COMP-003 exists already"), "{}", answer.text);
        let answer = context.call(
            "update_design_component",
            r#"{"id":"COMP-003","related_features":["FEAT-009"]}"#,
        );
        assert!(answer.text.contains("the features are FEAT-001, FEAT-002"), "{}", answer.text);
        context.call("delete_design_component", r#"{"id":"COMP-003"}"#);
        let answer = context.call("delete_design_component", r#"{"id":"COMP-001"}"#);
        assert!(
            answer.text.contains("TASK-001") && answer.text.contains("Not covered yet: FEAT-001")
        );
        assert!(!context.call("delete_design_component", r#"{"id":"COMP-001"}"#).ok);
    }
}
