//! Converts what a model wrote into arguments that fit a tool's schema: lenient if the meaning is
//! clear, otherwise with an error that names the wrong field.

use serde_json::{Map, Number, Value};

use crate::artifact::Criterion;
use crate::artifact::sections::item_of;
use crate::model::arguments::{kind_of, parse, read};

/// Fits arguments to a tool's schema. The second value lists what was changed or left out, as notes
/// for the model.
///
/// # Errors
///
/// All fields that are missing or have the wrong type, then the unknown ones, for the model.
pub fn fit(schema: &Value, given: Map<String, Value>) -> Result<(Value, Vec<String>), String> {
    let (mut notes, mut wrong) = (Vec::new(), Vec::new());
    let fitted = fit_object(schema, given, "", &mut notes, &mut wrong);
    if wrong.is_empty() { Ok((Value::Object(fitted), notes)) } else { Err(wrong.join("; ")) }
}

fn fit_object(
    schema: &Value,
    given: Map<String, Value>,
    at: &str,
    notes: &mut Vec<String>,
    wrong: &mut Vec<String>,
) -> Map<String, Value> {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let mut fitted = Map::new();
    let mut unknown = Vec::new();
    let has_id = id_name(schema).is_some_and(|name| given.contains_key(name));
    for (key, value) in given {
        let known = properties
            .get_key_value(&key)
            .or_else(|| properties.iter().find(|(name, _)| plain(name) == plain(&key)))
            .or_else(|| {
                // Accept `id` instead of `task_id` if the tool has `task_id`, and vice versa.
                let name = id_name(schema).filter(|_| !has_id)?;
                (key == "id" || (name == "id" && key.ends_with("_id")))
                    .then(|| properties.get_key_value(name))?
            });
        match known {
            // Many models write `null` to leave something out.
            Some(_) if value.is_null() => {}
            Some((name, field)) => match fit_value(field, value, &format!("{at}{name}"), notes) {
                Ok(value) => {
                    fitted.insert(name.clone(), value);
                }
                Err(error) => wrong.push(error),
            },
            // Free-form arguments, which a user's own tool may have.
            None if is_open(schema) => {
                fitted.insert(key, value);
            }
            // A tool without arguments accepts anything.
            None if properties.is_empty() => {}
            // Fields of a record that the model must not set.
            None if key == "id" => notes.push("the tool assigns ids; yours was ignored".into()),
            None if key == "status" => {
                notes.push("git-cowork sets the status; yours was ignored".into())
            }
            None => unknown.push(key),
        }
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<_> = required.filter(|name| !fitted.contains_key(*name)).collect();
    let misfit = |name: &&&str| !wrong.iter().any(|w| w.starts_with(&format!("{at}{name} ")));
    let missing: Vec<_> = missing.iter().filter(misfit).map(|name| format!("{at}{name}")).collect();
    if !missing.is_empty() {
        wrong.push(format!("missing: {}", missing.join(", ")));
    }
    if !unknown.is_empty() {
        let names: Vec<_> = properties.keys().map(String::as_str).collect();
        let unknown: Vec<_> = unknown.iter().map(|name| format!("{at}{name}")).collect();
        let told = format!("unknown: {} (known: {})", unknown.join(", "), names.join(", "));
        // If another field is wrong or missing, the unknown field may be the misspelled one, so it
        // is an error too.
        match wrong.is_empty() {
            true => notes.push(format!("ignored, because {told}")),
            false => wrong.push(told),
        }
    }
    fitted
}

/// True if an object accepts fields that its schema does not name.
fn is_open(schema: &Value) -> bool {
    match &schema["additionalProperties"] {
        Value::Null => schema["properties"].is_null(),
        allowed => *allowed != Value::Bool(false),
    }
}

/// The name of the field with the id of the tool's record, which is always the first required
/// field; `None` if the first required field is not an id.
fn id_name(schema: &Value) -> Option<&str> {
    schema["required"][0].as_str().filter(|name| *name == "id" || name.ends_with("_id"))
}

fn fit_value(
    schema: &Value,
    value: Value,
    at: &str,
    notes: &mut Vec<String>,
) -> Result<Value, String> {
    let wanted = schema["type"].as_str().unwrap_or_default();
    let fitted = match (wanted, value) {
        ("string", Value::String(text)) => return choose(schema, text, at),
        ("string", Value::Number(number)) => return choose(schema, number.to_string(), at),
        ("string", Value::Bool(flag)) => return choose(schema, flag.to_string(), at),
        // A criterion with its test, as records have it: the text says both.
        ("string", Value::Object(map)) if schema["enum"].is_null() => {
            match serde_json::from_value::<Criterion>(Value::Object(map)) {
                Ok(criterion) if !criterion.text.trim().is_empty() => {
                    Some(Value::String(item_of(&criterion)))
                }
                _ => return Err(format!("{at} must be a string, not an object without text")),
            }
        }
        // A list of lines instead of one text.
        ("string", Value::Array(items)) if schema["enum"].is_null() && all_text(&items) => {
            let lines: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            Some(Value::String(lines.join("\n")))
        }
        ("integer" | "number", Value::Number(number)) => match number.as_f64() {
            Some(float) if wanted == "integer" && float.fract() != 0.0 => None,
            Some(float) if wanted == "integer" && !number.is_i64() && !number.is_u64() => {
                #[expect(clippy::cast_possible_truncation, reason = "fraction was ruled out")]
                let whole = float as i64;
                Some(Value::from(whole))
            }
            _ => Some(Value::Number(number)),
        },
        ("integer" | "number", Value::String(text)) => match text.trim().parse::<Number>() {
            Ok(number) => return fit_value(schema, Value::Number(number), at, notes),
            Err(_) => None,
        },
        ("boolean", Value::Bool(flag)) => Some(Value::Bool(flag)),
        ("boolean", Value::String(text)) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "1" => Some(Value::Bool(true)),
            "false" | "no" | "0" | "" => Some(Value::Bool(false)),
            _ => None,
        },
        ("array", Value::Array(items)) => return fit_items(schema, items, at, notes),
        // One object instead of a list.
        ("array", Value::Object(map)) if schema["items"]["type"] == "object" => {
            return fit_items(schema, vec![Value::Object(map)], at, notes);
        }
        ("array", Value::String(text)) if schema["items"]["type"] == "object" => {
            return match read(&text) {
                Ok(Value::Array(items)) => fit_items(schema, items, at, notes),
                Ok(item @ Value::Object(_)) => fit_items(schema, vec![item], at, notes),
                Ok(_) | Err(_) => Err(format!("{at} must be a list of objects")),
            };
        }
        ("array", Value::String(text)) => return fit_items(schema, listed(&text), at, notes),
        ("object", Value::Object(map)) => return fit_nested(schema, map, at, notes),
        ("object", Value::String(text)) => match parse(&text) {
            Ok(map) => return fit_nested(schema, map, at, notes),
            Err(_) => None,
        },
        // A list such as ["prd", "code"] for a group of flags.
        ("object", Value::Array(items)) if all_text(&items) => {
            let set = |item: Value| Some((item.as_str()?.to_lowercase(), Value::Bool(true)));
            let mut map: Map<_, _> = items.into_iter().filter_map(set).collect();
            for name in schema["properties"].as_object().into_iter().flat_map(Map::keys) {
                map.entry(name.clone()).or_insert(Value::Bool(false));
            }
            return fit_nested(schema, map, at, notes);
        }
        ("", other) => Some(other),
        (_, other) => {
            return Err(format!("{at} must be {}, not {}", article(schema), kind_of(&other)));
        }
    };
    fitted.ok_or_else(|| format!("{at} must be {}", article(schema)))
}

