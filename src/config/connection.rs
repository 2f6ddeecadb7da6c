//! `[llm]` and `[models]`: what a model inherits from the default model, and the values that follow
//! from its provider and its server.
//!
//! Also the extra headers, query parameters and body fields of requests to a model server: checks
//! that they can be sent, and finds the secrets among them.

use std::collections::BTreeMap;

use anyhow::Result;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::settings::TypedSettings;
use super::{
    AGENT, Api, DEFAULT_ANSWER_S, DEFAULT_MODEL, DEFAULT_RATE, HOSTED_APIS, ModelConfig, Places,
    endpoint, hosted_api, is_loopback,
};
use crate::error::Error;
use crate::secret;

/// Reads `[llm]`.
pub(super) fn default_model(values: &TypedSettings<'_>) -> Result<ModelConfig> {
    let provider = values.read(&["llm", "provider"]).unwrap_or_else(|| {
        let has_url = values.get(&["llm", "base_url"]).is_some();
        let provider = if is_program(values, &["llm"]) && !has_url { AGENT } else { "openai" };
        provider.to_owned()
    });
    let model = default_of(&provider, &ModelConfig::default().model);
    finish(values, &["llm"], ModelConfig { model, provider, ..ModelConfig::default() })
}

/// True if a section names an agent program.
fn is_program(values: &TypedSettings<'_>, section: &[&str]) -> bool {
    let is_set = |key| values.get(&[section, &[key]].concat()).is_some();
    is_set("agent") || is_set("command")
}

/// The default model of a provider, or `other`. Agent programs have their own.
fn default_of(provider: &str, other: &str) -> String {
    match hosted_api(provider) {
        _ if provider == AGENT => String::new(),
        Some(api) if provider != "openai" => api.model.to_owned(),
        _ => other.to_owned(),
    }
}

/// Reads `[models.NAME]`. Keys that are not set are inherited from `[llm]`. If the model is on
/// another server, it does not inherit the API key, the API, the rate limit, the time limit or
/// anything sent besides the conversation.
pub(super) fn named_model(
    values: &TypedSettings<'_>,
    name: &str,
    llm: &ModelConfig,
) -> Result<ModelConfig> {
    let key = |key: &'static str| ["models", name, key];
    if name == DEFAULT_MODEL {
        return Err(Error::model("[models.default] has no meaning")
            .hint("the default model is described under [llm]")
            .into());
    }
    let agent = || is_program(values, &["models", name]).then(|| AGENT.to_owned());
    let own_provider: Option<String> = values.read(&key("provider")).or_else(agent);
    let provider = own_provider.clone().unwrap_or_else(|| llm.provider.clone());
    let own_url: Option<String> = values.read(&key("base_url"));
    let own_key = values.get(&key("api_key")).is_some();
    // A model with its own provider and its own key uses that provider's server.
    let elsewhere = own_url.is_none() && own_provider.is_some() && own_key;
    let same_server = own_url.as_ref().is_none_or(|url| trimmed(url) == llm.base_url)
        && provider == llm.provider
        && !elsewhere;
    let base = if same_server {
        ModelConfig { provider, ..llm.clone() }
    } else {
        ModelConfig {
            base_url: String::new(),
            api_key: String::new(),
            api: Api::Auto,
            rate_limit: None,
            answer_s: 0,
            max_tokens: 0,
            reasoning_effort: String::new(),
            set_in: Places::default(),
            headers: BTreeMap::new(),
            query: BTreeMap::new(),
            extra_body: Map::new(),
            model: default_of(&provider, &llm.model),
            provider,
            ..llm.clone()
        }
    };
    finish(values, &["models", name], base)
}

