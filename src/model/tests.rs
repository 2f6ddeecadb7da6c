//! The OpenAI client against a scripted server: every known way in which servers differ or fail.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::json;

use super::failure::FailedAt;
use super::openai::OpenAi;
use super::options::BuildOptions;
use super::retry::RetryPolicy;
use super::test_server::{Answer, Server, config, request};
use super::timeouts::Timeouts;
use super::{Model, ModelError, Reply};
use crate::event::Usage;

const KEY: &str = "sk-very-secret";
pub(super) const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
pub(super) const DONE: &str = "[DONE]";
const BUSY: &str = r#"{"error":{"message":"busy","code":"rate_limit_exceeded"}}"#;

pub(super) fn say(text: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
        .to_string()
}

fn good() -> Answer {
    Answer::events(&[&say("good"), STOP, DONE])
}

/// Retries at once; silence is no error, however slow the machine is.
pub(super) fn patient() -> BuildOptions {
    within(Duration::from_secs(60), Duration::from_secs(60))
}

/// The same, for servers that fall silent.
fn quick() -> BuildOptions {
    within(Duration::from_millis(1000), Duration::from_millis(600))
}

fn within(first: Duration, silence: Duration) -> BuildOptions {
    BuildOptions {
        retry: RetryPolicy { second: Duration::from_micros(100) },
        timeouts: Some(Timeouts { connect: Duration::from_secs(60), first, silence, answer: None }),
        ..BuildOptions::default()
    }
}

pub(super) struct Asked {
    pub(super) result: Result<Reply, ModelError>,
    pub(super) text: String,
    pub(super) server: Server,
}

impl Asked {
    pub(super) fn reply(&self) -> &Reply {
        self.result.as_ref().unwrap()
    }
}

pub(super) async fn ask_with(answers: Vec<Answer>, options: BuildOptions) -> Asked {
    let server = Server::start(answers).await;
    let mut config = config(&server.base_url());
    config.api_key = KEY.into();
    let model = OpenAi::new(&config, options).unwrap();
    let text = RefCell::new(String::new());
    let result = model.turn(&request(), &|piece| text.borrow_mut().push_str(piece)).await;
    Asked { result, text: text.into_inner(), server }
}

pub(super) async fn ask(answers: Vec<Answer>) -> Asked {
    ask_with(answers, patient()).await
}

#[tokio::test]
async fn a_good_stream_is_a_reply() {
    let usage = json!({"choices": [], "model": "m-2026", "usage": {"prompt_tokens": 33,
        "completion_tokens": 16, "prompt_tokens_details": {"cached_tokens": 5}}});
    let role = json!({"choices": [{"delta": {"role": "assistant", "content": null}}]});
    let call = |index: u32, id: &str, name: &str, arguments: &str| {
        json!({"choices": [{"delta": {"tool_calls": [{"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": arguments}}]}}]})
        .to_string()
    };
    let more = json!({"choices": [{"delta": {"tool_calls": [{"index": 0,
        "function": {"arguments": "\n \"path\": \"a\"}"}}]}}]});
    let asked = ask(vec![Answer::events(&[
        &role.to_string(),
        &say("Let me "),
        &say("look"),
        &call(0, "Zu", "read_file", "{"),
        &more.to_string(),
        &call(1, "Zv", "read_file", "{}"),
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"timings":{"x":1}}"#,
        &usage.to_string(),
        DONE,
    ])])
    .await;
    let reply = asked.reply();
    assert_eq!(reply.content, "Let me look");
    assert_eq!(asked.text, "Let me look");
    let calls: Vec<_> = reply.tool_calls.iter().map(|c| (&*c.id, &*c.arguments)).collect();
    assert_eq!(calls, [("Zu", "{\n \"path\": \"a\"}"), ("Zv", "{}")]);
    assert_eq!(reply.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(reply.usage, Usage { input: 33, output: 16, cached: 5 });
    assert_eq!((reply.requests, reply.model.as_str()), (1, "m-2026"));
}

