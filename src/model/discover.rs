//! Finds model servers and the models that they list.

use std::time::Duration;

use serde_json::Value;

use super::dialect::Refusals;
use super::endpoint::Endpoint;
use super::failure::{self, Failure};
use super::retry::WaitHeaders;
use super::transport;
use crate::config::Price;

/// Default ports of local servers: Ollama, LM Studio, llama.cpp, vLLM.
pub const LOOPBACK_PORTS: [u16; 4] = [11434, 1234, 8080, 8000];

/// Time limit for a server's model list; the list of a hosted server is long.
const PROBE: Duration = Duration::from_secs(10);
/// Time limit for the list of a local server, which may not be running.
const GLANCE: Duration = Duration::from_secs(1);

/// Maximum bytes of a list that are read.
const MAX_LIST: usize = 8 << 20;

/// A model in a server's list, with what the list says about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedModel {
    /// The model's name on that server.
    pub id: String,
    /// The model's context window in tokens.
    pub context_window: Option<u64>,
    /// The model's price on that server.
    pub price: Option<Price>,
}

impl ListedModel {
    /// True if the model has this name; Gemini's list puts `models/` before its names.
    pub fn is_named(&self, name: &str) -> bool {
        self.id.strip_prefix("models/").unwrap_or(&self.id) == name
    }
}

/// Looks for model servers on this machine. Returns the base URL and the models of each port that
/// lists chat models, in the given order; other ports are skipped.
pub async fn local(ports: &[u16]) -> Vec<(String, Vec<ListedModel>)> {
    let Ok(http) = transport::http_client("http://127.0.0.1", GLANCE) else { return Vec::new() };
    let look = |port: &u16| {
        let (http, base_url) = (http.clone(), format!("http://127.0.0.1:{port}/v1"));
        async move {
            let endpoint = Endpoint::open(&base_url);
            let result = tokio::time::timeout(GLANCE, models(&http, &endpoint)).await;
            let chat = chat_models(result.ok()?.ok()?);
            (!chat.is_empty()).then_some((base_url, chat))
        }
    };
    futures::future::join_all(ports.iter().map(look)).await.into_iter().flatten().collect()
}

/// If the configured base URL is wrong, the error message ends with these words and the correct
/// base URL.
pub const RIGHT_URL: &str = "the base URL should be ";

/// The models that a server lists; empty if it has no such list, like many gateways. Fails if the
/// server cannot be reached or refuses the key, or if the list is found only with `/v1` appended
/// to the base URL.
pub async fn models(
    http: &reqwest::Client,
    endpoint: &Endpoint,
) -> Result<Vec<ListedModel>, Failure> {
    let (status, wait, body) = list(http, endpoint).await?;
    let is_list = || serde_json::from_str::<Value>(&body).is_ok();
    match (status, failure::from_status(status, wait, &body, Refusals::default())) {
        (200..300, _) if is_list() => return Ok(parse_list(&body)),
        (401 | 403 | 407, failure @ Failure::Refused { .. }) => return Err(failure),
        // A server that is starting up or busy, or a gateway whose backend is down.
        (429 | 502..=504 | 529, failure @ Failure::Transient { .. }) => return Err(failure),
        _ => {}
    }
    let with_version = endpoint.below("/v1");
    if !endpoint.has_version()
        && let Ok((200..300, _, body)) = list(http, &with_version).await
        && !parse_list(&body).is_empty()
    {
        let (base_url, right) = (shown(endpoint.base_url()), shown(with_version.base_url()));
        let message = format!("no API at {base_url}: {RIGHT_URL}{right}");
        return Err(Failure::Refused { status: Some(status), message });
    }
    Ok(Vec::new())
}

async fn list(
    http: &reqwest::Client,
    endpoint: &Endpoint,
) -> Result<(u16, WaitHeaders, String), Failure> {
    let base_url = endpoint.base_url();
    let fails = |error: reqwest::Error| {
        let message = format!("{}: {}", shown(base_url), transport::explain(&error));
        match transport::is_lasting(&error) {
            true => Failure::Refused { status: None, message },
            false => Failure::transient(transport::failed_at(&error), message),
        }
    };
    let mut request =
        http.get(format!("{base_url}/models")).timeout(PROBE).build().map_err(fails)?;
    endpoint.enter(&mut request);
    let response = http.execute(request).await.map_err(fails)?;
    let (status, told) = (response.status().as_u16(), transport::told(&response));
    Ok((status, told, transport::read_text(response, MAX_LIST).await))
}

