//! Reads the error body of a server in any of the usual shapes, and interprets its text. More
//! phrases of servers are in `dialect/learned.rs`, `dialect/refusals.rs` and `failure.rs`.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::dialect::Refusals;
use super::retry;

/// A parsed error body.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// The message.
    pub message: String,
    /// `code`, `type` and `status`, lower case.
    codes: Vec<String>,
    param: String,
    /// A `code` that is an HTTP status.
    pub status: Option<u16>,
    /// The waiting time that the server requests.
    pub wait: Option<Duration>,
    /// The daily limit is used up.
    daily: bool,
    /// True if the body is empty.
    pub empty: bool,
}

/// Codes for a conversation that is too long.
const TOO_LONG_CODES: [&str; 8] = [
    "exceed_context_size_error",
    "context_length_exceeded",
    "context_window_exceeded",
    "model_context_window_exceeded",
    "model_max_prompt_tokens_exceeded",
    "contextwindowexceedederror",
    "tokens_limit_reached",
    "string_above_max_length",
];

/// Phrases for a conversation that is too long: those of most vendors, then xAI, TGI (twice),
/// Copilot, Kimi, z.ai, DashScope, Cohere (twice), Anthropic's second, Groq.
const TOO_LONG_WORDS: [&str; 20] = [
    "context length",
    "context window",
    "context size",
    "contextwindow",
    "maximum context",
    "context_length",
    "prompt is too long",
    "input is too long",
    "input token count",
    "maximum prompt length is",
    "`inputs` tokens + `max_new_tokens` must be",
    "`inputs` must have less than",
    "prompt token count of",
    "exceeded model token limit",
    "prompt exceeds max length",
    "range of input length should be",
    "too many tokens:",
    "exceeded the maximum token limit",
    "exceed context limit",
    "reduce the length of the messages",
];

/// Phrases for a model that cannot call tools: Ollama, OpenRouter, vLLM, llama.cpp, Groq, Gemma on
/// Gemini's API, DeepSeek, Together, Bedrock.
const NO_TOOLS: [&str; 11] = [
    "does not support tools",
    "no endpoints found that support tool use",
    "tool choice requires --enable-auto-tool-choice",
    "requires --jinja flag",
    "`tool calling` is not supported",
    "tool calling is not supported",
    "function calling is not enabled",
    "does not support function call",
    "does not support tool call",
    "doesn't support tool use",
    "tools are not supported",
];

/// Codes of a content filter: OpenAI's and Azure's, DashScope's.
const FILTER_CODES: [&str; 6] = [
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "datainspectionfailed",
    "sensitive_words_detected",
];

/// Phrases of a content filter: Azure, OpenAI (twice), DeepSeek, Kimi, xAI, DashScope, OpenRouter,
/// Anthropic.
const FILTER_WORDS: [&str; 10] = [
    "content management policy",
    "flagged as potentially violating",
    "rejected as a result of our safety system",
    "content exists risk",
    "considered high risk",
    "violates usage guidelines",
    "inappropriate content",
    "requires moderation on",
    "prohibited content",
    "blocked by content filtering policy",
];

/// Codes for an account without credit, or one that is blocked.
const QUOTA_CODES: [&str; 7] = [
    "insufficient_quota",
    "insufficient_user_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "exceeded_current_quota_error",
    "arrearage",
    "insufficient_balance",
];

/// Phrases with the same meaning, from z.ai and MiniMax, from xAI (two) and from Anthropic.
const QUOTA_WORDS: [&str; 4] = [
    "insufficient balance",
    "used all available credits",
    "monthly spending limit",
    "credit balance is too low",
];

/// Phrases of an error about the key; the last is LiteLLM's, for a key that it does not know.
const NO_KEY: [&str; 4] = ["api key", "api_key", "apikey", "no connected db"];

/// Phrases of an error about the model's name.
const NO_MODEL: [&str; 5] =
    ["does not exist", "not found", "unknown model", "invalid model", "not a valid model"];