#[tokio::test]
async fn a_request_has_all_its_fields() {
    let asked = ask(vec![good()]).await;
    let got = &asked.server.got()[0];
    assert!(got.head.starts_with("post /v1/chat/completions "), "{}", got.head);
    for header in [
        "cowork-session: todo-cli",
        "cowork-stage: prd",
        "cowork-role: actor",
        "cowork-iteration: 1",
        "authorization: bearer sk-very-secret",
    ] {
        assert!(got.head.lines().any(|line| line == header), "{header} in {}", got.head);
    }
    assert_eq!(got.head.matches("authorization").count(), 1);
    assert_eq!(got.body["temperature"], 0.7);
    assert_eq!(got.body["stream"], true);
    assert_eq!(got.body["stream_options"]["include_usage"], true);
    assert_eq!(got.body["parallel_tool_calls"], true);
    assert_eq!(got.body["messages"][0], json!({"role": "system", "content": "rules"}));
    assert_eq!(got.body["tools"][0]["function"]["name"], "read_file");
}

#[tokio::test]
async fn no_key_is_no_header() {
    let server = Server::start(vec![good()]).await;
    let model = OpenAi::new(&config(&server.base_url()), patient()).unwrap();
    model.turn(&request(), &|_| {}).await.unwrap();
    assert!(!server.got()[0].head.contains("authorization"));
}

#[tokio::test]
async fn frames_may_be_cut_anywhere() {
    let body = format!(": ping\n\ndata: {}\r\n\r\ndata: {STOP}\n\ndata: [DONE]\n\n", say("añ✓𝄞"));
    let pieces: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
    let asked = ask(vec![Answer::pieces(&pieces)]).await;
    assert_eq!(asked.reply().content, "añ✓𝄞");
    let pieces: Vec<&[u8]> = body.as_bytes().chunks(7).collect();
    assert_eq!(ask(vec![Answer::pieces(&pieces)]).await.reply().content, "añ✓𝄞");
}

#[tokio::test]
async fn an_empty_answer_is_an_answer_and_tokens_are_guessed() {
    let asked = ask(vec![Answer::events(&[STOP, DONE])]).await;
    assert_eq!(asked.reply().content, "");
    assert!(asked.reply().usage.input > 0);
    assert_eq!(asked.reply().usage.output, 0);
    // `[DONE]` after some text is an end too; after nothing it is not.
    let asked = ask(vec![Answer::events(&[DONE]), Answer::events(&[&say("12345"), DONE])]).await;
    assert_eq!((asked.reply().content.as_str(), asked.reply().requests), ("12345", 2));
    assert_eq!(asked.reply().usage.output, 2);
}

