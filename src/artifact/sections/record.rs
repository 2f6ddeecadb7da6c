//! A record of any kind, and all records of a session.

use std::slice;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::super::{Component, Feature, IdKind, Requirement, Task, TaskStatus};
use super::{Change, criterion, item_of};

/// A place on the fields line of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// `high`
    Priority,
    /// `functional`
    Category,
    /// The type of a component, its first code span.
    Type,
    /// The technology of a component, its second code span.
    Technology,
    /// One id of this kind.
    One(IdKind),
    /// Any number of ids of this kind.
    Many(IdKind),
    /// The files of a task.
    Paths,
}

impl Slot {
    /// Returns the kind of the ids in it.
    pub(in crate::artifact) const fn id_kind(self) -> Option<IdKind> {
        match self {
            Self::One(kind) | Self::Many(kind) => Some(kind),
            _ => None,
        }
    }
}

impl IdKind {
    /// Returns what the fields line of a record of this kind has, in the order of writing.
    pub(in crate::artifact) const fn slots(self) -> &'static [Slot] {
        match self {
            Self::Requirement => &[Slot::Priority, Slot::Category],
            Self::Feature => &[Slot::Many(Self::Requirement)],
            Self::Component => &[Slot::Type, Slot::Technology, Slot::Many(Self::Feature)],
            Self::Task => &[
                Slot::One(Self::Feature),
                Slot::One(Self::Component),
                Slot::Many(Self::Requirement),
                Slot::Many(Self::Task),
                Slot::Paths,
            ],
        }
    }
}

/// Returns the word of an enum in Markdown and in JSON: `non_functional`.
fn word(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns what a word of an enum means.
fn named<T: DeserializeOwned + Default>(word: &str) -> T {
    serde_json::from_value(word.into()).unwrap_or_default()
}

/// A requirement, feature, component or task.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// In `prd.md`, or in `plan.md` if there is no `prd.md`.
    Requirement(Requirement),
    /// In `prd.md`, or in `plan.md` if there is no `prd.md`.
    Feature(Feature),
    /// In `design.md`.
    Component(Component),
    /// In `plan.md`.
    Task(Task),
}

impl Record {
    /// Makes a record with an empty fields line; `items` are those of its list.
    pub(super) fn new(
        kind: IdKind,
        [id, title, description]: [String; 3],
        items: Vec<String>,
        interfaces: Vec<String>,
    ) -> Self {
        match kind {
            IdKind::Requirement => {
                let acceptance_criteria = items.iter().map(|item| criterion(item)).collect();
                let one = Requirement { id, title, description, ..Requirement::default() };
                Self::Requirement(Requirement { acceptance_criteria, ..one })
            }
            IdKind::Feature => {
                let one = Feature { id, name: title, description, ..Feature::default() };
                Self::Feature(Feature { completion_criteria: items, ..one })
            }
            IdKind::Component => {
                let one = Component { id, name: title, description, ..Component::default() };
                Self::Component(Component { responsibilities: items, interfaces, ..one })
            }
            IdKind::Task => {
                let one = Task { id, title, description, ..Task::default() };
                Self::Task(Task { acceptance_criteria: items, ..one })
            }
        }
    }

    /// Returns the kind of the record.
    pub const fn kind(&self) -> IdKind {
        match self {
            Self::Requirement(_) => IdKind::Requirement,
            Self::Feature(_) => IdKind::Feature,
            Self::Component(_) => IdKind::Component,
            Self::Task(_) => IdKind::Task,
        }
    }

    /// Returns the id, the title or name, and the description.
    fn texts(&self) -> [&String; 3] {
        match self {
            Self::Requirement(one) => [&one.id, &one.title, &one.description],
            Self::Feature(one) => [&one.id, &one.name, &one.description],
            Self::Component(one) => [&one.id, &one.name, &one.description],
            Self::Task(one) => [&one.id, &one.title, &one.description],
        }
    }

