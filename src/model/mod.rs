//! Speaking to a language model: one turn at a time, provider differences kept in here.
//!
//! A model never sees git and never calls a tool itself: it gets [`Request`]s and gives
//! [`Reply`]s. Retries, rate limits and parameter fall-backs happen below this interface, so a
//! turn either is complete or is an error whose [`ModelError`] says what kind it is.

pub mod agents;
mod answer;
pub mod budget;
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
mod said;
#[cfg(test)]
mod servers_tests;
mod stream;
#[cfg(test)]
mod stream_random_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod testserver;
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

use crate::event::Usage;
use crate::stage::{Role, Stage};

pub use agents::{AgentNeeds, Confines, OpenWay, Reach, WayOut, Workplace};
pub use dialect::Refusals;
pub use opaque::{Opaque, Origin};
pub use stream::made_up_id;

/// Where in the work a request stands: the request headers of contract 6, and the key under
/// which a replay finds its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Session name; empty where the session has none yet.
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

/// What a stage is called where a request may have none.
pub(crate) fn stage_name(stage: Option<Stage>) -> &'static str {
    stage.map_or("start", Stage::name)
}

/// A message of a conversation, in the shape of the chat-completions API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// Who the model is and the rules.
    System {
        /// Text.
        content: String,
    },
    /// What it is asked.
    User {
        /// Text.
        content: String,
    },
    /// What it said.
    Assistant {
        /// Text, possibly empty beside tool calls.
        content: String,
        /// Tools it wants called, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        /// What its server wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Box<Opaque>>,
    },
    /// What a tool answered.
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
    /// The server's id; made up by us where the server gave none.
    pub id: String,
    /// Tool name, as written by the model.
    pub name: String,
    /// The arguments exactly as written: JSON if all is well.
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

/// One turn's question.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where it stands.
    pub position: Position,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Tools on offer; may be empty.
    pub tools: Vec<ToolSpec>,
    /// Sampling temperature.
    pub temperature: f64,
    /// Where an agent program works on files; none where it only answers.
    pub workplace: Option<Workplace>,
}

/// One turn's answer, complete: the server gave a finish reason or ended its stream properly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// Tool calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What the server wants back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Box<Opaque>>,
    /// The server's finish reason (`stop`, `tool_calls`, `length`, …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// What was counted, failed tries of the same turn included.
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
    /// Whether the server cut it because it was too long.
    pub fn is_cut(&self) -> bool {
        self.finish_reason.as_deref() == Some("length")
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Network, 429, 5xx, a cut stream, silence: still so after all retries.
    #[error("{}", unavailable(.message, *.tries))]
    Unavailable {
        /// The last failure.
        message: String,
        /// How often it was tried.
        tries: u32,
    },
    /// The answer was still coming after `answer_s`, also when it was asked for once more.
    #[error(
        "the model server did not finish its answer in {seconds:.0} s (answer_s; tried {tries} times)"
    )]
    Endless {
        /// What an answer may take.
        seconds: f64,
        /// How often it was tried.
        tries: u32,
    },
    /// Refused for good: key, permission, quota, unknown model, a request it will not take.
    #[error("the model server refused the request: {message}")]
    Refused {
        /// HTTP status, where there was one.
        status: Option<u16>,
        /// What the server said.
        message: String,
    },
    /// The model will not answer this, or a filter keeps its answer back.
    #[error("{message}")]
    Declined {
        /// Who declined, and the words.
        message: String,
    },
    /// The conversation does not fit into the model's window.
    #[error("the conversation is too long for the model: {message}")]
    TooLong {
        /// What the server said.
        message: String,
    },
    /// The session's budget forbids another request.
    #[error("{message}")]
    Budget {
        /// Which one, and what was used.
        message: String,
        /// How to raise it.
        hint: String,
    },
    /// An agent program gave no answer.
    #[error("{message}")]
    Agent {
        /// Which one, how it ended, what it said last.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// A replay has no answer for this position.
    #[error("{message}")]
    Replay {
        /// Which position, and what the recording has instead.
        message: String,
    },
}

/// What became of the last of `tries`: a server that says that it cannot has answered.
fn unavailable(message: &str, tries: u32) -> String {
    let how = match answered(message) {
        Some(_) => format!("the model server answered {message}"),
        None if message.contains("broke") => {
            format!("the model server did not finish its answer: {message}")
        }
        None => format!("the model server did not answer: {message}"),
    };
    if tries > 1 { format!("{how} (tried {tries} times)") } else { how }
}

/// The HTTP status a failed try was answered with, where it was answered.
fn answered(message: &str) -> Option<u16> {
    let status = message.strip_prefix("HTTP ")?;
    status.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

impl ModelError {
    /// The HTTP status behind it, where there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Unavailable { message, .. } => answered(message),
            Self::Refused { status, .. } => *status,
            _ => None,
        }
    }

    /// Whether the conversation as it is would be refused again.
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

/// An answer to come.
pub type Turn<'a> = BoxFuture<'a, Result<Reply, ModelError>>;

/// Whoever is told an answer's text as it streams in.
pub type OnText<'a> = &'a dyn Fn(&str);

/// Somebody who answers [`Request`]s.
pub trait Model {
    /// The configured name, for trailers.
    fn name(&self) -> &str;

    /// Asks for one turn. `on_text` gets the answer's text as it streams in; on a retry the text
    /// starts again. Dropping the future hangs up.
    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a>;

    /// Finds out, before anything is created, whether the model can be reached.
    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>>;

    /// What an agent program needs to work on files by itself; none for a model that calls our tools.
    fn agent(&self) -> Option<AgentNeeds> {
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
}

/// Makes ring the process's TLS provider, once; whoever opens connections calls it first.
pub fn init_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that somebody installed one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
