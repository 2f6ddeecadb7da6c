//! Shared code of the record tools: references, creating and changing records; and the tools that
//! read records.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::plain::{Nothing, Plain, arguments, some};
use super::{Answer, Context, Effect, Tool};
use crate::artifact::check::{known_ids, name_of, same_id};
use crate::artifact::{Feedback, FeedbackType, IdKind, Origin, SessionKind, Severity, TaskStatus};

arguments! {
    PlanFilter {
        status_filter: Option<TaskStatus>,
    }

    /// Arguments of the tools that delete a record by its id.
    Delete {
        id: String,
        reason: Option<String>,
    }
}

/// The tools of this file.
pub(super) static TOOLS: [&dyn Tool; 3] = [
    &Plain {
        name: "get_requirements",
        description: "Requirements and features.",
        effect: Effect::ReadsArtifacts,
        run: |context, _: Nothing| {
            let requirements = context.store.requirements()?.requirements;
            let features = context.store.features()?.features;
            Ok(json(&json!({"requirements": requirements, "features": features})))
        },
    },
    &Plain {
        name: "get_design",
        description: "The components.",
        effect: Effect::ReadsArtifacts,
        run: |context, _: Nothing| Ok(json(&serde_json::to_value(context.store.design()?)?)),
    },
    &Plain {
        name: "get_plan",
        description: "The tasks.",
        effect: Effect::ReadsArtifacts,
        run: |context, args: PlanFilter| {
            let mut plan = context.store.plan()?;
            if let Some(status) = args.status_filter {
                plan.tasks.retain(|task| task.status == status);
            }
            Ok(json(&serde_json::to_value(plan)?))
        },
    },
];

fn json(value: &Value) -> Answer {
    Answer::ok(value.to_string())
}

/// Converts the ids that a model gave to the spelling used in the records, and leaves out blank ids
/// and duplicates.
///
/// # Errors
///
/// An id does not exist; the error lists the known ones.
pub(super) fn references(
    context: &Context<'_>,
    kind: IdKind,
    given: &[String],
) -> anyhow::Result<Vec<String>> {
    let known = known_ids(&context.store, kind)?;
    let mut found: Vec<String> = Vec::new();
    let mut unknown = Vec::new();
    let blank = |id: &str| matches!(id.to_lowercase().as_str(), "" | "none" | "n/a" | "null");
    for id in given.iter().map(|id| id.trim()).filter(|id| !blank(id)) {
        match known.iter().find(|known| same_id(kind, known, id)) {
            Some(id) if !found.contains(id) => found.push(id.clone()),
            Some(_) => {}
            None => unknown.push(id),
        }
    }
    if unknown.is_empty() {
        return Ok(found);
    }
    let what = kind.plural();
    let known = if known.is_empty() {
        format!("there are no {what} yet")
    } else {
        format!("the {what} are {}", known.join(", "))
    };
    let became = unknown.iter().map(|id| name_of(kind, id)).filter(|id| *id != context.new_id);
    let became: Vec<_> = became.filter_map(|id| context.numbers.ids().became(&id)).collect();
    if !became.is_empty() {
        anyhow::bail!(
            "{}: create what is needed again, then name its new id; {known}",
            became.join(", ")
        )
    }
    let does = if unknown.len() == 1 { "does" } else { "do" };
    anyhow::bail!("{} {does} not exist; {known}", unknown.join(", "))
}

/// Converts an id that a model gave to the spelling used in the record.
///
/// # Errors
///
/// As [`references`].
pub(super) fn reference(context: &Context<'_>, kind: IdKind, id: &str) -> anyhow::Result<String> {
    let found = references(context, kind, &[id.to_owned()])?;
    found
        .into_iter()
        .next()
        .ok_or_else(|| anyhow::anyhow!("an id like {} is needed", kind.format(1)))
}

/// Replaces the references in `fields[name]`, if given, with the ids of existing records.
///
/// # Errors
///
/// As [`references`].
pub(super) fn resolve(
    context: &Context<'_>,
    kind: IdKind,
    fields: &mut Map<String, Value>,
    name: &str,
) -> anyhow::Result<()> {
    let resolved = match fields.get(name) {
        Some(Value::String(id)) => json!(reference(context, kind, id)?),
        Some(value @ Value::Array(_)) => {
            let ids: Vec<String> = serde_json::from_value(value.clone())?;
            json!(references(context, kind, &ids)?)
        }
        _ => return Ok(()),
    };
    fields.insert(name.to_owned(), resolved);
    Ok(())
}

/// The result of a creation: a new record, or the id of an equal one.
pub(super) enum Created<T> {
    /// A new record.
    New(T),
    /// The id of a record with the same fields: nothing is created twice.
    Same(String),
}

