//! Tool calls and verdicts that a model wrote into its text instead of the place for them.
//!
//! Small models do, and so do agents without tools. Only what names an offered tool counts as a
//! call; everything else stays text.

use serde_json::{Map, Value};

use super::stream::made_up_id;
use super::{Reply, ToolCall, ToolSpec};

/// What a marker in the text says about a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// Good as it is.
    Pass,
    /// Another draft is needed.
    NeedsRevision,
    /// Not to be delivered at all.
    Rejected,
}

/// The verdict of a critic or self-reviewer, `<review>PASS</review>` or
/// `<review>NEEDS_REVISION</review>`; the last one counts.
pub fn verdict_marker(text: &str) -> Option<Marker> {
    let mut found = None;
    for piece in text.split("<review>").skip(1) {
        let Some((word, _)) = piece.split_once("</review>") else { continue };
        found = match word.trim().to_ascii_uppercase().as_str() {
            "PASS" | "PASSED" => Some(Marker::Pass),
            "NEEDS_REVISION" | "NEEDS REVISION" => Some(Marker::NeedsRevision),
            _ => found,
        };
    }
    found
}

/// The verdict of a challenger: the last of `APPROVED`, `NEEDS_REVISION`, `REJECTED` that stands
/// alone in capitals and is not negated.
pub fn challenge_marker(text: &str) -> Option<Marker> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
    let mut before = "";
    let mut found = None;
    for word in words {
        let marker = match word {
            "APPROVED" => Some(Marker::Pass),
            "NEEDS_REVISION" => Some(Marker::NeedsRevision),
            "REJECTED" => Some(Marker::Rejected),
            _ => None,
        };
        if marker.is_some() && !before.eq_ignore_ascii_case("not") {
            found = marker;
        }
        before = word;
    }
    found
}

/// Turns calls written in a reply's text into calls, where it has none of its own, and takes
/// them out of the text.
pub fn adopt_calls(reply: &mut Reply, tools: &[ToolSpec], turn: u32) {
    if !reply.tool_calls.is_empty() || tools.is_empty() {
        return;
    }
    let (rest, mut calls) = extract(&reply.content, tools);
    if calls.is_empty() {
        return;
    }
    for (n, call) in calls.iter_mut().enumerate() {
        call.id = made_up_id(turn, n);
    }
    reply.content = rest;
    reply.tool_calls = calls;
    // The text as it came holds the calls, which would be sent back twice.
    if let Some(opaque) = &mut reply.opaque {
        opaque.message.remove("content");
    }
}

/// What may stand around a written call. No closer: the call is the whole text.
const FRAMES: [(&str, &str); 4] = [
    ("```", "```"),
    ("<tool_call>", "</tool_call>"),
    ("<function_call>", "</function_call>"),
    ("[TOOL_CALLS]", ""),
];

fn extract(text: &str, tools: &[ToolSpec]) -> (String, Vec<ToolCall>) {
    if let Some((calls, end)) = written_calls(text, tools)
        && text[end..].trim().is_empty()
    {
        return (String::new(), calls);
    }
    let mut rest = String::new();
    let mut calls = Vec::new();
    let mut left = text;
    while let Some((at, opener, closer)) = next_frame(left) {
        let inside = &left[at + opener.len()..];
        // The rest of a fence's line is its language.
        let inside = match (opener, inside.split_once('\n')) {
            ("```", Some((language, block))) if is_word(language) => block,
            _ => inside,
        };
        let framed = written_calls(inside, tools).and_then(|(found, end)| {
            let after = inside[end..].trim_start();
            let closed = after.strip_prefix(closer).or(after.is_empty().then_some(after));
            closed.map(|after| (found, after))
        });
        if let Some((found, after)) = framed {
            rest.push_str(&left[..at]);
            calls.extend(found);
            left = after;
        } else {
            // Not ours: it stays, its closer included, which would else look like an opener.
            let end = match inside.find(closer) {
                Some(end) if !closer.is_empty() => end + closer.len(),
                _ => 0,
            };
            let kept = left.len() - inside.len() + end;
            rest.push_str(&left[..kept]);
            left = &left[kept..];
        }
    }
    rest.push_str(left);
    (rest.trim().to_owned(), calls)
}

fn next_frame(text: &str) -> Option<(usize, &'static str, &'static str)> {
    let frames = FRAMES.iter();
    let found = frames.filter_map(|(open, close)| text.find(open).map(|at| (at, *open, *close)));
    found.min_by_key(|(at, ..)| *at)
}

fn is_word(language: &str) -> bool {
    language.trim().chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
}

/// The calls at the beginning of `text` and where they end: one JSON value or several, each of
/// them nothing but calls to offered tools.
fn written_calls(text: &str, tools: &[ToolSpec]) -> Option<(Vec<ToolCall>, usize)> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let mut calls = Vec::new();
    let mut end = 0;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    // What follows the last value is no JSON, but a closing fence.
    while let Some(Ok(value)) = values.next() {
        let more = calls_of(&value, tools)?;
        calls.extend(more);
        end = values.byte_offset();
    }
    (!calls.is_empty()).then_some((calls, end))
}

