//! Turns through the Responses API against a scripted server.

use serde_json::{Value, json};

use super::openai::OpenAi;
use super::options::BuildOptions;
use super::test_server::{Answer, Server, config, request};
use super::tests::patient;
use super::{Message, Model, ModelError, Refusals, Reply};
use crate::config::Api;
use crate::event::Usage;

const REFUSED: &str = r#"{"error":{"message":"Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.","type":"invalid_request_error","param":"reasoning_effort","code":null}}"#;
const NOT_FOUND: &str = r#"{"detail":"Not Found"}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{"content":"good"},"finish_reason":"stop"}]}"#;

fn delta(text: &str) -> String {
    json!({"type": "response.output_text.delta", "output_index": 1, "delta": text}).to_string()
}

fn item(at: u64, item: &Value) -> String {
    json!({"type": "response.output_item.done", "output_index": at, "item": item}).to_string()
}

fn thought() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"})
}

fn message() -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "good", "annotations": []}]})
}

fn whole(status: &str) -> Value {
    json!({"object": "response", "model": "m-1", "status": status, "output": [thought(), message()],
        "usage": {"input_tokens": 7, "output_tokens": 3,
                  "input_tokens_details": {"cached_tokens": 2}}})
}

fn end(kind: &str, response: &Value) -> String {
    json!({"type": kind, "response": response}).to_string()
}

fn good() -> Answer {
    Answer::events(&[
        &item(0, &thought()),
        &delta("go"),
        &delta("od"),
        &item(1, &message()),
        &end("response.completed", &whole("completed")),
    ])
}

async fn ask_with(
    answers: Vec<Answer>,
    api: Api,
    options: BuildOptions,
) -> (Result<Reply, ModelError>, OpenAi, Server) {
    let server = Server::start(answers).await;
    let mut config = config(&server.base_url());
    config.api = api;
    let model = OpenAi::new(&config, options).unwrap();
    let result = model.turn(&request(), &|_| {}).await;
    (result, model, server)
}

async fn ask(answers: Vec<Answer>) -> (Result<Reply, ModelError>, OpenAi, Server) {
    ask_with(answers, Api::Responses, patient()).await
}

fn paths(server: &Server) -> Vec<String> {
    let path = |head: &str| head.split(' ').nth(1).unwrap().trim_start_matches("/v1").to_owned();
    server.got().iter().map(|got| path(&got.head)).collect()
}

#[tokio::test]
async fn a_streamed_answer_is_a_reply_that_keeps_its_items() {
    let (reply, _, server) = ask(vec![good()]).await;
    let reply = reply.unwrap();
    assert_eq!(reply.content, "good");
    assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
    assert_eq!(reply.usage, Usage { input: 7, output: 3, cached: 2 });
    assert_eq!((reply.requests, reply.model.as_str()), (1, "m-1"));
    let opaque = reply.opaque.unwrap();
    assert_eq!(opaque.items, [thought(), message()]);
    assert_eq!((opaque.origin.base_url, opaque.origin.model.as_str()), (server.base_url(), "m"));
    let got = &server.got()[0];
    assert!(got.head.starts_with("post /v1/responses "), "{}", got.head);
    assert!(got.head.contains("cowork-stage: prd"), "{}", got.head);
    assert_eq!(got.body["store"], false);
}

#[tokio::test]
async fn an_answer_in_one_piece_is_read_even_if_a_stream_was_requested() {
    for no_stream in [true, false] {
        let options = BuildOptions { no_stream, ..patient() };
        let body = whole("completed").to_string();
        let (reply, _, server) =
            ask_with(vec![Answer::json(200, &body)], Api::Responses, options).await;
        let reply = reply.unwrap();
        assert_eq!((reply.content.as_str(), reply.usage.cached), ("good", 2));
        assert_eq!(reply.opaque.unwrap().items.len(), 2);
        assert_eq!(server.got()[0].body["stream"], !no_stream);
    }
}

#[tokio::test]
async fn only_the_last_event_ends_an_answer() {
    let begun = [item(0, &thought()), delta("go"), delta("od"), item(1, &message())];
    let events: Vec<&str> = begun.iter().map(String::as_str).collect();
    let with_done: Vec<&str> = events.iter().copied().chain(["[DONE]"]).collect();
    for cut in [Answer::events(&events), Answer::events(&with_done), Answer::events(&events).cut()]
    {
        let (reply, _, server) = ask(vec![cut, good()]).await;
        assert_eq!(reply.unwrap().content, "good");
        assert_eq!(server.got().len(), 2);
    }
    // The partial answer is paid for, and none of it is sent back.
    let cut = end(
        "response.incomplete",
        &json!({"status": "incomplete", "output": [],
        "incomplete_details": {"reason": "max_output_tokens"}}),
    );
    let mut events = events;
    events.push(&cut);
    let (reply, ..) = ask(vec![Answer::events(&events)]).await;
    let reply = reply.unwrap();
    assert_eq!((reply.finish_reason.as_deref(), reply.opaque), (Some("length"), None));
}

