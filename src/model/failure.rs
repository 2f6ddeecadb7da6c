//! What a failed try means: try again, give up, shorten, or ask without a parameter. The words
//! servers use for it are known here and nowhere else.

use std::time::Duration;

use serde_json::Value;

use super::dialect::{Dialect, Elsewhere, Refusals};

/// Most characters of a server's words that a message quotes.
const QUOTED: usize = 500;

/// Why one try gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Worth another try.
    Transient {
        /// What happened.
        message: String,
        /// What the server asked us to wait.
        retry_after: Option<Duration>,
    },
    /// Refused for good.
    Refused {
        /// HTTP status, where there was one.
        status: Option<u16>,
        /// What the server said.
        message: String,
    },
    /// The conversation does not fit.
    TooLong {
        /// What the server said.
        message: String,
    },
    /// The answer was still coming when its time was up.
    Endless,
    /// The server will not take a parameter: ask again without it.
    Parameter {
        /// Which one, for people.
        name: &'static str,
        /// What is left out from now on.
        refusals: Refusals,
    },
    /// The server misses something of earlier answers: ask again with a stand-in.
    Missing {
        /// What, for people.
        name: &'static str,
        /// What is sent from now on.
        refusals: Refusals,
    },
}

impl Failure {
    /// A failure worth another try, without a wish of the server's.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::Transient { message: message.into(), retry_after: None }
    }

    /// Whether the server means another dialect than the one it was asked in: it names the other
    /// one, or does not know this one's address.
    pub fn points_elsewhere(&self, asked: Dialect) -> Option<Elsewhere> {
        let Self::Refused { status: Some(status @ (400 | 404 | 405)), message } = self else {
            return None;
        };
        let message = message.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let named = says(&["/responses", "/chat/completions", "responses api"]);
        if named && says(&["reasoning_effort"]) {
            return Some(Elsewhere::OrWithoutReasoning);
        }
        let only = says(&["only supported in v1/responses", "via the /chat/completions endpoint"]);
        match asked {
            Dialect::Chat => only.then_some(Elsewhere::Only),
            // What is not there may as well be the model, a deployment or an earlier item.
            Dialect::Responses => (*status != 400 && !says(&["model", "deployment", "item"]))
                .then_some(Elsewhere::Only),
            Dialect::Messages => None,
        }
    }
}

/// What a server said in an error body, whichever of the usual shapes it has.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    message: String,
    /// `code` and `type`, lower case.
    codes: Vec<String>,
    param: String,
    /// A `code` that is an HTTP status.
    status: Option<u16>,
}

