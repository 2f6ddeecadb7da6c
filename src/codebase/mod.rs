//! What a code base holds, in the few thousand bytes a model can be shown of it: its tree in
//! short, its manifests, and a map of its symbols, the most used first.
//!
//! Knows the languages only: it is told which files there are, one after the other, and how their bytes are read.
//! What it answers depends on nothing else, so that the same commit is described in the same bytes,
//! on every machine. Two things could differ: what is read with a time limit ([`parse`]), which then
//! counts as without symbols; and of a repository too large for one look, how much earlier looks
//! have taken apart ([`symbols`]).
//!
//! Everything in here may come from a hostile repository: sizes, counts, depth and time are
//! bounded, and no control character passes.

mod cache;
mod grammar;
mod imports;
mod main_languages;
mod manifest;
mod map;
mod named;
mod parse;
mod rank;
mod tree;
mod wanted;
mod worth;

use std::ops::ControlFlow;

pub use main_languages::main_languages;
pub use manifest::Manifests;
pub use map::{Map, Symbols, symbols};
pub use named::FileNames;
pub use tree::{Tree, tree};

/// Tracked regular files, so many that nobody holds them all.
pub trait Source {
    /// Tells path (from the top, with `/`) and content of each, always in the same order, while
    /// `visit` wants more; the content by the name it is asked for with.
    ///
    /// # Errors
    /// They cannot be listed.
    fn each_file(&self, visit: &mut dyn FnMut(&str, &str) -> ControlFlow<()>)
    -> anyhow::Result<()>;

    /// Tells the bytes of these contents, in their order, while `visit` wants more; `None` for one
    /// that is not there or has more bytes than `most`.
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

/// Whether a file is code or text, as far as its name tells: no key, no picture, no data.
pub fn is_source_or_text(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let known =
        crate::languages::syntax_of(path).is_some() || ["md", "rst", "txt"].contains(&ending);
    known && !path.chars().any(is_odd)
}

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
    use std::cell::Cell;
    use std::ops::ControlFlow;

    use ring::digest::{SHA256, digest};

    use super::Source;

    /// Files, their contents named by their digest.
    pub(super) struct Files<'a> {
        files: Vec<(&'a str, &'a str, String)>,
        /// How many contents were told.
        pub(super) read: Cell<usize>,
    }

    impl<'a> Files<'a> {
        pub(super) fn new(files: &[(&'a str, &'a str)]) -> Self {
            let name = |text: &str| {
                let digest = digest(&SHA256, text.as_bytes());
                digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
            };
            let files = files.iter().map(|(path, text)| (*path, *text, name(text))).collect();
            Self { files, read: Cell::new(0) }
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
                self.read.set(self.read.get() + 1);
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
