//! Manual edits of the JSON, which are applied to the documents.

use serde_json::Value;

use super::*;

/// A JSON pointer, the new value (an empty string deletes the old value), and the expected result.
type JsonEdit = (&'static str, &'static str, Outcome);

/// The file cannot be read at all, so it is written again from the document.
const UNREADABLE: &str = "cannot be read";

const EDITS: &[JsonEdit] = &[
    ("/requirements/0/title", r#""Add one""#, Reads("REQ-001")),
    ("/requirements/0/title", r#""- add #""#, Reads("REQ-001")),
    ("/requirements/0/description", r#""Stores it.\n\nWith its date.""#, Reads("REQ-001")),
    ("/requirements/0/description", r#""""#, Reads("REQ-001")),
    ("/requirements/0/description", r#""- a list\n- in it""#, Reads("REQ-001")),
    ("/requirements/0/description", r##""# A heading\n\nand text""##, Reads("REQ-001")),
    ("/requirements/0/description", r#""```\nopen""#, Reads("REQ-001")),
    ("/requirements/1/priority", r#""low""#, Reads("REQ-002")),
    ("/requirements/1/category", r#""non_functional""#, Reads("REQ-002")),
    ("/requirements/1/priority", r#""urgent""#, Refused(UNREADABLE)),
    ("/requirements/0/acceptance_criteria/1", r#""it fails""#, Reads("REQ-001")),
    ("/requirements/0/acceptance_criteria/1", "", Reads("REQ-001")),
    ("/requirements/0/acceptance_criteria", r#"["one", "two", "three"]"#, Reads("REQ-001")),
    (
        "/requirements/2/acceptance_criteria/0",
        r#"{"text": "it is fast", "test": "tests/fast.rs::is_fast", "fails_before": true}"#,
        Reads("REQ-003"),
    ),
    ("/requirements/0/acceptance_criteria/0/test", r#""tests/add.rs::adds""#, Reads("REQ-001")),
    ("/requirements/0/owner", r#""ana""#, Reads("")),
    (
        "/requirements/-",
        r#"{"id": "REQ-004", "title": "Export", "priority": "low", "category": "functional"}"#,
        Reads("REQ-004"),
    ),
    (
        "/requirements/1",
        "",
        Refused(
            "FEAT-002 refers to REQ-002, which has no section; remove it here or restore the section",
        ),
    ),
    ("/features/0/name", r#""Keep all readings""#, Reads("FEAT-001")),
    ("/features/0/description", r#""Trust it.""#, Reads("FEAT-001")),
    ("/features/1/requirement_ids", r#"["REQ-002", "REQ-003"]"#, Reads("FEAT-002")),
    (
        "/features/1/requirement_ids/0",
        r#""REQ-009""#,
        Refused(
            "FEAT-002 refers to REQ-009, which has no section; remove it here or restore the section",
        ),
    ),
    ("/features/1/completion_criteria/0", r#""the list is complete""#, Reads("FEAT-002")),
    (
        "/features/0/status",
        r#""delivered""#,
        Notes("the status of FEAT-001 is reset: it comes from the commits", ""),
    ),
    ("/components/0/name", r#""Storage""#, Reads("COMP-001")),
    ("/components/0/component_type", r#""crate""#, Reads("COMP-001")),
    ("/components/0/technology", r#""Rust""#, Reads("COMP-001")),
    ("/components/0/description", r#""Keeps all files.""#, Reads("COMP-001")),
    ("/components/1/description", r#""Prints.""#, Reads("COMP-002")),
    ("/components/0/responsibilities/0", r#""read it""#, Reads("COMP-001")),
    ("/components/0/interfaces/-", r#""pub fn save();""#, Reads("COMP-001")),
    ("/components/1/related_features/0", "", Reads("COMP-002")),
    ("/tasks/0/title", r#""Read all files""#, Reads("TASK-001")),
    ("/tasks/0/description", r#""Parse it.""#, Reads("TASK-001")),
    ("/tasks/2/feature_id", r#""FEAT-001""#, Reads("TASK-003")),
    ("/tasks/2/component_id", r#""COMP-001""#, Reads("TASK-003")),
    ("/tasks/1/requirement_ids/-", r#""REQ-003""#, Reads("TASK-002")),
    ("/tasks/2/dependencies/-", r#""TASK-002""#, Reads("TASK-003")),
    ("/tasks/2/dependencies/0", "", Reads("TASK-003")),
    ("/tasks/0/files_to_create/-", r#""src/lib.rs""#, Reads("TASK-001")),
    (
        "/tasks/0/files_to_create/-",
        r#""/etc/hosts""#,
        Refused("TASK-001: '/etc/hosts' is not a path inside the repository"),
    ),
    ("/tasks/0/acceptance_criteria/0", r#""it is empty""#, Reads("TASK-001")),
    ("/tasks/2", "", Reads("TASK-003")),
    (
        "/tasks/-",
        r#"{"id": "TASK-005", "title": "Export", "feature_id": "FEAT-002", "component_id": "COMP-002", "files_to_create": ["src/export.rs"]}"#,
        Reads("TASK-005"),
    ),
];

/// Sets the value at a pointer; `-` means after the last item of a list.
fn set(files: &mut Value, at: &str, to: &str) {
    let (parent, last) = at.rsplit_once('/').unwrap();
    let parent = files.pointer_mut(parent).unwrap_or_else(|| panic!("{at}"));
    let new = (!to.is_empty()).then(|| serde_json::from_str::<Value>(to).unwrap());
    match (parent, new) {
        (Value::Array(all), Some(new)) if last == "-" => all.push(new),
        (Value::Array(all), Some(new)) => all[last.parse::<usize>().unwrap()] = new,
        (Value::Array(all), None) => {
            all.remove(last.parse().unwrap());
        }
        (Value::Object(fields), Some(new)) => {
            fields.insert(last.to_owned(), new);
        }
        _ => panic!("{at}"),
    }
}

/// Returns the JSON of all records, with one edit.
fn edited_json(committed: &Records, (at, to, _): &JsonEdit) -> Option<Records> {
    let mut files = serde_json::json!({
        "requirements": &committed.requirements,
        "features": &committed.features,
        "components": &committed.components,
        "tasks": &committed.tasks,
    });
    set(&mut files, at, to);
    let list = |name: &str| files[name].clone();
    Some(Records {
        requirements: serde_json::from_value(list("requirements")).ok()?,
        features: serde_json::from_value(list("features")).ok()?,
        components: serde_json::from_value(list("components")).ok()?,
        tasks: serde_json::from_value(list("tasks")).ok()?,
    })
}

/// Applies the edit to the documents; returns notes and records, or the refusals.
fn taken(committed: &Records, edited: &Records) -> Result<(Vec<String>, Records), Vec<String>> {
    let (mut notes, mut texts, mut after) = (Vec::new(), Vec::new(), Records::default());
    let used = BTreeMap::new();
    for (document, text) in [(Prd, PRD), (Design, DESIGN), (Plan, PLAN)] {
        let kinds = DOCUMENTS.kinds(document);
        let context = context(document, &used, edited);
        let before = read(text, &context);
        let edit = take_json_edit(edited, committed, &before.records(), kinds)?;
        notes.extend(edit.notes);
        let lines = |found: Vec<Remark>| found.into_iter().map(|one| one.text).collect::<Vec<_>>();
        let new = apply(text, &edit.changes, &context).map_err(lines)?;
        let reading = read(&new, &context);
        // Records that the edit did not touch keep their bytes.
        for section in &before.sections {
            let id = section.record.id();
            if committed.get(id) == edited.get(id) {
                let source = text[section.range.clone()].trim_end();
                assert!(new.contains(source), "{id} differs in\n{new}");
            }
        }
        reading.records().iter().for_each(|record| after.push(record));
        texts.push((document, new, reading));
    }
    let all: Vec<_> =
        texts.iter().map(|(at, text, reading)| (*at, text.as_str(), reading)).collect();
    let dangling = references(DOCUMENTS, &all, &after);
    if dangling.is_empty() {
        return Ok((notes, after));
    }
    Err(dangling.into_iter().map(|one| one.remark.text).collect())
}

#[test]
fn every_edit_of_json_is_taken_or_refused() {
    let mut committed = Records::default();
    for text in [PRD, DESIGN, PLAN] {
        read_all(text).records().iter().for_each(|record| committed.push(record));
    }
    let mut wrong = Vec::new();
    for edit in EDITS {
        let became = match edited_json(&committed, edit) {
            None => Err(vec![UNREADABLE.to_owned()]),
            Some(edited) => taken(&committed, &edited).map(|(notes, after)| {
                let is_other = |id: &&str| {
                    let (was, is) = (committed.get(id), after.get(id));
                    was.map(|one| one.written()) != is.map(|one| one.written())
                };
                let all: std::collections::BTreeSet<&str> =
                    committed.ids().chain(after.ids()).collect();
                let changed: Vec<&str> = all.into_iter().filter(is_other).collect();
                // The document has the values that the JSON was edited to.
                for id in &changed {
                    let (wanted, is) = (edited.get(id), after.get(id));
                    let whole = |one: Record| normal(&one, LEVEL).written();
                    assert_eq!(
                        wanted.map(whole),
                        is.map(|one| one.written()),
                        "{edit_at}",
                        edit_at = edit.0
                    );
                }
                (notes, changed.join(","))
            }),
        };
        let right = match (&edit.2, &became) {
            (Reads(ids), Ok((notes, changed))) => notes.is_empty() && changed == ids,
            (Notes(note, ids), Ok((notes, changed))) => notes == &[*note] && changed == ids,
            (Refused(message), Err(refusals)) => refusals.first().is_some_and(|one| one == message),
            _ => false,
        };
        if !right {
            wrong.push(format!("{} -> {}\n  {became:?}", edit.0, edit.1));
        }
    }
    assert!(EDITS.len() >= 40);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), EDITS.len(), wrong.join("\n"));
}
