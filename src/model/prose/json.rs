//! Calls written as JSON.

use serde_json::{Map, Value};

use crate::model::arguments::tool_name;
use crate::model::{ToolCall, ToolSpec};

/// Calls at the start of a text, and their length in bytes.
pub(super) type FoundCalls = Option<(Vec<ToolCall>, usize)>;

/// The calls at the start of `text` and where they end: one or several JSON values that consist
/// only of calls to offered tools.
pub(super) fn written_calls(text: &str, tools: &[ToolSpec]) -> FoundCalls {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let mut calls = Vec::new();
    let mut end = 0;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    // The text after the last value is a closing fence, not JSON.
    while let Some(Ok(value)) = values.next() {
        let more = calls_of(&value, tools)?;
        calls.extend(more);
        end = values.byte_offset();
    }
    (!calls.is_empty()).then_some((calls, end))
}

fn calls_of(value: &Value, tools: &[ToolSpec]) -> Option<Vec<ToolCall>> {
    match value {
        Value::Array(items) => {
            let calls: Option<Vec<_>> = items.iter().map(|item| calls_of(item, tools)).collect();
            calls.map(|calls| calls.into_iter().flatten().collect())
        }
        Value::Object(fields) => match fields.get("tool_calls") {
            Some(calls @ Value::Array(_)) if fields.len() == 1 => calls_of(calls, tools),
            _ => call_of(fields, tools).map(|call| vec![call]),
        },
        _ => None,
    }
}

fn call_of(fields: &Map<String, Value>, tools: &[ToolSpec]) -> Option<ToolCall> {
    if let Some(Value::Object(function)) = fields.get("function") {
        return call_of(function, tools);
    }
    let name_keys = ["name", "tool", "tool_name", "function", "function_name"];
    let argument_keys = ["arguments", "parameters", "args", "input", "tool_input"];
    let is_call_key = |key: &String| {
        name_keys.contains(&key.as_str())
            || argument_keys.contains(&key.as_str())
            || matches!(key.as_str(), "id" | "type")
    };
    // Other keys belong to data that happens to have a name: a package.json is not a call.
    if !fields.keys().all(is_call_key) {
        return None;
    }
    let name = name_keys.iter().find_map(|key| fields.get(*key)).and_then(Value::as_str)?;
    let name = tool_name(name.trim(), tools);
    tools.iter().find(|tool| tool.name == name)?;
    let arguments = match argument_keys.iter().find_map(|key| fields.get(*key)) {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Some(ToolCall { id: String::new(), name: name.to_owned(), arguments })
}

/// The JSON value at the start of `text` and where it ends.
pub(super) fn value(text: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}
