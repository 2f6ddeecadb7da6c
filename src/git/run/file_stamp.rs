//! What shows that a file was written or replaced: its times, size and number.

use std::fs::Metadata;
use std::time::SystemTime;

/// Metadata that distinguishes a file from a later file with the same name.
pub(crate) type Stamp = (SystemTime, u64, [i64; 3]);

/// The stamp of a file with this metadata.
pub(crate) fn stamp_of(meta: &Metadata) -> Option<Stamp> {
    #[cfg(unix)]
    let number = {
        use std::os::unix::fs::MetadataExt as _;
        [i64::from_ne_bytes(meta.ino().to_ne_bytes()), meta.ctime(), meta.ctime_nsec()]
    };
    #[cfg(not(unix))]
    let number = [0; 3];
    Some((meta.modified().ok()?, meta.len(), number))
}
