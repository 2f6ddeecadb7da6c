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

/// The base URL that is used for a key without a base URL.
pub const HOSTED: &str = "https://api.openai.com/v1";
/// The provider name of Claude's own API.
pub const ANTHROPIC: &str = "anthropic";
/// The provider name of an agent program.
pub const AGENT: &str = "agent";
const ANTHROPIC_URL: &str = "https://api.anthropic.com/v1";

/// Default requests per minute for servers that are not on this machine.
pub const DEFAULT_RATE: u32 = 30;
/// Default time limit, in seconds, of an answer from a server that is not on this machine.
pub const DEFAULT_ANSWER_S: u64 = 1800;

/// Default time limit, in seconds, of an agent program's run.
pub(super) const AGENT_ANSWER_S: u64 = 900;

/// Returns the base URL of a preset provider.
pub(super) fn preset(provider: &str) -> Option<&'static str> {
    let mut presets = LOOPBACK_SERVERS.iter().chain(&[(ANTHROPIC, ANTHROPIC_URL)]);
    presets.find(|(name, _)| *name == provider).map(|(_, url)| *url)
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
