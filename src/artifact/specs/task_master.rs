//! The tags of Task Master: each is a list of tasks of its own in `tasks.json`.

use serde_json::Value;

use super::kinds::SpecKind;
use super::marks::patterns;
use super::read::Reading;
use super::{Refusal, SpecFile, words_of};

/// The tool's name.
pub(super) const NAME: &str = "Task Master";
/// The tag without which there is no other.
const MASTER: &str = "master";

/// A tag and its tasks.
pub(super) struct Tag {
    name: String,
    tasks: Value,
    others: Vec<String>,
    /// The files in `docs/` that describe it.
    docs: Vec<String>,
}

impl Tag {
    /// Returns the tag that was asked for, else the current one.
    ///
    /// # Errors
    /// `tasks.json` cannot be read or does not have the tag.
    pub(super) fn chosen(files: &[SpecFile], asked: Option<&str>) -> Result<Self, Refusal> {
        let of_name =
            |name: &str| files.iter().find(|file| file.path.rsplit('/').next() == Some(name));
        let Some(file) = of_name("tasks.json") else {
            return Err("there is no tasks.json".to_owned().into());
        };
        let whole: Value = serde_json::from_str(file.text.trim_start_matches('\u{feff}'))
            .map_err(|error| format!("{} is not JSON: {error}", file.path))?;
        let tasks_of = |value: &Value| value.get("tasks").filter(|tasks| tasks.is_array()).cloned();
        let mut tags: Vec<(String, Value)> = Vec::new();
        match (tasks_of(&whole), whole.as_object()) {
            // The format before there were tags.
            (Some(tasks), _) => tags.push((MASTER.to_owned(), tasks)),
            (None, Some(object)) => {
                let named = object
                    .iter()
                    .filter_map(|(name, value)| Some((name.clone(), tasks_of(value)?)));
                tags.extend(named);
            }
            (None, None) => {}
        }
        if tags.is_empty() {
            return Err(format!("{} has no list of tasks", file.path).into());
        }
        let state =
            of_name("state.json").and_then(|file| serde_json::from_str::<Value>(&file.text).ok());
        let current = state.as_ref().and_then(|state| state.get("currentTag")?.as_str());
        let has = |name: &str| tags.iter().any(|(one, _)| one == name);
        let only = tags.first().map(|(name, _)| name.as_str()).filter(|_| tags.len() == 1);
        let name = asked.or(current.filter(|name| has(name))).or(only).unwrap_or(MASTER).to_owned();
        let options = |tags: &[(String, Value)]| -> Vec<[String; 2]> {
            tags.iter().map(|(name, _)| ["--tag".to_owned(), name.clone()]).collect()
        };
        let Some(at) = tags.iter().position(|(one, _)| *one == name) else {
            let text = format!("{} has no tag '{name}'", file.path);
            return Err(Refusal { text, options: options(&tags) });
        };
        let (name, tasks) = tags.swap_remove(at);
        let docs = files.iter().filter(|file| file.path.starts_with("docs/"));
        let docs: Vec<String> = docs.map(|file| file.path.clone()).collect();
        let stem = |path: &String| {
            let file = path.rsplit('/').next().unwrap_or(path).to_lowercase();
            file.rsplit_once('.').map_or(file.clone(), |(stem, _)| stem.to_owned())
        };
        let is_own = |path: &&String| match &*name {
            MASTER => docs.len() == 1 || ["prd", "prd-master", "master"].contains(&&*stem(path)),
            name => stem(path).contains(&name.to_lowercase()),
        };
        let docs = docs.iter().filter(is_own).cloned().collect();
        Ok(Self { name, tasks, others: tags.into_iter().map(|(name, _)| name).collect(), docs })
    }

    pub(super) fn is_described_in(&self, path: &str) -> bool {
        self.docs.iter().any(|own| own == path)
    }

    /// Reads the tasks of the tag.
    pub(super) fn read(&self, reading: &mut Reading, kind: &SpecKind) {
        reading.list(&patterns(kind.marks, "tasks.json"), &self.tasks);
    }

    /// Returns the title of the whole: that of the document about the tag, else the tag.
    pub(super) fn title(&self, found: &str) -> String {
        match (self.docs.is_empty(), &*self.name) {
            (false, _) => found.to_owned(),
            (true, MASTER) => "Tasks of Task Master".to_owned(),
            (true, name) => words_of(name),
        }
    }

    /// The refusal of a tag in which nothing is to be done.
    pub(super) fn without_tasks(&self) -> Refusal {
        let options = self.others.iter().map(|name| ["--tag".to_owned(), name.clone()]);
        let text = format!("tag '{}' has no open task", self.name);
        Refusal { text, options: options.collect() }
    }

    /// Names the other tags.
    pub(super) fn others(&self) -> Option<String> {
        let names = self.others.join(", ");
        (!names.is_empty())
            .then(|| format!("tag {}; there are also: {names} (--tag NAME)", self.name))
    }
}
