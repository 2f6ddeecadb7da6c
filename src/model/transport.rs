//! The HTTP layer below async-openai: one request, one response, no retries.
//!
//! It replaces async-openai's own HTTP service, which retries by itself, obeys any `Retry-After`,
//! and loses the status of errors that are not shaped like the hosted API's. It also watches the
//! bytes, because async-openai ends an interrupted stream like a complete one.

use std::error::Error as _;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use futures::StreamExt as _;
use reqwest::header::LOCATION;
use tokio::time::Instant;

use super::endpoint::Endpoint;
use super::failure::FailedAt;
use super::lines::{self, LineSplitter};
use super::retry::WaitHeaders;

/// Maximum bytes of an error response that are read.
const MAX_ERROR_BODY: usize = 64 << 10;
/// Maximum bytes of an answer; a long one is some ten megabytes of events.
const MAX_BODY: usize = 256 << 20;

/// The HTTP client for a base URL: no proxy for this machine, no redirects (they would turn a
/// request into a GET, or send it elsewhere), and no certificates unless they are needed.
pub fn http_client(base_url: &str, connect: Duration) -> Result<reqwest::Client, String> {
    super::init_tls();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("git-cowork/", env!("CARGO_PKG_VERSION")));
    if is_loopback(base_url) {
        builder = builder.no_proxy();
    }
    if base_url.starts_with("http://") {
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| explain(&error))
}

