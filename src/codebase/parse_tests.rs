//! Tests of [`super`]: the definitions of each language, and hostile files.

use super::*;
use crate::languages::syntax_of;

fn symbols(path: &str, text: &str) -> Symbols {
    Parsers::default().parse(syntax_of(path).unwrap().1, text).unwrap()
}

/// `owner: signature` of every definition.
fn heads(path: &str, text: &str) -> Vec<String> {
    let line = |d: Definition| match d.owner.as_str() {
        "" => d.signature,
        owner => format!("{owner}: {}", d.signature),
    };
    symbols(path, text).defines.into_iter().map(line).collect()
}

#[test]
fn rust() {
    let text = "/// Doc.\n#[derive(Debug)]\npub struct Store<T> {\n    x: T,\n}\n\
                impl<T> Store<T> {\n    /// Opens.\n    pub fn open(\n        path: &Path,\n    ) -> \
                Result<Self> {\n        fn inner() {}\n        Self::close()\n    }\n}\n\
                pub trait Read: Send { fn blob(&self) -> Vec<u8>; }\n\
                pub const LIMIT: usize = 3;\nenum Kind { A, B }\ntype Short = Vec<u8>;\n\
                macro_rules! twice { () => {} }\n";
    assert_eq!(
        heads("a.rs", text),
        [
            "pub struct Store<T>",
            "Store: pub fn open( path: &Path, ) -> Result<Self>",
            "pub trait Read: Send",
            "Read: fn blob(&self) -> Vec<u8>",
            "pub const LIMIT: usize = 3",
            "enum Kind",
            "type Short = Vec<u8>",
            "macro_rules! twice { () => {} }",
        ]
    );
    let found = symbols("a.rs", text);
    assert_eq!(found.defines[1].line, 8);
    for used in ["Path", "Result", "close", "Store"] {
        assert!(found.uses.contains(used), "{used} in {:?}", found.uses);
    }
    let expected = ["Path", "Result", "Self", "Send", "Store", "Vec", "Debug", "close", "derive"];
    assert_eq!(found.uses, expected.map(str::to_owned).into(), "{:?}", found.uses);
    let found =
        symbols("a.rs", "use a::{load_all, b::save};\nfn f(x: u8) { let y = x; z.join(y) }");
    assert_eq!(found.uses, [".join", "load_all", "save"].map(str::to_owned).into());
}

#[test]
fn python() {
    let text = "class Store(Base):\n    def load(self, path: str) -> list[int]:\n        \"\"\"Doc.\"\"\"\n\
                \x20       def inner(): pass\n        return helper(path)\n\nasync def main(): pass\n";
    assert_eq!(
        heads("a.py", text),
        ["class Store(Base)", "Store: def load(self, path: str) -> list[int]", "async def main()",]
    );
    assert!(symbols("a.py", text).uses.contains("helper"));
}

#[test]
fn javascript_and_typescript() {
    let text = "export function list(a, b = 2) { const inner = () => 1; }\n\
                export const add = async (x) => { return x };\nconst n = 3;\n\
                class Store extends Base { load(path) { return 1 } }\n\
                describe('x', () => { const hidden = () => 1; });\n";
    let expected = [
        "function list(a, b = 2)",
        "const add = async (x)",
        "class Store extends Base",
        "Store: load(path)",
    ];
    assert_eq!(heads("a.js", text), expected);
    assert_eq!(heads("a.ts", text), expected);
    let text = "export interface Todo { id: number; text: string }\ntype Id = string | number;\n\
                export enum Kind { A, B }\nabstract class Base { abstract load(p: Id): Todo; }\n\
                export const View = ({ id }: Todo): JSX.Element => <p>{id}</p>;\n";
    assert_eq!(
        heads("a.tsx", text),
        [
            "interface Todo",
            "type Id = string | number",
            "enum Kind",
            "abstract class Base",
            "Base: abstract load(p: Id): Todo",
            "const View = ({ id }: Todo): JSX.Element",
        ]
    );
}

