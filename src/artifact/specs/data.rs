//! Reads objects of JSON and YAML as rows: lists of tasks, and the front matter of files.

use serde_json::{Map, Value};

use super::marks::{Becomes, Means, On, Pattern, Row, priority_named, row_of};
use super::read::{Reading, keys};

impl Reading {
    /// Reads an object as a row, and its parts as rows below it; returns the row's index. `above` is
    /// the key of the task that it is a part of, and `done` a state of finished tasks that the tool's
    /// settings name.
    pub(super) fn object(
        &mut self,
        patterns: &[Pattern],
        object: &Map<String, Value>,
        (means, level): (Means, usize),
        above: &str,
        done: &str,
    ) -> usize {
        let mut row = Row { level, ..row_of(means) };
        if let Means::Requirement(form) = means {
            row.form = form;
        }
        let mut parts: &[Value] = &[];
        for pattern in patterns.iter().filter(|one| one.on == On::Field) {
            let values = object.iter().filter(|(name, _)| pattern.text.is_match(name));
            for (name, value) in values {
                let text = text_of(value);
                match pattern.means {
                    _ if text.trim().is_empty() => {}
                    Means::Key if above.is_empty() => row.key = text,
                    Means::Key => row.key = format!("{above}.{text}"),
                    Means::Title => row.title = text,
                    Means::Body => row.add("\n\n", text.trim()),
                    Means::Named => row.notes.push(format!("{}: {text}", label(name))),
                    Means::Test => row.tests.push(text),
                    Means::Priority => row.priority = priority_named(&text),
                    Means::Files => row.files.extend(items(value)),
                    Means::Needs => row.needs.extend(items(value)),
                    Means::Serves => row.within = text,
                    Means::State(out) => {
                        let is_out = out.contains(&text.as_str())
                            || !done.is_empty() && text.eq_ignore_ascii_case(done);
                        row.left_out = is_out.then_some(text);
                    }
                    Means::Gate if text == "true" => self.remarks.push(format!(
                        "{name} of {}: a person stops the work there; here a gate does (--review)",
                        row.key
                    )),
                    Means::Parts => parts = value.as_array().map_or(&[], Vec::as_slice),
                    _ => {}
                }
            }
        }
        if row.becomes == Becomes::Task {
            row.naming = format!("{}\n{}", row.title, row.text);
        }
        let (key, is_out) = (row.key.clone(), row.left_out.clone());
        self.rows.push(row);
        let at = self.rows.len() - 1;
        let siblings: Vec<String> =
            parts.iter().filter_map(|part| part.get("id").map(text_of)).collect();
        for part in parts.iter().filter_map(Value::as_object) {
            let own = self.object(patterns, part, (Means::Task, level + 1), &key, done);
            if let Some(row) = self.rows.get_mut(own) {
                for need in &mut row.needs {
                    // A number alone is the id of a sibling, if there is one.
                    if siblings.contains(need) {
                        *need = format!("{key}.{need}");
                    }
                }
                row.left_out = is_out.clone().or(row.left_out.take());
            }
        }
        at
    }

    /// Reads the objects of a list as tasks.
    pub(super) fn list(&mut self, patterns: &[Pattern], list: &Value) {
        for object in list.as_array().into_iter().flatten().filter_map(Value::as_object) {
            self.object(patterns, object, (Means::Task, 1), "", "");
        }
    }
}

/// Returns a value as text: that of a scalar, or of the scalars of a list.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Object(_) => String::new(),
        Value::Array(list) => list.iter().map(text_of).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Returns the texts of a list, or those in a text.
fn items(value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().map(text_of).filter(|text| !text.is_empty()).collect(),
        other => keys(&text_of(other)).collect(),
    }
}

/// Returns the name of a field as a word of a sentence.
fn label(name: &str) -> String {
    let words = name.replace('_', " ");
    let first: String = words.chars().take(1).flat_map(char::to_uppercase).collect();
    format!("{first}{}", words.get(1..).unwrap_or_default())
}
