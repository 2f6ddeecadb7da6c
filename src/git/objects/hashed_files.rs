//! The blobs of files that were hashed in the current [`Moment`], cached because several steps in a
//! row hash the same files.

use std::collections::HashMap;
use std::fs::Metadata;
use std::sync::{Mutex, PoisonError};
#[cfg(unix)]
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::git::Oid;
use crate::git::file_stamp::{Stamp, stamp_of};
use crate::moment::Moment;

/// The longest time between two ticks of the clock from which Linux takes the times of files.
#[cfg(unix)]
const TICK: Duration = Duration::from_millis(10);

/// The unit in nanoseconds to which a file system may round times that have fractions of seconds
/// (exFAT).
#[cfg(unix)]
const ROUNDED: i64 = 10_000_000;

/// The cached blobs, by path.
#[derive(Default)]
pub(crate) struct HashedFiles(Mutex<Option<(Moment, HashMap<String, Hashed>)>>);

/// The blob of a file.
#[derive(Clone)]
pub(crate) struct Hashed {
    stamp: Stamp,
    pub(crate) blob: Oid,
    /// It is in the object database.
    pub(crate) exists: bool,
    /// Any later change of the file changes its metadata.
    pub(crate) was_settled: bool,
}

/// A file that is about to be read.
pub(crate) struct Reading {
    moment: Moment,
    stamp: Stamp,
    is_settled: bool,
}

impl Reading {
    /// A file with this metadata, which was just read; `None` if the metadata cannot show a change.
    pub(crate) fn of(meta: &Metadata) -> Option<Self> {
        let moment = Moment::now();
        Some(Self { moment, stamp: stamp_of(meta)?, is_settled: is_settled(meta) })
    }
}

impl HashedFiles {
    /// The blob of a file, if it was hashed in this moment and its metadata are the same.
    pub(crate) fn get(&self, path: &str, now: &Reading) -> Option<Hashed> {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, files) = slot.as_ref().filter(|(moment, _)| *moment == now.moment)?;
        files.get(path).filter(|hashed| hashed.stamp == now.stamp).cloned()
    }

    /// Adds the blob of a file that has been read.
    pub(crate) fn keep(&self, path: &str, read: Reading, blob: Oid, exists: bool) {
        let Reading { moment, stamp, is_settled: was_settled } = read;
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let files = match slot.take() {
            Some(found) if found.0 == moment => slot.insert(found),
            _ => slot.insert((moment, HashMap::new())),
        };
        let had = files.1.get(path);
        let exists = exists || had.is_some_and(|had| had.exists && had.blob == blob);
        files.1.insert(path.to_owned(), Hashed { stamp, blob, exists, was_settled });
    }

    /// Notes that this blob of a file is in the object database.
    pub(crate) fn note_exists(&self, path: &str, blob: &Oid) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = slot.as_mut().and_then(|(_, files)| files.get_mut(path));
        if let Some(entry) = entry.filter(|entry| entry.blob == *blob) {
            entry.exists = true;
        }
    }

    /// Forgets the blob of a file that git-cowork itself writes while nobody else acts: its next
    /// version may have the same metadata.
    pub(crate) fn forget(&self, path: &str) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, files)) = slot.as_mut() {
            files.remove(path);
        }
    }
}

/// True if a file was last changed so long ago that a change from now on has a later time, by the
/// clock of this machine, and its file system does not round times.
#[cfg(unix)]
fn is_settled(meta: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let part = u32::try_from(meta.ctime_nsec()).unwrap_or(0);
    let change_time = Duration::new(u64::try_from(meta.ctime()).unwrap_or(u64::MAX), part);
    meta.ctime_nsec() % ROUNDED != 0 && change_time.saturating_add(TICK) < now
}

#[cfg(not(unix))]
fn is_settled(_meta: &Metadata) -> bool {
    false
}
