//! The grammars, which are packed in the binary (see `build.rs`) and unpacked when their language
//! is first met.

use std::sync::OnceLock;

use tree_sitter_language::LanguageFn;

use crate::languages::grammars::grammars;

/// Where a grammar expects its tables, and how many bytes they are.
type Room = unsafe extern "C" fn(size: *mut usize) -> *mut u8;

macro_rules! unpacked {
    ($($name:literal: $package:ident::$original:ident, $sources:literal;)*) => {
        /// The grammar of this name, unpacked once in a process; `None` when its tables are not what
        /// was packed, or there is none of that name.
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
                    // SAFETY: the room is this grammar's; nobody reads it before it is filled, or
                    // fills it twice, since the function of the grammar is called nowhere else.
                    let filled = *FILLED.get_or_init(|| unsafe { fill(room, tables) });
                    // SAFETY: the tree-sitter command has generated this function.
                    filled.then(|| unsafe { LanguageFn::from_raw(parser) }.into())
                })*
                _ => None,
            }
        }
    };
}

grammars!(unpacked);

/// Inflates the tables into their room, which they fill.
///
/// # Safety
/// Nobody else may use the room meanwhile.
unsafe fn fill(room: Room, tables: &[u8]) -> bool {
    let mut size = 0;
    // SAFETY: the room is as large as it says, is never moved, and nobody else uses it.
    let room = unsafe {
        let begin = room(&raw mut size);
        std::slice::from_raw_parts_mut(begin, size)
    };
    let inflated = miniz_oxide::inflate::decompress_slice_iter_to_slice(
        room,
        [tables].into_iter(),
        false,
        true,
    );
    inflated == Ok(size)
}

#[cfg(test)]
#[path = "grammar_tests.rs"]
mod tests;
