//! The grammars, which are packed in the binary (see `build.rs`) and unpacked when their language
//! is first met.

use std::sync::OnceLock;

use tree_sitter_language::LanguageFn;

use super::language::Language;

/// Where a grammar expects its tables, and how many bytes they are.
type Room = unsafe extern "C" fn(size: *mut usize) -> *mut u8;

/// The packed grammar of a name in `build.rs`, unpacked once in a process.
macro_rules! unpacked {
    ($name:literal, $grammar:ident, $room:ident) => {{
        unsafe extern "C" {
            fn $grammar() -> *const ();
            fn $room(size: *mut usize) -> *mut u8;
        }
        static FILLED: OnceLock<bool> = OnceLock::new();
        let tables = include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".tables"));
        // SAFETY: the room is this grammar's; nobody reads it before it is filled, or fills it
        // twice, since the function of the grammar is called nowhere else.
        let filled = *FILLED.get_or_init(|| unsafe { fill($room, tables) });
        // SAFETY: the tree-sitter command has generated this function.
        filled.then(|| unsafe { LanguageFn::from_raw($grammar) }.into())
    }};
}

/// The grammar of a language; `None` when its tables are not what was packed.
pub(super) fn grammar(language: Language) -> Option<tree_sitter::Language> {
    match language {
        Language::Rust => unpacked!("rust", cowork_grammar_rust, cowork_room_rust),
        Language::Python => unpacked!("python", cowork_grammar_python, cowork_room_python),
        Language::JavaScript => {
            unpacked!("javascript", cowork_grammar_javascript, cowork_room_javascript)
        }
        Language::TypeScript => {
            unpacked!("typescript", cowork_grammar_typescript, cowork_room_typescript)
        }
        Language::Tsx => unpacked!("tsx", cowork_grammar_tsx, cowork_room_tsx),
        Language::Go => unpacked!("go", cowork_grammar_go, cowork_room_go),
        Language::Java => unpacked!("java", cowork_grammar_java, cowork_room_java),
        Language::C => unpacked!("c", cowork_grammar_c, cowork_room_c),
        Language::Cpp => unpacked!("cpp", cowork_grammar_cpp, cowork_room_cpp),
    }
}

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
