//! The list of the grammars that are packed into the binary. `build.rs` packs them,
//! `codebase/grammar.rs` unpacks them, and tests also use the list.

/// Calls a macro with all grammars, each as `NAME: CRATE::LANGUAGE, SOURCES;`: the grammar's name
/// in C, which is also the name of its [`Syntax`](super::Syntax), the language in its crate, and
/// the directory of the sources in the crate.
macro_rules! grammars {
    ($with:ident) => {
        $with! {
            "c": tree_sitter_c::LANGUAGE, "src";
            "cpp": tree_sitter_cpp::LANGUAGE, "src";
            "go": tree_sitter_go::LANGUAGE, "src";
            "java": tree_sitter_java::LANGUAGE, "src";
            "javascript": tree_sitter_javascript::LANGUAGE, "src";
            "python": tree_sitter_python::LANGUAGE, "src";
            "rust": tree_sitter_rust::LANGUAGE, "src";
            "tsx": tree_sitter_typescript::LANGUAGE_TSX, "tsx/src";
            "typescript": tree_sitter_typescript::LANGUAGE_TYPESCRIPT, "typescript/src";
        }
    };
}

pub(crate) use grammars;
