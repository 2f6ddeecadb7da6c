//! Tests a server with one small request: which model answers, and whether it streams and calls
//! tools.

use std::time::Duration;

use serde_json::json;

use super::failure::FailedAt;
use super::openai::OpenAi;
use super::options::BuildOptions;
use super::timeouts::Timeouts;
use super::{Message, Model as _, ModelError, Position, Request, ToolSpec};
use crate::config::ModelConfig;
use crate::stage::Role;

/// Name of the offered tool.
pub const TOOL: &str = "ready";
/// Maximum tokens of the answer: enough for a few thoughts and the call.
const TOKENS: u64 = 512;

/// What one answer shows about a server and its model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// The model that answered, as its server reports it.
    pub answered_by: String,
    /// The answer was streamed.
    pub streams: bool,
    /// The server accepts tool definitions; otherwise they are described in the text.
    pub takes_tools: bool,
    /// The tool was called as requested.
    pub called: bool,
    /// The answer was cut at its limit of tokens, before it was complete.
    pub cut: bool,
}

/// Sends one request without retries, for at most `limit`.
///
/// # Errors
/// There is no answer.
pub async fn ask(
    config: &ModelConfig,
    options: BuildOptions,
    limit: Duration,
) -> Result<Trial, ModelError> {
    let max_tokens = match config.max_tokens {
        0 => TOKENS,
        most => most.min(TOKENS),
    };
    let config = ModelConfig { max_retries: 0, max_tokens, ..config.clone() };
    let timeouts = Timeouts { connect: limit, first: limit, silence: limit, answer: None };
    let server = OpenAi::new(&config, BuildOptions { timeouts: Some(timeouts), ..options })?;
    let request = request();
    let silent = |_| ModelError::Unavailable {
        at: FailedAt::Silence { begun: false },
        message: format!("no answer within {:.0} s", limit.as_secs_f64()),
        tries: 1,
    };
    let reply = tokio::time::timeout(limit, server.turn(&request, &|_| {})).await;
    let reply = reply.map_err(silent)??;
    let refusals = server.refusals();
    Ok(Trial {
        streams: !refusals.stream,
        takes_tools: !refusals.tools,
        called: reply.tool_calls.iter().any(|call| call.name == TOOL),
        cut: reply.is_cut(),
        answered_by: reply.model,
    })
}

fn request() -> Request {
    let say =
        "This is a test of the connection. Call the tool `ready` now, and write nothing else.";
    Request {
        position: Position {
            session: String::new(),
            stage: None,
            role: Role::Actor,
            iteration: 1,
            task: None,
            turn: 1,
        },
        messages: vec![Message::User { content: say.to_owned() }],
        tools: vec![ToolSpec {
            name: TOOL.to_owned(),
            description: "Says that you are ready".to_owned(),
            parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        }],
        temperature: 0.2,
        workplace: None,
    }
}
