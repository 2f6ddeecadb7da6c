//! `[llm]` and `[models]`: what a model takes over from the default one, and what follows from
//! its provider and its server.

use anyhow::Result;

use super::settings::Values;
use super::{
    Api, DEFAULT_ANSWER_S, DEFAULT_MODEL, DEFAULT_RATE, HOSTED, ModelConfig, endpoint, is_loopback,
};
use crate::error::Error;

/// `[llm]`.
pub(super) fn default_model(values: &Values<'_>) -> Result<ModelConfig> {
    let provider = values.text(&["llm", "provider"]).unwrap_or_else(|| "openai".to_owned());
    let local = ModelConfig::default();
    let base = ModelConfig {
        // An agent program has a default of its own, and ours would be unknown to most.
        model: if provider == "cli" { String::new() } else { local.model.clone() },
        provider,
        ..local
    };
    finish(values, &["llm"], base)
}

/// What is not set is as in `[llm]`, except what belongs to another server: key, API, rate and time.
pub(super) fn named_model(
    values: &Values<'_>,
    name: &str,
    llm: &ModelConfig,
) -> Result<ModelConfig> {
    let key = |key: &'static str| ["models", name, key];
    if name == DEFAULT_MODEL {
        return Err(Error::model("[models.default] stands for nothing")
            .hint("the default model is described under [llm]")
            .into());
    }
    let own_provider = values.text(&key("provider"));
    let provider = own_provider.clone().unwrap_or_else(|| llm.provider.clone());
    let own_url = values.text(&key("base_url"));
    let own_key = values.get(&key("api_key")).is_some();
    // Who names a provider and a key of its own means that provider's server.
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
            model: if provider == "cli" { String::new() } else { llm.model.clone() },
            provider,
            ..llm.clone()
        }
    };
    finish(values, &["models", name], base)
}

/// Lays what is set under `section` over `base` and draws the conclusions.
fn finish(values: &Values<'_>, section: &[&str], mut model: ModelConfig) -> Result<ModelConfig> {
    fn at<'a>(section: &[&'a str], key: &'a str) -> Vec<&'a str> {
        section.iter().copied().chain([key]).collect()
    }
    let before = model.base_url.clone();
    if let Some(url) = values.text(&at(section, "base_url")) {
        if let (false, Some(problem)) = (url.is_empty(), endpoint::problem(&url)) {
            return Err(values.wrong(&at(section, "base_url"), problem));
        }
        model.base_url = trimmed(&url).to_owned();
    }
    if let Some(key) = values.text(&at(section, "api_key")) {
        if key.chars().any(char::is_control) {
            return Err(values.wrong(&at(section, "api_key"), "holds control characters"));
        }
        model.api_key = key;
    }
    model.api = match values.text(&at(section, "api")).as_deref() {
        Some("chat") => Api::Chat,
        Some("responses") => Api::Responses,
        Some(_) => Api::Auto,
        None => model.api,
    };
    if let Some(name) = values.text(&at(section, "model")) {
        // It becomes an argument of agent programs and part of a trailer.
        if name.starts_with('-') || name.chars().any(char::is_control) || name.trim().is_empty() {
            return Err(values.wrong(&at(section, "model"), "is not a model name"));
        }
        model.model = name;
    }
    model.timeout_s = values.count(&at(section, "timeout_s")).unwrap_or(model.timeout_s);
    model.context_window =
        values.count(&at(section, "context_window")).unwrap_or(model.context_window);
    model.max_retries = values.small(&at(section, "max_retries")).unwrap_or(model.max_retries);
    model.agent = values.text(&at(section, "agent")).unwrap_or(model.agent);
    match model.provider.as_str() {
        "cli" if model.agent.is_empty() => {
            let section = section.join(".");
            return Err(Error::model(format!(
                "[{section}] is an agent program, but does not say which"
            ))
            .hint("set agent to \"codex\" or \"gemini\"")
            .into());
        }
        "openai"
            if model.base_url.is_empty() && has_key(values, &at(section, "api_key"), &model) =>
        {
            model.base_url = HOSTED.to_owned();
        }
        _ => {}
    }
    let over_http = !matches!(model.provider.as_str(), "cli" | "replay");
    let remote = over_http && !model.base_url.is_empty() && !is_loopback(&model.base_url);
    let (rate, answer_s) = match before == model.base_url {
        true => (model.rate_limit, model.answer_s),
        false if remote => (Some(DEFAULT_RATE), DEFAULT_ANSWER_S),
        false => (None, 0),
    };
    model.rate_limit = values.rate(&at(section, "rate_limit")).unwrap_or(rate);
    model.answer_s = values.count(&at(section, "answer_s")).unwrap_or(answer_s);
    Ok(model)
}

/// A key that cannot be had is still a sign of the hosted server.
fn has_key(values: &Values<'_>, path: &[&str], model: &ModelConfig) -> bool {
    let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
    !model.api_key.is_empty() || values.0.get(&path).is_some_and(|setting| setting.value.is_err())
}

fn trimmed(url: &str) -> &str {
    url.trim().trim_end_matches('/')
}
