//! The input and the result of a conversation.

use crate::stage::{Role, Stage};
use crate::tool::Outcome;

/// Everything a run is given: its position, its messages, its tools and its limits.
#[derive(Clone, Debug)]
pub struct Brief {
    /// Session name, for the request headers.
    pub session: String,
    /// Stage.
    pub stage: Stage,
    /// Role.
    pub role: Role,
    /// Draft number.
    pub iteration: u32,
    /// Task id, in coding.
    pub task: Option<String>,
    /// System prompt: the model's role and the rules.
    pub system: String,
    /// Documents and the stage's brief.
    pub prompt: String,
    /// Names of the tools that the model may call.
    pub tools: Vec<&'static str>,
    /// Names of the tools in the request: more than `tools` if all roles of a session are offered
    /// the same list.
    pub offered: Vec<&'static str>,
    /// Names of the tools in `tools` that close the draft.
    pub closing: Vec<&'static str>,
    /// Sampling temperature.
    pub temperature: f64,
    /// Maximum number of turns.
    pub max_turns: u32,
    /// Number of the first turn: higher than 1 after an earlier conversation about the same draft.
    pub first_turn: u32,
    /// The model's context window, in tokens.
    pub context_window: u64,
    /// Number of calls that a guard refused earlier in this stage.
    pub refusals: u32,
}

/// The result of a conversation.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// The requests and verdicts from tool calls.
    pub outcome: Outcome,
    /// The closing text; if something was missing after the closing act, the words beside that act.
    pub text: String,
    /// The closing text of the corrections after that; empty if nothing was missing.
    pub corrected: String,
    /// True if the conversation no longer fits into the model's window. The work so far is in the
    /// artifacts, and a new conversation can continue from there.
    pub outgrown: bool,
}
