//! Tools of the user's own (`[tools.NAME]`): what can be offered to a model as one.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Map, Value as Json, json};

use super::ToolConfig;
use super::build::switches;
use super::schema;
use super::settings::Values;
use crate::error::Error;
use crate::stage::Stage;
use crate::stages;

/// Bytes of names, descriptions and schemas that one stage may have: they are in each of its requests.
const MOST: usize = 5_000;
/// Characters of a name that every server takes.
const LONGEST_NAME: usize = 64;
/// The types of a JSON schema.
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];

impl ToolConfig {
    /// Whether the actor of `stage` is offered it.
    pub fn is_offered_in(&self, stage: Stage) -> bool {
        self.stages.of(stage).unwrap_or(stages::row(stage).writes_code())
    }

    /// What it adds to a request, about.
    fn bytes(&self, name: &str) -> usize {
        json!({"name": name, "description": self.description, "parameters": self.schema})
            .to_string()
            .len()
    }
}

/// Every `[tools.NAME]`.
pub(super) fn command_tools(values: &Values<'_>) -> Result<BTreeMap<String, ToolConfig>> {
    let mut tools = BTreeMap::new();
    for name in values.names(&["tools"]) {
        tools.insert(name.clone(), command_tool(values, &name)?);
    }
    for stage in Stage::ALL {
        let offered = tools.iter().filter(|(_, tool): &(_, &ToolConfig)| tool.is_offered_in(stage));
        let bytes: usize = offered.map(|(name, tool)| tool.bytes(name)).sum();
        if bytes > MOST {
            return Err(Error::model(format!(
                "the tools that [tools] offers in {stage} take {bytes} bytes of every request, and at \
                 most {MOST} are allowed"
            ))
            .hint("shorten their descriptions and schemas, or offer fewer of them: stages under [tools.NAME]")
            .into());
        }
    }
    Ok(tools)
}

fn command_tool(values: &Values<'_>, name: &str) -> Result<ToolConfig> {
    let mut tool: ToolConfig = values.section(&["tools", name]);
    tool.stages = switches(|stage| values.read(&["tools", name, "stages", stage]));
    if !is_name(name) {
        let problem = format!(
            "is not a name for a tool: letters, digits, _ and -, a letter first, at most {LONGEST_NAME}"
        );
        return Err(wrong(values, name, &problem));
    }
    if stages::has_tool(name) {
        return Err(wrong(values, name, "has the name of a tool that the program has itself"));
    }
    for (key, text) in [("command", &tool.command), ("description", &tool.description)] {
        if text.trim().is_empty() {
            return Err(wrong(values, name, &format!("has no {key}")));
        }
    }
    let judging = |stage: &Stage| stages::row(*stage).judges && tool.is_offered_in(*stage);
    if let Some(stage) = Stage::ALL.iter().find(|stage| judging(stage)) {
        let problem = format!("names {stage} in its stages, where everybody only reads");
        return Err(wrong(values, name, &problem));
    }
    tool.schema.entry("type").or_insert(json!("object"));
    if !tool.schema.contains_key("additionalProperties") {
        tool.schema.entry("properties").or_insert(json!({}));
    }
    if let Some(problem) = schema_problem(&tool.schema, "schema") {
        return Err(wrong(values, name, &format!("has no usable schema: {problem}")));
    }
    if tool.schema["type"] != "object" {
        return Err(wrong(values, name, "has no usable schema: schema.type must be \"object\""));
    }
    Ok(tool)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        && name.len() <= LONGEST_NAME
}

/// What is wrong with a schema, as far as servers refuse it and calls are read by it.
fn schema_problem(schema: &Map<String, Json>, at: &str) -> Option<String> {
    let is_type = |kind: &Json| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    let types = match schema.get("type") {
        None => true,
        Some(Json::Array(kinds)) => kinds.iter().all(is_type),
        Some(kind) => is_type(kind),
    };
    if !types {
        return Some(format!("{at}.type must be one of {}", TYPES.join(", ")));
    }
    let within = |schema: &Json, at: &str| match schema {
        Json::Object(schema) => schema_problem(schema, at),
        Json::Bool(_) => None,
        _ => Some(format!("{at} must be a table")),
    };
    let none = Map::new();
    let properties = match schema.get("properties") {
        None => &none,
        Some(Json::Object(properties)) => properties,
        Some(_) => return Some(format!("{at}.properties must be a table")),
    };
    let mut inner = properties.iter();
    let inner = inner.find_map(|(name, schema)| within(schema, &format!("{at}.properties.{name}")));
    let items = || schema.get("items").and_then(|items| within(items, &format!("{at}.items")));
    inner.or_else(items).or_else(|| required_problem(schema, properties, at)).or_else(|| {
        let words = schema.get("enum").is_some_and(|words| !words.is_array());
        words.then(|| format!("{at}.enum must be a list"))
    })
}

fn required_problem(
    schema: &Map<String, Json>,
    properties: &Map<String, Json>,
    at: &str,
) -> Option<String> {
    let problem = || format!("{at}.required must be a list of names under {at}.properties");
    let known = |name: &Json| name.as_str().is_some_and(|name| properties.contains_key(name));
    match schema.get("required")? {
        Json::Array(names) if names.iter().all(known) => None,
        _ => Some(problem()),
    }
}

/// An error about a tool, with the place where it is described.
fn wrong(values: &Values<'_>, name: &str, problem: &str) -> anyhow::Error {
    let path = ["tools".to_owned(), name.to_owned()];
    let settings = values.0.iter().find(|(key, _)| key.starts_with(&path));
    let origin = settings.map_or("", |(_, setting)| &setting.origin);
    Error::model(format!("`{}` in {origin} {problem}", schema::brief(&path)))
        .hint("what it may say is in the README, section \"Tools of your own\"")
        .into()
}