impl Said {
    /// Reads a body of any kind.
    pub fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Self { message: plain(body), ..Self::default() },
        }
    }

    /// Reads a JSON body or event.
    pub fn from_value(value: &Value) -> Self {
        let value = value.get(0).unwrap_or(value);
        let error = value.get("error").unwrap_or(value);
        if let Value::String(message) = error {
            return Self { message: message.clone(), ..Self::default() };
        }
        let message = ["message", "detail", "msg", "error"]
            .iter()
            .find_map(|key| error.get(key))
            .map_or_else(|| error.to_string(), |m| m.as_str().map_or(m.to_string(), str::to_owned));
        let codes = ["code", "type", "status"]
            .iter()
            .filter_map(|key| error.get(key)?.as_str())
            .map(str::to_lowercase)
            .collect();
        let code = error.get("code");
        let status = code
            .and_then(|c| c.as_u64().or_else(|| c.as_str()?.parse().ok()))
            .and_then(|c| u16::try_from(c).ok())
            .filter(|c| (400..600).contains(c));
        let param = error.get("param").and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { message, codes, param, status }
    }

    fn has_code(&self, wanted: &[&str]) -> bool {
        self.codes.iter().any(|code| wanted.contains(&code.as_str()))
    }

    fn is_quota(&self) -> bool {
        self.has_code(&["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"])
    }

    fn is_too_long(&self, status: u16) -> bool {
        const CODES: [&str; 4] = [
            "exceed_context_size_error",
            "context_length_exceeded",
            "context_window_exceeded",
            "model_context_window_exceeded",
        ];
        const WORDS: [&str; 8] = [
            "context length",
            "context window",
            "context size",
            "maximum context",
            "context_length",
            "prompt is too long",
            "input is too long",
            "input token count",
        ];
        let message = self.message.to_lowercase();
        // A limit of tokens per minute is a 429 and worth waiting for.
        status != 429
            && (status == 413
                || self.has_code(&CODES)
                || WORDS.iter().any(|words| message.contains(words)))
    }

    /// What it says about fields of earlier answers, which are sent back or not.
    fn on_opaque(&self, sent: Refusals) -> Option<Failure> {
        let words = self.words();
        let of = |opaque| Refusals { opaque, ..sent };
        if let Some((name, learned)) = sent.opaque.wish(&words) {
            return Some(Failure::Missing { name, refusals: of(learned) });
        }
        let (name, learned) = sent.opaque.refusal(&words)?;
        Some(Failure::Parameter { name, refusals: of(learned) })
    }

    /// The same where it names none of them.
    fn on_something(&self, sent: Refusals) -> Option<Failure> {
        let (name, opaque) = sent.opaque.refusal_of_something(&self.words())?;
        Some(Failure::Parameter { name, refusals: Refusals { opaque, ..sent } })
    }

    fn words(&self) -> String {
        format!("{} {} {}", self.param, self.codes.join(" "), self.message)
    }

    /// The parameter it objects to, among those that were sent.
    fn objects_to(&self, sent: Refusals) -> Option<(&'static str, Refusals)> {
        let message = format!("{} {}", self.param, self.message).to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let other = || sent.objection(&message);
        if let Some(refused) = self.objects_to_items(&message, sent).or_else(other) {
            return Some(refused);
        }
        // Longer names first: "stream" is part of "stream_options".
        if says(&["stream_options", "include_usage"]) {
            return (!sent.stream_options)
                .then_some(("stream_options", Refusals { stream_options: true, ..sent }));
        }
        if says(&["parallel_tool_calls", "parallel tool calls", "parallel function"]) {
            return (!sent.parallel_tool_calls).then_some((
                "parallel_tool_calls",
                Refusals { parallel_tool_calls: true, ..sent },
            ));
        }
        if !sent.temperature && says(&["temperature"]) {
            return Some(("temperature", Refusals { temperature: true, ..sent }));
        }
        let has_word = |wanted: &[&str]| {
            let mut words = message.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.any(|word| wanted.contains(&word))
        };
        let schema = says(&["additionalproperties", "json schema", "invalid schema", "$schema"])
            || has_word(&["strict"])
            || self.param.starts_with("tools");
        if !sent.schema && schema {
            return Some(("the full tool schemas", Refusals { schema: true, ..sent }));
        }
        let streaming = has_word(&["stream", "streaming"]);
        (!sent.stream && streaming).then_some(("stream", Refusals { stream: true, ..sent }))
    }

    /// The same for what was sent to be without state at the server: asked for thoughts that a
    /// model has not, or given back what it wrote and no longer knows, which another account or
    /// another machine behind the same address may have written.
    fn objects_to_items(&self, message: &str, sent: Refusals) -> Option<(&'static str, Refusals)> {
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let encrypted = says(&["encrypted content", "encrypted_content"]);
        if !sent.include && encrypted && (self.param == "include" || says(&["not supported"])) {
            return Some(("encrypted thoughts", Refusals { include: true, ..sent }));
        }
        let foreign = encrypted && says(&["verified", "decrypted", "parsed", "not issued"]);
        let lonely = says(&["without its required"]);
        if !sent.items && (foreign || lonely || self.has_code(&["invalid_encrypted_content"])) {
            return Some(("what it wrote before", Refusals { items: true, ..sent }));
        }
        if !says(&["item with id", "not persisted"]) || sent.items {
            return None;
        }
        // Some take no ids of what they do not store; some take it only with ids.
        Some(match sent.item_ids {
            false => ("the ids of what it wrote before", Refusals { item_ids: true, ..sent }),
            true => ("what it wrote before", Refusals { items: true, ..sent }),
        })
    }
}

/// What an HTTP error answer means. `sent` tells which parameters were left out already.
pub fn from_status(
    status: u16,
    retry_after: Option<Duration>,
    body: &str,
    sent: Refusals,
) -> Failure {
    let said = Said::read(body);
    let words = if said.message.is_empty() { "no explanation" } else { &said.message };
    let message = format!("HTTP {status}: {words}");
    if said.is_quota() {
        return Failure::Refused { status: Some(status), message };
    }
    if said.is_too_long(status) {
        return Failure::TooLong { message };
    }
    // An item that is not there is a parameter, whatever the status.
    if status == 404
        && let Some((name, refusals)) = said.objects_to_items(&said.message.to_lowercase(), sent)
    {
        return Failure::Parameter { name, refusals };
    }
    match status {
        408 | 409 | 425 | 429 | 500.. => Failure::Transient { message, retry_after },
        400 | 422 => said
            .on_opaque(sent)
            .or_else(|| {
                let (name, refusals) = said.objects_to(sent)?;
                Some(Failure::Parameter { name, refusals })
            })
            .or_else(|| said.on_something(sent))
            .unwrap_or(Failure::Refused { status: Some(status), message }),
        _ => Failure::Refused { status: Some(status), message },
    }
}

