//! The replies of the scripted model server: a turn and how it is sent, or a fault.

use serde_json::{Value, json};

/// A tool call as the model writes it: the arguments need not be JSON.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    pub arguments: String,
}

/// How a turn is cut into pieces.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Characters of text or arguments in one delta.
    pub fragment: usize,
    /// Bytes in one HTTP chunk; 0 = one event each. Small numbers split UTF-8 and `data:` lines.
    pub transport: usize,
    /// True if calls have ids.
    pub ids: bool,
    /// True if calls have their index (some servers leave it out of whole calls).
    pub index: bool,
    /// True if the first piece of the arguments comes with the name.
    pub name_with_arguments: bool,
}

impl Wire {
    /// The format of the hosted API.
    pub const PLAIN: Self =
        Self { fragment: 64, transport: 0, ids: true, index: true, name_with_arguments: false };
    /// The format of small local servers, over a bad connection.
    pub const ODD: Self =
        Self { fragment: 3, transport: 7, ids: false, index: true, name_with_arguments: true };
    /// Whole calls without an index.
    pub const WHOLE: Self = Self {
        fragment: 1 << 20,
        transport: 0,
        ids: true,
        index: false,
        name_with_arguments: true,
    };
}

/// The fault of a reply, if any.
#[derive(Clone, Debug)]
pub enum Fault {
    None,
    /// An HTTP error.
    Status {
        code: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// HTTP 200 with a JSON error instead of a stream.
    ErrorBody,
    /// The connection breaks after this many events.
    CutAfter(usize),
    /// The stream ends properly as HTTP, but has neither finish reason nor `[DONE]`.
    Unfinished,
    /// A finish reason, but no `[DONE]`.
    NoDone,
    /// Nothing is ever sent, not even headers.
    NeverAnswers,
    /// This many events, then silence.
    SilentAfter(usize),
    /// This many events, then the last of them again and again.
    EndlessAfter(usize),
    /// This many events, then a comment that keeps the connection open, again and again.
    PingsAfter(usize),
}

/// The model that answers unless a reply names another one.
const MODEL: &str = "scripted-1";

/// One answer of the server.
#[derive(Clone, Debug)]
pub struct Reply {
    pub text: String,
    pub calls: Vec<Call>,
    pub finish: Option<String>,
    /// Prompt tokens, generated tokens, cached prompt tokens.
    pub usage: [u64; 3],
    pub wire: Wire,
    pub fault: Fault,
    /// Fields of the message that come before its text, one in each delta.
    pub thoughts: Vec<Value>,
    /// Further fields of the first call.
    pub seal: Option<Value>,
    /// A byte order mark before each event.
    pub mark: bool,
    /// The model that the server names in its reply.
    pub model: &'static str,
}

impl Reply {
    /// Prose without tool calls.
    pub fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            calls: Vec::new(),
            finish: None,
            usage: [100, 20, 0],
            wire: Wire::PLAIN,
            fault: Fault::None,
            thoughts: Vec::new(),
            seal: None,
            mark: false,
            model: MODEL,
        }
    }

    /// Neither text nor calls.
    pub fn empty() -> Self {
        Self::text("")
    }

    /// One tool call; more with [`Reply::and`].
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::empty().and(name, arguments)
    }

    /// Adds text to the calls.
    #[must_use]
    pub fn saying(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }

    /// One more tool call in the same turn.
    #[must_use]
    pub fn and(self, name: &str, arguments: Value) -> Self {
        self.and_raw(name, &arguments.to_string())
    }

    /// One more tool call whose arguments are written as they are.
    #[must_use]
    pub fn and_raw(mut self, name: &str, arguments: &str) -> Self {
        self.calls.push(Call { name: name.to_owned(), arguments: arguments.to_owned() });
        self
    }

    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    /// Names another model in the reply.
    #[must_use]
    pub fn by(mut self, model: &'static str) -> Self {
        self.model = model;
        self
    }

    #[must_use]
    pub fn usage(mut self, input: u64, output: u64, cached: u64) -> Self {
        self.usage = [input, output, cached];
        self
    }

    #[must_use]
    pub fn wire(mut self, wire: Wire) -> Self {
        self.wire = wire;
        self
    }

    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self
    }

    /// Fields of the message that come before its text.
    #[must_use]
    pub fn thought(mut self, delta: Value) -> Self {
        self.thoughts.push(delta);
        self
    }

    /// Further fields of the first call.
    #[must_use]
    pub fn seal(mut self, fields: Value) -> Self {
        self.seal = Some(fields);
        self
    }

    /// An HTTP error in the hosted API's shape.
    pub fn status(code: u16, message: &str) -> Self {
        let body = json!({"error": {"message": message, "type": "scripted", "code": code}});
        Self::empty().fault(Fault::Status { code, headers: Vec::new(), body: body.to_string() })
    }

    /// A 429 with a time after which to retry.
    pub fn too_many_requests(retry_after: &str) -> Self {
        Self::empty().fault(Fault::Status {
            code: 429,
            headers: vec![("retry-after".to_owned(), retry_after.to_owned())],
            body: json!({"error": {"message": "slow down", "type": "rate_limit"}}).to_string(),
        })
    }

    fn reason(&self) -> String {
        self.finish.clone().unwrap_or_else(|| {
            if self.calls.is_empty() { "stop".to_owned() } else { "tool_calls".to_owned() }
        })
    }

    fn usage_json(&self) -> Value {
        let [input, output, cached] = self.usage;
        json!({
            "prompt_tokens": input,
            "completion_tokens": output,
            "total_tokens": input + output,
            "prompt_tokens_details": {"cached_tokens": cached},
        })
    }

    /// The whole reply as one JSON object, for requests that do not stream.
    pub fn whole(&self) -> String {
        let calls: Vec<_> = (0..).zip(&self.calls).map(|(i, call)| whole_call(i, call)).collect();
        let mut message = json!({"role": "assistant", "content": self.text});
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        for (key, value) in self.thoughts.iter().flat_map(fields) {
            message[key.as_str()] = value.clone();
        }
        for (key, value) in self.seal.iter().flat_map(fields) {
            message["tool_calls"][0][key.as_str()] = value.clone();
        }
        json!({
            "id": "scripted", "object": "chat.completion", "created": 1, "model": "scripted-1",
            "choices": [{"index": 0, "message": message, "finish_reason": self.reason()}],
            "usage": self.usage_json(),
        })
        .to_string()
    }

    /// The reply as server-sent events, in order, without the fault.
    pub fn events(&self, with_usage: bool) -> Vec<String> {
        let mut deltas = vec![json!({"role": "assistant", "content": null})];
        deltas.extend(self.thoughts.iter().cloned());
        for piece in pieces(&self.text, self.wire.fragment) {
            deltas.push(json!({"content": piece}));
        }
        for (index, call) in (0..).zip(&self.calls) {
            deltas.extend(self.call_deltas(index, call));
        }
        let mut events: Vec<_> = deltas.into_iter().map(|delta| chunk(delta, None)).collect();
        if !matches!(self.fault, Fault::Unfinished) {
            events.push(chunk(json!({}), Some(&self.reason())));
        }
        if with_usage {
            let mut last: Value = json!({"id": "scripted", "object": "chat.completion.chunk"});
            last["model"] = json!(MODEL);
            last["choices"] = json!([]);
            last["usage"] = self.usage_json();
            events.push(format!("data: {last}\n\n"));
        }
        if !matches!(self.fault, Fault::Unfinished | Fault::NoDone) {
            events.push("data: [DONE]\n\n".to_owned());
        }
        for event in &mut events {
            *event = event.replace(&format!("\"{MODEL}\""), &format!("\"{}\"", self.model));
        }
        if self.mark {
            events.iter_mut().for_each(|event| event.insert(0, '\u{feff}'));
        }
        events
    }

    fn call_deltas(&self, index: usize, call: &Call) -> Vec<Value> {
        let mut fragments = pieces(&call.arguments, self.wire.fragment).into_iter();
        let with_name = if self.wire.name_with_arguments { fragments.next() } else { None };
        let mut first = json!({
            "type": "function",
            "function": {"name": call.name, "arguments": with_name.unwrap_or_default()},
        });
        if self.wire.ids {
            first["id"] = json!(format!("call_{index}"));
        }
        for (key, value) in self.seal.iter().filter(|_| index == 0).flat_map(fields) {
            first[key.as_str()] = value.clone();
        }
        let rest = fragments.map(|piece| json!({"function": {"arguments": piece}}));
        std::iter::once(first)
            .chain(rest)
            .map(|mut entry| {
                if self.wire.index {
                    entry["index"] = json!(index);
                }
                json!({"tool_calls": [entry]})
            })
            .collect()
    }
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn whole_call(index: usize, call: &Call) -> Value {
    json!({
        "id": format!("call_{index}"),
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    })
}

fn chunk(delta: Value, finish: Option<&str>) -> String {
    let event = json!({
        "id": "scripted", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    format!("data: {event}\n\n")
}

pub fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
