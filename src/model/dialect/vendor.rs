//! What servers want back of their own answers, and what they refuse.
//!
//! The rule: what came from a model goes back to it, field by field as it came, and to no other
//! one. The tables hold what vendors do differently; what a server says of a field is learned.

use serde_json::{Map, Value, json};

use crate::model::{Message, Opaque, Origin, pieces};

/// The field of DeepSeek, Kimi, GLM, llama.cpp and others.
const REASONING_CONTENT: &str = "reasoning_content";
/// That of OpenRouter, vLLM, Ollama, Groq, Cerebras and others.
const REASONING: &str = "reasoning";
/// OpenRouter's, and MiniMax' where it splits.
const REASONING_DETAILS: &str = "reasoning_details";

/// Fields that servers have been seen to refuse by name.
const FIELDS: [&str; 8] = [
    REASONING_CONTENT,
    REASONING,
    REASONING_DETAILS,
    "reasoning_text",
    "reasoning_opaque",
    "thinking_blocks",
    "extra_content",
    "provider_specific_fields",
];

/// How servers say that a field is missing; strict ones list far more as "required".
const MISSED: [&str; 3] = ["must be passed back", "missing `", "is missing"];

/// What Gemini takes in the place of a signature (its documentation on thought signatures).
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// What a server has said about fields of earlier answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// Those of [`FIELDS`] that it refuses, a bit each.
    refused: u8,
    /// It refuses all of them.
    all: bool,
    /// It wants a `reasoning_content` with every message that calls.
    reasoning: bool,
    /// It wants a signature with the first call of every message.
    signature: bool,
}

impl Learned {
    /// What can be learned from a refusal's words that names a field: the field, for people.
    pub fn refusal(self, words: &str) -> Option<(&'static str, Self)> {
        let words = words.to_lowercase();
        let says = |wanted: &[&str]| wanted.iter().any(|wanted| words.contains(wanted));
        let refuses_it = [
            "unsupported",
            "not supported",
            "not permitted",
            "not allowed",
            "forbidden",
            "unknown",
            "unrecognized",
            "unexpected",
            "wrong_api_format",
            "invalid `signature`",
        ];
        if says(&MISSED) || !says(&refuses_it) {
            return None;
        }
        if says(&["invalid `signature`"]) {
            let blocks = ["thinking_blocks", REASONING_DETAILS];
            let bits = bits(|field| blocks.contains(&field));
            return self.without(bits, "the signatures of thoughts");
        }
        let named: Vec<&str> = words.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let field = FIELDS.iter().find(|field| named.contains(field))?;
        self.without(bits(|other| other == *field), field)
    }

    /// The same from words that name none of our fields.
    pub fn refusal_of_something(self, words: &str) -> Option<(&'static str, Self)> {
        let words = words.to_lowercase();
        let strict = ["extra inputs", "extra_forbidden", "wrong_api_format"];
        let new = !self.all && strict.iter().any(|strict| words.contains(strict));
        new.then_some(("the fields of earlier answers", Self { all: true, ..self }))
    }

    /// What can be learned from a server that misses something: what, for people.
    pub fn wish(self, words: &str) -> Option<(&'static str, Self)> {
        let words = words.to_lowercase();
        if !MISSED.iter().any(|missed| words.contains(missed)) {
            return None;
        }
        if words.contains("thought_signature") || words.contains("thoughtsignature") {
            let wish = Self { signature: true, ..self };
            return (!self.signature).then_some(("`thought_signature`", wish));
        }
        let refused = self.all || self.refused & bits(|field| field == REASONING_CONTENT) != 0;
        let new = !self.reasoning && !refused && words.contains(REASONING_CONTENT);
        new.then_some(("`reasoning_content`", Self { reasoning: true, ..self }))
    }

    fn without(self, bits: u8, name: &'static str) -> Option<(&'static str, Self)> {
        let refused = self.refused | bits;
        (refused != self.refused).then_some((name, Self { refused, ..self }))
    }

    fn refuses(self, field: &str) -> bool {
        self.all || self.refused & bits(|other| other == field) != 0
    }
}

