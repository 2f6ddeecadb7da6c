//! The upstream proxy that the user's programs use, as configured in `HTTPS_PROXY` and similar
//! variables: permitted requests are sent through it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::Uri;

use crate::host::Host;

/// Names of the variables in order of precedence. `HTTP_PROXY` is read too: it is unsafe only in
/// CGI programs, where a request can set it.
const TO_TUNNEL: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const TO_FORWARD: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
const WITHOUT: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The upstream proxies, and the servers that are reached without one.
#[derive(Debug, Default)]
pub(super) struct Upstream {
    tunnels: Option<Result<Server, String>>,
    forwards: Option<Result<Server, String>>,
    without: Vec<String>,
}

/// An upstream proxy.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) host: Host,
    /// The login header with its line ending; empty without a login.
    pub(super) login: String,
}

impl std::fmt::Debug for Server {
    // Not derived: a login must not end up in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Upstream {
    /// Reads the proxies from these variables.
    pub(super) fn of(env: &BTreeMap<OsString, OsString>) -> Self {
        let value = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| env.get(OsStr::new(name))?.to_str());
            values.find(|value| !value.is_empty()).map(str::to_owned)
        };
        let server = |names| value(names).map(|url| server(&url));
        let without = value(&WITHOUT).unwrap_or_default().to_lowercase();
        let without = without.split([',', ' ']).filter(|one| !one.is_empty());
        Self {
            tunnels: server(&TO_TUNNEL),
            forwards: server(&TO_FORWARD),
            without: without.map(str::to_owned).collect(),
        }
    }

    /// Returns the proxy for a server, or why it cannot be used.
    pub(super) fn to(&self, host: &Host, is_tunnel: bool) -> Result<Option<&Server>, &str> {
        let proxy = if is_tunnel { &self.tunnels } else { &self.forwards };
        match proxy {
            Some(_) if host.is_loopback() || self.does_without(host) => Ok(None),
            Some(proxy) => proxy.as_ref().map(Some).map_err(String::as_str),
            None => Ok(None),
        }
    }

    fn does_without(&self, host: &Host) -> bool {
        self.without.iter().any(|one| {
            let (name, port) = match one.rsplit_once(':') {
                Some((name, port)) if !name.contains(':') => (name, port.parse().ok()),
                _ => (one.as_str(), None),
            };
            let name = name.trim_start_matches(['*', '.']).trim_matches(['[', ']']);
            let above = host.name().strip_suffix(name).is_some_and(|below| below.ends_with('.'));
            port.is_none_or(|port: u16| port == host.port())
                && (one == "*" || !name.is_empty() && (host.name() == name || above))
        })
    }
}

fn server(url: &str) -> Result<Server, String> {
    let wrong = || "the URL of the proxy in the environment is invalid".to_owned();
    let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let uri: Uri = whole.parse().map_err(|_| wrong())?;
    let scheme = uri.scheme_str().unwrap_or_default();
    if scheme != "http" {
        return Err(format!(
            "the environment names a proxy with {scheme}://, but only http:// is supported"
        ));
    }
    let authority = uri.authority().ok_or_else(wrong)?;
    let host = Host::new(authority.host(), authority.port_u16().unwrap_or(80)).ok_or_else(wrong)?;
    let login = match authority.as_str().rsplit_once('@') {
        Some((login, _)) => {
            let login = BASE64_STANDARD.encode(decoded(login));
            format!("Proxy-Authorization: Basic {login}\r\n")
        }
        None => String::new(),
    };
    Ok(Server { host, login })
}

/// Decodes `%41` and similar escapes to bytes.
fn decoded(text: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, more)) = rest.split_first() {
        let code = more.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                out.push(byte);
                rest = &more[2..];
            }
            _ => {
                out.push(*first);
                rest = more;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(env: &[(&str, &str)]) -> Upstream {
        Upstream::of(&env.iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    fn by(upstream: &Upstream, host: &str, is_tunnel: bool) -> String {
        let proxy = upstream.to(&host.parse().unwrap(), is_tunnel);
        proxy.map_or_else(str::to_owned, |proxy| {
            proxy.map_or_else(String::new, |proxy| proxy.host.to_string())
        })
    }

    #[test]
    fn the_environment_selects_the_proxy() {
        let env = [
            ("HTTPS_PROXY", "http://ana:p%40ss@Proxy.corp:3128/"),
            ("http_proxy", "plain.corp:8080"),
            ("NO_PROXY", "inside.corp, .example.org,10.0.0.1:443"),
        ];
        let upstream = upstream(&env);
        let of = |host: &str| by(&upstream, host, true);
        assert_eq!(of("api.anthropic.com:443"), "proxy.corp:3128");
        assert_eq!(by(&upstream, "api.anthropic.com:80", false), "plain.corp:8080");
        for without in ["inside.corp:443", "a.inside.corp:1", "a.example.org:443", "10.0.0.1:443"] {
            assert_eq!(of(without), "", "{without}");
        }
        assert_eq!([of("localhost:1"), of("[::1]:1"), of("127.0.0.1:1")], ["", "", ""]);
        assert_eq!(of("outsideinside.corp:443"), "proxy.corp:3128");
        assert_eq!(of("10.0.0.1:444"), "proxy.corp:3128");
        let host = "a.b:443".parse().unwrap();
        let login = upstream.to(&host, true).unwrap().unwrap().login.clone();
        assert_eq!(login, "Proxy-Authorization: Basic YW5hOnBAc3M=\r\n");
        assert!(!format!("{upstream:?}").contains("YW5h"));
    }

    #[test]
    fn an_unsupported_proxy_is_an_error_and_no_proxy_is_not() {
        assert_eq!(by(&upstream(&[]), "a.b:443", true), "");
        assert_eq!(by(&upstream(&[("HTTPS_PROXY", "")]), "a.b:443", true), "");
        let socks = upstream(&[("ALL_PROXY", "socks5://127.0.0.1:9050")]);
        assert!(by(&socks, "a.b:443", true).contains("with socks5://"));
        let star = upstream(&[("HTTPS_PROXY", "http://p:1"), ("no_proxy", "*")]);
        assert_eq!(by(&star, "a.b:443", true), "");
    }
}
