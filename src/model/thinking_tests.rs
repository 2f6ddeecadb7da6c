//! Thinking models behind a scripted server: which part of an answer is text, what is sent back,
//! and bytes that are not an answer.

use serde_json::{Value, json};

use super::openai::OpenAi;
use super::options::BuildOptions;
use super::test_server::{Answer, Server, config, request};
use super::tests::{DONE, STOP, ask, ask_with, patient, say};
use super::{Message, Model, ModelError, Reply};

/// An event with these fields of a message.
fn delta(fields: Value) -> String {
    json!({"choices": [{"index": 0, "delta": fields, "finish_reason": null}]}).to_string()
}

/// A stream of these fields, ended properly.
fn stream(deltas: &[Value]) -> Answer {
    let mut events: Vec<String> = deltas.iter().cloned().map(delta).collect();
    events.extend([STOP.to_owned(), DONE.to_owned()]);
    Answer::events(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn call(index: u32, id: &str) -> Value {
    json!({"index": index, "id": id, "type": "function",
        "function": {"name": "read_file", "arguments": "{}"}})
}

/// The next request after this reply and the results of its calls.
async fn sent_back(answer: Answer) -> (Reply, Value) {
    let server = Server::start(vec![answer, stream(&[json!({"content": "ok"})])]).await;
    let model = OpenAi::new(&config(&server.base_url()), patient()).unwrap();
    let reply = model.turn(&request(), &|_| {}).await.unwrap();
    let mut next = request();
    next.messages.push(Message::Assistant {
        content: reply.content.clone(),
        tool_calls: reply.tool_calls.clone(),
        opaque: reply.opaque.clone(),
    });
    for call in &reply.tool_calls {
        let (tool_call_id, content) = (call.id.clone(), "text".to_owned());
        next.messages.push(Message::Tool { tool_call_id, content });
    }
    model.turn(&next, &|_| {}).await.unwrap();
    let sent = server.got()[1].body["messages"][2].clone();
    (reply, sent)
}

#[tokio::test]
async fn thoughts_in_any_form_are_neither_shown_nor_kept_as_text() {
    let google = json!({"google": {"thought": true}});
    for (what, deltas) in [
        ("tags", vec![json!({"content": "<thi"}), json!({"content": "nk>no</think>\n\nyes"})]),
        ("a field", vec![json!({"reasoning_content": "no"}), json!({"content": "yes"})]),
        ("another", vec![json!({"reasoning_text": "no", "content": "yes"})]),
        (
            "parts",
            vec![
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "no"}]}]}),
                json!({"content": [{"type": "text", "text": "y"}]}),
                json!({"content": "es"}),
            ],
        ),
        (
            "marked chunks",
            vec![
                json!({"content": "<thought>no", "extra_content": google}),
                json!({"content": "no", "extra_content": google}),
                json!({"content": "</thought>yes"}),
            ],
        ),
    ] {
        let asked = ask(vec![stream(&deltas)]).await;
        assert_eq!(asked.reply().content, "yes", "{what}");
        assert_eq!(asked.text, "yes", "{what}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_in_a_thought_is_an_answer_without_text() {
    for last in [STOP, DONE] {
        let asked = ask(vec![Answer::events(&[&say("<think>APPROVED"), last])]).await;
        assert_eq!((asked.reply().content.as_str(), asked.text.as_str()), ("", ""));
        assert_eq!(asked.reply().requests, 1);
    }
}

#[tokio::test]
async fn after_a_lone_closing_tag_later_thoughts_are_not_shown() {
    let answer = || stream(&[json!({"content": "Hm."}), json!({"content": "\n</think>\n\nyes"})]);
    let server = Server::start(vec![answer(), answer(), stream(&[json!({"content": "so"})])]).await;
    let model = OpenAi::new(&config(&server.base_url()), patient()).unwrap();
    for (shown, text) in [("Hm.yes", "yes"), ("yes", "yes"), ("so", "so")] {
        let heard = std::cell::RefCell::new(String::new());
        let reply = model.turn(&request(), &|text| heard.borrow_mut().push_str(text)).await;
        assert_eq!(reply.unwrap().content, text);
        assert_eq!(heard.borrow().trim(), shown);
    }
}

#[tokio::test]
async fn fields_go_back_as_they_came_however_they_were_cut() {
    let signed = |signature: &str| json!({"google": {"thought_signature": signature}});
    let mut first = call(0, "a");
    first["extra_content"] = signed("s1");
    // Gemini numbers parallel calls 0; a new id is a new call.
    let (reply, sent) = sent_back(stream(&[
        json!({"reasoning_content": "one "}),
        json!({"reasoning_content": "two", "seal": "x"}),
        json!({"tool_calls": [first]}),
        json!({"tool_calls": [call(0, "b")]}),
    ]))
    .await;
    assert_eq!(reply.tool_calls.len(), 2);
    assert_eq!((&sent["reasoning_content"], &sent["seal"]), (&json!("one two"), &json!("x")));
    assert_eq!(sent["tool_calls"][0]["extra_content"], signed("s1"));
    assert!(sent["tool_calls"][1].get("extra_content").is_none());

    // The signature comes last, in a separate chunk.
    let late = json!({"index": 0, "id": "a", "function": {"name": "read_file", "arguments": ""},
        "extra_content": signed("s2")});
    let (_, sent) =
        sent_back(stream(&[json!({"tool_calls": [call(0, "a")]}), json!({"tool_calls": [late]})]))
            .await;
    assert_eq!(sent["tool_calls"].as_array().unwrap().len(), 1);
    assert_eq!(sent["tool_calls"][0]["extra_content"], signed("s2"));

    // LiteLLM keeps Gemini's signature in the id.
    let long = format!("call_1__thought__{}", "x".repeat(200));
    let (_, sent) = sent_back(stream(&[json!({"tool_calls": [call(0, &long)]})])).await;
    assert_eq!(sent["tool_calls"][0]["id"], long.as_str());
}

#[tokio::test]
async fn content_goes_back_with_its_tags_or_parts() {
    let (reply, sent) = sent_back(stream(&[
        json!({"content": "<think>why</think>\nI look."}),
        json!({"tool_calls": [call(0, "a")]}),
    ]))
    .await;
    assert_eq!(reply.content, "I look.");
    assert_eq!(sent["content"], "<think>why</think>\nI look.");
    let thought =
        |text: &str| json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]});
    let (reply, sent) = sent_back(stream(&[
        json!({"content": [thought("wh")]}),
        json!({"content": [thought("y")]}),
        json!({"content": "I look."}),
    ]))
    .await;
    assert_eq!(reply.content, "I look.");
    assert_eq!(sent["content"], json!([thought("why"), {"type": "text", "text": "I look."}]));
    // Marked thoughts are not sent back.
    let (_, sent) = sent_back(stream(&[
        json!({"content": "<thought>why", "extra_content": {"google": {"thought": true}}}),
        json!({"content": "</thought>I look."}),
    ]))
    .await;
    assert_eq!(sent, json!({"role": "assistant", "content": "I look."}));
}

