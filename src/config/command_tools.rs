//! User-defined tools (`[tools.NAME]`): the checks that decide whether a tool can be offered to a
//! model.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Map, Value as Json, json};

use super::schema;
use super::settings::TypedSettings;
use super::{Switches, ToolConfig};
use crate::error::Error;
use crate::stage::Stage;
use crate::stages;

/// Maximum size of the names, descriptions and schemas of tools in one stage, in bytes: every
/// request of the stage contains them.
const MOST: usize = 5_000;
/// Maximum number of characters of a tool name: every server accepts that many.
const LONGEST_NAME: usize = 64;
/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];

impl ToolConfig {
    /// True if the tool is offered to the actor of `stage`.
    pub fn is_offered_in(&self, stage: Stage) -> bool {
        self.stages.get(stage).unwrap_or(stages::row(stage).writes_code())
    }

    /// Returns the approximate number of bytes that the tool adds to a request.
    fn bytes(&self, name: &str) -> usize {
        json!({"name": name, "description": self.description, "parameters": self.schema})
            .to_string()
            .len()
    }
}

/// Reads every `[tools.NAME]`.
pub(super) fn command_tools(values: &TypedSettings<'_>) -> Result<BTreeMap<String, ToolConfig>> {
    let mut tools = BTreeMap::new();
    for name in values.names(&["tools"]) {
        tools.insert(name.clone(), command_tool(values, &name)?);
    }
    for stage in Stage::ALL {
        let stage_tools =
            tools.iter().filter(|(_, tool): &(_, &ToolConfig)| tool.is_offered_in(stage));
        let bytes: usize = stage_tools.map(|(name, tool)| tool.bytes(name)).sum();
        if bytes > MOST {
            return Err(Error::model(format!(
                "the tools that [tools] offers in {stage} add {bytes} bytes to every request; at \
                 most {MOST} are allowed"
            ))
            .hint("shorten their descriptions and schemas, or offer fewer of them: stages under [tools.NAME]")
            .into());
        }
    }
    Ok(tools)
}

fn command_tool(values: &TypedSettings<'_>, name: &str) -> Result<ToolConfig> {
    let mut tool: ToolConfig = values.section(&["tools", name]);
    tool.stages = Switches::read(|stage| values.read(&["tools", name, "stages", stage]));
    if !is_name(name) {
        let problem = format!(
            "is not a valid tool name: use up to {LONGEST_NAME} letters, digits, _ and -, a letter first"
        );
        return Err(wrong(values, name, &problem));
    }
    if stages::has_tool(name) {
        return Err(wrong(values, name, "has the name of a built-in tool"));
    }
    for (key, text) in [("command", &tool.command), ("description", &tool.description)] {
        if text.trim().is_empty() {
            return Err(wrong(values, name, &format!("has no {key}")));
        }
    }
    let judging = |stage: &Stage| stages::row(*stage).judges && tool.is_offered_in(*stage);
    if let Some(stage) = Stage::ALL.iter().find(|stage| judging(stage)) {
        let problem = format!("lists {stage} in its stages, but that stage is read-only");
        return Err(wrong(values, name, &problem));
    }
    tool.schema.entry("type").or_insert(json!("object"));
    if !tool.schema.contains_key("additionalProperties") {
        tool.schema.entry("properties").or_insert(json!({}));
    }
    if let Some(problem) = schema_problem(&tool.schema, "schema") {
        return Err(wrong(values, name, &format!("has an invalid schema: {problem}")));
    }
    if tool.schema["type"] != "object" {
        return Err(wrong(values, name, "has an invalid schema: schema.type must be \"object\""));
    }
    Ok(tool)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        && name.len() <= LONGEST_NAME
}

/// Returns what is wrong with a schema. Checks only what servers reject and what is needed to
/// read calls.
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
    let is_property = |name: &Json| name.as_str().is_some_and(|name| properties.contains_key(name));
    match schema.get("required")? {
        Json::Array(names) if names.iter().all(is_property) => None,
        _ => Some(problem()),
    }
}

/// Makes an error about a tool; the message names the place where the tool is configured.
fn wrong(values: &TypedSettings<'_>, name: &str, problem: &str) -> anyhow::Error {
    let path = ["tools".to_owned(), name.to_owned()];
    let settings = values.0.iter().find(|(key, _)| key.starts_with(&path));
    let origin = settings.map_or("", |(_, setting)| &setting.origin);
    Error::model(format!("`{}` in {origin} {problem}", schema::brief(&path)))
        .hint("see what a tool has: git cowork man agents")
        .into()
}
