//! Talks to a language model, one turn at a time, and hides the differences between providers.
//!
//! A model never sees git and never runs a tool itself: it receives [`Request`]s and returns
//! [`Reply`]s. Retries, rate limits and parameter fallbacks happen below this interface, so a turn
//! is either complete or an error whose [`ModelError`] gives its kind.

pub mod agents;
mod answer;
pub mod arguments;
pub mod budget;
mod cause;
pub mod choose;
mod dialect;
pub mod discover;
mod endpoint;
mod failure;
mod growing;
pub mod known_prices;
pub mod ledger;
mod lines;
#[cfg(test)]
mod messages_tests;
pub mod meter;
pub mod opaque;
pub mod openai;
pub mod options;
mod pieces;
pub mod price;
pub mod prose;
pub mod rate;
pub mod record;
mod recovery;
pub mod repeat;
pub mod replay;
#[cfg(test)]
mod responses_tests;
pub mod retry;
mod server_error;
#[cfg(test)]
mod servers_tests;
mod stream;
#[cfg(test)]
mod stream_random_tests;
#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tests;
mod thinking;
#[cfg(test)]
mod thinking_tests;
#[cfg(test)]
mod time_tests;
pub mod timeouts;
mod transport;
pub mod trial;
mod written_tools;

use std::future::Future;
use std::pin::Pin;
use std::sync::Once;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::ModelConfig;
use crate::event::Usage;
use crate::stage::{Role, Stage};

pub use agents::{AgentNeeds, Confines, OpenAccess, Reach, ServerAccess, Workplace};
pub use cause::Cause;
pub use dialect::Refusals;
pub use failure::FailedAt;
pub use opaque::{ModelOrigin, Opaque};
pub use stream::made_up_id;

/// The position of a request in the work: sent in the `cowork-…` request headers, and the key under
/// which a replay finds the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Session name; empty if the session has none yet.
    pub session: String,
    /// Stage; none in the first request, which is made before there is a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Role.
    pub role: Role,
    /// Draft number, from 1.
    pub iteration: u32,
    /// Task id in coding, where each task is a conversation of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Turn of this conversation, from 1.
    pub turn: u32,
}

/// The name of a stage, for a request that may have none.
pub(crate) fn stage_name(stage: Option<Stage>) -> &'static str {
    stage.map_or("start", Stage::name)
}

/// A message of a conversation, in the shape of the chat-completions API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// The system prompt.
    System {
        /// Text.
        content: String,
    },
    /// A prompt, or a message that git-cowork adds.
    User {
        /// Text.
        content: String,
    },
    /// An answer of the model.
    Assistant {
        /// Text, possibly empty beside tool calls.
        content: String,
        /// Tools it wants called, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        /// Data that the server wants back with this message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Box<Opaque>>,
    },
    /// The result of a tool call.
    Tool {
        /// Id of the call.
        tool_call_id: String,
        /// The answer.
        content: String,
    },
}

/// A tool call of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The server's id; made up if the server sent none.
    pub id: String,
    /// Tool name, as written by the model.
    pub name: String,
    /// The arguments exactly as written; valid JSON if the model made no mistake.
    pub arguments: String,
}

/// A tool as offered to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of the arguments (an object).
    pub parameters: Value,
}

/// The request for one turn.
#[derive(Clone, Debug)]
pub struct Request {
    /// Position in the work.
    pub position: Position,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Tools on offer; may be empty.
    pub tools: Vec<ToolSpec>,
    /// Sampling temperature.
    pub temperature: f64,
    /// The folder in which an agent program works on files; none if it only answers.
    pub workplace: Option<Workplace>,
}

/// The answer to one turn. It is complete: the server sent a finish reason or ended its stream
/// properly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// Tool calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Data that the server wants back with this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Box<Opaque>>,
    /// The server's finish reason (`stop`, `tool_calls`, `length`, …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Token usage, including failed tries of the same turn.
    #[serde(default)]
    pub usage: Usage,
    /// Requests this turn took, retries included; 0 in a replay.
    #[serde(default, skip_serializing)]
    pub requests: u32,
    /// Name of the model that answered, as the server or the configuration calls it.
    #[serde(default, skip_serializing)]
    pub model: String,
}