fn fit_nested(
    schema: &Value,
    map: Map<String, Value>,
    at: &str,
    notes: &mut Vec<String>,
) -> Result<Value, String> {
    let mut wrong = Vec::new();
    let fitted = fit_object(schema, map, &format!("{at}."), notes, &mut wrong);
    if wrong.is_empty() {
        Ok(Value::Object(fitted))
    } else {
        Err(format!("{at} is not right: {}", wrong.join("; ")))
    }
}

fn fit_items(
    schema: &Value,
    items: Vec<Value>,
    at: &str,
    notes: &mut Vec<String>,
) -> Result<Value, String> {
    let fit = |(n, item)| fit_value(&schema["items"], item, &format!("{at}[{n}]"), notes);
    items.into_iter().enumerate().map(fit).collect::<Result<Vec<_>, _>>().map(Value::Array)
}

/// Converts a text to a list: a JSON list, else lines or `- ` items, else a single item.
fn listed(text: &str) -> Vec<Value> {
    let text = text.trim();
    if let Ok(Value::Array(items)) = serde_json::from_str(text) {
        return items;
    }
    let item = |line: &str| line.trim().trim_start_matches(['-', '*']).trim().to_owned();
    text.lines().map(item).filter(|line| !line.is_empty()).map(Value::String).collect()
}

fn choose(schema: &Value, text: String, at: &str) -> Result<Value, String> {
    let Some(words) = schema["enum"].as_array() else { return Ok(Value::String(text)) };
    let wanted = plain(&text);
    let word = words.iter().find(|word| word.as_str().is_some_and(|word| plain(word) == wanted));
    word.cloned().ok_or_else(|| {
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        format!("{at} must be one of {}, not '{text}'", words.join(", "))
    })
}

