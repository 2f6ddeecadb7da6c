//! Calls and verdicts in text, in every written form in use.

use serde_json::json;

use super::*;
use crate::model::ToolCall;

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
fn a_call_as_bare_json_is_found_between_lines_of_text() {
    let text = "I save it now.\n\n{\"name\": \"get_plan\", \"arguments\": {}}\n{\n  \"tool\": \"read_file\",\n  \"args\": {\"path\": \"{\"}\n}\n\nThat is all.";
    let (rest, calls) = adopted(text);
    assert_eq!(rest, "I save it now.\n\n\nThat is all.");
    assert_eq!(calls, [call("get_plan", "{}"), call("read_file", r#"{"path":"{"}"#)]);
    let text = "{\"name\": \"rm\"}\nand\n[{\"name\": \"get_plan\"}]";
    assert_eq!(adopted(text), ("{\"name\": \"rm\"}\nand".to_owned(), vec![call("get_plan", "{}")]));
}

#[test]
fn text_without_calls_stays_text() {
    for text in [
        "See:\n{\"name\": \"read_file\", \"version\": \"1.0\"}",
        "It is {\"name\": \"read_file\"} there.",
        "{\"name\": \"get_plan\"} is the call to make.",
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

/// Each form with a call of `read_file` with a text `path` and a numeric `limit`.
const FORMS: [(&str, &str); 19] = [
    (
        "Hermes, Qwen",
        r#"<tool_call>{"name":"read_file","arguments":{"path":"a","limit":1}}</tool_call>"#,
    ),
    (
        "Qwen-Coder",
        "<tool_call><function=read_file><parameter=path>a</parameter><parameter=limit>1</parameter></function></tool_call>",
    ),
    (
        "Qwen-Coder without a frame, on lines",
        "<function=read_file>\n<parameter=path>\na\n</parameter>\n<parameter=limit>\n1\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "GLM",
        "<tool_call>read_file<arg_key>path</arg_key><arg_value>a</arg_value><arg_key>limit</arg_key><arg_value>1</arg_value></tool_call>",
    ),
    (
        "GLM 4.5, on lines",
        "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    ),
    (
        "Kimi",
        r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path":"a","limit":1}<|tool_call_end|><|tool_calls_section_end|>"#,
    ),
    (
        "DeepSeek V3",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"path\":\"a\",\"limit\":1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "DeepSeek V3.1",
        r#"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path":"a","limit":1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"#,
    ),
    (
        "DeepSeek V3.2",
        r#"<｜DSML｜function_calls><｜DSML｜invoke name="read_file"><｜DSML｜parameter name="path" string="true">a</｜DSML｜parameter><｜DSML｜parameter name="limit" string="false">1</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>"#,
    ),
    (
        "DeepSeek V4",
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"read_file\">\n<｜DSML｜parameter name=\"path\" string=\"true\">a</｜DSML｜parameter>\n<｜DSML｜parameter name=\"limit\" string=\"false\">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    (
        "MiniMax",
        r#"<minimax:tool_call><invoke name="read_file"><parameter name="path">a</parameter><parameter name="limit">1</parameter></invoke></minimax:tool_call>"#,
    ),
    ("Mistral", r#"[TOOL_CALLS][{"name":"read_file","arguments":{"path":"a","limit":1}}]"#),
    ("Mistral from v11", r#"[TOOL_CALLS]read_file[ARGS]{"path":"a","limit":1}"#),
    (
        "Mistral with an id",
        r#"[TOOL_CALLS]read_file[CALL_ID]abcdefghi[ARGS]{"path":"a","limit":1}"#,
    ),
    ("Llama", r#"<|python_tag|>{"name":"read_file","parameters":{"path":"a","limit":1}}"#),
    (
        "gpt-oss",
        r#"<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path":"a","limit":1}<|call|>"#,
    ),
    (
        "gpt-oss, the name first",
        r#"<|start|>assistant to=functions.read_file<|channel|>commentary json<|message|>{"path":"a","limit":1}<|call|>"#,
    ),
    (
        "a small model's fenced block",
        "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\", \"limit\": 1}}\n```",
    ),
    ("nothing but JSON", r#"{"name":"read_file","parameters":{"path":"a","limit":1}}"#),
];

fn reader() -> ToolSpec {
    let properties = json!({"path": {"type": "string"}, "limit": {"type": "integer"}});
    ToolSpec {
        name: "read_file".into(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": properties}),
    }
}

fn calls_in(text: &str) -> (String, Vec<ToolCall>) {
    let mut reply = Reply { content: text.into(), ..Reply::default() };
    adopt_calls(&mut reply, &[reader()], 1);
    (reply.content, reply.tool_calls)
}

#[test]
fn every_written_form_is_read() {
    let wanted = json!({"path": "a", "limit": 1});
    let is_it = |call: &ToolCall| {
        let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
        call.name == "read_file" && arguments == wanted
    };
    for (form, text) in FORMS {
        let (rest, calls) = calls_in(text);
        assert_eq!((rest.as_str(), calls.len()), ("", 1), "{form}: {rest}");
        assert!(is_it(&calls[0]), "{form}: {calls:?}");
        if form == "nothing but JSON" {
            continue;
        }
        let (rest, calls) = calls_in(&format!("Let me look.\n\n{text}"));
        assert_eq!((rest.as_str(), calls.len()), ("Let me look.", 1), "{form}");
        let (rest, calls) = calls_in(&format!("{text}\n{text}"));
        assert_eq!((rest.as_str(), calls.len()), ("", 2), "{form}: {rest}");
        assert!(calls.iter().all(is_it), "{form}: {calls:?}");
        assert_ne!(calls[0].id, calls[1].id, "{form}");
    }
}

#[test]
fn another_tool_or_half_a_call_stays_text() {
    for (form, text) in FORMS {
        let other = text.replace("read_file", "rm");
        assert_eq!(calls_in(&other), (other.clone(), vec![]), "{form}");
    }
    for text in [
        "<function=read_file><parameter=path>a",
        "<tool_call>read_file<arg_key>path</arg_key><arg_value>a",
        "<invoke name=\"read_file\"><parameter name=\"path\">a</parameter>",
        "<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"path\":",
        "[TOOL_CALLS]read_file[ARGS]{\"path\":",
        "to=functions.read_file is how it calls",
    ] {
        assert_eq!(calls_in(text), (text.to_owned(), vec![]), "{text}");
    }
}

#[test]
fn a_value_keeps_what_looks_like_markup() {
    let inner = "1</parameter> <b>\n";
    let text =
        format!("<invoke name=\"read_file\"><parameter name=\"path\">{inner}</parameter></invoke>");
    let (_, calls) = calls_in(&text);
    let arguments: serde_json::Value = serde_json::from_str(&calls[0].arguments).unwrap();
    assert_eq!(arguments, json!({"path": inner}));
    // A string stays a string, whatever it looks like.
    let text = "<function=read_file><parameter=path>\n12\n</parameter></function>";
    let arguments: serde_json::Value =
        serde_json::from_str(&calls_in(text).1[0].arguments).unwrap();
    assert_eq!(arguments, json!({"path": "12"}));
}

#[test]
fn an_invented_tool_result_is_ignored() {
    let one = FORMS[0].1;
    let text = format!("{one}\n<tool_response>\nx\n</tool_response>\n{one}\nSo it is x.");
    let (rest, calls) = calls_in(&text);
    assert_eq!((rest.as_str(), calls.len()), ("", 1));
}

#[test]
fn the_last_line_reports_on_the_task() {
    let cases = [
        ("All there.\nDONE: it was so", Some((TaskWord::Done, "it was so"))),
        ("No.\n\n**BLOCKED:** no compiler\n\n", Some((TaskWord::Blocked, "no compiler"))),
        ("**DONE:**", Some((TaskWord::Done, ""))),
        ("`BLOCKED: x`", Some((TaskWord::Blocked, "x"))),
        ("DONE: no\nI wrote it.", None),
        ("done: in lower case", None),
        ("The task is DONE: yes", None),
        ("", None),
    ];
    for (text, word) in cases {
        assert_eq!(said_of_task(text), word, "{text}");
    }
}

#[test]
fn a_text_that_is_a_document_may_have_a_few_lines_around_it() {
    let whole = "# Plan\n\n## Tasks\n\n```sh\nmake\n```\n\nThe end.";
    for text in [
        whole.to_owned(),
        format!("Sure! Here is the plan:\n\n{whole}\n"),
        format!("```markdown\n{whole}\n```"),
        format!("Here it is:\n\n```markdown\n{whole}\n```\n\nTell me what you think."),
        format!("Here it is:\n```\n{whole}\n```"),
    ] {
        assert_eq!(whole_document(&text), Some(whole), "{text}");
    }
    for sections in ["## Tasks\n\ntext\n\n## Tests\n\ntext", "### REQ-001: Add a note\n\ntext"] {
        assert_eq!(whole_document(sections), Some(sections));
        assert_eq!(whole_document(&format!("Here:\n{sections}")), Some(sections));
    }
    for other in [
        "I looked at it.",
        "## Summary\n\nI looked at it.",
        "# Plan",
        "a\nb\nc\nd\n# Plan\n## Tasks\n",
        "```json\n{}\n```",
        "Look:\n```sh\n# Plan\n## Tasks\n```",
        "",
    ] {
        assert_eq!(whole_document(other), None, "{other}");
    }
}

#[test]
fn tags_of_a_document_are_found_in_any_case_and_beside_sentences_that_name_them() {
    let whole = "# Plan\n\n## Tasks";
    for text in [
        format!("<document>\n{whole}\n</document>"),
        format!("<Document>\n{whole}\n</DOCUMENT>"),
        format!("<document>\n{whole}"),
        format!("<document>\n{whole}\n</document>\nIt is between <document> tags."),
        format!("I put it between <document> and </document>:\n<document>\n{whole}\n</document>"),
        format!("<document>\n# Old\n</document>\n<document>\n{whole}\n</document>"),
    ] {
        assert_eq!(document_between_tags(&text), Some(whole), "{text}");
    }
    assert_eq!(document_between_tags("<document>\nwords\n</document>"), Some("words"));
    assert_eq!(document_between_tags("<document></document>"), None);
    assert_eq!(document_between_tags("no tag"), None);
}
