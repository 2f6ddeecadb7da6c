//! A scripted HTTP server for tests: it sends the given bytes, breaks off where the test says so,
//! and stores the requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::{Message, Position, Request, ToolSpec};
use crate::config::{Api, ModelConfig};
use crate::stage::{Role, Stage};

/// One answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    head: String,
    /// Pieces of the body, sent one by one.
    pieces: Vec<Vec<u8>>,
    /// True if the connection stays open, silent, afterwards.
    hang: bool,
    /// Bytes repeated while it stays open.
    drip: Vec<u8>,
}

impl Answer {
    /// A JSON (or any other) body with its length.
    pub(super) fn json(status: u16, body: &str) -> Self {
        Self::with_header(status, "X-None: 1", body)
    }

    /// A body with its length and one more header.
    pub(super) fn with_header(status: u16, header: &str, body: &str) -> Self {
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{header}\r\nContent-Length: {}\r\n",
            body.len()
        );
        Self { head, pieces: vec![body.as_bytes().to_vec()], hang: false, drip: vec![] }
    }

    /// An event stream, chunked, ended properly.
    pub(super) fn events(events: &[&str]) -> Self {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        Self::pieces(&[body.as_bytes()])
    }

    /// An event stream of raw pieces.
    pub(super) fn pieces(pieces: &[&[u8]]) -> Self {
        let mut framed: Vec<Vec<u8>> = pieces
            .iter()
            .map(|piece| [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat())
            .collect();
        framed.push(b"0\r\n\r\n".to_vec());
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n";
        Self { head: head.into(), pieces: framed, hang: false, drip: vec![] }
    }

    /// Closes the connection before the end of the body.
    pub(super) fn cut(mut self) -> Self {
        self.pieces.pop();
        self
    }

    /// Keeps the connection open without the end of the body.
    pub(super) fn hang(mut self) -> Self {
        self.pieces.pop();
        self.hang = true;
        self
    }

    /// Keeps the connection open and repeats `piece` a hundred times a second.
    pub(super) fn drips(mut self, piece: &str) -> Self {
        self.drip = format!("{:x}\r\n{piece}\r\n", piece.len()).into_bytes();
        self.hang()
    }

    /// Sends nothing.
    pub(super) fn silence() -> Self {
        Self { head: String::new(), pieces: vec![], hang: true, drip: vec![] }
    }
}

/// A received request.
#[derive(Clone, Debug)]
pub(super) struct Got {
    pub(super) head: String,
    pub(super) body: Value,
}

/// A server that sends its answers in order, one per connection.
pub(super) struct Server {
    port: u16,
    got: Arc<Mutex<Vec<Got>>>,
    gone: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Server {
    /// Listens on a free loopback port.
    pub(super) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let got = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&got);
        let gone = Arc::new(Notify::new());
        let left = Arc::clone(&gone);
        let task = tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                keep.lock().unwrap().push(request);
                answer.send(&mut stream).await;
                if answer.hang {
                    let left = Arc::clone(&left);
                    tokio::spawn(async move {
                        let mut beat = tokio::time::interval(Duration::from_millis(10));
                        while !answer.drip.is_empty()
                            && stream.write_all(&answer.drip).await.is_ok()
                        {
                            beat.tick().await;
                        }
                        while stream.read(&mut [0; 64]).await.is_ok_and(|n| n > 0) {}
                        left.notify_one();
                    });
                }
            }
            std::future::pending::<()>().await;
        });
        Self { port, got, gone, task }
    }

    /// The port it listens on.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Its base URL.
    pub(super) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The requests so far.
    pub(super) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// Waits until the client of a hanging answer has disconnected.
    pub(super) async fn hung_up(&self) {
        self.gone.notified().await;
    }

    /// Stops listening; returns the port.
    pub(super) async fn close(self) -> u16 {
        self.task.abort();
        let _ = self.task.await;
        self.port
    }
}

impl Answer {
    async fn send(&self, stream: &mut TcpStream) {
        if !self.head.is_empty() {
            let head = format!("{}Connection: close\r\n\r\n", self.head);
            let _ = stream.write_all(head.as_bytes()).await;
        }
        for piece in &self.pieces {
            let _ = stream.write_all(piece).await;
            let _ = stream.flush().await;
            // Let the reader receive this piece separately.
            tokio::task::yield_now().await;
        }
    }
}

async fn read(stream: &mut TcpStream) -> Got {
    let mut bytes = Vec::new();
    let end = loop {
        let mut piece = [0; 4096];
        let n = stream.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..n]);
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        assert!(n > 0, "a request cut short");
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = bytes.split_off(end);
    let missing = length.map_or(0, |n| n.parse::<usize>().unwrap()) - body.len();
    let mut rest = vec![0; missing];
    stream.read_exact(&mut rest).await.unwrap();
    body.append(&mut rest);
    Got { head, body: serde_json::from_slice(&body).unwrap_or_default() }
}

/// A request with a tool and a temperature.
pub(super) fn request() -> Request {
    Request {
        position: Position {
            session: "todo-cli".into(),
            stage: Some(Stage::Prd),
            role: Role::Actor,
            iteration: 1,
            task: None,
            turn: 1,
        },
        messages: vec![
            Message::System { content: "rules".into() },
            Message::User { content: "work".into() },
        ],
        tools: vec![ToolSpec {
            name: "read_file".into(),
            description: "reads".into(),
            parameters: json!({"type": "object", "additionalProperties": false}),
        }],
        temperature: 0.7,
        workplace: None,
    }
}

/// A configuration for a server.
pub(super) fn config(base_url: &str) -> ModelConfig {
    ModelConfig {
        provider: "openai".into(),
        base_url: base_url.into(),
        api_key: String::new(),
        api: Api::Auto,
        model: "m".into(),
        rate_limit: None,
        timeout_s: 120,
        answer_s: 0,
        context_window: 1000,
        max_retries: 3,
        agent: String::new(),
        ..ModelConfig::default()
    }
}