    /// Like [`Self::texts`], to be changed.
    pub(in crate::artifact) fn texts_mut(&mut self) -> [&mut String; 3] {
        match self {
            Self::Requirement(one) => [&mut one.id, &mut one.title, &mut one.description],
            Self::Feature(one) => [&mut one.id, &mut one.name, &mut one.description],
            Self::Component(one) => [&mut one.id, &mut one.name, &mut one.description],
            Self::Task(one) => [&mut one.id, &mut one.title, &mut one.description],
        }
    }

    /// Gives the record another id.
    pub(in crate::artifact) fn set_id(&mut self, id: &str) {
        id.clone_into(self.texts_mut()[0]);
    }

    /// Returns the id, such as `REQ-001`.
    pub fn id(&self) -> &str {
        self.texts()[0]
    }

    /// Returns the title or name.
    pub fn title(&self) -> &str {
        self.texts()[1]
    }

    /// Returns the description.
    pub fn description(&self) -> &str {
        self.texts()[2]
    }

    /// Returns the items of the record's list: its criteria or responsibilities.
    pub(in crate::artifact) fn items(&self) -> Vec<String> {
        match self {
            Self::Requirement(one) => one.acceptance_criteria.iter().map(item_of).collect(),
            Self::Feature(one) => one.completion_criteria.clone(),
            Self::Component(one) => one.responsibilities.clone(),
            Self::Task(one) => one.acceptance_criteria.clone(),
        }
    }

    /// Changes the text of each item of the record's list.
    pub(in crate::artifact) fn change_items(&mut self, change: &dyn Fn(&str) -> String) {
        let items = match self {
            Self::Requirement(one) => {
                one.acceptance_criteria.iter_mut().for_each(|one| one.text = change(&one.text));
                return;
            }
            Self::Feature(one) => &mut one.completion_criteria,
            Self::Component(one) => &mut one.responsibilities,
            Self::Task(one) => &mut one.acceptance_criteria,
        };
        items.iter_mut().for_each(|item| *item = change(item));
    }

