//! Reads a call as models write it: the tool's name, and the arguments as a JSON object.

use serde_json::{Map, Value};

use super::ToolSpec;

/// The tool that a model means: without the namespace of its training data and the channel behind
/// the name, and without the number of the call if that makes it an offered one.
pub fn tool_name<'a>(name: &'a str, tools: &[ToolSpec]) -> &'a str {
    let is_offered = |name: &str| tools.iter().any(|tool| tool.name == name);
    let short = name.split("<|").next().unwrap_or(name).trim();
    let short = short.strip_prefix("functions.").unwrap_or(short);
    let bare = short.trim_end_matches(|c: char| c.is_ascii_digit());
    let bare = bare.strip_suffix([':', '.', '_', '-', '#', ' ']).unwrap_or(short);
    if is_offered(bare) && !is_offered(short) { bare } else { short }
}

/// The arguments as an object. An empty text counts as `{}`. A code fence, text after the object,
/// raw line breaks in strings and an object wrapped in a string are accepted.
///
/// # Errors
///
/// A description of the problem and its place, for the model.
pub fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let text = unfence(text.trim());
    if text.is_empty() {
        return Ok(Map::new());
    }
    let value = read(text).map_err(|error| {
        if error.is_eof() {
            return "the arguments end in the middle of the JSON; send the whole JSON, or make \
                    smaller calls"
                .to_owned();
        }
        let place = text.lines().nth(error.line().saturating_sub(1)).unwrap_or(text);
        let start = error.column().saturating_sub(30);
        let near: String = place.chars().skip(start).take(40).collect();
        format!("the arguments are not valid JSON: {error} (near: {near})")
    })?;
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        Value::String(inner) if inner.trim_start().starts_with('{') => parse(&inner),
        Value::Array(mut items) if items.len() == 1 && items[0].is_object() => {
            match items.remove(0) {
                Value::Object(map) => Ok(map),
                _ => Ok(Map::new()),
            }
        }
        other => Err(format!("the arguments must be a JSON object, not {}", kind_of(&other))),
    }
}

/// The JSON value at the start of a text, which may break lines in strings and have commas behind
/// the last item.
pub fn read(text: &str) -> Result<Value, serde_json::Error> {
    first_value(text).or_else(|error| first_value(&repaired(text)).map_err(|_| error))
}

/// The JSON value at the start of a text. Text after an object is allowed, but not a second object:
/// it would be a call that is silently lost. Only an empty object may come before another one: some
/// servers begin with it.
fn first_value(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let Some(Ok(value @ Value::Object(_))) = values.next() else { return Err(error) };
        let rest = text[values.byte_offset()..].trim_start();
        match (value.as_object().is_some_and(Map::is_empty), rest.starts_with('{')) {
            (true, true) => first_value(rest),
            (false, true) => Err(error),
            (_, false) => Ok(value),
        }
    })
}

/// Removes the start of a code fence; its end counts as text after the object.
fn unfence(text: &str) -> &str {
    let inside = text
        .strip_prefix("```")
        .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim_start());
    inside.unwrap_or(text)
}

/// Escapes raw control characters inside strings, a frequent mistake with long content, and removes
/// commas before the end of a list or an object.
fn repaired(text: &str) -> String {
    let (mut out, mut in_string, mut after_backslash) =
        (String::with_capacity(text.len()), false, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' if !after_backslash => in_string = !in_string,
            '\n' if in_string => out.push_str("\\n"),
            '\r' if in_string => out.push_str("\\r"),
            '\t' if in_string => out.push_str("\\t"),
            _ => {}
        }
        let is_raw = in_string && matches!(c, '\n' | '\r' | '\t');
        let is_last = || text[at + 1..].trim_start().starts_with(['}', ']']);
        if !(is_raw || c == ',' && !in_string && is_last()) {
            out.push(c);
        }
        after_backslash = in_string && c == '\\' && !after_backslash;
    }
    out
}

/// The type of a value.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_name_is_that_of_an_offered_tool() {
        let tool = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            parameters: json!({}),
        };
        let tools = [tool("read_file"), tool("deploy_2")];
        for name in [
            "read_file",
            "functions.read_file",
            "functions.read_file:12",
            "read_file<|channel|>commentary",
            "read_file_0",
            " read_file ",
        ] {
            assert_eq!(tool_name(name, &tools), "read_file", "{name}");
        }
        for name in ["deploy_2", "write_file:0", "read_files", "deploy_"] {
            assert_eq!(tool_name(name, &tools), name);
        }
        assert_eq!(tool_name("functions.exit_loop<|channel|>", &tools), "exit_loop");
    }

    #[test]
    fn arguments_in_unusual_forms_are_parsed() {
        let wanted = map(json!({"a": "x"}));
        for text in [
            r#"{"a":"x"}"#,
            "```json\n{\"a\":\"x\"}\n```",
            "```{\"a\":\"x\"}```",
            r#"{"a":"x"} and that is all"#,
            r#"{"a":"x"}}"#,
            r#""{\"a\":\"x\"}""#,
            r#"[{"a":"x"}]"#,
        ] {
            assert_eq!(parse(text), Ok(wanted.clone()), "{text}");
        }
        for text in [r#"{"a":"x",}"#, r#"{}{"a":"x"}"#, r#"{} {"a":"x"} so"#] {
            assert_eq!(parse(text), Ok(wanted.clone()), "{text}");
        }
        assert_eq!(parse(r#"{"a":["x,]",], }"#), Ok(map(json!({"a": ["x,]"]}))));
        for text in ["", "  ", "null", "{}"] {
            assert_eq!(parse(text), Ok(Map::new()), "{text}");
        }
        assert_eq!(parse("{\"a\":\"x\ny\\\"\tz\"}"), Ok(map(json!({"a": "x\ny\"\tz"}))));
    }

    #[test]
    fn broken_json_says_where() {
        let error = parse(r#"{"title": "a", "description": oops}"#).unwrap_err();
        assert!(error.contains("column 31") && error.contains("oops"), "{error}");
        assert!(parse(r#"{"a": "x"} {"a": "y"}"#).unwrap_err().contains("trailing"));
        assert!(parse("[1,2]").unwrap_err().contains("must be a JSON object"));
        assert!(parse(r#"{"a": "x"#).unwrap_err().contains("end in the middle"));
    }
}
