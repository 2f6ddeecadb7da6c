//! What is sent to a model server besides the conversation: whether it can be sent, and what of it
//! is to be kept secret.

use std::collections::BTreeMap;

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::ModelConfig;
use crate::secret;

/// Headers that belong to the connection or to our own requests.
const OURS: [&str; 5] =
    ["host", "content-length", "content-type", "transfer-encoding", "connection"];
/// Parts of a body that say what is asked, and how it is read.
const ASKED: [&str; 5] = ["model", "messages", "input", "tools", "stream"];

impl ModelConfig {
    /// The keys to its server: the one that is called so, and those in what is sent besides.
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

/// What is wrong with headers, if anything; never with their values in it.
pub(super) fn header_problem(headers: &BTreeMap<String, String>) -> Option<String> {
    headers.iter().find_map(|(name, value)| {
        let known = HeaderName::from_bytes(name.as_bytes());
        let problem = match &known {
            Err(_) => "which is not a valid header name",
            Ok(name) if OURS.contains(&name.as_str()) => "which is set by the program",
            Ok(_) if HeaderValue::from_str(value).is_err() => {
                "with characters that no header can hold"
            }
            Ok(_) => return None,
        };
        Some(format!("holds {name:?}, {problem}"))
    })
}

/// What is wrong with an extra body, if anything.
pub(super) fn body_problem(body: &Map<String, Value>) -> Option<String> {
    let asked = body.keys().find(|name| ASKED.contains(&name.as_str()))?;
    Some(format!("holds {asked:?}, which is set by the program"))
}
