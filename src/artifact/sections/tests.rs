//! Tests of reading and writing records as sections.

mod documents;
mod edits;
mod formatters;
mod merges;
mod properties;
mod random;
mod size;

use std::collections::BTreeMap;

use super::*;
use crate::artifact::Criterion;

const ALL: [IdKind; 4] = [IdKind::Requirement, IdKind::Feature, IdKind::Component, IdKind::Task];

const EXAMPLE: &str = include_str!("tests/example.md");

/// Returns the highest numbers of these ids.
fn floors_of<'a>(ids: impl IntoIterator<Item = &'a str>) -> IdFloors {
    let mut floors = IdFloors::default();
    ids.into_iter().for_each(|id| floors.see_all(id));
    floors
}

fn read_all(text: &str) -> Reading {
    read_with(text, &Records::default())
}

fn read_with(text: &str, present: &Records) -> Reading {
    let context = Context {
        kinds: &ALL,
        used: &BTreeMap::new(),
        floors: IdFloors::default(),
        present,
        in_base: &|_| false,
        by: Writer::Model,
    };
    read(text, &context)
}

#[test]
fn the_example_of_the_specification_is_read() {
    let reading = read_all(EXAMPLE);
    assert_eq!(reading.refusals, []);
    let records = reading.records();
    let requirement = &records.requirements[0];
    assert_eq!(requirement.title, "Add a reading");
    assert_eq!(requirement.description, "One command stores a number with today's date.");
    assert_eq!(
        requirement.acceptance_criteria,
        [
            Criterion {
                text: "WHEN I run `meter add 1523` THEN the last line ends in `1523`".to_owned(),
                test: Some("tests/add.rs::appends_reading".to_owned()),
                fails_before: false,
            },
            "WHEN the number is smaller than the last one THEN the exit code is 2".into(),
        ]
    );
    assert_eq!(records.features[0].requirement_ids, ["REQ-001", "REQ-004"]);
    let component = &records.components[0];
    assert_eq!(component.component_type, "module");
    assert_eq!(component.technology, "Rust, csv 1");
    assert_eq!(component.related_features, ["FEAT-001"]);
    assert_eq!(component.responsibilities, ["read `readings.csv` into a sorted list"]);
    let load = "pub fn load(path: &Path) -> Result<Vec<Reading>, StoreError>;";
    assert_eq!(component.interfaces, [load]);
    let task = &records.tasks[0];
    assert_eq!(task.feature_id, "FEAT-001");
    assert_eq!(task.component_id, "COMP-001");
    assert_eq!(task.requirement_ids, ["REQ-001"]);
    assert_eq!(task.dependencies, ["TASK-001"]);
    assert_eq!(task.files_to_create, ["src/store.rs", "tests/store.rs"]);
    assert_eq!(task.description, "Write a temporary file, sync it, rename it.");
    assert_eq!(task.acceptance_criteria, ["a failing write leaves the old bytes"]);
}

#[test]
fn rendering_reproduces_the_example() {
    let records = read_all(EXAMPLE).records();
    let all: Vec<String> = records.iter().map(|record| render(&record, LEVEL)).collect();
    assert_eq!(all.join("\n"), EXAMPLE.replace("```rust", "```"));
}
