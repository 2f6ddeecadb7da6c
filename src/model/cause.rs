//! Why a model server gave no answer, and what its user can do about it: one table for the runs of
//! sessions, for the look at a server before a run, and for `doctor`.

use super::ModelError;
use super::discover::RIGHT_URL;
use super::endpoint::Endpoint;
use super::failure::FailedAt;
use super::server_error::ServerError;
use crate::config::{Api, ModelConfig};
use crate::error::Error;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// There is no connection.
    Away,
    /// The server sends nothing.
    Silent,
    /// The server is busy, or still loads the model.
    Overload,
    /// Too many requests.
    Limit,
    /// The server, or the one behind a gateway, cannot be reached by the gateway.
    Gateway,
    /// The server failed at the request.
    Failed,
    /// The answer broke off.
    Cut,
    /// The answer did not end in time.
    Endless,
    /// The account has no credit.
    Credit,
    /// No key, or a wrong one.
    Key,
    /// The server does not have the model.
    Model,
    /// The base URL is wrong.
    Address,
    /// A header is missing.
    Header,
    /// The proxy wants a login.
    Proxy,
    /// The server does not accept the request.
    Request,
    /// The conversation is too long.
    TooLong,
    /// The model or a filter declined.
    Declined,
    /// The recording has no answer.
    Replay,
    /// Anything else.
    Other,
}

