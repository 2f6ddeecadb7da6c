//! Decides what a failed try means: try again, give up, shorten the conversation, or send it
//! without a parameter.

use std::time::Duration;

use serde_json::Value;

use super::dialect::{Dialect, DialectHint, Refusals};
use super::retry::WaitHeaders;
use super::server_error::ServerError;

/// Maximum characters of a server's message that are quoted.
const QUOTED: usize = 500;

/// What a try failed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedAt {
    /// There was no connection.
    Connecting,
    /// There was no answer.
    Waiting,
    /// The server was silent for too long, before or in its answer.
    Silence {
        /// True if the answer had begun.
        begun: bool,
    },
    /// The answer was an error with this HTTP status.
    Status(u16),
    /// The answer was not finished.
    Answering,
}

/// The reason why one try gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Worth another try.
    Transient {
        /// What it failed at.
        at: FailedAt,
        /// What happened.
        message: String,
        /// The waiting time that the server requested.
        retry_after: Option<Duration>,
        /// The server is overloaded or still loading the model, which may take a minute.
        busy: bool,
    },
    /// Refused for good.
    Refused {
        /// HTTP status, if there was one.
        status: Option<u16>,
        /// The server's error message.
        message: String,
    },
    /// Refused, and the server does not say what it objects to.
    Unexplained {
        /// HTTP status.
        status: u16,
        /// The server's error message.
        message: String,
    },
    /// The model, or a filter around it, declined because of the content.
    Declined {
        /// Who declined, and the text.
        message: String,
    },
    /// The conversation does not fit.
    TooLong {
        /// The server's error message.
        message: String,
    },
    /// The answer was not complete when its time was up.
    Endless,
    /// The server refuses a parameter: send the request without it.
    Parameter {
        /// The parameter's name, as shown to the user.
        name: &'static str,
        /// All refusals so far, including this one.
        refusals: Refusals,
    },
    /// The server reports that earlier answers lack a field: send the request with a substitute.
    Missing {
        /// The field's name, as shown to the user.
        name: &'static str,
        /// All refusals so far, including the need for this substitute.
        refusals: Refusals,
    },
}

impl Failure {
    /// A failure worth another try; the server requested no waiting time.
    pub fn transient(at: FailedAt, message: impl Into<String>) -> Self {
        Self::Transient { at, message: message.into(), retry_after: None, busy: false }
    }

    /// Checks whether the server wants another dialect: its error names the other API, or says that
    /// this address does not exist.
    pub fn points_elsewhere(&self, dialect: Dialect) -> Option<DialectHint> {
        let (status, message) = match self {
            Self::Refused { status: Some(status @ (400 | 404 | 405)), message } => {
                (status, message)
            }
            Self::Unexplained { status: status @ (400 | 404 | 405), message } => (status, message),
            _ => return None,
        };
        let message = message.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let names_api = says(&["/responses", "/chat/completions", "responses api"]);
        if names_api && says(&["reasoning_effort"]) {
            return Some(DialectHint::OrWithoutReasoning);
        }
        let only = says(&["only supported in v1/responses", "via the /chat/completions endpoint"]);
        match dialect {
            Dialect::Chat => only.then_some(DialectHint::Only),
            // The error may also mean that a model, a deployment or an earlier item does not exist.
            Dialect::Responses => (*status != 400 && !says(&["model", "deployment", "item"]))
                .then_some(DialectHint::Only),
            Dialect::Messages => None,
        }
    }
}

