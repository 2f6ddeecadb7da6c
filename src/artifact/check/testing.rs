//! An in-memory [`Files`] and a small valid project, for tests of checks and tools.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Sizes;
use crate::artifact::{Artifact, Files};

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
    /// Puts a text.
    pub(crate) fn put(&self, artifact: Artifact, text: &str) {
        self.write(artifact, text).unwrap();
    }

    /// Changes a JSON file.
    pub(crate) fn edit(&self, artifact: Artifact, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_str(&self.read(artifact).unwrap().unwrap()).unwrap();
        change(&mut value);
        self.put(artifact, &value.to_string());
    }

    /// A project everything holds of: 3 requirements, 2 features, 2 components, 5 tasks.
    pub(crate) fn valid() -> Self {
        let files = Self::default();
        files.put(
            Artifact::Idea,
            "# Todo list\n\n## Problem\nThings to do are forgotten all the time.\n\
             ## Users\nPeople who live in a terminal.\n## Goals\nAdd and list todos.\n\
             ## Thoughts\nOne file.\n## Technical considerations\nPOSIX shell.\n\
             ## Next steps\nRequirements.\n",
        );
        files.put(Artifact::Prd, "# PRD\nREQ-001, REQ-002, REQ-003; FEAT-001 and FEAT-002.\n");
        files
            .put(Artifact::Design, "# Design\nCOMP-001 is the core. COMP-002: the command line.\n");
        files.put(Artifact::Plan, "# Plan\nTASK-001 TASK-002 TASK-003 TASK-004 TASK-005.\n");
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
            {"id": "COMP-001", "name": "core", "related_features": ["FEAT-001", "FEAT-002"]},
            {"id": "COMP-002", "name": "cli", "related_features": ["FEAT-002"]}]);
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
        files
    }
}

/// The contract's default limits.
pub(crate) fn sizes() -> Sizes {
    Sizes { requirements: [3, 6], features: [2, 4], components: [2, 4], tasks: [5, 12] }
}
