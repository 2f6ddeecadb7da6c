//! What is sent to a server besides the conversation: headers, parameters, fields of the body. Keys
//! among it are kept secret, and a project's file sets none of it.

use serde_json::json;

use crate::support::todo::{IDEA, lingers};
use crate::support::{Fault, Reply, Sandbox, at};

/// In two parts, so that only the program can have put it together.
fn key(of: &str) -> String {
    format!("pk-{of}-{}", "q7Xw2LmZ9vB4nT6rKd8s")
}

const STOP: [&str; 2] = ["--stop-after", "idea"];

#[test]
fn it_goes_with_every_request_and_wins_over_what_is_sent_by_itself() {
    let sandbox = Sandbox::new();
    sandbox.user_config(
        "[llm]\nmax_tokens = 900\nreasoning_effort = \"low\"\n\
         headers = { x-team = \"tools\", Authorization = \"Basic abcdefgh\" }\n\
         query = { api-version = \"2024-10-21\" }\n\
         extra_body = { temperature = 0.1, stream_options = { extra = true }, top_k = 3 }\n",
    );
    sandbox.auto(&STOP).exits(0);
    for request in sandbox.server.requests() {
        assert_eq!(request.target, "/v1/chat/completions?api-version=2024-10-21");
        assert_eq!(request.headers["x-team"], "tools");
        assert_eq!(request.headers["authorization"], "Basic abcdefgh");
        assert_eq!(request.headers["cowork-stage"], "idea");
        let body = &request.body;
        assert_eq!((&body["max_tokens"], &body["reasoning_effort"]), (&json!(900), &json!("low")));
        assert_eq!((&body["temperature"], &body["top_k"]), (&json!(0.1), &json!(3)));
        assert_eq!(body["stream_options"], json!({"include_usage": true, "extra": true}));
    }
}

#[test]
fn keys_in_it_are_withheld_as_api_key_is() {
    let sandbox = Sandbox::new();
    let keys = ["header", "query", "body"].map(key);
    let [header, query, body] = &keys;
    sandbox.user_config(&format!(
        "[llm]\nheaders = {{ x-gateway-key = \"{header}\" }}\nquery = {{ token = \"{query}\" }}\n\
         extra_body = {{ gateway = {{ api_key = \"{body}\" }} }}\n"
    ));
    sandbox.commit_file(".gitignore", "settings.txt\n", "ignore it");
    sandbox.write("settings.txt", &keys.join("\n"));
    let server = &sandbox.server;
    server.manner(lingers);
    server.on(
        at("idea", "actor").turn(1),
        Reply::call("save_idea", json!({"content": format!("{IDEA}\nIt uses {header}.\n")}))
            .and("read_file", json!({"path": "settings.txt"})),
    );
    server.on(at("idea", "actor").turn(2), Reply::text(&format!("It is {query} and {body}.")));
    // The server quotes them in an error.
    let said = json!({"error": {"message": format!("busy for {}", keys.join(" "))}}).to_string();
    let headers = vec![("retry-after".to_owned(), "0".to_owned())];
    let busy = Reply::empty().fault(Fault::Status { code: 503, headers, body: said });
    server.times(1, at("idea", "actor").turn(2), busy);
    let record = sandbox.root().join("said.jsonl").display().to_string();
    let outcome = sandbox.auto(&[&STOP[..], &["--verbose", "--record", &record]].concat()).exits(0);
    let asked: String = sandbox
        .server
        .requests()
        .iter()
        .map(|request| request.messages().iter().map(ToString::to_string).collect::<String>())
        .collect();
    assert!(asked.contains("[withheld key]"), "the actor read them");
    let log = sandbox.git(&["log", "-p", "--all"]);
    for key in &keys {
        for text in [&asked, &outcome.stdout, &outcome.stderr, &log] {
            assert!(!text.contains(key), "{text}");
        }
    }
    outcome.says("busy for *** *** ***");
    let found = sandbox.files_with("pk-");
    assert_eq!(found, ["config.toml", "settings.txt"], "only where the user put them");
}

#[test]
fn a_projects_file_sets_none_of_it_unless_it_is_trusted() {
    let sandbox = Sandbox::new();
    let text = "[llm]\nheaders = { x-team = \"theirs\" }\nmax_tokens = 1\nreasoning_effort = \"max\"\n\
        [llm.extra_body]\ntop_k = 1\n[llm.query]\nq = \"1\"\n";
    sandbox.write(".cowork/config.toml", text);
    sandbox.commit_all("configuration");
    let outcome = sandbox.auto(&STOP).exits(0);
    for key in ["headers", "max_tokens", "reasoning_effort", "extra_body", "query"] {
        assert!(outcome.stderr.contains(&format!("llm.{key}")), "{}", outcome.stderr);
    }
    let request = &sandbox.server.requests()[0];
    assert!(!request.headers.contains_key("x-team") && request.target.ends_with("/completions"));
    for key in ["max_tokens", "reasoning_effort", "top_k"] {
        assert!(request.body.get(key).is_none(), "{key}");
    }
    let accepted = sandbox.cowork(&["trust"]).exits(0);
    assert!(accepted.stdout.contains("llm.headers = { \"x-team\" = … }"), "{}", accepted.stdout);
}

#[test]
fn a_gateway_to_claude_is_told_what_to_cache() {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_LLM_MODEL", "anthropic/claude-scripted");
    sandbox.server.manner(lingers);
    sandbox.auto(&STOP).exits(0);
    let marks = |body: &serde_json::Value| {
        body.to_string().matches(r#""cache_control":{"type":"ephemeral"}"#).count()
    };
    let counted: Vec<usize> =
        sandbox.server.requests().iter().map(|request| marks(&request.body)).collect();
    assert_eq!(counted, [2, 3]);

    let other = Sandbox::new();
    other.auto(&STOP).exits(0);
    assert!(other.server.requests().iter().all(|request| marks(&request.body) == 0));
}

#[test]
fn a_gateway_that_takes_no_marks_is_asked_without() {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_LLM_MODEL", "claude-scripted");
    sandbox.server.manner(|received, reply| {
        let marked = received.body.to_string().contains("cache_control");
        let message = "messages.0.content.0.cache_control: Extra inputs are not permitted";
        if marked { Reply::status(400, message) } else { reply }
    });
    let outcome = sandbox.auto(&STOP).exits(0).says("the model server refuses cache marks");
    assert_eq!(outcome.stderr.matches("refuses cache marks").count(), 1, "{}", outcome.stderr);
}
