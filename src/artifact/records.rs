//! Requirements, features, components and tasks: the JSON records.
//!
//! Fields are written in a fixed order. Unknown fields are kept and written after the known ones, so
//! that data of newer versions and other tools is not lost.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A criterion of a requirement. In JSON, a criterion without a test is a plain string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Criterion {
    /// The condition.
    pub text: String,
    /// `file::name` of the test for the condition.
    pub test: Option<String>,
    /// The test must fail on the base commit.
    pub fails_before: bool,
}

#[derive(Serialize, Deserialize)]
struct WithTest {
    #[serde(default)]
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    test: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    fails_before: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Either {
    Text(String),
    Full(WithTest),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Serialize for Criterion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.test.is_none() {
            return serializer.serialize_str(&self.text);
        }
        let (text, test) = (self.text.clone(), self.test.clone());
        WithTest { text, test, fails_before: self.fails_before }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Criterion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => text.into(),
            Either::Full(WithTest { text, test, fails_before }) => {
                let test = test.filter(|test| !test.trim().is_empty());
                let fails_before = fails_before && test.is_some();
                Self { text, test, fails_before }
            }
        })
    }
}

impl From<String> for Criterion {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Criterion {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// How important a requirement is.
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

/// The kind of requirement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Something the product does.
    #[default]
    Functional,
    /// A quality of the product.
    NonFunctional,
}

/// One thing the product must do or be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Requirement {
    /// `REQ-001`.
    pub id: String,
    /// A short name.
    pub title: String,
    /// The requirement in words.
    #[serde(default)]
    pub description: String,
    /// How important it is.
    #[serde(default)]
    pub priority: Priority,
    /// The kind of requirement.
    #[serde(default)]
    pub category: Category,
    /// How to see that it is met.
    #[serde(default)]
    pub acceptance_criteria: Vec<Criterion>,
    /// Unknown fields, such as those of other versions of git-cowork.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// `requirements.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Requirements {
    /// That the file is generated, and which document to edit instead: `edit prd.md`. Absent in
    /// files that earlier releases wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<String>,
    /// The requirements, in the order they were created.
    #[serde(default)]
    pub requirements: Vec<Requirement>,
    /// Unknown fields, such as those of other versions of git-cowork.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The progress of a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureStatus {
    /// Nothing is written yet.
    #[default]
    Planned,
    /// One of its tasks was started.
    InProgress,
    /// All its tasks are completed.
    Implemented,
    /// The check stage found no problem with it.
    Verified,
    /// Delivered.
    Delivered,
}

/// Something that the product offers to a user; it serves requirements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// `FEAT-001`.
    pub id: String,
    /// A short name.
    pub name: String,
    /// The feature in words.
    #[serde(default)]
    pub description: String,
    /// The requirements that it serves.
    #[serde(default)]
    pub requirement_ids: Vec<String>,
    /// The progress.
    #[serde(default)]
    pub status: FeatureStatus,
    /// Criteria for its completion.
    #[serde(default)]
    pub completion_criteria: Vec<String>,
    /// Unknown fields, such as those of other versions of git-cowork.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// `feature_list.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FeatureList {
    /// That the file is generated, and which document to edit instead: `edit prd.md`. Absent in
    /// files that earlier releases wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<String>,
    /// The features, in the order they were created.
    #[serde(default)]
    pub features: Vec<Feature>,
    /// Unknown fields, such as those of other versions of git-cowork.
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
    /// The component in words. Not written if empty, so that rewriting designs of earlier versions
    /// does not change their bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// `module`, `service`, `ui`, … as the model calls it.
    #[serde(default)]
    pub component_type: String,
    /// Its responsibilities.
    #[serde(default)]
    pub responsibilities: Vec<String>,
    /// The technology it uses.
    #[serde(default)]
    pub technology: String,
    /// How other components use it.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// The features that it implements.
    #[serde(default)]
    pub related_features: Vec<String>,
    /// Unknown fields, such as those of other versions of git-cowork.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// `design_spec.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DesignSpec {
    /// That the file is generated, and which document to edit instead: `edit prd.md`. Absent in
    /// files that earlier releases wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<String>,
    /// The components, in the order they were created.
    #[serde(default)]
    pub components: Vec<Component>,
    /// Unknown fields, such as those of other versions of git-cowork: earlier ones wrote
    /// `architecture`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The progress of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not started.
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
    /// `TASK-001`; a sub-task has an id like `TASK-001.1`, with at most three levels.
    pub id: String,
    /// A short name.
    pub title: String,
    /// What to do.
    #[serde(default)]
    pub description: String,
    /// The feature that it works on.
    #[serde(default)]
    pub feature_id: String,
    /// The component that it changes.
    #[serde(default)]
    pub component_id: String,
    /// The requirements that it works on. Not written if empty, so that rewriting plans of earlier
    /// versions does not change their bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirement_ids: Vec<String>,
    /// Tasks that must be done before it.
    #[serde(default)]
    pub dependencies: Vec<String>,
    /// Paths that it creates.
    #[serde(default)]
    pub files_to_create: Vec<String>,
    /// Existing paths that it changes. Not written if empty, so that rewriting plans of earlier
    /// versions does not change their bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_to_change: Vec<String>,
    /// How to see that it is done.
    #[serde(default)]
    pub acceptance_criteria: Vec<String>,
    /// The progress.
    #[serde(default)]
    pub status: TaskStatus,
    /// Unknown fields, such as those of other versions of git-cowork.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The extra field with the source of a task that the plan's actor did not create.
