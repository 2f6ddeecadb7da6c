//! Calls written as markup: a name, and each argument in its own tags.

use serde_json::{Map, Value};

use super::json::FoundCalls;
use crate::model::{ToolCall, ToolSpec};

/// How a model writes one call.
pub(super) struct Markup {
    /// Characters that end the tool's name.
    name_ends: &'static [char],
    /// Start of an argument's name.
    key: &'static str,
    /// Text between the name, with its attributes, and the value.
    middle: &'static [&'static str],
    /// End of the value.
    value_ends: &'static str,
    /// End of the call.
    ends: &'static str,
    /// Values are on separate lines.
    lines: bool,
}

/// `<function=f><parameter=a>1</parameter></function>`
pub(super) const QWEN: Markup = Markup {
    name_ends: &['>'],
    key: "<parameter=",
    middle: &[">"],
    value_ends: "</parameter>",
    ends: "</function>",
    lines: true,
};

/// `<invoke name="f"><parameter name="a">1</parameter></invoke>`
pub(super) const INVOKE: Markup = Markup {
    name_ends: &['"'],
    key: "<parameter name=\"",
    middle: &[">"],
    value_ends: "</parameter>",
    ends: "</invoke>",
    lines: false,
};

/// Like [`INVOKE`], with DeepSeek's tags; `string="false"` marks a JSON value.
pub(super) const INVOKE_DSML: Markup = Markup {
    name_ends: &['"'],
    key: "<｜DSML｜parameter name=\"",
    middle: &[">"],
    value_ends: "</｜DSML｜parameter>",
    ends: "</｜DSML｜invoke>",
    lines: false,
};

/// `f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>`
pub(super) const GLM: Markup = Markup {
    name_ends: &['<', '\n'],
    key: "<arg_key>",
    middle: &["</arg_key>", "<arg_value>"],
    value_ends: "</arg_value>",
    ends: "</tool_call>",
    lines: false,
};

/// Reads the call at the start of `text`, which begins with its name.
pub(super) fn read(text: &str, form: &Markup, tools: &[ToolSpec]) -> FoundCalls {
    let name_ends = text.trim_start().find(form.name_ends)? + text.len() - text.trim_start().len();
    let name = text[..name_ends].trim();
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let mut rest = &text[name_ends..];
    // Skip the end of the tag that contains the name.
    if !form.name_ends.contains(&'<') {
        rest = rest.split_once('>')?.1;
    }
    let mut arguments = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(form.ends) {
            let arguments = Value::Object(arguments).to_string();
            let call = ToolCall { id: String::new(), name: name.to_owned(), arguments };
            return Some((vec![call], text.len() - after.len()));
        }
        let (first, others) = form.middle.split_first()?;
        let (head, mut value) = rest.strip_prefix(form.key)?.split_once(first)?;
        for middle in others {
            value = value.trim_start().strip_prefix(middle)?;
        }
        let end = value_end(value, form)?;
        let key = head.split('"').next().unwrap_or_default().trim();
        let is_json = head.contains("string=\"false\"");
        arguments.insert(key.to_owned(), typed(&value[..end], key, is_json, form.lines, tool));
        rest = &value[end + form.value_ends.len()..];
    }
}

/// The end of a value: the closing tag that is followed by another argument or the end of the call,
/// since a file's content may contain such a tag too.
fn value_end(value: &str, form: &Markup) -> Option<usize> {
    let ends = value.match_indices(form.value_ends).map(|(at, _)| at);
    let follows = |at: &usize| {
        let after = value[at + form.value_ends.len()..].trim_start();
        after.starts_with(form.key) || after.starts_with(form.ends)
    };
    let mut ends = ends.filter(follows);
    ends.next()
}

/// Converts a value to the type in the tool's schema.
fn typed(text: &str, key: &str, is_json: bool, lines: bool, tool: &ToolSpec) -> Value {
    let properties = tool.parameters.get("properties").and_then(|all| all.get(key));
    let kind = properties.and_then(|property| property.get("type")).and_then(Value::as_str);
    let mut content = text;
    if lines {
        content = content.strip_prefix('\n').unwrap_or(content);
        content = content.strip_suffix('\n').unwrap_or(content);
    }
    match kind {
        Some("string") if !is_json => content.into(),
        _ => serde_json::from_str(text.trim()).unwrap_or_else(|_| content.into()),
    }
}
