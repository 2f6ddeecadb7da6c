//! Error responses of servers, one case per server and fault: `servers.toml`.

use std::cell::RefCell;
use std::rc::Rc;

use serde::Deserialize;

use super::meter::Notice;
use super::openai::OpenAi;
use super::options::BuildOptions;
use super::test_server::{Answer, Got, Server, config, request};
use super::tests::{DONE, STOP, patient, say};
use super::{Model, ModelError, Reply};
use crate::config::Api;

const GOOD: &str = r#"{"choices":[{"message":{"content":"good"},"finish_reason":"stop"}]}"#;
const GOOD_MESSAGE: &str =
    r#"{"type":"message","content":[{"type":"text","text":"good"}],"stop_reason":"end_turn"}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: Vec<String>,
    #[serde(default)]
    body: String,
    /// An event stream instead of a body.
    #[serde(default)]
    events: Vec<String>,
    /// The request uses the Messages API.
    #[serde(default)]
    messages: bool,
    /// Path of the base URL.
    #[serde(default = "v1")]
    path: String,
    /// Number of requests that get this response.
    #[serde(default = "once")]
    times: usize,
    /// Total number of requests, if the server never answers well.
    tries: Option<usize>,
    then: String,
    /// Part of a message to the user.
    #[serde(default)]
    says: String,
}

fn ok() -> u16 {
    200
}

fn v1() -> String {
    "/v1".to_owned()
}

fn once() -> usize {
    1
}

impl Case {
    fn answer(&self) -> Answer {
        if !self.events.is_empty() {
            let events: Vec<&str> = self.events.iter().map(String::as_str).collect();
            return Answer::events(&events);
        }
        let headers = match self.headers.is_empty() {
            true => "X-None: 1".to_owned(),
            false => self.headers.join("\r\n"),
        };
        Answer::with_header(self.status, &headers, &self.body)
    }

    async fn ask(&self) -> Asked {
        let mut answers = vec![self.answer(); self.times];
        answers.push(Answer::json(200, if self.messages { GOOD_MESSAGE } else { GOOD }));
        // One request too many fails at once.
        answers.extend(vec![Answer::json(418, "one request too many"); 9]);
        let server = Server::start(answers).await;
        let told = Rc::new(RefCell::new(Vec::new()));
        let lines = Rc::clone(&told);
        let notice: Notice = Rc::new(move |line| lines.borrow_mut().push(line.to_owned()));
        let base_url = format!("http://127.0.0.1:{}{}", server.port(), self.path);
        let options = BuildOptions { notice: Some(notice), ..patient() };
        let mut config = config(&base_url);
        if self.messages {
            config.api = Api::Messages;
        }
        let model = OpenAi::new(&config, options).unwrap();
        let result = model.turn(&request(), &|_| {}).await;
        let mut told = told.borrow().join("\n");
        if let Err(error) = &result {
            let remedies = error.remedies(&config).join("\n");
            told.push_str(&format!("\n{error}\n{remedies}"));
        }
        Asked { result, told, got: server.got() }
    }
}

struct Asked {
    result: Result<Reply, ModelError>,
    told: String,
    got: Vec<Got>,
}

/// The result, in the terms of the table.
fn came(asked: &Asked) -> String {
    let words = match &asked.result {
        Err(ModelError::Unavailable { .. }) => "gives up",
        Err(ModelError::Refused { .. }) => "refused",
        Err(ModelError::Declined { .. }) => "declined",
        Err(ModelError::TooLong { .. }) => "too long",
        Err(_) => "another error",
        Ok(_) => return asked_for(&asked.got),
    };
    words.to_owned()
}

/// What the last request leaves out compared to the first.
fn asked_for(got: &[Got]) -> String {
    let (first, last) = (&got[0].body, &got[got.len() - 1].body);
    let lacks = |key: &&str| first.get(key).is_some() && last.get(key).is_none();
    let optional = ["temperature", "stream_options", "parallel_tool_calls"];
    let marked = last.to_string().contains("cache_control");
    if !marked && optional.iter().all(|key| last.get(key).is_none()) {
        return "bare".to_owned();
    }
    if first["stream"] != last["stream"] {
        return "without stream".to_owned();
    }
    match ["tools"].iter().chain(&optional).find(|key| lacks(key)) {
        Some(key) => format!("without {key}"),
        None => "again".to_owned(),
    }
}

#[tokio::test]
async fn every_server_error_is_handled_as_listed() {
    let cases: Cases = toml::from_str(include_str!("servers.toml")).unwrap();
    assert!(cases.case.len() >= 90, "{}", cases.case.len());
    let mut wrong = Vec::new();
    for case in &cases.case {
        let asked = case.ask().await;
        let (came, requests) = (came(&asked), asked.got.len());
        let fails = asked.result.is_err();
        let wanted = case.tries.unwrap_or(if fails { case.times } else { case.times + 1 });
        if came != case.then || requests != wanted || !asked.told.contains(&case.says) {
            let name = &case.name;
            wrong.push(format!("{name}: {came}, {requests} requests, told {:?}", asked.told));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn a_server_without_tools_gets_them_as_text_and_its_calls_are_read() {
    let refusal = Answer::json(400, r#"{"error":{"message":"m does not support tools"}}"#);
    let call = say("<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}");
    let server = Server::start(vec![refusal, Answer::events(&[&call, STOP, DONE])]).await;
    let model = OpenAi::new(&config(&server.base_url()), patient()).unwrap();
    let reply = model.turn(&request(), &|_| {}).await.unwrap();
    assert_eq!((reply.content.as_str(), reply.tool_calls[0].name.as_str()), ("", "read_file"));
    let asked = &server.got()[1].body;
    assert!(asked.get("tools").is_none() && asked.get("parallel_tool_calls").is_none());
    let system = asked["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("rules") && system.contains("read_file"), "{system}");
}

#[tokio::test]
async fn parameters_are_restored_if_a_minimal_request_fails() {
    let bad = || Answer::json(400, r#"{"error":{"message":"Bad Request"}}"#);
    let good = Answer::events(&[&say("good"), STOP, DONE]);
    let server = Server::start(vec![bad(), bad(), good]).await;
    let model = OpenAi::new(&config(&server.base_url()), patient()).unwrap();
    assert!(model.turn(&request(), &|_| {}).await.is_err());
    assert!(model.turn(&request(), &|_| {}).await.is_ok());
    let has = |got: &Got| got.body.get("temperature").is_some();
    assert_eq!(server.got().iter().map(has).collect::<Vec<_>>(), [true, false, true]);
}

#[tokio::test]
async fn a_base_url_without_v1_is_detected_before_anything_is_created() {
    let list = Answer::json(200, r#"{"data":[{"id":"m"}]}"#);
    let server = Server::start(vec![Answer::json(404, "404 page not found"), list]).await;
    let base_url = format!("http://127.0.0.1:{}", server.port());
    let model = OpenAi::new(&config(&base_url), patient()).unwrap();
    let error = model.probe().await.unwrap_err().to_string();
    assert!(error.ends_with(&format!("the base URL should be {base_url}/v1")), "{error}");
}
