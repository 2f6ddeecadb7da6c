//! Which parts of earlier answers each server needs back, and which it refuses.
//!
//! Rule: a model's output is sent back to that model unchanged, field by field, and to no other.
//! The table lists the exceptions of vendors; what a server says about a field is in [`Learned`].

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::learned::{LearnedFields, REASONING, REASONING_CONTENT, REASONING_DETAILS};
use crate::model::{Message, ModelOrigin, Opaque, pieces};

/// Gemini accepts this instead of a signature (see its documentation on thought signatures).
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Which fields of its own answers are sent back to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReturnRule {
    /// All, unchanged.
    All,
    /// None: it sends none, and refuses unknown fields.
    Nothing,
    /// Only the content, in its parts.
    Content,
    /// All except this.
    Not(&'static str),
    /// All except `reasoning` if there are `reasoning_details`, which contain the same and more.
    Details,
    /// The thoughts, between tags in the content.
    Tags,
}

/// What a server requires in answers of other models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Nothing,
    /// An empty `reasoning_content` in every message with calls.
    Reasoning,
    /// A signature in the first call of every message.
    Signature,
    /// A signature in OpenRouter's format.
    Details,
}

/// The messages in which fields are sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReturnScope {
    Everywhere,
    /// In messages that call tools.
    Calls,
    /// In messages after the last user message.
    OpenTurn,
}

/// The exceptions of one server, or of a model on any server.
struct VendorRow {
    /// The end of the host name; empty for any host.
    host: &'static str,
    /// Part of the model's name; empty for any model.
    model: &'static str,
    back: ReturnRule,
    at: ReturnScope,
    fill: Fill,
}

const fn row(
    host: &'static str,
    model: &'static str,
    back: ReturnRule,
    at: ReturnScope,
    fill: Fill,
) -> VendorRow {
    VendorRow { host, model, back, at, fill }
}

/// The first row that matches is used.
const ROWS: [VendorRow; 18] = {
    use {ReturnRule::*, ReturnScope::*};
    const NO: Fill = Fill::Nothing;
    [
        row("openai.com", "", Nothing, Everywhere, NO),
        row("openai.azure.com", "", Nothing, Everywhere, NO),
        row("x.ai", "", Nothing, Everywhere, NO),
        row("anthropic.com", "", Nothing, Everywhere, NO),
        row("mistral.ai", "", Content, Everywhere, NO),
        row("groq.com", "gpt-oss", Not(REASONING_CONTENT), OpenTurn, NO),
        row("groq.com", "", Not(REASONING_CONTENT), Everywhere, NO),
        row("cerebras.ai", "glm", Tags, Everywhere, NO),
        row("cerebras.ai", "", Not(REASONING_CONTENT), OpenTurn, NO),
        row("openrouter.ai", "gemini", Details, Everywhere, Fill::Details),
        row("openrouter.ai", "gpt-oss", Details, OpenTurn, NO),
        row("openrouter.ai", "", Details, Everywhere, NO),
        row("deepseek.com", "", All, Calls, Fill::Reasoning),
        row("moonshot.ai", "", All, Calls, Fill::Reasoning),
        row("moonshot.cn", "", All, Calls, Fill::Reasoning),
        row("githubcopilot.com", "", All, Calls, NO),
        row("", "gpt-oss", All, OpenTurn, NO),
        row("", "gemini", All, Everywhere, Fill::Signature),
    ]
};

/// Gemini models before the third generation; they add no signatures.
const UNSIGNED: [&str; 2] = ["gemini-1", "gemini-2"];

/// How earlier answers are sent back to one server.
#[derive(Debug)]
pub struct VendorRules<'a> {
    origin: &'a ModelOrigin,
    learned_fields: LearnedFields,
    back: ReturnRule,
    at: ReturnScope,
    fill: Fill,
}

