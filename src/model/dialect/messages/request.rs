//! Writes a request: the system text in its own field, then the user's and the assistant's turns,
//! one message each.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::super::vendor::SIGNED_ID;
use super::super::{Refusals, cache_marks, call_ids, plain_schema};
use super::{input, is_blank, is_block, is_thought, kind, word};
use crate::config::ModelConfig;
use crate::model::{Message, ModelOrigin, Opaque, Request, ToolCall, ToolSpec};

/// Default limit of an answer in tokens: all Claude models of recent years support it, the largest
/// included.
const MAX_TOKENS: u64 = 32_000;

/// Maximum temperature of this API.
const HOTTEST: f64 = 1.0;

/// The request body, without the fields that [`configure`] adds.
pub fn body(request: &Request, to: &ModelOrigin, refusals: Refusals) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), to.model.as_str().into());
    let system: Vec<Value> = request.messages.iter().filter_map(rules).collect();
    if !system.is_empty() {
        body.insert("system".into(), system.into());
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|spec| tool(spec, refusals.schema)).collect();
        body.insert("tools".into(), tools);
    }
    let mut turns = Turns::build(&request.messages, to, refusals);
    if refusals.short_ids {
        call_ids::shorten(&mut turns);
    }
    body.insert("messages".into(), turns.into());
    if !refusals.temperature && takes_temperature(&to.model) {
        body.insert("temperature".into(), request.temperature.min(HOTTEST).into());
    }
    body.insert("stream".into(), (!refusals.stream).into());
    let mut body = Value::Object(body);
    if !refusals.cache && !cache_marks::cost_more(&to.model) {
        cache_marks::mark_messages(&mut body);
    }
    body
}

/// Adds the configured parameters, and those that are required.
pub fn configure(body: &mut Map<String, Value>, config: &ModelConfig, refusals: Refusals) {
    let usual = MAX_TOKENS.min(config.context_window / 2);
    let most = if config.max_tokens > 0 { config.max_tokens } else { usual };
    body.insert("max_tokens".into(), refusals.at_most(most).into());
    let effort = if refusals.bare { "" } else { config.reasoning_effort.as_str() };
    if effort == "none" || refusals.thinking {
        body.insert("thinking".into(), json!({"type": "disabled"}));
    } else if !effort.is_empty() {
        body.insert("output_config".into(), json!({"effort": effort}));
        if !refusals.adaptive {
            // A model that thinks accepts no temperature.
            body.remove("temperature");
            body.insert("thinking".into(), json!({"type": "adaptive"}));
        }
    }
}

/// True if a model accepts a temperature: Claude models since Opus 4.7 do not.
fn takes_temperature(model: &str) -> bool {
    let model = model.to_lowercase();
    let Some((_, version)) = model.split_once("claude") else { return true };
    let mut numbers = version
        .split(|c: char| !c.is_alphanumeric())
        // Longer numbers are dates.
        .filter(|part| (1..3).contains(&part.len()))
        .filter_map(|part| part.parse::<u32>().ok());
    let major = numbers.next().unwrap_or(0);
    (major, numbers.next().unwrap_or(0)) < (4, 7)
}