    /// Returns the interfaces of a component, without empty ones.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = &String> {
        let all = match self {
            Self::Component(one) => one.interfaces.as_slice(),
            _ => &[],
        };
        all.iter().filter(|one| !one.trim().is_empty())
    }

    /// Returns the values in a slot of the fields line.
    pub(in crate::artifact) fn values(&self, slot: Slot) -> Vec<String> {
        let list: &[String] = match (self, slot) {
            (Self::Requirement(one), Slot::Priority) => return vec![word(one.priority)],
            (Self::Requirement(one), Slot::Category) => return vec![word(one.category)],
            (Self::Component(one), Slot::Type) => return vec![one.component_type.clone()],
            (Self::Component(one), Slot::Technology) => return vec![one.technology.clone()],
            (Self::Task(one), Slot::Paths) => {
                return one.files_to_create.iter().chain(&one.files_to_change).cloned().collect();
            }
            (Self::Task(one), Slot::One(IdKind::Feature)) => slice::from_ref(&one.feature_id),
            (Self::Task(one), Slot::One(IdKind::Component)) => slice::from_ref(&one.component_id),
            (Self::Task(one), Slot::Many(IdKind::Requirement)) => &one.requirement_ids,
            (Self::Task(one), Slot::Many(IdKind::Task)) => &one.dependencies,
            (Self::Feature(one), Slot::Many(IdKind::Requirement)) => &one.requirement_ids,
            (Self::Component(one), Slot::Many(IdKind::Feature)) => &one.related_features,
            _ => &[],
        };
        list.iter().filter(|id| !id.trim().is_empty()).cloned().collect()
    }

    /// Replaces the values in a slot of the fields line. All paths of a task count as files to
    /// create, until [`values::split_paths`](super::values) sorts them.
    pub(in crate::artifact) fn set_values(&mut self, slot: Slot, values: Vec<String>) {
        let first = values.first().cloned().unwrap_or_default();
        match (self, slot) {
            (Self::Requirement(one), Slot::Priority) => one.priority = named(&first),
            (Self::Requirement(one), Slot::Category) => one.category = named(&first),
            (Self::Component(one), Slot::Type) => one.component_type = first,
            (Self::Component(one), Slot::Technology) => one.technology = first,
            (Self::Task(one), Slot::Paths) => one.files_to_create = values,
            (Self::Task(one), Slot::One(IdKind::Feature)) => one.feature_id = first,
            (Self::Task(one), Slot::One(IdKind::Component)) => one.component_id = first,
            (Self::Task(one), Slot::Many(IdKind::Requirement)) => one.requirement_ids = values,
            (Self::Task(one), Slot::Many(IdKind::Task)) => one.dependencies = values,
            (Self::Feature(one), Slot::Many(IdKind::Requirement)) => one.requirement_ids = values,
            (Self::Component(one), Slot::Many(IdKind::Feature)) => one.related_features = values,
            _ => {}
        }
    }

    /// True for a completed task: it is history.
    pub fn is_completed_task(&self) -> bool {
        matches!(self, Self::Task(task) if task.status == TaskStatus::Completed)
    }

    /// Returns the ids of other records that it refers to.
    pub fn references(&self) -> Vec<String> {
        let slots = self.kind().slots().iter().filter(|slot| slot.id_kind().is_some());
        slots.flat_map(|slot| self.values(*slot)).collect()
    }

    fn extra(&self) -> &Map<String, Value> {
        match self {
            Self::Requirement(one) => &one.extra,
            Self::Feature(one) => &one.extra,
            Self::Component(one) => &one.extra,
            Self::Task(one) => &one.extra,
        }
    }

    pub(super) fn extra_mut(&mut self) -> &mut Map<String, Value> {
        match self {
            Self::Requirement(one) => &mut one.extra,
            Self::Feature(one) => &mut one.extra,
            Self::Component(one) => &mut one.extra,
            Self::Task(one) => &mut one.extra,
        }
    }

    /// Copies the fields that are never in Markdown.
    pub(in crate::artifact) fn keep_unwritten(&mut self, present: &Self) {
        self.keep_status(present);
        self.extra_mut().clone_from(present.extra());
    }

    /// Copies the status, which is never in Markdown.
    pub(in crate::artifact) fn keep_status(&mut self, present: &Self) {
        match (self, present) {
            (Self::Feature(one), Self::Feature(old)) => one.status = old.status,
            (Self::Task(one), Self::Task(old)) => one.status = old.status,
            _ => {}
        }
    }

    /// Sorts the paths into created and changed ones as another version of the task does, if that
    /// version names them as well.
    pub(in crate::artifact) fn keep_sides(&mut self, present: &Self) {
        let (Self::Task(one), Self::Task(old)) = (self, present) else { return };
        let (mut create, mut change) = (Vec::new(), Vec::new());
        for path in &one.files_to_create {
            let to = if old.files_to_change.contains(path) { &mut change } else { &mut create };
            to.push(path.clone());
        }
        for path in &one.files_to_change {
            let to = if old.files_to_create.contains(path) { &mut create } else { &mut change };
            to.push(path.clone());
        }
        (one.files_to_create, one.files_to_change) = (create, change);
    }

    /// Returns the status as a word; requirements and components have none.
    pub(in crate::artifact) fn status(&self) -> Option<String> {
        match self {
            Self::Feature(one) => Some(word(one.status)),
            Self::Task(one) => Some(word(one.status)),
            Self::Requirement(_) | Self::Component(_) => None,
        }
    }

    /// Returns only what Markdown contains of the record: no status, no unknown fields, and one
    /// list of paths.
    #[must_use]
    pub fn written(&self) -> Self {
        let mut bare = self.clone();
        *bare.extra_mut() = Map::new();
        match &mut bare {
            Self::Feature(one) => one.status = Default::default(),
            Self::Task(one) => {
                one.status = Default::default();
                one.files_to_create.append(&mut one.files_to_change);
                one.files_to_create.sort();
            }
            _ => {}
        }
        bare
    }
}