impl<'a> VendorRules<'a> {
    /// The rules for a model, including what was learned about it.
    pub fn for_model(origin: &'a ModelOrigin, learned: LearnedFields) -> Self {
        let url = reqwest::Url::parse(&origin.base_url).ok();
        let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
        let model = origin.model.to_lowercase();
        let fits = |row: &&VendorRow| {
            let sub = host.strip_suffix(row.host);
            let host_fits =
                sub.is_some_and(|sub| row.host.is_empty() || sub.is_empty() || sub.ends_with('.'));
            host_fits && model.contains(row.model)
        };
        let row = ROWS.iter().find(fits);
        let (back, at, fill) = row
            .map_or((ReturnRule::All, ReturnScope::Everywhere, Fill::Nothing), |row| {
                (row.back, row.at, row.fill)
            });
        let fill = match fill {
            _ if learned.wants_reasoning() => Fill::Reasoning,
            Fill::Nothing if learned.wants_signatures() => Fill::Signature,
            Fill::Signature | Fill::Details
                if UNSIGNED.iter().any(|old| model.contains(old))
                    && !learned.wants_signatures() =>
            {
                Fill::Nothing
            }
            fill => fill,
        };
        Self { origin, learned_fields: learned, back, at, fill }
    }

    /// True if call ids must be short: Mistral refuses longer ones.
    pub fn takes_short_ids(&self) -> bool {
        self.back == ReturnRule::Content
    }

    /// Parameters that the server needs besides the messages.
    pub fn parameters(&self) -> Map<String, Value> {
        match self.back {
            // Otherwise the server removes the thoughts that are sent back.
            ReturnRule::Tags => Map::from_iter([("clear_thinking".to_owned(), false.into())]),
            _ => Map::new(),
        }
    }

    /// Adds to the messages in `bodies` the fields of the original answers that the server needs
    /// back.
    pub fn give_back(&self, messages: &[Message], bodies: &mut [Value]) {
        // The calls of the server's own answers.
        let mut own_calls: HashSet<&String> = HashSet::new();
        let last_user = messages.iter().rposition(|m| matches!(m, Message::User { .. }));
        for (at, (message, sent)) in messages.iter().zip(bodies).enumerate() {
            let Some(fields) = sent.as_object_mut() else { continue };
            match message {
                Message::Assistant { opaque, tool_calls, .. } => {
                    let own_answer =
                        opaque.as_deref().filter(|opaque| opaque.origin == *self.origin);
                    let is_in_scope = match self.at {
                        ReturnScope::Everywhere => true,
                        ReturnScope::Calls => !tool_calls.is_empty(),
                        ReturnScope::OpenTurn => last_user.is_none_or(|spoken_to| at > spoken_to),
                    };
                    if own_answer.is_some() {
                        own_calls.extend(tool_calls.iter().map(|call| &call.id));
                    }
                    match own_answer {
                        Some(opaque) if is_in_scope => self.restore(opaque, fields),
                        Some(_) => {}
                        None => calls_of(fields).for_each(|call| plain_id(call, "id")),
                    }
                    self.fill(fields);
                }
                Message::Tool { tool_call_id, .. } if !own_calls.contains(tool_call_id) => {
                    plain_id(fields, "tool_call_id");
                }
                _ => {}
            }
        }
    }

    fn restore(&self, opaque: &Opaque, body: &mut Map<String, Value>) {
        for (key, value) in &opaque.message {
            let goes_back = match self.back {
                ReturnRule::All => true,
                ReturnRule::Nothing => false,
                ReturnRule::Content => key == "content",
                ReturnRule::Not(field) => key != field,
                ReturnRule::Details => {
                    key != REASONING || !opaque.message.contains_key(REASONING_DETAILS)
                }
                ReturnRule::Tags => key == "content",
            };
            if goes_back && !self.learned_fields.refuses(key) {
                body.insert(key.clone(), value.clone());
            }
        }
        if let (ReturnRule::Tags, Some(Value::String(thought))) =
            (self.back, opaque.message.get(REASONING))
        {
            let text = body.get("content").and_then(Value::as_str).unwrap_or_default();
            let content = format!("<think>{thought}</think>{text}");
            body.insert("content".into(), content.into());
        }
        if matches!(self.back, ReturnRule::Nothing | ReturnRule::Content) {
            return;
        }
        for call in calls_of(body) {
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
            let Some(fields) = opaque.calls.get(id) else { continue };
            let known_fields = fields.iter().filter(|(key, _)| !self.learned_fields.refuses(key));
            let known_fields =
                known_fields.map(|(key, value)| (key.clone(), value.clone())).collect();
            pieces::join(call, known_fields);
        }
    }

