//! The languages whose files can be taken apart: their extensions, their grammars, and what a
//! definition looks like in them.
//!
//! Two more could be had for some seconds of building and 100 KB of tables each (Ruby, C#);
//! files of other languages are in the tree and in searches, only not in the map.

/// A language with a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Language {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Java,
    C,
    Cpp,
}

/// What one syntax node that defines something is called, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Something that is run: what it defines inside is nobody else's business.
    Code,
    /// A type, and what else can hold definitions of its own.
    Type,
    /// Like [`Shape::Type`] where it has a body; without one it only speaks of the type.
    TypeWithBody,
    /// Not a definition, but the definitions in it belong to its `type`.
    Implementation,
    /// A variable, which is a definition when its value is code and it stands at the top.
    Variable,
    /// A declaration, which is a definition when it declares a function.
    Prototype,
}

use Shape::{Code, Implementation, Prototype, Type, TypeWithBody, Variable};

const RUST: &[(&str, Shape)] = &[
    ("function_item", Code),
    ("function_signature_item", Code),
    ("macro_definition", Code),
    ("const_item", Code),
    ("static_item", Code),
    ("struct_item", Type),
    ("enum_item", Type),
    ("union_item", Type),
    ("trait_item", Type),
    ("type_item", Type),
    ("impl_item", Implementation),
];
const PYTHON: &[(&str, Shape)] = &[("function_definition", Code), ("class_definition", Type)];
const JAVASCRIPT: &[(&str, Shape)] = &[
    ("function_declaration", Code),
    ("generator_function_declaration", Code),
    ("method_definition", Code),
    ("class_declaration", Type),
    ("variable_declarator", Variable),
];
const TYPESCRIPT: &[(&str, Shape)] = &[
    ("function_declaration", Code),
    ("generator_function_declaration", Code),
    ("function_signature", Code),
    ("method_definition", Code),
    ("abstract_method_signature", Code),
    ("class_declaration", Type),
    ("abstract_class_declaration", Type),
    ("interface_declaration", Type),
    ("type_alias_declaration", Type),
    ("enum_declaration", Type),
    ("variable_declarator", Variable),
];
const GO: &[(&str, Shape)] = &[
    ("function_declaration", Code),
    ("method_declaration", Code),
    ("type_spec", Type),
    ("type_alias", Type),
];
const JAVA: &[(&str, Shape)] = &[
    ("method_declaration", Code),
    ("class_declaration", Type),
    ("interface_declaration", Type),
    ("enum_declaration", Type),
    ("record_declaration", Type),
    ("annotation_type_declaration", Type),
];
const C: &[(&str, Shape)] = &[
    ("function_definition", Code),
    ("preproc_function_def", Code),
    ("declaration", Prototype),
    ("type_definition", Type),
    ("struct_specifier", TypeWithBody),
    ("union_specifier", TypeWithBody),
    ("enum_specifier", TypeWithBody),
];
const CPP: &[(&str, Shape)] = &[
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
];

impl Language {
    /// The language of a file, as its name tells.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension {
            "rs" => Self::Rust,
            "py" | "pyi" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" => Self::Go,
            "java" => Self::Java,
            "c" | "h" => Self::C,
            "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => Self::Cpp,
            _ => return None,
        })
    }

    /// The syntax nodes that define something.
    pub(super) const fn shapes(self) -> &'static [(&'static str, Shape)] {
        match self {
            Self::Rust => RUST,
            Self::Python => PYTHON,
            Self::JavaScript => JAVASCRIPT,
            Self::TypeScript | Self::Tsx => TYPESCRIPT,
            Self::Go => GO,
            Self::Java => JAVA,
            Self::C => C,
            Self::Cpp => CPP,
        }
    }

    /// The languages that use each other's names, under the name of their guidance.
    pub(super) const fn family(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::JavaScript | Self::TypeScript | Self::Tsx => "node",
            Self::Go => "go",
            Self::Java => "java",
            Self::C | Self::Cpp => "c",
        }
    }

    /// The name it is noted under.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
            Self::Go => "go",
            Self::Java => "java",
            Self::C => "c",
            Self::Cpp => "cpp",
        }
    }
}

/// The languages these files are written in, under the names of templates ("rust", "python",
/// "node", "go", "java", "c"), the most files first; one that has less than a fifth of them is left
/// out.
pub fn languages<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<&'static str> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let own = paths.into_iter().filter(|path| super::worth::is_own(path));
    for family in own.filter_map(family_of) {
        match counts.iter_mut().find(|(name, _)| *name == family) {
            Some((_, count)) => *count += 1,
            None => counts.push((family, 1)),
        }
    }
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    counts.retain(|(_, count)| count * 5 >= all);
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    counts.into_iter().map(|(name, _)| name).collect()
}

/// By its extension, or by its name where a language's own tools read it.
fn family_of(path: &str) -> Option<&'static str> {
    let by_name = || match path.rsplit('/').next()? {
        "Cargo.toml" => Some(Language::Rust),
        "pyproject.toml" | "requirements.txt" => Some(Language::Python),
        "package.json" | "tsconfig.json" => Some(Language::JavaScript),
        "go.mod" => Some(Language::Go),
        "pom.xml" | "build.gradle" | "build.gradle.kts" => Some(Language::Java),
        _ => None,
    };
    Language::of(path).or_else(by_name).map(Language::family)
}

/// The languages that words about technology name ("Python 3, sqlite3"), in their order.
pub fn languages_named(words: &str) -> Vec<&'static str> {
    let mut named = Vec::new();
    let words = words.split(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#'));
    for word in words.map(str::to_lowercase) {
        let language = match word.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "rust" | "cargo" => Language::Rust,
            "python" => Language::Python,
            "javascript" | "typescript" | "node" | "nodejs" => Language::JavaScript,
            "go" | "golang" => Language::Go,
            "java" => Language::Java,
            "c" | "c++" => Language::C,
            _ => continue,
        };
        if !named.contains(&language.family()) {
            named.push(language.family());
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_a_node_of_its_grammar() {
        for path in ["a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java", "a.c", "a.cpp"] {
            let language = Language::of(path).unwrap();
            let grammar = super::super::grammar::grammar(language).unwrap();
            for (kind, _) in language.shapes() {
                assert_ne!(grammar.id_for_node_kind(kind, true), 0, "{kind} in {path}");
            }
        }
    }

    #[test]
    fn the_languages_of_a_project_are_those_of_most_of_its_files() {
        let mut paths = vec!["src/a.rs", "src/b.rs", "web/a.ts", "web/b.tsx", "web/c.js", "x.md"];
        assert_eq!(languages(paths.iter().copied()), ["node", "rust"]);
        paths.extend(["tools/x.py"]);
        paths.extend(["node_modules/a.java"; 9]);
        assert_eq!(languages(paths), ["node", "rust"]);
        assert_eq!(languages(["README.md"]), Vec::<&str>::new());
        assert_eq!(languages(["README.md", "Cargo.toml"]), ["rust"]);
    }

    #[test]
    fn technology_names_languages() {
        for (words, named) in [
            ("Python 3, standard library (csv)", &["python"][..]),
            ("python3.11 / SQLite", &["python"]),
            ("TypeScript on Node.js", &["node"]),
            ("Go 1.22", &["go"]),
            ("C++20, a Rust core", &["c", "rust"]),
            ("POSIX sh, category theory, Golf", &[]),
            ("C#", &[]),
        ] {
            assert_eq!(languages_named(words), named, "{words}");
        }
    }
}
