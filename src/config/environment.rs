//! The settings that come from environment variables, such as `COWORK_LLM_MODEL`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::layer::{self, LayerSettings};
use super::value::Value;
use super::{ANTHROPIC, HOSTED_APIS, HostedApi, hosted_api, schema};

/// Returns the settings of these variables over the settings `below`; `has_url` is true if an option
/// of the command line names a server.
pub(super) fn environment(
    env: &BTreeMap<String, String>,
    has_url: bool,
    below: &LayerSettings,
) -> Result<LayerSettings> {
    let set = |name: &'static str| {
        env.get(name).filter(|value| !value.is_empty()).map(|value| (name, value))
    };
    // The variables that other programs of the same provider read.
    let api = provider(below, &["llm"]).and_then(hosted_api).unwrap_or(&HOSTED_APIS[0]);
    let their_url = match api.provider {
        ANTHROPIC => set("ANTHROPIC_BASE_URL"),
        "openai" => set("OPENAI_BASE_URL"),
        _ => None,
    };
    let url = set("COWORK_LLM_BASE_URL").or(their_url);
    let model = set("COWORK_LLM_MODEL");
    // If a server is configured together with its key, do not send it another server's key that the
    // environment contains for some other program.
    let is_set = |key: &str| {
        let setting = below.get(&path(&["llm", key]));
        setting.is_some_and(|s| !matches!(&s.value, Ok(Value::Text(text)) if text.is_empty()))
    };
    let server_has_key = is_set("api_key") && is_set("base_url") && url.is_none() && !has_url;
    // The key of a hosted API is for its own server.
    let preset = below.get(&path(&["llm", "base_url"])).is_some_and(|url| url.preset);
    let elsewhere =
        !["openai", ANTHROPIC].contains(&api.provider) && (url.is_some() || has_url || !preset);
    let provider_key = || if server_has_key || elsewhere { None } else { set(api.key) };
    let key = set("COWORK_LLM_API_KEY").or_else(provider_key);
    let pairs: Vec<(&str, &str, &str)> =
        [("llm.base_url", url), ("llm.model", model), ("llm.api_key", key)]
            .into_iter()
            .filter_map(|(key, set)| set.map(|(name, value)| (key, value.as_str(), name)))
            .collect();
    let mut settings = layer::from_pairs(&pairs)?;
    for other in HOSTED_APIS[1..].iter().filter(|other| other.provider != api.provider) {
        let Some((name, key)) = set(other.key) else { continue };
        for model in keyless(below, other) {
            settings.extend(layer::from_path(path(&["models", &model, "api_key"]), key, name)?);
        }
    }
    Ok(settings)
}

fn path(parts: &[&str]) -> schema::Path {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn provider<'s>(settings: &'s LayerSettings, section: &[&str]) -> Option<&'s str> {
    match &settings.get(&path(&[section, &["provider"]].concat()))?.value {
        Ok(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// Returns the models on a hosted API's own server that have no key: they get the usual key.
fn keyless(settings: &LayerSettings, api: &HostedApi) -> Vec<String> {
    let names = settings.keys().filter(|path| path.len() == 3 && path[0] == "models");
    let names: BTreeSet<&String> = names.map(|path| &path[1]).collect();
    let fits = |name: &&&String| {
        let setting = |key: &str| settings.get(&path(&["models", name, key]));
        provider(settings, &["models", name]) == Some(api.provider)
            && setting("api_key").is_none()
            && setting("base_url").is_some_and(|url| url.preset)
    };
    names.iter().filter(fits).map(|name| (*name).clone()).collect()
}
