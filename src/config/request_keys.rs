//! Extra headers, query parameters and body fields of requests to a model server: checks that they
//! can be sent, and finds the secrets among them.

use std::collections::BTreeMap;

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::ModelConfig;
use crate::secret;

/// Headers that belong to the connection or that git-cowork sets itself.
const OURS: [&str; 5] =
    ["host", "content-length", "content-type", "transfer-encoding", "connection"];
/// Body fields that git-cowork sets itself: they hold the request and the format of the answer.
const ASKED: [&str; 5] = ["model", "messages", "input", "tools", "stream"];

impl ModelConfig {
    /// Returns the keys of the model's server: `api_key`, and those among the extra headers, query
    /// parameters and body fields.
    pub fn secrets(&self) -> Vec<String> {
        let mut keys = vec![self.api_key.clone()];
        for (name, value) in self.headers.iter().chain(&self.query) {
            keys.extend(secret::of_setting(name, value));
        }
        of_table(&self.extra_body, &mut keys);
        keys.retain(|key| !key.is_empty());
        keys
    }
}

fn of_table(table: &Map<String, Value>, keys: &mut Vec<String>) {
    table.iter().for_each(|(name, value)| of_value(name, value, keys));
}

fn of_value(name: &str, value: &Value, keys: &mut Vec<String>) {
    match value {
        Value::String(text) => keys.extend(secret::of_setting(name, text)),
        Value::Array(items) => items.iter().for_each(|item| of_value(name, item, keys)),
        Value::Object(table) => of_table(table, keys),
        _ => {}
    }
}

/// Returns what is wrong with headers, without their values.
pub(super) fn header_problem(headers: &BTreeMap<String, String>) -> Option<String> {
    headers.iter().find_map(|(name, value)| {
        let known = HeaderName::from_bytes(name.as_bytes());
        let problem = match &known {
            Err(_) => "which is not a valid header name",
            Ok(name) if OURS.contains(&name.as_str()) => "which git-cowork sets itself",
            Ok(_) if HeaderValue::from_str(value).is_err() => {
                "whose value has characters that a header cannot contain"
            }
            Ok(_) => return None,
        };
        Some(format!("contains {name:?}, {problem}"))
    })
}

/// Returns what is wrong with an extra body.
pub(super) fn body_problem(body: &Map<String, Value>) -> Option<String> {
    let asked = body.keys().find(|name| ASKED.contains(&name.as_str()))?;
    Some(format!("contains {asked:?}, which git-cowork sets itself"))
}
