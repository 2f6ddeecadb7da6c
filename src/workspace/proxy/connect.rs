//! Connects to servers: a name is resolved once, its addresses are checked, and the connection is
//! made to one of exactly these addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::address::is_elsewhere;
use super::refusal::{Failure, Refused};
use super::request::HEAD_MAX;
use super::upstream::{Server, Upstream};
use crate::host::Host;

/// Time limit for resolving a name.
const LOOKUP: Duration = Duration::from_secs(10);
/// Time limit for connecting to one address.
const CONNECT: Duration = Duration::from_secs(8);
/// Maximum number of addresses tried.
const ADDRESSES_MAX: usize = 6;
/// Time limit for the response of an upstream proxy.
const ANSWER: Duration = Duration::from_secs(20);

/// An open connection.
pub(super) struct Connected<'a> {
    pub(super) stream: TcpStream,
    /// Bytes that the server has already sent.
    pub(super) early: Vec<u8>,
    /// The upstream proxy the connection leads to, if any.
    pub(super) through: Option<&'a Server>,
}

/// Connects to a server, through its upstream proxy if there is one.
pub(super) async fn connect<'a>(
    host: &Host,
    is_tunnel: bool,
    upstream: &'a Upstream,
) -> Result<Connected<'a>, Failure> {
    let unreachable = |why: String| Failure::Unreachable(host.clone(), why);
    let through = upstream.to(host, is_tunnel).map_err(|why| unreachable(why.to_owned()))?;
    let Some(server) = through else {
        let (stream, early) = (direct(host).await?, Vec::new());
        return Ok(Connected { stream, early, through });
    };
    // The user configured the proxy, so it is allowed to be on this machine.
    let addresses = addresses(&server.host).await.map_err(|why| unreachable(why.to_string()))?;
    let stream = first(addresses).await.map_err(|why| unreachable(why.to_string()));
    let mut stream = stream?;
    let mut early = Vec::new();
    if is_tunnel {
        let asked = timeout(ANSWER, tunnel(&mut stream, host, server)).await;
        let asked = asked.unwrap_or_else(|_| Err("the proxy does not answer".to_owned()));
        early = asked.map_err(unreachable)?;
    }
    Ok(Connected { stream, early, through })
}

async fn direct(host: &Host) -> Result<TcpStream, Failure> {
    let unreachable = |why: io::Error| Failure::Unreachable(host.clone(), why.to_string());
    let addresses = addresses(host).await.map_err(unreachable)?;
    // An address or a loopback name was listed explicitly, so it is allowed.
    let is_named = |address: IpAddr| match host.is_loopback() {
        true => address.to_canonical().is_loopback(),
        false => host.address().is_some() || is_elsewhere(address),
    };
    let (named, others): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| is_named(address.ip()));
    match (named.is_empty(), others.first()) {
        (true, Some(address)) => Err(Failure::Refused(Refused::Inside(host.clone(), address.ip()))),
        _ => first(named).await.map_err(unreachable),
    }
}

async fn addresses(host: &Host) -> io::Result<Vec<SocketAddr>> {
    if let Some(address) = host.address() {
        return Ok(vec![SocketAddr::new(address, host.port())]);
    }
    let found = timeout(LOOKUP, lookup_host((host.name(), host.port()))).await;
    Ok(found.map_err(|_| io::Error::other("looking up its name timed out"))??.collect())
}

/// Connects to the first address that accepts.
async fn first(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut last = io::Error::other("its name has no address");
    for address in addresses.into_iter().take(ADDRESSES_MAX) {
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::Error::from(io::ErrorKind::TimedOut),
        }
    }
    Err(last)
}

/// Requests a tunnel from an upstream proxy; returns the bytes received after its response.
async fn tunnel(stream: &mut TcpStream, host: &Host, server: &Server) -> Result<Vec<u8>, String> {
    let lost = |error: io::Error| format!("the proxy {} failed: {error}", server.host);
    let login = &server.login;
    let head = format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{login}\r\n");
    stream.write_all(head.as_bytes()).await.map_err(lost)?;
    let mut answer = Vec::new();
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&answer) {
            Ok(httparse::Status::Complete(length)) => {
                return match response.code {
                    Some(200..=299) => Ok(answer.split_off(length)),
                    code => {
                        let code = code.unwrap_or_default();
                        Err(format!("the proxy {} answers with {code}", server.host))
                    }
                };
            }
            Ok(httparse::Status::Partial) if answer.len() < HEAD_MAX => {}
            _ => return Err(format!("{} does not answer as a proxy", server.host)),
        }
        if stream.read_buf(&mut answer).await.map_err(lost)? == 0 {
            return Err(format!("the proxy {} closed the connection", server.host));
        }
    }
}
