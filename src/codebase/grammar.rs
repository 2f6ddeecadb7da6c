//! The grammars, which are compressed in the binary (see `build.rs`) and decompressed when their
//! language first occurs.

use std::sync::OnceLock;

use tree_sitter_language::LanguageFn;

use crate::languages::grammars::grammars;

/// A function that returns where a grammar expects its tables, and their size in bytes.
type TableBuffer = unsafe extern "C" fn(size: *mut usize) -> *mut u8;

macro_rules! unpacked {
    ($($name:literal: $package:ident::$original:ident, $sources:literal;)*) => {
        /// The grammar of this name, decompressed once per process; `None` if its tables are not
        /// what was compressed, or if there is no such grammar.
        pub(super) fn grammar(name: &str) -> Option<tree_sitter::Language> {
            match name {
                $($name => {
                    unsafe extern "C" {
                        #[link_name = concat!("cowork_grammar_", $name)]
                        fn parser() -> *const ();
                        #[link_name = concat!("cowork_room_", $name)]
                        fn room(size: *mut usize) -> *mut u8;
                    }
                    static FILLED: OnceLock<bool> = OnceLock::new();
                    let tables = include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".tables"));
                    // SAFETY: the room belongs to this grammar; nothing reads it before it is
                    // filled, or fills it twice, since the grammar's function is called nowhere
                    // else.
                    let is_filled = *FILLED.get_or_init(|| unsafe { fill(room, tables) });
                    // SAFETY: the tree-sitter command has generated this function.
                    is_filled.then(|| unsafe { LanguageFn::from_raw(parser) }.into())
                })*
                _ => None,
            }
        }
    };
}

grammars!(unpacked);

/// Decompresses the tables into their room; they must fill it exactly.
///
/// # Safety
/// Nothing else may use the room meanwhile.
unsafe fn fill(room: TableBuffer, tables: &[u8]) -> bool {
    let mut size = 0;
    // SAFETY: the room has the size that it reports, is never moved, and nothing else uses it.
    let room = unsafe {
        let begin = room(&raw mut size);
        std::slice::from_raw_parts_mut(begin, size)
    };
    let length = miniz_oxide::inflate::decompress_slice_iter_to_slice(
        room,
        [tables].into_iter(),
        false,
        true,
    );
    length == Ok(size)
}

#[cfg(test)]
#[path = "grammar_tests.rs"]
mod tests;
