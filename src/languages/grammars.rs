//! The grammars that are packed in the binary: the one list of them, for `build.rs`, which packs
//! them, for `codebase/grammar.rs`, which unpacks them, and for its tests.

/// Calls a macro with all grammars, each as `NAME: CRATE::LANGUAGE, SOURCES;`: its name in C, which
/// is also that of its [`Syntax`](super::Syntax), how its crate calls it, and where in the crate its
/// sources are.
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
