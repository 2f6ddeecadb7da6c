//! Secrets: the user's own keys, which must never reach a transcript, a log, a command or a commit,
//! and text that looks like a well-known kind of key, which must reach neither a commit nor a
//! model. Depends on no other module but for digits.

mod encoded;
mod patterns;
mod setting;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::rc::Rc;

pub use setting::{has_secret_word, of_git_config, of_setting};

/// Variables that every program may see: user, paths and language.
pub const PLAIN_VARIABLES: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "SYSTEMROOT",
];

/// Replacement for one of the user's keys.
pub const WITHHELD: &str = "[withheld key]";

/// Shorter strings would match ordinary text.
const SHORTEST: usize = 8;

/// Placeholders that users configure if a local server requires some key.
const PLACEHOLDERS: [&str; 8] = [
    "sk-no-key-required",
    "no-key-required",
    "lm-studio",
    "not-needed",
    "not-required",
    "placeholder",
    "token-abc123",
    "your-api-key",
];

/// How reports describe one of the user's keys.
const OWN: &str = "a key from your configuration";

/// The range of a secret, and its kind.
type Hit = (Range<usize>, &'static str);

/// The user's own keys.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Sorted by length, longest first, so that a key that starts with another one is matched as a
    /// whole.
    keys: Rc<[String]>,
    /// The names of the file contents that were searched and contain no secret.
    clean: Rc<RefCell<HashSet<String>>>,
}

// Not derived: keys must not end up in a log.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.keys.len())
    }
}

/// A secret that must not be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSecret {
    /// Byte offset.
    pub at: u64,
    /// The line in which it begins, counted from 1.
    pub line: usize,
    /// Its kind, with an article; never the value.
    pub kind: &'static str,
    /// The value, for comparison; never shown.
    value: Vec<u8>,
}

impl FoundSecret {
    /// True if `bytes` contain the same secret.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        contains(bytes, &self.value)
    }
}

impl Secrets {
    /// Creates the set of these keys, without those that are not secret: empty, short, or a
    /// well-known placeholder.
    pub fn new(keys: impl IntoIterator<Item = String>) -> Self {
        let mut keys: Vec<String> = keys.into_iter().filter(|key| is_secret(key)).collect();
        // A dump of a key is no other key; base64 is decoded when it is met.
        let dumps: Vec<String> = keys.iter().flat_map(|key| encoded::dumps(key)).collect();
        keys.extend(dumps);
        keys.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        keys.dedup();
        Self { keys: keys.into(), clean: Rc::default() }
    }

    /// Notes that [`Self::find`] found nothing in some content. `name` identifies this content
    /// wherever it occurs: a hash of it, for example.
    pub fn note_clean(&self, name: &str) {
        self.clean.borrow_mut().insert(name.to_owned());
    }

    /// True if the content with this name was noted as clean.
    pub fn is_clean(&self, name: &str) -> bool {
        self.clean.borrow().contains(name)
    }

    /// Returns a length in bytes that no secret exceeds, except for some multi-line ones.
    pub fn longest(&self) -> usize {
        self.keys.first().map_or(0, String::len).max(patterns::USUAL)
    }

    /// True if a text contains one of the keys.
    pub fn are_in(&self, text: &str) -> bool {
        self.keys.iter().any(|key| text.contains(key.as_str()))
    }

