//! Calls in prose changed at random.

use serde_json::{Map, Value, json};

use super::*;
use crate::test_random::{cases, changed, corpus};

#[test]
fn only_real_calls_are_found_in_any_text() {
    let texts = corpus("calls");
    let tools = ["read_file", "get_plan"].map(|name| ToolSpec {
        name: name.into(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}),
    });
    let mut taken = 0;
    cases(|random| {
        let text = changed(random, &texts);
        let mut reply = Reply { content: text.clone(), ..Reply::default() };
        adopt_calls(&mut reply, &tools, 1);
        if reply.tool_calls.is_empty() {
            assert_eq!(reply.content, text, "without a call the text stays as it is");
        }
        assert!(reply.content.len() <= text.len(), "{text}");
        for call in &reply.tool_calls {
            assert!(tools.iter().any(|tool| tool.name == call.name), "{}: {text}", call.name);
            // Arguments that are not JSON are the model's own text; the tool reports the error.
            let arguments = serde_json::from_str::<Map<String, Value>>(&call.arguments);
            assert!(
                arguments.is_ok() || text.contains(&call.arguments),
                "{}: {text}",
                call.arguments
            );
            taken += 1;
        }
        document_between_tags(&text);
        whole_document(&text);
    });
    assert!(taken > 0, "no text has a call");
}