fn bits(wanted: impl Fn(&str) -> bool) -> u8 {
    FIELDS.iter().enumerate().filter(|(_, field)| wanted(field)).map(|(n, _)| 1 << n).sum()
}

/// Which fields of its own answers a server may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Back {
    /// As they came.
    All,
    /// None: it has none, and refuses those it does not know.
    Nothing,
    /// The content alone, in its parts.
    Content,
    /// All but this.
    Not(&'static str),
    /// The details, which say the same as this and more.
    Details,
    /// Its thoughts in the content, between tags.
    Tags,
}

/// What a server wants where an answer of somebody else has nothing to offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Nothing,
    /// An empty `reasoning_content` with every message that calls.
    Reasoning,
    /// A signature with the first call of every message.
    Signature,
    /// The same in OpenRouter's words.
    Details,
}

/// Which messages take fields back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    Everywhere,
    /// In messages that call tools.
    Calls,
    /// Since it was last spoken to.
    OpenTurn,
}

/// How one server, or a model whatever the server, differs.
struct Row {
    /// The end of the host's name; empty for any other one.
    host: &'static str,
    /// A part of the model's name; empty for any.
    model: &'static str,
    back: Back,
    at: Where,
    fill: Fill,
}

const fn row(host: &'static str, model: &'static str, back: Back, at: Where, fill: Fill) -> Row {
    Row { host, model, back, at, fill }
}

/// The first that fits counts.
const ROWS: [Row; 18] = {
    use {Back::*, Where::*};
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

/// Gemini models before the third generation, which sign nothing.
const UNSIGNED: [&str; 2] = ["gemini-1", "gemini-2"];

/// How to speak of earlier answers to one server.
#[derive(Debug)]
pub struct Manners<'a> {
    origin: &'a Origin,
    learned: Learned,
    back: Back,
    at: Where,
    fill: Fill,
}

impl<'a> Manners<'a> {
    /// Those of a model, after what was learned about it.
    pub fn of(origin: &'a Origin, learned: Learned) -> Self {
        let url = reqwest::Url::parse(&origin.base_url).ok();
        let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
        let model = origin.model.to_lowercase();
        let fits = |row: &&Row| {
            let sub = host.strip_suffix(row.host);
            let here =
                sub.is_some_and(|sub| row.host.is_empty() || sub.is_empty() || sub.ends_with('.'));
            here && model.contains(row.model)
        };
        let row = ROWS.iter().find(fits);
        let (back, at, fill) = row.map_or((Back::All, Where::Everywhere, Fill::Nothing), |row| {
            (row.back, row.at, row.fill)
        });
        let fill = match fill {
            _ if learned.reasoning => Fill::Reasoning,
            Fill::Nothing if learned.signature => Fill::Signature,
            Fill::Signature | Fill::Details
                if UNSIGNED.iter().any(|old| model.contains(old)) && !learned.signature =>
            {
                Fill::Nothing
            }
            fill => fill,
        };
        Self { origin, learned, back, at, fill }
    }

    /// Parameters it wants beside the messages.
    pub fn parameters(&self) -> Map<String, Value> {
        match self.back {
            // Else the thoughts that are sent back are cut out again.
            Back::Tags => Map::from_iter([("clear_thinking".to_owned(), false.into())]),
            _ => Map::new(),
        }
    }

    /// Adds to the messages `sent` what the server wants back of the answers they were made from.
    pub fn give_back(&self, messages: &[Message], sent: &mut [Value]) {
        let spoken_to = messages.iter().rposition(|m| matches!(m, Message::User { .. }));
        for (at, (message, sent)) in messages.iter().zip(sent).enumerate() {
            let Some(fields) = sent.as_object_mut() else { continue };
            match message {
                Message::Assistant { opaque, tool_calls, .. } => {
                    let ours = opaque.as_deref().filter(|opaque| opaque.origin == *self.origin);
                    let here = match self.at {
                        Where::Everywhere => true,
                        Where::Calls => !tool_calls.is_empty(),
                        Where::OpenTurn => spoken_to.is_none_or(|spoken_to| at > spoken_to),
                    };
                    match ours {
                        Some(opaque) if here => self.restore(opaque, fields),
                        Some(_) => {}
                        None => calls_of(fields).for_each(|call| plain_id(call, "id")),
                    }
                    self.fill(fields);
                }
                Message::Tool { tool_call_id, .. } => {
                    if !self.said_by_us(messages, tool_call_id) {
                        plain_id(fields, "tool_call_id");
                    }
                }
                _ => {}
            }
        }
    }

