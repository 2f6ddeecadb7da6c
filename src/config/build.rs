//! Builds a [`Config`] from the settings: fills in defaults and checks combinations.

use std::collections::BTreeMap;

use anyhow::Result;

use super::command_tools::command_tools;
use super::connection::{default_model, named_model};
use super::fields::Section as _;
use super::layer::LayerSettings;
use super::settings::TypedSettings;
use super::value::Value;
use super::{
    Budget, Config, DEFAULT_MODEL, LimitsConfig, Price, Project, Review, Roles, SandboxConfig,
    StageConfig, Switches,
};
use crate::host::Host;
use crate::private::PrivateFiles;
use crate::stage::Stage;

/// Entry of `[sandbox] hosts` that means every server.
const EVERY_HOST: &str = "*";

impl SandboxConfig {
    /// True if agent programs may reach every server.
    pub fn opens_to_agents(&self) -> bool {
        self.network || self.hosts.iter().any(|host| host == EVERY_HOST)
    }

    /// Returns the list of servers, in the format of git's configuration, plus the entry that lets
    /// agent programs reach every server.
    pub fn hosts_with_every(&self) -> String {
        let all = self.hosts.iter().map(String::as_str).chain([EVERY_HOST]);
        all.collect::<Vec<_>>().join(", ")
    }
}

/// Builds the whole configuration.
pub(super) fn build(settings: &LayerSettings) -> Result<Config> {
    let values = TypedSettings(settings);
    let unusable = values.unset()?;
    let llm = default_model(&values)?;
    let mut config = Config {
        models: BTreeMap::new(),
        roles: roles(&values),
        review: review(&values)?,
        limits: limits(&values)?,
        stages: stages(&values),
        budget: budget(&values),
        project: project(&values)?,
        sandbox: sandbox(&values)?,
        tools: command_tools(&values)?,
        unusable,
        llm,
    };
    for name in values.names(&["models"]) {
        let model = named_model(&values, &name, &config.llm)?;
        // A model that takes its key from [llm] is unusable if that key is missing.
        let shares_key = model.base_url == config.llm.base_url
            && values.get(&["models", &name, "api_key"]).is_none();
        if let (true, Some(problem)) = (shares_key, config.unusable.get(DEFAULT_MODEL).cloned()) {
            config.unusable.entry(name.clone()).or_insert(problem);
        }
        config.models.insert(name, model);
    }
    Ok(config)
}

fn roles(values: &TypedSettings<'_>) -> Roles {
    let mut roles: Roles = values.section(&["roles"]);
    for role in [&mut roles.actor, &mut roles.critic] {
        if role.is_empty() {
            DEFAULT_MODEL.clone_into(role);
        }
    }
    roles.challenger = roles.challenger.filter(|name| !name.is_empty());
    roles
}

fn review(values: &TypedSettings<'_>) -> Result<Review> {
    let mut review: Review = values.section(&["review"]);
    let prefix = &review.comment_prefix;
    if prefix.trim().is_empty() || prefix.chars().any(char::is_control) {
        let problem = "must be visible text; a blank prefix would make every line a comment";
        return Err(values.wrong(&["review", "comment_prefix"], problem));
    }
    review.gates = Switches::read(|stage| values.read(&["stages", stage, "review"]));
    review.challenge = Switches::read(|stage| values.read(&["review", "challenge", stage]));
    Ok(review)
}

fn limits(values: &TypedSettings<'_>) -> Result<LimitsConfig> {
    let mut limits: LimitsConfig = values.section(&["limits"]);
    for key in LimitsConfig::KEYS {
        let path = ["limits", key.name];
        if let Some(Value::Range([least, most])) = values.get(&path)
            && least > most
        {
            let problem = format!("begins with the larger number ([{least}, {most}])");
            return Err(values.wrong(&path, &problem));
        }
    }
    let (timeout, max) = (limits.command_timeout_s, limits.command_timeout_max_s);
    let set = |key| values.get(&["limits", key]).is_some();
    if timeout > max {
        // If only one of the two is set, the other gets the same value.
        match (set("command_timeout_s"), set("command_timeout_max_s")) {
            (true, true) => {
                let problem = format!("is {timeout}, more than command_timeout_max_s ({max})");
                return Err(values.wrong(&["limits", "command_timeout_s"], &problem));
            }
            (true, false) => limits.command_timeout_max_s = timeout,
            (false, _) => limits.command_timeout_s = max,
        }
    }
    Ok(limits)
}

fn stages(values: &TypedSettings<'_>) -> BTreeMap<Stage, StageConfig> {
    let stage = |stage: Stage| (stage, values.section(&["stages", stage.name()]));
    Stage::ALL.into_iter().map(stage).filter(|(_, set)| *set != StageConfig::default()).collect()
}

fn budget(values: &TypedSettings<'_>) -> Budget {
    let price = |model: String| {
        let mut price: Price = values.section(&["budget", "prices", &model]);
        // Without a price for cached tokens, they cost as much as other input tokens.
        if values.get(&["budget", "prices", &model, "cached"]).is_none() {
            price.cached = price.input;
        }
        (model, price)
    };
    let prices = values.names(&["budget", "prices"]).into_iter().map(price).collect();
    Budget { prices, ..values.section(&["budget"]) }
}

fn project(values: &TypedSettings<'_>) -> Result<Project> {
    let mut project: Project = values.section(&["project"]);
    project.self_review = Switches::read(|stage| values.read(&["project", "self_review", stage]));
    if !is_ref_component(&project.branch_prefix) {
        let problem = "must be one part of a branch name, such as \"cowork\"";
        return Err(values.wrong(&["project", "branch_prefix"], problem));
    }
    if !is_subject(&project.subject) {
        let problem =
            "must be one line with {summary} or {summary_lower} in it, and {stage} if wanted";
        return Err(values.wrong(&["project", "subject"], problem));
    }
    if let Err(problem) = PrivateFiles::new(&project.private) {
        return Err(values.wrong(&["project", "private"], &problem));
    }
    let word = |c: char| c.is_ascii_alphanumeric() || "+#._-".contains(c);
    if !project.template.chars().all(word) || project.template.len() > 40 {
        let problem = "must be the name of a language, such as \"rust\"";
        return Err(values.wrong(&["project", "template"], problem));
    }
    Ok(project)
}

fn sandbox(values: &TypedSettings<'_>) -> Result<SandboxConfig> {
    let sandbox: SandboxConfig = values.section(&["sandbox"]);
    let hosts = sandbox.hosts.iter().filter(|host| *host != EVERY_HOST);
    match hosts.map(|host| host.parse::<Host>()).find_map(Result::err) {
        Some(problem) => Err(values.wrong(&["sandbox", "hosts"], &problem)),
        None => Ok(sandbox),
    }
}

/// True if `text` follows the rules of `git check-ref-format` for one component and has no leading
/// dash.
fn is_ref_component(text: &str) -> bool {
    let forbidden = |c: char| c.is_control() || " ~^:?*[\\/\u{7f}".contains(c);
    !text.is_empty()
        && text != "@"
        && !text.starts_with(['.', '-'])
        && !text.ends_with('.')
        && !text.ends_with(".lock")
        && !text.contains("..")
        && !text.contains("@{")
        && !text.chars().any(forbidden)
}

fn is_subject(template: &str) -> bool {
    let names = ["{stage}", "{summary}", "{summary_lower}"];
    let rest = names.iter().fold(template.to_owned(), |rest, name| rest.replace(name, ""));
    template.contains("{summary")
        && !template.chars().any(char::is_control)
        && !rest.contains(['{', '}'])
}
