//! Parses the head of a request to a proxy: `CONNECT name:port`, or a method with a full `http://`
//! URL.

use http::Uri;
use httparse::Status;

use super::body::Body;
use super::refusal::Failure;
use crate::host::Host;

/// Maximum size of a head in bytes.
pub(super) const HEAD_MAX: usize = 32 * 1024;
/// Maximum number of header lines.
const HEADERS_MAX: usize = 128;
/// Headers that apply only between the client and its proxy, or to this connection. The URL, not
/// the `Host` header, names the server.
const OF_CONNECTION: [&str; 5] = ["host", "connection", "keep-alive", "te", "upgrade"];

/// A request to the proxy.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) host: Host,
    /// The request to forward; `None` for a tunnel.
    pub(super) forward: Option<Forward>,
    /// The body that follows the head.
    pub(super) body: Body,
    /// Length of the head in bytes.
    pub(super) length: usize,
}

/// A request to be forwarded.
#[derive(Debug)]
pub(super) struct Forward {
    method: String,
    authority: String,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
}

/// Parses a head; `None` if it is incomplete.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Request>, Failure> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(Status::Complete(length)) if length <= HEAD_MAX => length,
        Ok(Status::Partial) if bytes.len() < HEAD_MAX => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => {
            return Err(Failure::Head("the head of the request is too long"));
        }
        Err(_) => return Err(Failure::Request("this is not an HTTP request")),
    };
    let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    if method == "CONNECT" {
        let host = target.parse().map_err(|_| Failure::Request("CONNECT needs a name:port"))?;
        return Ok(Some(Request { host, forward: None, body: Body::Tunnel, length }));
    }
    const NO_ADDRESS: Failure = Failure::Request("a proxy needs CONNECT or an http:// URL");
    let uri: Uri = target.parse().map_err(|_| NO_ADDRESS)?;
    let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http"));
    let authority = authority.filter(|all| !all.as_str().contains('@')).ok_or(NO_ADDRESS)?;
    let port = authority.port_u16().unwrap_or(80);
    let host = Host::new(authority.host(), port).ok_or(NO_ADDRESS)?;
    let passed = |name: &str| {
        let name = name.to_ascii_lowercase();
        !name.starts_with("proxy-") && !OF_CONNECTION.contains(&name.as_str())
    };
    let headers = request.headers.iter().filter(|header| passed(header.name));
    let forward = Forward {
        method: method.to_owned(),
        authority: authority.as_str().to_owned(),
        path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        headers: headers.map(|header| (header.name.to_owned(), header.value.to_vec())).collect(),
    };
    let body = Body::of(&forward.headers)?;
    Ok(Some(Request { host, forward: Some(forward), body, length }))
}

impl Forward {
    /// Returns the head for the server, or for an upstream proxy with that proxy's login header.
    /// The head asks the server to close the connection after this request: the next one may be for
    /// another server.
    pub(super) fn head(&self, to_proxy: Option<&str>) -> Vec<u8> {
        let Self { method, authority, path, headers } = self;
        let target = match to_proxy {
            Some(_) => format!("http://{authority}{path}"),
            None => path.clone(),
        };
        let own = to_proxy.unwrap_or_default();
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {authority}\r\n{own}");
        head.push_str("Connection: close\r\n");
        let mut head = head.into_bytes();
        for (name, value) in headers {
            head.extend(name.bytes().chain(*b": ").chain(value.iter().copied()).chain(*b"\r\n"));
        }
        head.extend(b"\r\n");
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Request {
        parse(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn a_tunnel_is_requested_by_name_and_port() {
        let text = "CONNECT API.example.org.:443 HTTP/1.1\r\nHost: elsewhere:1\r\n\r\nrest";
        let request = read(text);
        assert_eq!(request.host.to_string(), "api.example.org:443");
        assert!(request.forward.is_none());
        assert_eq!(&text[request.length..], "rest");
        assert_eq!(read("CONNECT [::1]:80 HTTP/1.1\r\n\r\n").host.name(), "::1");
        assert!(parse(b"CONNECT api.example.org:443 HTTP/1.1\r\nHost: ").unwrap().is_none());
    }

    #[test]
    fn forwarded_requests_name_the_server_without_proxy_headers() {
        let request = read(
            "POST http://Example.org:8080/a?b=1 HTTP/1.1\r\nHost: evil.org\r\nproxy-authorization: \
             x\r\nConnection: keep-alive\r\nContent-Length: 2\r\nX: y\r\n\r\nhi",
        );
        assert_eq!(request.host.to_string(), "example.org:8080");
        let forward = request.forward.unwrap();
        let head = |own| String::from_utf8(forward.head(own)).unwrap();
        assert_eq!(
            head(None),
            "POST /a?b=1 HTTP/1.1\r\nHost: Example.org:8080\r\nConnection: close\r\n\
             Content-Length: 2\r\nX: y\r\n\r\n"
        );
        let own = head(Some("Proxy-Authorization: Basic z\r\n"));
        assert!(own.starts_with("POST http://Example.org:8080/a?b=1 HTTP/1.1\r\n"), "{own}");
        assert!(own.contains("Basic z\r\n") && !own.contains(": x"), "{own}");
        assert_eq!(read("GET http://example.org HTTP/1.1\r\n\r\n").host.port(), 80);
        let bare = read("GET http://example.org HTTP/1.1\r\n\r\n").forward.unwrap();
        assert!(bare.head(None).starts_with(b"GET / HTTP/1.1\r\nHost: example.org\r\n"));
    }

    #[test]
    fn invalid_proxy_requests_are_refused() {
        for text in [
            "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
            "GET https://example.org/ HTTP/1.1\r\n\r\n",
            "GET http://user@example.org/ HTTP/1.1\r\n\r\n",
            "GET ftp://example.org/ HTTP/1.1\r\n\r\n",
            "GET http://exam%70le.org/ HTTP/1.1\r\n\r\n",
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "CONNECT http://example.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT a@example.org:443 HTTP/1.1\r\n\r\n",
            "\x16\x03\x01\x02\x00\x01\x00",
            "GET http://example.org/ HTTP/1.1\r\nno header\r\n\r\n",
        ] {
            assert!(matches!(parse(text.as_bytes()), Err(Failure::Request(_))), "{text:?}");
        }
        let long = format!("GET http://example.org/{} HTTP/1.1\r\n", "a".repeat(HEAD_MAX));
        assert!(matches!(parse(long.as_bytes()), Err(Failure::Head(_))));
        let many = format!("GET http://example.org/ HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200));
        assert!(matches!(parse(many.as_bytes()), Err(Failure::Head(_))));
    }
}