const SOURCE: &str = "source";
/// The value of that field for reviewers' comments.
const REVIEW: &str = "review";

impl Task {
    /// True for `TASK-001`, false for `TASK-001.1`.
    pub fn is_top_level(&self) -> bool {
        !self.id.contains('.')
    }

    /// Returns the files to create, normalized as git writes paths.
    pub fn creates(&self) -> impl Iterator<Item = &str> {
        cleaned(&self.files_to_create)
    }

    /// Returns the files to change, normalized as git writes paths.
    pub fn changes(&self) -> impl Iterator<Item = &str> {
        cleaned(&self.files_to_change)
    }

    /// Returns all files that the task names.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.creates().chain(self.changes())
    }

    /// True for a task made from reviewers' comments on delivered work. Nobody planned it, so it
    /// does not count for limits of plans.
    pub fn is_from_review(&self) -> bool {
        self.extra.get(SOURCE).and_then(Value::as_str) == Some(REVIEW)
    }

    /// Marks the task as made from reviewers' comments; see [`Self::is_from_review`].
    #[must_use]
    pub fn from_review(mut self) -> Self {
        self.extra.insert(SOURCE.to_owned(), REVIEW.into());
        self
    }
}

/// Normalizes paths: removes white space around them, a leading `./` and a final `/`; leaves out
/// empty paths.
fn cleaned(paths: &[String]) -> impl Iterator<Item = &str> {
    let clean = paths.iter().map(|path| path.trim().trim_start_matches("./").trim_end_matches('/'));
    clean.filter(|path| !path.is_empty())
}

/// `implementation_plan.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// That the file is generated, and which document to edit instead: `edit prd.md`. Absent in
    /// files that earlier releases wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<String>,
    /// The tasks, in the order they were created; sub-tasks are next to their parents.
    #[serde(default)]
    pub tasks: Vec<Task>,
    /// Unknown fields, such as those of other versions of git-cowork: earlier ones wrote
    /// `milestones`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Plan {
    /// Returns a task and its sub-tasks of all levels.
    pub fn with_sub_tasks<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a Task> {
        let below = format!("{id}.");
        let id = id.to_owned();
        let all = self.tasks.iter();
        all.filter(move |task| task.id == id || task.id.starts_with(&below))
    }

    /// Returns the files that a task and its sub-tasks name.
    pub fn files_of<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a str> {
        self.with_sub_tasks(id).flat_map(Task::files)
    }

    /// Returns the features that a task and its sub-tasks work on, each once, the task's own first.
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

    /// Returns the top-level tasks that work on a feature, themselves or in a sub-task.
    pub fn tasks_of<'a>(&'a self, feature: &'a str) -> impl Iterator<Item = &'a Task> {
        let top = self.tasks.iter().filter(|task| task.is_top_level());
        top.filter(move |task| self.with_sub_tasks(&task.id).any(|t| t.feature_id == feature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_criterion_without_a_test_is_a_string() {
        for (json, text, test, fails_before) in [
            (r#""it ends""#, "it ends", None, false),
            (r#"{"text":"t","test":"a.rs::b"}"#, "t", Some("a.rs::b"), false),
            (r#"{"text":"t","test":"a.rs::b","fails_before":true}"#, "t", Some("a.rs::b"), true),
        ] {
            let read: Criterion = serde_json::from_str(json).unwrap();
            let test = test.map(str::to_owned);
            assert_eq!(read, Criterion { text: text.to_owned(), test, fails_before });
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
        }
        let bare: Criterion = serde_json::from_str(r#"{"text":"t","fails_before":true}"#).unwrap();
        assert_eq!(bare, "t".into());
    }
}
