//! Describes a code base in the few thousand bytes that a model can be shown: a short tree, the
//! manifests, and a map of the symbols, the most used first.
//!
//! This module knows only languages, not repositories: its caller lists the files one by one and
//! reads their bytes.
//! The result depends on nothing else, so the same commit gives the same bytes on every
//! machine, with two exceptions: parsing has a time limit ([`parse`]), after which a file counts as
//! one without symbols; and in a repository too large for one look, the result depends on how much
//! earlier looks have parsed ([`symbols`]).
//!
//! The repository may be hostile: sizes, counts, depth and time are bounded, and control characters
//! are removed.

mod cache;
mod grammar;
mod imports;
mod main_languages;
mod manifest;
mod map;
mod named;
mod own_code;
mod parse;
mod rank;
mod tree;
mod wanted;

use std::ops::ControlFlow;

pub use main_languages::main_languages;
pub use manifest::Manifests;
pub use map::{Map, RepositoryMap, symbols};
pub use named::FileNames;
pub use tree::{Tree, tree};

/// Tracked regular files: possibly too many to hold all in memory.
pub trait Source {
    /// Visits the path (from the top, with `/`) and the content's id of each file, always in the
    /// same order, until `visit` breaks. [`Self::each_content`] takes these ids.
    ///
    /// # Errors
    /// They cannot be listed.
    fn each_file(&self, visit: &mut dyn FnMut(&str, &str) -> ControlFlow<()>)
    -> anyhow::Result<()>;

    /// Visits the bytes of these contents, in order, until `visit` breaks; `None` for one that is
    /// missing or has more than `most` bytes.
    ///
    /// # Errors
    /// They cannot be read, or `visit` fails.
    fn each_content(
        &self,
        contents: &[&str],
        most: u64,
        visit: &mut dyn FnMut(usize, Option<Vec<u8>>) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()>;
}

/// True if a file is code or text according to its name: not a key, picture or data.
pub fn is_source_or_text(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_text =
        crate::languages::syntax_of(path).is_some() || ["md", "rst", "txt"].contains(&ending);
    is_text && !path.chars().any(is_odd)
}

/// A name for a prompt: one line, without characters that move the cursor or hide text.
fn plain(name: &str) -> String {
    if name.chars().any(is_odd) { name.escape_debug().to_string() } else { name.to_owned() }
}

/// Control characters, line separators, and characters that change the writing direction.
fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod testing {
    use std::cell::Cell;
    use std::ops::ControlFlow;

    use crate::sha256::sha256;

    use super::Source;

    /// Files whose contents are named by their digest.
    pub(super) struct Files<'a> {
        files: Vec<(&'a str, &'a str, String)>,
        /// Number of contents that were read.
        pub(super) count: Cell<usize>,
    }

    impl<'a> Files<'a> {
        pub(super) fn new(files: &[(&'a str, &'a str)]) -> Self {
            let name = |text: &str| sha256(text.as_bytes());
            let files = files.iter().map(|(path, text)| (*path, *text, name(text))).collect();
            Self { files, count: Cell::new(0) }
        }
    }

    impl Source for Files<'_> {
        fn each_file(
            &self,
            visit: &mut dyn FnMut(&str, &str) -> ControlFlow<()>,
        ) -> anyhow::Result<()> {
            let _ = self.files.iter().try_for_each(|(path, _, name)| visit(path, name));
            Ok(())
        }

        fn each_content(
            &self,
            contents: &[&str],
            most: u64,
            visit: &mut dyn FnMut(usize, Option<Vec<u8>>) -> anyhow::Result<ControlFlow<()>>,
        ) -> anyhow::Result<()> {
            for (at, content) in contents.iter().enumerate() {
                self.count.set(self.count.get() + 1);
                let (_, text, _) = self.files.iter().find(|(_, _, name)| name == content).unwrap();
                let bytes = text.as_bytes().to_vec();
                if visit(at, Some(bytes).filter(|bytes| bytes.len() as u64 <= most))?.is_break() {
                    break;
                }
            }
            Ok(())
        }
    }
}
