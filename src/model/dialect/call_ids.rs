//! Converts call ids to the form that the strictest server accepts: nine letters and digits.

use serde_json::{Map, Value};

const LENGTH: usize = 9;

/// Fields of a result that contain the id of its call: in chat completions, Messages and Responses
/// (where the call has the same field).
const NAMED: [&str; 3] = ["tool_call_id", "tool_use_id", "call_id"];

/// Gives every call in `messages` and its result an id of that form, in any dialect: calls are
/// items, fields of a message, or blocks of its content.
pub fn shorten(messages: &mut [Value]) {
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        NAMED.iter().for_each(|key| shorten_in(message, key));
        if message.get("type").is_some_and(|kind| kind == "tool_use") {
            shorten_in(message, "id");
        }
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten().filter_map(Value::as_object_mut) {
            shorten_in(call, "id");
        }
        if let Some(blocks) = message.get_mut("content").and_then(Value::as_array_mut) {
            shorten(blocks);
        }
    }
}

fn shorten_in(fields: &mut Map<String, Value>, key: &str) {
    if let Some(Value::String(id)) = fields.get_mut(key)
        && !(id.len() == LENGTH && id.bytes().all(|b| b.is_ascii_alphanumeric()))
    {
        *id = short(id);
    }
}

/// Returns the same short id for the same long one in every run: FNV-1a in base 36.
fn short(id: &str) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut text = String::new();
    for _ in 0..LENGTH {
        text.push(char::from(DIGITS[(hash % 36) as usize]));
        hash /= 36;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_ids_are_shortened_alike_and_short_ones_stay() {
        let mut messages = [
            json!({"role": "assistant", "tool_calls": [{"id": "call_1"}, {"id": "c00010001"}]}),
            json!({"role": "tool", "tool_call_id": "call_1", "content": "x"}),
            json!({"role": "tool", "tool_call_id": "c00010001", "content": "x"}),
        ];
        shorten(&mut messages);
        let id = messages[0]["tool_calls"][0]["id"].as_str().unwrap();
        assert!(id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()), "{id}");
        assert_eq!(messages[1]["tool_call_id"], id);
        assert_eq!(messages[0]["tool_calls"][1]["id"], "c00010001");
        assert_eq!(messages[2]["tool_call_id"], "c00010001");
        assert_ne!(short("call_1"), short("call_2"));
    }
    #[test]
    fn calls_are_found_in_every_dialect() {
        let id = short("toolu_1");
        let mut turns = [
            json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"id": "kept"}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]}),
        ];
        shorten(&mut turns);
        assert_eq!(turns[0]["content"][0]["id"], id);
        assert_eq!(turns[0]["content"][0]["input"]["id"], "kept");
        assert_eq!(turns[1]["content"][0]["tool_use_id"], id);
        let mut items = [
            json!({"type": "function_call", "id": "fc_1", "call_id": "toolu_1"}),
            json!({"type": "function_call_output", "call_id": "toolu_1", "output": "x"}),
        ];
        shorten(&mut items);
        assert_eq!((&items[0]["call_id"], &items[1]["call_id"]), (&json!(id), &json!(id)));
        assert_eq!(items[0]["id"], "fc_1");
    }
}
