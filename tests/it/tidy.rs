//! The architecture's invariants, read from the source: who knows whom, who may spawn, print and
//! panic, and what every file looks like. A rule that stands in ARCHITECTURE.md is checked here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The words everybody shares.
const WORDS: &[&str] = &[
    "activity",
    "choice",
    "stage",
    "error",
    "event",
    "ascii",
    "clean",
    "clock",
    "excerpt",
    "headings",
    "host",
    "in_threads",
    "instructions",
    "shell_quote",
    "wrap",
    "interrupt",
    "line_count",
    "markdown_lines",
    "keyboard",
    "markers",
    "moment",
    "present",
    "nearest",
    "palette",
    "path_text",
    "private",
    "replace_file",
    "secret",
    "sha256",
    "spent",
    "typed_line",
];

/// What a room may know besides [`WORDS`] and itself. `cli`, `main.rs` and `lib.rs` know all.
const KNOWS: [(&str, &[&str]); 21] = [
    ("git", &[]),
    ("forge", &[]),
    // What is known of each language; it knows no room.
    ("languages", &[]),
    ("codebase", &["languages"]),
    ("artifact", &[]),
    // A row names its artifacts and their checks.
    ("stages", &["artifact"]),
    // The defaults of a stage are in its row.
    ("config", &["stages", "artifact"]),
    ("model", &["config"]),
    // `codebase` to show very many files in few bytes.
    ("workspace", &["artifact", "codebase", "languages"]),
    // The types of `model` only: what a tool looks like to it.
    ("tool", &["workspace", "artifact", "model", "config", "stages", "languages"]),
    ("session", &["git", "artifact", "config", "stages"]),
    // `tool` for `Person`.
    ("gate", &["tool", "artifact", "config", "stages"]),
    ("record", &["git", "session", "artifact", "workspace", "config", "stages"]),
    ("agent", &["model", "tool", "workspace", "artifact", "config"]),
    ("ui", &["session", "artifact", "config"]),
    (
        "pipeline",
        &[
            "git",
            "session",
            "stages",
            "artifact",
            "workspace",
            "codebase",
            "languages",
            "config",
            "model",
            "tool",
            "agent",
            "gate",
            "record",
            "verify",
        ],
    ),
    ("verify", &["git", "session", "stages", "artifact", "workspace", "config", "record"]),
    // It reads and shows; `record` for what a commit says of its evidence.
    ("web", &["git", "session", "artifact", "record"]),
    ("origin", &["git", "session", "stages", "artifact", "config", "verify"]),
    ("stage", &[]),
    ("event", &[]),
];

pub(super) struct Source {
    /// Relative to the package, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// Without its unit tests.
    pub(super) code: String,
}

impl Source {
    /// The room: `git` for `src/git/name.rs`, `stage` for `src/stage.rs`.
    pub(super) fn room(&self) -> &str {
        let inner = self.path.strip_prefix("src/").unwrap();
        inner.split('/').next().unwrap().trim_end_matches(".rs")
    }

    /// Lines of code, numbered, without comments.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = (1..).zip(self.code.lines());
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn files_below(dir: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_below(&path, into);
        } else {
            into.push(path);
        }
    }
}

pub(super) fn rust_files(folder: &str) -> Vec<Source> {
    let mut paths = Vec::new();
    files_below(&root().join(folder), &mut paths);
    paths.retain(|path| path.extension().is_some_and(|e| e == "rs"));
    let mut sources: Vec<Source> = paths
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root()).unwrap();
            let path = path.to_str().unwrap().replace('\\', "/");
            let code = without_tests(&text).to_owned();
            Source { path, text, code }
        })
        .collect();
    let tests: Vec<bool> = sources.iter().map(|s| is_test_file(&s.path, &sources)).collect();
    for (source, test) in sources.iter_mut().zip(tests) {
        if test {
            source.code.clear();
        }
    }
    sources
}

