//! Tests of [`super`].

use super::super::testing::Files;
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
    let map = Map { source: &Files::new(project), cache: None, about, shown: &[] };
    symbols(&map, budget, 0).unwrap().most_used
}

#[test]
fn most_used_definitions_are_listed_by_file() {
    let text = map(&PROJECT, "", 2_000);
    assert_eq!(
        text,
        "src/store.rs\n  1: pub struct Store\n  4: Store pub fn open() -> Self\nsrc/list.rs\n  \
         1: fn list(store: &Store)\nsrc/main.rs\n  3: fn main()\nweb/app.ts\n  1: function \
         render(todo: string): void"
    );
    assert!(map(&PROJECT, "The web app.ts is slow", 2_000).starts_with("web/app.ts"));
    assert_eq!(map(&PROJECT[4..], "", 2_000), "");
}

#[test]
fn no_budget_is_exceeded_and_omissions_are_reported() {
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
fn files_that_are_not_project_source_are_left_out() {
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
fn only_changed_files_are_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("symbols.jsonl");
    let with = |project: &[(&str, &str)]| {
        let source = Files::new(project);
        let map = Map { source: &source, cache: Some(&path), about: "", shown: &[] };
        (symbols(&map, 2_000, 0).unwrap().most_used, source.count.get())
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
fn a_repository_too_large_for_one_look_is_read_where_the_idea_points() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("symbols.jsonl");
    // Almost three times what one look parses, mostly a comment that is parsed quickly.
    let filler =
        format!("/*\n{}*/\n", "nothing that defines anything, line by line\n".repeat(5_000));
    let mut project = Vec::new();
    for n in 0..5 * BYTES / 2 / filler.len() {
        project.push((format!("a/f{n:03}.c"), format!("int plain_{n}(void);\n{filler}")));
    }
    let deep = "zz/deep/down/rarely.c".to_owned();
    project.push((deep, format!("int found_it(int x)\n{{\n\treturn x;\n}}\n{filler}")));
    let project: Vec<_> = project.iter().map(|(p, text)| (p.as_str(), text.as_str())).collect();
    let look = |about| {
        let source = Files::new(&project);
        let map = Map { source: &source, cache: Some(&path), about, shown: &[] };
        let text = symbols(&map, 1_000, 0).unwrap().most_used;
        // `[SHOWN of ALL definitions, in …`
        let (_, last) = text.rsplit_once('[').unwrap();
        let known: usize = last.split(' ').nth(2).unwrap().parse().unwrap();
        (text, known, source.count.get())
    };
    let (first, known, read) = look("why is rarely slow");
    assert!(first.starts_with("zz/deep/down/rarely.c\n  1: int found_it(int x)\n"), "{first}");
    assert!(read == known && known < project.len() / 2, "{known} of {}", project.len());
    let (_, more, read) = look("something else");
    assert_eq!(more, known + read, "what is known is not read again");
    look("");
    let (last, all, read) = look("why is rarely slow");
    assert_eq!((all, read), (project.len(), 0), "{last}");
    assert!(last.starts_with("zz/deep/down/rarely.c\n"), "{last}");
}

#[test]
fn tests_are_shown_only_when_they_are_named() {
    let project = [
        ("src/a.rs", "pub fn often() {}\n"),
        ("benches/b.rs", "fn bench_it() { often(); tried(); }\npub fn tried() {}\n"),
        ("fuzz/fuzz_targets/c.rs", "fn fuzz_it() { often(); tried(); }\n"),
        ("tests/careful.rs", "fn careful_test() { often(); tried(); }\n"),
    ];
    let text = map(&project, "", 2_000);
    assert!(text.starts_with("src/a.rs\n  1: pub fn often()\n[1 of 5 definitions"), "{text}");
    let text = map(&project, "Let careful.rs be quicker", 2_000);
    assert!(text.contains("tests/careful.rs\n  1: fn careful_test()"), "{text}");
    assert!(!text.contains("bench_it") && !text.contains("fuzz_it"), "{text}");
}

#[test]
fn named_definitions_are_shown_in_full() {
    let fields = "pub struct Store {\n    path: PathBuf,\n    open: bool,\n}\n";
    let store = format!(
        "use x;\n\n{fields}\nimpl Store {{\n    fn close(&self) {{\n        end()\n    }}\n}}\n"
    );
    let project = [
        ("src/store.rs", store.as_str()),
        ("src/main.rs", "struct Other { a: u8 }\nfn list() {}\nfn load_all() {\n    x()\n}\n"),
        ("tests/t.rs", "struct Store { no: u8 }\n"),
    ];
    let source = Files::new(&project);
    let named = |about, budget| {
        let map = Map { source: &source, cache: None, about, shown: &[] };
        symbols(&map, 2_000, budget).unwrap().named
    };
    let text = named("Store should list what load_all() reads", 2_000);
    let expected = format!(
        "src/main.rs, lines 3-5\nfn load_all() {{\n    x()\n}}\n\nsrc/store.rs, lines 3-6\n{}",
        fields.trim_end()
    );
    assert_eq!(text, expected);
    let first = expected.split("\n\n").next().unwrap();
    assert_eq!(named("Store should list what load_all() reads", 120), first);
    assert_eq!(named("Make the store faster", 2_000), "");
}
