//! C and C++.

use super::language::Shape::{Code, Prototype, Type, TypeWithBody};
use super::language::{Imports, Language, PLAIN, Syntax};

pub(super) static C: Language = Language {
    name: "c",
    also: &["c++"],
    syntaxes: &[
        Syntax {
            name: "c",
            extensions: &["c", "h"],
            shapes: &[
                ("function_definition", Code),
                ("preproc_function_def", Code),
                ("declaration", Prototype),
                ("type_definition", Type),
                ("struct_specifier", TypeWithBody),
                ("union_specifier", TypeWithBody),
                ("enum_specifier", TypeWithBody),
            ],
            bodies_by_brace: false,
        },
        Syntax {
            name: "cpp",
            extensions: &["cc", "cpp", "cxx", "hh", "hpp", "hxx"],
            shapes: &[
                ("function_definition", Code),
                ("preproc_function_def", Code),
                ("declaration", Prototype),
                ("field_declaration", Prototype),
                ("type_definition", Type),
                ("alias_declaration", Type),
                ("struct_specifier", TypeWithBody),
                ("union_specifier", TypeWithBody),
                ("enum_specifier", TypeWithBody),
                ("class_specifier", TypeWithBody),
            ],
            bodies_by_brace: false,
        },
    ],
    manifests: &["CMakeLists.txt", "meson.build"],
    imports: Imports { begins: &["#include"], words: &["include"], ..PLAIN.imports },
    is_private: |_, owner, head| {
        owner.is_empty() && head.split_whitespace().any(|word| word == "static")
    },
    ..PLAIN
};
