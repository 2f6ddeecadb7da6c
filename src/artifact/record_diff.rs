//! The difference between two versions of the records: which requirement, feature, component or
//! task was added, removed or changed. It is shown to people, so it is computed from the files, not
//! from a model's output.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Artifact, Files, IdKind};

/// How a record changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Became {
    Removed,
    Added,
    Changed,
}

impl Became {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Added => "added",
            Self::Changed => "changed",
        }
    }

    const fn sign(self) -> char {
        match self {
            Self::Removed => '-',
            Self::Added => '+',
            Self::Changed => '~',
        }
    }
}

/// A record that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// `COMP-003`
    pub id: String,
    pub kind: IdKind,
    pub became: Became,
    /// The title or name, from the newer version.
    pub title: String,
    /// The fields that differ, for a changed record.
    pub fields: Vec<Field>,
}

/// A field of a record before and after the change, as text. In a list, each item that differs is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub name: String,
    pub before: String,
    pub after: String,
}

/// Returns the records of these artifacts that differ, ignoring `status`. A file that cannot be
/// read counts as empty: the checks report what is wrong with it.
pub(crate) fn changes(
    before: &dyn Files,
    now: &dyn Files,
    artifacts: &[Artifact],
) -> anyhow::Result<Vec<Change>> {
    let mut found = Vec::new();
    for artifact in artifacts {
        let mut kinds = IdKind::ALL.into_iter();
        let Some(kind) = kinds.find(|kind| kind.artifact() == *artifact) else { continue };
        let old = by_id(before.read(*artifact)?.as_deref(), kind.plural());
        let new = by_id(now.read(*artifact)?.as_deref(), kind.plural());
        let mut change = |id: &str, became, record: &Value, fields| {
            let title = ["title", "name"].iter().find_map(|field| record.get(field)?.as_str());
            let title = title.unwrap_or_default().to_owned();
            found.push(Change { id: id.to_owned(), kind, became, title, fields });
        };
        for (id, record) in &old {
            match new.get(id) {
                None => change(id, Became::Removed, record, Vec::new()),
                Some(now) if now != record => {
                    change(id, Became::Changed, now, fields(record, now));
                }
                Some(_) => {}
            }
        }
        for (id, record) in new.iter().filter(|(id, _)| !old.contains_key(*id)) {
            change(id, Became::Added, record, Vec::new());
        }
    }
    Ok(found)
}

/// Formats the changes: `1 component removed, 2 tasks changed`; empty without changes.
pub(crate) fn summary(changes: &[Change]) -> String {
    joined(changes, |became, what| format!("{what} {}", became.name()))
}

/// Formats the changes: `+1 requirement, ~1 component, -2 tasks`; empty without changes.
pub(crate) fn signs(changes: &[Change]) -> String {
    joined(changes, |became, what| format!("{}{what}", became.sign()))
}

/// Counts the changes of each kind, in order of appearance.
fn joined(changes: &[Change], part: impl Fn(Became, String) -> String) -> String {
    let mut counts: Vec<((Became, IdKind), usize)> = Vec::new();
    for change in changes {
        let key = (change.became, change.kind);
        match counts.iter_mut().find(|(known, _)| *known == key) {
            Some((_, number)) => *number += 1,
            None => counts.push((key, 1)),
        }
    }
    let parts = counts.iter().map(|((became, kind), number)| part(*became, kind.count(*number)));
    parts.collect::<Vec<_>>().join(", ")
}

/// Formats at most `most` changes: `COMP-003 removed, COMP-002 changed`.
pub(crate) fn names(changes: &[&Change], most: usize) -> String {
    let name = |change: &&Change| format!("{} {}", change.id, change.became.name());
    let mut names: Vec<String> = changes.iter().take(most).map(name).collect();
    if changes.len() > most {
        names.push(format!("{} more", changes.len() - most));
    }
    names.join(", ")
}

/// Returns the fields in which two versions of a record differ.
fn fields(before: &Value, now: &Value) -> Vec<Field> {
    let (Some(old), Some(new)) = (before.as_object(), now.as_object()) else { return Vec::new() };
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let names = new.keys().chain(gone).filter(|name| old.get(*name) != new.get(*name));
    let pairs = names.map(|name| (name, apart(old.get(name), new.get(name))));
    let field = |name: &String, (before, after)| Field { name: name.clone(), before, after };
    pairs.flat_map(|(name, pairs)| pairs.into_iter().map(move |pair| field(name, pair))).collect()
}