fn rules(message: &Message) -> Option<Value> {
    match message {
        Message::System { content } if !content.trim().is_empty() => Some(text(content)),
        _ => None,
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn tool(spec: &ToolSpec, plain: bool) -> Value {
    let mut schema = spec.parameters.clone();
    if plain {
        plain_schema(&mut schema);
    }
    json!({"name": spec.name, "description": spec.description, "input_schema": schema})
}

/// The turns of a conversation: user and assistant alternate, and turns without content are left
/// out.
struct Turns<'a> {
    to: &'a ModelOrigin,
    refusals: Refusals,
    /// Calls that keep their original id.
    kept_ids: HashSet<&'a str>,
    turns: Vec<(&'static str, Vec<Value>)>,
}

impl<'a> Turns<'a> {
    fn build(messages: &'a [Message], to: &'a ModelOrigin, refusals: Refusals) -> Vec<Value> {
        let mut turns = Self { to, refusals, kept_ids: HashSet::new(), turns: Vec::new() };
        for message in messages {
            let (role, blocks) = match message {
                Message::System { .. } => continue,
                Message::User { content } => ("user", vec![text(content)]),
                Message::Tool { tool_call_id, content } => {
                    ("user", vec![turns.result(tool_call_id, content)])
                }
                Message::Assistant { content, tool_calls, opaque } => {
                    ("assistant", turns.answer(content, tool_calls, opaque.as_deref()))
                }
            };
            turns.say(role, blocks);
        }
        let message = |(role, blocks)| json!({"role": role, "content": Value::Array(blocks)});
        turns.turns.into_iter().map(message).collect()
    }

    fn say(&mut self, role: &'static str, mut blocks: Vec<Value>) {
        blocks.retain(|block| !is_blank(block));
        // A turn that consists only of thoughts has no content, and the API refuses it.
        if blocks.iter().all(is_thought) {
            return;
        }
        match self.turns.last_mut() {
            Some((last, blocks_so_far)) if *last == role => blocks_so_far.append(&mut blocks),
            _ => self.turns.push((role, blocks)),
        }
    }

    fn result(&self, id: &str, content: &str) -> Value {
        let id = if self.kept_ids.contains(id) { id.to_owned() } else { plain_id(id) };
        match content.trim() {
            "" => json!({"type": "tool_result", "tool_use_id": id}),
            _ => json!({"type": "tool_result", "tool_use_id": id, "content": content}),
        }
    }

    fn answer(
        &mut self,
        content: &str,
        calls: &'a [ToolCall],
        opaque: Option<&Opaque>,
    ) -> Vec<Value> {
        let own_answer =
            opaque.filter(|opaque| opaque.origin == *self.to && stand_for(opaque, calls));
        let Some(opaque) = own_answer else { return plain(content, calls) };
        self.kept_ids.extend(calls.iter().map(|call| call.id.as_str()));
        let mut blocks = opaque.items.clone();
        if self.refusals.opaque.refuses("thinking_blocks") {
            blocks.retain(|block| !is_thought(block));
        }
        blocks
    }
}

/// True if the blocks match the conversation: they contain the same calls. Calls found in the text
/// are not in the blocks.
fn stand_for(opaque: &Opaque, calls: &[ToolCall]) -> bool {
    let block_calls = opaque.items.iter().filter(|block| kind(block) == "tool_use");
    let block_calls = block_calls.map(|block| (word(block, "id"), block["input"].clone()));
    let message_calls = calls.iter().map(|call| (call.id.as_str(), input(&call.arguments)));
    opaque.items.iter().any(is_block) && block_calls.eq(message_calls)
}

/// Blocks for an answer of another model, or one whose own blocks do not match.
fn plain(content: &str, calls: &[ToolCall]) -> Vec<Value> {
    let call = |call: &ToolCall| {
        let name = allowed(&call.name);
        json!({"type": "tool_use", "id": plain_id(&call.id), "name": name,
               "input": input(&call.arguments)})
    };
    std::iter::once(text(content)).chain(calls.iter().map(call)).collect()
}

/// An id from another API in a form accepted here: without the signature that some gateways add to
/// it.
fn plain_id(id: &str) -> String {
    allowed(id.split_once(SIGNED_ID).map_or(id, |(id, _)| id))
}

/// Replaces characters in a name that this API does not allow.
fn allowed(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(fits).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dialect::learned::LearnedFields;
    use crate::model::test_server::{config, request};

    fn origin() -> ModelOrigin {
        ModelOrigin::new("https://api.anthropic.com/v1", "claude-sonnet-4-6")
    }

    fn call(id: &str, arguments: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "read_file".into(), arguments: arguments.into() }
    }

    fn thought() -> Value {
        json!({"type": "thinking", "thinking": "", "signature": "EqQB=="})
    }

    /// An answer of the model at [`origin`] that thinks and calls a tool, and the call's result.
    fn turn(id: &str) -> [Message; 2] {
        let items = vec![
            thought(),
            json!({"type": "tool_use", "id": id, "name": "read_file", "input": {"path": "a"}}),
        ];
        let opaque = Opaque { origin: origin(), items, ..Opaque::default() };
        [
            Message::Assistant {
                content: String::new(),
                tool_calls: vec![call(id, "{\"path\": \"a\"}")],
                opaque: Some(Box::new(opaque)),
            },
            Message::Tool { tool_call_id: id.into(), content: "text".into() },
        ]
    }

    fn marks(body: &Value) -> usize {
        body.to_string().matches(r#""cache_control":{"type":"ephemeral"}"#).count()
    }

    fn unmarked() -> Refusals {
        Refusals { cache: true, ..Refusals::default() }
    }

    #[test]
    fn a_request_has_its_four_marks_at_their_places() {
        let mut request = request();
        let body_of = |request: &Request| body(request, &origin(), Refusals::default());
        assert_eq!(marks(&body_of(&request)), 3);
        for id in ["toolu_1", "toolu_2", "toolu_3"] {
            request.messages.extend(turn(id));
        }
        let body = body_of(&request);
        assert_eq!(marks(&body), 4);
        let mark = json!({"type": "ephemeral"});
        assert_eq!(body["tools"][0]["cache_control"], mark);
        assert_eq!(body["system"][0]["cache_control"], mark);
        let messages = body["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 7);
        for at in [4, 6] {
            assert_eq!(messages[at]["content"][0]["cache_control"], mark, "{body}");
        }
        let mut refused = super::body(&request, &origin(), unmarked());
        assert_eq!(marks(&refused), 0);
        // The marks are the only difference.
        cache_marks::mark_messages(&mut refused);
        assert_eq!(refused, body);
    }

    #[test]
    fn a_request_says_what_the_api_wants() {
        let body = body(&request(), &origin(), unmarked());
        let want = json!({
            "model": "claude-sonnet-4-6",
            "system": [{"type": "text", "text": "rules"}],
            "tools": [{"name": "read_file", "description": "reads",
                "input_schema": {"type": "object", "additionalProperties": false}}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "work"}]}],
            "temperature": 0.7, "stream": true,
        });
        assert_eq!(body, want);
        let refused =
            Refusals { temperature: true, stream: true, schema: true, ..Refusals::default() };
        let bare = super::body(&request(), &origin(), refused);
        assert!(bare.get("temperature").is_none() && bare["stream"] == false);
        assert_eq!(bare["tools"][0]["input_schema"], json!({"type": "object"}));
        let hot = Request { temperature: 1.4, ..request() };
        assert_eq!(super::body(&hot, &origin(), unmarked())["temperature"], 1.0);
    }

    #[test]
    fn thoughts_are_sent_back_only_to_their_origin_and_unchanged() {
        let messages = turn("toolu/1");
        let turns = |to: &ModelOrigin, refused| Turns::build(&messages, to, refused);
        let own = turns(&origin(), Refusals::default());
        let Message::Assistant { opaque: Some(opaque), .. } = &messages[0] else { panic!() };
        assert_eq!(own[0]["content"].to_string(), json!(opaque.items).to_string());
        assert_eq!(own[1]["content"][0]["tool_use_id"], "toolu/1");
        let other = turns(&ModelOrigin::new("https://example.org/v1", "m"), Refusals::default());
        let plain = json!([{"type": "tool_use", "id": "toolu_1", "name": "read_file",
            "input": {"path": "a"}}]);
        assert_eq!(other[0]["content"], plain);
        assert_eq!(other[1]["content"][0]["tool_use_id"], "toolu_1");
        let (_, opaque) =
            LearnedFields::default().refusal("Invalid `signature` in `thinking` block").unwrap();
        let refused = turns(&origin(), Refusals { opaque, ..Refusals::default() });
        assert_eq!(refused[0]["content"].as_array().unwrap().len(), 1, "{refused:?}");
        assert_eq!(refused[0]["content"][0]["id"], "toolu/1");
    }

    #[test]
    fn calls_missing_from_the_blocks_are_sent_as_plain_blocks() {
        let opaque = |items: Vec<Value>| {
            Some(Box::new(Opaque { origin: origin(), items, ..Opaque::default() }))
        };
        let said = |content: &str, tool_calls, opaque| {
            let message = Message::Assistant { content: content.into(), tool_calls, opaque };
            Turns::build(&[message], &origin(), Refusals::default())
        };
        // A call that was found in the text.
        let found = said("f", vec![call("call_1_1", "{}")], opaque(vec![text("f {}")]));
        assert_eq!(found[0]["content"][1]["type"], "tool_use");
        // Arguments that are not JSON, in an answer from another API.
        let item = json!({"type": "function_call", "call_id": "c", "arguments": "{"});
        let broken = said("", vec![call("c", "{")], opaque(vec![item]));
        assert_eq!(broken[0]["content"][0]["input"], json!({"invalid_json": "{"}));
        let gemini = said("", vec![call("call_x__thought__AbC+/==", "{}")], None);
        assert_eq!(gemini[0]["content"][0]["id"], "call_x");
    }

    #[test]
    fn turns_alternate_and_empty_ones_are_left_out() {
        let mut messages = request().messages;
        let empty = |items| Message::Assistant {
            content: " ".into(),
            tool_calls: vec![],
            opaque: Some(Box::new(Opaque { origin: origin(), items, ..Opaque::default() })),
        };
        messages.push(empty(vec![thought(), json!({"type": "text", "text": "\n"})]));
        messages.push(Message::User { content: "go on".into() });
        messages.extend(turn("toolu_1"));
        messages.push(Message::User { content: "faster".into() });
        let turns = Turns::build(&messages, &origin(), Refusals::default());
        let roles: Vec<&Value> = turns.iter().map(|turn| &turn["role"]).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        assert_eq!(turns[0]["content"], json!([text("work"), text("go on")]));
        assert_eq!(turns[2]["content"][0]["type"], "tool_result");
        assert_eq!(turns[2]["content"][1], text("faster"));
        let silent = Message::Tool { tool_call_id: "a".into(), content: String::new() };
        let turns = Turns::build(&[silent], &origin(), Refusals::default());
        assert!(turns[0]["content"][0].get("content").is_none(), "{turns:?}");
    }

    #[test]
    fn configured_parameters_use_the_names_of_this_api() {
        let configured = |effort: &str, max_tokens: u64, refused: Refusals| {
            let config = ModelConfig {
                max_tokens,
                reasoning_effort: effort.into(),
                context_window: 200_000,
                ..config("u")
            };
            let mut body = Map::from_iter([("temperature".to_owned(), json!(0.7))]);
            configure(&mut body, &config, refused);
            Value::Object(body)
        };
        let none = Refusals::default();
        assert_eq!(configured("", 0, none), json!({"temperature": 0.7, "max_tokens": 32_000}));
        let limited = Refusals { max_tokens: Some(8192), ..none };
        assert_eq!(configured("", 0, limited)["max_tokens"], 8192);
        assert_eq!(configured("", 900, limited)["max_tokens"], 900);
        let high = json!({"max_tokens": 9, "output_config": {"effort": "high"},
            "thinking": {"type": "adaptive"}});
        assert_eq!(configured("high", 9, none), high);
        let old = configured("high", 9, Refusals { adaptive: true, ..none });
        assert!(old.get("thinking").is_none() && old["temperature"] == 0.7, "{old}");
        let off = json!({"type": "disabled"});
        assert_eq!(configured("none", 9, none)["thinking"], off);
        assert_eq!(configured("high", 9, Refusals { thinking: true, ..none })["thinking"], off);
    }

    #[test]
    fn current_claude_models_accept_no_temperature() {
        for model in
            ["claude-opus-4-7", "claude-sonnet-5", "claude-haiku-5-5", "anthropic/claude-opus-4.8"]
        {
            assert!(!takes_temperature(model), "{model}");
        }
        for model in [
            "claude-opus-4-20250514",
            "claude-3-5-sonnet-20241022",
            "claude-sonnet-4-6",
            "claude-latest",
            "MiniMax-M3",
        ] {
            assert!(takes_temperature(model), "{model}");
        }
    }
}
