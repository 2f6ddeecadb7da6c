//! Converts the values on a fields line to the fields of a record, and reports invalid ones.
//! The paths of a task are one list in Markdown and two in JSON.

use std::collections::BTreeSet;

use super::super::path_shape::is_path_shaped;
use super::super::{Category, Component, Feature, IdFloors, IdKind, Priority, Requirement, Task};
use super::fields::{Meaning, Value, is_other_scale};
use super::{Context, Record, Section};

/// Remarks about the values of one record: offset and text of notes and refusals.
pub(super) struct Remarks {
    pub id: String,
    /// Offset of the heading.
    pub at: usize,
    pub notes: Vec<(usize, String)>,
    pub refusals: Vec<(usize, String)>,
}

impl Remarks {
    fn note(&mut self, at: usize, text: String) {
        self.notes.push((at, text));
    }

    pub(super) fn refuse(&mut self, at: usize, text: String) {
        self.refusals.push((at, text));
    }

    fn unread_status(&mut self, value: &Value) {
        self.note(
            value.range.start,
            format!("'{}' is ignored: status comes from the commits", value.text),
        );
    }

    fn new_id(&mut self, value: &Value, kind: IdKind, floors: IdFloors) {
        let named = super::super::IdKind::ALL
            .into_iter()
            .find(|kind| value.text.to_ascii_uppercase().starts_with(kind.prefix()));
        let named = named.unwrap_or(kind);
        let mut floors = floors;
        let text = format!(
            "{} refers to {}; give that {} a number (next: {})",
            self.id,
            value.text,
            named.name(),
            floors.next(named)
        );
        self.refuse(value.range.start, text);
    }
}

/// Adds an id unless the list contains it.
fn push_once(ids: &mut Vec<String>, id: &str) {
    if !ids.iter().any(|known| known == id) {
        ids.push(id.to_owned());
    }
}

fn quoted<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.collect::<Vec<_>>().join(", ")
}

/// Reads priority and category. `new`: the requirement did not exist before.
pub(super) fn requirement(
    requirement: &mut Requirement,
    values: &[Value],
    new: bool,
    remarks: &mut Remarks,
) {
    let (mut priorities, mut categories) =
        (Vec::<(&Value, Priority)>::new(), Vec::<(&Value, Category)>::new());
    let mut unknown = false;
    for value in values {
        match &value.meaning {
            Meaning::Priority(priority) => {
                if is_other_scale(&value.text) {
                    let word = match priority {
                        Priority::High => "high",
                        Priority::Medium => "medium",
                        Priority::Low => "low",
                    };
                    remarks.note(value.range.start, format!("'{}' is read as {word}", value.text));
                }
                priorities.push((value, *priority));
            }
            Meaning::Category(category) => categories.push((value, *category)),
            Meaning::Empty => {}
            _ => {
                unknown = true;
                let text = format!(
                    "'{}' is not a priority (high, medium, low) or a category (functional, non_functional)",
                    value.text
                );
                remarks.refuse(value.range.start, text);
            }
        }
    }
    priorities.dedup_by_key(|(_, priority)| *priority);
    categories.dedup_by_key(|(_, category)| *category);
    let id = remarks.id.clone();
    if let [_, second, ..] = priorities[..] {
        let all = quoted(priorities.iter().map(|(value, _)| value.text.as_str()));
        remarks.refuse(second.0.range.start, format!("{id} has two priorities: {all}"));
    }
    if let [_, second, ..] = categories[..] {
        let all = quoted(categories.iter().map(|(value, _)| value.text.as_str()));
        remarks.refuse(second.0.range.start, format!("{id} has two categories: {all}"));
    }
    requirement.priority = priorities.first().map(|(_, priority)| *priority).unwrap_or_default();
    requirement.category = categories.first().map(|(_, category)| *category).unwrap_or_default();
    if priorities.is_empty() && !unknown {
        if new {
            remarks.note(remarks.at, format!("{id} has no priority: medium is assumed"));
        } else {
            let text = format!(
                "{id} has no priority; write high, medium or low on the line below its heading"
            );
            remarks.refuse(remarks.at, text);
        }
    }
    if categories.is_empty() && !unknown {
        remarks.note(remarks.at, format!("{id} has no category: functional is assumed"));
    }
}

/// Reads the requirements of a feature.
pub(super) fn feature(
    feature: &mut Feature,
    values: &[Value],
    floors: IdFloors,
    remarks: &mut Remarks,
) {
    for value in values {
        match &value.meaning {
            Meaning::Id(IdKind::Requirement, id) => push_once(&mut feature.requirement_ids, id),
            Meaning::NewId => remarks.new_id(value, IdKind::Requirement, floors),
            Meaning::Status => remarks.unread_status(value),
            Meaning::Empty => {}
            _ => {
                let text = format!("'{}' is not a requirement id (such as REQ-001)", value.text);
                remarks.refuse(value.range.start, text);
            }
        }
    }
}