/// The records of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// In the order of the document.
    pub requirements: Vec<Requirement>,
    /// In the order of the document.
    pub features: Vec<Feature>,
    /// In the order of the document.
    pub components: Vec<Component>,
    /// In the order of the document.
    pub tasks: Vec<Task>,
}

impl Records {
    /// Returns all records.
    pub fn iter(&self) -> impl Iterator<Item = Record> {
        self.clone().into_records()
    }

    /// Turns them into a sequence.
    pub fn into_records(self) -> impl Iterator<Item = Record> {
        let requirements = self.requirements.into_iter().map(Record::Requirement);
        let features = self.features.into_iter().map(Record::Feature);
        let components = self.components.into_iter().map(Record::Component);
        let tasks = self.tasks.into_iter().map(Record::Task);
        requirements.chain(features).chain(components).chain(tasks)
    }

    /// Returns the record with this id.
    pub fn get(&self, id: &str) -> Option<Record> {
        match IdKind::of_id(id)? {
            IdKind::Requirement => {
                self.requirements.iter().find(|r| r.id == id).cloned().map(Record::Requirement)
            }
            IdKind::Feature => {
                self.features.iter().find(|f| f.id == id).cloned().map(Record::Feature)
            }
            IdKind::Component => {
                self.components.iter().find(|c| c.id == id).cloned().map(Record::Component)
            }
            IdKind::Task => self.tasks.iter().find(|t| t.id == id).cloned().map(Record::Task),
        }
    }

    /// Returns all ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let requirements = self.requirements.iter().map(|one| one.id.as_str());
        let features = self.features.iter().map(|one| one.id.as_str());
        let components = self.components.iter().map(|one| one.id.as_str());
        let tasks = self.tasks.iter().map(|one| one.id.as_str());
        requirements.chain(features).chain(components).chain(tasks)
    }

    /// True if there is a record with this id.
    pub fn has(&self, id: &str) -> bool {
        self.ids().any(|one| one == id)
    }

    /// Appends a record to those of its kind.
    pub fn push(&mut self, record: Record) {
        match record {
            Record::Requirement(one) => self.requirements.push(one),
            Record::Feature(one) => self.features.push(one),
            Record::Component(one) => self.components.push(one),
            Record::Task(one) => self.tasks.push(one),
        }
    }

    /// Returns all records, each with only what Markdown contains.
    #[must_use]
    pub fn written(&self) -> Self {
        self.iter().map(|record| record.written()).collect()
    }

    /// Applies a change.
    pub fn apply(&mut self, change: &Change) {
        let mut all: Vec<Record> = self.iter().collect();
        match change {
            Change::Put(record) => match all.iter_mut().find(|one| one.id() == record.id()) {
                Some(one) => one.clone_from(record),
                None => all.push(record.clone()),
            },
            Change::Delete(id) => all.retain(|one| one.id() != id),
        }
        *self = all.into_iter().collect();
    }

    /// Sorts records into the order of these ids; other records come last.
    pub fn order(&mut self, ids: &[String]) {
        let place = |record: &Record| ids.iter().position(|id| id == record.id());
        let mut all: Vec<Record> = self.iter().collect();
        all.sort_by_key(|record| place(record).unwrap_or(usize::MAX));
        *self = all.into_iter().collect();
    }
}

impl FromIterator<Record> for Records {
    fn from_iter<T: IntoIterator<Item = Record>>(records: T) -> Self {
        let mut all = Self::default();
        records.into_iter().for_each(|record| all.push(record));
        all
    }
}
