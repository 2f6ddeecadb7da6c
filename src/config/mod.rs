//! Configuration from the user's and the project's files, `git config`, the environment and the
//! command line, in this order; later sources win.
//!
//! Code below the command line sees only the resolved [`Config`]; its keys are the fields in
//! `keys.rs`. [`load()`] makes the `Config`; [`access`](Config::temperature) returns the values for
//! a stage or a role.

mod access;
mod agent_files;
mod build;
mod command_tools;
mod connection;
mod endpoint;
mod environment;
mod fields;
mod keys;
mod layer;
mod listing;
mod load;
mod places;
mod problem;
mod project_file;
pub mod project_tools;
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
    AGENT, ANTHROPIC, DEFAULT_ANSWER_S, DEFAULT_RATE, HOSTED_APIS, HostedApi, LOOPBACK_SERVERS,
    hosted_api, is_loopback,
};
pub use keys::{
    Api, Attribution, Budget, FetchPolicy, LimitsConfig, ModelConfig, Price, Project, Review,
    ReviewOrder, Roles, SandboxConfig, StageConfig, StageTags, TestsPolicy, ToolConfig,
};
pub use listing::{DEFAULT_ORIGIN, Entry, is_known, is_named, key_names, list, named, nearest_key};
pub use load::{ConfigSources, Flags, Loaded, load, system_file, user_file};
pub use places::Places;
pub use problem::ConfigProblem;
pub use project_file::{PROJECT_FILE, project_file};
pub use shown::ShownValue;
pub use template::template_file;
pub use trust::{Restricted, Trust, TrustRecords};

/// Name of [`Config::llm`] in roles and stages.
pub const DEFAULT_MODEL: &str = "default";

/// The resolved configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The default model.
    pub llm: ModelConfig,
    /// Additional models, by name.
    pub models: BTreeMap<String, ModelConfig>,
    /// Which model plays which role.
    pub roles: Roles,
    /// How people review.
    pub review: Review,
    /// Limits on sizes and counts.
    pub limits: LimitsConfig,
    /// Settings of single stages.
    pub stages: BTreeMap<Stage, StageConfig>,
    /// Budget of a session.
    pub budget: Budget,
    /// The repository's conventions.
    pub project: Project,
    /// What commands are allowed to do.
    pub sandbox: SandboxConfig,
    /// User-defined tools.
    pub tools: BTreeMap<String, ToolConfig>,
    /// Why a model (a key of `models`, or `default`) cannot be used: a variable is not set.
    pub unusable: BTreeMap<String, String>,
}
