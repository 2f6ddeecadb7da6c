//! What a conversation begins with, and what came of it.

use crate::stage::{Role, Stage};
use crate::tool::Outcome;

/// Everything a run is given.
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
    /// Who the model is and the rules.
    pub system: String,
    /// Documents and the stage's brief.
    pub prompt: String,
    /// Names of the tools it may call.
    pub tools: Vec<&'static str>,
    /// Those that it is told of: more than its own where all roles of a session are told of the same.
    pub offered: Vec<&'static str>,
    /// Those of them that are the closing act.
    pub closing: Vec<&'static str>,
    /// Sampling temperature.
    pub temperature: f64,
    /// Most turns.
    pub max_turns: u32,
    /// The number of its first turn, which is 1 but where a conversation about the same draft came before.
    pub first_turn: u32,
    /// Tokens the model can hold.
    pub context_window: u64,
    /// Calls a guard refused earlier in this stage.
    pub refusals: u32,
}

/// What came of a conversation.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// What the tools were told.
    pub outcome: Outcome,
    /// The closing text.
    pub text: String,
    /// The conversation has outgrown the model's window, and what was done so far lies in the
    /// artifacts: another one can go on from there.
    pub outgrown: bool,
}