#[test]
fn go_and_java() {
    let text = "package store\n\n// Store keeps.\ntype Store struct {\n\tpath string\n}\n\
                func (s *Store) Load(path string) ([]Todo, error) {\n\treturn nil, nil\n}\n\
                func New() *Store { return &Store{} }\n";
    assert_eq!(
        heads("a.go", text),
        [
            "type Store struct",
            "func (s *Store) Load(path string) ([]Todo, error)",
            "func New() *Store"
        ]
    );
    let text = "package a;\n@Deprecated\npublic class Store implements Base {\n\
                \x20 public List<Todo> load(String path) throws IOException { return helper(); }\n}\n\
                interface Base { void close(); }\nrecord Todo(int id, String text) {}\n";
    assert_eq!(
        heads("A.java", text),
        [
            "@Deprecated public class Store implements Base",
            "Store: public List<Todo> load(String path) throws IOException",
            "interface Base",
            "Base: void close()",
            "record Todo(int id, String text)",
        ]
    );
}

#[test]
fn c_and_cpp() {
    let text = "#define TWICE(x) ((x) * 2)\nstruct todo { int id; };\ntypedef struct todo todo_t;\n\
                static char *name_of(const struct todo *todo) { int local(1); return 0; }\n\
                int todo_add(struct todo *t);\nint counter = 3;\nextern int (*hook)(void);\n";
    assert_eq!(
        heads("a.c", text),
        [
            "#define TWICE(x) ((x) * 2)",
            "struct todo",
            "typedef struct todo todo_t",
            "static char *name_of(const struct todo *todo)",
            "int todo_add(struct todo *t)",
        ]
    );
    let text = "namespace a {\nclass Store : public Base {\n public:\n  int load(const std::string& p) const;\n\
                \x20 ~Store();\n int n;\n};\nint Store::load(const std::string& p) const { return 1; }\n}\n\
                using Id = int;\n";
    assert_eq!(
        heads("a.cpp", text),
        [
            "class Store : public Base",
            "Store: int load(const std::string& p) const",
            "int Store::load(const std::string& p) const",
            "using Id = int",
        ]
    );
}

#[test]
fn hostile_files_are_bounded_and_harmless() {
    // Deep, broken, and full of control characters.
    let deep = format!("fn a() {{ {} }}", "(".repeat(50_000));
    assert!(symbols("a.rs", &deep).defines.len() <= 1);
    symbols("a.py", &"[".repeat(50_000));
    symbols("a.js", &"function f(){".repeat(5_000));
    symbols("a.cpp", &"a<".repeat(10_000));
    let many: String = (0..5_000).map(|n| format!("fn f{n}() {{}}\n")).collect();
    assert_eq!(symbols("a.rs", &many).defines.len(), DEFINITIONS);
    let long = format!(
        "fn {}() {{}}\nfn b(a: &str = \"\u{1b}[2J\u{202e}{}\") {{}}",
        "x".repeat(99),
        "ä".repeat(99)
    );
    let found = symbols("a.rs", &long);
    assert!(found.defines.iter().all(|d| d.name == "b" && d.signature.len() < SIGNATURE + 8));
    assert!(found.defines.iter().all(|d| !d.signature.chars().any(is_odd)), "{found:?}");
}

#[test]
fn after_several_slow_files_no_more_are_parsed() {
    let mut parsers = Parsers { patience: Duration::ZERO, ..Parsers::default() };
    let text = "fn a() {}\n".repeat(1_000);
    let (_, rust) = syntax_of("a.rs").unwrap();
    for _ in 0..GIVEN_UP {
        assert_eq!(parsers.parse(rust, &text), Some(Symbols::default()));
    }
    assert_eq!(parsers.parse(rust, "fn a() {}"), None);
    let mut parsers = Parsers::default();
    assert_eq!(parsers.parse(rust, "fn a() {}").map(|found| found.defines.len()), Some(1));
}