impl ServerError {
    /// Reads a body of any kind.
    pub fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Self {
                message: plain(body),
                wait: asked_in_words(body),
                empty: body.trim().is_empty(),
                ..Self::default()
            },
        }
    }

    /// Reads a JSON body or event.
    pub fn from_value(value: &Value) -> Self {
        let value = value.get(0).unwrap_or(value);
        let error = value.get("error").or_else(|| value.get("base_resp")).unwrap_or(value);
        let mut message = match error {
            Value::String(message) => message.clone(),
            error => ["message", "detail", "msg", "status_msg", "error"]
                .iter()
                .find_map(|key| error.get(key))
                .map_or_else(
                    || error.to_string(),
                    |m| m.as_str().map_or(m.to_string(), str::to_owned),
                ),
        };
        // A gateway that passes on the message of the server behind it.
        if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
            message = format!("{message}: {raw}");
        }
        let inner = [error.pointer("/innererror/code"), value.get("code")];
        let codes = ["code", "type", "status"].iter().map(|key| error.get(key)).chain(inner);
        let codes = codes.flatten().filter_map(Value::as_str).map(str::to_lowercase).collect();
        let code = error.get("code");
        let status = code
            .and_then(|c| c.as_u64().or_else(|| c.as_str()?.parse().ok()))
            .and_then(|c| u16::try_from(c).ok())
            .filter(|c| (400..600).contains(c));
        let param = error.get("param").and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = error.to_string();
        let wait = asked_in_fields(value, error).or_else(|| asked_in_words(&message));
        // Some servers use a sliding daily limit, and give the time when the next request fits.
        let daily = text.contains("PerDay")
            || text.contains("per-day")
            || text.contains("per day") && wait.is_none();
        Self { message, codes, param, status, wait, daily, empty: false }
    }

    fn says(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|words| message.contains(words))
    }

    /// True if the error has one of these codes.
    pub fn has_code(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
    }

    /// True if waiting does not help because the account has no credit left or is blocked.
    pub fn is_quota(&self) -> bool {
        self.has_code(&QUOTA_CODES) || self.says(&QUOTA_WORDS)
    }

    /// True if the daily limit is used up.
    pub fn is_daily(&self) -> bool {
        self.daily && self.says(&["quota", "limit"])
    }

    /// True if the content was refused, not the request.
    pub fn is_filtered(&self) -> bool {
        self.has_code(&FILTER_CODES) || self.says(&FILTER_WORDS)
    }

    /// True if the model cannot call tools.
    pub fn refuses_tools(&self) -> bool {
        self.says(&NO_TOOLS)
    }

    /// True if the server could not parse the model's call: the next try may be better.
    pub fn is_broken_call(&self) -> bool {
        self.has_code(&["tool_use_failed"])
    }

    /// True if a server is too busy to answer, or still loads the model.
    pub fn is_busy(&self, status: u16) -> bool {
        const LOADING: [&str; 5] = ["loading", "server busy", "starting", "warming", "overloaded"];
        match status {
            429 | 529 => true,
            503 => self.says(&LOADING),
            // A gateway's status for a server that is overloaded.
            500.. => self.says(&["overloaded"]),
            _ => false,
        }
    }

    /// True if a header is missing, or has a wrong value; other than the one with the key.
    pub fn wants_header(&self) -> bool {
        self.says(&["header"]) && !self.says(&["authorization", "api-key", NO_KEY[0], NO_KEY[1]])
    }

    /// True if there is no key, or a wrong one.
    pub fn wants_key(&self) -> bool {
        self.says(&NO_KEY)
    }

    /// True if the server does not have the model.
    pub fn names_model(&self) -> bool {
        self.says(&["model"]) && self.says(&NO_MODEL)
    }

    /// True if the conversation is too long.
    pub fn is_too_long(&self, status: u16) -> bool {
        // A request that is larger than the limit per minute never fits: waiting does not help.
        if self.never_fits() {
            return true;
        }
        // If the request is smaller than the limit of tokens per minute, waiting helps.
        let minute = self.says(&["rate limit", "tokens per min", "per minute"]);
        status != 429
            && (status == 413
                || !minute && (self.has_code(&TOO_LONG_CODES) || self.says(&TOO_LONG_WORDS)))
    }

    /// OpenAI's and Groq's limit per minute: `Limit 6000, Requested 9000`.
    fn never_fits(&self) -> bool {
        let number = |after: &str| {
            let at = self.message.find(after)? + after.len();
            let rest = self.message[at..].trim_start_matches([' ', ':']);
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse::<u64>().ok()
        };
        let more = || Some(number("Requested")? > number("Limit")?);
        self.says(&["request too large"]) || more().unwrap_or(false)
    }

    /// True if the error names neither a parameter nor anything else that a person can check.
    pub fn names_nothing(&self) -> bool {
        const KNOWN: [&str; 5] = [
            "authentication_error",
            "permission_error",
            "invalid_prompt",
            "invalid_api_key",
            "model_not_found",
        ];
        let names = !self.param.is_empty() || self.message.contains('`');
        let names_cause = self.wants_key() || self.wants_header() || self.says(&NO_MODEL);
        !names && !names_cause && !self.has_code(&KNOWN)
    }

    /// The parameter, the codes and the message.
    pub fn words(&self) -> String {
        format!("{} {} {}", self.param, self.codes.join(" "), self.message)
    }

    /// The refused parameter, among those that were sent.
    pub fn objects_to(&self, refusals: Refusals) -> Option<(&'static str, Refusals)> {
        let message = format!("{} {}", self.param, self.message).to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let other = || refusals.objection(&message);
        if let Some(refusal) = self.objects_to_items(&message, refusals).or_else(other) {
            return Some(refusal);
        }
        if !refusals.short_ids && says(&["with a length of 9"]) {
            return Some(("long call ids", Refusals { short_ids: true, ..refusals }));
        }
        // Longer names first: "stream" is part of "stream_options".
        if says(&["stream_options", "include_usage"]) {
            return (!refusals.stream_options)
                .then_some(("stream_options", Refusals { stream_options: true, ..refusals }));
        }
        if says(&["parallel_tool_calls", "parallel tool calls", "parallel function"]) {
            return (!refusals.parallel_tool_calls).then_some((
                "parallel_tool_calls",
                Refusals { parallel_tool_calls: true, ..refusals },
            ));
        }
        if !refusals.temperature && says(&["temperature"]) {
            return Some(("temperature", Refusals { temperature: true, ..refusals }));
        }
        let has_word = |candidates: &[&str]| {
            let mut words = message.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.any(|word| candidates.contains(&word))
        };
        let schema = says(&["additionalproperties", "json schema", "invalid schema", "$schema"])
            || has_word(&["strict"])
            || self.param.starts_with("tools");
        if !refusals.schema && schema {
            return Some(("the full tool schemas", Refusals { schema: true, ..refusals }));
        }
        let streaming = has_word(&["stream", "streaming"]);
        (!refusals.stream && streaming).then_some(("stream", Refusals { stream: true, ..refusals }))
    }

    /// The refused parameter among those of requests without server state: the one that asks for
    /// encrypted thoughts, if the model has none; or items of earlier answers that the server does
    /// not recognise, because another account or another machine behind the same address may have
    /// created them.
    pub fn objects_to_items(
        &self,
        message: &str,
        refusals: Refusals,
    ) -> Option<(&'static str, Refusals)> {
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let names_encryption = says(&["encrypted content", "encrypted_content"]);
        if !refusals.include
            && names_encryption
            && (self.param == "include" || says(&["not supported"]))
        {
            return Some(("encrypted thoughts", Refusals { include: true, ..refusals }));
        }
        let foreign = names_encryption && says(&["verified", "decrypted", "parsed", "not issued"]);
        let lonely = says(&["without its required"]);
        if !refusals.items && (foreign || lonely || self.has_code(&["invalid_encrypted_content"])) {
            return Some(("its own earlier output", Refusals { items: true, ..refusals }));
        }
        if !says(&["item with id", "not persisted"]) || refusals.items {
            return None;
        }
        // Some servers refuse ids of items that they do not store; some accept items only with ids.
        Some(match refusals.item_ids {
            false => ("the ids of its own earlier output", Refusals { item_ids: true, ..refusals }),
            true => ("its own earlier output", Refusals { items: true, ..refusals }),
        })
    }
}

