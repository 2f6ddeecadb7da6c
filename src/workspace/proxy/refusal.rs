//! What is not let through, and what else a program is told instead of an answer.

use std::net::IpAddr;

use crate::host::Host;

/// A server that a program asked for and did not get.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Refused {
    /// Nobody has named it.
    NotListed(Host),
    /// It was named, and its name leads to this machine or the link it is on.
    Inside(Host, IpAddr),
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum Failure {
    /// The request is none that a proxy is sent; what is wrong with it.
    Request(&'static str),
    /// It is too long, or takes too long.
    Head(&'static str),
    Refused(Refused),
    /// The server cannot be reached, and why.
    Unreachable(Host, String),
}

impl Failure {
    /// The answer to the program.
    pub(super) fn answer(&self) -> Vec<u8> {
        let (status, text) = match self {
            Self::Request(what) => ("400 Bad Request", format!("git-cowork: {what}")),
            Self::Head(what) => {
                ("431 Request Header Fields Too Large", format!("git-cowork: {what}"))
            }
            Self::Refused(Refused::NotListed(host)) => (
                "403 Forbidden",
                format!("git-cowork: {host} is not among the servers this program may reach"),
            ),
            Self::Refused(Refused::Inside(host, address)) => (
                "403 Forbidden",
                format!("git-cowork: {host} leads to {address}, which is not reached by a name"),
            ),
            Self::Unreachable(host, why) => {
                ("502 Bad Gateway", format!("git-cowork: {host} cannot be reached: {why}"))
            }
        };
        let length = text.len() + 1;
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \
             {length}\r\nConnection: close\r\n\r\n{text}\n"
        )
        .into_bytes()
    }
}