/// Reads type, technology and features of a component.
pub(super) fn component(
    component: &mut Component,
    values: &[Value],
    floors: IdFloors,
    remarks: &mut Remarks,
) {
    let mut named = 0;
    for value in values {
        let text =
            || if value.meaning == Meaning::Empty { String::new() } else { value.text.clone() };
        match &value.meaning {
            Meaning::Id(IdKind::Feature, id) => push_once(&mut component.related_features, id),
            Meaning::NewId => remarks.new_id(value, IdKind::Feature, floors),
            Meaning::Id(..) => {
                let text = format!("'{}' is not a feature id (such as FEAT-001)", value.text);
                remarks.refuse(value.range.start, text);
            }
            _ if named == 0 && value.code => {
                component.component_type = text();
                named = 1;
            }
            _ if named == 1 && value.code => {
                component.technology = text();
                named = 2;
            }
            Meaning::Empty => {}
            _ => {
                let text = format!("'{}' is not a feature id (such as FEAT-001)", value.text);
                remarks.refuse(value.range.start, text);
            }
        }
    }
}

/// Reads feature, component, requirements, dependencies and paths of a task.
pub(super) fn task(
    task: &mut Task,
    values: &[Value],
    is_path: &dyn Fn(&str) -> bool,
    floors: IdFloors,
    remarks: &mut Remarks,
) {
    let (mut features, mut components) = (Vec::new(), Vec::new());
    for value in values {
        match &value.meaning {
            Meaning::Id(IdKind::Feature, id) => push_once(&mut features, id),
            Meaning::Id(IdKind::Component, id) => push_once(&mut components, id),
            Meaning::Id(IdKind::Requirement, id) => push_once(&mut task.requirement_ids, id),
            Meaning::Id(IdKind::Task, id) => push_once(&mut task.dependencies, id),
            Meaning::NewId => remarks.new_id(value, IdKind::Task, floors),
            Meaning::Status => remarks.unread_status(value),
            Meaning::Empty => {}
            _ => path(task, value, is_path, remarks),
        }
    }
    let id = remarks.id.clone();
    for (ids, what) in [(&features, "feature"), (&components, "component")] {
        if let [_, second, ..] = &ids[..] {
            let of = |value: &&Value| matches!(&value.meaning, Meaning::Id(_, id) if id == second);
            let at = values.iter().find(of).map_or(remarks.at, |value| value.range.start);
            let all = quoted(ids.iter().map(String::as_str));
            remarks.refuse(at, format!("{id} names two {what}s, {all}; a task belongs to one"));
        }
    }
    task.feature_id = features.into_iter().next().unwrap_or_default();
    task.component_id = components.into_iter().next().unwrap_or_default();
}

fn path(task: &mut Task, value: &Value, is_path: &dyn Fn(&str) -> bool, remarks: &mut Remarks) {
    let text = value.text.as_str();
    let at = value.range.start;
    if text.contains(char::is_whitespace) && !is_path(text) && !is_path_shaped(text) {
        remarks.refuse(at, format!("'{text}' is not a path"));
    } else if is_outside(text) {
        remarks.refuse(at, outside(text));
    } else {
        push_once(&mut task.files_to_create, text);
    }
}

/// True for an absolute path or one that leads out of the repository.
pub(super) fn is_outside(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(|part| part == "..")
}

/// The refusal of such a path.
pub(super) fn outside(path: &str) -> String {
    format!("'{path}' is not a path inside the repository")
}

/// Splits the paths of each task into files to create and files to change.
pub(super) fn split_paths(sections: &mut [Section], context: &Context<'_>) {
    let mut named: BTreeSet<String> = BTreeSet::new();
    for section in sections {
        let Record::Task(task) = &mut section.record else { continue };
        let old = match context.present.get(&task.id) {
            Some(Record::Task(old)) => old,
            _ => Task::default(),
        };
        let paths = std::mem::take(&mut task.files_to_create);
        for path in paths {
            let bare = path.trim_start_matches("./").trim_end_matches('/').to_owned();
            let created = if old.files_to_create.contains(&path) {
                true
            } else if old.files_to_change.contains(&path) {
                false
            } else {
                !(context.in_base)(&bare) && !named.contains(&bare)
            };
            named.insert(bare);
            if created { task.files_to_create.push(path) } else { task.files_to_change.push(path) }
        }
    }
}