/// A name without case and separators: `In Progress`, `in-progress` and `inProgress` are equal.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn all_text(items: &[Value]) -> bool {
    items.iter().all(Value::is_string)
}

/// The type that a schema wants.
fn article(schema: &Value) -> String {
    match schema["type"].as_str().unwrap_or_default() {
        "array" if schema["items"]["type"] == "object" => "a list of objects".to_owned(),
        "array" => "a list of strings".to_owned(),
        "integer" => "a whole number".to_owned(),
        "object" => "an object".to_owned(),
        other => format!("a {other}"),
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
    fn a_list_of_objects_may_be_text_or_a_single_object() {
        let item = json!({"type": "object", "properties": {"a": {"type": "string"}},
                          "required": ["a"], "additionalProperties": false});
        let schema = json!({"type": "object", "required": [],
                            "properties": {"edits": {"type": "array", "items": item}}});
        let fit = |edits: Value| fit(&schema, json!({"edits": edits}).as_object().unwrap().clone());
        for edits in [json!([{"a": "x\ny"}]), json!({"a": "x\ny"}), json!("[{\"a\": \"x\ny\"}]")] {
            assert_eq!(fit(edits).unwrap().0, json!({"edits": [{"a": "x\ny"}]}));
        }
        assert!(fit(json!("x")).unwrap_err().contains("must be a list of objects"));
        assert!(fit(json!([{"b": "x"}])).unwrap_err().contains("missing: edits[0]"));
    }

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "title": {"type": "string"},
            "items": {"type": "array", "items": {"type": "string"}},
            "count": {"type": "integer"},
            "status": {"type": "string", "enum": ["in_progress", "done"]},
            "scope": {"type": "object", "properties": {"prd": {"type": "boolean"},
                "code": {"type": "boolean"}}, "required": ["prd", "code"],
                "additionalProperties": false}},
            "required": ["title"], "additionalProperties": false})
    }

    #[test]
    fn clear_values_are_fitted() {
        let given = json!({"title": 7, "items": "one", "count": "3", "status": "In Progress",
                           "scope": ["Code"], "id": "REQ-001"});
        let (fitted, notes) = fit(&schema(), map(given)).unwrap();
        assert_eq!(
            fitted,
            json!({"title": "7", "items": ["one"], "count": 3, "status": "in_progress",
                   "scope": {"prd": false, "code": true}})
        );
        assert_eq!(notes.len(), 1);
        let given = json!({"Title": "t", "items": "- a\n- b", "count": 2.0, "status": null});
        let (fitted, _) = fit(&schema(), map(given)).unwrap();
        assert_eq!(fitted, json!({"title": "t", "items": ["a", "b"], "count": 2}));
    }

    #[test]
    fn everything_wrong_is_named_at_once() {
        let given = json!({"count": "many", "status": "late", "colour": 1, "items": {"a": 1},
                           "scope": {"prd": "maybe"}});
        let error = fit(&schema(), map(given)).unwrap_err();
        for part in [
            "missing: title",
            "unknown: colour (known: title, items",
            "count must be a whole number",
            "status must be one of in_progress, done, not 'late'",
            "items must be a list of strings, not an object",
            "scope.prd must be a boolean",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn an_id_by_another_name_is_understood() {
        let by = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
        for (wanted, written) in [("id", "task_id"), ("task_id", "id"), ("task_id", "taskId")] {
            let fitted = fit(&by(wanted), map(json!({written: "x"}))).unwrap().0;
            assert_eq!(fitted, json!({wanted: "x"}), "{written}");
        }
        let twice = fit(&by("id"), map(json!({"id": "x", "feature_id": "y"})));
        assert_eq!(twice.unwrap().0, json!({"id": "x"}));
    }

    #[test]
    fn unknown_fields_are_ignored_with_a_note() {
        let given = json!({"title": "t", "colour": "red", "scope": {"prd": true, "code": true, "tests": true}});
        let (fitted, notes) = fit(&schema(), map(given)).unwrap();
        assert_eq!(fitted, json!({"title": "t", "scope": {"prd": true, "code": true}}));
        let [nested, top] = notes.as_slice() else { panic!("{notes:?}") };
        assert_eq!(nested, "ignored, because unknown: scope.tests (known: prd, code)");
        assert!(top.starts_with("ignored, because unknown: colour (known: title, "), "{top}");
    }

    #[test]
    fn a_tool_without_arguments_takes_anything() {
        let empty = json!({"type": "object", "properties": {}, "required": []});
        assert_eq!(fit(&empty, map(json!({"random": 1}))), Ok((json!({}), vec![])));
    }
}