/// Applies the settings under `section` to `base`, then fills in the values that follow from them.
fn finish(values: &TypedSettings<'_>, section: &[&str], base: ModelConfig) -> Result<ModelConfig> {
    let at = |key| -> Vec<&str> { section.iter().copied().chain([key]).collect() };
    let is_set = |key| values.get(&at(key)).is_some();
    let mut model = base.clone();
    values.lay_over(&mut model, section);
    model.set_in.section = section.join(".");
    model.set_in.set.extend(values.places::<ModelConfig>(section));
    if let (false, Some(problem)) = (model.base_url.is_empty(), endpoint::problem(&model.base_url))
    {
        let right = "http://127.0.0.1:11434/v1";
        return Err(values.wrong_unlike(&at("base_url"), problem, right));
    }
    model.base_url = trimmed(&model.base_url).to_owned();
    if model.api_key.chars().any(char::is_control) {
        return Err(values.wrong(&at("api_key"), "contains control characters"));
    }
    if let Some(problem) = header_problem(&model.headers) {
        return Err(values.wrong(&at("headers"), &problem));
    }
    if let Some(problem) = body_problem(&model.extra_body) {
        return Err(values.wrong(&at("extra_body"), &problem));
    }
    // The name becomes an argument of agent programs and part of a trailer.
    let name = &model.model;
    let no_name =
        name.starts_with('-') || name.chars().any(char::is_control) || name.trim().is_empty();
    if is_set("model") && no_name {
        return Err(values.wrong(&at("model"), "is not a model name"));
    }
    match model.provider.as_str() {
        AGENT if model.agent.is_empty() == model.command.is_empty() => {
            let conflict = match model.agent.is_empty() {
                true => "neither agent nor command",
                false => "both agent and command",
            };
            return Err(Error::model(format!(
                "[{}] is an agent program, but sets {conflict}",
                section.join(".")
            ))
            .hint("set agent to \"claude\", \"codex\", \"gemini\" or \"opencode\"")
            .hint("or set command to your own program: command = [\"/path/to/it\"]")
            .into());
        }
        AGENT if !is_set("answer_s") => model.answer_s = endpoint::AGENT_ANSWER_S,
        "openai" if model.base_url.is_empty() && has_key(values, &at("api_key"), &model) => {
            model.base_url = HOSTED_APIS[0].base_url.to_owned();
        }
        _ => {}
    }
    let over_http = !matches!(model.provider.as_str(), AGENT | "replay");
    let remote = over_http && !model.base_url.is_empty() && !is_loopback(&model.base_url);
    if model.base_url != base.base_url {
        let (rate, answer_s) =
            if remote { (Some(DEFAULT_RATE), DEFAULT_ANSWER_S) } else { (None, 0) };
        model.rate_limit = if is_set("rate_limit") { model.rate_limit } else { rate };
        model.answer_s = if is_set("answer_s") { model.answer_s } else { answer_s };
    }
    Ok(model)
}

/// True if a key is configured. A key whose variable is not set also counts, because it still
/// selects the hosted server.
fn has_key(values: &TypedSettings<'_>, path: &[&str], model: &ModelConfig) -> bool {
    let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
    !model.api_key.is_empty() || values.0.get(&path).is_some_and(|setting| setting.value.is_err())
}

fn trimmed(url: &str) -> &str {
    url.trim().trim_end_matches('/')
}

/// Headers that belong to the connection or that git-cowork sets itself.
const OURS: [&str; 5] =
    ["host", "content-length", "content-type", "transfer-encoding", "connection"];
/// Body fields that git-cowork sets itself: they hold the request and the format of the answer.
const ASKED: [&str; 5] = ["model", "messages", "input", "tools", "stream"];

impl ModelConfig {
    /// Returns the keys of the model's server: `api_key`, and those among the extra headers, query
    /// parameters and body fields.
    pub fn secrets(&self) -> Vec<String> {
        let mut keys = vec![self.api_key.clone()];
        for (name, value) in self.headers.iter().chain(&self.query) {
            keys.extend(secret::of_setting(name, value));
        }
        of_table(&self.extra_body, &mut keys);
        keys.retain(|key| !key.is_empty());
        keys
    }
}

fn of_table(table: &Map<String, Value>, keys: &mut Vec<String>) {
    table.iter().for_each(|(name, value)| of_value(name, value, keys));
}

fn of_value(name: &str, value: &Value, keys: &mut Vec<String>) {
    match value {
        Value::String(text) => keys.extend(secret::of_setting(name, text)),
        Value::Array(items) => items.iter().for_each(|item| of_value(name, item, keys)),
        Value::Object(table) => of_table(table, keys),
        _ => {}
    }
}

/// Returns what is wrong with headers, without their values.
pub(super) fn header_problem(headers: &BTreeMap<String, String>) -> Option<String> {
    headers.iter().find_map(|(name, value)| {
        let header = HeaderName::from_bytes(name.as_bytes());
        let problem = match &header {
            Err(_) => "which is not a valid header name",
            Ok(name) if OURS.contains(&name.as_str()) => "which git-cowork sets itself",
            Ok(_) if HeaderValue::from_str(value).is_err() => {
                "whose value has characters that a header cannot contain"
            }
            Ok(_) => return None,
        };
        Some(format!("contains {name:?}, {problem}"))
    })
}

/// Returns what is wrong with an extra body.
pub(super) fn body_problem(body: &Map<String, Value>) -> Option<String> {
    let field = body.keys().find(|name| ASKED.contains(&name.as_str()))?;
    Some(format!("contains {field:?}, which git-cowork sets itself"))
}