#[tokio::test]
async fn errors_in_a_stream_are_classified() {
    let error = |code: &str| {
        json!({"type": "error", "code": code, "message": "it cannot", "param": null}).to_string()
    };
    let failed = |code: &str| {
        let response = json!({"status": "failed", "error": {"code": code, "message": "it cannot"}});
        end("response.failed", &response)
    };
    for event in [error("server_error"), failed("server_error"), failed("rate_limit_exceeded")] {
        let (reply, _, server) = ask(vec![Answer::events(&[&event]), good()]).await;
        assert!(reply.is_ok(), "{event}");
        assert_eq!(server.got().len(), 2, "{event}");
    }
    for event in
        [error("insufficient_quota"), failed("insufficient_quota"), failed("invalid_prompt")]
    {
        let (reply, ..) = ask(vec![Answer::events(&[&event])]).await;
        let error = reply.unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }), "{event}: {error}");
        assert!(error.to_string().contains("it cannot"), "{error}");
    }
    let (reply, ..) = ask(vec![Answer::events(&[&failed("context_length_exceeded")])]).await;
    assert!(matches!(reply, Err(ModelError::TooLong { .. })));
    let body = json!({"status": "failed", "output": [],
        "error": {"code": "invalid_prompt", "message": "it cannot"}});
    let (reply, ..) = ask(vec![Answer::json(200, &body.to_string())]).await;
    assert!(matches!(reply, Err(ModelError::Refused { .. })));
}

#[tokio::test]
async fn refused_parameters_are_remembered() {
    let refusal = |param: &str, message: &str| {
        let error = json!({"error": {"message": message, "param": param}});
        Answer::json(400, &error.to_string())
    };
    let (reply, model, server) = ask(vec![
        refusal("temperature", "Unsupported parameter: 'temperature'"),
        refusal("include", "Encrypted content is not supported with this model."),
        good(),
        good(),
    ])
    .await;
    assert_eq!(reply.unwrap().requests, 3);
    assert_eq!(
        model.refusals(),
        Refusals { temperature: true, include: true, ..Refusals::default() }
    );
    model.turn(&request(), &|_| {}).await.unwrap();
    let body = &server.got()[3].body;
    assert!(body.get("temperature").is_none() && body.get("include").is_none());
}

#[tokio::test]
async fn items_unknown_to_the_server_are_sent_as_plain_messages() {
    let gone = r#"{"error":{"message":"The encrypted content gAAA could not be verified.","code":"invalid_encrypted_content"}}"#;
    let (reply, model, server) = ask(vec![good(), Answer::json(400, gone), good()]).await;
    let reply = reply.unwrap();
    let mut next = request();
    next.messages.push(Message::Assistant {
        content: reply.content,
        tool_calls: reply.tool_calls,
        opaque: reply.opaque,
    });
    next.messages.push(Message::User { content: "on".into() });
    model.turn(&next, &|_| {}).await.unwrap();
    let got = server.got();
    assert_eq!(got[1].body["input"][2], thought());
    assert_eq!(got[1].body["input"][3], message());
    assert_eq!(got[2].body["input"][2], json!({"role": "assistant", "content": "good"}));
}

#[tokio::test]
async fn a_server_that_requires_responses_keeps_using_it() {
    let answers = vec![Answer::json(400, REFUSED), good(), good()];
    let (reply, model, server) = ask_with(answers, Api::Auto, patient()).await;
    assert_eq!(reply.unwrap().content, "good");
    model.turn(&request(), &|_| {}).await.unwrap();
    assert_eq!(paths(&server), ["/chat/completions", "/responses", "/responses"]);
}

#[tokio::test]
async fn reasoning_is_switched_off_with_a_notice_if_only_chat_works() {
    let chat = || Answer::events(&[STOP, "[DONE]"]);
    let refused = || Answer::json(400, REFUSED);
    for (api, answers, want) in [
        (Api::Chat, vec![refused(), chat()], vec!["/chat/completions", "/chat/completions"]),
        (
            Api::Auto,
            vec![refused(), Answer::json(404, NOT_FOUND), chat()],
            vec!["/chat/completions", "/responses", "/chat/completions"],
        ),
    ] {
        let told = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let heard = std::rc::Rc::clone(&told);
        let notice: super::meter::Notice =
            std::rc::Rc::new(move |line: &str| heard.borrow_mut().push(line.to_owned()));
        let options = BuildOptions { notice: Some(notice), ..patient() };
        let (reply, _, server) = ask_with(answers, api, options).await;
        assert_eq!(reply.unwrap().content, "good");
        assert_eq!(paths(&server), want);
        let got = server.got();
        assert!(got[0].body.get("reasoning_effort").is_none());
        assert_eq!(got.last().unwrap().body["reasoning_effort"], "none");
        let lines = told.borrow();
        let said = lines.iter().filter(|line| line.contains("reasoning_effort \"none\""));
        assert_eq!(said.count(), 1, "{lines:?}");
    }
}

#[tokio::test]
async fn a_configured_responses_api_that_does_not_exist_is_an_error() {
    let (reply, _, server) = ask(vec![Answer::json(404, NOT_FOUND)]).await;
    assert!(matches!(reply, Err(ModelError::Refused { status: Some(404), .. })));
    assert_eq!(paths(&server), ["/responses"]);
}
