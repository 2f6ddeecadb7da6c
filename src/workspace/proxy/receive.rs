//! The connections of a program in a network of its own, as the door there hands them out
//! (`sandbox/door.rs`): each is a descriptor, with the port that was connected to.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketType, recvmsg,
    sockopt,
};
use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;

/// Descriptors in one message; more are not taken.
const MOST: usize = 4;

/// Where they come from.
pub(super) struct Connections(AsyncFd<OwnedFd>);

impl Connections {
    /// Takes them from one end of a pair of sockets.
    pub(super) fn new(from: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&from, true)?;
        // SAFETY: what is owned names the same descriptor as long as it lives.
        Ok(Self(unsafe { AsyncFd::register(from) }?))
    }

    /// The next one, with its port; none when there will be no more. Without a connection somebody there
    /// was refused that port.
    pub(super) async fn next(&self) -> Option<(u16, Option<TcpStream>)> {
        loop {
            let mut ready = self.0.readable().await.ok()?;
            match ready.try_io(|from| receive(from.get_ref())) {
                Err(_) => {}
                Ok(Err(_)) => return None,
                Ok(Ok(None)) => return None,
                Ok(Ok(Some((port, sockets)))) if sockets.is_empty() => return Some((port, None)),
                // What is none is dropped.
                Ok(Ok(Some((port, sockets)))) => {
                    if let Some(stream) = connection(sockets) {
                        return Some((port, Some(stream)));
                    }
                }
            }
        }
    }
}

/// A message; none at the end.
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
        // No port at all.
        false => Ok(Some((0, Vec::new()))),
    }
}

/// A connection of TCP and nothing else: whoever is at the other end is not trusted.
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