/// A base URL without user and password.
fn shown(base_url: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(base_url) else { return base_url.to_owned() };
    // Both calls fail only for URLs that cannot contain a user or password.
    let _ = (url.set_password(None), url.set_username(""));
    url.to_string()
}

/// Words in the names of models that do not chat.
const OTHER_WORK: [&str; 12] = [
    "embed",
    "rerank",
    "moderation",
    "whisper",
    "transcribe",
    "tts",
    "audio",
    "realtime",
    "image",
    "dall-e",
    "sora",
    "ocr",
];

/// The models that can chat.
pub fn chat_models(mut models: Vec<ListedModel>) -> Vec<ListedModel> {
    models.retain(|model| {
        let name = model.id.to_lowercase();
        !OTHER_WORK.iter().any(|word| name.contains(word))
    });
    models
}

/// Reads a model list in any known format.
fn parse_list(body: &str) -> Vec<ListedModel> {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let list = value.get("data").or_else(|| value.get("models")).unwrap_or(&value);
    let one = |model: &Value| {
        let id = model.get("id").or_else(|| model.get("name")).unwrap_or(model).as_str()?;
        let is_name = !id.is_empty() && !id.contains(char::is_control);
        is_name.then(|| ListedModel {
            id: id.to_owned(),
            context_window: context_window(model),
            price: price(model),
        })
    };
    list.as_array().map(|models| models.iter().filter_map(one).collect()).unwrap_or_default()
}

/// The context window, under the names that these servers use: OpenRouter, Groq, vLLM, LM Studio
/// (and Mistral), Anthropic, llama.cpp.
fn context_window(model: &Value) -> Option<u64> {
    let keys = [
        "/context_length",
        "/context_window",
        "/max_model_len",
        "/max_context_length",
        "/max_input_tokens",
        "/meta/n_ctx",
        "/meta/n_ctx_train",
    ];
    keys.iter().find_map(|key| model.pointer(key)?.as_u64()).filter(|tokens| *tokens > 0)
}

/// The price in OpenRouter's format: dollars for one token, as text.
fn price(model: &Value) -> Option<Price> {
    let dollars = |key: &str| {
        let one: f64 = model.get("pricing")?.get(key)?.as_str()?.parse().ok()?;
        // Rounded to a millionth, to hide floating-point errors.
        Some((one * 1e12).round() / 1e6).filter(|dollars| dollars.is_finite() && *dollars >= 0.0)
    };
    let input = dollars("prompt")?;
    let cache_read = dollars("input_cache_read").unwrap_or(input);
    Some(Price { input, output: dollars("completion")?, cached: cache_read })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_server::{Answer, Server};

    #[tokio::test]
    async fn ports_with_a_model_list_are_found() {
        let other = Server::start(vec![Answer::json(200, "<html>a web site</html>")]).await;
        let list = r#"{"data":[{"id":"nomic-embed-text"},{"id":"coder"}]}"#;
        let model = Server::start(vec![Answer::json(200, list)]).await;
        let found = local(&[other.port(), model.port()]).await;
        let coder = ListedModel { id: "coder".into(), ..ListedModel::default() };
        assert_eq!(found, [(model.base_url(), vec![coder])]);
        let closed = Server::start(vec![]).await.close().await;
        assert!(local(&[closed]).await.is_empty());
    }

    #[test]
    fn lists_are_read_with_what_they_tell() {
        let router = r#"{"data":[{"id":"a/b","context_length":200000,"pricing":
            {"prompt":"0.000002","completion":"0.00001","input_cache_read":"0.0000002"}}]}"#;
        let found = &parse_list(router)[0];
        assert_eq!((found.id.as_str(), found.context_window), ("a/b", Some(200_000)));
        let price = found.price.unwrap();
        assert!((price.input - 2.0).abs() < 1e-9 && (price.cached - 0.2).abs() < 1e-9, "{price:?}");
        for (body, tokens) in [
            (r#"{"data":[{"id":"m","max_model_len":32768}]}"#, Some(32_768)),
            (r#"{"data":[{"id":"m","meta":{"n_ctx_train":4096}}]}"#, Some(4096)),
            (r#"{"models":[{"name":"m","context_window":0}]}"#, None),
            (r#"["m"]"#, None),
        ] {
            let found = parse_list(body);
            assert_eq!((found[0].id.as_str(), found[0].context_window), ("m", tokens), "{body}");
            assert_eq!(found[0].price, None);
        }
        assert!(parse_list(r#"{"data":[{"id":""},{"id":"a\u001bb"},7]}"#).is_empty());
    }
}