/// Unit tests stand at the end of a file, or in a file of their own.
fn without_tests(text: &str) -> &str {
    let end = test_modules(text).find(|(_, declaration)| declaration.ends_with('{'));
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// Modules that exist in tests only: where their attribute begins, and `mod name {` or `mod name;`.
fn test_modules(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("#[cfg(").filter_map(|(at, _)| {
        let mut lines = text[at..].lines();
        lines.next().filter(|line| line.contains("test"))?;
        let item = lines.find(|line| !line.trim_start().starts_with("#["))?.trim_start();
        let declaration =
            &item[item.find("mod ").filter(|_| item.starts_with("pub")).unwrap_or(0)..];
        declaration.starts_with("mod ").then_some((at, declaration))
    })
}

/// True for a file that some `#[cfg(test)] mod name;` beside it or above it declares.
fn is_test_file(path: &str, sources: &[Source]) -> bool {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let name = file.trim_end_matches(".rs");
    let above = format!("{folder}.rs");
    let in_tests =
        sources.iter().any(|source| source.path == above) && is_test_file(&above, sources);
    in_tests
        || sources.iter().any(|source| {
            let inner = source.path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
            let beside = source.path.rsplit_once('/').is_some_and(|(dir, _)| dir == folder);
            (beside || inner == folder)
                && test_modules(&source.text).any(|(at, declaration)| {
                    let named = declaration == format!("mod {name};");
                    // `#[path = "menu_tests.rs"]` stands between the attribute and the module.
                    let head = source.text[at..].split("mod ").next().unwrap_or_default();
                    declaration.ends_with(';') && (named || head.contains(&format!("\"{file}\"")))
                })
        })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The rooms a source names as `crate::room` or in `crate::{room, …}`.
fn known_rooms(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        let rest = &code[at + path.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            rooms.insert(rest.chars().take_while(|c| is_word(*c)).collect());
            continue;
        };
        let mut depth = 0_u32;
        let mut word = String::new();
        let mut first = true;
        for c in group.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => first = true,
                c if is_word(c) && depth == 0 && first => {
                    word.push(c);
                    continue;
                }
                _ => {}
            }
            if !word.is_empty() {
                rooms.insert(std::mem::take(&mut word));
                first = c == ',' && depth == 0;
            }
        }
        if !word.is_empty() {
            rooms.insert(word);
        }
    }
    rooms.retain(|room| !room.is_empty());
    rooms
}

#[track_caller]
pub(super) fn assert_none(what: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{what}:\n{}", findings.join("\n"));
}

