//! Gateways before a model's server (LiteLLM, Portkey, LitServe) as they really answer, and the
//! hints for what goes wrong: they follow the cause and name the place where the user set a value.

use serde_json::{Value, json};

use crate::support::script::START;
use crate::support::{Fault, Reply, Sandbox, anywhere, at};

const IDEA: [&str; 2] = ["--stop-after", "idea"];

/// A response as it is: status, headers, body.
fn raw(code: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Reply::empty().fault(Fault::Status { code, headers, body: body.to_owned() })
}

/// The finding of `doctor` about the model.
#[track_caller]
fn model(sandbox: &Sandbox, code: i32) -> Value {
    let found = sandbox.cowork(&["doctor", "--json"]).exits(code).json_lines();
    found.into_iter().find(|line| line["check"] == "model").unwrap()
}

/// What LiteLLM 1.108 answers where the server behind it is asked too often.
#[test]
fn a_gateway_passes_on_how_long_to_wait() {
    let sandbox = Sandbox::new();
    let body = r#"{"error":{"message":"litellm.RateLimitError: RateLimitError: OpenAIException - slow down\n\nLiteLLM: model group 'coder' failed with the error above. No fallback was attempted.","type":"throttling_error","param":null,"code":"429"}}"#;
    let busy = raw(429, &[("llm_provider-retry-after", "17")], body);
    sandbox.server.times(1, at("idea", "actor"), busy);
    sandbox.auto(&IDEA).exits(0).says("trying again in 17 s, as requested");
}

/// LitServe 0.2 ends a stream with an error and not even the end of its line; transformers 5.24
/// quotes an error as it is; others have no field of that name.
#[test]
fn an_error_in_a_stream_is_told() {
    for event in [
        r#"data: {"error": {"message": "out of memory", "code": "internal_error"}}"#,
        "data: {\"error\": \"the \"cache\" is out of memory\"}\n\n",
        "data: {\"object\": \"error\", \"message\": \"out of memory\", \"code\": 500}\n\n",
    ] {
        let sandbox = Sandbox::new();
        let stream = raw(200, &[("content-type", "text/event-stream")], event);
        sandbox.server.times(1, at("idea", "actor"), stream);
        sandbox.auto(&IDEA).exits(0).says("out of memory");
    }
}

/// What Portkey's gateway 1.15 answers to a request that names no provider.
#[test]
fn a_header_that_a_gateway_wants_is_named() {
    let body = r#"{"status":"failure","message":"Either x-portkey-config or x-portkey-provider header is required"}"#;
    let sandbox = Sandbox::new();
    sandbox.server.on(anywhere(), raw(400, &[], body));
    let set = "git config cowork.llm.headers '{\"x-portkey-config\": \"VALUE\"}'";
    sandbox.auto(&IDEA).exits(4).says("header is required").says("[llm] headers").says(set);
    assert_eq!(sandbox.server.requests().len(), 1, "nothing that is left out would help");
    sandbox.server.on(at(START, "actor"), raw(400, &[], body));
    let found = model(&sandbox, 4);
    assert!(found["fixes"].to_string().contains("cowork.llm.headers"), "{found}");
}

/// Portkey's gateway on Node 20 fails at every stream, and answers without.
#[test]
fn where_only_streams_fail_doctor_says_so() {
    let sandbox = Sandbox::new();
    sandbox.server.on_with(at(START, "actor"), |received| {
        let body = r#"{"status":"failure","message":"Something went wrong"}"#;
        let streams = received.body["stream"] == true;
        Some(if streams { raw(500, &[], body) } else { Reply::call("ready", json!({})) })
    });
    let found = model(&sandbox, 4);
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("answers only where it does not stream"), "{found}");
    assert!(text.contains("Something went wrong"), "{found}");
    assert_eq!(found["fixes"], json!(["git cowork --no-stream new"]));
    // One failure is no proof.
    let chance = Sandbox::new();
    chance.server.on(at(START, "actor"), Reply::call("ready", json!({})));
    chance.server.times(1, at(START, "actor"), Reply::status(500, "boom"));
    assert_eq!(model(&chance, 0)["state"], "ok");
    let found = sandbox.cowork(&["--no-stream", "doctor", "--json"]).exits(0);
    assert!(found.stdout.contains("not streamed (--no-stream)"), "{}", found.stdout);
}

#[test]
fn hints_follow_the_cause() {
    let overloaded =
        r#"{"error":{"message":"litellm.InternalServerError: AnthropicError - Overloaded"}}"#;
    let unknown = r#"{"error":{"message":"/chat/completions: Invalid model name passed in model=scripted. Call `/v1/models` to view available models for your key.","code":"400"}}"#;
    let no_key = r#"{"error":{"message":"No connected db.","type":"no_db_connection","param":null,"code":"400"}}"#;
    let told = [
        (Reply::status(500, "boom"), "the server failed at this request: check its log"),
        (Reply::status(502, "no upstream"), "check its log, and whether the server behind it runs"),
        (raw(500, &[], overloaded), "the server is overloaded"),
        (Reply::status(529, "Overloaded"), "the server is overloaded"),
        (
            Reply::status(429, "slow down"),
            "send fewer requests: git config cowork.llm.ratelimit 10/m",
        ),
        (Reply::text("Half").fault(Fault::SilentAfter(2)), "cowork.llm.timeouts 600"),
        (
            Reply::text("Half an ans").fault(Fault::CutAfter(2)),
            "whether only streams fail: git cowork doctor",
        ),
        (raw(400, &[], unknown), "export COWORK_LLM_MODEL=NAME"),
        (raw(400, &[], no_key), "check the key: export COWORK_LLM_API_KEY=KEY"),
        (Reply::status(403, "not allowed"), "check the key: export COWORK_LLM_API_KEY=KEY"),
    ];
    for (reply, hint) in told {
        let sandbox = Sandbox::new();
        sandbox.user_config("[llm]\nmax_retries = 0\ntimeout_s = 1\n");
        sandbox.server.on(anywhere(), reply);
        sandbox.auto(&IDEA).exits(4).says(hint);
    }
}