#[tokio::test]
async fn a_call_written_as_text_is_not_sent_twice() {
    let written =
        "<think>why</think><tool_call>{\"name\":\"read_file\",\"arguments\":{}}</tool_call>";
    let (reply, sent) = sent_back(stream(&[json!({"content": written})])).await;
    assert_eq!((reply.content.as_str(), reply.tool_calls.len()), ("", 1));
    assert_eq!(sent["content"], Value::Null);
    let thought = "<think><tool_call>{\"name\":\"read_file\"}</tool_call></think>no";
    let asked = ask(vec![stream(&[json!({"content": thought})])]).await;
    assert!(asked.reply().tool_calls.is_empty());
}

#[tokio::test]
async fn a_refused_field_stays_left_out_and_a_missing_one_is_filled_in() {
    let said = [json!({"reasoning_content": "why", "tool_calls": [call(0, "a")]})];
    let refuse =
        |message: &str| Answer::json(400, &json!({"error": {"message": message}}).to_string());
    let unsupported = "'messages.2' : for 'role:assistant' the following must be satisfied\
        [('messages.2' : property 'reasoning_content' is unsupported)]";
    let ok = || stream(&[json!({"content": "ok"})]);
    let server = Server::start(vec![stream(&said), refuse(unsupported), ok(), ok()]).await;
    let model = OpenAi::new(&config(&server.base_url()), patient()).unwrap();
    let reply = model.turn(&request(), &|_| {}).await.unwrap();
    let mut next = request();
    let call_id = reply.tool_calls[0].id.clone();
    next.messages.push(Message::Assistant {
        content: String::new(),
        tool_calls: reply.tool_calls,
        opaque: reply.opaque,
    });
    next.messages.push(Message::Tool { tool_call_id: call_id, content: "text".into() });
    for requests in [2, 1] {
        assert_eq!(model.turn(&next, &|_| {}).await.unwrap().requests, requests);
    }
    let sent: Vec<bool> = server.got()[1..]
        .iter()
        .map(|got| got.body["messages"][2].get("reasoning_content").is_some())
        .collect();
    assert_eq!(sent, [true, false, false]);

    // The answer of another model, sent to a server that requires the field.
    let missing = "Missing `reasoning_content` field in the assistant message at message index 2";
    let server = Server::start(vec![refuse(missing), ok(), ok()]).await;
    let model = OpenAi::new(&config(&server.base_url()), patient()).unwrap();
    for requests in [2, 1] {
        assert_eq!(model.turn(&next, &|_| {}).await.unwrap().requests, requests);
    }
    let sent = server.got();
    assert!(sent[0].body["messages"][2].get("reasoning_content").is_none());
    assert_eq!(sent[1].body["messages"][2]["reasoning_content"], "");
    assert_eq!(sent[2].body["messages"][2]["reasoning_content"], "");

    // A server that refuses everything is not tried for ever.
    let server = Server::start(vec![refuse(missing), refuse(missing)]).await;
    let model = OpenAi::new(&config(&server.base_url()), patient()).unwrap();
    let error = model.turn(&next, &|_| {}).await.unwrap_err();
    assert!(matches!(error, ModelError::Refused { status: Some(400), .. }), "{error}");
}