/// What an error means that came in a good answer's place: as the body of a 200, or as an event
/// in the middle of a stream.
pub fn from_event(value: &Value, sent: Refusals) -> Failure {
    let said = Said::from_value(value);
    let lasting = [
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "billing_error",
        "invalid_prompt",
        "content_policy_violation",
    ];
    let status = match said.status {
        Some(status) => status,
        None if said.is_quota() || said.is_too_long(400) || said.has_code(&lasting) => 400,
        None => {
            let message = format!("the server broke off with an error: {}", said.message);
            return Failure::transient(message);
        }
    };
    from_status(status, None, &value.to_string(), sent)
}

/// A key shorter than this is a stand-in such as `x`, and hiding it would garble every message.
const SHORTEST_SECRET: usize = 4;

/// A server's words made fit for a terminal and a log: no control characters, no keys, bounded.
pub fn clean(text: &str, keys: &[String]) -> String {
    let keys = keys.iter().filter(|key| key.len() >= SHORTEST_SECRET);
    let text = keys.fold(text.to_owned(), |text, key| text.replace(key.as_str(), "***"));
    let visible: String =
        text.chars().map(|c| if c.is_control() || is_format(c) { ' ' } else { c }).collect();
    let mut words = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = words.char_indices().nth(QUOTED) {
        words.truncate(at);
        words.push('…');
    }
    words
}