#[tokio::test]
async fn transient_errors_are_retried() {
    let error = r#"{"error":{"message":"overloaded"}}"#;
    let said = say("good");
    for (what, bad) in [
        ("429 at once", Answer::with_header(429, "Retry-After: 0", BUSY)),
        ("429 later", Answer::with_header(429, "Retry-After: 1", BUSY)),
        ("500", Answer::json(500, "oops")),
        ("cut", Answer::events(&[&said]).cut()),
        ("no end", Answer::events(&[&said])),
        ("200 with an error", Answer::json(200, error)),
        ("200 with nothing", Answer::json(200, "")),
        ("error event", Answer::events(&[&said, error, DONE])),
        ("broken event", Answer::events(&[&said, "{\"choices\":", DONE])),
        ("silent", Answer::silence()),
        (
            "silent after a role",
            Answer::events(&[r#"{"choices":[{"delta":{"role":"assistant"}}]}"#]).hang(),
        ),
        ("silent in the middle", Answer::events(&[&said]).hang()),
    ] {
        let options = if what.starts_with("silent") { quick() } else { patient() };
        let asked = ask_with(vec![bad, good()], options).await;
        let reply = asked.result.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!((reply.content.as_str(), reply.requests), ("good", 2), "{what}");
    }
}

#[tokio::test]
async fn a_failed_try_is_paid_for() {
    let counted = r#"{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}"#;
    let last = r#"{"model":"m\n\nX: y","choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#;
    let asked = ask(vec![Answer::events(&[counted]).cut(), Answer::events(&[last])]).await;
    assert_eq!(asked.reply().usage, Usage { input: 20, output: 3, cached: 0 });
    assert_eq!(asked.reply().model, "m X: y");
}

#[tokio::test]
async fn after_the_finish_reason_nothing_more_is_needed() {
    let said = say("good");
    for answer in [
        Answer::events(&[&said, STOP]),
        Answer::events(&[&said, STOP]).cut(),
        Answer::events(&[&said, STOP]).hang(),
    ] {
        assert_eq!(ask_with(vec![answer], quick()).await.reply().content, "good");
    }
}

#[tokio::test]
async fn retries_happen_in_only_one_place() {
    let busy = || Answer::with_header(429, "Retry-After: 0", BUSY);
    let heard = Rc::new(RefCell::new(Vec::new()));
    let lines = Rc::clone(&heard);
    let notice: super::meter::Notice =
        Rc::new(move |line| lines.borrow_mut().push(line.to_owned()));
    let options = BuildOptions { notice: Some(notice), ..patient() };
    let asked = ask_with((0..9).map(|_| busy()).collect(), options).await;
    let Err(ModelError::Unavailable { message, tries, .. }) = &asked.result else { panic!() };
    assert_eq!((message.as_str(), *tries), ("HTTP 429: busy", 7));
    assert_eq!(asked.server.got().len(), 7);
    assert_eq!(heard.borrow().len(), 6);
    assert!(heard.borrow()[0].contains("(1 of 6)"), "{:?}", heard.borrow());
}

#[tokio::test]
async fn permanent_errors_are_not_retried_and_show_no_key() {
    let quota =
        r#"{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let key = format!(r#"{{"error":{{"message":"bad key {KEY}\u001b[2J"}}}}"#);
    for (status, body) in [(401, key.as_str()), (403, "no"), (404, "{}"), (429, quota)] {
        let asked = ask(vec![Answer::json(status, body), good()]).await;
        let error = asked.result.unwrap_err();
        assert!(matches!(&error, ModelError::Refused { status: Some(s), .. } if *s == status));
        let text = format!("{error} {error:?}");
        assert!(!text.contains(KEY) && !text.contains('\u{1b}'), "{text}");
        assert_eq!(asked.server.got().len(), 1);
    }
    let long = r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"too big"}}"#;
    let asked = ask(vec![Answer::json(400, long)]).await;
    assert!(matches!(asked.result, Err(ModelError::TooLong { .. })));
    let page = ask(vec![Answer::json(200, "<html>")]).await;
    assert!(matches!(page.result, Err(ModelError::Refused { .. })));
    let moved = ask(vec![Answer::with_header(301, "Location: https://x/", "")]).await;
    assert!(moved.result.unwrap_err().to_string().contains("https://x/"));
}

#[tokio::test]
async fn refused_parameters_are_remembered() {
    let refuse = |word: &str| {
        Answer::json(
            400,
            &json!({"error": {"message": format!("{word} is not supported")}}).to_string(),
        )
    };
    let whole = r#"{"choices":[{"message":{"content":"good"},"finish_reason":"stop"}]}"#;
    let server = Server::start(vec![
        refuse("temperature"),
        refuse("stream_options"),
        refuse("parallel_tool_calls"),
        refuse("additionalProperties"),
        refuse("stream"),
        Answer::json(200, whole),
        Answer::json(200, whole),
    ])
    .await;
    let model = OpenAi::new(&config(&server.base_url()), patient()).unwrap();
    let reply = model.turn(&request(), &|_| {}).await.unwrap();
    assert_eq!((reply.content.as_str(), reply.requests), ("good", 6));
    assert_eq!(model.turn(&request(), &|_| {}).await.unwrap().requests, 1);
    let last = &server.got()[6].body;
    for key in ["temperature", "stream_options", "parallel_tool_calls"] {
        assert!(last.get(key).is_none(), "{key}");
    }
    assert_eq!(last["stream"], false);
    assert_eq!(last["tools"][0]["function"]["parameters"], json!({"type": "object"}));
}

