//! The way out of a network of its own, which holds nothing but a loopback: a process there listens for
//! the program, and hands each connection to the proxy outside, through the one descriptor that it
//! has inherited. It says nothing and reads nothing. Which other ports the program was refused there it
//! tells, too, where it may know.

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

/// What stands before the number of the descriptor.
const WORD: &str = "--out=";

/// The argument of the helper that names the descriptor.
pub(crate) fn word(descriptor: RawFd) -> OsString {
    format!("{WORD}{descriptor}").into()
}

/// The number that an argument names, if it is this one.
pub(super) fn number(argument: &OsString) -> Option<RawFd> {
    argument.to_str()?.strip_prefix(WORD)?.parse().ok().filter(|number| *number > 2)
}

/// The descriptor of this number, which is still open.
pub(super) fn inherited(number: RawFd) -> anyhow::Result<OwnedFd> {
    // SAFETY: only looked at, to find out whether it is open.
    let open = unsafe { BorrowedFd::borrow_raw(number) };
    let is_socket = rustix::net::sockopt::socket_type(open).is_ok();
    ensure!(is_socket, "the way out is no socket");
    // SAFETY: it is open, and nobody else here knows of it.
    let out = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_setfd(&out, rustix::io::FdFlags::CLOEXEC)?;
    Ok(out)
}

/// What listens inside.
pub(super) struct Door {
    listening: Vec<(u16, TcpListener)>,
    refused: Option<RefusedPorts>,
    out: OwnedFd,
}

impl Door {
    /// Listens at these ports: first that of the proxy, which must be had. To be called with all rights
    /// that there are in this network.
    pub(super) fn open(ports: &[u16], out: OwnedFd) -> anyhow::Result<Self> {
        let mut listening = Vec::new();
        for (at, port) in ports.iter().enumerate() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port));
            if at == 0 {
                let listener = listener.context("listening for a program")?;
                listening.push((*port, listener));
                continue;
            }
            // Of the others the proxy can be asked, too: a port may need rights, a system may have no
            // IPv6.
            let other = TcpListener::bind((Ipv6Addr::LOCALHOST, *port));
            listening.extend([listener, other].into_iter().flatten().map(|one| (*port, one)));
        }
        Ok(Self { listening, refused: RefusedPorts::watch(), out })
    }

    /// Starts the process that serves it. What the program can do to it must not lead out: it cannot be
    /// traced. To be called by a process with one thread; `apart` where that becomes the program, of
    /// which it must not be a child.
    pub(super) fn serve_apart(self, apart: bool) -> anyhow::Result<()> {
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        // SAFETY: this process has one thread, so nothing is locked or half done in the child.
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
        // SAFETY: as above; nothing is to be done at the end of the one between.
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
            // SAFETY: nobody uses them here; the program's output ends when the program ends.
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
                // Nobody is there to serve it any more.
                return;
            }
            for ((port, listener), _) in self.listening.iter().zip(ready).filter(|(_, is)| *is) {
                let Ok((connection, _)) = listener.accept() else { continue };
                let handed = hand_out(self.out.as_fd(), *port, connection.as_fd());
                // Of too many at a time some are dropped.
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

/// Hands a connection out, and says which port was connected to.
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

/// Says which port it is about: one that was connected to, with the connection; without one it was refused.
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

/// Both ends: the one for the proxy, and the one that is inherited.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (rustix::net::AddressFamily::UNIX, rustix::net::SocketType::SEQPACKET);
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let ends = rustix::net::socketpair(family, kind, flags, None)?;
    debug_assert!(ends.1.as_raw_fd() > 2);
    Ok(ends)
}
