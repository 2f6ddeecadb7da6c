//! Finding servers and the models they have.

use std::time::Duration;

use serde_json::Value;

use super::dialect::Refusals;
use super::endpoint::Endpoint;
use super::failure::{self, Failure};
use super::retry::Told;
use super::transport;

/// Where local servers listen by default: Ollama, LM Studio, llama.cpp, vLLM.
pub const LOOPBACK_PORTS: [u16; 4] = [11434, 1234, 8080, 8000];

/// How long a server may take to list its models; a hosted one has a long list.
const PROBE: Duration = Duration::from_secs(10);
/// The same for a server that may not even be there.
const GLANCE: Duration = Duration::from_secs(1);

/// Most bytes of a list that are read.
const MAX_LIST: usize = 8 << 20;

/// Looks for a model server on this machine: base URL and first model of the first port, in
/// the order given, that lists models. Ports of other programs are passed over.
pub async fn discover(ports: &[u16]) -> Option<(String, String)> {
    let http = transport::http_client("http://127.0.0.1", GLANCE).ok()?;
    let look = |port: &u16| {
        let (http, base_url) = (http.clone(), format!("http://127.0.0.1:{port}/v1"));
        async move {
            let endpoint = Endpoint::open(&base_url);
            let listed = tokio::time::timeout(GLANCE, models(&http, &endpoint)).await;
            Some((base_url, first_chat_model(listed.ok()?.ok()?)?))
        }
    };
    futures::future::join_all(ports.iter().map(look)).await.into_iter().flatten().next()
}

/// The models a server lists; empty where it has no such list, which many gateways have not.
/// Fails when it cannot be reached or will not take the key, or where the list is below `/v1` of a
/// base URL that has none.
pub async fn models(http: &reqwest::Client, endpoint: &Endpoint) -> Result<Vec<String>, Failure> {
    let (status, told, body) = list(http, endpoint).await?;
    let is_list = || serde_json::from_str::<Value>(&body).is_ok();
    match (status, failure::from_status(status, told, &body, Refusals::default())) {
        (200..300, _) if is_list() => return Ok(ids(&body)),
        (401 | 403 | 407, failure @ Failure::Refused { .. }) => return Err(failure),
        // A server that is starting up or busy, or a gateway whose server is away.
        (429 | 502..=504 | 529, failure @ Failure::Transient { .. }) => return Err(failure),
        _ => {}
    }
    let versioned = endpoint.below("/v1");
    if !endpoint.has_version()
        && let Ok((200..300, _, body)) = list(http, &versioned).await
        && !ids(&body).is_empty()
    {
        let (base_url, right) = (shown(endpoint.base_url()), shown(versioned.base_url()));
        let message = format!("nothing is at {base_url}: the base URL is {right}");
        return Err(Failure::Refused { status: Some(status), message });
    }
    Ok(Vec::new())
}

async fn list(http: &reqwest::Client, endpoint: &Endpoint) -> Result<(u16, Told, String), Failure> {
    let base_url = endpoint.base_url();
    let fails = |error: reqwest::Error| {
        let message = format!("{}: {}", shown(base_url), transport::explain(&error));
        match transport::is_lasting(&error) {
            true => Failure::Refused { status: None, message },
            false => Failure::transient(message),
        }
    };
    let mut request =
        http.get(format!("{base_url}/models")).timeout(PROBE).build().map_err(fails)?;
    endpoint.enter(&mut request);
    let response = http.execute(request).await.map_err(fails)?;
    let (status, told) = (response.status().as_u16(), transport::told(&response));
    Ok((status, told, transport::read_text(response, MAX_LIST).await))
}

/// A base URL without the password that may stand in it.
fn shown(base_url: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(base_url) else { return base_url.to_owned() };
    // Both fail only for URLs that cannot hold one.
    let _ = (url.set_password(None), url.set_username(""));
    url.to_string()
}

/// The first of them that is not for embeddings.
pub fn first_chat_model(models: Vec<String>) -> Option<String> {
    let chats = |id: &String| {
        !id.is_empty() && !id.to_lowercase().contains("embed") && !id.contains(char::is_control)
    };
    models.into_iter().find(chats)
}

fn ids(body: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let list = value.get("data").or_else(|| value.get("models")).unwrap_or(&value);
    let id = |model: &Value| {
        let id = model.get("id").or_else(|| model.get("name")).unwrap_or(model);
        id.as_str().map(str::to_owned)
    };
    list.as_array().map(|models| models.iter().filter_map(id).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testserver::{Answer, Server};

    #[tokio::test]
    async fn the_first_port_with_a_model_list_is_found() {
        let other = Server::start(vec![Answer::json(200, "<html>a web site</html>")]).await;
        let list = r#"{"data":[{"id":"nomic-embed-text"},{"id":"coder"}]}"#;
        let model = Server::start(vec![Answer::json(200, list)]).await;
        let found = discover(&[other.port(), model.port()]).await;
        assert_eq!(found, Some((model.base_url(), "coder".to_owned())));
        let closed = Server::start(vec![]).await.close().await;
        assert_eq!(discover(&[closed]).await, None);
    }
}