#[tokio::test]
async fn an_answer_in_one_piece_is_read_even_if_a_stream_was_requested() {
    let whole = r#"{"choices":[{"message":{"content":"","tool_calls":[{"id":"x","function":
        {"name":"read_file","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    for no_stream in [true, false] {
        let options = BuildOptions { no_stream, ..patient() };
        let asked = ask_with(vec![Answer::json(200, whole)], options).await;
        assert_eq!(asked.reply().tool_calls[0].id, "x");
        assert_eq!(asked.server.got()[0].body["stream"], !no_stream);
    }
    let options = BuildOptions { no_stream: true, ..quick() };
    let bad = Answer::json(200, r#"{"error":{"message":"overloaded"}}"#);
    let asked = ask_with(vec![bad, Answer::silence(), Answer::json(200, whole)], options).await;
    assert_eq!(asked.reply().requests, 3);
}

#[tokio::test]
async fn a_call_written_as_text_is_a_call() {
    let text = say("```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```");
    let asked = ask(vec![Answer::events(&[&text, STOP, DONE])]).await;
    assert_eq!(asked.reply().content, "");
    assert_eq!(asked.reply().tool_calls[0].arguments, r#"{"path":"a"}"#);
}

#[test]
fn what_failed_is_said_whatever_the_words_of_the_message() {
    for (at, said, status) in [
        (FailedAt::Connecting, "did not answer: HTTP 500 broke", None),
        (FailedAt::Waiting, "did not answer: HTTP 500 broke", None),
        (FailedAt::Status(503), "answered HTTP 500 broke", Some(503)),
        (FailedAt::Answering, "did not finish its answer: HTTP 500 broke", None),
    ] {
        let error = ModelError::Unavailable { at, message: "HTTP 500 broke".to_owned(), tries: 1 };
        assert_eq!(error.to_string(), format!("the model server {said}"));
        assert_eq!(error.status(), status);
    }
}

#[tokio::test]
async fn a_closed_port_is_unavailable() {
    let port = Server::start(vec![]).await.close().await;
    let model = OpenAi::new(&config(&format!("http://127.0.0.1:{port}/v1")), patient()).unwrap();
    let error = model.turn(&request(), &|_| {}).await.unwrap_err();
    assert!(matches!(&error, ModelError::Unavailable { tries: 4, .. }), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(matches!(model.probe().await, Err(ModelError::Unavailable { tries: 4, .. })));
}

#[tokio::test]
async fn a_probe_tells_reachable_from_refused() {
    let list = r#"{"data":[{"id":"other"}]}"#;
    let unauthorised = r#"{"error":{"message":"no such key sk-very-secret"}}"#;
    let server = Server::start(vec![
        Answer::json(200, list),
        Answer::json(404, "not found"),
        Answer::json(401, unauthorised),
        Answer::json(503, "away"),
        Answer::json(503, "away"),
        Answer::json(503, "away"),
        Answer::json(503, "away"),
        Answer::json(503, "loading"),
        Answer::json(200, list),
    ])
    .await;
    let mut config = config(&server.base_url());
    config.api_key = KEY.into();
    let model = OpenAi::new(&config, patient()).unwrap();
    assert!(model.probe().await.is_ok());
    assert!(model.probe().await.is_ok());
    let refused = model.probe().await.unwrap_err();
    assert!(matches!(&refused, ModelError::Refused { status: Some(401), .. }));
    assert!(!refused.to_string().contains(KEY));
    assert!(matches!(model.probe().await, Err(ModelError::Unavailable { tries: 4, .. })));
    assert!(model.probe().await.is_ok(), "a server that loads its model is waited for");
    assert!(server.got()[0].head.starts_with("get /v1/models "));
}

#[tokio::test]
async fn without_a_model_name_the_first_is_taken() {
    let list = Answer::json(200, r#"{"data":[{"id":"all-embed"},{"id":"coder"}]}"#);
    let server = Server::start(vec![list, good()]).await;
    let mut config = config(&server.base_url());
    config.model = String::new();
    let model = OpenAi::new(&config, patient()).unwrap();
    model.turn(&request(), &|_| {}).await.unwrap();
    assert_eq!(model.name(), "coder");
    assert_eq!(server.got()[1].body["model"], "coder");
}

#[tokio::test]
async fn dropping_the_turn_hangs_up() {
    let server = Server::start(vec![Answer::events(&[&say("x")]).hang()]).await;
    let model = OpenAi::new(&config(&server.base_url()), BuildOptions::default()).unwrap();
    let heard = tokio::sync::Notify::new();
    let request = request();
    let on_text = |_: &str| heard.notify_one();
    let turn = model.turn(&request, &on_text);
    tokio::select! {
        _ = turn => panic!("it cannot end"),
        () = heard.notified() => {}
    }
    server.hung_up().await;
}
