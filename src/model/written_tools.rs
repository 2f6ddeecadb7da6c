//! Describes tools in the text, for servers that accept none: the tools are in the system message,
//! and calls and results are written into the conversation.

use serde_json::{Value, json};

use super::dialect::plain_schema;
use super::{Message, Request, ToolCall};

/// Tags around a tool's result.
pub(super) const RESULT: (&str, &str) = ("<tool_response>", "</tool_response>");

const HOW: &str = "\n\n# Tools\n\nYou work with the tools below, described as JSON. To call one, write \
a block of this form and nothing like it anywhere else, then end your answer:\n\n<tool_call>\n\
{\"name\": \"NAME\", \"arguments\": {…}}\n</tool_call>\n\nFor several calls, write several blocks. \
The next \
message has a <tool_response> for each call; never write one yourself.\n\n<tools>\n";

/// Returns the request with its tools described as text.
pub(super) fn in_words(request: &Request) -> Request {
    let mut messages: Vec<Message> = Vec::new();
    if !matches!(request.messages.first(), Some(Message::System { .. })) {
        messages.push(Message::System { content: offered(request) });
    }
    for message in &request.messages {
        match message {
            Message::System { content } => {
                messages.push(Message::System { content: content.clone() + &offered(request) });
            }
            Message::User { content } => say(&mut messages, content.clone()),
            Message::Tool { content, .. } => {
                let (opens, closes) = RESULT;
                say(&mut messages, format!("{opens}\n{content}\n{closes}"));
            }
            Message::Assistant { content, tool_calls, .. } => {
                let calls = tool_calls.iter().map(written);
                let text = Some(content.clone()).filter(|content| !content.is_empty());
                let content = text.into_iter().chain(calls).collect::<Vec<_>>().join("\n");
                messages.push(Message::Assistant { content, tool_calls: Vec::new(), opaque: None });
            }
        }
    }
    Request { messages, tools: Vec::new(), ..request.clone() }
}

/// Appends to the last user message: many templates accept only one user message in a row.
fn say(messages: &mut Vec<Message>, text: String) {
    match messages.last_mut() {
        Some(Message::User { content }) => {
            content.push_str("\n\n");
            content.push_str(&text);
        }
        _ => messages.push(Message::User { content: text }),
    }
}

fn written(call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments)
        .unwrap_or_else(|_| Value::String(call.arguments.clone()));
    let call = json!({"name": call.name, "arguments": arguments});
    format!("<tool_call>\n{call}\n</tool_call>")
}

fn offered(request: &Request) -> String {
    let tools = request.tools.iter().map(|tool| {
        let mut parameters = tool.parameters.clone();
        plain_schema(&mut parameters);
        json!({"name": tool.name, "description": tool.description, "parameters": parameters})
    });
    let lines: Vec<String> = tools.map(|tool| tool.to_string()).collect();
    format!("{HOW}{}\n</tools>", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_server::request;

    #[test]
    fn tools_calls_and_results_are_written_as_text() {
        let mut request = request();
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "read_file".into(),
            arguments: r#"{"path":"a"}"#.into(),
        };
        request.messages.extend([
            Message::Assistant {
                content: "Let me look.".into(),
                tool_calls: vec![call("1"), call("2")],
                opaque: None,
            },
            Message::Tool { tool_call_id: "1".into(), content: "text".into() },
            Message::Tool { tool_call_id: "2".into(), content: "more".into() },
            Message::User { content: "Go on.".into() },
        ]);
        let told = in_words(&request);
        assert!(told.tools.is_empty());
        let [Message::System { content: system }, Message::User { content: work }, said, last] =
            &told.messages[..]
        else {
            panic!("{:?}", told.messages);
        };
        assert!(system.starts_with("rules\n\n# Tools"), "{system}");
        assert!(system.contains(r#""name":"read_file""#) && system.contains("reads"), "{system}");
        assert_eq!(work, "work");
        let one =
            "<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>";
        let Message::Assistant { content, tool_calls, .. } = said else { panic!("{said:?}") };
        assert_eq!((content, tool_calls.len()), (&format!("Let me look.\n{one}\n{one}"), 0));
        let Message::User { content } = last else { panic!("{last:?}") };
        let results =
            "<tool_response>\ntext\n</tool_response>\n\n<tool_response>\nmore\n</tool_response>";
        assert_eq!(content, &format!("{results}\n\nGo on."));
    }

    #[test]
    fn written_calls_are_read_back() {
        let mut request = request();
        let call = ToolCall {
            id: "1".into(),
            name: "read_file".into(),
            arguments: r#"{"path":"</tool_call>"}"#.into(),
        };
        let mut reply = crate::model::Reply { content: written(&call), ..Default::default() };
        crate::model::prose::adopt_calls(&mut reply, &request.tools, 1);
        assert_eq!(reply.tool_calls[0].arguments, call.arguments);
        request.messages.clear();
        assert!(matches!(&in_words(&request).messages[..], [Message::System { .. }]));
    }
}
