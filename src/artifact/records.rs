//! Requirements, features, components and tasks: the JSON records of contract 3.
//!
//! Field order is the contract's. Fields this version does not know are kept and written after
//! the known ones, so a newer or foreign writer loses nothing.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Criterion;

/// How much a requirement matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Without it the product is pointless.
    High,
    /// Wanted in the first version.
    #[default]
    Medium,
    /// Can wait.
    Low,
}

/// What sort of requirement it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Something the product does.
    #[default]
    Functional,
    /// A quality it has.
    NonFunctional,
}

/// One thing the product must do or be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Requirement {
    /// `REQ-001`.
    pub id: String,
    /// A short name.
    pub title: String,
    /// What is wanted.
    #[serde(default)]
    pub description: String,
    /// How much it matters.
    #[serde(default)]
    pub priority: Priority,
    /// What sort it is.
    #[serde(default)]
    pub category: Category,
    /// How one sees that it is met.
    #[serde(default)]
    pub acceptance_criteria: Vec<Criterion>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// `requirements.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Requirements {
    /// In the order they were made.
    #[serde(default)]
    pub requirements: Vec<Requirement>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// How far a feature is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureStatus {
    /// Nothing is written yet.
    #[default]
    Planned,
    /// A task of it is begun.
    InProgress,
    /// All its tasks are completed.
    Implemented,
    /// The check stage found nothing against it.
    Verified,
    /// Delivered.
    Delivered,
}

/// Something a user gets, made of requirements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// `FEAT-001`.
    pub id: String,
    /// A short name.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub description: String,
    /// The requirements it serves.
    #[serde(default)]
    pub requirement_ids: Vec<String>,
    /// How far it is.
    #[serde(default)]
    pub status: FeatureStatus,
    /// When it is done.
    #[serde(default)]
    pub completion_criteria: Vec<String>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// `feature_list.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FeatureList {
    /// In the order they were made.
    #[serde(default)]
    pub features: Vec<Feature>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A part of the design.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// `COMP-001`.
    pub id: String,
    /// A short name.
    pub name: String,
    /// What it is. Left out of the file when empty, so that designs of earlier versions keep their
    /// bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// `module`, `service`, `ui`, … in the model's words.
    #[serde(default)]
    pub component_type: String,
    /// What it is there for.
    #[serde(default)]
    pub responsibilities: Vec<String>,
    /// What it is made with.
    #[serde(default)]
    pub technology: String,
    /// How others use it.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// The features it carries.
    #[serde(default)]
    pub related_features: Vec<String>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// `design_spec.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DesignSpec {
    /// In the order they were made.
    #[serde(default)]
    pub components: Vec<Component>,
    /// Fields of other versions: earlier ones had `architecture`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Done: it has a commit.
    Completed,
    /// Cannot be done as planned.
    Blocked,
}

/// A piece of work small enough for one commit. A sub-task has an id like `TASK-001.1`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// `TASK-001`; a sub-task is `TASK-001.1`, at most three levels.
    pub id: String,
    /// A short name.
    pub title: String,
    /// What is to be done.
    #[serde(default)]
    pub description: String,
    /// The feature it belongs to.
    #[serde(default)]
    pub feature_id: String,
    /// The component it is done in.
    #[serde(default)]
    pub component_id: String,
    /// The requirements it works on. Left out of the file when there are none, so that plans of
    /// earlier versions keep their bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirement_ids: Vec<String>,
    /// Tasks that come first.
    #[serde(default)]
    pub dependencies: Vec<String>,
    /// Paths that exist when it is done.
    #[serde(default)]
    pub files_to_create: Vec<String>,
    /// Paths that exist before it and that it changes. Left out of the file when there are none, so
    /// that plans of earlier versions keep their bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_to_change: Vec<String>,
    /// How one sees that it is done.
    #[serde(default)]
    pub acceptance_criteria: Vec<String>,
    /// How far it is.
    #[serde(default)]
    pub status: TaskStatus,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A field of our own on tasks: where one comes from, when not from the plan's actor.
const SOURCE: &str = "source";
/// Its value for reviewers' comments.
const REVIEW: &str = "review";

impl Task {
    /// True for `TASK-001`, false for `TASK-001.1`.
    pub fn is_top_level(&self) -> bool {
        !self.id.contains('.')
    }

    /// The files it is to create, as git writes paths.
    pub fn creates(&self) -> impl Iterator<Item = &str> {
        cleaned(&self.files_to_create)
    }

    /// The files it is to change, as git writes paths.
    pub fn changes(&self) -> impl Iterator<Item = &str> {
        cleaned(&self.files_to_change)
    }

    /// All files it names.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.creates().chain(self.changes())
    }

    /// True for a task that stands for reviewers' comments on delivered work. Nobody planned it, so
    /// no limit on plans counts it.
    pub fn is_from_review(&self) -> bool {
        self.extra.get(SOURCE).and_then(Value::as_str) == Some(REVIEW)
    }

    /// Marks it as [`Self::is_from_review`].
    #[must_use]
    pub fn from_review(mut self) -> Self {
        self.extra.insert(SOURCE.to_owned(), REVIEW.into());
        self
    }
}

/// Paths without blanks, a leading `./` or a final `/`; those that are empty then are left out.
fn cleaned(paths: &[String]) -> impl Iterator<Item = &str> {
    let clean = paths.iter().map(|path| path.trim().trim_start_matches("./").trim_end_matches('/'));
    clean.filter(|path| !path.is_empty())
}

/// `implementation_plan.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// In the order they were made; sub-tasks stand beside their parents.
    #[serde(default)]
    pub tasks: Vec<Task>,
    /// Fields of other versions: earlier ones had `milestones`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Plan {
    /// A task and its sub-tasks, of all levels.
    pub fn with_sub_tasks<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a Task> {
        let below = format!("{id}.");
        let id = id.to_owned();
        let all = self.tasks.iter();
        all.filter(move |task| task.id == id || task.id.starts_with(&below))
    }

    /// The files a task and its sub-tasks name.
    pub fn files_of<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a str> {
        self.with_sub_tasks(id).flat_map(Task::files)
    }

    /// The features a task and its sub-tasks work on, each once, the task's own first.
    pub fn features_of(&self, id: &str) -> Vec<&str> {
        let mut features: Vec<&str> = Vec::new();
        for task in self.with_sub_tasks(id) {
            let feature = task.feature_id.as_str();
            if feature.is_empty() || features.contains(&feature) {
                continue;
            }
            match task.id == id {
                true => features.insert(0, feature),
                false => features.push(feature),
            }
        }
        features
    }

    /// The top-level tasks that work on a feature, themselves or in a sub-task.
    pub fn tasks_of<'a>(&'a self, feature: &'a str) -> impl Iterator<Item = &'a Task> {
        let top = self.tasks.iter().filter(|task| task.is_top_level());
        top.filter(move |task| self.with_sub_tasks(&task.id).any(|t| t.feature_id == feature))
    }
}