/// What a user can do.
enum Remedy {
    /// Advice.
    Say(&'static str),
    /// Advice, and the command that sets this key of the model to this value.
    Set(&'static str, &'static str, &'static str),
}

use Remedy::{Say, Set};

/// What can be done about each cause; the most likely first.
const STEPS: [(Cause, &[Remedy]); 19] = [
    (
        Cause::Away,
        &[Set(
            "check that the server runs and that its address ({url}) is right",
            "base_url",
            "URL",
        )],
    ),
    (
        Cause::Silent,
        &[
            Say("see whether the server works (its log, its load); it may still load the model"),
            Set("or allow longer silences, in seconds", "timeout_s", "600"),
        ],
    ),
    (
        Cause::Overload,
        &[Say("the server is overloaded or still loads the model: wait a while, or use another \
               model (git cowork models)")],
    ),
    (Cause::Limit, &[Set("wait a while, or send fewer requests", "rate_limit", "10/m")]),
    (
        Cause::Gateway,
        &[Say(
            "the server runs but cannot answer: check its log, and whether the server behind it \
               runs",
        )],
    ),
    (Cause::Failed, &[Say("the server failed at this request: check its log for the cause")]),
    (Cause::Cut, &[Say("the server or the connection broke off: check the server's log")]),
    (Cause::Endless, &[Set("allow more time (in seconds; 0: no limit)", "answer_s", "3600")]),
    (
        Cause::Credit,
        &[Say("check the account's quota and credit with its provider, or use another model")],
    ),
    (Cause::Key, &[Set("check the key", "api_key", "KEY")]),
    (
        Cause::Model,
        &[
            Say("the models of this server: git cowork models"),
            Set("check the model's name", "model", "NAME"),
        ],
    ),
    (Cause::Address, &[Set("check the server's address", "base_url", "URL")]),
    (Cause::Header, &[Set("send the header that it asks for ([llm] headers)", "headers", "")]),
    (Cause::Proxy, &[Say("set the proxy's login: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT")]),
    (
        Cause::Request,
        &[Say("use another model, or keep this one: the next run starts the conversation from \
               scratch")],
    ),
    (
        Cause::TooLong,
        &[Set(
            "use a model with a larger window, or set the server's context size in tokens",
            "context_window",
            "N",
        )],
    ),
    (Cause::Declined, &[Say("reword the idea or the documents, or use another model")]),
    (Cause::Replay, &[Say("record again with --record, or use the model of the recording")]),
    (Cause::Other, &[Say("check the key, the model's name and the quota")]),
];

impl Cause {
    /// True if the server may answer where it does not stream.
    pub fn may_be_of_streams(self) -> bool {
        matches!(self, Self::Silent | Self::Gateway | Self::Failed | Self::Cut)
    }
}

impl ModelError {
    /// Why there is no answer.
    pub fn cause(&self) -> Cause {
        let (at, message) = match self {
            Self::Unavailable { at, message, .. } => (*at, message),
            Self::Refused { status, message } => return refused(*status, message),
            Self::Endless { .. } => return Cause::Endless,
            Self::TooLong { .. } => return Cause::TooLong,
            Self::Declined { .. } => return Cause::Declined,
            Self::Replay { .. } => return Cause::Replay,
            Self::Budget { .. } | Self::Agent { .. } => return Cause::Other,
        };
        match at {
            FailedAt::Connecting | FailedAt::Waiting => Cause::Away,
            FailedAt::Silence { .. } => Cause::Silent,
            FailedAt::Answering => Cause::Cut,
            FailedAt::Status(429) => Cause::Limit,
            FailedAt::Status(status) if ServerError::read(message).is_busy(status) => {
                Cause::Overload
            }
            FailedAt::Status(502..=504) => Cause::Gateway,
            FailedAt::Status(_) => Cause::Failed,
        }
    }

    /// The error for a person: what happened, and what the user of a model with this configuration
    /// can do about it.
    pub fn explained(&self, model: Option<&ModelConfig>) -> Error {
        let unknown = ModelConfig::default();
        let mut remedies = self.remedies(model.unwrap_or(&unknown));
        if self.cause().may_be_of_streams() {
            remedies.push("to find out whether only streams fail: git cowork doctor".to_owned());
        }
        remedies.into_iter().fold(Error::model(self.to_string()), Error::hint)
    }

    /// What the user of a model with this configuration can do about the error.
    pub fn remedies(&self, model: &ModelConfig) -> Vec<String> {
        if let Self::Budget { hint, .. } | Self::Agent { hint, .. } = self {
            return vec![hint.clone()];
        }
        let (cause, text, url) = (self.cause(), self.to_string(), &model.base_url);
        let value = |key: &str| match key {
            "base_url" if cause == Cause::Address => match text.split_once(RIGHT_URL) {
                Some((_, right)) => Some(right.to_owned()),
                None => (!Endpoint::open(url).has_version()).then(|| format!("{url}/v1")),
            },
            "headers" => Some(header(&text)),
            _ => None,
        };
        let step = |step: &Remedy| match step {
            Say(words) => (*words).to_owned(),
            Set(words, key, usual) => {
                let value = value(key).unwrap_or_else(|| (*usual).to_owned());
                let words = words.replace("{url}", url);
                format!("{words}: {}", model.set_in.command(key, &value))
            }
        };
        let steps = STEPS
            .iter()
            .find(|(row_cause, _)| *row_cause == cause)
            .map_or(&[][..], |(_, steps)| steps);
        let first = match cause {
            Cause::Away if url.contains(":11434") => Some("ollama serve".to_owned()),
            Cause::Key if model.secrets().is_empty() => Some("no key was sent".to_owned()),
            Cause::Address | Cause::Request if model.api != Api::Auto => {
                Some(step(&Set("let git-cowork choose the API", "api", "auto")))
            }
            _ => None,
        };
        first.into_iter().chain(steps.iter().map(step)).collect()
    }
}

fn refused(status: Option<u16>, message: &str) -> Cause {
    let server_error = ServerError::read(message);
    let lower = message.to_lowercase();
    match status {
        _ if message.contains(RIGHT_URL) => Cause::Address,
        Some(402 | 429) => Cause::Credit,
        _ if server_error.is_quota() => Cause::Credit,
        Some(400 | 401 | 403 | 422) if server_error.wants_header() => Cause::Header,
        Some(401 | 403) => Cause::Key,
        Some(407) => Cause::Proxy,
        Some(400) if server_error.wants_key() => Cause::Key,
        _ if server_error.names_model() => Cause::Model,
        Some(404 | 405) if lower.contains("model") => Cause::Model,
        Some(404 | 405) => Cause::Address,
        Some(400 | 422) => Cause::Request,
        _ => Cause::Other,
    }
}

/// The value of `headers` with the header that a server asks for.
fn header(message: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut words = message.split(|c| !is_part(c));
    let name = words.find(|word| word.to_ascii_lowercase().starts_with("x-")).unwrap_or("NAME");
    format!("'{{\"{name}\": \"VALUE\"}}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_server::config;

    #[test]
    fn each_cause_has_its_steps_and_they_are_all_about_it() {
        let failed =
            |at, message: &str| ModelError::Unavailable { at, message: message.into(), tries: 1 };
        let refused = |status, message: &str| ModelError::Refused {
            status: Some(status),
            message: message.into(),
        };
        for (error, cause, says) in [
            (failed(FailedAt::Connecting, "refused"), Cause::Away, "baseurl URL"),
            (failed(FailedAt::Silence { begun: true }, ""), Cause::Silent, "timeouts 600"),
            (failed(FailedAt::Status(500), "HTTP 500: boom"), Cause::Failed, "its log"),
            (failed(FailedAt::Status(500), "HTTP 500: Overloaded"), Cause::Overload, "overloaded"),
            (failed(FailedAt::Status(529), "HTTP 529: x"), Cause::Overload, "overloaded"),
            (failed(FailedAt::Status(503), "HTTP 503: Loading model"), Cause::Overload, "loads"),
            (failed(FailedAt::Status(502), "HTTP 502: x"), Cause::Gateway, "behind it"),
            (failed(FailedAt::Status(429), "HTTP 429: x"), Cause::Limit, "ratelimit 10/m"),
            (failed(FailedAt::Answering, "broke off"), Cause::Cut, "log"),
            (refused(429, "HTTP 429: insufficient_quota"), Cause::Credit, "quota"),
            (refused(401, "HTTP 401: no"), Cause::Key, "COWORK_LLM_API_KEY=KEY"),
            (refused(404, "HTTP 404: no such model"), Cause::Model, "model NAME"),
            (refused(400, "Invalid model name passed in model=zzz"), Cause::Model, "cowork models"),
            (refused(404, "HTTP 404: Not Found"), Cause::Address, "baseurl http://h/v1"),
            (refused(404, "the base URL should be http://h/v1"), Cause::Address, "http://h/v1"),
            (refused(400, "x-team header is required"), Cause::Header, "'{\"x-team\": \"VALUE\"}'"),
            (refused(400, "HTTP 400: no"), Cause::Request, "another model"),
        ] {
            assert_eq!(error.cause(), cause, "{error}");
            let steps = error.remedies(&config("http://h")).join("\n");
            assert!(steps.contains(says), "{error}: {steps}");
        }
    }
}
