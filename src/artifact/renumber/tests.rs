//! Two changes that used the same ids, merged by a person.

use serde_json::{Value, json};

use super::*;
use crate::artifact::check::testing::Memory;
use crate::artifact::{IdKind, records_of};

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

/// Returns the records of a version, and the text of its `prd.md`.
fn parts(files: &Memory) -> (Vec<Record>, String) {
    let records = records_of(files).unwrap().into_records().collect();
    (records, files.read(Artifact::Prd).unwrap().unwrap())
}

/// Returns the merge by a person who keeps both.
fn both(a: &Memory, b: &Memory, related: &[&str]) -> (Vec<Record>, String) {
    let ((mut records, prd), (more, other_prd)) = (parts(a), parts(b));
    records.extend(more.into_iter().filter(|one| one.kind() != IdKind::Component));
    records.sort_by_key(Record::kind);
    let component = records.iter_mut().find(|one| one.kind() == IdKind::Component).unwrap();
    let related = related.iter().map(|id| (*id).to_owned()).collect();
    component.set_values(Slot::Many(IdKind::Feature), related);
    let line = |prd: &str| prd.lines().nth(1).unwrap().to_owned();
    (records, format!("# PRD\n{}\n{}\n", line(&prd), line(&other_prd)))
}

#[test]
fn the_second_record_gets_a_new_id_in_all_references() {
    let (due, sort) =
        (version("Due", &["FEAT-001", "FEAT-003"]), version("Sort", &["FEAT-001", "FEAT-003"]));
    let (mut merged, prd) = both(&due, &sort, &["FEAT-001", "FEAT-003"]);
    let ((due, due_prd), (sort, sort_prd)) = (parts(&due), parts(&sort));
    let sides = [due, sort];
    let mut floors = IdFloors::default();
    floors.see_all("REQ-004 FEAT-003 COMP-002 TASK-006");
    let done = renumber_records(&mut merged, &sides, None, &mut floors);
    let moved: Vec<_> = done.iter().map(|one| (&one.from[..], &one.to[..], one.side)).collect();
    assert_eq!(
        moved,
        [("REQ-004", "REQ-005", 1), ("FEAT-003", "FEAT-004", 1), ("TASK-006", "TASK-007", 1)]
    );
    let records: Records = merged.iter().cloned().collect();
    let features = records.features;
    assert_eq!(features[0].requirement_ids, ["REQ-004"]);
    assert_eq!(features[1].id, "FEAT-004");
    assert_eq!(features[1].requirement_ids, ["REQ-005"]);
    let tasks = records.tasks;
    let ids: Vec<_> = tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["TASK-006", "TASK-006.1", "TASK-007", "TASK-007.1"]);
    assert_eq!(tasks[3].feature_id, "FEAT-004");
    // Each side referred to its own feature.
    assert_eq!(records.components[0].related_features, ["FEAT-001", "FEAT-003", "FEAT-004"]);
    let prd = renumber_lines(&prd, &[due_prd, sort_prd], &done);
    assert_eq!(prd, "# PRD\n- REQ-004 Due (FEAT-003)\n- REQ-005 Sort (FEAT-004)\n");
    assert_eq!(renumber_text("REQ-004, REQ-0041", 1, &done), "REQ-005, REQ-0041");
    // A second run changes nothing.
    assert!(renumber_records(&mut merged, &sides, None, &mut floors).is_empty());
}

#[test]
fn records_without_an_author_keep_their_ids() {
    let (due, sort) = (version("Due", &[]), version("Sort", &[]));
    let (mut merged, _) = both(&due, &sort, &[]);
    let before = merged.clone();
    assert!(renumber_records(&mut merged, &[], None, &mut IdFloors::default()).is_empty());
    assert_eq!(merged, before);
}
