//! Which model is asked: what servers offer, who chooses where nobody has, and what it costs.

use serde_json::{Value, json};

use crate::support::Sandbox;
#[cfg(unix)]
use crate::support::pty::Terminal;

const STOP: [&str; 2] = ["--stop-after", "idea"];

/// Nobody has set a model, and the server has these.
fn unset(models: Value) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_LLM_MODEL", "");
    sandbox.server.lists(models);
    sandbox
}

fn three() -> Value {
    json!([{"id": "small"}, {"id": "large"}, {"id": "text-embedding-3"}])
}

/// The models that were asked, each once.
fn asked(sandbox: &Sandbox) -> Vec<String> {
    let all = [sandbox.server.first_requests(), sandbox.server.requests()].concat();
    let mut models: Vec<String> =
        all.iter().map(|request| request.body["model"].as_str().unwrap().to_owned()).collect();
    models.dedup();
    models
}

#[test]
fn what_servers_offer_is_listed_with_what_it_holds_and_costs() {
    let sandbox = Sandbox::new();
    sandbox.server.lists(json!([
        {"id": "scripted", "max_model_len": 32768},
        {"id": "other/model", "context_length": 1_000_000,
         "pricing": {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000002"}},
        {"id": "whisper-1"},
    ]));
    sandbox.user_config(
        "[models.reviewer]\nmodel = \"other/model\"\n\
         [budget.prices.scripted]\nin = 0.5\nout = 1.5\n",
    );
    let outcome = sandbox.cowork(&["models"]).exits(0);
    let url = sandbox.server.base_url();
    let own: Vec<&str> = outcome.stdout.lines().take(3).collect();
    assert_eq!(
        own,
        [
            url.as_str(),
            "* other/model  1M tokens · $2 in, $10 out, $0.2 cached · reviewer",
            "* scripted     32k tokens · $0.5 in, $1.5 out, $0.5 cached",
        ]
    );
    let lines = sandbox.cowork(&["models", "--json"]).exits(0).json_lines();
    let own: Vec<&Value> = lines.iter().filter(|line| line["server"] == url.as_str()).collect();
    assert_eq!(own.len(), 2);
    assert_eq!(
        (&own[0]["model"], &own[0]["context_window"]),
        (&json!("other/model"), &json!(1_000_000))
    );
    assert_eq!(own[0]["used_by"], json!(["reviewer"]));
    assert_eq!(own[1]["prices"], json!({"in": 0.5, "out": 1.5, "cached": 0.5}));
    assert_eq!(sandbox.server.asked(), 0);
}

#[test]
fn a_server_that_cannot_be_asked_is_named_after_the_others() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[models.gone]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n");
    let outcome = sandbox.cowork(&["models"]).exits(4).says("http://127.0.0.1:9/v1");
    assert!(outcome.stdout.contains("* scripted"), "{}", outcome.stdout);
}

#[test]
fn a_server_that_lists_nothing_is_said_to() {
    let sandbox = Sandbox::new();
    sandbox.server.lists(json!([]));
    let listed = sandbox.cowork(&["models"]).exits(0).stdout;
    let server = format!("{} (does not list its models)\n* scripted\n", sandbox.server.base_url());
    assert!(listed.starts_with(&server), "{listed}");
}

#[test]
fn the_model_that_answers_is_said() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.auto(&STOP).exits(0);
    outcome.says(&format!("model: scripted at {}", sandbox.server.base_url()));
    // The only one there is needs no choice.
    let sandbox = unset(json!([{"id": "only"}, {"id": "my-embedder"}]));
    sandbox.auto(&STOP).exits(0).says("model: only at");
    assert_eq!(asked(&sandbox), ["only"]);
}

