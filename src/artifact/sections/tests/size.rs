//! Compares two ways in which a model writes the demo's records: once, as sections; or, as in
//! earlier versions, twice: as prose and as JSON calls.

use serde_json::Value;

use super::*;

const DEMO: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/demo/replay.jsonl"));

/// Returns the documents with records that the demo's models save, in order.
fn saved() -> Vec<String> {
    let lines = DEMO.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let calls =
        lines.flat_map(|line| line["reply"]["tool_calls"].as_array().cloned().unwrap_or_default());
    let documents = ["save_prd_doc", "save_design_doc", "save_plan_doc"];
    let document = |call: Value| {
        let is_one = documents.iter().any(|name| call["name"] == *name);
        is_one.then(|| call["arguments"]["content"].as_str().unwrap().to_owned())
    };
    calls.filter_map(document).collect()
}

/// Returns the arguments of the call that would create the record: without id and status, which a
/// model did not send.
fn as_call(record: &Record) -> String {
    let value = match record {
        Record::Requirement(one) => serde_json::to_value(one),
        Record::Feature(one) => serde_json::to_value(one),
        Record::Component(one) => serde_json::to_value(one),
        Record::Task(one) => serde_json::to_value(one),
    };
    let Value::Object(mut fields) = value.unwrap() else { panic!("{record:?}") };
    fields.retain(|name, value| {
        let is_empty = *value == "" || value.as_array().is_some_and(Vec::is_empty);
        name != "id" && name != "status" && !is_empty
    });
    Value::Object(fields).to_string()
}

#[test]
fn a_model_writes_each_record_of_the_demo_once() {
    let in_json = |text: &str| Value::from(text).to_string().len() - 2;
    let mut known: BTreeMap<String, Record> = BTreeMap::new();
    let (mut documents, mut sections, mut calls) = (0, 0, 0);
    for document in saved() {
        let reading = read_all(&document);
        assert_eq!(reading.refusals, []);
        assert!(reading.sections.len() >= 2, "{document}");
        documents += in_json(&document);
        for section in reading.sections {
            let id = section.record.id().to_owned();
            // A later draft would make calls only for changed records.
            if known.get(&id) != Some(&section.record) {
                sections += in_json(document[section.range.clone()].trim_end());
                calls += as_call(&section.record).len();
                known.insert(id, section.record);
            }
        }
    }
    let before = documents + calls;
    let told = format!(
        "{} records: {sections} bytes as sections, {calls} as calls; {documents} in all, {before} before",
        known.len()
    );
    assert!(known.len() >= 12, "{told}");
    assert!(sections * 10 <= calls * 9, "{told}");
    assert!(documents * 100 <= before * 70, "{told}");
}
