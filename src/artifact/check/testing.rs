//! An in-memory [`Files`] and a small valid project, for tests of checks and tools.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Sizes;
use crate::artifact::ledger::records_of;
use crate::artifact::sections::{self, Document, Documents};
use crate::artifact::{Artifact, Files, History, IdFloors};

/// Artifacts in memory.
#[derive(Default)]
pub(crate) struct Memory(RefCell<BTreeMap<Artifact, String>>);

impl Files for Memory {
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        Ok(self.0.borrow().get(&artifact).cloned())
    }

    fn write(&self, artifact: Artifact, text: &str) -> anyhow::Result<()> {
        self.0.borrow_mut().insert(artifact, text.to_owned());
        Ok(())
    }
}

impl Memory {
    /// Writes a text.
    pub(crate) fn put(&self, artifact: Artifact, text: &str) {
        self.write(artifact, text).unwrap();
    }

    /// Removes files.
    pub(crate) fn remove(&self, artifacts: &[Artifact]) {
        self.0.borrow_mut().retain(|artifact, _| !artifacts.contains(artifact));
    }

    /// Returns all texts.
    pub(crate) fn texts(&self) -> BTreeMap<Artifact, String> {
        self.0.borrow().clone()
    }

    /// Edits a JSON file.
    pub(crate) fn edit(&self, artifact: Artifact, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_str(&self.read(artifact).unwrap().unwrap()).unwrap();
        change(&mut value);
        self.put(artifact, &value.to_string());
    }

    /// Returns a project that passes all checks: 3 requirements, 2 features, 2 components, 5 tasks.
    pub(crate) fn valid() -> Self {
        let files = Self::default();
        files.put(
            Artifact::Idea,
            "# Todo list\n\n## Problem\nThings to do are forgotten all the time.\n\
             ## Users\nPeople who live in a terminal.\n## Goals\nAdd and list todos.\n\
             ## Thoughts\nOne file.\n## Technical considerations\nPOSIX shell.\n\
             ## Next steps\nRequirements.\n",
        );
        let requirement = |n: u32| {
            json!({"id": format!("REQ-00{n}"), "title": format!("t{n}"), "description": "d",
                   "acceptance_criteria": ["a"]})
        };
        let requirements: Vec<_> = (1..4).map(requirement).collect();
        files.put(Artifact::Requirements, &json!({"requirements": requirements}).to_string());
        let features = json!([
            {"id": "FEAT-001", "name": "add", "description": "d", "requirement_ids": ["REQ-001"],
             "completion_criteria": ["c"]},
            {"id": "FEAT-002", "name": "list", "description": "d",
             "requirement_ids": ["REQ-002", "REQ-003"], "completion_criteria": ["c"]}]);
        files.put(Artifact::Features, &json!({"features": features}).to_string());
        let components = json!([
            {"id": "COMP-001", "name": "core", "component_type": "module", "technology": "sh",
             "related_features": ["FEAT-001", "FEAT-002"]},
            {"id": "COMP-002", "name": "cli", "component_type": "module", "technology": "sh",
             "related_features": ["FEAT-002"]}]);
        files.put(Artifact::DesignSpec, &json!({"components": components}).to_string());
        let task = |n: u32| {
            let feature = if n < 3 { "FEAT-001" } else { "FEAT-002" };
            let dependencies =
                if n == 1 { json!([]) } else { json!([format!("TASK-00{}", n - 1)]) };
            json!({"id": format!("TASK-00{n}"), "title": format!("t{n}"), "description": "d",
                   "feature_id": feature, "component_id": "COMP-001",
                   "dependencies": dependencies, "files_to_create": [format!("src/{n}.rs")],
                   "acceptance_criteria": ["a"]})
        };
        let tasks: Vec<_> = (1..6).map(task).collect();
        files.put(Artifact::ImplementationPlan, &json!({"tasks": tasks}).to_string());
        files.write_documents();
        files
    }

    /// Writes documents whose sections are the records.
    pub(crate) fn write_documents(&self) {
        let records = records_of(self).unwrap();
        let all = Documents { prd: true, design: true, plan: true };
        for (document, title) in
            [(Document::Prd, "PRD"), (Document::Design, "Design"), (Document::Plan, "Plan")]
        {
            let own = records.iter().filter(|one| all.holding(one.kind()) == Some(document));
            let sections: String =
                own.map(|record| format!("\n{}", sections::render(&record, 3))).collect();
            let text = format!("# {title}\n\nWhat it is about.\n{sections}");
            self.put(document.artifact(), &text);
        }
    }
}

/// The history of a session without commits.
#[derive(Default)]
pub(crate) struct NoHistory(BTreeMap<String, String>);

impl History for NoHistory {
    fn titles(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    fn floors(&self) -> IdFloors {
        IdFloors::default()
    }

    fn in_base(&self, _path: &str) -> bool {
        false
    }

    fn committed(&self) -> Option<&dyn Files> {
        None
    }
}

/// The default limits.
pub(crate) fn sizes() -> Sizes {
    Sizes { requirements: [3, 6], features: [2, 4], components: [2, 4], tasks: [5, 12] }
}
