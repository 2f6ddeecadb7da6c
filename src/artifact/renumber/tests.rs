//! Two changes that used the same ids, merged by a person.

use serde_json::json;

use super::*;
use crate::artifact::check::testing::Memory;

/// Returns a version with these requirements, features and tasks.
fn version(title: &str, related: &[&str]) -> Memory {
    let files = Memory::default();
    let put = |artifact, value: Value| files.put(artifact, &value.to_string());
    put(Artifact::Requirements, json!({"requirements": [{"id": "REQ-004", "title": title}]}));
    put(
        Artifact::Features,
        json!({"features": [{"id": "FEAT-003", "name": title, "requirement_ids": ["REQ-004"], "status": "planned"}]}),
    );
    put(
        Artifact::DesignSpec,
        json!({"components": [{"id": "COMP-001", "name": "Core", "related_features": related}]}),
    );
    put(
        Artifact::ImplementationPlan,
        json!({"tasks": [
            {"id": "TASK-006", "title": title, "feature_id": "FEAT-003", "dependencies": []},
            {"id": "TASK-006.1", "title": title, "feature_id": "FEAT-003"},
        ]}),
    );
    files.put(Artifact::Prd, &format!("# PRD\n- REQ-004 {title} (FEAT-003)\n"));
    files
}

/// Returns the merge by a person who keeps both.
fn both(a: &Memory, b: &Memory, related: &[&str]) -> Memory {
    let files = Memory::default();
    for (artifact, list, _) in LISTS {
        let read = |side: &Memory| -> Value {
            serde_json::from_str(&side.read(artifact).unwrap().unwrap()).unwrap()
        };
        let mut all = read(a);
        for record in read(b)[list].as_array().unwrap() {
            if artifact != Artifact::DesignSpec {
                all[list].as_array_mut().unwrap().push(record.clone());
            }
        }
        files.put(artifact, &all.to_string());
    }
    files.edit(Artifact::DesignSpec, |v| v["components"][0]["related_features"] = json!(related));
    let line = |side: &Memory| {
        side.read(Artifact::Prd).unwrap().unwrap().lines().nth(1).unwrap().to_owned()
    };
    files.put(Artifact::Prd, &format!("# PRD\n{}\n{}\n", line(a), line(b)));
    files
}

#[test]
fn the_second_record_gets_a_new_id_in_all_references() {
    let (due, sort) =
        (version("Due", &["FEAT-001", "FEAT-003"]), version("Sort", &["FEAT-001", "FEAT-003"]));
    let merged = both(&due, &sort, &["FEAT-001", "FEAT-003"]);
    let mut floors = IdFloors { requirement: 4, feature: 3, component: 2, task: 6 };
    let done = renumber(&merged, &[&due, &sort], None, &mut floors).unwrap();
    let moved: Vec<_> = done.iter().map(|one| (&one.from[..], &one.to[..], one.side)).collect();
    assert_eq!(
        moved,
        [("REQ-004", "REQ-005", 1), ("FEAT-003", "FEAT-004", 1), ("TASK-006", "TASK-007", 1)]
    );
    let read = |artifact| -> Value {
        serde_json::from_str(&merged.read(artifact).unwrap().unwrap()).unwrap()
    };
    let features = read(Artifact::Features);
    assert_eq!(features["features"][0]["requirement_ids"], json!(["REQ-004"]));
    assert_eq!(features["features"][1]["id"], "FEAT-004");
    assert_eq!(features["features"][1]["requirement_ids"], json!(["REQ-005"]));
    let tasks = read(Artifact::ImplementationPlan);
    let ids: Vec<_> = tasks["tasks"].as_array().unwrap().iter().map(|t| t["id"].clone()).collect();
    assert_eq!(ids, ["TASK-006", "TASK-006.1", "TASK-007", "TASK-007.1"]);
    assert_eq!(tasks["tasks"][3]["feature_id"], "FEAT-004");
    // Each side referred to its own feature.
    let related = &read(Artifact::DesignSpec)["components"][0]["related_features"];
    assert_eq!(*related, json!(["FEAT-001", "FEAT-003", "FEAT-004"]));
    let prd = merged.read(Artifact::Prd).unwrap().unwrap();
    assert_eq!(prd, "# PRD\n- REQ-004 Due (FEAT-003)\n- REQ-005 Sort (FEAT-004)\n");
    assert_eq!(renumber_text("REQ-004, REQ-0041", 1, &done), "REQ-005, REQ-0041");
    // A second run changes nothing.
    assert!(renumber(&merged, &[&due, &sort], None, &mut floors).unwrap().is_empty());
}

#[test]
fn records_without_an_author_keep_their_ids() {
    let (due, sort) = (version("Due", &[]), version("Sort", &[]));
    let merged = both(&due, &sort, &[]);
    let before = merged.read(Artifact::Features).unwrap();
    let mut floors = IdFloors::default();
    assert!(renumber(&merged, &[], None, &mut floors).unwrap().is_empty());
    assert_eq!(merged.read(Artifact::Features).unwrap(), before);
}
