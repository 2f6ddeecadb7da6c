//! The settings that come from environment variables, such as `COWORK_LLM_MODEL`.

use std::collections::BTreeSet;

use anyhow::Result;

use super::layer::{self, Settings};
use super::load::Sources;
use super::value::Value;
use super::{ANTHROPIC, schema};

/// Variable from which programs for Claude's own API read its key.
const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";

pub(super) fn environment(sources: &Sources, below: &Settings) -> Result<Settings> {
    let set = |name: &'static str| {
        sources.env.get(name).filter(|value| !value.is_empty()).map(|value| (name, value))
    };
    // The variables that other programs of the same provider read.
    let (their_url, their_key) = match is_anthropic(below, &["llm"]) {
        true => ("ANTHROPIC_BASE_URL", ANTHROPIC_KEY),
        false => ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    };
    let url = set("COWORK_LLM_BASE_URL").or_else(|| set(their_url));
    let model = set("COWORK_LLM_MODEL");
    // If a server is configured together with its key, do not send it another server's key that the
    // environment contains for some other program.
    let configured = |key: &str| {
        let setting = below.get(&path(&["llm", key]));
        setting.is_some_and(|s| !matches!(&s.value, Ok(Value::Text(text)) if text.is_empty()))
    };
    let paired = configured("api_key")
        && configured("base_url")
        && url.is_none()
        && sources.flags.base_url.is_none();
    let key = set("COWORK_LLM_API_KEY").or_else(|| if paired { None } else { set(their_key) });
    let pairs: Vec<(&str, &str, &str)> =
        [("llm.base_url", url), ("llm.model", model), ("llm.api_key", key)]
            .into_iter()
            .filter_map(|(key, set)| set.map(|(name, value)| (key, value.as_str(), name)))
            .collect();
    let mut settings = layer::from_pairs(&pairs)?;
    if let (false, Some((name, key))) = (is_anthropic(below, &["llm"]), set(ANTHROPIC_KEY)) {
        for model in keyless_claudes(below) {
            settings.extend(layer::from_path(path(&["models", &model, "api_key"]), key, name)?);
        }
    }
    Ok(settings)
}

fn path(parts: &[&str]) -> schema::Path {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn is_anthropic(settings: &Settings, section: &[&str]) -> bool {
    let setting = settings.get(&path(&[section, &["provider"]].concat()));
    setting.is_some_and(|s| matches!(&s.value, Ok(Value::Text(text)) if text == ANTHROPIC))
}

/// Returns the models on Claude's own server that have no key: they get the usual key.
fn keyless_claudes(settings: &Settings) -> Vec<String> {
    let names = settings.keys().filter(|path| path.len() == 3 && path[0] == "models");
    let names: BTreeSet<&String> = names.map(|path| &path[1]).collect();
    let fits = |name: &&&String| {
        let of = |key: &str| settings.get(&path(&["models", name, key]));
        is_anthropic(settings, &["models", name])
            && of("api_key").is_none()
            && of("base_url").is_some_and(|url| url.preset)
    };
    names.iter().filter(fits).map(|name| (*name).clone()).collect()
}
