//! Data that only the server can read and wants back: signatures, encrypted thoughts, output items.
//!
//! It is stored with its answer in the conversation, the transcript and the recording, byte for
//! byte, and is sent only to the model that it came from: another model refuses it, or worse,
//! trusts it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::secret::Secrets;

/// The server and model of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOrigin {
    /// The server's base URL, without user and password.
    pub base_url: String,
    /// The model's name as used in the request.
    pub model: String,
}

impl ModelOrigin {
    /// The model called `model` at this base URL.
    pub fn new(base_url: &str, model: &str) -> Self {
        let mut base_url = base_url.to_owned();
        if let Ok(mut url) = reqwest::Url::parse(&base_url)
            && !(url.username().is_empty() && url.password().is_none())
        {
            // Both calls fail only for URLs that cannot contain a user or password.
            let _ = (url.set_password(None), url.set_username(""));
            base_url = url.into();
        }
        Self { base_url, model: model.to_owned() }
    }
}

/// The opaque part of one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// The model it came from: it is sent to no other.
    pub origin: ModelOrigin,
    /// Fields of the assistant message besides text and calls (chat).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub message: Map<String, Value>,
    /// Fields of tool calls besides id, name and arguments, by the call's id (chat).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, Map<String, Value>>,
    /// Output items, in order (Responses), or the blocks of the answer (Messages).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Value>,
}

impl Opaque {
    /// True if there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.message.is_empty() && self.calls.is_empty() && self.items.is_empty()
    }

    /// Bytes that this data takes up in a request, besides the text and the calls of the answer.
    pub fn size(&self) -> usize {
        let is_extra = |item: &&Value| {
            let kind = item.get("type").and_then(Value::as_str);
            !matches!(kind, Some("message" | "function_call" | "text" | "tool_use"))
        };
        let items = self.items.iter().filter(is_extra).map(length);
        let fields = self.calls.values().chain([&self.message]).flat_map(Map::values).map(length);
        items.chain(fields).sum()
    }

    /// Updates the id of a renamed call.
    pub fn rename_call(&mut self, from: &str, to: &str) {
        if let Some(fields) = self.calls.remove(from) {
            self.calls.insert(to.to_owned(), fields);
        }
        for item in &mut self.items {
            let is_block = item.get("type").and_then(Value::as_str) == Some("tool_use");
            let id = item.get_mut(if is_block { "id" } else { "call_id" });
            if let Some(id) = id.filter(|id| id.as_str() == Some(from)) {
                *id = to.into();
            }
        }
    }

    /// Removes the user's keys, which are also removed from the message that this belongs to.
    pub fn withhold(&mut self, secrets: &Secrets) {
        let fields = self.calls.values_mut().chain([&mut self.message]).flat_map(Map::values_mut);
        fields.chain(&mut self.items).for_each(|value| withhold(value, secrets));
    }
}

fn withhold(value: &mut Value, secrets: &Secrets) {
    match value {
        // The arguments of calls are JSON inside a string.
        Value::String(text) => *text = secrets.withheld_in_json(text),
        Value::Array(values) => values.iter_mut().for_each(|value| withhold(value, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|value| withhold(value, secrets)),
        _ => {}
    }
}

/// Approximate size of a value as JSON, in bytes.
pub(super) fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(values) => values.iter().map(|value| length(value) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + length(value) + 4).sum::<usize>() + 2
        }
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn the_origin_holds_no_password() {
        let origin = ModelOrigin::new("https://me:secret@example.org/v1", "m");
        assert_eq!(origin.base_url, "https://example.org/v1");
        let plain = ModelOrigin::new("http://127.0.0.1:8080/v1", "m");
        assert_eq!(plain.base_url, "http://127.0.0.1:8080/v1");
    }

    #[test]
    fn a_renamed_call_keeps_what_belongs_to_it() {
        let mut opaque = Opaque {
            calls: [("a".to_owned(), fields(json!({"extra_content": 1})))].into(),
            items: vec![
                json!({"type": "function_call", "call_id": "a", "id": "fc_1"}),
                json!({"type": "tool_use", "id": "a"}),
            ],
            ..Opaque::default()
        };
        opaque.rename_call("a", "b");
        assert_eq!(opaque.calls["b"]["extra_content"], 1);
        assert_eq!(opaque.items[1]["id"], "b");
        assert_eq!(opaque.items[0], json!({"type": "function_call", "call_id": "b", "id": "fc_1"}));
    }

    #[test]
    fn keys_are_taken_out_wherever_they_are_written() {
        let key = "sk-live-0123456789abcdef";
        let secrets = Secrets::new([key.to_owned()]);
        let escaped = r#"{"k":"sk\u002dlive-0123456789abcdef"}"#;
        let mut opaque = Opaque {
            message: fields(json!({"reasoning": [{"text": format!("it is {key}")}]})),
            items: vec![json!({"arguments": escaped, "n": 1})],
            ..Opaque::default()
        };
        opaque.withhold(&secrets);
        let text = serde_json::to_string(&opaque).unwrap();
        assert!(!text.contains(key) && !text.contains("0123456789abcdef"), "{text}");
        assert_eq!(opaque.items[0]["n"], 1);
    }

    #[test]
    fn items_that_repeat_the_message_are_not_counted_twice() {
        let opaque = Opaque {
            items: vec![
                json!({"type": "message", "content": [{"text": "x".repeat(1000)}]}),
                json!({"type": "reasoning", "encrypted_content": "y".repeat(500)}),
            ],
            ..Opaque::default()
        };
        assert!((500..600).contains(&opaque.size()), "{}", opaque.size());
    }
}