/// Interprets an HTTP error response. `wait` is the waiting time from its headers;
/// `refusals` says what the request already left out.
pub fn from_status(status: u16, wait: WaitHeaders, body: &str, refusals: Refusals) -> Failure {
    let error = ServerError::read(body);
    let words = if error.message.is_empty() { "no explanation" } else { &error.message };
    let message = format!("HTTP {status}: {words}");
    if error.is_quota() || status == 429 && error.is_daily() {
        return Failure::Refused { status: Some(status), message };
    }
    if error.is_filtered() {
        return Failure::Declined {
            message: format!("a content filter refused the request: {message}"),
        };
    }
    if !refusals.tools && error.refuses_tools() {
        return Failure::Parameter {
            name: "tools",
            refusals: Refusals { tools: true, ..refusals },
        };
    }
    // If a server gives no reason for refusing a minimal request, the messages are too long.
    if error.is_too_long(status) || status == 400 && error.empty && refusals.bare {
        return Failure::TooLong { message };
    }
    // A missing item is handled like a refused parameter, whatever the status.
    if status == 404
        && let Some((name, refusals)) =
            error.objects_to_items(&error.message.to_lowercase(), refusals)
    {
        return Failure::Parameter { name, refusals };
    }
    let busy = error.is_busy(status);
    match status {
        408 | 409 | 425 | 429 | 500.. => {
            let until_reset = if status == 429 { wait.reset } else { None };
            let retry_after = wait.after.or(error.wait.filter(|_| busy)).or(until_reset);
            Failure::Transient { at: FailedAt::Status(status), message, retry_after, busy }
        }
        400 | 422 if error.is_broken_call() => {
            Failure::transient(FailedAt::Status(status), message)
        }
        400 | 422 => about_earlier_fields(&error, refusals)
            .or_else(|| {
                let (name, refusals) = error.objects_to(refusals)?;
                Some(Failure::Parameter { name, refusals })
            })
            .or_else(|| about_some_field(&error, refusals))
            .unwrap_or_else(|| match error.names_nothing() {
                true => Failure::Unexplained { status, message },
                false => Failure::Refused { status: Some(status), message },
            }),
        _ => Failure::Refused { status: Some(status), message },
    }
}

/// What an error says about fields of earlier answers: refused, or missing.
fn about_earlier_fields(error: &ServerError, refusals: Refusals) -> Option<Failure> {
    let words = error.words();
    let with_opaque = |opaque| Refusals { opaque, ..refusals };
    if let Some((name, opaque)) = refusals.opaque.wish(&words) {
        return Some(Failure::Missing { name, refusals: with_opaque(opaque) });
    }
    let (name, opaque) = refusals.opaque.refusal(&words)?;
    Some(Failure::Parameter { name, refusals: with_opaque(opaque) })
}

/// Learns from an error that refuses a field without naming it.
fn about_some_field(error: &ServerError, refusals: Refusals) -> Option<Failure> {
    let (name, opaque) = refusals.opaque.refusal_of_something(&error.words())?;
    Some(Failure::Parameter { name, refusals: Refusals { opaque, ..refusals } })
}

/// Interprets an error that came instead of a good answer: as the body of a 200, or as an event in
/// the middle of a stream.
pub fn from_event(value: &Value, refusals: Refusals) -> Failure {
    let error = ServerError::from_value(value);
    /// Error types that stand for a status: Anthropic's, and those of other servers.
    const STATUSES: [(&str, u16); 10] = [
        ("invalid_request_error", 400),
        ("invalid_prompt", 400),
        ("authentication_error", 401),
        ("billing_error", 402),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("rate_limit_error", 429),
        ("rate_limit_exceeded", 429),
        ("too_many_requests", 429),
        ("overloaded_error", 529),
    ];
    let status_of_code =
        || STATUSES.iter().find(|(code, _)| error.has_code(&[code])).map(|(_, n)| *n);
    let status = match error.status {
        Some(status) => Some(status),
        None if error.is_quota() => Some(402),
        None if error.is_too_long(400) || error.is_filtered() || error.refuses_tools() => Some(400),
        None => status_of_code(),
    };
    let Some(status) = status else {
        let message = format!("the server broke off with an error: {}", error.message);
        return Failure::transient(FailedAt::Answering, message);
    };
    from_status(status, WaitHeaders::default(), &value.to_string(), refusals)
}

