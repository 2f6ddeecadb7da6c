//! Reads the file of packed references (<https://git-scm.com/docs/git-pack-refs>).

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};

use super::format::Format;
use super::output::lossy;
use super::ref_files::{Value, oid, present};
use super::ref_patterns::matches;
use super::shared::Shared;

/// The packed references as last read, shared by all threads: otherwise each of thousands of
/// lookups would read the file. Git replaces the whole file, which changes its [`Stamp`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeptPacked(Shared<Mutex<Option<Known>>>);

type Known = (Stamp, Arc<Packed>);

/// Modification time, length and inode number of the file; `None` if there is no file.
type Stamp = Option<(SystemTime, u64, u64)>;

impl KeptPacked {
    /// The current packed references of this shared git directory.
    pub(super) fn read(&self, common_dir: &Path, format: Format) -> Result<Arc<Packed>> {
        let path = common_dir.join("packed-refs");
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&path)?;
        if let Some((_, packed)) = kept.as_ref().filter(|(known, _)| *known == now) {
            return Ok(Arc::clone(packed));
        }
        let packed = Arc::new(Packed::read(&path, format)?);
        *kept = Some((now, Arc::clone(&packed)));
        Ok(packed)
    }
}

/// Number of lookups that read only parts of the file. The next one reads the whole file, which
/// takes as long as some hundreds of lookups.
const QUESTIONS: usize = 64;

/// Size in bytes of the first read in a search for a line, and the size up to which reads grow if
/// there are many lines.
const PART: usize = 2 * 1024;
const LARGE_PART: usize = 256 * 1024;

/// The file of packed references.
#[derive(Default)]
pub(super) struct Packed {
    file: Option<File>,
    length: usize,
    whole: OnceLock<Vec<u8>>,
    asked: AtomicUsize,
    /// Position of the first entry, after the header.
    start: usize,
    sorted: bool,
    /// Number of digits of an id.
    digits: usize,
}

/// The position of an entry, including the next line if it contains the peeled object, and the
/// name; `None` if the line cannot be parsed.
struct Line {
    start: usize,
    end: usize,
    name: Option<Vec<u8>>,
}

impl Packed {
    /// The sorted entries of a list that git has printed.
    pub(super) fn listed(entries: Vec<u8>, format: Format) -> Self {
        let (length, whole) = (entries.len(), OnceLock::from(entries));
        Self { length, whole, sorted: true, digits: format.digits, ..Self::default() }
    }

    fn read(path: &Path, format: Format) -> Result<Self> {
        let Some(file) = present(File::open(path))? else { return Ok(Self::default()) };
        let length = usize::try_from(file.metadata()?.len())?;
        let digits = format.digits;
        let packed = Self { file: Some(file), length, digits, ..Self::default() };
        // Only on Unix can git replace a file that is open.
        if cfg!(not(unix)) {
            packed.read_whole()?;
        }
        let beginning = packed.bytes(0, length.min(PART))?;
        if !beginning.starts_with(b"#") {
            return Ok(packed);
        }
        let start = line_end(&beginning, 0);
        let header = lossy(&beginning[..start]);
        let traits =
            header.strip_prefix("# pack-refs with:").context("unknown packed-refs format")?;
        let sorted = traits.split_whitespace().any(|known| known == "sorted");
        Ok(Self { start, sorted, ..packed })
    }

