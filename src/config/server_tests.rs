//! Settings of a model's server: Claude's own provider, and data that is sent besides the
//! conversation.

use serde_json::json;

use super::tests::Case;
use super::{Config, HOSTED_APIS, ModelConfig};

const HOSTED: &str = HOSTED_APIS[0].base_url;

const CLAUDE: &str = HOSTED_APIS[1].model;
const ANTHROPIC: &str = "[llm]\nprovider = \"anthropic\"\n";

#[test]
fn claudes_own_provider_has_an_address_and_a_key_of_its_own() {
    let case = Case::new().user(ANTHROPIC).env("OPENAI_API_KEY", "o");
    let llm = case.config().llm;
    assert_eq!(llm.base_url, "https://api.anthropic.com/v1");
    assert_eq!((llm.api_key.as_str(), &*llm.model), ("", CLAUDE), "not OpenAI's key");
    assert_eq!((llm.rate_limit, llm.answer_s), (Some(30), 1800));
    let case = case.env("OPENAI_BASE_URL", "https://o.example/v1").env("ANTHROPIC_API_KEY", "a");
    let llm = case.config().llm;
    assert_eq!(
        (llm.base_url.as_str(), llm.api_key.as_str()),
        ("https://api.anthropic.com/v1", "a")
    );
    let case = case.env("ANTHROPIC_BASE_URL", "https://c.example/anthropic");
    assert_eq!(case.config().llm.base_url, "https://c.example/anthropic");
    assert_eq!(case.env("COWORK_LLM_API_KEY", "c").config().llm.api_key, "c");
}

#[test]
fn a_key_that_is_configured_wins_over_that_of_other_programs() {
    let own = format!("{ANTHROPIC}api_key = \"own\"\n");
    let case = Case::new().user(&own).env("ANTHROPIC_API_KEY", "a");
    assert_eq!(case.config().llm.api_key, "own");
    let other = Case::new().user("[llm]\napi_key = \"o\"\n").env("ANTHROPIC_API_KEY", "a");
    assert_eq!(
        (other.config().llm.base_url.as_str(), other.config().llm.api_key.as_str()),
        (HOSTED, "o")
    );
}

#[test]
fn further_models_of_claudes_provider_get_its_key() {
    let models = "[models.judge]\nprovider = \"anthropic\"\nmodel = \"claude-x.y\"\n\
        [models.\"a.b\"]\nprovider = \"anthropic\"\n\
        [models.elsewhere]\nprovider = \"anthropic\"\nbase_url = \"https://c.example/v1\"\n\
        [models.keyed]\nprovider = \"anthropic\"\napi_key = \"own\"\n";
    let config = Case::new().user(models).env("ANTHROPIC_API_KEY", "a").config();
    let key = |name: &str| config.models[name].api_key.as_str();
    assert_eq!(["judge", "a.b", "elsewhere", "keyed"].map(key), ["a", "a", "", "own"]);
    assert_eq!(config.models["judge"].base_url, "https://api.anthropic.com/v1");
    assert_eq!((&*config.models["a.b"].model, config.llm.api_key.as_str()), (CLAUDE, ""));
    // A model on the same server as [llm] has the same key.
    let both = format!("{ANTHROPIC}[models.small]\nmodel = \"claude-small\"\n");
    let config = Case::new().user(&both).env("COWORK_LLM_API_KEY", "c").config();
    assert_eq!(config.models["small"].api_key, "c");
}

const EXTRAS: &str = r#"
[llm]
base_url = "https://a.example/v1"
max_tokens = 4096
reasoning_effort = "low"
headers = { "X-Api-Key" = "${PROXY_KEY}", x-team = "tools" }
extra_body = { top_k = 40, metadata = { user = "me", deep = [1.5, true] } }
[llm.query]
api-version = "2024-10-21"
[models.same]
model = "small"
[models.other]
base_url = "https://b.example/v1"
"#;

#[test]
fn extra_request_data_is_inherited_only_for_the_same_server() {
    let config = Case::new().user(EXTRAS).env("PROXY_KEY", "proxy-0123456789").config();
    let llm = &config.llm;
    assert_eq!((llm.max_tokens, llm.reasoning_effort.as_str()), (4096, "low"));
    assert_eq!(llm.headers["X-Api-Key"], "proxy-0123456789");
    assert_eq!(llm.query["api-version"], "2024-10-21");
    let body = json!({"top_k": 40, "metadata": {"user": "me", "deep": [1.5, true]}});
    assert_eq!(json!(llm.extra_body), body);
    assert_eq!(config.models["same"].headers, llm.headers);
    let none = Config::default().llm;
    let other = &config.models["other"];
    assert_eq!((&other.headers, &other.query), (&none.headers, &none.query));
    assert_eq!((other.max_tokens, &other.extra_body), (0, &none.extra_body));
    let git = Case::new().git("cowork.llm.extrabody", r#"{"top_k": 3}"#);
    assert_eq!(json!(git.config().llm.extra_body), json!({"top_k": 3}));
}

#[test]
fn keys_in_extra_request_data_are_secret_and_not_logged() {
    let config = Case::new().user(EXTRAS).env("PROXY_KEY", "proxy-0123456789").config();
    assert_eq!(config.llm.secrets(), ["proxy-0123456789"]);
    assert!(!format!("{:?}", config.llm).contains("proxy"));
    let extra_body = json!({"litellm": {"api_key": "nested-0123", "tags": ["a"]}});
    let extra_body = extra_body.as_object().cloned().unwrap();
    let model = ModelConfig { api_key: "k".into(), extra_body, ..ModelConfig::default() };
    assert_eq!(model.secrets(), ["k", "nested-0123"]);
    // A variable that is not set makes the model unusable, as it does in api_key.
    let unset = Case::new().user(EXTRAS).config();
    let error = unset.model("default").unwrap_err().to_string();
    assert!(error.contains("`llm.headers`") && error.contains("PROXY_KEY"), "{error}");
}

#[test]
fn invalid_request_data_is_named_without_its_value() {
    for (line, named) in [
        ("headers = { \"a b\" = \"hush\" }", "\"a b\", which is not a valid header name"),
        ("headers = { a = \"hush\\nhush\" }", "\"a\", whose value has characters"),
        ("headers = { Host = \"hush\" }", "\"Host\", which git-cowork sets itself"),
        ("headers = { a = 1 }", "must be a table of strings"),
        ("extra_body = { messages = \"hush\" }", "\"messages\", which git-cowork sets itself"),
        ("extra_body = { a = 1979-05-27 }", "must be a table"),
        ("query = \"hush\"", "must be a table of strings"),
        ("max_tokens = -1", "must be a whole number"),
    ] {
        let error = Case::new().user(&format!("[llm]\n{line}\n")).error();
        assert!(error.contains(named) && error.contains("user.toml:2"), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
    let git = Case::new().git("cowork.llm.headers", "x-a=hush").error();
    assert!(git.contains("must be a table of strings") && !git.contains("hush"), "{git}");
    let literal = Case::new().git("cowork.llm.headers", r#"{"x-a": "${KEY}"}"#).load();
    assert!(literal.warnings[0].contains("`llm.headers`"), "{:?}", literal.warnings);
}
