//! The harness itself: the server speaks HTTP as scripted, and the sandbox keeps to itself.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::script::Script;
use crate::support::server::Server;
use crate::support::{Fault, Reply, Sandbox, Wire, at};

fn post(server: &Server, stage: &str, role: &str, body: &Value) -> String {
    let body = body.to_string();
    let url = server.base_url();
    let host = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncowork-stage: {stage}\r\n\
         cowork-role: {role}\r\ncowork-iteration: 1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn ask(text: &str, stream: bool) -> Value {
    json!({"stream": stream, "messages": [{"role": "user", "content": text}]})
}

#[test]
fn the_newest_rule_wins_and_runs_out() {
    let server = Server::start(Script::todo());
    server.times(1, at("prd", "critic"), Reply::status(500, "out of order"));
    assert!(post(&server, "prd", "critic", &ask("", false)).contains("out of order"));
    assert!(post(&server, "prd", "critic", &ask("", false)).contains("exit_loop"));
    assert_eq!(server.requests_of("prd", "critic").len(), 2);
    assert_eq!(server.requests()[1].position(), "prd critic iteration 1 turn 1");
}

#[test]
fn a_position_nobody_scripted_is_remembered() {
    let server = Server::start(Script::todo());
    assert!(post(&server, "idea", "critic", &ask("", true)).contains(" 400 "));
    assert_eq!(server.unexpected(), ["idea critic iteration 1 turn 1"]);
}

#[test]
fn a_stream_can_be_cut_into_odd_pieces() {
    let server = Server::start(Script::default());
    let reply = Reply::text("naïve").and("write_file", json!({"path": "a"})).wire(Wire::ODD);
    server.on(at("coding", "actor"), reply);
    let answer = post(&server, "coding", "actor", &ask("", true));
    assert!(answer.contains("\r\n7\r\n") && answer.ends_with("0\r\n\r\n"), "{answer}");
    server.on(at("coding", "actor"), Reply::text("abc").fault(Fault::CutAfter(1)));
    let answer = post(&server, "coding", "actor", &ask("", true));
    assert!(answer.contains("assistant") && !answer.ends_with("0\r\n\r\n"), "{answer}");
}

#[test]
fn the_task_is_read_from_the_brief() {
    let server = Server::start(Script::todo());
    let brief = "Plan: TASK-001, TASK-002\n\n## Task: TASK-002 Add a todo\nDepends on TASK-001";
    let answer = post(&server, "coding", "actor", &ask(brief, false));
    assert!(answer.contains("lib/add.sh"), "{answer}");
}

#[test]
fn a_sandbox_sees_nothing_of_its_host() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.git(&["config", "user.email"]), "ana@example.org");
    assert_eq!(sandbox.subjects("main"), ["first"]);
    sandbox.assert_sound();
    let copy = sandbox.fork();
    copy.write("new", "");
    assert!(!sandbox.exists("new") && copy.exists("README.md"));
}