#[tokio::test]
async fn a_byte_order_mark_is_ignored() {
    let whole = r#"{"choices":[{"message":{"content":"good"},"finish_reason":"stop"}]}"#;
    let events = format!(
        "\u{feff}data: {}\n\n\u{feff}data: {STOP}\n\n\u{feff}data: [DONE]\n\n",
        say("good")
    );
    let marked = format!("\u{feff}{whole}");
    for size in [1, 2, 3, 7, 1000] {
        let pieces: Vec<&[u8]> = events.as_bytes().chunks(size).collect();
        let asked = ask(vec![Answer::pieces(&pieces)]).await;
        assert_eq!((asked.reply().content.as_str(), asked.reply().requests), ("good", 1));
        let pieces: Vec<&[u8]> = marked.as_bytes().chunks(size).collect();
        assert_eq!(ask(vec![Answer::pieces(&pieces)]).await.reply().content, "good");
    }
    let options = BuildOptions { no_stream: true, ..patient() };
    assert_eq!(ask_with(vec![Answer::json(200, &marked)], options).await.reply().content, "good");
    let refusal = "\u{feff}{\"error\":{\"message\":\"temperature is not supported\"}}";
    let asked = ask(vec![Answer::json(400, refusal), Answer::json(200, whole)]).await;
    assert!(asked.server.got()[1].body.get("temperature").is_none());
}

#[tokio::test]
async fn an_invalid_byte_spoils_only_itself() {
    let mut events = format!("data: {}\n\ndata: {STOP}\n\n", say("go?od")).into_bytes();
    let at = events.iter().position(|byte| *byte == b'?').unwrap();
    events[at] = 0xff;
    let (before, after) = events.split_at(at + 1);
    let asked = ask(vec![Answer::pieces(&[before, after])]).await;
    assert_eq!((asked.reply().content.as_str(), asked.reply().requests), ("go\u{fffd}od", 1));
}

/// Any input gives an answer or an error, never a panic: a panic in the task that reads the stream
/// would appear on standard error.
#[tokio::test]
async fn arbitrary_bytes_never_panic() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let before = std::panic::take_hook();
    let ours = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == ours {
            PANICS.fetch_add(1, Ordering::Relaxed);
        }
        before(info);
    }));
    let good = format!(
        "data: {}\r\n\r\ndata: {}\n\ndata: {STOP}\n\ndata: [DONE]\n\n",
        delta(json!({"content": "<think>añ✓</think>b", "reasoning_details": [{"index": 0}]})),
        delta(json!({"tool_calls": [call(0, "a")]}))
    );
    let seeds: [&[u8]; 8] = [
        b"\xef\xbb\xbf",
        b"\xef\xbb",
        b"\xff\xfe\0",
        b"data: \0\n\n",
        b"\n\n\r\r\n",
        b"data\n\n:\n\nid\n\nretry: 99999999999999999999\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":[[]],\"tool_calls\":[1,null,{}],\"extra_content\":1}}],\"usage\":{\"prompt_tokens\":1e300,\"completion_tokens\":18446744073709551615}}\n\n".as_bytes(),
        b"event: error\ndata: {\"error\":[]}\n\n",
    ];
    let mut random = fastrand::Rng::with_seed(19);
    for trial in 0..120 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..=bytes.len());
            let seed = seeds[random.usize(0..seeds.len())];
            bytes.splice(at..at, seed.iter().copied());
        }
        if trial % 3 == 0 {
            let at = random.usize(0..bytes.len());
            bytes[at] = random.u8(..);
        }
        let pieces: Vec<&[u8]> = bytes.chunks(random.usize(1..64)).collect();
        let mut options = patient();
        options.no_stream = trial % 7 == 0;
        // The second try succeeds, whatever happened to the first.
        let second = stream(&[json!({"content": "b"})]);
        let whole = Answer::json(200, r#"{"choices":[{"message":{"content":"b"}}]}"#);
        let second = if options.no_stream { whole } else { second };
        let asked = ask_with(vec![Answer::pieces(&pieces), second], options).await;
        let ended = matches!(&asked.result, Ok(_) | Err(ModelError::Refused { .. }));
        assert!(ended, "trial {trial}: {:?}", asked.result);
    }
    drop(std::panic::take_hook());
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_line_of_megabytes_is_read_once() {
    let long = "x".repeat(2 << 20);
    let events = format!("data: {}\n\ndata: {STOP}\n\n", say(&long));
    let pieces: Vec<&[u8]> = events.as_bytes().chunks(1 << 10).collect();
    let asked = ask(vec![Answer::pieces(&pieces)]).await;
    assert_eq!(asked.reply().content.len(), long.len());
}
