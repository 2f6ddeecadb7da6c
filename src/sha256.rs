//! SHA-256 in hexadecimal, for names of contents that the program keeps beside git's.

use ring::digest::{SHA256, digest};

/// The SHA-256 of some bytes, as 64 hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
