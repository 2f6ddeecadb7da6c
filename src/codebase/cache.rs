//! What files were found to hold, kept by the name of their content: only what has changed is taken
//! apart again.
//!
//! One file of JSON lines, replaced as a whole. It is a help and nothing else: where it is missing,
//! broken, of another release or too large, everything is found anew.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::parse::Symbols;

/// Raised when [`Symbols`] or how they are found changes.
const FORMAT: u32 = 1;
/// Bytes of the largest file that is read, and written.
const SIZE_MAX: usize = 32 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Line {
    format: u32,
    blob: String,
    language: String,
    #[serde(flatten)]
    symbols: Symbols,
}

/// Symbols by blob and language: one content may have two names.
#[derive(Default)]
pub(super) struct Cache {
    known: HashMap<(String, &'static str), Symbols>,
}

impl Cache {
    /// Reads it; what cannot be read is not there.
    pub(super) fn load(path: &Path, languages: &[&'static str]) -> Self {
        let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
        if size > SIZE_MAX as u64 {
            return Self::default();
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let known = lines.filter(|line| line.format == FORMAT).filter_map(|line| {
            let language = languages.iter().find(|name| **name == line.language)?;
            Some(((line.blob, *language), line.symbols))
        });
        Self { known: known.collect() }
    }

    /// What a content was found to hold.
    pub(super) fn take(&mut self, blob: &str, language: &'static str) -> Option<Symbols> {
        self.known.remove(&(blob.to_owned(), language))
    }

    /// Replaces it by exactly these.
    pub(super) fn save<'a>(
        path: &Path,
        entries: impl Iterator<Item = (&'a str, &'static str, &'a Symbols)>,
    ) -> anyhow::Result<()> {
        let dir = path.parent().context("a file without a folder")?;
        std::fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
        let mut text = Vec::new();
        for (blob, language, symbols) in entries {
            let line = Line {
                format: FORMAT,
                blob: blob.to_owned(),
                language: language.to_owned(),
                symbols: symbols.clone(),
            };
            let length = text.len();
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
            if text.len() > SIZE_MAX {
                text.truncate(length);
                break;
            }
        }
        let mut file = tempfile::NamedTempFile::new_in(dir)
            .with_context(|| format!("writing in {}", dir.display()))?;
        file.write_all(&text).with_context(|| format!("writing {}", path.display()))?;
        file.persist(path).with_context(|| format!("writing {}", path.display()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_comes_back_and_nonsense_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/symbols.jsonl");
        let mut symbols = Symbols::default();
        symbols.uses.insert("name".to_owned());
        Cache::save(&path, [("b1", "rust", &symbols), ("b2", "c", &symbols)].into_iter()).unwrap();
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("nonsense\n{\"format\":1,\"blob\":\"half");
        text = text.replace("b2", "b3") + &text.replace("\"format\":1", "\"format\":9");
        std::fs::write(&path, text).unwrap();
        let mut cache = Cache::load(&path, &["rust", "c"]);
        assert_eq!(cache.take("b1", "rust"), Some(symbols.clone()));
        assert_eq!(cache.take("b1", "c"), None);
        assert_eq!(cache.take("b2", "c"), None);
        assert_eq!(cache.take("b3", "c"), Some(symbols));
        assert!(Cache::load(&dir.path().join("missing"), &[]).known.is_empty());
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(Cache::load(&path, &["rust"]).known.is_empty());
    }
}