impl Reply {
    /// True if the server cut the answer because it was too long.
    pub fn is_cut(&self) -> bool {
        self.finish_reason.as_deref() == Some("length")
    }
}

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Network error, 429, 5xx, an interrupted stream or silence, even after all retries.
    #[error("{}", unavailable(*.at, .message, *.tries))]
    Unavailable {
        /// What it failed at.
        at: FailedAt,
        /// The last failure.
        message: String,
        /// Number of tries.
        tries: u32,
    },
    /// The answer was not complete after `answer_s`, not even on the second try.
    #[error(
        "the model server did not finish its answer in {seconds:.0} s (answer_s; tried {tries} times)"
    )]
    Endless {
        /// Time limit of an answer.
        seconds: f64,
        /// Number of tries.
        tries: u32,
    },
    /// Refused for good: key, permission, quota, unknown model, a request it does not accept.
    #[error("the model server refused the request: {message}")]
    Refused {
        /// HTTP status, if there was one.
        status: Option<u16>,
        /// The server's error message.
        message: String,
    },
    /// The model declines to answer, or a filter withholds its answer.
    #[error("{message}")]
    Declined {
        /// Who declined, and the text.
        message: String,
    },
    /// The conversation does not fit into the model's window.
    #[error("the conversation is too long for the model: {message}")]
    TooLong {
        /// The server's error message.
        message: String,
    },
    /// The session's budget forbids another request.
    #[error("{message}")]
    Budget {
        /// The limit, and the amount used.
        message: String,
        /// How to raise it.
        hint: String,
    },
    /// An agent program gave no answer.
    #[error("{message}")]
    Agent {
        /// The program, how it ended and its last output.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// A replay has no answer for this position.
    #[error("{message}")]
    Replay {
        /// The position, and what the recording contains instead.
        message: String,
    },
}

/// Describes the last failure after this number of tries. An error status counts as an answer.
fn unavailable(at: FailedAt, message: &str, tries: u32) -> String {
    let how = match at {
        FailedAt::Status(_) => "answered",
        FailedAt::Answering | FailedAt::Silence { begun: true } => "did not finish its answer:",
        FailedAt::Connecting | FailedAt::Waiting | FailedAt::Silence { begun: false } => {
            "did not answer:"
        }
    };
    let tries_note = if tries > 1 { format!(" (tried {tries} times)") } else { String::new() };
    format!("the model server {how} {message}{tries_note}")
}

impl ModelError {
    /// The HTTP status of this error, if there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Unavailable { at: FailedAt::Status(status), .. } => Some(*status),
            Self::Refused { status, .. } => *status,
            _ => None,
        }
    }

    /// True if the same conversation would be refused again.
    pub fn is_about_the_conversation(&self) -> bool {
        matches!(
            self,
            Self::Declined { .. }
                | Self::TooLong { .. }
                | Self::Refused { status: Some(400 | 413 | 422), .. }
        )
    }
}

/// A boxed future, so that models can be chosen at run time.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A pending answer.
pub type Turn<'a> = BoxFuture<'a, Result<Reply, ModelError>>;

/// Callback that receives an answer's text as it streams in.
pub type OnText<'a> = &'a dyn Fn(&str);

/// Anything that answers [`Request`]s.
pub trait Model {
    /// The configured name, used in commit trailers.
    fn name(&self) -> &str;

    /// Requests one turn. `on_text` receives the answer's text as it streams in; on a retry the
    /// text starts again. Dropping the future closes the connection.
    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a>;

    /// Checks whether the model can be reached, before anything is created.
    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>>;

    /// What an agent program needs to work on files by itself; none for a model that calls
    /// git-cowork's tools.
    fn agent(&self) -> Option<AgentNeeds> {
        None
    }

    /// The configuration of a model server; none for other models.
    fn config(&self) -> Option<&ModelConfig> {
        None
    }
}

impl Model for Box<dyn Model> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a> {
        (**self).turn(request, on_text)
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        (**self).probe()
    }

    fn agent(&self) -> Option<AgentNeeds> {
        (**self).agent()
    }

    fn config(&self) -> Option<&ModelConfig> {
        (**self).config()
    }
}

/// Installs ring as the process's TLS provider, once. Call it before opening a connection.
pub fn init_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that a provider is installed already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
