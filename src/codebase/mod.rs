//! What a code base holds, in the few thousand bytes a model can be shown of it: its tree in
//! short, its manifests, and a map of its symbols, the most used first.
//!
//! Knows nobody: it is told which files there are and how their bytes are read. What it answers
//! depends on nothing else, so that the same commit is described in the same bytes, on every
//! machine; only what is read with a time limit ([`parse`]) could differ, and such a file then
//! counts as one without symbols.
//!
//! Everything in here may come from a hostile repository: sizes, counts, depth and time are
//! bounded, and no control character passes.

mod cache;
mod grammar;
mod language;
mod manifest;
mod map;
mod parse;
mod rank;
mod tree;
mod worth;

pub use language::{languages, languages_named};
pub use manifest::{manifests, readme};
pub use map::{Map, symbols};
pub use tree::tree;

/// A tracked regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// From the top, with `/`.
    pub path: String,
    /// What names its content.
    pub blob: String,
    /// Bytes.
    pub size: u64,
}

/// Reads these blobs, in their order; `None` for one that is not there.
pub type Read<'a> = &'a dyn Fn(&[&str]) -> anyhow::Result<Vec<Option<Vec<u8>>>>;

/// A name as it may stand in a prompt: one line, nothing that moves a cursor or hides text.
fn plain(name: &str) -> String {
    if name.chars().any(is_odd) { name.escape_debug().to_string() } else { name.to_owned() }
}

/// Control characters, line separators, and what turns the direction of writing around.
fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod testing {
    use super::File;

    /// Files whose content is its own name.
    pub(super) fn files(files: &[(&str, &str)]) -> Vec<File> {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            blob: (*text).to_owned(),
            size: text.len() as u64,
        };
        files.iter().map(file).collect()
    }

    /// Reads such files.
    pub(super) fn read(blobs: &[&str]) -> anyhow::Result<Vec<Option<Vec<u8>>>> {
        Ok(blobs.iter().map(|blob| Some(blob.as_bytes().to_vec())).collect())
    }
}