    fn read_whole(&self) -> io::Result<&[u8]> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let bytes = self.part(0, self.length)?;
        Ok(self.whole.get_or_init(|| bytes))
    }

    /// The bytes of the file from `from` up to `to`.
    fn bytes(&self, from: usize, to: usize) -> io::Result<Cow<'_, [u8]>> {
        match self.whole.get() {
            Some(whole) => Ok(Cow::Borrowed(&whole[from..to])),
            None => self.part(from, to).map(Cow::Owned),
        }
    }

    #[cfg(unix)]
    fn part(&self, from: usize, to: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; to - from];
        if let Some(file) = &self.file {
            std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, from as u64)?;
        }
        Ok(bytes)
    }

    #[cfg(not(unix))]
    fn part(&self, from: usize, to: usize) -> io::Result<Vec<u8>> {
        use std::io::{Read as _, Seek as _, SeekFrom};
        let mut bytes = vec![0; to - from];
        if let Some(mut file) = self.file.as_ref() {
            file.seek(SeekFrom::Start(from as u64))?;
            file.read_exact(&mut bytes)?;
        }
        Ok(bytes)
    }

    /// The number of bytes to read first.
    fn step(&self) -> usize {
        if self.whole.get().is_some() { self.length } else { PART }
    }

    /// All entries, and the header of a file.
    pub(super) fn all(&self) -> io::Result<&[u8]> {
        self.read_whole()
    }

    /// The value of one name.
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
        self.beginning(fixed, |name, id| {
            if matches(pattern, name) {
                see(name, Value::Object(oid(id).context("unknown packed-refs format")?));
            }
            Ok(())
        })
    }

    /// Calls `see` with each name that starts with `fixed`.
    pub(super) fn names(&self, fixed: &str, mut see: impl FnMut(&str)) -> Result<()> {
        self.beginning(fixed, |name, _| {
            see(name);
            Ok(())
        })
    }

    /// Calls `see` with each name that starts with `fixed`, and the digits of its id.
    fn beginning(&self, fixed: &str, mut see: impl FnMut(&str, &[u8]) -> Result<()>) -> Result<()> {
        if self.asked.fetch_add(1, Ordering::Relaxed) >= QUESTIONS {
            self.read_whole()?;
        }
        let fixed = fixed.as_bytes();
        let mut at = if self.sorted { self.first_from(fixed)? } else { self.start };
        let mut step = self.step();
        while at < self.length {
            let bytes = self.bytes(at, self.length.min(at.saturating_add(step)))?;
            let is_last = at + bytes.len() == self.length;
            let mut next = 0;
            while let Some(end) = entry_end(&bytes, next, is_last) {
                let line = &bytes[next..line_end(&bytes, next)];
                next = end;
                let (id, name) = self.entry(line)?;
                if name.starts_with(fixed) {
                    let name = str::from_utf8(name).context("a name is not UTF-8")?;
                    see(name, id)?;
                } else if self.sorted {
                    return Ok(());
                }
            }
            at += next;
            // An entry that did not fit is read again with a larger size.
            step = if next == 0 || step < LARGE_PART { step.saturating_mul(2) } else { step };
        }
        Ok(())
    }

    /// The position of the first entry whose name does not sort before `name`.
    fn first_from(&self, name: &[u8]) -> io::Result<usize> {
        let (mut low, mut high) = (self.start, self.length);
        while low < high {
            let line = self.line_at(low + (high - low) / 2)?;
            // A line that is not an entry is reported when the entries are read.
            if line.name.is_some_and(|there| there.as_slice() < name) {
                low = line.end;
            } else {
                high = line.start;
            }
        }
        Ok(low)
    }

    /// The entry that contains the byte at this position.
    fn line_at(&self, place: usize) -> io::Result<Line> {
        let mut step = self.step();
        loop {
            let from = place.saturating_sub(step / 2).max(self.start);
            let bytes = self.bytes(from, self.length.min(place.saturating_add(step)))?;
            let is_last = from + bytes.len() == self.length;
            let is_first = from == self.start;
            if let Some(start) = entry_start(&bytes, place - from, is_first)
                && let Some(end) = entry_end(&bytes, start, is_last)
            {
                let line = &bytes[start..line_end(&bytes, start)];
                let name = self.entry(line).ok().map(|(_, name)| name.to_owned());
                return Ok(Line { start: from + start, end: from + end, name });
            }
            step = step.saturating_mul(2);
        }
    }

    /// `<id> SP <name> LF`
    fn entry<'a>(&self, line: &'a [u8]) -> Result<(&'a [u8], &'a [u8])> {
        match line.split_at_checked(self.digits) {
            Some((id, [b' ', name @ ..])) => Ok((id, name.trim_ascii_end())),
            _ => bail!("unknown packed-refs format: {:?}", lossy(line)),
        }
    }
}

