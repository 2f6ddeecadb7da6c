//! A proxy for programs with an empty private network namespace: their connections are passed to
//! this process (`receive`), which permits those to listed servers.
//!
//! Supports `CONNECT` and plain `http://`, with one request per connection. Names are resolved
//! here, and the transferred data is not inspected.

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

/// Maximum number of simultaneous connections; further ones wait.
const CONNECTIONS_MAX: usize = 128;
/// Time limit for receiving the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// A connection is closed after this time without data in either direction. A model may think that
/// long before it responds.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// Size of the read buffer in bytes.
const BUFFER: usize = 32 * 1024;

/// The permitted servers, and the way to reach them.
#[derive(Debug)]
pub(crate) struct Proxy {
    hosts: Vec<Host>,
    /// The proxy's port in the program's network namespace; other ports there belong to listed
    /// servers on this machine.
    port: u16,
    upstream: Upstream,
}

impl Proxy {
    /// Creates a proxy that permits these servers, through the upstream proxy named by the
    /// environment.
    pub(crate) fn new(hosts: Vec<Host>, port: u16, env: &BTreeMap<OsString, OsString>) -> Self {
        Self { hosts, port, upstream: Upstream::of(env) }
    }

    /// Serves the connections received from `from` until there are no more; `told` is called for
    /// each refused one. Dropping the future closes the connections.
    pub(crate) async fn serve(&self, from: OwnedFd, told: &dyn Fn(&Refused)) {
        let connections = match Connections::new(from) {
            Ok(connections) => connections,
            Err(error) => return tracing::warn!("a program has no network access: {error}"),
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

    /// Reports a server of this machine that the program tried to reach in its own network
    /// namespace. If nothing listens on the port on this machine either, nothing is reported.
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
                tracing::info!("a program could not connect to {host}: {why}");
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
            // Another request was sent after this one; end the stream here.
            stream.shutdown().await.map_err(lost)?;
        }
        if client.write_all(&to_client).await.is_ok() {
            pass_both_ways(client, &mut stream, body).await;
        }
        Ok(())
    }

    /// Returns the listed server on this machine with this port.
    fn here(&self, port: u16) -> Option<&Host> {
        self.hosts.iter().find(|host| host.is_loopback() && host.port() == port)
    }
}

/// Reads a request; returns it with the bytes received after its head.
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

/// Reads the client's remaining data, so that the client can read the response before the
/// connection is closed.
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

/// Forwards bytes until both sides have ended or are idle; from the client, only those that belong
/// to its request.
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