/// Interprets the end of a response, which may not be an answer: the server's finish `reason`, the
/// model's `refusal`, and the `text` before the end.
pub fn from_end(reason: &str, refusal: &str, text: &str) -> Option<Failure> {
    let decline = |message: String| Some(Failure::Declined { message });
    if !refusal.trim().is_empty() {
        return decline(format!("the model refuses: {refusal}"));
    }
    let reason = reason.to_lowercase();
    let filters = ["content_filter", "safety", "prohibited_content", "blocklist", "recitation"];
    if filters.iter().any(|filter| reason.starts_with(filter)) || reason == "sensitive" {
        let after = match text.trim() {
            "" => "before its first word".to_owned(),
            text => format!("after: {text}"),
        };
        return decline(format!("a content filter ended the answer ({reason}) {after}"));
    }
    match reason.as_str() {
        "refusal" if text.trim().is_empty() => {
            decline("the model refuses without giving a reason".to_owned())
        }
        "refusal" => decline(format!("the model refuses: {text}")),
        "model_context_window_exceeded" | "context_window_exceeded" => {
            let message = "its answer has filled the context window".to_owned();
            Some(Failure::TooLong { message })
        }
        "network_error" | "error" | "malformed_function_call" => {
            Some(Failure::transient(FailedAt::Answering, format!("the answer broke off: {reason}")))
        }
        _ => None,
    }
}

/// A shorter key is a placeholder such as `x`; hiding it would garble every message.
const SHORTEST_SECRET: usize = 4;

/// Makes a server's message fit for a terminal and a log: no control characters, no keys, bounded
/// length.
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

/// Characters that change the text direction or are invisible.
fn is_format(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(status: u16, body: Value) -> Failure {
        from_status(status, WaitHeaders::default(), &body.to_string(), Refusals::default())
    }

    #[test]
    fn the_status_decides_unless_the_error_code_is_more_specific() {
        for status in [408, 409, 425, 429, 500, 502, 503, 529] {
            let failure = of(status, json!({"error": {"message": "later"}}));
            assert!(matches!(failure, Failure::Transient { .. }), "{status}");
        }
        for status in [301, 401, 403, 404] {
            let failure = of(status, json!({"error": {"message": "no", "code": 400}}));
            assert!(matches!(failure, Failure::Refused { status: Some(s), .. } if s == status));
        }
        let quota = json!({"error": {"message": "pay", "code": "insufficient_quota"}});
        assert!(matches!(of(429, quota), Failure::Refused { .. }));
    }

    #[test]
    fn an_overflow_is_distinguished_from_a_rate_limit() {
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
            WaitHeaders::default(),
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
    fn items_unknown_to_the_server_are_not_sent_again() {
        let asked = |status: u16, body: Value, sent| match from_status(
            status,
            WaitHeaders::default(),
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
    fn an_error_that_points_to_the_other_dialect_is_recognised() {
        let points = |dialect, status, message: &str| {
            of(status, json!({"error": {"message": message}})).points_elsewhere(dialect)
        };
        let tools = "Function tools with reasoning_effort are not supported for gpt-5.6-sol in \
            /v1/chat/completions. To use function tools, use /v1/responses or set \
            reasoning_effort to 'none'.";
        let either = Some(DialectHint::OrWithoutReasoning);
        assert_eq!(points(Dialect::Chat, 400, tools), either);
        // The same error, passed on by a gateway that only translates requests.
        assert_eq!(points(Dialect::Responses, 400, tools), either);
        let only = "This model is only supported in v1/responses and not in v1/chat/completions.";
        assert_eq!(points(Dialect::Chat, 404, only), Some(DialectHint::Only));
        for (status, message) in [
            (404, "Not Found"),
            (404, "Invalid URL (POST /v1/responses)"),
            (405, "Method Not Allowed"),
        ] {
            assert_eq!(points(Dialect::Responses, status, message), Some(DialectHint::Only));
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
    fn quoted_messages_are_clean_short_and_without_keys() {
        let text = format!("bad key sk-1\u{1b}[31m\r\n\u{202e}{}", "x".repeat(900));
        let cleaned = clean(&text, &["sk-1".to_owned()]);
        assert!(cleaned.starts_with("bad key *** [31m x"), "{cleaned}");
        assert_eq!(cleaned.chars().count(), QUOTED + 1);
    }

    #[test]
    fn an_error_with_a_success_status_is_classified_by_its_code() {
        let none = Refusals::default();
        let bad = json!({"error": {"code": 502, "message": "upstream"}});
        assert!(matches!(from_event(&bad, none), Failure::Transient { .. }));
        let bad = json!({"error": {"message": "overloaded"}});
        assert!(matches!(from_event(&bad, none), Failure::Transient { .. }));
        let bad = json!({"error": {"type": "authentication_error", "message": "key"}});
        assert!(matches!(from_event(&bad, none), Failure::Refused { .. }));
    }
}
