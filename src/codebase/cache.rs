//! Caches the symbols of files by the id of their content: only new content is parsed. A look (one
//! computation of the map) parses only a part of a very large repository; the next looks continue
//! where the last one stopped.
//!
//! The cache is a file of JSON lines, most recently used first, always replaced as a whole. It only
//! saves time: if it is missing, broken or from another release, everything is parsed again; if two
//! processes write it, the last one wins. Lines are read one at a time, and read again when a look
//! needs them again.
//!
//! Without a file, the symbols of a few files stay in memory for this process: a session looks at
//! the same files before every task.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::parse::Symbols;
use crate::languages::syntaxes;

/// Increased when [`Symbols`] or the way they are found changes.
const FORMAT: u32 = 2;
/// Maximum bytes of the file, when read and when written.
const SIZE_MAX: u64 = 32 * 1024 * 1024;
/// Maximum bytes kept in memory if there is no file.
const MEMORY_MAX: usize = 4 * 1024 * 1024;
/// Maximum bytes of a line: enough for the maximum number of symbols of a file.
const LINE_MAX: u64 = 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct CacheLine {
    format: u32,
    blob: String,
    language: String,
    #[serde(flatten)]
    symbols: Symbols,
}

/// Lines by blob and language.
type CacheLines = HashMap<(String, &'static str), Vec<u8>>;

/// Symbols found without a file to store them in.
static IN_MEMORY: LazyLock<Mutex<CacheLines>> = LazyLock::new(Mutex::default);

/// Location of a line.
enum LineLocation {
    /// In the existing file.
    Old { at: u64, length: u64 },
    /// In the file with this look's additions.
    New { at: u64, length: u64 },
    /// In memory, because the line could not be written.
    Memory(Vec<u8>),
}

/// The cache file as one look reads and extends it.
pub(super) struct SymbolCache<'a> {
    path: Option<&'a Path>,
    old: Option<File>,
    /// The lines added by this look. An unnamed temporary file, so that nothing remains of it.
    new: Option<File>,
    /// Bytes in `new`.
    new_length: u64,
    places: HashMap<(String, &'static str), LineLocation>,
}

impl<'a> SymbolCache<'a> {
    /// Opens the cache and visits the symbols it has for these contents (by blob and language). An
    /// unreadable cache counts as empty.
    pub(super) fn open(
        path: Option<&'a Path>,
        keys: &HashSet<(&str, &'static str)>,
        mut visit: impl FnMut(&str, &'static str, Symbols),
    ) -> Self {
        let mut places = HashMap::new();
        let fits = |path: &&Path| {
            std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= SIZE_MAX)
        };
        let old = path.filter(fits).and_then(|path| File::open(path).ok());
        if let Some(file) = &old {
            each_line(file, |at, bytes| {
                let Some((blob, language)) = names_of(bytes).and_then(|key| keys.get(&key)) else {
                    return;
                };
                let line = serde_json::from_slice::<CacheLine>(bytes).ok();
                let Some(line) = line.filter(|line| line.format == FORMAT) else { return };
                if let Entry::Vacant(place) = places.entry((line.blob, *language)) {
                    visit(blob, language, line.symbols);
                    place.insert(LineLocation::Old { at, length: bytes.len() as u64 });
                }
            });
        }
        if path.is_none() {
            let lines = IN_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
            for (blob, language) in keys {
                let key = ((*blob).to_owned(), *language);
                let Some(bytes) = lines.get(&key) else { continue };
                if let Ok(line) = serde_json::from_slice::<CacheLine>(bytes) {
                    visit(blob, language, line.symbols);
                    places.insert(key, LineLocation::Memory(bytes.clone()));
                }
            }
        }
        Self { path, old, new: None, new_length: 0, places }
    }

    /// Adds the symbols of a blob.
    pub(super) fn add(&mut self, blob: &str, language: &'static str, symbols: Symbols) {
        let line = CacheLine {
            format: FORMAT,
            blob: blob.to_owned(),
            language: language.to_owned(),
            symbols,
        };
        let bytes = serde_json::to_vec(&line).unwrap_or_default();
        if self.new.is_none()
            && self.places.values().all(|place| place.old_at().is_some())
            && let Some(dir) = self.path.and_then(Path::parent)
        {
            let tempfile = std::fs::create_dir_all(dir).and_then(|()| tempfile::tempfile_in(dir));
            self.new = tempfile.inspect_err(|error| warn_not_saved(error)).ok();
        }
        let at = self.new_length;
        let is_saved = self.new.as_mut().is_some_and(|file| {
            let whole = file.seek(SeekFrom::Start(at));
            whole.and_then(|_| file.write_all(&bytes)).and_then(|()| file.write_all(b"\n")).is_ok()
        });
        let length = bytes.len() as u64;
        let place =
            if is_saved { LineLocation::New { at, length } } else { LineLocation::Memory(bytes) };
        self.new_length += if is_saved { length + 1 } else { 0 };
        self.places.insert((line.blob, language), place);
    }

    /// The symbols of a blob, from this look or an earlier one; empty if they are gone.
    pub(super) fn get(&self, blob: &str, language: &'static str) -> Symbols {
        let part = |file: &Option<File>, at: u64, length: u64| {
            let mut file = file.as_ref()?;
            file.seek(SeekFrom::Start(at)).ok()?;
            let mut bytes = Vec::new();
            file.take(length).read_to_end(&mut bytes).ok()?;
            serde_json::from_slice::<CacheLine>(&bytes).ok()
        };
        let line = match self.places.get(&(blob.to_owned(), language)) {
            Some(LineLocation::Old { at, length }) => part(&self.old, *at, *length),
            Some(LineLocation::New { at, length }) => part(&self.new, *at, *length),
            Some(LineLocation::Memory(bytes)) => serde_json::from_slice::<CacheLine>(bytes).ok(),
            None => None,
        };
        line.map(|line| line.symbols).unwrap_or_default()
    }

    /// Replaces the file with the lines that this look added, those it used and, if there is room,
    /// the others.
    pub(super) fn save(self) {
        if self.path.is_none() {
            self.keep_in_memory();
            return;
        }
        if self.new_length == 0 {
            return;
        }
        // A failure only slows down the next look.
        if let Err(error) = self.replace() {
            warn_not_saved(&error);
        }
    }

    fn keep_in_memory(self) {
        let in_memory = self.places.into_iter().filter_map(|(key, place)| match place {
            LineLocation::Memory(bytes) => Some((key, bytes)),
            LineLocation::Old { .. } | LineLocation::New { .. } => None,
        });
        let mut lines = IN_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
        lines.extend(in_memory);
        if lines.values().map(Vec::len).sum::<usize>() > MEMORY_MAX {
            lines.clear();
        }
    }

    fn replace(mut self) -> anyhow::Result<()> {
        let path = self.path.context("no cache path")?;
        let dir = path.parent().context("the cache path has no parent directory")?;
        let mut file = tempfile::NamedTempFile::new_in(dir)
            .with_context(|| format!("writing in {}", dir.display()))?;
        let mut room = SIZE_MAX.saturating_sub(self.new_length);
        if let Some(new) = &mut self.new {
            new.rewind()?;
            std::io::copy(&mut new.take(self.new_length.min(SIZE_MAX)), &mut file)?;
        }
        let used: HashSet<u64> = self.places.values().filter_map(LineLocation::old_at).collect();
        for of_this_look in [true, false] {
            let Some(old) = &self.old else { break };
            let mut result = Ok(());
            let mut out = std::io::BufWriter::new(file.as_file_mut());
            each_line(old, |at, bytes| {
                let length = bytes.len() as u64 + 1;
                if used.contains(&at) == of_this_look && length <= room && result.is_ok() {
                    room -= length;
                    result = out.write_all(bytes).and_then(|()| out.write_all(b"\n"));
                }
            });
            result
                .and_then(|()| out.flush())
                .with_context(|| format!("writing {}", path.display()))?;
        }
        file.persist(path).with_context(|| format!("writing {}", path.display()))?;
        Ok(())
    }
}

impl LineLocation {
    fn old_at(&self) -> Option<u64> {
        if let Self::Old { at, .. } = self { Some(*at) } else { None }
    }
}

fn warn_not_saved(error: &dyn std::fmt::Display) {
    tracing::warn!("cannot save the symbol cache: {error:#}");
}

/// Visits each complete line that this release wrote, with its position and its bytes without the
/// line end.
fn each_line(mut file: &File, mut visit: impl FnMut(u64, &[u8])) {
    if file.rewind().is_err() {
        return;
    }
    let mut reader = BufReader::new(file);
    let (mut at, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let length = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line).unwrap_or(0);
        // git-cowork does not write lines that are too long or incomplete: ignore the
        // first such line and everything after it.
        let Some(whole) = line.strip_suffix(b"\n") else { return };
        if names_of(whole).is_some() {
            visit(at, whole);
        }
        at += length as u64;
    }
}

/// Blob and language of a line, without parsing the rest.
fn names_of(line: &[u8]) -> Option<(&str, &'static str)> {
    let begin = format!("{{\"format\":{FORMAT},\"blob\":\"");
    let rest = line.strip_prefix(begin.as_bytes())?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    let (blob, rest) = (std::str::from_utf8(&rest[..end]).ok()?, &rest[end + 1..]);
    let rest = rest.strip_prefix(b",\"language\":\"")?;
    let language = rest.split(|byte| *byte == b'"').next()?;
    let syntax = syntaxes().find(|syntax| syntax.name.as_bytes() == language)?;
    Some((blob, syntax.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(name: &str) -> Symbols {
        let mut symbols = Symbols::default();
        symbols.uses.insert(name.to_owned());
        symbols
    }

    /// Opens the cache, and returns which of these blobs it contains.
    fn open<'a>(path: &'a Path, blobs: &[&str]) -> (SymbolCache<'a>, Vec<String>) {
        let wanted = blobs.iter().flat_map(|blob| [(*blob, "rust"), (*blob, "c")]).collect();
        let mut found = Vec::new();
        let cache = SymbolCache::open(Some(path), &wanted, |blob, language, symbols| {
            found.push(format!("{blob} {language} {:?}", symbols.uses));
        });
        found.sort();
        (cache, found)
    }

    #[test]
    fn cached_symbols_are_read_back_and_invalid_lines_are_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/symbols.jsonl");
        let (mut cache, found) = open(&path, &["b1"]);
        assert!(found.is_empty());
        cache.add("b1", "rust", symbols("one"));
        cache.add("b2", "c", symbols("two"));
        assert_eq!(cache.get("b2", "c"), symbols("two"));
        assert_eq!(cache.get("b2", "rust"), Symbols::default());
        cache.save();
        let mut text = std::fs::read_to_string(&path).unwrap();
        text = text.replace("b2", "b3") + &text.replace("\"format\":2", "\"format\":9");
        text.push_str("nonsense\n{\"format\":2,\"blob\":\"b1\",\"language\":\"rust\",\n");
        text.push_str("{\"format\":2,\"blob\":\"half");
        std::fs::write(&path, text).unwrap();
        let (cache, found) = open(&path, &["b1", "b2", "b3"]);
        assert_eq!(found, ["b1 rust {\"one\"}", "b3 c {\"two\"}"]);
        assert_eq!(cache.get("b3", "c"), symbols("two"));
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(open(&path, &["b1"]).1.is_empty());
        std::fs::write(&path, vec![b'x'; 3_000_000]).unwrap();
        assert!(open(&path, &["b1"]).1.is_empty());
    }

    #[test]
    fn later_looks_add_lines_and_unused_lines_are_dropped_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("symbols.jsonl");
        for blob in ["old", "older"] {
            let (mut cache, _) = open(&path, &[]);
            cache.add(blob, "c", symbols(blob));
            cache.save();
        }
        let (mut cache, found) = open(&path, &["old"]);
        assert_eq!(found.len(), 1);
        cache.add("new", "c", symbols("new"));
        // Another process has replaced the file meanwhile.
        let other = dir.path().join("other");
        std::fs::write(&other, "").unwrap();
        std::fs::rename(other, &path).unwrap();
        cache.save();
        let text = std::fs::read_to_string(&path).unwrap();
        let blobs: Vec<_> = text.lines().filter_map(|line| names_of(line.as_bytes())).collect();
        assert_eq!(blobs, [("new", "c"), ("old", "c"), ("older", "c")]);
        let (cache, found) = open(&path, &["old", "new", "older"]);
        assert_eq!(found.len(), 3);
        cache.save();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "nothing new, nothing written");
    }

    #[test]
    fn symbols_that_cannot_be_saved_are_still_known() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "x").unwrap();
        for path in [None, Some(file.join("in/symbols.jsonl"))] {
            let mut cache = SymbolCache::open(path.as_deref(), &HashSet::new(), |_, _, _| ());
            cache.add("b", "go", symbols("it"));
            assert_eq!(cache.get("b", "go"), symbols("it"));
            cache.save();
        }
    }
}
