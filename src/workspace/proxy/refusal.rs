//! Refused connections, and the error responses to a program.

use std::net::IpAddr;

use crate::host::Host;

/// A server that a program requested and was refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Refused {
    /// Not in the list of permitted servers.
    NotListed(Host),
    /// Listed, but its name resolves to an address of this machine or to a link-local address.
    Inside(Host, IpAddr),
}

/// Why no connection was made.
#[derive(Debug)]
pub(super) enum Failure {
    /// Not a valid request to a proxy, with the problem.
    Request(&'static str),
    /// The head of the request is too long or takes too long.
    Head(&'static str),
    Refused(Refused),
    /// The server cannot be reached, with the reason.
    Unreachable(Host, String),
}

impl Failure {
    /// Returns the response to the program.
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
                format!(
                    "git-cowork: {host} resolves to {address}; to allow it, add the address \
                     itself to the list of allowed hosts"
                ),
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