/// The start of the entry that contains the byte at `at`; `None` if it starts before these bytes.
fn entry_start(bytes: &[u8], at: usize, is_first: bool) -> Option<usize> {
    let line_start = |at: usize| {
        let before = memchr::memrchr(b'\n', &bytes[..at]).map(|before| before + 1);
        before.or(is_first.then_some(0))
    };
    let start = line_start(at)?;
    if bytes.get(start) == Some(&b'^') && start > 0 { line_start(start - 1) } else { Some(start) }
}

/// The end of the entry that starts here, including the next line if it contains the peeled object;
/// `None` if the end is beyond these bytes, or there is no entry.
fn entry_end(bytes: &[u8], start: usize, is_last: bool) -> Option<usize> {
    let end = line_end(bytes, start);
    let (end, ended) = match bytes.get(end) {
        Some(b'^') => {
            let end = line_end(bytes, end);
            (end, bytes[end - 1] == b'\n')
        }
        next => (end, next.is_some()),
    };
    (start < end && (ended || is_last)).then_some(end)
}

pub(super) fn stamp(path: &Path) -> Result<Stamp> {
    let Some(meta) = present(path.metadata())? else { return Ok(None) };
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&meta);
    #[cfg(not(unix))]
    let number = 0;
    Ok(Some((meta.modified()?, meta.len(), number)))
}

/// The position after the line break that ends the line, or the end of the bytes.
fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> String {
        format!("{number:040x}")
    }

    fn packed(path: &Path) -> Packed {
        Packed::read(path, Format::default()).unwrap()
    }

    /// Reads the value of one name from the file, without a cache.
    fn said(path: &Path, name: &str) -> Option<String> {
        let packed = packed(path);
        let found = packed.value(name).unwrap();
        assert!(packed.whole.get().is_none() || cfg!(not(unix)), "read whole for one name");
        let Value::Object(object) = found? else { panic!("{name} is no object") };
        Some(object.to_string())
    }

    #[test]
    fn each_name_is_found_in_a_part_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("packed-refs");
        let mut random = fastrand::Rng::with_seed(7);
        for entries in [0, 1, 2, 3, 50, 1_000] {
            let mut names: Vec<String> = (0..entries)
                .map(|_| {
                    let long = if random.u8(..50) == 0 { random.usize(..6_000) } else { 20 };
                    let letters: String = (0..1 + random.usize(..=long))
                        .map(|_| random.choice(['a', 'b', 'c', '-', '.']).unwrap())
                        .collect();
                    format!("refs/{}/{letters}", random.choice(["heads", "tags"]).unwrap())
                })
                .collect();
            names.sort();
            names.dedup();
            let mut text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
            let mut told = Vec::new();
            for (number, name) in names.iter().enumerate() {
                let (object, tagged) = (id(2 * number + 1), id(2 * number + 2));
                text += &format!("{object} {name}\n");
                let is_tag = random.bool();
                text += &if is_tag { format!("^{tagged}\n") } else { String::new() };
                told.push(object);
            }
            std::fs::write(&path, &text).unwrap();
            for (name, told) in names.iter().zip(&told) {
                assert_eq!(said(&path, name).as_ref(), Some(told), "{name}");
                let other = format!("{name}~");
                assert_eq!(said(&path, &other), None, "{other}");
            }
            for name in ["refs/", "refs/a", "refs/heads/", "refs/tags/~", "refs/z"] {
                assert_eq!(said(&path, name), None, "{name}");
            }
            for beginning in ["refs/", "refs/heads/", "refs/heads/a", "refs/tags/", "refs/x/"] {
                let pattern = format!("{beginning}*");
                for questions in [0, QUESTIONS] {
                    let packed = packed(&path);
                    packed.asked.store(questions, Ordering::Relaxed);
                    let mut seen = Vec::new();
                    packed.matching(&pattern, |name, _| seen.push(name.to_owned())).unwrap();
                    let matching = names.iter().filter(|name| matches(&pattern, name));
                    assert_eq!(seen, matching.cloned().collect::<Vec<_>>(), "{pattern}");
                }
            }
        }
    }
}
