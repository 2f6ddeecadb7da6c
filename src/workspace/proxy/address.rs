//! The addresses that a name may resolve to: neither this machine's own nor link-local ones, where
//! private services may run, such as a cloud's metadata service with its keys.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True if a name may resolve to this address.
pub(super) fn is_elsewhere(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_elsewhere_v4(address),
        IpAddr::V6(address) => {
            let own = address.is_loopback() || address.is_unspecified();
            let near = address.is_unicast_link_local() || address.is_multicast();
            !own && !near && within(address).is_none_or(is_elsewhere_v4)
        }
    }
}

fn is_elsewhere_v4(address: Ipv4Addr) -> bool {
    let own = address.is_loopback() || address.octets()[0] == 0;
    let near = address.is_link_local() || address.is_multicast() || address.is_broadcast();
    !own && !near
}

/// Returns the IPv4 address that an IPv6 address contains. Such addresses are those of gateways
/// (NAT64, 6to4) and the IPv4-compatible ones.
fn within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match parts {
        [0x64, 0xff9b, .., high, low] => Some(of(high, low)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_not_resolve_to_local_addresses() {
        for near in [
            "127.0.0.1",
            "127.1.2.3",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::127.0.0.1",
        ] {
            assert!(!is_elsewhere(near.parse().unwrap()), "{near}");
        }
        for far in ["1.1.1.1", "10.0.0.1", "192.168.1.1", "2606:4700::1111", "fd00::1"] {
            assert!(is_elsewhere(far.parse().unwrap()), "{far}");
        }
    }
}