    /// Returns the text without the user's keys.
    pub fn withheld<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for key in self.keys.iter() {
            if text.contains(key.as_str()) {
                text = Cow::Owned(text.replace(key.as_str(), WITHHELD));
            }
        }
        text
    }

    /// Like [`Self::withheld`], for JSON, in which a key may be written with escapes.
    pub fn withheld_in_json(&self, json: &str) -> String {
        let plain = self.withheld(json);
        // Invalid JSON is treated as text.
        if let Ok(mut value) = serde_json::from_str::<serde_json::Value>(&plain)
            && self.withhold(&mut value) > 0
        {
            return value.to_string();
        }
        plain.into_owned()
    }

    /// Removes the keys from a JSON value; returns the number of changed strings.
    fn withhold(&self, value: &mut serde_json::Value) -> usize {
        match value {
            serde_json::Value::String(text) if self.are_in(text) => {
                *text = self.withheld(text).into_owned();
                1
            }
            serde_json::Value::Array(items) => {
                items.iter_mut().map(|item| self.withhold(item)).sum()
            }
            serde_json::Value::Object(fields) => {
                fields.values_mut().map(|field| self.withhold(field)).sum()
            }
            _ => 0,
        }
    }

    /// Returns a text for a commit message or a record: without the user's keys and without text
    /// that looks like a key.
    pub fn blanked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replaced(self.withheld(text), "[secret]")
    }

    /// Returns a text for a model: without the user's keys and without secrets that must not be
    /// committed.
    pub fn for_models<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replaced(self.withheld(text), WITHHELD)
    }

    fn replaced<'a>(&self, text: Cow<'a, str>, with: &str) -> Cow<'a, str> {
        let hits = self.hits(text.as_bytes());
        if hits.is_empty() {
            return text;
        }
        let (mut out, mut end) = (String::with_capacity(text.len()), 0);
        for (range, _) in hits.into_iter().filter(|(range, _)| !range.is_empty()) {
            if range.start >= end {
                out.push_str(text.get(end..range.start).unwrap_or_default());
                out.push_str(with);
            }
            end = end.max(range.end);
        }
        out.push_str(text.get(end..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Returns the secrets in a stream of bytes, at most `most` of them. Memory use does not depend
    /// on the stream's length.
    ///
    /// # Errors
    /// If the stream cannot be read.
    pub fn find(&self, stream: impl Read, most: usize) -> io::Result<Vec<FoundSecret>> {
        const PIECE: usize = 4 * 1024 * 1024;
        self.find_in_pieces(stream, most, PIECE)
    }

    fn find_in_pieces(
        &self,
        mut stream: impl Read,
        most: usize,
        piece: usize,
    ) -> io::Result<Vec<FoundSecret>> {
        // The overlap with the next piece: no secret is longer.
        let overlap = patterns::LONGEST.max(self.longest());
        let (mut secrets, mut buffer) = (Vec::<FoundSecret>::new(), Vec::new());
        let (mut before, mut lines) = (0_u64, 1_usize);
        loop {
            let had = buffer.len();
            stream.by_ref().take(piece as u64).read_to_end(&mut buffer)?;
            let last = buffer.len() - had < piece;
            for (range, kind) in self.hits(&buffer) {
                let at = before + range.start as u64;
                let is_listed = secrets.iter().any(|other| other.at == at && other.kind == kind);
                // A match that touches the end may be longer: the next piece contains all of it.
                let whole = last || range.end < buffer.len();
                if whole && !is_listed && secrets.len() < most {
                    let line = lines + newlines(&buffer[..range.start]);
                    secrets.push(FoundSecret { at, line, kind, value: buffer[range].to_vec() });
                }
            }
            if last || secrets.len() >= most {
                return Ok(secrets);
            }
            let excess = buffer.len().saturating_sub(overlap);
            lines += newlines(&buffer[..excess]);
            before += excess as u64;
            buffer.drain(..excess);
        }
    }

    fn hits(&self, bytes: &[u8]) -> Vec<Hit> {
        let mut hits = self.plain_hits(bytes);
        let first = |text: &[u8]| self.plain_hits(text).first().map(|(_, kind)| *kind);
        // A match both as plain text and as base64 is reported once.
        let apart = |hits: &[Hit], range: &Range<usize>| {
            !hits.iter().any(|(other, _)| other.start < range.end && range.start < other.end)
        };
        for (range, kind) in encoded::in_base64(bytes, first) {
            if apart(&hits, &range) {
                hits.push((range, kind));
            }
        }
        if let Some(narrow) = encoded::narrowed(bytes) {
            let wide = |(range, kind)| (encoded::widened(bytes, &range), kind);
            hits.extend(self.plain_hits(&narrow).into_iter().map(wide));
        }
        hits.sort_by_key(|(range, _)| range.start);
        hits
    }

    fn plain_hits(&self, bytes: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        for key in self.keys.iter() {
            let finder = memchr::memmem::find_iter(bytes, key.as_bytes());
            hits.extend(finder.map(|at| (at..at + key.len(), OWN)));
        }
        // A user's key is often also a well-known kind of key; it is reported once.
        let own_hits = hits.clone();
        let others = patterns::find(bytes).into_iter().filter(|hit| {
            !own_hits
                .iter()
                .any(|(other, _)| other.start < hit.range.end && hit.range.start < other.end)
        });
        hits.extend(others.map(|hit| (hit.range, hit.kind)));
        hits.sort_by_key(|(range, _)| range.start);
        hits
    }

    /// Returns a filter for text that arrives in pieces.
    pub fn stream(&self) -> Stream<'_> {
        Stream { secrets: self, buffer: String::new() }
    }

    /// Returns a writer that removes keys; each write must be a whole line.
    pub fn guard<W>(&self, inner: W) -> Guarded<W> {
        Guarded { keys: self.keys.to_vec(), inner }
    }
}

/// Removes the user's keys from text that arrives in pieces: a possible beginning of a key is held
/// back.
#[derive(Debug)]
pub struct Stream<'a> {
    secrets: &'a Secrets,
    buffer: String,
}

impl Stream<'_> {
    /// Adds a piece; returns the text that may be shown.
    pub fn push(&mut self, piece: &str) -> String {
        self.buffer.push_str(piece);
        let mut clean = self.secrets.withheld(&self.buffer).into_owned();
        let hold = self.secrets.keys.iter().map(|key| begun(&clean, key)).max().unwrap_or(0);
        self.buffer = clean.split_off(clean.len() - hold);
        clean
    }

    /// Returns the text still held back, at the end of the stream.
    pub fn end(&mut self) -> String {
        std::mem::take(&mut self.buffer)
    }
}

