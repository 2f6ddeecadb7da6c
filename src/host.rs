//! A server's port on a network, written as `name:port`.

use std::fmt::{Display, Formatter};
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Maximum length of a host name.
const NAME_MAX: usize = 253;
/// Maximum length of a label between two dots.
const LABEL_MAX: usize = 63;

/// A port of a server. Names are compared in lower case and without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    name: String,
    port: u16,
}

impl Host {
    /// Creates a host; `None` if `name` is not a name or address. An IPv6 address may be in
    /// brackets.
    pub fn new(name: &str, port: u16) -> Option<Self> {
        let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        if let Ok(address) = inner.unwrap_or(name).parse::<Ipv6Addr>() {
            return Some(Self { name: address.to_string(), port });
        }
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=LABEL_MAX).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        let is_name = name.len() <= NAME_MAX && name.split('.').all(is_label);
        (is_name && port > 0).then_some(Self { name, port })
    }

    /// The name, or the address without brackets.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The address, if the host is named by an address.
    pub fn address(&self) -> Option<IpAddr> {
        self.name.parse().ok()
    }

    /// True if the host is this machine.
    pub fn is_loopback(&self) -> bool {
        let is_name = self.name == "localhost" || self.name.ends_with(".localhost");
        is_name || self.address().is_some_and(|address| address.to_canonical().is_loopback())
    }
}

impl Display for Host {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.name.contains(':') {
            true => write!(f, "[{}]:{}", self.name, self.port),
            false => write!(f, "{}:{}", self.name, self.port),
        }
    }
}

impl FromStr for Host {
    type Err = String;

    /// Parses `name:port`, `1.2.3.4:port` or `[::1]:port`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (name, port) = text.trim().rsplit_once(':')?;
            let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            let is_open = name.contains(':') && !name.starts_with('[');
            Self::new(name, port.parse().ok()?).filter(|_| is_port && !is_open)
        };
        parse().ok_or_else(|| {
            format!("has {text:?}, which is not a host with a port, such as \"example.org:443\"")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_the_same_host_are_equal() {
        let host = |text: &str| text.parse::<Host>().unwrap();
        assert_eq!(host("API.Example.org.:443"), host("api.example.org:443"));
        assert_eq!(host("[0:0:0:0:0:0:0:1]:80"), host("[::1]:80"));
        assert_eq!(host("[::1]:80").to_string(), "[::1]:80");
        assert_eq!(host(" A:1 ").to_string(), "a:1");
        assert_ne!(host("example.org:443"), host("example.org:80"));
        assert_eq!(Host::new("::1", 80), Some(host("[::1]:80")));
    }

    #[test]
    fn invalid_hosts_are_refused() {
        for text in [
            "",
            "example.org",
            ":443",
            "example.org:",
            "example.org:0",
            "example.org:65536",
            "example.org:+443",
            "https://example.org:443",
            "a..b:1",
            "*.example.org:443",
            "a b:1",
            "::1:80",
            "user@example.org:443",
            "exämple.org:443",
            "a/b:1",
            "[::1:80",
            "a\n:1",
        ] {
            assert!(text.parse::<Host>().is_err(), "{text:?}");
        }
        assert!(Host::new(&"a.".repeat(127), 1).is_some());
        assert!(Host::new(&"a.".repeat(128), 1).is_none());
        assert!(Host::new(&"a".repeat(64), 1).is_none());
    }

    #[test]
    fn names_of_this_machine_are_recognized() {
        let is_here = |name: &str| Host::new(name, 1).unwrap().is_loopback();
        for name in ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]"] {
            assert!(is_here(name), "{name}");
        }
        assert!(is_here("::ffff:127.0.0.1"));
        for name in ["example.org", "localhost.example.org", "128.0.0.1", "0.0.0.0"] {
            assert!(!is_here(name), "{name}");
        }
    }
}
