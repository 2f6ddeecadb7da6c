//! Model servers: the presets of local servers, the hosted default, and checks of base URLs.
//! Nothing here opens a connection.

/// Servers that people run on their own machine, with the default base URL of each: the presets of
/// `llm.provider`, and the servers that are tried if none is configured.
pub const LOOPBACK_SERVERS: [(&str, &str); 4] = [
    ("ollama", "http://127.0.0.1:11434/v1"),
    ("lmstudio", "http://127.0.0.1:1234/v1"),
    ("llamacpp", "http://127.0.0.1:8080/v1"),
    ("vllm", "http://127.0.0.1:8000/v1"),
];

/// An API that is used with a key in a variable that other programs read, too: a preset of
/// `llm.provider`.
#[derive(Clone, Copy, Debug)]
pub struct HostedApi {
    /// The name of the provider.
    pub provider: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The base URL.
    pub base_url: &'static str,
    /// The variable with the key.
    pub key: &'static str,
    /// The default model, if the server has it.
    pub model: &'static str,
}

const fn hosted(
    provider: &'static str,
    title: &'static str,
    base_url: &'static str,
    key: &'static str,
    model: &'static str,
) -> HostedApi {
    HostedApi { provider, title, base_url, key, model }
}

/// The provider name of Claude's own API.
pub const ANTHROPIC: &str = "anthropic";
/// The provider name of an agent program.
pub const AGENT: &str = "agent";

/// The hosted APIs. The first is used for a key without a base URL.
pub const HOSTED_APIS: [HostedApi; 8] = [
    hosted("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4.1"),
    hosted(
        ANTHROPIC,
        "Anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        "claude-sonnet-5-5",
    ),
    hosted(
        "gemini",
        "Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "gemini-2.5-pro",
    ),
    hosted(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        "anthropic/claude-sonnet-4.5",
    ),
    hosted(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        "devstral-medium-latest",
    ),
    hosted(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        "deepseek-chat",
    ),
    hosted("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", "grok-code-fast-1"),
    hosted("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai/gpt-oss-120b"),
];

/// The hosted API of a provider.
pub fn hosted_api(provider: &str) -> Option<&'static HostedApi> {
    HOSTED_APIS.iter().find(|api| api.provider == provider)
}

/// Default requests per minute for servers that are not on this machine.
pub const DEFAULT_RATE: u32 = 30;
/// Default time limit, in seconds, of an answer from a server that is not on this machine.
pub const DEFAULT_ANSWER_S: u64 = 1800;

/// Default time limit, in seconds, of an agent program's run.
pub(super) const AGENT_ANSWER_S: u64 = 900;

/// Returns the base URL of a preset provider.
pub(super) fn preset(provider: &str) -> Option<&'static str> {
    // Without a key, provider "openai" is any server.
    let remote = HOSTED_APIS[1..].iter().map(|api| (api.provider, api.base_url));
    let mut presets = LOOPBACK_SERVERS.into_iter().chain(remote);
    presets.find(|(name, _)| *name == provider).map(|(_, url)| url)
}

/// True if a base URL points to this machine.
pub fn is_loopback(base_url: &str) -> bool {
    let Some(host) = host(base_url) else { return false };
    let host = host.to_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
}

const NO_URL: &str = "must start with http:// or https:// and name a host";

/// Returns what is wrong with a base URL.
pub(super) fn problem(base_url: &str) -> Option<&'static str> {
    let Some(host) = host(base_url) else {
        return Some(NO_URL);
    };
    if host.is_empty() || base_url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Some(NO_URL);
    }
    authority(base_url)
        .is_some_and(|authority| authority.contains('@'))
        .then_some("must not contain credentials; put them in api_key")
}

fn authority(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return None;
    }
    rest.split(['/', '?', '#', '\\']).next()
}

fn host(url: &str) -> Option<&str> {
    let authority = authority(url)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(v6) = host.strip_prefix('[') {
        return v6.split(']').next();
    }
    Some(host.split_once(':').map_or(host, |(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_decided_by_the_host() {
        for url in [
            "http://127.0.0.1:11434/v1",
            "http://localhost/v1",
            "http://LOCALHOST:1",
            "http://[::1]:8080/v1",
            "http://0.0.0.0:8000/v1",
            "https://a.localhost/v1",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "https://api.openai.com/v1",
            "http://127.0.0.1.example.com/v1",
            "http://example.com/127.0.0.1",
            "http://localhost@example.com/v1",
            "127.0.0.1",
            "",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }

    #[test]
    fn bad_urls_are_rejected() {
        assert_eq!(problem("http://127.0.0.1:1/v1"), None);
        assert!(problem("api.openai.com").is_some());
        assert!(problem("https:///v1").is_some());
        assert!(problem("http://a b/").is_some());
        assert!(problem("https://user:pw@host/v1").is_some_and(|p| p.contains("api_key")));
    }
}
