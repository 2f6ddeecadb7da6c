//! A proxy for programs that have a network of their own with nothing in it: their connections are
//! handed to this process (`receive`), which lets pass what names a server that is listed.
//!
//! It speaks `CONNECT` and plain `http://`, of which a connection has one request. What a name leads to is
//! looked up here, and nothing that is sent through it is looked at.

mod address;
mod body;
mod connect;
mod listening;
mod receive;
mod refusal;
mod request;
mod upstream;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

use crate::host::Host;
use body::Body;
use connect::{Connected, connect};
use listening::is_listening;
use receive::Connections;
use refusal::Failure;
pub(crate) use refusal::Refused;
use request::{HEAD_MAX, Request, parse};
use upstream::Upstream;

/// Connections at a time; more wait.
const CONNECTIONS_MAX: usize = 128;
/// For the head of a request to come.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// Without a byte either way. A model may think that long before it says a word.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// Bytes that are read at once.
const BUFFER: usize = 32 * 1024;

/// Which servers may be reached, and how.
#[derive(Debug)]
pub(crate) struct Proxy {
    hosts: Vec<Host>,
    /// Its port in the network of the program; other ports there are those of listed servers on this
    /// machine.
    port: u16,
    upstream: Upstream,
}

impl Proxy {
    /// A proxy that lets pass what goes to these servers, on the way that the environment names.
    pub(crate) fn new(hosts: Vec<Host>, port: u16, env: &BTreeMap<OsString, OsString>) -> Self {
        Self { hosts, port, upstream: Upstream::of(env) }
    }

    /// Serves the connections that come from there until there are no more; `told` hears what was
    /// refused. Dropping it closes them.
    pub(crate) async fn serve(&self, from: OwnedFd, told: &dyn Fn(&Refused)) {
        let connections = match Connections::new(from) {
            Ok(connections) => connections,
            Err(error) => return tracing::warn!("a program has no way out: {error}"),
        };
        let (mut open, mut more) = (FuturesUnordered::new(), true);
        while more || !open.is_empty() {
            tokio::select! {
                next = connections.next(), if more && open.len() < CONNECTIONS_MAX => match next {
                    Some((port, Some(stream))) => open.push(self.connection(port, stream, told)),
                    Some((port, None)) => self.refused(port, told),
                    None => more = false,
                },
                Some(()) = open.next(), if !open.is_empty() => {}
            }
        }
    }

    /// Tells of a server of this machine that the program looked for in its own network. A port where
    /// nobody listens here either is the program's own matter.
    fn refused(&self, port: u16, told: &dyn Fn(&Refused)) {
        if self.here(port).is_none()
            && is_listening(port)
            && let Some(host) = Host::new("localhost", port)
        {
            told(&Refused::NotListed(host));
        }
    }

    async fn connection(&self, port: u16, mut client: TcpStream, told: &dyn Fn(&Refused)) {
        if let Err(failure) = self.answer(port, &mut client).await {
            if let Failure::Refused(refused) = &failure {
                told(refused);
            }
            if let Failure::Unreachable(host, why) = &failure {
                tracing::info!("{host} was not reached for a program: {why}");
            }
            if port == self.port {
                let _ = timeout(HEAD_TIME, client.write_all(&failure.answer())).await;
                let _ = client.shutdown().await;
                drain(&mut client).await;
            }
        }
    }

    async fn answer(&self, port: u16, client: &mut TcpStream) -> Result<(), Failure> {
        if port != self.port {
            let Some(host) = self.here(port) else { return Ok(()) };
            let Connected { mut stream, .. } = connect(host, true, &self.upstream).await?;
            pass_both_ways(client, &mut stream, Body::Tunnel).await;
            return Ok(());
        }
        let (request, rest) = read(client).await?;
        let Request { host, forward, mut body, .. } = request;
        if !self.hosts.contains(&host) {
            return Err(Failure::Refused(Refused::NotListed(host)));
        }
        let connected = connect(&host, forward.is_none(), &self.upstream).await?;
        let Connected { mut stream, early, through } = connected;
        let (to_server, to_client) = match &forward {
            Some(forward) => (forward.head(through.map(|proxy| proxy.login.as_str())), early),
            None => {
                let done = b"HTTP/1.1 200 Connection established\r\n\r\n";
                (Vec::new(), done.iter().copied().chain(early).collect())
            }
        };
        let lost = |error: std::io::Error| Failure::Unreachable(host.clone(), error.to_string());
        let own = body.take(&rest);
        for bytes in [&to_server, &rest[..own]] {
            stream.write_all(bytes).await.map_err(lost)?;
        }
        if own < rest.len() {
            // Another request was sent with it; the server is to know that there is none.
            stream.shutdown().await.map_err(lost)?;
        }
        if client.write_all(&to_client).await.is_ok() {
            pass_both_ways(client, &mut stream, body).await;
        }
        Ok(())
    }

    /// The listed server on this machine with this port.
    fn here(&self, port: u16) -> Option<&Host> {
        self.hosts.iter().find(|host| host.is_loopback() && host.port() == port)
    }
}

/// A request, and what came after its head.
async fn read(client: &mut TcpStream) -> Result<(Request, Vec<u8>), Failure> {
    let mut bytes = Vec::with_capacity(HEAD_MAX);
    let reading = async {
        loop {
            let got = client.read_buf(&mut bytes).await;
            if !matches!(got, Ok(1..)) {
                return Err(Failure::Request("the request ends too early"));
            }
            if let Some(request) = parse(&bytes)? {
                let rest = bytes.split_off(request.length);
                return Ok((request, rest));
            }
        }
    };
    let read = timeout(HEAD_TIME, reading).await;
    read.unwrap_or(Err(Failure::Head("the head of the request did not come in time")))
}

/// What the client still sends is taken, so that it reads the answer before it hears that the
/// connection is gone.
async fn drain(client: &mut TcpStream) {
    let rest = async {
        let mut buffer = vec![0; BUFFER];
        let mut left = 64;
        while left > 0 && matches!(client.read(&mut buffer).await, Ok(1..)) {
            left -= 1;
        }
    };
    let _ = timeout(Duration::from_secs(2), rest).await;
}

/// Passes bytes on until both sides have ended, or are silent; of the client's, what belongs to its
/// request.
async fn pass_both_ways(client: &mut TcpStream, server: &mut TcpStream, body: Body) {
    let last = Cell::new(Instant::now());
    let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
    let silent = async {
        while last.get().elapsed() < IDLE {
            sleep_until(last.get() + IDLE).await;
        }
    };
    let passed = async {
        tokio::join!(
            pass(from_client, to_server, &last, body),
            pass(from_server, to_client, &last, Body::Tunnel)
        )
    };
    tokio::select! {
        _ = passed => {}
        () = silent => {}
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    last: &Cell<Instant>,
    mut body: Body,
) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        last.set(Instant::now());
        let own = body.take(&buffer[..n]);
        if to.write_all(&buffer[..own]).await.is_err() || own < n {
            break;
        }
    }
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests;
