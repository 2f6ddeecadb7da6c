//! The client's Messages API against a scripted server.

use serde_json::{Value, json};

use super::openai::OpenAi;
use super::options::BuildOptions;
use super::test_server::{Answer, Server, config, request};
use super::tests::patient;
use super::{Message, Model, ModelError, Refusals, Reply, ToolCall};
use crate::config::{Api, ModelConfig};
use crate::event::Usage;

const KEY: &str = "sk-ant-very-secret";

fn thought() -> Value {
    json!({"type": "thinking", "thinking": "hm", "signature": "EqQB=="})
}

fn call() -> Value {
    json!({"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}})
}

fn whole(stop_reason: &str, blocks: &[Value]) -> Value {
    json!({"type": "message", "role": "assistant", "model": "claude-1", "content": blocks,
        "stop_reason": stop_reason, "usage": {"input_tokens": 3, "cache_read_input_tokens": 4,
        "output_tokens": 5}})
}

/// The events of an answer: the server's counts, its blocks, and the stop reason.
fn events(stop_reason: &str, blocks: &[Value]) -> Vec<String> {
    let mut begun = whole("", &[]);
    begun["stop_reason"] = Value::Null;
    let mut events =
        vec![json!({"type": "message_start", "message": begun}), json!({"type": "ping"})];
    for (at, block) in blocks.iter().enumerate() {
        let (mut opened, mut deltas) = (block.clone(), Vec::new());
        let mut moved = |field: &str, kind: &str, piece: &str, empty: Value| {
            let whole = std::mem::replace(&mut opened[field], empty);
            let text = whole.as_str().map_or(whole.to_string(), str::to_owned);
            let (first, rest) = text.split_at(text.len() / 2);
            deltas.extend([first, rest].map(|text| json!({"type": kind, piece: text})));
        };
        match block["type"].as_str().unwrap() {
            "text" => moved("text", "text_delta", "text", json!("")),
            "tool_use" => moved("input", "input_json_delta", "partial_json", json!({})),
            _ => {
                moved("thinking", "thinking_delta", "thinking", json!(""));
                moved("signature", "signature_delta", "signature", json!(""));
            }
        }
        events.push(json!({"type": "content_block_start", "index": at, "content_block": opened}));
        let delta = |delta| json!({"type": "content_block_delta", "index": at, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": at}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop_reason},
        "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(Value::to_string).collect()
}

fn streamed(stop_reason: &str, blocks: &[Value]) -> Answer {
    let events = events(stop_reason, blocks);
    Answer::events(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn good() -> Answer {
    streamed("end_turn", &[thought(), text("good")])
}

fn refusal(status: u16, kind: &str, message: &str) -> Answer {
    let error = json!({"type": "error", "error": {"type": kind, "message": message}});
    Answer::json(status, &error.to_string())
}

async fn ask_with(
    answers: Vec<Answer>,
    change: impl FnOnce(&mut ModelConfig),
    options: BuildOptions,
) -> (Result<Reply, ModelError>, OpenAi, Server) {
    let server = Server::start(answers).await;
    let mut config = config(&server.base_url());
    config.api = Api::Messages;
    config.api_key = KEY.into();
    change(&mut config);
    let model = OpenAi::new(&config, options).unwrap();
    let result = model.turn(&request(), &|_| {}).await;
    (result, model, server)
}

async fn ask(answers: Vec<Answer>) -> (Result<Reply, ModelError>, OpenAi, Server) {
    ask_with(answers, |_| {}, patient()).await
}

/// The next request after this reply, whose call has a result.
fn next(reply: Reply) -> super::Request {
    let mut next = request();
    let ids: Vec<String> = reply.tool_calls.iter().map(|call| call.id.clone()).collect();
    next.messages.push(Message::Assistant {
        content: reply.content,
        tool_calls: reply.tool_calls,
        opaque: reply.opaque,
    });
    let told = |id: String| Message::Tool { tool_call_id: id, content: "text".into() };
    next.messages.extend(ids.into_iter().map(told));
    next
}

#[tokio::test]
async fn a_streamed_answer_is_a_reply_whose_thoughts_go_back() {
    let blocks = [thought(), text("Let me look."), call()];
    let (reply, model, server) = ask(vec![streamed("tool_use", &blocks), good()]).await;
    let reply = reply.unwrap();
    assert_eq!(reply.content, "Let me look.");
    let (id, name) = ("toolu_1".to_owned(), "read_file".to_owned());
    let arguments = r#"{"path":"a"}"#.to_owned();
    assert_eq!(reply.tool_calls, [ToolCall { id, name, arguments }]);
    assert_eq!(reply.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(reply.usage, Usage { input: 7, output: 5, cached: 4 });
    assert_eq!((reply.requests, reply.model.as_str()), (1, "claude-1"));
    model.turn(&next(reply), &|_| {}).await.unwrap();
    let got = server.got();
    assert!(got[0].head.starts_with("post /v1/messages "), "{}", got[0].head);
    for header in [
        format!("x-api-key: {KEY}"),
        "anthropic-version: 2023-06-01".to_owned(),
        "cowork-stage: prd".to_owned(),
    ] {
        assert!(got[0].head.contains(&header), "{}", got[0].head);
    }
    assert_eq!(got[0].body["max_tokens"], 500, "half of the window");
    let sent = &got[1].body["messages"];
    assert_eq!(sent[1]["content"].to_string(), json!(blocks).to_string());
    assert_eq!(sent[2]["content"][0]["tool_use_id"], "toolu_1");
}

#[tokio::test]
async fn an_answer_in_one_piece_is_read_even_if_a_stream_was_requested() {
    for no_stream in [true, false] {
        let options = BuildOptions { no_stream, ..patient() };
        let body = whole("tool_use", &[thought(), call()]).to_string();
        let (reply, _, server) = ask_with(vec![Answer::json(200, &body)], |_| {}, options).await;
        let reply = reply.unwrap();
        assert_eq!((reply.tool_calls.len(), reply.usage.cached), (1, 4));
        assert_eq!(reply.opaque.unwrap().items, [thought(), call()]);
        assert_eq!(server.got()[0].body["stream"], !no_stream);
    }
}

#[tokio::test]
async fn only_the_last_events_end_an_answer() {
    let events = events("end_turn", &[thought(), text("good")]);
    let begun: Vec<&str> = events[..events.len() - 2].iter().map(String::as_str).collect();
    for cut in [Answer::events(&begun), Answer::events(&begun).cut()] {
        let (reply, _, server) = ask(vec![cut, good()]).await;
        assert_eq!(reply.unwrap().content, "good");
        assert_eq!(server.got().len(), 2);
    }
    // Some servers leave the connection open after the last event, some omit that event.
    let whole: Vec<&str> = events.iter().map(String::as_str).collect();
    let unsaid = &whole[..whole.len() - 1];
    for open in [Answer::events(&whole).cut(), Answer::events(unsaid)] {
        let (reply, ..) = ask(vec![open]).await;
        assert_eq!(reply.unwrap().content, "good");
    }
    let (reply, ..) = ask(vec![streamed("max_tokens", &[thought(), text("go")])]).await;
    let reply = reply.unwrap();
    assert_eq!((reply.finish_reason.as_deref(), reply.opaque), (Some("length"), None));
}

#[tokio::test]
async fn errors_are_classified() {
    let event = |kind: &str| {
        json!({"type": "error", "error": {"type": kind, "message": "it cannot"}}).to_string()
    };
    let in_stream = |kind: &str| Answer::events(&[&event(kind)]);
    for passing in [
        in_stream("overloaded_error"),
        in_stream("api_error"),
        refusal(529, "overloaded_error", "Overloaded"),
        refusal(429, "rate_limit_error", "This request would exceed your rate limit"),
        refusal(500, "api_error", "Internal server error"),
    ] {
        let (reply, _, server) = ask(vec![passing, good()]).await;
        assert_eq!(reply.unwrap().content, "good");
        assert_eq!(server.got().len(), 2);
    }
    for lasting in [
        in_stream("permission_error"),
        in_stream("not_found_error"),
        refusal(401, "authentication_error", "invalid x-api-key: it cannot"),
        refusal(404, "not_found_error", "model: claude-9: it cannot"),
        refusal(402, "billing_error", "it cannot"),
    ] {
        let (reply, ..) = ask(vec![lasting]).await;
        let error = reply.unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }), "{error}");
        assert!(error.to_string().contains("it cannot"), "{error}");
    }
    for too_long in [
        refusal(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
        refusal(413, "request_too_large", "Request exceeds the maximum size"),
        refusal(400, "invalid_request_error", "input length and `max_tokens` exceed context limit"),
        streamed("model_context_window_exceeded", &[text("I will")]),
    ] {
        let (reply, ..) = ask(vec![too_long]).await;
        assert!(matches!(reply, Err(ModelError::TooLong { .. })), "{reply:?}");
    }
}

#[tokio::test]
async fn an_unexplained_refusal_gets_one_minimal_request() {
    let wrong =
        || Answer::events(&[r#"{"type":"error","error":{"type":"invalid_request_error"}}"#]);
    let effort = |config: &mut ModelConfig| config.reasoning_effort = "high".into();
    let (reply, model, server) = ask_with(vec![wrong(), good()], effort, patient()).await;
    assert_eq!(reply.unwrap().content, "good");
    assert!(model.refusals().bare);
    let got = server.got();
    assert_eq!(got[0].body["output_config"], json!({"effort": "high"}));
    let mut keys: Vec<&String> = got[1].body.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["max_tokens", "messages", "model", "stream", "system", "tools"]);
    assert!(!got[1].body.to_string().contains("cache_control"));
    let (reply, model, _) = ask_with(vec![wrong(), wrong()], effort, patient()).await;
    assert!(matches!(reply, Err(ModelError::Refused { .. })), "{reply:?}");
    assert_eq!(model.refusals(), Refusals::default());
}

#[tokio::test]
async fn a_server_without_tools_gets_calls_and_thoughts_as_words() {
    let refused = refusal(400, "invalid_request_error", "m does not support tools");
    let written = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"b\"}}";
    let answers = vec![
        streamed("tool_use", &[thought(), text("Let me look."), call()]),
        refused,
        streamed("end_turn", &[thought(), text(written)]),
        good(),
    ];
    let (reply, model, server) = ask(answers).await;
    let then = next(reply.unwrap());
    let reply = model.turn(&then, &|_| {}).await.unwrap();
    assert_eq!((reply.content.as_str(), reply.tool_calls[0].name.as_str()), ("", "read_file"));
    let mut last = then.clone();
    last.messages.extend(next(reply).messages.split_off(request().messages.len()));
    model.turn(&last, &|_| {}).await.unwrap();
    let body = &server.got()[3].body;
    assert!(body.get("tools").is_none(), "{body}");
    let system = body["system"][0]["text"].as_str().unwrap();
    assert!(system.starts_with("rules\n\n# Tools"), "{system}");
    let turns = body["messages"].as_array().unwrap();
    let roles: Vec<&Value> = turns.iter().map(|turn| &turn["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    let blocks = turns.iter().flat_map(|turn| turn["content"].as_array().unwrap());
    assert!(blocks.clone().all(|block| block["type"] == "text"), "{body}");
    let said: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    assert!(said[1].starts_with("Let me look.\n<tool_call>"), "{said:?}");
    assert!(said[4].starts_with("<tool_response>"), "{said:?}");
}

#[tokio::test]
async fn ids_of_calls_are_shortened_where_a_server_wants_it() {
    let long = "Tool call id was toolu_1 but must be a-z, A-Z, 0-9, with a length of 9.";
    let refused = refusal(400, "invalid_request_error", long);
    let answers = vec![streamed("tool_use", &[thought(), call()]), refused, good()];
    let (reply, model, server) = ask(answers).await;
    model.turn(&next(reply.unwrap()), &|_| {}).await.unwrap();
    let sent = &server.got()[2].body["messages"];
    let id = sent[1]["content"][1]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()), "{id}");
    assert_eq!(sent[2]["content"][0]["tool_use_id"], id);
    assert_eq!(sent[1]["content"][0], thought());
}

#[tokio::test]
async fn refused_parameters_are_remembered() {
    let wrong = |message: &str| refusal(400, "invalid_request_error", message);
    let (reply, model, server) = ask(vec![
        wrong("`temperature` is deprecated for this model."),
        wrong("max_tokens: 500 > 400, which is the maximum allowed number of output tokens for m"),
        wrong("tools.0.cache_control: Extra inputs are not permitted"),
        good(),
        good(),
    ])
    .await;
    assert_eq!(reply.unwrap().requests, 4);
    let want =
        Refusals { temperature: true, cache: true, max_tokens: Some(400), ..Refusals::default() };
    assert_eq!(model.refusals(), want);
    model.turn(&request(), &|_| {}).await.unwrap();
    let body = &server.got()[4].body;
    assert!(body.get("temperature").is_none() && body["max_tokens"] == 400, "{body}");
    assert!(!body.to_string().contains("cache_control"), "{body}");
}

#[tokio::test]
async fn refused_thoughts_are_left_out_until_the_next_conversation() {
    let bound = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound \
        to a different conversation.";
    let thoughtful = || streamed("tool_use", &[thought(), call()]);
    let (reply, model, server) = ask(vec![
        thoughtful(),
        refusal(400, "invalid_request_error", bound),
        good(),
        thoughtful(),
        good(),
    ])
    .await;
    model.turn(&next(reply.unwrap()), &|_| {}).await.unwrap();
    let reply = model.turn(&request(), &|_| {}).await.unwrap();
    model.turn(&next(reply), &|_| {}).await.unwrap();
    let thought_of = |body: &Value| body["messages"][1]["content"][0]["type"] == "thinking";
    let got = server.got();
    assert_eq!([1, 2, 4].map(|at| thought_of(&got[at].body)), [true, false, true]);
    assert_eq!(got[2].body["messages"][1]["content"][0], call());
}

#[tokio::test]
async fn configured_headers_are_sent_and_no_key_is_quoted() {
    let proxy_key = "pk-0123456789abcdef";
    let said = format!("you sent {KEY} and {proxy_key}");
    let (reply, _, server) = ask_with(
        vec![refusal(403, "permission_error", &said)],
        |config| {
            config.max_tokens = 77;
            config.reasoning_effort = "low".into();
            config.headers = [("x-proxy-key".to_owned(), proxy_key.to_owned())].into();
            config.query = [("beta".to_owned(), "true".to_owned())].into();
            config.extra_body = json!({"output_config": {"x": 1}, "top_k": 5, "temperature": null})
                .as_object()
                .cloned()
                .unwrap();
        },
        patient(),
    )
    .await;
    let error = reply.unwrap_err().to_string();
    assert!(error.contains("you sent *** and ***"), "{error}");
    let got = &server.got()[0];
    assert!(got.head.starts_with("post /v1/messages?beta=true "), "{}", got.head);
    assert!(got.head.contains(&format!("x-proxy-key: {proxy_key}")), "{}", got.head);
    let body = &got.body;
    assert_eq!((&body["max_tokens"], &body["top_k"]), (&json!(77), &json!(5)));
    assert_eq!(body["output_config"], json!({"effort": "low", "x": 1}));
    assert!(body.get("temperature").is_none(), "{body}");
}

#[tokio::test]
async fn the_models_of_a_server_are_listed_with_its_key() {
    let list = r#"{"data":[{"type":"model","id":"claude-9"},{"type":"model","id":"claude-8"}]}"#;
    let answers = vec![Answer::json(200, list), good()];
    let (reply, model, server) =
        ask_with(answers, |config| config.model = String::new(), patient()).await;
    reply.unwrap();
    assert_eq!(model.name(), "claude-9");
    let got = server.got();
    assert!(got[0].head.starts_with("get /v1/models "), "{}", got[0].head);
    assert!(got[0].head.contains(&format!("x-api-key: {KEY}")), "{}", got[0].head);
    assert_eq!(got[1].body["model"], "claude-9");
}