/// Every line of code in `src` with one of these texts, outside the allowed places.
fn places(needles: &[&str], allowed: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in rust_files("src") {
        if allowed.iter().any(|place| source.path.starts_with(place)) {
            continue;
        }
        for (number, line) in source.lines() {
            if needles.iter().any(|needle| line.contains(needle)) {
                found.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    found
}

#[test]
fn rooms_know_only_whom_they_may() {
    let mut findings = Vec::new();
    for source in rust_files("src") {
        let room = source.room();
        if ["cli", "main", "lib"].contains(&room) {
            continue;
        }
        let knows = KNOWS.iter().find(|(name, _)| *name == room).map_or(&[][..], |(_, k)| *k);
        let code: Vec<_> = source.lines().map(|(_, line)| line).collect();
        for known in known_rooms(&code.join("\n")) {
            let allowed =
                known == room || WORDS.contains(&known.as_str()) || knows.contains(&known.as_str());
            // Items of the crate root begin with a capital letter; there are none that matter.
            if !allowed {
                findings.push(format!("{} knows {known}", source.path));
            }
        }
    }
    assert_none("a room that knows too much", &findings);
}

#[test]
fn rooms_are_found_in_every_form_of_use() {
    let code = "use crate::git::Git;\nuse crate::{error::{Error, Kind}, stage, tool::x};\nfn f() { crate::ui::show() }";
    let rooms: Vec<_> = known_rooms(code).into_iter().collect();
    assert_eq!(rooms, ["error", "git", "stage", "tool", "ui"]);
}

#[test]
fn only_the_git_room_speaks_to_git() {
    let found = places(&["Command::new(\"git\")", "git2::", "use git2"], &["src/git/"]);
    assert_none("git is spoken to outside src/git", &found);
}

#[test]
fn refs_are_named_in_one_place() {
    let needles =
        ["heads", "tags", "remotes", "notes", "cowork"].map(|kind| format!("\"refs/{kind}"));
    let needles: Vec<&str> = needles.iter().map(String::as_str).collect();
    let found = places(&needles, &["src/git/", "src/session/ref_names.rs"]);
    assert_none("a ref is built outside RefNames", &found);
}

#[test]
fn few_may_spawn() {
    let needles = ["process::Command", "tokio::process", "Command::new("];
    // `forge` starts the user's own `gh` and `glab`, and asks `ssh -G`.
    // `model/agents` starts the agent programs the user named.
    let allowed = [
        "src/git/",
        "src/forge/",
        "src/model/agents/process.rs",
        "src/workspace/",
        "src/gate/",
        "src/cli/",
    ];
    let found = places(&needles, &allowed);
    // clap's own `Command` is something else; `src/cli` may name it but not spawn.
    assert_none("a process is spawned where none should be", &found);
    let found: Vec<_> = places(&["process::Command", "tokio::process"], &allowed[..5]);
    assert_none("the command line spawns", &found);
}

#[test]
fn nobody_below_the_command_line_prints() {
    let found = places(
        &["println!", "print!(", "eprint!(", "stdout()", "dbg!("],
        &["src/ui/", "src/cli/", "src/main.rs", "src/gate/"],
    );
    assert_none("somebody prints", &found);
    let found = places(&["println!", "print!("], &["src/ui/", "src/cli/", "src/main.rs"]);
    assert_none("the gate prints around its terminal", &found);
}

#[test]
fn the_environment_is_read_at_the_edge() {
    // Git's children inherit theirs, and what is answered in their place depends on it.
    let edge = ["src/cli/", "src/config/", "src/main.rs", "src/git/run/environment.rs"];
    let found = places(&["env::var", "env::set_var"], &edge);
    assert_none("the environment is read below the edge", &found);
}

#[test]
fn nothing_panics_on_purpose() {
    let found = places(
        &[".unwrap()", ".expect(", "panic!(", "todo!(", "unimplemented!(", "unreachable!("],
        // A test point that a test arms: it shows what a panic leaves behind.
        &["src/record/abort.rs"],
    );
    assert_none("outside tests, say it with an error", &found);
}

#[test]
fn a_file_fits_into_a_readers_head() {
    let mut findings = Vec::new();
    for source in rust_files("src").into_iter().chain(rust_files("tests")) {
        let lines = source.code.lines().count();
        if lines > 450 {
            findings.push(format!("{}: {lines} lines", source.path));
        }
        if !source.text.starts_with("//!") {
            findings.push(format!("{}: does not begin by saying what it is for", source.path));
        }
        if source.text.contains("#[allow(") {
            findings.push(format!("{}: #[allow] instead of #[expect(…, reason)]", source.path));
        }
    }
    findings.retain(|finding| !finding.starts_with("tests/it/tidy.rs: #"));
    assert_none("a file to look at", &findings);
}

#[test]
fn every_prompt_is_used() {
    let code: String = rust_files("src")
        .into_iter()
        .filter(|source| source.code.contains("../prompts/") || source.code.contains("prompt!("))
        .map(|source| source.code)
        .collect();
    let mut prompts = Vec::new();
    files_below(&root().join("prompts"), &mut prompts);
    let names = prompts.iter().map(|p| p.file_name().unwrap().to_str().unwrap().to_owned());
    let unused: Vec<_> = names
        .filter(|name| name.ends_with(".md") && name != "README.md")
        .filter(|name| !code.contains(&format!("{name}\"")))
        .collect();
    assert_none("a prompt nobody uses", &unused);
}

#[test]
fn tests_neither_sleep_nor_are_ignored_nor_forgotten() {
    let mut findings = Vec::new();
    let tests = rust_files("tests").into_iter().map(|source| (source.path, source.text));
    let unit_tests = rust_files("src").into_iter().map(|source| {
        let tests = source.text[source.code.len()..].to_owned();
        (source.path, tests)
    });
    let needles =
        [concat!("#[ign", "ore"), concat!("thread::sl", "eep("), concat!("env::set", "_var(")];
    for (path, text) in tests.chain(unit_tests) {
        for needle in needles {
            if text.contains(needle) {
                findings.push(format!("{path}: {needle}"));
            }
        }
    }
    assert_none("a test that sleeps, is ignored or changes its process", &findings);
    let main = fs::read_to_string(root().join("tests/it/main.rs")).unwrap();
    let forgotten: Vec<_> = fs::read_dir(root().join("tests/it"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "main" && !main.contains(&format!("mod {name};")))
        .collect();
    assert_none("a test file that main.rs does not name", &forgotten);
}