/// The waiting time in a body's fields: Google's `RetryInfo`, a gateway's copy of a header, or the
/// time to load a model.
fn asked_in_fields(value: &Value, error: &Value) -> Option<Duration> {
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let delay = details.filter_map(|detail| detail.get("retryDelay")?.as_str()).next();
    if let Some(wait) = delay.and_then(retry::span) {
        return Some(wait);
    }
    let headers = error.pointer("/metadata/headers").and_then(Value::as_object);
    let reset = headers.into_iter().flatten().find_map(|(name, value)| {
        name.eq_ignore_ascii_case("x-ratelimit-reset").then_some(value.as_str()?)
    });
    if let Some(wait) = reset.and_then(|text| retry::reset(text, SystemTime::now())) {
        return Some(wait);
    }
    let seconds = value.get("estimated_time").and_then(Value::as_f64)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The waiting time in a message's text.
fn asked_in_words(message: &str) -> Option<Duration> {
    const BEFORE: [&str; 5] =
        ["try again in ", "retry after ", "retry in ", "try again after ", "retrying in "];
    let message = message.to_ascii_lowercase();
    let after = |words: &&str| Some(message.split_once(*words)?.1);
    BEFORE.iter().filter_map(after).find_map(retry::span)
}

/// The text of a body that is not JSON; for a web page only its title.
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

    #[test]
    fn bodies_of_every_shape_are_quoted() {
        let message = |body: &str| ServerError::read(body).message;
        assert_eq!(message(r#"{"error":"no"}"#), "no");
        assert_eq!(message(r#"{"detail":"Not Found"}"#), "Not Found");
        assert_eq!(message(r#"[{"error":{"message":"m"}}]"#), "m");
        assert_eq!(message("plain"), "plain");
        assert_eq!(message("<html><title>502 Bad</title>"), "a web page, “502 Bad”");
    }
}
