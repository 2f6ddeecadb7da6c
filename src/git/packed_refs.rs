//! The file of packed references (<https://git-scm.com/docs/git-pack-refs>).

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};

use super::output::lossy;
use super::ref_files::{DIGITS, Value, matches, oid, present};
use super::shared::Shared;

/// The packed references as they were read last: thousands of questions about one name each would
/// read the file thousands of times, each thread again. Git replaces it whole, as [`Stamp`] shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeptPacked(Shared<Mutex<Option<Known>>>);

type Known = (Stamp, Arc<Packed>);

/// What tells one file of packed references from the next; `None` where there is none.
type Stamp = Option<(SystemTime, u64, u64)>;

impl KeptPacked {
    /// Those of this shared git directory as they are now.
    pub(super) fn read(&self, common_dir: &Path) -> Result<Arc<Packed>> {
        let path = common_dir.join("packed-refs");
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&path)?;
        if let Some((_, packed)) = kept.as_ref().filter(|(known, _)| *known == now) {
            return Ok(Arc::clone(packed));
        }
        let packed = Arc::new(Packed::read(&path)?);
        *kept = Some((now, Arc::clone(&packed)));
        Ok(packed)
    }
}

/// The file of packed references.
#[derive(Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    /// Where its first line is.
    start: usize,
    sorted: bool,
    /// It says of every tag what it tags.
    peeled: bool,
}

impl Packed {
    fn read(path: &Path) -> Result<Self> {
        let bytes = present(fs::read(path))?.unwrap_or_default();
        if !bytes.starts_with(b"#") {
            return Ok(Self { bytes, ..Self::default() });
        }
        let start = line_end(&bytes, 0);
        let header = lossy(&bytes[..start]);
        let traits = header.strip_prefix("# pack-refs with:").context("unknown packed-refs")?;
        let has = |name: &str| traits.split_whitespace().any(|known| known == name);
        let (sorted, peeled) = (has("sorted"), has("fully-peeled"));
        Ok(Self { bytes, start, sorted, peeled })
    }

    /// What it says of one name.
    pub(super) fn value(&self, name: &str) -> Result<Option<Value>> {
        let mut found = None;
        self.matching(name, |there, value| {
            if there == name {
                found = Some(value);
            }
        })?;
        Ok(found)
    }

    pub(super) fn matching(&self, pattern: &str, mut see: impl FnMut(&str, Value)) -> Result<()> {
        let fixed = pattern.split('*').next().unwrap_or_default();
        let mut at = if self.sorted { self.first_from(fixed.as_bytes()) } else { self.start };
        while at < self.bytes.len() {
            let end = line_end(&self.bytes, at);
            let line = &self.bytes[at..end];
            let (id, name) = entry(line)?;
            let mut peeled = self.peeled.then_some(id);
            at = end;
            if self.bytes.get(at) == Some(&b'^') {
                let end = line_end(&self.bytes, at);
                peeled = Some(self.bytes[at + 1..end].trim_ascii_end());
                at = end;
            }
            if name.starts_with(fixed.as_bytes()) {
                let name = str::from_utf8(name).context("a name is no text")?;
                if matches(pattern, name) {
                    let peeled = peeled.map(|id| oid(id).context("unknown packed-refs"));
                    let object = oid(id).context("unknown packed-refs")?;
                    see(name, Value::Object { object, peeled: peeled.transpose()? });
                }
            } else if self.sorted {
                break;
            }
        }
        Ok(())
    }

    /// Where the first line is whose name is not before this one.
    fn first_from(&self, name: &[u8]) -> usize {
        let (mut low, mut high) = (self.start, self.bytes.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let mut line = self.line_start(middle);
            if self.bytes.get(line) == Some(&b'^') && line > low {
                line = self.line_start(line - 1);
            }
            let end = line_end(&self.bytes, line);
            // What is no entry is reported when it is read.
            if entry(&self.bytes[line..end]).is_ok_and(|(_, there)| there < name) {
                low = end;
                if self.bytes.get(low) == Some(&b'^') {
                    low = line_end(&self.bytes, low);
                }
            } else {
                high = line;
            }
        }
        low
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.bytes[self.start..at].iter().rposition(|&b| b == b'\n');
        before.map_or(self.start, |before| self.start + before + 1)
    }
}

pub(super) fn stamp(path: &Path) -> Result<Stamp> {
    let Some(meta) = present(path.metadata())? else { return Ok(None) };
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&meta);
    #[cfg(not(unix))]
    let number = 0;
    Ok(Some((meta.modified()?, meta.len(), number)))
}

/// Behind the line break that ends the line.
fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |end| at + end + 1)
}

/// `<id> SP <name> LF`
fn entry(line: &[u8]) -> Result<(&[u8], &[u8])> {
    match (line.get(..DIGITS), line.get(DIGITS), line.get(DIGITS + 1..)) {
        (Some(id), Some(b' '), Some(name)) => Ok((id, name.trim_ascii_end())),
        _ => bail!("unknown packed-refs: {:?}", lossy(line)),
    }
}
