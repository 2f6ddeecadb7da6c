//! Answers that never end: the whole answer has a time limit, and so has the session's work.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::json;

use super::meter::{Meter, Notice};
use super::openai::OpenAi;
use super::options::BuildOptions;
use super::test_server::{Answer, Server, config, request};
use super::tests::{DONE, STOP, patient, say};
use super::timeouts::Timeouts;
use super::{Model, ModelError, Reply};
use crate::config::{Api, Budget};
use crate::spent::Spent;

const PING: &str = ": ping\n\n";

fn delta(text: &str) -> String {
    json!({"type": "response.output_text.delta", "delta": text}).to_string()
}

fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// In both dialects: an answer that repeats a word, one with only comments, and one that ends.
fn dialects() -> [(Api, [Answer; 3]); 2] {
    let completed = json!({"type": "response.completed", "response": {"id": "r", "status": "completed",
        "output": [], "usage": {"input_tokens": 10, "output_tokens": 2}}});
    let pings = || Answer::pieces(&[]).drips(PING);
    let chat = Answer::events(&[&say("good"), STOP, DONE]);
    let responses = Answer::events(&[&delta("good"), &completed.to_string()]);
    [
        (Api::Chat, [Answer::pieces(&[]).drips(&event(&say("more "))), pings(), chat]),
        (Api::Responses, [Answer::pieces(&[]).drips(&event(&delta("more "))), pings(), responses]),
    ]
}

/// The time limit of an answer: a fifth of a second.
fn short() -> BuildOptions {
    let timeouts = patient().timeouts.unwrap();
    let timeouts = Timeouts { answer: Some(Duration::from_millis(200)), ..timeouts };
    BuildOptions { timeouts: Some(timeouts), ..patient() }
}

struct Asked {
    result: Result<Reply, ModelError>,
    requests: usize,
    told: Vec<String>,
}

async fn ask(answers: Vec<Answer>, api: Api, options: BuildOptions) -> Asked {
    let server = Server::start(answers).await;
    let mut config = config(&server.base_url());
    config.api = api;
    let told = Rc::new(RefCell::new(Vec::new()));
    let lines = Rc::clone(&told);
    let notice: Notice = Rc::new(move |line| lines.borrow_mut().push(line.to_owned()));
    let model = OpenAi::new(&config, BuildOptions { notice: Some(notice), ..options }).unwrap();
    let result = model.turn(&request(), &|_| {}).await;
    let told = told.borrow().clone();
    Asked { result, requests: server.got().len(), told }
}

#[tokio::test]
async fn an_endless_answer_is_cut_and_requested_once_more() {
    for (api, [words, pings, good]) in dialects() {
        for (endless, paid) in [(words, true), (pings, false)] {
            let asked = ask(vec![endless.clone(), good.clone()], api, short()).await;
            let reply = asked.result.unwrap();
            assert_eq!((reply.content.as_str(), asked.requests), ("good", 2), "{api:?}");
            assert_eq!(
                asked.told,
                ["the answer is not complete after 0 s (answer_s): trying once more"]
            );
            // The incomplete answer was generated, so it counts.
            let whole = ask(vec![good.clone()], api, short()).await.result.unwrap().usage;
            assert_eq!(reply.usage.output > whole.output, paid, "{api:?}: {:?}", reply.usage);
            // One more try and no others: otherwise neither the server nor the bill has an end.
            let answers = vec![endless.clone(), endless, good.clone()];
            let asked = ask(answers, api, short()).await;
            let error = asked.result.unwrap_err();
            assert!(matches!(error, ModelError::Endless { tries: 2, .. }), "{api:?}: {error}");
            assert_eq!(asked.requests, 2);
        }
    }
}

#[tokio::test]
async fn comments_after_the_finish_reason_do_not_extend_the_wait() {
    let timeouts = Timeouts { silence: Duration::from_millis(200), ..patient().timeouts.unwrap() };
    let options = BuildOptions { timeouts: Some(timeouts), ..patient() };
    let answer = Answer::events(&[&say("good"), STOP]).drips(PING);
    let asked = ask(vec![answer], Api::Chat, options).await;
    assert_eq!(asked.result.unwrap().content, "good");
}

#[tokio::test]
async fn the_time_budget_ends_an_unfinished_answer() {
    for (api, [words, pings, _]) in dialects() {
        for (endless, paid) in [(words, true), (pings, false)] {
            let folder = tempfile::tempdir().unwrap();
            let meter = Rc::new(Meter::new(Budget { wall_s: 10, ..Budget::default() }, None));
            let before = Spent { millis: 9_800, ..Spent::default() };
            meter.open(&folder.path().join("ledger"), before, "tip").unwrap();
            let _working = meter.work("tip");
            let options = BuildOptions { meter: Rc::clone(&meter), ..patient() };
            let asked = ask(vec![endless], api, options).await;
            let error = asked.result.unwrap_err().to_string();
            let reached = "the session's budget of wall time is reached: 10 of 10 seconds used";
            assert_eq!((error.as_str(), asked.requests), (reached, 1), "{api:?}");
            let used = meter.used();
            assert_eq!((used.requests, used.usage.output > 0), (1, paid), "{api:?}: {used:?}");
        }
    }
}
