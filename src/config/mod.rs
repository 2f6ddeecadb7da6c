//! Configuration: what a user, a project, `git config`, the environment and the command line say,
//! in this order, later wins (contract, section 6).
//!
//! Everything below the command line sees only the resolved [`Config`], which this file is the
//! words of. [`load()`] makes one; [`access`](Config::temperature) answers what a stage or role gets.

mod access;
mod build;
mod connection;
mod default;
mod endpoint;
mod layer;
mod load;
mod project_file;
mod schema;
mod settings;
mod template;
#[cfg(test)]
mod tests;
mod trust;
mod value;

use std::collections::BTreeMap;

use crate::stage::Stage;

pub use endpoint::{DEFAULT_ANSWER_S, DEFAULT_RATE, HOSTED, LOOPBACK_SERVERS, is_loopback};
pub use load::{Flags, Loaded, Sources, load, system_file, user_file};
pub use project_file::{PROJECT_FILE, project_file};
pub use template::template_file;
pub use trust::{Restricted, Trust, TrustRecords};

/// The name of [`Config::llm`] in roles and stages.
pub const DEFAULT_MODEL: &str = "default";

/// Which API a server is asked through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Api {
    /// Responses where a server is known to have it or says so, else chat completions.
    #[default]
    Auto,
    /// Chat completions.
    Chat,
    /// Responses.
    Responses,
}

/// A model and how to reach it.
#[derive(Clone, PartialEq)]
pub struct ModelConfig {
    /// `openai` (any compatible server), a preset, `replay` or `cli`.
    pub provider: String,
    /// Base URL up to and including `/v1`; empty until resolved by a probe of the loopback ports.
    pub base_url: String,
    /// Empty when the server wants none. Never printed.
    pub api_key: String,
    /// Which API the server is asked through.
    pub api: Api,
    /// Model name as the server knows it; empty for an agent program's own choice.
    pub model: String,
    /// Requests per minute; `None` = unlimited, which is the default for loopback servers.
    pub rate_limit: Option<u32>,
    /// Seconds of silence that count as a failure; ten times that before the first token.
    pub timeout_s: u64,
    /// Seconds one answer may take in all; 0 = no limit, which is the default for loopback servers.
    pub answer_s: u64,
    /// Tokens the model can hold.
    pub context_window: u64,
    /// Retries of a transient failure.
    pub max_retries: u32,
    /// Which agent program, for `provider = "cli"`.
    pub agent: String,
}

/// Which model plays which role; names are keys of [`Config::models`] or `default`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Drafts.
    pub actor: String,
    /// Judges.
    pub critic: String,
    /// Second opinion before delivery, if any.
    pub challenger: Option<String>,
}

/// Whether a person reads a draft before or after the critic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReviewOrder {
    /// Person, then critic.
    #[default]
    DraftFirst,
    /// Critic, then person.
    CriticFirst,
}

/// How people review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// Who reads first.
    pub order: ReviewOrder,
    /// Stages where a person decides.
    pub gates: Vec<Stage>,
    /// Editor command; empty = `git var GIT_EDITOR`.
    pub editor: String,
    /// What begins a comment line in an edited document.
    pub comment_prefix: String,
    /// Command run when a person is waited for.
    pub notify: String,
}

/// How much there may be of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Fewest and most requirements.
    pub requirements: [u32; 2],
    /// Fewest and most features.
    pub features: [u32; 2],
    /// Fewest and most components.
    pub components: [u32; 2],
    /// Fewest and most top-level tasks.
    pub tasks: [u32; 2],
    /// Drafts per stage.
    pub iterations: BTreeMap<Stage, u32>,
    /// Model turns of one agent run.
    pub tool_turns: u32,
    /// Seconds a command may take unless the model asks for more.
    pub command_timeout_s: u64,
    /// Seconds a model may ask for.
    pub command_timeout_max_s: u64,
    /// How often a session may go back by itself.
    pub max_replans: u32,
}

/// Settings of one stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageConfig {
    /// Actor's temperature.
    pub actor_temperature: Option<f64>,
    /// Critic's temperature.
    pub critic_temperature: Option<f64>,
    /// Model name from `[models]`.
    pub model: Option<String>,
}

/// Price of a million tokens in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Prompt tokens.
    pub input: f64,
    /// Generated tokens.
    pub output: f64,
    /// Cached prompt tokens.
    pub cached: f64,
}

/// What a session may use; 0 = no limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// Tokens, in and out.
    pub tokens: u64,
    /// US dollars.
    pub usd: f64,
    /// Requests.
    pub requests: u64,
    /// Seconds.
    pub wall_s: u64,
    /// By model name.
    pub prices: BTreeMap<String, Price>,
}

/// When the coding actor writes tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestsPolicy {
    /// When the PRD, the idea or the repository's conventions ask for them.
    #[default]
    Asked,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How generated content is credited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attribution {
    /// `Assisted-by:`
    #[default]
    AssistedBy,
    /// `Co-authored-by:`
    CoAuthoredBy,
    /// Not at all.
    None,
}

/// The repository's own ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// First part of our branch and tag names.
    pub branch_prefix: String,
    /// Template of commit subjects.
    pub subject: String,
    /// Add `Signed-off-by`.
    pub signoff: bool,
    /// Tag finished stages.
    pub tags: bool,
    /// `rust`, `python`, … or empty.
    pub template: String,
    /// Test command; empty = detected.
    pub test: String,
    /// Build command; empty = detected.
    pub build: String,
    /// Lint command; empty = detected.
    pub lint: String,
    /// When tests are written.
    pub tests: TestsPolicy,
    /// How models are credited.
    pub attribution: Attribution,
    /// Stages whose first draft the actor reads again.
    pub self_review: Vec<Stage>,
}

/// What commands may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Network for commands.
    pub network: bool,
    /// Writable paths besides the working tree.
    pub writable: Vec<String>,
    /// Put before every command, instead of the built-in confinement.
    pub command_prefix: Vec<String>,
    /// Where the system cannot confine commands, run them all the same.
    pub unconfined: bool,
    /// Whether a project's dependencies are fetched.
    pub fetch: FetchPolicy,
}

/// Whether what a project's lock files name is fetched, with the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FetchPolicy {
    /// When a person at the terminal says so.
    #[default]
    Ask,
    /// Without a question.
    Always,
    /// Not at all.
    Never,
}

/// Everything, resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The default model.
    pub llm: ModelConfig,
    /// More models.
    pub models: BTreeMap<String, ModelConfig>,
    /// Who plays what.
    pub roles: Roles,
    /// How people review.
    pub review: Review,
    /// How much.
    pub limits: Limits,
    /// Per stage.
    pub stages: BTreeMap<Stage, StageConfig>,
    /// What may be used.
    pub budget: Budget,
    /// The repository's ways.
    pub project: Project,
    /// What commands may do.
    pub sandbox: Sandbox,
    /// Why a model (a key of `models`, or `default`) cannot be used: a variable that is not set.
    pub unusable: BTreeMap<String, String>,
}
