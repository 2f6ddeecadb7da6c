//! Exit from a private network namespace, which has only a loopback: a process inside listens for
//! the program and passes each connection to the proxy outside, over its one inherited descriptor.
//! It neither reads nor writes data of a connection. If the kernel permits, it also reports the
//! other ports to which connections were refused.

use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use anyhow::{Context as _, ensure};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use super::refused_ports::RefusedPorts;

/// Prefix of the argument with the descriptor's number.
const WORD: &str = "--out=";

/// Returns the helper's argument that names the descriptor.
pub(crate) fn word(descriptor: RawFd) -> OsString {
    format!("{WORD}{descriptor}").into()
}

/// Returns the descriptor number if this is that argument.
pub(super) fn number(argument: &OsString) -> Option<RawFd> {
    argument.to_str()?.strip_prefix(WORD)?.parse().ok().filter(|number| *number > 2)
}

/// Takes ownership of the inherited, still open descriptor.
pub(super) fn inherited(number: RawFd) -> anyhow::Result<OwnedFd> {
    // SAFETY: borrowed only to check that the descriptor is open.
    let open = unsafe { BorrowedFd::borrow_raw(number) };
    let is_socket = rustix::net::sockopt::socket_type(open).is_ok();
    ensure!(is_socket, "the inherited descriptor is not a socket");
    // SAFETY: the descriptor is open, and nothing else in this process uses it.
    let out = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_setfd(&out, rustix::io::FdFlags::CLOEXEC)?;
    Ok(out)
}

/// The listeners inside the network namespace.
pub(super) struct Door {
    listening: Vec<(u16, TcpListener)>,
    refused: Option<RefusedPorts>,
    out: OwnedFd,
}

impl Door {
    /// Listens on these ports; the first is the proxy's and is required. Call with all capabilities
    /// in this network namespace.
    pub(super) fn open(ports: &[u16], out: OwnedFd) -> anyhow::Result<Self> {
        let mut listening = Vec::new();
        for (at, port) in ports.iter().enumerate() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port));
            if at == 0 {
                let listener = listener.context("listening for a program")?;
                listening.push((*port, listener));
                continue;
            }
            // The other ports are optional: the program can use the proxy for them. A port may need
            // privileges, and a system may have no IPv6.
            let other = TcpListener::bind((Ipv6Addr::LOCALHOST, *port));
            listening.extend([listener, other].into_iter().flatten().map(|one| (*port, one)));
        }
        Ok(Self { listening, refused: RefusedPorts::watch(), out })
    }

    /// Starts the process that serves the connections. That process cannot be traced, so the
    /// program cannot use it to escape. Call from a process with one thread. Set `apart` if the
    /// calling process itself becomes the program: the server must not be the program's child.
    pub(super) fn serve_apart(self, apart: bool) -> anyhow::Result<()> {
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        // SAFETY: this process has one thread, so no lock is held and no state is inconsistent in
        // the child.
        match unsafe { libc::fork() } {
            0 => {}
            pid => {
                ensure!(pid > 0, "fork failed");
                if apart {
                    rustix::process::waitpid(
                        rustix::process::Pid::from_raw(pid),
                        rustix::process::WaitOptions::empty(),
                    )?;
                }
                return Ok(());
            }
        }
        // SAFETY: as above; the intermediate process needs no cleanup.
        if apart && unsafe { libc::fork() } != 0 {
            // SAFETY: ends this process and does nothing else.
            unsafe { libc::_exit(0) };
        }
        self.serve();
        // SAFETY: as above.
        unsafe { libc::_exit(0) }
    }

    fn serve(mut self) {
        for standard in 0..3 {
            // SAFETY: this process does not use these descriptors; open copies would keep the
            // program's output open after it ends.
            unsafe { libc::close(standard) };
        }
        loop {
            let mut all: Vec<PollFd<'_>> = self
                .listening
                .iter()
                .map(|(_, listener)| PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN))
                .collect();
            let watched = self.refused.as_ref().map(RefusedPorts::as_fd);
            all.extend(watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            all.push(PollFd::from_borrowed_fd(self.out.as_fd(), PollFlags::empty()));
            match poll(&mut all, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let ready: Vec<bool> = all.iter().map(|one| !one.revents().is_empty()).collect();
            let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
            let watched = all.get(self.listening.len()).filter(|_| self.refused.is_some());
            let is_blind = watched.is_some_and(|one| one.revents().intersects(broken));
            if ready.last() == Some(&true) {
                // The proxy is gone.
                return;
            }
            for ((port, listener), _) in self.listening.iter().zip(ready).filter(|(_, is)| *is) {
                let Ok((connection, _)) = listener.accept() else { continue };
                let handed = hand_out(self.out.as_fd(), *port, connection.as_fd());
                // Connections beyond the capacity of the socket are dropped.
                if matches!(handed, Err(Errno::PIPE | Errno::CONNRESET)) {
                    return;
                }
            }
            while let Some(port) = self.refused.as_mut().and_then(RefusedPorts::next) {
                if self.listening.iter().all(|(open, _)| *open != port) {
                    let _ = tell_out(self.out.as_fd(), port, &mut SendAncillaryBuffer::default());
                }
            }
            if is_blind {
                self.refused = None;
            }
        }
    }
}

/// Passes a connection to the proxy, with the port it was made to.
pub(crate) fn hand_out(
    out: BorrowedFd<'_>,
    port: u16,
    connection: BorrowedFd<'_>,
) -> Result<(), Errno> {
    let connection = [connection];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&connection));
    tell_out(out, port, &mut control)
}

/// Sends a port: with the connection made to it, or, without a connection, as a refused port.
fn tell_out(
    out: BorrowedFd<'_>,
    port: u16,
    control: &mut SendAncillaryBuffer<'_, '_, '_>,
) -> Result<(), Errno> {
    let port = port.to_be_bytes();
    loop {
        match sendmsg(out, &[IoSlice::new(&port)], control, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return sent.map(drop),
        }
    }
}

/// Creates the socket pair: the proxy's end, and the end to inherit.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (rustix::net::AddressFamily::UNIX, rustix::net::SocketType::SEQPACKET);
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let ends = rustix::net::socketpair(family, kind, flags, None)?;
    debug_assert!(ends.1.as_raw_fd() > 2);
    Ok(ends)
}
