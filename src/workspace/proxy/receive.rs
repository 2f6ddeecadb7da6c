//! Receives the connections that a program in a private network namespace opens; `sandbox/door.rs`
//! sends them. Each message contains a descriptor and the destination port.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketType, recvmsg,
    sockopt,
};
use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;

/// Maximum number of descriptors in one message.
const MOST: usize = 4;

/// The receiving socket.
pub(super) struct Connections(AsyncFd<OwnedFd>);

impl Connections {
    /// Receives connections from one end of a socket pair.
    pub(super) fn new(from: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&from, true)?;
        // SAFETY: an `OwnedFd` refers to the same open descriptor until it is dropped.
        Ok(Self(unsafe { AsyncFd::register(from) }?))
    }

    /// Returns the next connection, with its port; `None` at the end. A port is returned without a
    /// connection if the program was refused a connection to it.
    pub(super) async fn next(&self) -> Option<(u16, Option<TcpStream>)> {
        loop {
            let mut ready = self.0.readable().await.ok()?;
            match ready.try_io(|from| receive(from.get_ref())) {
                Err(_) => {}
                Ok(Err(_)) => return None,
                Ok(Ok(None)) => return None,
                Ok(Ok(Some((port, sockets)))) if sockets.is_empty() => return Some((port, None)),
                // Anything that is not a connection is dropped.
                Ok(Ok(Some((port, sockets)))) => {
                    if let Some(stream) = connection(sockets) {
                        return Some((port, Some(stream)));
                    }
                }
            }
        }
    }
}

/// Receives a message; `None` at the end.
fn receive(from: &OwnedFd) -> io::Result<Option<(u16, Vec<OwnedFd>)>> {
    let mut port = [0; 2];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let mut into = [IoSliceMut::new(&mut port)];
    let got = recvmsg(from.as_fd(), &mut into, &mut control, flags)?.bytes;
    let sockets: Vec<OwnedFd> = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(all) => Some(all),
            _ => None,
        })
        .flatten()
        .collect();
    if got == 0 {
        return Ok(None);
    }
    match got == port.len() {
        true => Ok(Some((u16::from_be_bytes(port), sockets))),
        // Invalid message: port 0.
        false => Ok(Some((0, Vec::new()))),
    }
}

/// Returns the descriptor as a TCP connection; `None` if it is anything else, because the sender is
/// not trusted.
fn connection(sockets: Vec<OwnedFd>) -> Option<TcpStream> {
    let [socket] = <[OwnedFd; 1]>::try_from(sockets).ok()?;
    let family = sockopt::socket_domain(&socket).ok()?;
    let is_inet = matches!(family, AddressFamily::INET | AddressFamily::INET6);
    if !is_inet || sockopt::socket_type(&socket).ok()? != SocketType::STREAM {
        return None;
    }
    let stream = std::net::TcpStream::from(socket);
    stream.set_nonblocking(true).ok()?;
    TcpStream::from_std(stream).ok()
}
