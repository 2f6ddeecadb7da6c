//! Reads YAML as JSON. All scalars are text, and aliases are refused: nested ones grow without limit.

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

/// Maximum number of levels.
const DEEPEST: usize = 32;

/// An open list or mapping, and the key in it that waits for its value.
enum Open {
    List(Vec<Value>),
    Mapping(Map<String, Value>, Option<String>),
}

/// Reads the first document of a text.
///
/// # Errors
/// What is wrong with the text, with its line.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        if open.len() > DEEPEST {
            return Err(format!("more than {DEEPEST} levels"));
        }
        let (event, at) =
            event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
        let whole = match event {
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Mapping(Map::new(), None));
                continue;
            }
            Event::Alias(_) => {
                return Err(format!("line {}: an alias (*name) is not read", at.start.line()));
            }
            Event::Scalar(text, ..) => Value::String(text.into_owned()),
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(list)) => Value::Array(list),
                Some(Open::Mapping(mapping, _)) => Value::Object(mapping),
                None => continue,
            },
            _ => continue,
        };
        match open.last_mut() {
            None => return Ok(whole),
            Some(Open::List(list)) => list.push(whole),
            Some(Open::Mapping(mapping, key)) => match (key.take(), whole) {
                (Some(key), whole) => {
                    mapping.insert(key, whole);
                }
                (None, Value::String(name)) => *key = Some(name),
                // A list as a key: no tool writes one.
                (None, _) => *key = Some(String::new()),
            },
        }
    }
    Ok(Value::Null)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_is_read_as_text() {
        let text = "- id: \"1\"\n  title: Add: it\n";
        assert!(read(text).unwrap_err().starts_with("line 2: "), "{:?}", read(text));
        let text = "id: 1\nlist: [a, 'b c']\nmore:\n  - x\ndone: true\nlong: >-\n  one\n  two\n";
        let expected = json!({"id": "1", "list": ["a", "b c"], "more": ["x"], "done": "true", "long": "one two"});
        assert_eq!(read(text), Ok(expected));
        assert_eq!(
            read("a: &x 1\nb: *x\n"),
            Err("line 2: an alias (*name) is not read".to_owned())
        );
        assert_eq!(read(&"[".repeat(99)), Err("more than 32 levels".to_owned()));
        assert_eq!(read(""), Ok(Value::Null));
    }
}
