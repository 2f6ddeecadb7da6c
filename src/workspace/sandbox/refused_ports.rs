//! Detects loopback ports to which a program's connections were refused because nothing listens
//! there: a program that looks for a server of the host in its own network namespace connects to
//! such a port. Uses a packet socket on the loopback; without the right to open one, nothing is
//! detected.

use std::mem::size_of;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};

/// Every protocol (`ETH_P_ALL`), in network byte order.
const ALL: u16 = 3_u16.to_be();
/// Bytes read of a packet: its headers.
const HEAD: usize = 128;
/// The protocol number of TCP, in both IP headers.
const TCP: u8 = 6;
/// The flags RST and ACK.
const RESET: u8 = 0x04 | 0x10;

/// Watches for refused connections.
pub(super) struct RefusedPorts {
    packets: OwnedFd,
    /// Ports already reported.
    told: Vec<bool>,
}

impl RefusedPorts {
    /// Starts watching; `None` if not permitted.
    pub(super) fn watch() -> Option<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: returns a new descriptor or an error.
        let packets = unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(ALL)) };
        if packets < 0 {
            return None;
        }
        // SAFETY: the descriptor is new and has no other owner.
        let packets = unsafe { OwnedFd::from_raw_fd(packets) };
        only_resets(packets.as_fd())?;
        Some(Self { packets, told: vec![false; usize::from(u16::MAX) + 1] })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.packets.as_fd()
    }

    /// Returns the next port that refused a connection; each port is returned only once.
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

/// Makes the kernel deliver only resets, not all the other traffic.
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
        // IPv4 has a header of variable length.
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
    // SAFETY: the kernel copies the program, which outlives the call.
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

/// Returns the port if the packet refuses a connection: only a reset that answers a first packet
/// (SYN) has sequence number 0.
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

    /// Builds a packet with this header, from port 4711.
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
    fn only_a_reset_that_answers_a_syn_is_a_refusal() {
        for header in [v4(5, TCP), v4(7, TCP), v6()] {
            assert_eq!(refused(&packet(&header, 0, RESET)), Some(4711));
            // A reset of an established connection, and an accepted connection.
            assert_eq!(refused(&packet(&header, 1, RESET)), None);
            assert_eq!(refused(&packet(&header, 0, 0x12)), None);
            // Truncated packets.
            let cut = packet(&header, 0, RESET);
            assert!((0..header.len() + 13).all(|at| refused(&cut[..at]).is_none()));
        }
        assert_eq!(refused(&packet(&v4(5, 17), 0, RESET)), None);
    }
}