/// Formats two values as text. Of two lists, returns the items that the other list lacks: in pairs
/// if they are as many, because they were reworded then; all items if only the order differs.
fn apart(before: Option<&Value>, after: Option<&Value>) -> Vec<(String, String)> {
    if let (Some(Value::Array(old)), Some(Value::Array(new))) = (before, after) {
        let only = |these: &[Value], others: &[Value]| -> Vec<String> {
            these.iter().filter(|item| !others.contains(item)).map(words).collect()
        };
        let (gone, come) = (only(old, new), only(new, old));
        if gone.len() == come.len() && !gone.is_empty() {
            return gone.into_iter().zip(come).collect();
        }
        if gone.len() != come.len() {
            let gone = gone.into_iter().map(|item| (item, String::new()));
            return gone.chain(come.into_iter().map(|item| (String::new(), item))).collect();
        }
    }
    vec![(before.map(words).unwrap_or_default(), after.map(words).unwrap_or_default())]
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join("; "),
        Value::Null => String::new(),
        // A criterion with the test that shows it.
        Value::Object(fields) if fields.contains_key("text") => {
            let text = |name| fields.get(name).and_then(Value::as_str).unwrap_or_default();
            match text("test") {
                "" => text("text").to_owned(),
                test => {
                    // The mark of a test that must fail before the change.
                    let fails = fields.get("fails_before").and_then(Value::as_bool);
                    let mark = if fails == Some(true) { "!" } else { "" };
                    format!("{} (`{mark}{test}`)", text("text"))
                }
            }
        }
        other => other.to_string(),
    }
}

fn by_id(text: Option<&str>, list: &str) -> BTreeMap<String, Value> {
    let value: Value = serde_json::from_str(text.unwrap_or_default()).unwrap_or_default();
    let records = value.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
    let with_id = |mut record: Value| {
        let id = record.get("id")?.as_str()?.to_owned();
        record.as_object_mut()?.remove("status");
        Some((id, record))
    };
    records.into_iter().filter_map(with_id).collect()
}

/// Formats a count: `1 task`, `3 tasks`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::check::testing::Memory;

    #[test]
    fn added_removed_and_changed_records_are_found() {
        let (before, now) = (Memory::default(), Memory::default());
        let design = |text: &str| format!("{{\"components\":[{text}]}}");
        before
            .write(
                Artifact::DesignSpec,
                &design(r#"{"id":"COMP-001"},{"id":"COMP-002","status":"a"},{"id":"COMP-003"}"#),
            )
            .unwrap();
        now.write(
            Artifact::DesignSpec,
            &design(
                r#"{"id":"COMP-001","name":"x"},{"id":"COMP-002","status":"b"},{"id":"COMP-004"}"#,
            ),
        )
        .unwrap();
        let found = changes(&before, &now, &[Artifact::Design, Artifact::DesignSpec]).unwrap();
        assert_eq!(summary(&found), "1 component changed, 1 component removed, 1 component added");
        assert_eq!(signs(&found), "~1 component, -1 component, +1 component");
        let all: Vec<&Change> = found.iter().collect();
        assert_eq!(names(&all, 5), "COMP-001 changed, COMP-003 removed, COMP-004 added");
        assert_eq!(names(&all, 1), "COMP-001 changed, 2 more");
        assert_eq!(summary(&[]), "");
        let name = |before: &str, after: &str| Field {
            name: "name".into(),
            before: before.into(),
            after: after.into(),
        };
        assert_eq!(found[0].fields, [name("", "x")]);
        assert_eq!(found[0].title, "x");
    }

    #[test]
    fn fields_of_a_changed_record_are_shown_before_and_after() {
        let before = serde_json::json!({
            "title": "List", "criteria": ["a", "b"], "order": [1, 2], "tests": ["d"],
        });
        let now = serde_json::json!({
            "title": "Sort", "criteria": ["b", "c"], "order": [2, 1],
            "tests": ["d", {"text": "e", "test": "t/a.rs::e", "fails_before": true}, "f"],
        });
        let told = fields(&before, &now).into_iter().map(|f| (f.name, f.before, f.after));
        let own = |(name, before, after): (&str, &str, &str)| {
            (name.to_owned(), before.to_owned(), after.to_owned())
        };
        let expected = [
            ("criteria", "a", "c"),
            ("order", "1; 2", "2; 1"),
            ("tests", "", "e (`!t/a.rs::e`)"),
            ("tests", "", "f"),
            ("title", "List", "Sort"),
        ];
        let mut told: Vec<_> = told.collect();
        told.sort();
        assert_eq!(told, expected.map(own));
    }
}