/// Creates a record from these fields with the id of the call, unless another record with the same
/// fields exists.
pub(super) fn create<T: Serialize + DeserializeOwned>(
    context: &Context<'_>,
    present: &[T],
    fields: Map<String, Value>,
) -> anyhow::Result<Created<T>> {
    let new = &context.new_id;
    for record in present {
        let record = serde_json::to_value(record)?;
        // A run that was killed may have made this very record.
        if fields.iter().all(|(name, value)| record.get(name) == Some(value))
            && record["id"] != *new
        {
            return Ok(Created::Same(record["id"].as_str().unwrap_or_default().to_owned()));
        }
    }
    let mut record = Map::from_iter([("id".to_owned(), json!(new))]);
    record.extend(fields);
    Ok(Created::New(serde_json::from_value(Value::Object(record))?))
}

/// Writes the given fields into a record; returns the names of those that changed.
///
/// # Errors
///
/// No field is given.
pub(super) fn change<T: Serialize + DeserializeOwned>(
    record: &mut T,
    fields: Map<String, Value>,
) -> anyhow::Result<Vec<String>> {
    anyhow::ensure!(!fields.is_empty(), "no field to change was given");
    let mut value = serde_json::to_value(&*record)?;
    let mut changed = Vec::new();
    for (name, new) in fields {
        if value.get(&name) != Some(&new) {
            value[&name] = new;
            changed.push(name);
        }
    }
    *record = serde_json::from_value(value)?;
    Ok(changed)
}

/// The given fields of a record, without those that control the tool.
pub(super) fn fields_of(
    args: &impl Serialize,
    steering: &[&str],
) -> anyhow::Result<Map<String, Value>> {
    let Value::Object(mut fields) = serde_json::to_value(args)? else { return Ok(Map::new()) };
    fields.retain(|name, value| !value.is_null() && !steering.contains(&name.as_str()));
    Ok(fields)
}

/// `3 of 3–6 requirements`. In a patch session, which includes its parent's records, there are no
/// limits.
pub(super) fn tally(
    context: &Context<'_>,
    kind: IdKind,
    count: usize,
    [least, most]: [u32; 2],
) -> anyhow::Result<String> {
    let what = kind.plural();
    if context.store.session()?.is_some_and(|session| session.kind == SessionKind::Patch) {
        return Ok(format!("{count} {what} in all."));
    }
    let too_many = if count > most as usize { ": too many, merge or delete some" } else { "" };
    Ok(format!("{count} of {least}–{most} {what}{too_many}."))
}

/// The answer if the record that should be created already exists.
pub(super) fn exists(id: &str) -> Answer {
    Answer::ok(format!("{id} exists already with these fields; nothing was created."))
}

/// Stores a model's reason for changing a record; a reason that is already stored is not added
/// again. The reason is committed with the stage. `what` is the action, such as `deleted`.
pub(super) fn keep_reason(
    context: &Context<'_>,
    id: &str,
    what: &str,
    reason: Option<&String>,
) -> anyhow::Result<()> {
    let Some(reason) = some(reason) else { return Ok(()) };
    let entry = Feedback {
        at: context.now.to_owned(),
        stage: context.stage,
        iteration: context.iteration,
        from: Origin::Actor,
        feedback_type: FeedbackType::Suggestion,
        severity: Severity::Minor,
        details: format!("{id} {what}: {reason}"),
        suggested_fix: None,
        extra: Map::new(),
    };
    let same = |other: &Feedback| {
        other.is_reason()
            && (other.stage, other.iteration) == (entry.stage, entry.iteration)
            && other.details == entry.details
    };
    // The reason is already stored: the same call was made before the run was killed.
    if context.store.feedback()?.iter().any(same) {
        return Ok(());
    }
    context.store.add_feedback(&[entry.as_reason(id)])
}

/// Stores the reason for an update, if anything changed.
pub(super) fn keep_reason_of_update(
    context: &Context<'_>,
    id: &str,
    changed: &[String],
    reason: Option<&String>,
) -> anyhow::Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    keep_reason(context, id, &format!("updated ({})", changed.join(", ")), reason)
}

/// A status in the spelling for models.
pub(super) fn word(status: impl Serialize) -> String {
    let word = serde_json::to_value(status).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

/// The answer to an update.
pub(super) fn updated(id: &str, changed: &[String]) -> Answer {
    if changed.is_empty() {
        Answer::ok(format!("{id} already has these values; nothing changed."))
    } else {
        Answer::ok(format!("Updated {id}: {}.", changed.join(", ")))
    }
}

/// Reports the references that a deletion removed.
pub(super) fn cleaned(from: &[String]) -> String {
    if from.is_empty() { String::new() } else { format!(" Removed from {}.", from.join(", ")) }
}