    /// Adds what the server requires, if the message does not contain it.
    fn fill(&self, body: &mut Map<String, Value>) {
        let Some(first) = calls_of(body).next().and_then(|call| call.get("id").cloned()) else {
            return;
        };
        match self.fill {
            Fill::Nothing => {}
            Fill::Reasoning => {
                if !self.learned_fields.refuses(REASONING_CONTENT) {
                    body.entry(REASONING_CONTENT).or_insert_with(|| "".into());
                }
            }
            Fill::Signature => {
                let has_signature = |call: &mut Map<String, Value>| {
                    call.get("extra_content").and_then(|extra| extra.pointer(SIGNATURE)).is_some()
                };
                if first.as_str().is_some_and(|id| id.contains(SIGNED_ID))
                    || calls_of(body).any(has_signature)
                    || self.learned_fields.refuses("extra_content")
                {
                    return;
                }
                if let Some(call) = calls_of(body).next() {
                    let extra = json!({"google": {"thought_signature": NO_SIGNATURE}});
                    call.insert("extra_content".into(), extra);
                }
            }
            Fill::Details => {
                if !self.learned_fields.refuses(REASONING_DETAILS) {
                    let detail = json!([{
                        "type": "reasoning.encrypted", "data": NO_SIGNATURE, "id": first,
                        "format": "google-gemini-v1", "index": 0,
                    }]);
                    body.entry(REASONING_DETAILS).or_insert(detail);
                }
            }
        }
    }
}

/// Path of Gemini's signature in a call's `extra_content`.
const SIGNATURE: &str = "/google/thought_signature";

/// The separator that LiteLLM puts between a call's id and Gemini's signature.
pub const SIGNED_ID: &str = "__thought__";

/// Removes the signature from an id: other servers limit the length of ids.
fn plain_id(fields: &mut Map<String, Value>, key: &str) {
    if let Some(Value::String(id)) = fields.get_mut(key)
        && let Some(at) = id.find(SIGNED_ID)
    {
        id.truncate(at);
    }
}

