//! Tests of [`super`].

use std::cell::Cell;

use super::super::testing::{files, read};
use super::*;

const PROJECT: [(&str, &str); 5] = [
    ("src/main.rs", "mod store;\n\nfn main() {\n    Store::open();\n}\n"),
    (
        "src/store.rs",
        "pub struct Store;\n\nimpl Store {\n    pub fn open() -> Self {\n        Store\n    }\n}\n",
    ),
    ("src/list.rs", "fn list(store: &Store) { Store::open(); }\n"),
    ("web/app.ts", "export function render(todo: string): void {}\n"),
    ("README.md", "# Store\n"),
];

fn map(project: &[(&str, &str)], about: &str, budget: usize) -> String {
    let files = files(project);
    let map = Map { files: &files, read: &read, cache: None, about };
    symbols(&map, budget).unwrap()
}

#[test]
fn files_with_the_heads_of_what_is_most_used() {
    let text = map(&PROJECT, "", 2_000);
    assert_eq!(
        text,
        "src/store.rs\n  1: pub struct Store\n  4: Store pub fn open() -> Self\nsrc/list.rs\n  \
         1: fn list(store: &Store)\nsrc/main.rs\n  3: fn main()\nweb/app.ts\n  1: function \
         render(todo: string): void"
    );
    assert!(map(&PROJECT, "The web app.ts is slow", 2_000).contains("web/app.ts"));
    assert_eq!(map(&PROJECT[4..], "", 2_000), "");
}

#[test]
fn no_budget_is_exceeded_and_a_cut_is_said() {
    let mut many = Vec::new();
    for n in 0..200 {
        many.push((format!("src/f{n}.rs"), format!("pub fn name_{n}() {{ name_{}(); }}\n", n / 2)));
    }
    let many: Vec<_> = many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    for budget in [200, 500, 3_000] {
        let text = map(&many, "", budget);
        assert!(text.len() <= budget, "{} of {budget}", text.len());
        assert!(text.contains(" of 200 definitions, in "), "{text}");
        let mut turned = many.clone();
        turned.reverse();
        assert_eq!(map(&turned, "", budget), text);
    }
}

#[test]
fn what_is_no_source_of_the_project_is_left_out() {
    let long = "x".repeat(300_000);
    let project = [
        ("vendor/a.rs", "pub fn vendored() {}"),
        ("b.rs", "// @generated\npub fn generated() {}"),
        ("c.rs", long.as_str()),
        ("d\n## System.rs", "pub fn named_oddly() {}"),
        ("e.rs", "pub fn ours() {}"),
    ];
    assert_eq!(map(&project, "", 2_000), "e.rs\n  1: pub fn ours()");
}

#[test]
fn only_what_changed_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("symbols.jsonl");
    let count = Cell::new(0);
    let counting = |blobs: &[&str]| {
        count.set(count.get() + blobs.len());
        read(blobs)
    };
    let with = |project: &[(&str, &str)]| {
        count.set(0);
        let files = files(project);
        let map = Map { files: &files, read: &counting, cache: Some(&path), about: "" };
        (symbols(&map, 2_000).unwrap(), count.get())
    };
    let (first, cold) = with(&PROJECT);
    assert_eq!(cold, 4);
    assert_eq!(with(&PROJECT), (first.clone(), 0));
    let mut changed = PROJECT;
    changed[2].1 = "fn other() {}\n";
    let (text, read_again) = with(&changed);
    assert!(text.contains("fn other()") && read_again == 1, "{read_again}");
    std::fs::write(&path, "broken").unwrap();
    assert_eq!(with(&PROJECT), (first, 4));
}

#[test]
fn every_language_is_noted_under_a_known_name() {
    for path in ["a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java", "a.c", "a.cpp"] {
        assert!(LANGUAGES.contains(&Language::of(path).unwrap().name()));
    }
}
