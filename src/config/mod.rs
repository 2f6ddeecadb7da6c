//! Configuration: what a user, a project, `git config`, the environment and the command line say,
//! in this order, later wins (contract, section 6).
//!
//! Everything below the command line sees only the resolved [`Config`]; its keys are the fields in
//! `keys.rs`. [`load()`] makes one; [`access`](Config::temperature) answers what a stage or role gets.

mod access;
mod agent_files;
mod build;
mod command_tools;
mod connection;
mod endpoint;
mod fields;
mod keys;
mod layer;
mod listing;
mod load;
mod problem;
mod project_file;
mod request_keys;
mod schema;
#[cfg(test)]
mod server_tests;
mod settings;
mod shown;
mod template;
#[cfg(test)]
mod tests;
mod trust;
mod value;

use std::collections::BTreeMap;

use crate::stage::Stage;

pub use access::Switches;
pub use agent_files::{AGENT_CONFIGURATION, AgentFiles, configures_agents};
pub use endpoint::{
    AGENT, ANTHROPIC, DEFAULT_ANSWER_S, DEFAULT_RATE, HOSTED, LOOPBACK_SERVERS, is_loopback,
};
pub use keys::{
    Api, Attribution, Budget, FetchPolicy, Limits, ModelConfig, Price, Project, Review,
    ReviewOrder, Roles, Sandbox, StageConfig, TestsPolicy, ToolConfig,
};
pub use listing::{DEFAULT_ORIGIN, Entry, is_known, is_named, key_names, list, named, nearest_key};
pub use load::{Flags, Loaded, Sources, load, system_file, user_file};
pub use problem::Problem;
pub use project_file::{PROJECT_FILE, project_file};
pub use shown::Shown;
pub use template::template_file;
pub use trust::{Restricted, Trust, TrustRecords};

/// The name of [`Config::llm`] in roles and stages.
pub const DEFAULT_MODEL: &str = "default";

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
    /// Tools of the user's own.
    pub tools: BTreeMap<String, ToolConfig>,
    /// Why a model (a key of `models`, or `default`) cannot be used: a variable that is not set.
    pub unusable: BTreeMap<String, String>,
}