fn calls_of(body: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let calls = body.get_mut("tool_calls").and_then(Value::as_array_mut);
    calls.into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dialect::Refusals;
    use crate::model::dialect::chat::body;
    use crate::model::test_server::request;
    use crate::model::{Request, ToolCall};

    const FIELDS: &str = r#"{"content": "<think>t</think>said", "reasoning_content": "t",
        "reasoning": "t", "reasoning_details": [{"type": "reasoning.text", "text": "t"}], "x": 1}"#;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    /// An answer with these calls, and their results.
    fn turn(said_by: &ModelOrigin, ids: &[&str]) -> Vec<Message> {
        let signature = object(json!({"extra_content": {"google": {"thought_signature": "s"}}}));
        let call = |id: &&str| ToolCall {
            id: (*id).into(),
            name: "read_file".into(),
            arguments: "{}".into(),
        };
        let opaque = Opaque {
            origin: said_by.clone(),
            message: serde_json::from_str(FIELDS).unwrap(),
            calls: ids.first().map(|id| ((*id).to_owned(), signature)).into_iter().collect(),
            items: Vec::new(),
        };
        let answer = Message::Assistant {
            content: "said".into(),
            tool_calls: ids.iter().map(call).collect(),
            opaque: Some(Box::new(opaque)),
        };
        let told = |id: &&str| Message::Tool {
            tool_call_id: (*id).to_owned(),
            content: "text".to_owned(),
        };
        [answer].into_iter().chain(ids.iter().map(told)).collect()
    }

    /// The assistant messages that a model receives for three answers: one with a call, one
    /// without, and, after a user message, one with two calls.
    fn sent(
        said_by: &ModelOrigin,
        to: &ModelOrigin,
        learned: LearnedFields,
    ) -> Vec<Map<String, Value>> {
        let mut request: Request = request();
        request.messages.extend(turn(said_by, &["a"]));
        request.messages.extend(turn(said_by, &[]));
        request.messages.push(Message::User { content: "go on".into() });
        request.messages.extend(turn(said_by, &["b__thought__sig", "c"]));
        let refused = Refusals { opaque: learned, ..Refusals::default() };
        let body = body(&request, to, refused);
        let messages = body["messages"].as_array().unwrap().iter();
        messages.filter(|m| m["role"] == "assistant").cloned().map(object).collect()
    }

    /// The fields of each answer, except those that are always present.
    fn extra(answers: &[Map<String, Value>]) -> Vec<Vec<&str>> {
        let plain = ["role", "tool_calls"];
        answers
            .iter()
            .map(|answer| {
                let keys = answer.keys().map(String::as_str);
                keys.filter(|key| !plain.contains(key) && *key != "content").collect()
            })
            .collect()
    }

    fn signature(answer: &Map<String, Value>, call: usize) -> Option<&str> {
        answer["tool_calls"][call].get("extra_content")?.pointer(SIGNATURE)?.as_str()
    }

    #[test]
    fn opaque_fields_are_sent_back_to_their_origin() {
        let origin = ModelOrigin::new("http://127.0.0.1:8080/v1", "m");
        let answers = sent(&origin, &origin, LearnedFields::default());
        let all = vec!["reasoning_content", "reasoning", "reasoning_details", "x"];
        assert_eq!(extra(&answers), [all.clone(), all.clone(), all]);
        assert!(answers.iter().all(|answer| answer["content"] == "<think>t</think>said"));
        assert_eq!((signature(&answers[2], 0), signature(&answers[2], 1)), (Some("s"), None));
        assert_eq!(answers[2]["tool_calls"][0]["id"], "b__thought__sig");
    }

    #[test]
    fn opaque_fields_are_not_sent_to_other_models() {
        let origin = ModelOrigin::new("http://127.0.0.1:8080/v1", "m");
        for to in [
            ModelOrigin::new("http://127.0.0.1:8080/v1", "n"),
            ModelOrigin::new("http://127.0.0.1:8081/v1", "m"),
        ] {
            let answers = sent(&origin, &to, LearnedFields::default());
            assert!(extra(&answers).concat().is_empty(), "{answers:?}");
            assert!(answers.iter().all(|answer| answer["content"] == "said"));
            assert_eq!(signature(&answers[0], 0), None);
            assert_eq!(answers[2]["tool_calls"][0]["id"], "b");
        }
    }

    /// Host, model, and the fields that are sent back to it with each of its own three answers.
    type Case = (&'static str, &'static str, [&'static [&'static str]; 3]);

    #[test]
    fn vendors_get_back_what_they_take() {
        const ALL: &[&str] = &["reasoning_content", "reasoning", "reasoning_details", "x"];
        const DETAILS: &[&str] = &["reasoning_content", "reasoning_details", "x"];
        const NOT: &[&str] = &["reasoning", "reasoning_details", "x"];
        const NO: &[&str] = &[];
        let cases: [Case; 11] = [
            ("https://api.openai.com/v1", "gpt-5-mini", [NO, NO, NO]),
            ("https://me.openai.azure.com/openai/v1", "gpt-5", [NO, NO, NO]),
            ("https://api.x.ai/v1", "grok-4", [NO, NO, NO]),
            ("https://api.mistral.ai/v1", "magistral", [NO, NO, NO]),
            ("https://api.deepseek.com", "deepseek-v4", [ALL, NO, ALL]),
            ("https://api.moonshot.ai/v1", "kimi-k3", [ALL, NO, ALL]),
            ("https://api.groq.com/openai/v1", "qwen3", [NOT, NOT, NOT]),
            ("https://api.cerebras.ai/v1", "gpt-oss-120b", [NO, NO, NOT]),
            ("https://openrouter.ai/api/v1", "minimax/m3", [DETAILS, DETAILS, DETAILS]),
            ("http://127.0.0.1:11434/v1", "gpt-oss:20b", [NO, NO, ALL]),
            ("https://notdeepseek.com", "m", [ALL, ALL, ALL]),
        ];
        for (host, model, wanted) in cases {
            let origin = ModelOrigin::new(host, model);
            let answers = sent(&origin, &origin, LearnedFields::default());
            assert_eq!(extra(&answers), wanted, "{host} {model}");
        }
        let glm = ModelOrigin::new("https://api.cerebras.ai/v1", "zai-glm-4.7");
        let manners = VendorRules::for_model(&glm, LearnedFields::default());
        assert_eq!(manners.parameters()["clear_thinking"], false);
        assert!(extra(&sent(&glm, &glm, LearnedFields::default())).concat().is_empty());
    }

    #[test]
    fn cerebras_gets_thoughts_in_the_content() {
        let glm = ModelOrigin::new("https://api.cerebras.ai/v1", "zai-glm-4.7");
        let opaque = Opaque {
            message: object(json!({"reasoning": "t"})),
            origin: glm.clone(),
            ..Opaque::default()
        };
        let mut sent = object(json!({"role": "assistant", "content": "said"}));
        VendorRules::for_model(&glm, LearnedFields::default()).restore(&opaque, &mut sent);
        assert_eq!(
            Value::Object(sent),
            json!({"role": "assistant", "content": "<think>t</think>said"})
        );
    }

    #[test]
    fn fields_that_a_server_requires_are_added_to_other_models_answers() {
        let other = ModelOrigin::new("http://127.0.0.1:8080/v1", "m");
        for (host, model, signed) in [
            ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro", true),
            ("http://127.0.0.1:4000/v1", "gemini-flash-latest", true),
            ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.5-pro", false),
        ] {
            let answers = sent(&other, &ModelOrigin::new(host, model), LearnedFields::default());
            let wanted = signed.then_some(NO_SIGNATURE);
            assert_eq!((signature(&answers[0], 0), signature(&answers[2], 0)), (wanted, wanted));
            assert_eq!(signature(&answers[2], 1), None, "{model}");
        }
        let gemini = ModelOrigin::new("https://openrouter.ai/api/v1", "google/gemini-3.1-pro");
        let answers = sent(&other, &gemini, LearnedFields::default());
        let detail = json!([{"type": "reasoning.encrypted", "data": NO_SIGNATURE, "id": "b",
            "format": "google-gemini-v1", "index": 0}]);
        assert_eq!(answers[2]["reasoning_details"], detail);
        assert_eq!(extra(&answers)[1], [""; 0]);
        let deepseek = ModelOrigin::new("https://api.deepseek.com/v1", "deepseek-v4-pro");
        let answers = sent(&other, &deepseek, LearnedFields::default());
        assert_eq!(extra(&answers), [vec!["reasoning_content"], vec![], vec!["reasoning_content"]]);
        assert_eq!(answers[0]["reasoning_content"], "");
    }

    #[test]
    fn learned_refusals_are_applied() {
        let origin = ModelOrigin::new("http://127.0.0.1:8080/v1", "m");
        let other = ModelOrigin::new("http://127.0.0.1:8080/v1", "n");
        let learned = LearnedFields::default();
        let (_, refused) = learned.refusal("reasoning_content is unsupported").unwrap();
        let answers = sent(&origin, &origin, refused);
        assert_eq!(extra(&answers)[0], ["reasoning", "reasoning_details", "x"]);
        let (_, wanted) = learned.wish("Missing `reasoning_content` field").unwrap();
        let answers = sent(&origin, &other, wanted);
        assert_eq!(extra(&answers)[0], ["reasoning_content"]);
        let (_, nothing) = learned.refusal_of_something("extra_forbidden").unwrap();
        let answers = sent(&origin, &origin, nothing);
        assert!(extra(&answers).concat().is_empty());
        assert_eq!(signature(&answers[0], 0), None);
    }
}
