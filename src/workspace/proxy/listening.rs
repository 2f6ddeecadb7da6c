//! Detects whether a program listens on a loopback port of this machine.

/// The kernel's tables of TCP sockets.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// The state of a listening socket.
const LISTENS: &str = "0A";

/// True if a program listens on the port; false if that cannot be determined.
pub(super) fn is_listening(port: u16) -> bool {
    let tables = TABLES.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    tables.into_iter().any(|table| table.lines().skip(1).any(|line| is_here(line, port)))
}

/// True if a row describes a socket that listens on this port of the loopback or of all addresses.
fn is_here(row: &str, port: u16) -> bool {
    let mut fields = row.split_whitespace().skip(1);
    let (local, state) = (fields.next(), fields.nth(1));
    let Some((address, at)) = local.and_then(|local| local.split_once(':')) else { return false };
    // Words of four bytes, each in the machine's byte order.
    let first_of_v4 = address.len() == 8 && address.ends_with("7F");
    let of_v6 = ["0000000000000000", "0000000000000000FFFF0000"];
    let within_v6 = address.len() == 32
        && (address.ends_with("01000000") && address.starts_with(of_v6[0])
            || address.ends_with("7F") && address.starts_with(of_v6[1]));
    let everywhere = address.bytes().all(|byte| byte == b'0');
    state == Some(LISTENS)
        && u16::from_str_radix(at, 16) == Ok(port)
        && (first_of_v4 || within_v6 || everywhere)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_are_recognized_in_a_table() {
        let row = |local: &str, state: &str| format!("  0: {local} 00000000:0000 {state} 0 0");
        for local in [
            "0100007F:1F90",
            "0200007F:1F90",
            "00000000:1F90",
            "00000000000000000000000001000000:1F90",
            "00000000000000000000000000000000:1F90",
            "0000000000000000FFFF00000100007F:1F90",
        ] {
            assert!(is_here(&row(local, "0A"), 8080), "{local}");
            assert!(!is_here(&row(local, "01"), 8080) && !is_here(&row(local, "0A"), 8081));
        }
        for local in ["0101A8C0:1F90", "000080FE0000000000000000010000FE:1F90", ""] {
            assert!(!is_here(&row(local, "0A"), 8080), "{local}");
        }
        assert!(!is_here("", 8080));
    }

    #[test]
    fn a_listening_server_is_detected() {
        let ends = || {
            let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = server.local_addr().unwrap().port();
            assert!(is_listening(port));
            drop(server);
            !is_listening(port)
        };
        // Another test may be given the same port as soon as it is free.
        assert!((0..10).any(|_| ends()));
    }
}
