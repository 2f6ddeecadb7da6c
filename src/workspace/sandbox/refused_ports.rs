//! Which ports of its own loopback a program was refused, for nothing listens there: a server of this
//! machine that it looks for in its own network is one of these. Seen by a socket that is told of each
//! packet there; with no right to have one, nobody is told.

use std::mem::size_of;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};

/// Every protocol (`ETH_P_ALL`), as the kernel wants it named.
const ALL: u16 = 3_u16.to_be();
/// Bytes of a packet that are looked at: its headers.
const HEAD: usize = 128;
/// The protocol, in both headers.
const TCP: u8 = 6;
/// A reset that acknowledges.
const RESET: u8 = 0x04 | 0x10;

/// Sees what is refused.
pub(super) struct RefusedPorts {
    packets: OwnedFd,
    /// Which were told of already.
    told: Vec<bool>,
}

impl RefusedPorts {
    /// Begins to look; none where that is not allowed.
    pub(super) fn watch() -> Option<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: makes a descriptor, or none.
        let packets = unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(ALL)) };
        if packets < 0 {
            return None;
        }
        // SAFETY: it was just made, and nobody else knows of it.
        let packets = unsafe { OwnedFd::from_raw_fd(packets) };
        only_resets(packets.as_fd())?;
        Some(Self { packets, told: vec![false; usize::from(u16::MAX) + 1] })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.packets.as_fd()
    }

    /// The next port that was refused for the first time.
    pub(super) fn next(&mut self) -> Option<u16> {
        let mut packet = [0; HEAD];
        loop {
            let length = rustix::io::read(&self.packets, &mut packet).ok()?;
            let Some(port) = refused(packet.get(..length)?) else { continue };
            let told = self.told.get_mut(usize::from(port))?;
            if !std::mem::replace(told, true) {
                return Some(port);
            }
        }
    }
}

/// Lets the kernel hand over resets only: everything else is much, and nothing to us.
fn only_resets(packets: BorrowedFd<'_>) -> Option<()> {
    use std::os::fd::AsRawFd as _;

    use libc::{
        BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_IND, BPF_JA, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD,
        BPF_LDX, BPF_MSH, BPF_RET,
    };
    let step = |code: u32, jt, jf, k: u32| libc::sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    };
    let byte = |at| step(BPF_LD | BPF_B | BPF_ABS, 0, 0, at);
    let is = |value: u32, jt, jf| step(BPF_JMP | BPF_JEQ | BPF_K, jt, jf, value);
    let and = |mask| step(BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
    let take = |bytes| step(BPF_RET | BPF_K, 0, 0, bytes);
    let (tcp, reset) = (u32::from(TCP), u32::from(RESET));
    let mut filter = [
        byte(0),
        and(0xf0),
        is(0x40, 0, 5),
        // IPv4, whose header has a length.
        byte(9),
        is(tcp, 0, 9),
        step(BPF_LDX | BPF_B | BPF_MSH, 0, 0, 0),
        step(BPF_LD | BPF_B | BPF_IND, 0, 0, 13),
        step(BPF_JMP | BPF_JA, 0, 0, 4),
        // IPv6.
        is(0x60, 0, 5),
        byte(6),
        is(tcp, 0, 3),
        byte(40 + 13),
        and(reset),
        is(reset, 1, 0),
        take(0),
        take(u32::try_from(HEAD).unwrap_or_default()),
    ];
    let program =
        libc::sock_fprog { len: u16::try_from(filter.len()).ok()?, filter: filter.as_mut_ptr() };
    let length = libc::socklen_t::try_from(size_of::<libc::sock_fprog>()).ok()?;
    // SAFETY: the kernel copies the program, which lives as long as the call.
    let set = unsafe {
        libc::setsockopt(
            packets.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            std::ptr::from_ref(&program).cast(),
            length,
        )
    };
    (set == 0).then_some(())
}

/// The port that a packet refuses a connection to: the reset that answers its first packet counts from
/// nothing, which no other does.
fn refused(packet: &[u8]) -> Option<u16> {
    let (protocol, header) = match packet.first()? >> 4 {
        4 => (*packet.get(9)?, usize::from(packet.first()? & 0x0f) * 4),
        6 => (*packet.get(6)?, 40),
        _ => return None,
    };
    let segment = packet.get(header..).filter(|_| protocol == TCP)?;
    let is_reset = segment.get(13)? & RESET == RESET;
    let port = u16::from_be_bytes([*segment.first()?, *segment.get(1)?]);
    (is_reset && segment.get(4..8)? == [0; 4]).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with this header, from port 4711.
    fn packet(header: &[u8], sequence: u8, flags: u8) -> Vec<u8> {
        let mut packet = header.to_vec();
        packet.extend(4711_u16.to_be_bytes());
        packet.extend([0xc0, 0x00, 0, 0, 0, sequence, 0, 0, 0, 1, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        packet
    }

    fn v4(words: u8, protocol: u8) -> Vec<u8> {
        let mut header = vec![0; usize::from(words) * 4];
        header[0] = 0x40 | words;
        header[9] = protocol;
        header
    }

    fn v6() -> Vec<u8> {
        let mut header = vec![0; 40];
        (header[0], header[6]) = (0x60, TCP);
        header
    }

    #[test]
    fn only_the_answer_to_a_first_packet_refuses() {
        for header in [v4(5, TCP), v4(7, TCP), v6()] {
            assert_eq!(refused(&packet(&header, 0, RESET)), Some(4711));
            // A connection that was there, one that is made.
            assert_eq!(refused(&packet(&header, 1, RESET)), None);
            assert_eq!(refused(&packet(&header, 0, 0x12)), None);
            // What is cut.
            let cut = packet(&header, 0, RESET);
            assert!((0..header.len() + 13).all(|at| refused(&cut[..at]).is_none()));
        }
        assert_eq!(refused(&packet(&v4(5, 17), 0, RESET)), None);
    }
}
