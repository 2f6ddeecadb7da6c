//! A value in the form in which it is shown: as TOML and as JSON, never an API key.

use serde_json::{Map, Value as Json, json};

use super::value::{Value, ValueType};
use crate::secret;

/// Placeholder for a value that is not shown.
const MASK: &str = "(set)";

/// A value in a form that is safe to show.
#[derive(Clone, Debug, PartialEq)]
pub enum ShownValue {
    /// As TOML, and as JSON.
    Value(String, Json),
    /// A value is set, and it is an API key.
    Secret,
    /// The session's depth decides.
    ByDepth,
    /// The value is missing because it uses a variable that is not set; the text is the reason.
    Missing(String),
}

/// Returns the value of a key without secrets.
pub(super) fn shown(path: &[String], shape: ValueType, value: &Value) -> ShownValue {
    let key = path.last().map_or("", String::as_str);
    match value {
        Value::Text(text) if key == "api_key" && !text.is_empty() => ShownValue::Secret,
        // A model's name can look as random as a key, but is not a secret.
        Value::Text(text) if key != "model" => toml_and_json(&masked(key, text).into()),
        Value::List(list) => {
            toml_and_json(&list.iter().map(|text| masked("", text)).collect::<Vec<_>>().into())
        }
        Value::Table(table) => toml_and_json(&Json::Object(masked_table(table))),
        // A count that can be unset is also `Value::Rate`; only a key with `ValueType::Rate` is a rate.
        Value::Rate(rate) if matches!(shape, ValueType::Rate) => match rate {
            Some(rate) => toml_and_json(&format!("{rate}/m").into()),
            None => toml_and_json(&"off".into()),
        },
        other => ShownValue::Value(other.shown(), as_json(other)),
    }
}

/// Returns a text with everything that looks like a key masked.
fn masked(name: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let keys = secret::of_setting(name, text);
    keys.iter().fold(text.to_owned(), |text, key| text.replace(key.as_str(), MASK))
}

/// Masks every value whose name says that it is secret.
fn masked_table(table: &Map<String, Json>) -> Map<String, Json> {
    table.iter().map(|(name, value)| (name.clone(), masked_value(name, value))).collect()
}

fn masked_value(name: &str, value: &Json) -> Json {
    match value {
        Json::String(text) if secret::of_setting(name, text).is_empty() => value.clone(),
        Json::String(_) => MASK.into(),
        Json::Array(items) => items.iter().map(|item| masked_value(name, item)).collect(),
        Json::Object(table) => Json::Object(masked_table(table)),
        other => other.clone(),
    }
}

fn toml_and_json(value: &Json) -> ShownValue {
    ShownValue::Value(toml(value), value.clone())
}

/// Formats a value as TOML. Control characters are escaped, so that a terminal does not interpret
/// them.
fn toml(value: &Json) -> String {
    match value {
        Json::String(text) => format!("{text:?}"),
        Json::Array(items) => {
            format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", "))
        }
        Json::Object(table) if table.is_empty() => "{}".to_owned(),
        Json::Object(table) => {
            let one = |(name, value): (&String, &Json)| format!("{name:?} = {}", toml(value));
            format!("{{ {} }}", table.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn as_json(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::Flag(flag) => json!(flag),
        Value::Count(count) => json!(count),
        Value::Number(number) => json!(number),
        Value::Range(range) => json!(range),
        Value::List(list) => json!(list),
        Value::Stages(stages) => stages.iter().map(|stage| stage.name()).collect(),
        Value::Depth(depth) => json!(depth.to_string()),
        Value::Rate(rate) => json!(rate),
        Value::Table(table) => Json::Object(table.clone()),
    }
}
