//! Cache marks for Claude: the request up to a mark is cached, and the next request with the same
//! beginning reads it at a tenth of the price.
//!
//! A request may have four marks. Two are at places that never change, after the tools and after
//! the system text. The other two move with the conversation: the one on the newest turn caches the
//! conversation for the next request, and the one on the turn before finds what the previous
//! request cached.

use serde_json::{Value, json};

/// Number of user turns, counted from the end, that get a mark.
const TURNS: usize = 2;

/// Servers that do not pass marks on, or have their own cache marks.
const DEAF: [&str; 3] = ["anthropic.com", "githubcopilot.com", "azure.com"];

/// Marks a block, a part or a tool.
fn mark(block: Option<&mut Value>) {
    if let Some(fields) = block.and_then(Value::as_object_mut) {
        fields.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
}

fn list<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Vec<Value>> {
    value.get_mut(key)?.as_array_mut()
}

/// Marks the body of a request to Messages.
pub fn mark_messages(body: &mut Value) {
    for key in ["tools", "system"] {
        mark(list(body, key).and_then(|list| list.last_mut()));
    }
    let turns = list(body, "messages").into_iter().flatten().rev();
    for turn in turns.filter(|turn| turn["role"] == "user").take(TURNS) {
        mark(list(turn, "content").and_then(|blocks| blocks.last_mut()));
    }
}

/// True if a gateway turns marks into a cache that is paid for twice: to write and to keep it.
pub fn cost_more(model: &str) -> bool {
    model.to_lowercase().contains("gemini")
}

/// True if a chat-completions server passes marks on to Claude.
pub fn are_passed_on(base_url: &str, model: &str) -> bool {
    let url = reqwest::Url::parse(base_url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    let is = |name: &&str| host == *name || host.ends_with(&format!(".{name}"));
    model.to_lowercase().contains("claude") && !cost_more(model) && !DEAF.iter().any(is)
}

/// Marks the body of a chat-completions request: the text of a message becomes a part with the
/// mark. Tools come before the system text, so the mark of that text covers them too.
pub fn mark_chat(body: &mut Value) {
    let Some(messages) = list(body, "messages") else { return };
    let has_mark = |message: &&mut Value| message["role"] == "user" || message["role"] == "tool";
    messages.iter_mut().filter(|message| message["role"] == "system").take(1).for_each(mark_text);
    messages.iter_mut().rev().filter(has_mark).take(TURNS).for_each(mark_text);
}

fn mark_text(message: &mut Value) {
    let Some(content) = message.get_mut("content") else { return };
    if let Value::String(text) = content {
        // An empty text must not have a mark.
        if text.trim().is_empty() {
            return;
        }
        *content = json!([{"type": "text", "text": text}]);
    }
    mark(content.as_array_mut().and_then(|parts| parts.last_mut()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_to_claude_are_known_by_the_models_name() {
        for (url, model) in [
            ("https://openrouter.ai/api/v1", "anthropic/claude-opus-5.5"),
            ("http://127.0.0.1:4000/v1", "Claude-Sonnet"),
        ] {
            assert!(are_passed_on(url, model), "{url} {model}");
        }
        for (url, model) in [
            ("https://openrouter.ai/api/v1", "openai/gpt-5"),
            ("https://api.anthropic.com/v1", "claude-opus-5-5"),
            ("https://api.githubcopilot.com", "claude-opus-5-5"),
        ] {
            assert!(!are_passed_on(url, model), "{url} {model}");
        }
    }

    #[test]
    fn three_texts_of_a_chat_are_marked() {
        let mut body = json!({"messages": [
            {"role": "system", "content": "rules"},
            {"role": "user", "content": "work"},
            {"role": "assistant", "content": null, "tool_calls": []},
            {"role": "tool", "tool_call_id": "a", "content": ""},
            {"role": "tool", "tool_call_id": "b", "content": "text"},
        ]});
        mark_chat(&mut body);
        let marked = |text: &str| json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]);
        assert_eq!(body["messages"][0]["content"], marked("rules"));
        assert_eq!(body["messages"][1]["content"], "work");
        assert_eq!(body["messages"][3]["content"], "");
        assert_eq!(body["messages"][4]["content"], marked("text"));
        assert_eq!(body.to_string().matches("cache_control").count(), 2);
    }
}