fn calls_of(value: &Value, tools: &[ToolSpec]) -> Option<Vec<ToolCall>> {
    match value {
        Value::Array(items) => {
            let calls: Option<Vec<_>> = items.iter().map(|item| calls_of(item, tools)).collect();
            calls.map(|calls| calls.into_iter().flatten().collect())
        }
        Value::Object(fields) => match fields.get("tool_calls") {
            Some(calls @ Value::Array(_)) if fields.len() == 1 => calls_of(calls, tools),
            _ => call_of(fields, tools).map(|call| vec![call]),
        },
        _ => None,
    }
}

fn call_of(fields: &Map<String, Value>, tools: &[ToolSpec]) -> Option<ToolCall> {
    if let Some(Value::Object(function)) = fields.get("function") {
        return call_of(function, tools);
    }
    let name_keys = ["name", "tool", "tool_name", "function", "function_name"];
    let argument_keys = ["arguments", "parameters", "args", "input", "tool_input"];
    let known = |key: &String| {
        name_keys.contains(&key.as_str())
            || argument_keys.contains(&key.as_str())
            || matches!(key.as_str(), "id" | "type")
    };
    // Other keys mean data that happens to have a name: a package.json is no call.
    if !fields.keys().all(known) {
        return None;
    }
    let name = name_keys.iter().find_map(|key| fields.get(*key)).and_then(Value::as_str)?.trim();
    tools.iter().find(|tool| tool.name == name)?;
    let arguments = match argument_keys.iter().find_map(|key| fields.get(*key)) {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Some(ToolCall { id: String::new(), name: name.to_owned(), arguments })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn adopted(text: &str) -> (String, Vec<(String, String)>) {
        let spec = |name: &str| ToolSpec {
            name: name.into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        };
        let mut reply = Reply { content: text.into(), ..Reply::default() };
        adopt_calls(&mut reply, &[spec("read_file"), spec("get_plan")], 1);
        (reply.content, reply.tool_calls.into_iter().map(|c| (c.name, c.arguments)).collect())
    }

    fn call(name: &str, arguments: &str) -> (String, String) {
        (name.into(), arguments.into())
    }

    #[test]
    fn a_call_is_found_however_it_is_written() {
        let path = call("read_file", r#"{"path":"a"}"#);
        for text in [
            "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```",
            "```\n{\"tool\": \"read_file\", \"parameters\": {\"path\": \"a\"}}",
            "<tool_call>\n{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\"}</tool_call>",
            "{\"function\":{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}},\"type\":\"function\"}",
            "```{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}```",
            "[TOOL_CALLS][{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}]",
        ] {
            assert_eq!(adopted(text), (String::new(), vec![path.clone()]), "{text}");
        }
    }

    #[test]
    fn several_calls_are_taken_out_and_the_text_stays() {
        let text = "First:\n```json\n[{\"name\":\"get_plan\"},{\"name\":\"read_file\",\"arguments\":{\"path\":\"```\"}}]\n```\nthen\n```\n{\"tool\":\"get_plan\"}\n{\"tool\":\"get_plan\"}\n```\nbye";
        let (rest, calls) = adopted(text);
        assert_eq!(rest, "First:\n\nthen\n\nbye");
        let plan = call("get_plan", "{}");
        let read = call("read_file", r#"{"path":"```"}"#);
        assert_eq!(calls, [plan.clone(), read, plan.clone(), plan]);
    }

    #[test]
    fn what_is_no_call_stays_text() {
        for text in [
            "```json\n{\"name\": \"rm\", \"arguments\": {}}\n```",
            "```json\n{\"name\": \"read_file\", \"version\": \"1.0\"}\n```",
            "```json\n{\"name\": \"read_file\", \"arguments\": \n```",
            "```rust\nfn main() {}\n```",
            "[1, 2]",
            "Done.",
        ] {
            assert_eq!(adopted(text), (text.to_owned(), vec![]), "{text}");
        }
    }

    #[test]
    fn a_call_after_another_block_is_found() {
        let text = "```rust\nlet a;\n```\n```json\n{\"name\":\"get_plan\",\"arguments\":{}}\n```";
        let (rest, calls) = adopted(text);
        assert_eq!(rest, "```rust\nlet a;\n```");
        assert_eq!(calls.len(), 1);
    }

    #[test]
    fn native_calls_come_first() {
        let call = ToolCall { id: "x".into(), name: "get_plan".into(), arguments: "{}".into() };
        let text = "{\"name\":\"get_plan\"}";
        let mut reply = Reply { content: text.into(), tool_calls: vec![call], ..Reply::default() };
        let tool =
            ToolSpec { name: "get_plan".into(), description: String::new(), parameters: json!({}) };
        adopt_calls(&mut reply, &[tool], 1);
        assert_eq!((reply.content.as_str(), reply.tool_calls.len()), (text, 1));
    }

    #[test]
    fn the_last_marker_counts() {
        assert_eq!(verdict_marker("ok <review>PASS</review>"), Some(Marker::Pass));
        let text = "say <review>PASS</review> or… <review> needs_revision </review>";
        assert_eq!(verdict_marker(text), Some(Marker::NeedsRevision));
        assert_eq!(verdict_marker("<review>maybe</review> PASS"), None);
        assert_eq!(challenge_marker("Verdict: **APPROVED**"), Some(Marker::Pass));
        assert_eq!(challenge_marker("REJECTED: no tests"), Some(Marker::Rejected));
        assert_eq!(challenge_marker("not APPROVED, NEEDS_REVISION"), Some(Marker::NeedsRevision));
        assert_eq!(challenge_marker("it was approved"), None);
    }
}
