//! Puts the values on a fields line into the slots of a record, and reports invalid ones.
//! The paths of a task are one list in Markdown and two in JSON.

use std::collections::BTreeSet;

use super::super::path_shape::is_path_shaped;
use super::super::{IdKind, Task};
use super::fields::{Meaning, Value};
use super::parse::Reader;
use super::{Context, Record, Section, Slot};

/// The values of one slot, each with its canonical text; no text is there twice.
struct Group<'v> {
    slot: Slot,
    values: Vec<(String, &'v Value)>,
}

impl Reader<'_> {
    /// Puts values into the slots of a record whose heading is at this offset.
    pub(super) fn fill(&mut self, record: &mut Record, values: &[Value], at: usize) {
        let kind = record.kind();
        let group = |slot: &Slot| Group { slot: *slot, values: Vec::new() };
        let mut groups: Vec<Group<'_>> = kind.slots().iter().map(group).collect();
        let mut all_fit = true;
        for value in values {
            let start = value.range.start;
            let place = groups.iter().position(|group| group.takes(value));
            match (place.and_then(|place| groups.get_mut(place)), &value.meaning) {
                (Some(group), _) if group.slot == Slot::Paths => {
                    match self.path_problem(record.id(), &value.text) {
                        Some(problem) => self.refuse(start, problem),
                        None => group.add(value),
                    }
                }
                (Some(group), _) => group.add(value),
                (None, Meaning::Empty) => {}
                (None, Meaning::Status) => {
                    let text =
                        format!("'{}' is ignored: status comes from the commits", value.text);
                    self.note(start, text);
                }
                (None, Meaning::NewId) if kind != IdKind::Requirement => {
                    let text = self.without_number(record.id(), &value.text);
                    self.refuse(start, text);
                }
                (None, _) => {
                    all_fit = false;
                    self.refuse(start, unfit(kind, &value.text));
                }
            }
            if let Meaning::Word(Slot::Priority, word) = value.meaning
                && !value.text.eq_ignore_ascii_case(word)
            {
                self.note(start, format!("'{}' is read as {word}", value.text));
            }
        }
        for Group { slot, values } in groups {
            if let [_, (_, second), ..] = &values[..]
                && let Some(text) = two_of(slot, record.id(), &values)
            {
                self.refuse(second.range.start, text);
            }
            if values.is_empty() && all_fit {
                self.default_word(slot, record.id(), at);
            }
            record.set_values(slot, values.into_iter().map(|(text, _)| text).collect());
        }
    }

    /// Says which word is assumed in an empty slot of a requirement.
    fn default_word(&mut self, slot: Slot, id: &str, at: usize) {
        match slot {
            Slot::Priority if self.context.present.has(id) => {
                let fix = "write high, medium or low on the line below its heading";
                self.refuse(at, format!("{id} has no priority; {fix}"));
            }
            Slot::Priority => self.note(at, format!("{id} has no priority: medium is assumed")),
            Slot::Category => self.note(at, format!("{id} has no category: functional is assumed")),
            _ => {}
        }
    }

    /// The refusal of a reference to a record that has no number yet.
    fn without_number(&self, id: &str, reference: &str) -> String {
        let upper = reference.to_ascii_uppercase();
        let kind = IdKind::of_id(&upper).unwrap_or(IdKind::Task);
        let (name, next) = (kind.name(), { self.context.floors }.next(kind));
        format!("{id} refers to {reference}; give that {name} a number (next: {next})")
    }

    /// Returns why a task cannot name this path.
    fn path_problem(&self, id: &str, path: &str) -> Option<String> {
        let is_known = || {
            let old = self.context.present.get(id);
            old.is_some_and(|old| old.values(Slot::Paths).iter().any(|one| one == path))
        };
        let has_blank = path.contains(char::is_whitespace);
        if has_blank && !is_path_shaped(path) && !is_known() && !(self.context.in_base)(path) {
            return Some(format!("'{path}' is not a path"));
        }
        is_outside(path).then(|| outside(path))
    }
}

impl<'v> Group<'v> {
    /// True if a value belongs into the slot. The type and the technology of a component are its
    /// first code spans, whatever they say.
    fn takes(&self, value: &Value) -> bool {
        match &value.meaning {
            Meaning::Id(kind, _) => self.slot.id_kind() == Some(*kind),
            Meaning::Word(slot, _) => self.slot == *slot,
            Meaning::NewId => false,
            Meaning::Other if self.slot == Slot::Paths => true,
            Meaning::Empty | Meaning::Status | Meaning::Other => {
                let is_free = self.values.is_empty() && value.code;
                matches!(self.slot, Slot::Type | Slot::Technology) && is_free
            }
        }
    }

    fn add(&mut self, value: &'v Value) {
        let text = match &value.meaning {
            Meaning::Id(_, id) => id.clone(),
            Meaning::Word(_, word) => (*word).to_owned(),
            Meaning::Empty => String::new(),
            _ => value.text.clone(),
        };
        if !self.values.iter().any(|(known, _)| *known == text) {
            self.values.push((text, value));
        }
    }
}

/// The refusal of several values in a slot that has one.
fn two_of(slot: Slot, id: &str, values: &[(String, &Value)]) -> Option<String> {
    let ids = || values.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(", ");
    let words = || values.iter().map(|(_, one)| one.text.as_str()).collect::<Vec<_>>().join(", ");
    match slot {
        Slot::Priority => Some(format!("{id} has two priorities: {}", words())),
        Slot::Category => Some(format!("{id} has two categories: {}", words())),
        Slot::One(kind) => {
            Some(format!("{id} names two {}s, {}; a task belongs to one", kind.name(), ids()))
        }
        _ => None,
    }
}

/// The refusal of a value that no slot of a record of this kind takes.
fn unfit(kind: IdKind, value: &str) -> String {
    match kind.slots().iter().find_map(|slot| slot.id_kind()) {
        Some(of) => format!("'{value}' is not a {} id (such as {})", of.name(), of.format(1)),
        None => format!(
            "'{value}' is not a priority (high, medium, low) or a category (functional, \
             non_functional)"
        ),
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