/// True if a URL names this machine.
pub fn is_loopback(base_url: &str) -> bool {
    let url = reqwest::Url::parse(base_url);
    url.ok().and_then(|url| url.host_str().map(str::to_owned)).is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

/// State of the connection during one try, shared with the code that waits for the answer.
#[derive(Debug)]
pub struct Pulse(Mutex<ConnectionState>);

#[derive(Debug)]
struct ConnectionState {
    last_byte: Instant,
    line: Vec<u8>,
    done: bool,
    broken: Option<String>,
}

impl Pulse {
    /// Measures silence from now.
    pub fn start() -> Self {
        let state = ConnectionState {
            last_byte: Instant::now(),
            line: Vec::new(),
            done: false,
            broken: None,
        };
        Self(Mutex::new(state))
    }

    /// When the server last sent a byte.
    pub fn last_byte(&self) -> Instant {
        self.with(|state| state.last_byte)
    }

    /// True if the stream sent `[DONE]`.
    pub fn is_done(&self) -> bool {
        self.with(|state| state.done)
    }

    /// How the connection broke, if it did.
    pub fn broken(&self) -> Option<String> {
        self.with(|state| state.broken.clone())
    }

    fn beat(&self, bytes: &[u8]) {
        self.with(|state| {
            state.last_byte = Instant::now();
            for byte in bytes {
                match byte {
                    b'\n' | b'\r' => state.line.clear(),
                    // A byte order mark.
                    0xef | 0xbb | 0xbf if state.line.is_empty() => {}
                    _ if state.line.len() > 16 => {}
                    _ => state.line.push(*byte),
                }
                if *byte == b']' {
                    let rest = state.line.strip_prefix(b"data:").map(<[u8]>::trim_ascii_start);
                    state.done |= rest == Some(b"[DONE]");
                }
            }
        });
    }

    fn with<T>(&self, look: impl FnOnce(&mut ConnectionState) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A result that is not passed to async-openai, which would misread it.
#[derive(Debug, thiserror::Error)]
pub enum Diverted {
    /// The network failed, before the answer or in it.
    #[error("{1}")]
    Network(FailedAt, String),
    /// The request could not be built or sent.
    #[error("{0}")]
    BadRequest(String),
    /// An HTTP error.
    #[error("HTTP {status}")]
    Status {
        /// The status.
        status: u16,
        /// Waiting times in its headers.
        wait: WaitHeaders,
        /// Beginning of the body.
        body: String,
    },
    /// A stream was requested, but the response was something else, with a success status.
    #[error("not an event stream")]
    NotAStream(Vec<u8>),
}

/// The service; one for each try.
#[derive(Clone)]
pub struct Transport {
    /// Connections.
    pub http: reqwest::Client,
    /// Headers and parameters of every request, including the key; async-openai never sees them.
    pub endpoint: Arc<Endpoint>,
    /// Records each byte.
    pub pulse: Arc<Pulse>,
    /// True if events are expected.
    pub stream: bool,
}

impl tower_service::Service<HttpRequestFactory> for Transport {
    type Response = reqwest::Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<reqwest::Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let transport = self.clone();
        Box::pin(async move {
            let answer = transport.send(factory).await;
            answer.map_err(|diverted| OpenAIError::Boxed(Box::new(diverted)))
        })
    }
}

impl Transport {
    async fn send(self, factory: HttpRequestFactory) -> Result<reqwest::Response, Diverted> {
        let mut request =
            factory.build().await.map_err(|error| Diverted::BadRequest(error.to_string()))?;
        self.endpoint.enter(&mut request);
        let response = self.http.execute(request).await.map_err(|error| {
            let why = explain(&error);
            match is_lasting(&error) {
                true => Diverted::BadRequest(why),
                false => Diverted::Network(failed_at(&error), why),
            }
        })?;
        self.pulse.beat(b"");
        if !response.status().is_success() {
            return Err(error_answer(response, &self.pulse).await);
        }
        let pulse = self.pulse;
        let mut room = MAX_BODY;
        let mut bytes = response.bytes_stream().map(move |piece| {
            let piece = piece.map_err(|error| explain(&error)).and_then(|piece| {
                room = room.checked_sub(piece.len()).ok_or("the answer is too large")?;
                Ok(piece)
            });
            match &piece {
                Ok(piece) => pulse.beat(piece),
                Err(why) => pulse.with(|state| state.broken = Some(why.clone())),
            }
            piece
        });
        if !self.stream {
            return Ok(http::Response::new(reqwest::Body::wrap_stream(bytes)).into());
        }
        // Content types are unreliable, but the first byte is not: events start with a word or a
        // colon.
        let cut = |why| Diverted::Network(FailedAt::Answering, why);
        let mut head = Vec::new();
        while lines::is_blank(&head) {
            match bytes.next().await {
                Some(piece) => head.extend_from_slice(&piece.map_err(cut)?),
                None => return Err(Diverted::NotAStream(head)),
            }
        }
        let first = lines::unmarked(head.trim_ascii_start()).trim_ascii_start().first();
        if matches!(first, Some(b'{' | b'[' | b'<')) {
            while let Some(piece) = bytes.next().await {
                head.extend_from_slice(&piece.map_err(cut)?);
            }
            return Err(Diverted::NotAStream(head));
        }
        let head = futures::stream::iter([Ok(head.into())]);
        let mut lines = LineSplitter::default();
        let end = futures::stream::iter([None]);
        let whole_lines = head.chain(bytes).map(Some).chain(end).flat_map(move |piece| {
            let lines: Vec<Result<String, String>> = match piece {
                Some(Ok(piece)) => lines.push(&piece).into_iter().map(Ok).collect(),
                Some(Err(why)) => vec![Err(why)],
                // Some servers end with an error and no empty line, without which an event is none.
                None => vec![Ok(lines.end()), Ok("\n\n".to_owned())],
            };
            futures::stream::iter(lines)
        });
        Ok(http::Response::new(reqwest::Body::wrap_stream(whole_lines)).into())
    }
}

async fn error_answer(response: reqwest::Response, pulse: &Pulse) -> Diverted {
    let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    let location = location.map(|to| format!("the address has moved to {to}"));
    let (status, wait) = (response.status().as_u16(), told(&response));
    pulse.beat(b"");
    let body = read_text(response, MAX_ERROR_BODY).await;
    Diverted::Status { status, wait, body: location.unwrap_or(body) }
}

/// Waiting times in a response's headers.
pub fn told(response: &reqwest::Response) -> WaitHeaders {
    let headers = response.headers().iter();
    let texts = headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    WaitHeaders::read(texts, SystemTime::now())
}

/// A body as text: the part of it that arrives, at most `limit` bytes.
pub async fn read_text(mut response: reqwest::Response, limit: usize) -> String {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() >= limit {
            body.truncate(limit);
            break;
        }
    }
    String::from_utf8_lossy(lines::unmarked(&body)).into_owned()
}

/// The innermost reason of a network error, without the URL and the layers in between: this is the
/// one that users recognise.
pub fn explain(error: &reqwest::Error) -> String {
    let summary = match error {
        e if e.is_timeout() && e.is_connect() => return "no connection: timed out".to_owned(),
        e if e.is_timeout() => return "timed out".to_owned(),
        e if e.is_builder() => "bad address or client settings",
        e if e.is_connect() => "no connection",
        e if e.is_body() || e.is_decode() => "the connection broke",
        _ => "the request failed",
    };
    if error.source().is_none() {
        return summary.to_owned();
    }
    let inner = innermost(error);
    match tls_cause(&inner) {
        Some(cause) => format!("{summary}: {cause} ({inner})"),
        None => format!("{summary}: {inner}"),
    }
}

/// What a request with a network error failed at.
pub fn failed_at(error: &reqwest::Error) -> FailedAt {
    if error.is_connect() {
        FailedAt::Connecting
    } else if !error.is_timeout() && (error.is_body() || error.is_decode()) {
        FailedAt::Answering
    } else {
        FailedAt::Waiting
    }
}

/// True if a request would always fail: it cannot be built, or client and server do not agree about
/// TLS.
pub fn is_lasting(error: &reqwest::Error) -> bool {
    error.is_builder() || tls_cause(&innermost(error)).is_some()
}

fn innermost(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// Advice for a TLS error, from the library's message.
fn tls_cause(inner: &str) -> Option<&'static str> {
    let says = |words: &str| inner.contains(words);
    if says("UnknownIssuer") || says("self-signed") || says("SelfSigned") {
        return Some(
            "the issuer of the server's certificate is unknown; set SSL_CERT_FILE=FILE to a \
             file with the issuer's certificate",
        );
    }
    if says("NotValidForName") || says("not valid for name") {
        return Some("the server's certificate is for another host");
    }
    if says("certificate") && (says("Expired") || says("expired")) {
        return Some("the server's certificate has expired, or this machine's clock is wrong");
    }
    if says("InvalidContentType") || says("corrupt message") {
        return Some("the server does not speak TLS; should the base URL begin with http://?");
    }
    says("invalid peer certificate").then_some("the server's certificate is not accepted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_is_recognised_however_it_is_split() {
        let stream = b"data: {\"a\":\"data: [DONE]\"}\r\n\r\ndata:[DONE]\n\n";
        for cut in 0..stream.len() {
            let pulse = Pulse::start();
            pulse.beat(&stream[..cut]);
            assert_eq!(pulse.is_done(), cut >= stream.len() - 2, "{cut}");
            pulse.beat(&stream[cut..]);
            assert!(pulse.is_done(), "{cut}");
        }
    }

    #[test]
    fn every_byte_ends_a_silence() {
        let pulse = Pulse::start();
        let before = pulse.last_byte();
        while Instant::now() == before {}
        pulse.beat(b": keep-alive\n");
        assert!(pulse.last_byte() > before);
    }

    #[test]
    fn tls_errors_get_advice() {
        for (inner, wanted) in [
            ("invalid peer certificate: UnknownIssuer", Some("SSL_CERT_FILE")),
            ("invalid peer certificate: NotValidForName", Some("another host")),
            ("invalid peer certificate: certificate expired: verification time 1", Some("clock")),
            ("received corrupt message of type InvalidContentType", Some("http://")),
            ("invalid peer certificate: BadSignature", Some("not accepted")),
            ("Connection refused (os error 111)", None),
        ] {
            let cause = tls_cause(inner);
            assert_eq!(cause.is_some(), wanted.is_some(), "{inner}");
            assert!(cause.unwrap_or_default().contains(wanted.unwrap_or_default()), "{inner}");
        }
    }

    #[test]
    fn both_schemes_have_a_client() {
        http_client("http://127.0.0.1", Duration::from_secs(1)).unwrap();
        // The client panics without a TLS provider; an error only means that the machine has no
        // certificates.
        let _ = http_client("https://example.org", Duration::from_secs(1));
    }

    #[test]
    fn loopback_is_recognised() {
        for url in ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]:1/v1"] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["https://api.openai.com/v1", "http://localhost.example.org", "x"] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