#[test]
fn several_models_without_a_choice_are_named_and_nothing_is_made() {
    let sandbox = unset(three());
    let before = sandbox.all_refs();
    let outcome =
        sandbox.auto(&STOP).exits(4).says("several models, and none is set: small, large");
    let outcome = outcome.says("git config cowork.llm.model NAME").says("git cowork models");
    assert!(!outcome.stderr.contains("embedding"), "{}", outcome.stderr);
    assert_eq!((sandbox.all_refs(), sandbox.server.asked()), (before, 0));
    sandbox.git(&["config", "cowork.llm.model", "large"]);
    sandbox.auto(&STOP).exits(0);
    assert_eq!(asked(&sandbox), ["large"]);
}

#[cfg(unix)]
#[test]
fn a_person_chooses_once() {
    let sandbox = unset(three());
    let new = ["new", "-n", "todo", "a todo list for the terminal", "--review", "auto"];
    let mut terminal: Terminal = sandbox.terminal(&[&new[..], &STOP].concat());
    terminal.sees("several models; which one");
    // Up from the top is the last one.
    terminal.types("k\r");
    terminal.sees("large is the model here from now on");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.git(&["config", "cowork.llm.model"]), "large");
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert_eq!(asked(&sandbox), ["large"]);
}

#[test]
fn a_well_known_model_elsewhere_costs_its_list_price() {
    let mut sandbox = Sandbox::new();
    // Elsewhere, as far as the program can see.
    let server = sandbox.server.base_url().replace("/v1", "");
    for (name, value) in [
        ("http_proxy", server.as_str()),
        ("COWORK_LLM_BASE_URL", "http://models.example.test/v1"),
        ("COWORK_LLM_MODEL", "vendor/gpt-5-mini"),
        ("no_proxy", ""),
        ("NO_PROXY", ""),
    ] {
        sandbox.set_env(name, value);
    }
    sandbox.user_config("[llm]\nrate_limit = \"6000/m\"\n[budget]\nusd = 5.0\n");
    sandbox.auto(&STOP).exits(0);
    let cost = |name: &str| {
        let commit = sandbox.commit_of(&format!("cowork/{name}"), "idea: ");
        sandbox.trailers(&commit)["Cowork-Cost"][0].clone()
    };
    // Two answers to 100 tokens, of 20 each.
    assert!(cost("todo").ends_with(" usd=0.000130"), "{}", cost("todo"));
    // What the user says counts before the list.
    sandbox.git(&["config", "cowork.budget.prices.vendor/gpt-5-mini.in", "0"]);
    sandbox.git(&["config", "cowork.budget.prices.vendor/gpt-5-mini.out", "10"]);
    let new = ["new", "-n", "other", "something else", "--review", "auto"];
    sandbox.cowork(&[&new[..], &STOP].concat()).exits(0);
    assert!(cost("other").ends_with(" usd=0.000400"), "{}", cost("other"));
}

#[test]
fn of_another_server_a_model_is_chosen_like_the_first() {
    let sandbox = Sandbox::new();
    sandbox.server.lists(three());
    let other = sandbox.server.base_url().replace("127.0.0.1", "localhost");
    sandbox.user_config(&format!(
        "[models.second]\nbase_url = \"{other}\"\n[roles]\ncritic = \"second\"\n"
    ));
    let outcome = sandbox.auto(&STOP).exits(4).says(&format!("{other} has several models"));
    outcome.says("none is set: small, large").says("git config cowork.models.second.model NAME");
    assert_eq!(sandbox.server.asked(), 0);
    sandbox.git(&["config", "cowork.models.second.model", "large"]);
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let critics = sandbox.server.requests_of("prd", "critic");
    assert_eq!(critics[0].body["model"], "large");
}

#[test]
fn the_right_base_url_is_named_where_v1_is_missing() {
    let mut sandbox = Sandbox::new();
    let right = sandbox.server.base_url();
    sandbox.set_env("COWORK_LLM_BASE_URL", right.trim_end_matches("/v1"));
    let outcome = sandbox.cowork(&["doctor"]).exits(4);
    let told = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(told.contains(&format!("export COWORK_LLM_BASE_URL={right}")), "{told}");
    assert!(!told.contains("export COWORK_LLM_MODEL"), "{told}");
}
