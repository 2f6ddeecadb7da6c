//! A record of any kind, and all records of a session.

use serde_json::{Map, Value};

use super::super::{Component, Feature, IdKind, Requirement, Task, TaskStatus};
use super::Change;

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
    /// Returns the kind of the record.
    pub const fn kind(&self) -> IdKind {
        match self {
            Self::Requirement(_) => IdKind::Requirement,
            Self::Feature(_) => IdKind::Feature,
            Self::Component(_) => IdKind::Component,
            Self::Task(_) => IdKind::Task,
        }
    }

    /// Returns the id, such as `REQ-001`.
    pub fn id(&self) -> &str {
        match self {
            Self::Requirement(one) => &one.id,
            Self::Feature(one) => &one.id,
            Self::Component(one) => &one.id,
            Self::Task(one) => &one.id,
        }
    }

    /// Returns the title or name.
    pub fn title(&self) -> &str {
        match self {
            Self::Requirement(one) => &one.title,
            Self::Feature(one) => &one.name,
            Self::Component(one) => &one.name,
            Self::Task(one) => &one.title,
        }
    }

    /// Returns the description.
    pub fn description(&self) -> &str {
        match self {
            Self::Requirement(one) => &one.description,
            Self::Feature(one) => &one.description,
            Self::Component(one) => &one.description,
            Self::Task(one) => &one.description,
        }
    }

    /// True for a completed task: it is history.
    pub fn is_completed_task(&self) -> bool {
        matches!(self, Self::Task(task) if task.status == TaskStatus::Completed)
    }

    /// Returns the ids of other records that it refers to.
    pub fn references(&self) -> Vec<&str> {
        let ids: Vec<&String> = match self {
            Self::Requirement(_) => Vec::new(),
            Self::Feature(one) => one.requirement_ids.iter().collect(),
            Self::Component(one) => one.related_features.iter().collect(),
            Self::Task(one) => {
                let own = [&one.feature_id, &one.component_id];
                own.into_iter().chain(&one.requirement_ids).chain(&one.dependencies).collect()
            }
        };
        ids.into_iter().map(String::as_str).filter(|id| !id.is_empty()).collect()
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
        match (self, present) {
            (Self::Requirement(one), Self::Requirement(old)) => one.extra.clone_from(&old.extra),
            (Self::Component(one), Self::Component(old)) => one.extra.clone_from(&old.extra),
            (Self::Feature(one), Self::Feature(old)) => {
                one.status = old.status;
                one.extra.clone_from(&old.extra);
            }
            (Self::Task(one), Self::Task(old)) => {
                one.status = old.status;
                one.extra.clone_from(&old.extra);
            }
            _ => {}
        }
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

    /// Returns the status in its JSON form; requirements and components have none.
    pub(in crate::artifact) fn status(&self) -> Option<Value> {
        match self {
            Self::Feature(one) => serde_json::to_value(one.status).ok(),
            Self::Task(one) => serde_json::to_value(one.status).ok(),
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
        let requirements = self.requirements.iter().cloned().map(Record::Requirement);
        let features = self.features.iter().cloned().map(Record::Feature);
        let components = self.components.iter().cloned().map(Record::Component);
        let tasks = self.tasks.iter().cloned().map(Record::Task);
        requirements.chain(features).chain(components).chain(tasks)
    }

    /// Returns the record with this id.
    pub fn get(&self, id: &str) -> Option<Record> {
        match IdKind::of(id)? {
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

impl From<Requirement> for Record {
    fn from(one: Requirement) -> Self {
        Self::Requirement(one)
    }
}

impl From<Feature> for Record {
    fn from(one: Feature) -> Self {
        Self::Feature(one)
    }
}

impl From<Component> for Record {
    fn from(one: Component) -> Self {
        Self::Component(one)
    }
}

impl From<Task> for Record {
    fn from(one: Task) -> Self {
        Self::Task(one)
    }
}
