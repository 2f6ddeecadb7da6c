//! The address of a server, and the headers and parameters of every request to it.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};

use super::dialect::Dialect;
use crate::config::ModelConfig;

/// The version of the Messages API that git-cowork uses; it has been the only one for years.
const MESSAGES_VERSION: &str = "2023-06-01";

/// Servers of the Messages API that refuse a request if the key is also sent as a bearer token.
const KEY_ALONE: [&str; 2] = ["anthropic.com", "azure.com"];

/// An address with its headers and parameters. They may contain keys, so this is never printed.
#[derive(Clone, Default)]
pub struct Endpoint {
    base_url: String,
    headers: HeaderMap,
    query: Vec<(String, String)>,
}

impl Endpoint {
    /// A server that needs no key.
    pub fn open(base_url: &str) -> Self {
        Self { base_url: base_url.to_owned(), ..Self::default() }
    }

    /// The endpoint of a model in this dialect. Fails on a key that cannot be sent; other headers
    /// were checked when the configuration was read.
    pub fn for_model(config: &ModelConfig, dialect: Dialect) -> Result<Self, InvalidHeaderValue> {
        let base_url = address(&config.base_url, dialect);
        let mut headers = HeaderMap::new();
        if dialect == Dialect::Messages {
            let version = HeaderValue::from_static(MESSAGES_VERSION);
            headers.insert(HeaderName::from_static("anthropic-version"), version);
            if !config.api_key.is_empty() {
                headers.insert(HeaderName::from_static("x-api-key"), hidden(&config.api_key)?);
            }
        }
        if !config.api_key.is_empty() && takes_token(&base_url, dialect) {
            headers.insert(AUTHORIZATION, hidden(&format!("Bearer {}", config.api_key))?);
        }
        for (name, value) in &config.headers {
            if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                headers.insert(name, hidden(value)?);
            }
        }
        let query = config.query.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Self { base_url, headers, query })
    }

    /// The base URL; all paths are below it.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Host name and port of the server.
    pub fn server(&self) -> &str {
        let after = self.base_url.split_once("://").map_or(&*self.base_url, |(_, rest)| rest);
        let server = after.split('/').next().unwrap_or_default();
        // User and password must not be shown.
        server.rsplit_once('@').map_or(server, |(_, server)| server)
    }

    /// The same endpoint with `path` appended.
    pub fn below(&self, path: &str) -> Self {
        Self { base_url: format!("{}{path}", self.base_url), ..self.clone() }
    }

    /// True if the address contains a version of the API, such as `/v1` or `/v1beta/openai`.
    pub fn has_version(&self) -> bool {
        self.base_url.split('/').any(is_version)
    }

    /// Adds the headers and parameters to a request.
    pub fn enter(&self, request: &mut reqwest::Request) {
        request.headers_mut().remove(AUTHORIZATION);
        for (name, value) in &self.headers {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        if !self.query.is_empty() {
            request.url_mut().query_pairs_mut().extend_pairs(&self.query);
        }
    }
}

/// A header value, marked as sensitive so that it is not printed.
fn hidden(value: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut value = HeaderValue::from_str(value)?;
    value.set_sensitive(true);
    Ok(value)
}

/// The base URL of requests. For Messages, two forms are common: with `/v1` at the end, as for the
/// other dialects, and without it, since Anthropic's programs add it. Here it is added if missing.
fn address(base_url: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Messages if !base_url.rsplit('/').next().is_some_and(is_version) => {
            format!("{base_url}/v1")
        }
        _ => base_url.to_owned(),
    }
}

fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn takes_token(base_url: &str, dialect: Dialect) -> bool {
    let url = reqwest::Url::parse(base_url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    let is = |name: &&str| host == *name || host.ends_with(&format!(".{name}"));
    dialect != Dialect::Messages || !KEY_ALONE.iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_server::config;

    fn sent(config: &ModelConfig, dialect: Dialect) -> reqwest::Request {
        let url = "http://127.0.0.1:1/v1/models".parse().unwrap();
        let mut request = reqwest::Request::new(reqwest::Method::GET, url);
        Endpoint::for_model(config, dialect).unwrap().enter(&mut request);
        request
    }

    fn names(request: &reqwest::Request) -> Vec<&str> {
        let mut names: Vec<&str> = request.headers().keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn each_dialect_has_its_own_way_to_send_a_key() {
        let with_key = |base_url: &str| ModelConfig { api_key: "k".into(), ..config(base_url) };
        let bare = with_key("https://api.anthropic.com/v1");
        assert_eq!(names(&sent(&bare, Dialect::Chat)), ["authorization"]);
        let claude = sent(&bare, Dialect::Messages);
        assert_eq!(names(&claude), ["anthropic-version", "x-api-key"]);
        assert!(claude.headers()["x-api-key"].is_sensitive());
        let other = sent(&with_key("https://example.org/anthropic"), Dialect::Messages);
        assert_eq!(names(&other), ["anthropic-version", "authorization", "x-api-key"]);
        let none = sent(&config("https://example.org"), Dialect::Messages);
        assert_eq!(names(&none), ["anthropic-version"]);
        let broken = ModelConfig { api_key: "a\nb".into(), ..config("u") };
        assert!(Endpoint::for_model(&broken, Dialect::Chat).is_err());
    }

    #[test]
    fn configured_headers_are_sent_and_take_precedence() {
        let mut config = config("https://example.org/v1");
        config.api_key = "k".into();
        config.headers = [("api-key", "a"), ("Authorization", "Basic b")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        config.query = [("api-version".to_owned(), "2024 & more".to_owned())].into();
        let sent = sent(&config, Dialect::Chat);
        assert_eq!(
            (&sent.headers()["api-key"], &sent.headers()["authorization"]),
            (&HeaderValue::from_static("a"), &HeaderValue::from_static("Basic b"))
        );
        assert!(sent.headers().values().all(HeaderValue::is_sensitive));
        assert_eq!(sent.url().query(), Some("api-version=2024+%26+more"));
    }

    #[test]
    fn messages_are_found_below_either_address() {
        for (base_url, want) in [
            ("https://api.anthropic.com/v1", "https://api.anthropic.com/v1"),
            ("https://api.anthropic.com", "https://api.anthropic.com/v1"),
            ("https://example.org/anthropic", "https://example.org/anthropic/v1"),
            ("https://example.org/v1beta", "https://example.org/v1beta"),
            ("https://example.org/vertex", "https://example.org/vertex/v1"),
        ] {
            assert_eq!(address(base_url, Dialect::Messages), want);
            assert_eq!(address(base_url, Dialect::Chat), base_url);
        }
    }
}