/// Characters that turn text around or hide in it.
fn is_format(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A body that is not JSON: of a web page only its title is worth quoting.
fn plain(body: &str) -> String {
    let body = body.trim();
    if !body.starts_with('<') {
        return body.to_owned();
    }
    let title = body.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    title.map_or("a web page".to_owned(), |(title, _)| format!("a web page, “{}”", title.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(status: u16, body: Value) -> Failure {
        from_status(status, None, &body.to_string(), Refusals::default())
    }

    #[test]
    fn a_status_decides_unless_the_code_knows_better() {
        for status in [408, 409, 425, 429, 500, 502, 503, 529] {
            let failure = of(status, json!({"error": {"message": "later"}}));
            assert!(matches!(failure, Failure::Transient { .. }), "{status}");
        }
        for status in [301, 400, 401, 403, 404] {
            let failure = of(status, json!({"error": {"message": "no", "code": 400}}));
            assert!(matches!(failure, Failure::Refused { status: Some(s), .. } if s == status));
        }
        let quota = json!({"error": {"message": "pay", "code": "insufficient_quota"}});
        assert!(matches!(of(429, quota), Failure::Refused { .. }));
    }

    #[test]
    fn an_overflow_is_told_from_a_rate_limit() {
        let llama = json!({"error": {"code": 400, "type": "exceed_context_size_error",
            "message": "the request exceeds the available context size", "n_ctx": 4096}});
        assert!(matches!(of(400, llama), Failure::TooLong { .. }));
        let openai = json!({"error": {"code": "context_length_exceeded", "message": "x"}});
        assert!(matches!(of(400, openai), Failure::TooLong { .. }));
        let rate = json!({"error": {"message": "tokens per min; maximum context"}});
        assert!(matches!(of(429, rate), Failure::Transient { .. }));
    }

    #[test]
    fn the_refused_parameter_is_found_and_only_once() {
        let names = |message: &str, sent| match from_status(
            400,
            None,
            &json!({"error": {"message": message}}).to_string(),
            sent,
        ) {
            Failure::Parameter { name, .. } => Some(name),
            _ => None,
        };
        let none = Refusals::default();
        assert_eq!(names("Unsupported value: 'temperature'", none), Some("temperature"));
        assert_eq!(names("unknown field `stream_options`", none), Some("stream_options"));
        assert_eq!(names("parallel_tool_calls is not allowed", none), Some("parallel_tool_calls"));
        assert_eq!(names("you may not stream this model", none), Some("stream"));
        assert_eq!(names("additionalProperties unknown", none), Some("the full tool schemas"));
        assert_eq!(names("messages: upstream says it is restricted", none), None);
        let sent = Refusals { temperature: true, ..none };
        assert_eq!(names("Unsupported value: 'temperature'", sent), None);
    }

    #[test]
    fn what_a_server_no_longer_knows_is_not_sent_again() {
        let asked = |status: u16, body: Value, sent| match from_status(
            status,
            None,
            &json!({"error": body}).to_string(),
            sent,
        ) {
            Failure::Parameter { refusals, .. } => Some(refusals),
            _ => None,
        };
        let none = Refusals::default();
        let gone = json!({"param": "input", "message": "Item with id 'rs_1' not found. Items are \
            not persisted when `store` is set to false. Try again with `store` set to true, or \
            remove this item from your input."});
        let ids = Refusals { item_ids: true, ..none };
        assert_eq!(asked(404, gone.clone(), none), Some(ids));
        assert_eq!(asked(400, gone.clone(), ids), Some(Refusals { items: true, ..ids }));
        assert_eq!(asked(400, gone, Refusals { items: true, ..ids }), None);
        let key = json!({"code": "invalid_encrypted_content", "message": "The encrypted content \
            gAAA could not be verified. Reason: it could not be decrypted or parsed."});
        assert_eq!(asked(400, key, none), Some(Refusals { items: true, ..none }));
        let include = json!({"param": "include",
            "message": "Encrypted content is not supported with this model."});
        assert_eq!(asked(400, include, none), Some(Refusals { include: true, ..none }));
        let model = json!({"code": "model_not_found", "message": "The model `x` does not exist"});
        assert_eq!(asked(404, model, none), None);
    }

    #[test]
    fn a_server_that_means_the_other_dialect_is_understood() {
        let points = |dialect, status, message: &str| {
            of(status, json!({"error": {"message": message}})).points_elsewhere(dialect)
        };
        let tools = "Function tools with reasoning_effort are not supported for gpt-5.6-sol in \
            /v1/chat/completions. To use function tools, use /v1/responses or set \
            reasoning_effort to 'none'.";
        let either = Some(Elsewhere::OrWithoutReasoning);
        assert_eq!(points(Dialect::Chat, 400, tools), either);
        // A gateway that only translates.
        assert_eq!(points(Dialect::Responses, 400, tools), either);
        let only = "This model is only supported in v1/responses and not in v1/chat/completions.";
        assert_eq!(points(Dialect::Chat, 404, only), Some(Elsewhere::Only));
        for (status, message) in [
            (404, "Not Found"),
            (404, "Invalid URL (POST /v1/responses)"),
            (405, "Method Not Allowed"),
        ] {
            assert_eq!(points(Dialect::Responses, status, message), Some(Elsewhere::Only));
            assert_eq!(points(Dialect::Chat, status, message), None, "{message}");
        }
        for (status, message) in [
            (400, "bad request"),
            (404, "The model `x` does not exist or you do not have access to it."),
            (404, "The API deployment for this resource does not exist."),
            (401, "Invalid URL"),
        ] {
            assert_eq!(points(Dialect::Responses, status, message), None, "{message}");
        }
    }

    #[test]
    fn bodies_of_every_shape_are_quoted() {
        let message = |body: &str| Said::read(body).message;
        assert_eq!(message(r#"{"error":"no"}"#), "no");
        assert_eq!(message(r#"{"detail":"Not Found"}"#), "Not Found");
        assert_eq!(message(r#"[{"error":{"message":"m"}}]"#), "m");
        assert_eq!(message("plain"), "plain");
        assert_eq!(message("<html><title>502 Bad</title>"), "a web page, “502 Bad”");
    }

    #[test]
    fn what_is_quoted_is_clean_short_and_keyless() {
        let text = format!("bad key sk-1\u{1b}[31m\r\n\u{202e}{}", "x".repeat(900));
        let cleaned = clean(&text, &["sk-1".to_owned()]);
        assert!(cleaned.starts_with("bad key *** [31m x"), "{cleaned}");
        assert_eq!(cleaned.chars().count(), QUOTED + 1);
    }

    #[test]
    fn an_error_in_a_good_answers_place_goes_by_its_own_code() {
        let none = Refusals::default();
        let bad = json!({"error": {"code": 502, "message": "upstream"}});
        assert!(matches!(from_event(&bad, none), Failure::Transient { .. }));
        let bad = json!({"error": {"message": "overloaded"}});
        assert!(matches!(from_event(&bad, none), Failure::Transient { .. }));
        let bad = json!({"error": {"type": "authentication_error", "message": "key"}});
        assert!(matches!(from_event(&bad, none), Failure::Refused { .. }));
    }
}