    fn said_by_us(&self, messages: &[Message], id: &str) -> bool {
        id.contains(SIGNED_ID)
            && messages.iter().any(|message| match message {
                Message::Assistant { tool_calls, opaque: Some(opaque), .. } => {
                    opaque.origin == *self.origin && tool_calls.iter().any(|call| call.id == id)
                }
                _ => false,
            })
    }

    fn restore(&self, opaque: &Opaque, sent: &mut Map<String, Value>) {
        for (key, value) in &opaque.message {
            let wanted = match self.back {
                Back::All => true,
                Back::Nothing => false,
                Back::Content => key == "content",
                Back::Not(field) => key != field,
                Back::Details => {
                    key != REASONING || !opaque.message.contains_key(REASONING_DETAILS)
                }
                Back::Tags => key == "content",
            };
            if wanted && !self.learned.refuses(key) {
                sent.insert(key.clone(), value.clone());
            }
        }
        if let (Back::Tags, Some(Value::String(thought))) =
            (self.back, opaque.message.get(REASONING))
        {
            let said = sent.get("content").and_then(Value::as_str).unwrap_or_default();
            let content = format!("<think>{thought}</think>{said}");
            sent.insert("content".into(), content.into());
        }
        if matches!(self.back, Back::Nothing | Back::Content) {
            return;
        }
        for call in calls_of(sent) {
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
            let Some(kept) = opaque.calls.get(id) else { continue };
            let kept = kept.iter().filter(|(key, _)| !self.learned.refuses(key));
            let kept = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
            pieces::join(call, kept);
        }
    }

    /// Puts in what the server insists on, where the message has nothing of the kind.
    fn fill(&self, sent: &mut Map<String, Value>) {
        let Some(first) = calls_of(sent).next().and_then(|call| call.get("id").cloned()) else {
            return;
        };
        match self.fill {
            Fill::Nothing => {}
            Fill::Reasoning => {
                if !self.learned.refuses(REASONING_CONTENT) {
                    sent.entry(REASONING_CONTENT).or_insert_with(|| "".into());
                }
            }
            Fill::Signature => {
                let signed = |call: &mut Map<String, Value>| {
                    Value::Object(call.clone()).pointer(SIGNATURE).is_some()
                };
                if first.as_str().is_some_and(|id| id.contains(SIGNED_ID))
                    || calls_of(sent).any(signed)
                    || self.learned.refuses("extra_content")
                {
                    return;
                }
                if let Some(call) = calls_of(sent).next() {
                    let extra = json!({"google": {"thought_signature": NO_SIGNATURE}});
                    call.insert("extra_content".into(), extra);
                }
            }
            Fill::Details => {
                if !self.learned.refuses(REASONING_DETAILS) {
                    let detail = json!([{
                        "type": "reasoning.encrypted", "data": NO_SIGNATURE, "id": first,
                        "format": "google-gemini-v1", "index": 0,
                    }]);
                    sent.entry(REASONING_DETAILS).or_insert(detail);
                }
            }
        }
    }
}

/// Where Gemini signs a call.
const SIGNATURE: &str = "/extra_content/google/thought_signature";

/// What LiteLLM puts between a call's id and Gemini's signature, which it keeps there.
pub const SIGNED_ID: &str = "__thought__";

/// An id without the signature in it: another server has a limit for ids.
fn plain_id(fields: &mut Map<String, Value>, key: &str) {
    if let Some(Value::String(id)) = fields.get_mut(key)
        && let Some(at) = id.find(SIGNED_ID)
    {
        id.truncate(at);
    }
}

fn calls_of(sent: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let calls = sent.get_mut("tool_calls").and_then(Value::as_array_mut);
    calls.into_iter().flatten().filter_map(Value::as_object_mut)
}