#[test]
fn hints_name_the_variable_that_the_user_set() {
    let mut sandbox = Sandbox::new();
    sandbox.server.on(anywhere(), Reply::status(401, "bad key"));
    sandbox.server.on(at(START, "actor"), Reply::status(401, "bad key"));
    for (name, value) in [("COWORK_LLM_API_KEY", ""), ("OPENAI_API_KEY", "k"), ("MY_KEY", "mine")] {
        sandbox.set_env(name, value);
    }
    sandbox.auto(&IDEA).exits(4).says("check the key: export OPENAI_API_KEY=KEY");
    sandbox.set_env("OPENAI_API_KEY", "");
    sandbox.user_config("[llm]\napi_key = \"${MY_KEY}\"\n");
    sandbox.auto(&IDEA).exits(4).says("check the key: export MY_KEY=KEY");
    let found = model(&sandbox, 4);
    assert!(found["fixes"].to_string().contains("export MY_KEY=KEY"), "{found}");
    sandbox.set_env("COWORK_LLM_BASE_URL", "");
    sandbox.set_env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    sandbox.auto(&IDEA).exits(4).says("export OPENAI_BASE_URL=URL").says("127.0.0.1:9");
}

#[test]
fn the_first_of_a_list_is_not_proposed_for_being_the_first() {
    let sandbox = Sandbox::new();
    sandbox.server.lists(json!([{"id": "a-first-one"}, {"id": "zebra"}]));
    sandbox.server.on(at(START, "actor"), Reply::status(404, "model 'scripted' not found"));
    let found = model(&sandbox, 4);
    let fixes = found["fixes"].to_string();
    assert!(!fixes.contains("a-first-one") && fixes.contains("git cowork models"), "{found}");
    // A model that a gateway does not list is no slip of the pen where the server is down.
    sandbox.server.lists(json!([{"id": "scripted-2"}]));
    sandbox.server.on(at(START, "actor"), Reply::status(500, "boom"));
    let found = model(&sandbox, 4);
    assert!(!found["fixes"].to_string().contains("scripted-2"), "{found}");
}

/// Where text is marked to be cached, a gateway pays Gemini for keeping it.
#[test]
fn only_claude_is_told_what_to_cache() {
    let marks = |name: &str, api: &str, answers: &'static str| {
        let mut sandbox = Sandbox::new();
        sandbox.set_env("COWORK_LLM_MODEL", name);
        sandbox.git(&["config", "cowork.llm.api", api]);
        let reply = Reply::call("save_idea", json!({"content": crate::support::todo::IDEA}));
        sandbox.server.on(at("idea", "actor").turn(1), reply.by(answers));
        sandbox.server.manner(move |_, reply| reply.by(answers));
        sandbox.auto(&["--stop-after", "prd"]).exits(0);
        let requests = sandbox.server.requests();
        let count = |body: &Value| body.to_string().matches("cache_control").count();
        (count(&requests[0].body), count(&requests.last().unwrap().body))
    };
    let first_and_last = |name, api, answers| {
        let (first, last) = marks(name, api, answers);
        (first > 0, last > 0)
    };
    assert_eq!(first_and_last("claude-sonnet", "chat", "claude-sonnet"), (true, true));
    assert_eq!(first_and_last("vertex_ai/gemini-claude", "chat", "gemini-3"), (false, false));
    // The name is the gateway's own; who answers says what it is.
    assert_eq!(first_and_last("my-claude", "chat", "gemini-3.1-pro"), (true, false));
}

#[test]
fn an_unknown_template_or_provider_is_an_error_with_what_is_known() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "cowork.project.template", "klingon"]);
    let outcome = sandbox.auto(&IDEA).exits(4).says("klingon");
    outcome.says("rust, ").says("guidance-klingon.md");
    let found = sandbox.cowork(&["doctor"]).exits(4);
    assert!(found.stdout.contains("klingon"), "{}", found.stdout);
    assert_eq!(sandbox.server.requests().len(), 0);
    let own = sandbox.root().join("home/.config/cowork/prompts");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("guidance-klingon.md"), "Write with honour.\n").unwrap();
    sandbox.auto(&IDEA).exits(0);
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "cowork.llm.provider", "bard"]);
    sandbox.auto(&IDEA).exits(4).says("must be one of").says("\"openai\"").says("\"ollama\"");
}
