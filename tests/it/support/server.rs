//! A model server that sends the replies of a [`Script`], over real HTTP on the loopback interface.
//!
//! It keeps every request. A request without a scripted reply gets HTTP 400 with its position, and
//! makes the test fail when the server is dropped.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::http::{self, Asked, respond};
use super::messages;
pub use super::received::{Api, Received};
use super::reply::{Fault, Reply};
use super::responses::{self, Given, Speaks};
use super::script::{At, START, Script};

#[derive(Default)]
struct Log {
    chats: Vec<Received>,
    /// The first requests of sessions, which do not count as chats.
    firsts: Vec<Received>,
    /// Requests without a position: the probe.
    probes: usize,
    unexpected: Vec<String>,
    speaks: Speaks,
    /// Requests through an API, or in a form, that the server does not support.
    turned_away: Vec<String>,
    given: Given,
    /// The models it lists, instead of the scripted one.
    models: Option<Value>,
    closing: bool,
    /// Sends this process a signal when this many chats have arrived.
    victim: Option<(usize, Option<u32>)>,
    signal: Option<Signal>,
}

struct Shared {
    script: Mutex<Script>,
    log: Mutex<Log>,
    changed: Condvar,
}

/// The server; it stops when dropped.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
}

impl Server {
    pub fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            log: Mutex::default(),
            changed: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.log.lock().unwrap().closing {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&serving);
                // A client may hang up in the middle of a response.
                std::thread::spawn(move || shared.serve(stream).ok());
            }
        });
        Self { shared, address }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// From now on, it has these APIs.
    pub fn speaks(&self, speaks: Speaks) {
        self.shared.log.lock().unwrap().speaks = speaks;
    }

    /// From now on, it lists these models.
    pub fn lists(&self, models: Value) {
        self.shared.log.lock().unwrap().models = Some(models);
    }

    /// The paths of requests that were refused because the server does not have the API, in order.
    pub fn turned_away(&self) -> Vec<String> {
        self.shared.log.lock().unwrap().turned_away.clone()
    }

    /// From now on, sends this reply at this position (the newest rule wins).
    pub fn on(&self, at: At, reply: Reply) {
        self.shared.script.lock().unwrap().on(at, reply);
    }

    /// Sends this reply to the first `n` matching requests, then the replies scripted before.
    pub fn times(&self, n: usize, at: At, reply: Reply) {
        self.shared.script.lock().unwrap().times(n, at, reply);
    }

    /// Sends these replies at this position, one after the other, then the replies scripted before.
    pub fn sequence(&self, at: At, replies: Vec<Reply>) {
        self.shared.script.lock().unwrap().sequence(at, replies);
    }

    /// A reply that depends on the request; `None` leaves it to older rules.
    pub fn on_with(
        &self,
        at: At,
        reply: impl Fn(&Received) -> Option<Reply> + Send + Sync + 'static,
    ) {
        self.shared.script.lock().unwrap().on_with(at, reply);
    }

    /// From now on every reply passes through this function.
    pub fn manner(&self, manner: impl Fn(&Received, Reply) -> Reply + Send + Sync + 'static) {
        self.shared.script.lock().unwrap().manner(manner);
    }

    /// The first requests of sessions so far.
    pub fn first_requests(&self) -> Vec<Received> {
        self.shared.log.lock().unwrap().firsts.clone()
    }

    /// The number of requests so far that cost money.
    pub fn asked(&self) -> usize {
        self.first_requests().len() + self.requests().len()
    }

    /// Every chat request so far, except the first requests of sessions.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.log.lock().unwrap().chats.clone()
    }

    /// Copies the requests of another server.
    pub fn inherit(&self, other: &Self) {
        let (chats, firsts, probes) = {
            let log = other.shared.log.lock().unwrap();
            (log.chats.clone(), log.firsts.clone(), log.probes)
        };
        let mut log = self.shared.log.lock().unwrap();
        (log.chats, log.firsts, log.probes) = (chats, firsts, probes);
    }

    /// The chat requests of a stage and role.
    pub fn requests_of(&self, stage: &str, role: &str) -> Vec<Received> {
        let mut requests = self.requests();
        requests.retain(|r| r.stage == stage && r.role == role);
        requests
    }

    /// Requests that came without a position (model list, probe).
    pub fn probes(&self) -> usize {
        self.shared.log.lock().unwrap().probes
    }

    /// Forgets the requests so far; counting starts at 1 again.
    pub fn forget(&self) {
        let mut log = self.shared.log.lock().unwrap();
        log.chats.clear();
        log.firsts.clear();
    }

    /// Positions of requests without a scripted reply. After this call they no longer fail the
    /// test.
    pub fn unexpected(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.log.lock().unwrap().unexpected)
    }

    /// When the `n`th chat arrives, the process named by [`Server::set_victim`] gets this signal;
    /// the chat is never answered.
    pub fn signal_at(&self, n: usize, signal: Signal) {
        let mut log = self.shared.log.lock().unwrap();
        log.victim = Some((n, None));
        log.signal = Some(signal);
    }

    pub fn set_victim(&self, pid: u32) {
        if let Some((_, victim)) = &mut self.shared.log.lock().unwrap().victim {
            *victim = Some(pid);
        }
        self.shared.changed.notify_all();
    }

    pub fn spare_everyone(&self) {
        self.shared.log.lock().unwrap().victim = None;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let unexpected = self.unexpected();
        self.shared.log.lock().unwrap().closing = true;
        self.shared.changed.notify_all();
        TcpStream::connect(self.address).ok();
        if !std::thread::panicking() {
            assert!(unexpected.is_empty(), "nobody scripted an answer for: {unexpected:#?}");
        }
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let Asked { target, path, headers, body: raw } = http::read(&stream)?;
        let mut out = stream;
        let api = match path.as_str() {
            "/v1/chat/completions" => Some(Api::Chat),
            "/v1/responses" => Some(Api::Responses),
            // Other servers may have it at any path.
            path if path.ends_with("/v1/messages") => Some(Api::Messages),
            _ => None,
        };
        match api {
            Some(api) => {
                let received = Received::new(headers, &raw, api, &target);
                self.asked(&mut out, &path, received)
            }
            None if path.ends_with("/v1/models") => {
                let mut log = self.log.lock().unwrap();
                log.probes += 1;
                let models = log.models.clone();
                drop(log);
                let models = models.unwrap_or_else(|| json!([{"id": "scripted"}]));
                let list = json!({"object": "list", "data": models});
                respond(&mut out, 200, &[], &list.to_string())
            }
            None => respond(&mut out, 404, &[], &json!({"error": {"message": path}}).to_string()),
        }
    }

    /// Refuses a request through an API that the server does not have.
    fn asked(&self, out: &mut TcpStream, path: &str, received: Received) -> std::io::Result<()> {
        let mut log = self.log.lock().unwrap();
        let (body, speaks) = (&received.body, log.speaks);
        let refused = match speaks {
            _ if received.stage.is_empty() => None,
            Speaks::Responses if received.api == Api::Responses => {
                if let Some(wrong) = responses::wrong(body, &log.given) {
                    return wrongly(out, log, &received, &wrong);
                }
                None
            }
            Speaks::Messages if received.api == Api::Messages => {
                if let Some(wrong) = messages::wrong(&received, &log.given) {
                    return wrongly(out, log, &received, &wrong);
                }
                None
            }
            _ if received.api != Api::Chat || speaks == Speaks::Messages => {
                Some((404, json!({"error": {"message": "Not Found"}}).to_string()))
            }
            Speaks::Chat => None,
            Speaks::ChatWithoutReasoning if body["reasoning_effort"] == "none" => None,
            _ => Some((400, responses::refusal(&body["model"]))),
        };
        let Some((code, error)) = refused else {
            drop(log);
            return self.chat(out, received);
        };
        log.turned_away.push(path.to_owned());
        drop(log);
        respond(out, code, &[], &error)
    }

    fn chat(&self, out: &mut TcpStream, mut received: Received) -> std::io::Result<()> {
        if received.stage.is_empty() {
            self.log.lock().unwrap().probes += 1;
            return self.send(out, &received, &Reply::text("ok"));
        }
        if received.stage == START {
            self.log.lock().unwrap().firsts.push(received.clone());
        } else {
            let mut log = self.log.lock().unwrap();
            received.number = log.chats.len() + 1;
            log.chats.push(received.clone());
            while let Some((n, victim)) = log.victim {
                if n != received.number {
                    break;
                }
                if let Some(pid) = victim {
                    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
                    let signal = log.signal.unwrap_or(Signal::KILL);
                    kill_process(pid, signal).ok();
                    if signal != Signal::KILL {
                        drop(log);
                        self.hold();
                    }
                    return Ok(());
                }
                log = self.changed.wait(log).unwrap();
            }
        }
        let reply = self.script.lock().unwrap().answer(&received);
        let Some(reply) = reply else {
            let position = received.position();
            self.log.lock().unwrap().unexpected.push(position.clone());
            let message = format!("nobody scripted an answer for {position}");
            return respond(out, 400, &[], &json!({"error": {"message": message}}).to_string());
        };
        self.send(out, &received, &reply)
    }

    fn send(&self, out: &mut TcpStream, received: &Received, reply: &Reply) -> std::io::Result<()> {
        let streaming = received.body["stream"] == true;
        match &reply.fault {
            Fault::Status { code, headers, body } => return respond(out, *code, headers, body),
            Fault::ErrorBody => {
                let body = json!({"error": {"message": "the backend is gone", "code": 503}});
                return respond(out, 200, &[], &body.to_string());
            }
            Fault::NeverAnswers => {
                self.hold();
                return Ok(());
            }
            _ => {}
        }
        // Number and items of a response through another API; a response that is cut was not given.
        let n = {
            let mut log = self.log.lock().unwrap();
            let n = log.given.len() + 1;
            match received.api {
                Api::Chat => {}
                Api::Responses => log.given.push(responses::given(&received.body, reply, n)),
                Api::Messages => log.given.push(messages::given(&received.body, reply, n)),
            }
            n
        };
        if !streaming {
            let whole = match received.api {
                Api::Chat => reply.whole(),
                Api::Responses => responses::whole(reply, n).to_string(),
                Api::Messages => messages::whole(reply, n).to_string(),
            };
            return respond(out, 200, &[], &whole);
        }
        out.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
              transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        )?;
        let mut events = match received.api {
            Api::Chat => reply.events(received.body["stream_options"]["include_usage"] == true),
            Api::Responses => responses::events(reply, n),
            Api::Messages => messages::events(reply, n),
        };
        if let Fault::CutAfter(n)
        | Fault::SilentAfter(n)
        | Fault::EndlessAfter(n)
        | Fault::PingsAfter(n) = reply.fault
        {
            events.truncate(n);
        }
        let drip = match reply.fault {
            Fault::EndlessAfter(_) => events.last().cloned(),
            Fault::PingsAfter(_) => Some(": ping\n\n".to_owned()),
            _ => None,
        };
        let stream = events.concat().into_bytes();
        let sizes: Vec<usize> = match reply.wire.transport {
            0 => events.iter().map(String::len).collect(),
            n => stream.chunks(n).map(<[u8]>::len).collect(),
        };
        let mut rest = stream.as_slice();
        for size in sizes {
            let (chunk, tail) = rest.split_at(size);
            rest = tail;
            write!(out, "{:x}\r\n", chunk.len())?;
            out.write_all(chunk)?;
            out.write_all(b"\r\n")?;
        }
        if let Some(event) = drip {
            return self.drip(out, &event);
        }
        match reply.fault {
            Fault::CutAfter(_) => Ok(()),
            Fault::SilentAfter(_) => {
                self.hold();
                Ok(())
            }
            _ => out.write_all(b"0\r\n\r\n"),
        }
    }

    /// Sends the same bytes fifty times a second, until the client hangs up or the test ends.
    fn drip(&self, out: &mut TcpStream, event: &str) -> std::io::Result<()> {
        while !self.log.lock().unwrap().closing {
            write!(out, "{:x}\r\n{event}\r\n", event.len())?;
            let beat = Duration::from_millis(20);
            drop(self.changed.wait_timeout(self.log.lock().unwrap(), beat).unwrap());
        }
        Ok(())
    }

    /// Keeps a connection open until the test ends.
    fn hold(&self) {
        let mut log = self.log.lock().unwrap();
        while !log.closing {
            log = self.changed.wait_timeout(log, Duration::from_secs(60)).unwrap().0;
        }
    }
}

/// Refuses requests that no test should send.
fn wrongly(
    out: &mut TcpStream,
    mut log: MutexGuard<'_, Log>,
    received: &Received,
    wrong: &str,
) -> std::io::Result<()> {
    log.unexpected.push(format!("{}: {wrong}", received.position()));
    drop(log);
    let error = json!({"error": {"type": "invalid_request_error", "message": wrong}});
    respond(out, 400, &[], &error.to_string())
}
