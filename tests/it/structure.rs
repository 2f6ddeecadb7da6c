//! The shape of the code, counted from the source: circles among the files of a room, methods of
//! a type, lines that name a stage, lines of code. `.ci/run` prints the numbers.

mod graph;

use std::collections::BTreeMap;
use std::io::Write;

use super::tidy::{assert_none, rust_files};
use graph::{Code, Node};

/// How many files of a room may stand in circles: none, when the room is in order.
const FILES_IN_CIRCLES: [(&str, usize); 6] =
    [("pipeline", 0), ("verify", 0), ("workspace", 0), ("record", 0), ("cli", 0), ("git", 0)];

/// How many files and folders directly in a room may: folders have an order, as rooms have.
const CHILDREN_IN_CIRCLES: [(&str, usize); 3] = [("pipeline", 0), ("workspace", 0), ("cli", 0)];

/// Methods of one type, associated functions included, in all files together.
const METHODS: usize = 30;

/// Types that have more, and how many.
const MORE_METHODS: [(&str, usize); 0] = [];

/// Lines outside `src/stages/` that name one stage.
const STAGE_LINES: usize = 20;

/// Beyond what a failed test shows: libtest captures `print!`, not the stream.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}

/// The rooms with more nodes in circles than they may have.
fn circles(allowed: &[(&str, usize)], node: Node) -> Vec<String> {
    let code = Code::read(rust_files("src"));
    let mut findings = Vec::new();
    for (room, most) in allowed {
        let circles = code.circles(room, node);
        if circles.iter().map(Vec::len).sum::<usize>() > *most {
            let circles: Vec<_> = circles.iter().map(|circle| circle.join("\n    ")).collect();
            findings.push(format!("{room} (at most {most}): {}", circles.join("\n  and ")));
        }
    }
    findings
}

#[test]
fn files_of_a_room_form_no_new_circle() {
    assert_none("files that need one another", &circles(&FILES_IN_CIRCLES, Node::File));
}

#[test]
fn folders_of_a_room_form_no_new_circle() {
    assert_none("folders that need one another", &circles(&CHILDREN_IN_CIRCLES, Node::Child));
}

#[test]
fn no_type_has_very_many_methods() {
    let code = Code::read(rust_files("src"));
    let mut findings = Vec::new();
    for (name, count) in code.methods() {
        let more = MORE_METHODS.iter().find(|(known, _)| *known == name);
        if count > more.map_or(METHODS, |(_, most)| *most) {
            findings.push(format!("{name}: {count} methods"));
        }
    }
    assert_none("a type with too many methods", &findings);
}

#[test]
fn stages_are_named_in_their_rows() {
    let mut found = BTreeMap::new();
    for source in rust_files("src") {
        if source.path.starts_with("src/stages/") {
            continue;
        }
        let lines = source.lines().filter(|(_, line)| names_a_stage(line)).count();
        if lines > 0 {
            found.insert(source.path, lines);
        }
    }
    let all: usize = found.values().sum();
    assert!(all <= STAGE_LINES, "{all} lines name a stage outside src/stages: {found:#?}");
}

/// `Stage::Prd`, not `Stage::ALL` or `Stage::from_str`.
fn names_a_stage(line: &str) -> bool {
    line.match_indices("Stage::").any(|(at, found)| {
        let whole = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let mut rest = line[at + found.len()..].chars();
        let (first, second) = (rest.next(), rest.next());
        whole && first.is_some_and(char::is_uppercase) && second.is_some_and(char::is_lowercase)
    })
}

/// The methods of an open repository that may be called. References, HEAD and configuration are read
/// by other means: libgit2 does not know every format of them. Its own reading of objects never
/// returns from a file that was cut off.
const BY_ID: [&str; 3] = ["object_format", "odb", "path"];

#[test]
fn libgit2_is_asked_for_objects_by_their_ids() {
    let method = regex::Regex::new(r"\brepository\s*\.\s*(\w+)\(").unwrap();
    let opened = regex::Regex::new(r"Repository::(\w+)").unwrap();
    let read = regex::Regex::new(r"\bodb(\(\)\?)?\s*\.\s*read").unwrap();
    let (mut findings, mut calls) = (Vec::new(), 0);
    for source in rust_files("src") {
        // The binary would run what a repository below the tree configures. Where libgit2 does not know
        // a format, it says so, or lists too much.
        if source.room() != "git" || source.path == "src/git/read/nested.rs" {
            continue;
        }
        let code: String = source.lines().map(|(_, line)| format!("{line}\n")).collect();
        if read.is_match(&code) && source.path != "src/git/objects/loose.rs" {
            findings.push(format!("{}: reads an object past the guard", source.path));
        }
        for (_, [called]) in method.captures_iter(&code).map(|found| found.extract()) {
            calls += 1;
            if !BY_ID.contains(&called) {
                findings.push(format!("{}: repository.{called}()", source.path));
            }
        }
        for (_, [called]) in opened.captures_iter(&code).map(|found| found.extract()) {
            if called != "open_ext" || source.path != "src/git/objects/libgit2.rs" {
                findings.push(format!("{}: Repository::{called}", source.path));
            }
        }
    }
    assert!(calls > 5, "{calls} calls of libgit2 are seen");
    assert_none("a function of libgit2 that may not know every format", &findings);
}

#[test]
fn lines_of_code_are_printed() {
    let mut rooms = BTreeMap::<String, usize>::new();
    for source in rust_files("src") {
        let lines = source.lines().filter(|(_, line)| !line.trim().is_empty()).count();
        *rooms.entry(source.room().to_owned()).or_default() += lines;
    }
    let all: usize = rooms.values().sum();
    assert!(all > 0);
    let rooms: Vec<_> = rooms.iter().map(|(room, lines)| format!("{room} {lines}")).collect();
    say(&format!("code: {all} lines without tests, blanks and comments ({})", rooms.join(", ")));
}