/// Returns how many bytes at the end of `text` are the beginning of `key`.
fn begun(text: &str, key: &str) -> usize {
    let starts = text.char_indices().map(|(at, _)| at).rev();
    let near = starts.take_while(|at| text.len() - at < key.len());
    near.filter(|at| key.starts_with(&text[*at..])).map(|at| text.len() - at).max().unwrap_or(0)
}

/// A writer that removes keys; see [`Secrets::guard`].
pub struct Guarded<W> {
    /// A copy, so that it can be used in other threads.
    keys: Vec<String>,
    inner: W,
}

impl<W> Guarded<W> {
    /// Returns the same guard for another writer.
    pub fn over<T>(&self, inner: T) -> Guarded<T> {
        Guarded { keys: self.keys.clone(), inner }
    }
}

impl<W: Write> Write for Guarded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.keys.iter().any(|key| contains(bytes, key.as_bytes())) {
            return self.inner.write(bytes);
        }
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for key in &self.keys {
            text = text.replace(key.as_str(), WITHHELD);
        }
        self.inner.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn is_secret(key: &str) -> bool {
    let mut different: Vec<char> = key.chars().collect();
    different.sort_unstable();
    different.dedup();
    key.len() >= SHORTEST && different.len() >= 4 && !PLACEHOLDERS.contains(&key)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(bytes, part).is_some()
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-test-4f9a8b7c6d5e";

    fn secrets() -> Secrets {
        Secrets::new([KEY.to_owned(), "ollama".to_owned(), "lm-studio".to_owned()])
    }

    #[test]
    fn only_keys_are_removed_from_a_text() {
        let secrets = secrets();
        assert_eq!(secrets.withheld("lm-studio, ollama"), "lm-studio, ollama");
        assert_eq!(secrets.withheld(&format!("a{KEY}b")), "a[withheld key]b");
        assert_eq!(format!("{secrets:?}"), "Secrets(5)");
        assert!(!Secrets::new(["--------".to_owned()]).are_in("--------"));
        let dump = "736b2d746573742d34663961386237633664356521";
        assert_eq!(secrets.withheld(&format!("x {dump}")), "x [withheld key]21");
        assert_eq!(secrets.withheld(&dump.to_uppercase()), "[withheld key]21");
        let both = Secrets::new(["abcd1234".to_owned(), "abcd1234efgh".to_owned()]);
        assert_eq!(both.withheld("abcd1234efgh abcd1234"), "[withheld key] [withheld key]");
    }

    #[test]
    fn escapes_do_not_hide_a_key_in_json() {
        let json = format!(r#"{{"a":["\u0073{}"],"b":1}}"#, &KEY[1..]);
        assert_eq!(secrets().withheld_in_json(&json), r#"{"a":["[withheld key]"],"b":1}"#);
        assert_eq!(secrets().withheld_in_json("{\"x\": 1"), "{\"x\": 1");
        assert_eq!(secrets().withheld_in_json("{ \"x\": 1 }"), "{ \"x\": 1 }");
    }

    #[test]
    fn only_possible_beginnings_of_keys_are_held_back() {
        let secrets = secrets();
        let text = format!("sk-te no, {KEY} yes, sk-");
        for (at, _) in text.char_indices() {
            let mut stream = secrets.stream();
            let all = stream.push(&text[..at]) + &stream.push(&text[at..]) + &stream.end();
            assert_eq!(all, "sk-te no, [withheld key] yes, sk-", "cut at {at}");
        }
        assert_eq!(secrets.stream().push("shown right now"), "shown right now");
    }

    #[test]
    fn secrets_across_pieces_are_found() {
        let secrets = secrets();
        for before in [0, 1, 4_000, 8_190, 8_200, 12_280, 20_000] {
            let token = "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5";
            let text = format!("{}\n{token} {KEY}\n{}", "x".repeat(before), "y\n".repeat(9_000));
            let found = secrets.find_in_pieces(text.as_bytes(), 10, 4_096).unwrap();
            let kinds: Vec<_> = found.iter().map(|found| (found.line, found.kind)).collect();
            assert_eq!(kinds, [(2, "a GitHub token"), (2, OWN)], "{before}");
            assert_eq!(found[0].at, before as u64 + 1);
            assert!(found[1].is_in(text.as_bytes()) && !found[1].is_in(b"other"));
        }
        let many = format!("{KEY}\n").repeat(50);
        assert_eq!(secrets.find(many.as_bytes(), 7).unwrap().len(), 7);
    }

    #[test]
    fn secrets_are_removed_from_messages() {
        let text = format!("uses {KEY} and glpat-Zk3xW9qLm2vB7nT5rY8s, well");
        assert_eq!(secrets().blanked(&text), "uses [withheld key] and [secret], well");
        assert!(matches!(secrets().blanked("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn a_guarded_writer_removes_keys() {
        let mut out = Vec::new();
        let mut guarded = secrets().guard(&mut out);
        writeln!(guarded, "plain").unwrap();
        guarded.write_all(format!("a {KEY}\n").as_bytes()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "plain\na [withheld key]\n");
    }
}
