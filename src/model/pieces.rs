//! Joins the pieces of fields that git-cowork does not read, so that they are sent back to the
//! server complete.

use serde_json::{Map, Value};

/// Text fields that are always appended, even if the piece equals the text so far.
const FLOWING: [&str; 4] = ["text", "summary", "data", "thinking"];
/// Text fields that are names; the last value replaces earlier ones.
const NAMES: [&str; 5] = ["id", "type", "format", "name", "role"];

/// Adds the fields of a piece to the earlier ones.
pub fn join(whole: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (key, new) in piece {
        match whole.get_mut(&key) {
            None => {
                whole.insert(key, new);
            }
            Some(_) if new.is_null() => {}
            Some(Value::String(old)) if new.is_string() => {
                join_text(&key, old, new.as_str().unwrap_or_default());
            }
            Some(Value::Array(old)) if new.is_array() => {
                let Value::Array(items) = new else { continue };
                items.into_iter().for_each(|item| join_item(old, item));
            }
            Some(Value::Object(old)) if new.is_object() => {
                let Value::Object(fields) = new else { continue };
                join(old, fields);
            }
            Some(old) => *old = new,
        }
    }
}

fn join_text(key: &str, old: &mut String, new: &str) {
    let flows = key.starts_with("reasoning") || FLOWING.contains(&key);
    if NAMES.contains(&key) {
        if !new.is_empty() {
            new.clone_into(old);
        }
    } else if flows || old != new {
        // Other text, such as a signature, is not appended again if it is sent twice.
        old.push_str(new);
    }
}

/// Adds an item to a list. With an index, it continues the item with the same type and index;
/// without one, it continues the last item if that has the same type and is not complete.
pub fn join_item(list: &mut Vec<Value>, item: Value) {
    let open = match item.get("index").filter(|index| !index.is_null()) {
        Some(index) => list.iter_mut().rev().find(|old| {
            old.get("index") == Some(index)
                && (item.get("type").is_none() || old.get("type") == item.get("type"))
        }),
        None => list.last_mut().filter(|old| {
            let is_complete = ["signature", "data"]
                .iter()
                .any(|key| old.get(key).and_then(Value::as_str).is_some_and(|s| !s.is_empty()));
            old.get("type") == item.get("type") && !is_complete
        }),
    };
    match (open, item) {
        (Some(Value::Object(old)), Value::Object(piece)) => join(old, piece),
        (_, item) => list.push(item),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn joined(pieces: &[Value]) -> Value {
        let mut whole = Map::new();
        for piece in pieces {
            join(&mut whole, piece.as_object().cloned().unwrap());
        }
        Value::Object(whole)
    }

    #[test]
    fn thoughts_flow_and_signatures_stay() {
        let got = joined(&[
            json!({"reasoning_content": "a", "sign": null}),
            json!({"reasoning_content": "a", "sign": "s"}),
            json!({"reasoning_content": null, "sign": "s"}),
        ]);
        assert_eq!(got, json!({"reasoning_content": "aa", "sign": "s"}));
    }

    #[test]
    fn details_are_joined_by_type_and_index() {
        let got = joined(&[
            json!({"d": [{"type": "reasoning.text", "index": 0, "text": "a", "format": "f"}]}),
            json!({"d": [{"type": "reasoning.text", "index": 0, "text": "b", "format": "f"},
                         {"type": "reasoning.encrypted", "index": 0, "data": "x"}]}),
            json!({"d": [{"type": "reasoning.text", "index": 0, "signature": "s"}]}),
            json!({"d": [{"type": "reasoning.encrypted", "index": 1, "data": "y"}]}),
        ]);
        let want = json!({"d": [
            {"type": "reasoning.text", "index": 0, "text": "ab", "format": "f", "signature": "s"},
            {"type": "reasoning.encrypted", "index": 0, "data": "x"},
            {"type": "reasoning.encrypted", "index": 1, "data": "y"},
        ]});
        assert_eq!(got, want);
    }

    #[test]
    fn a_signed_block_is_whole() {
        let block = |text: &str, sign: Value| json!({"b": [{"type": "thinking", "thinking": text, "signature": sign}]});
        let got = joined(&[
            block("a", Value::Null),
            block("b", Value::Null),
            block("", json!("s")),
            block("c", json!("t")),
            json!({"b": [{"type": "redacted_thinking", "data": "x"}]}),
            json!({"b": [{"type": "redacted_thinking", "data": "y"}]}),
        ]);
        let want = json!({"b": [
            {"type": "thinking", "thinking": "ab", "signature": "s"},
            {"type": "thinking", "thinking": "c", "signature": "t"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "redacted_thinking", "data": "y"},
        ]});
        assert_eq!(got, want);
    }
}
