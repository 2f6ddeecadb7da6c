//! README and the pages of `docs/`: each command in them is run, or its options looked up; each
//! example of a configuration is read; site and manual have every page.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use regex::Regex;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;

use crate::depth::with_code;
use crate::support::outcome::Outcome;
use crate::support::snapshot::steady;
use crate::support::todo::reject;
use crate::support::{Reply, Sandbox, at, at_once};
use crate::tidy::{files_below, root};

/// Where a line of a `sh` block is run, and its exit code. The first row whose text the line contains
/// counts; other lines end with 0 in a delivered session.
const LINES: &[(&str, Place, i32)] = &[
    // They install the program or compile it: `cargo test` itself has done so.
    ("cargo install", Place::Nowhere, NOT_RUN),
    ("cargo test", Place::Nowhere, NOT_RUN),
    // It takes the terminal.
    ("demo --ask", Place::Nowhere, 2),
    ("cargo run -- demo", Place::Nowhere, 0),
    ("man --install", Place::Nowhere, 0),
    // A draft waits at the first gate.
    ("git cowork new -F specs/001-todo-list", Place::Specs, 3),
    ("git cowork new -F openspec/changes/add-export", Place::Specs, 3),
    ("git cowork new --from", Place::Delivered, 3),
    ("git cowork new --depth quick", Place::Code, 3),
    ("git cowork new", Place::New, 3),
    ("git cowork adopt", Place::Adopted, 3),
    ("git cowork modify", Place::Change, 3),
    ("git cowork feedback", Place::Delivered, 3),
    ("git cowork resume --depth", Place::Quick, 3),
    ("git cowork resume todo -w", Place::Stopped, 3),
    ("git cowork resume", Place::Stopped, 3),
    ("git cowork revert", Place::Planned, 3),
    ("git cowork undo", Place::Reverted, 0),
    ("git cowork restore todo 1", Place::Reverted, 0),
    ("git cowork review --stage", Place::Delivered, 0),
    ("git cowork verify", Place::Remote, 0),
    ("feedback_history.json", Place::Rejected, 0),
    ("git cowork review", Place::Waiting, 0),
    ("git cowork trust", Place::Untrusted, 0),
    ("git cowork init", Place::New, 0),
    ("git cowork pr", Place::Remote, 0),
    ("git cowork doctor", Place::New, 0),
    ("todo.sh", Place::Demo, 0),
];

/// The kinds of code blocks; those of `sh` and `console` are run, those of `toml` are read.
const KINDS: [&str; 6] = ["sh", "console", "toml", "text", "json", "markdown"];

/// The exit code of a line that is only looked up in the help.
const NOT_RUN: i32 = -1;

#[derive(Clone, Copy, Debug)]
enum Place {
    Nowhere,
    New,
    /// With the folders of other tools.
    Specs,
    /// With a branch written by hand.
    Adopted,
    Untrusted,
    /// With code, and the model knows a quick plan.
    Code,
    /// A quick plan waits.
    Quick,
    Stopped,
    Planned,
    /// The plan waits.
    Waiting,
    /// The critic has rejected a draft.
    Rejected,
    Reverted,
    Delivered,
    /// Delivered, and the model knows a change.
    Change,
    /// Delivered, with a remote.
    Remote,
    /// The repository of the demo.
    Demo,
}

impl Place {
    fn make(self) -> Sandbox {
        match self {
            Self::Nowhere => Sandbox::nowhere(),
            Self::New => Sandbox::new(),
            Self::Specs => {
                let sandbox = Sandbox::new();
                let corpus = root().join("tests/corpus/specs");
                for (from, to) in [
                    ("spec-kit", "specs/001-todo-list"),
                    ("openspec", "openspec/changes/add-export"),
                ] {
                    fs::create_dir_all(sandbox.path(to).parent().unwrap()).unwrap();
                    let mut copy = sandbox.command("cp");
                    copy.arg("-R").arg(corpus.join(from)).arg(sandbox.path(to));
                    assert!(copy.status().unwrap().success());
                }
                sandbox.commit_all("specs");
                sandbox
            }
            Self::Adopted => {
                let sandbox = Sandbox::new();
                sandbox.git(&["switch", "-q", "-c", "feature/due-dates"]);
                sandbox.commit_file("due.sh", "echo due\n", "Add due dates");
                sandbox.git(&["switch", "-q", "main"]);
                sandbox
            }
            Self::Untrusted => {
                let sandbox = Sandbox::new();
                sandbox.write(".cowork/config.toml", "[limits]\ntool_turns = 40\n");
                sandbox
            }
            Self::Stopped => Sandbox::stopped_after("idea"),
            Self::Planned => Sandbox::stopped_after("plan"),
            Self::Code => with_code(),
            Self::Quick => {
                let sandbox = with_code();
                sandbox.wait(&["--depth", "quick"]).exits(3);
                sandbox
            }
            Self::Rejected => {
                let sandbox = Sandbox::new();
                sandbox.server.times(1, at("prd", "critic").iteration(1), reject("too vague"));
                sandbox.auto(&["--stop-after", "prd"]).exits(0);
                sandbox
            }
            Self::Waiting => {
                let mut sandbox = Sandbox::stopped_after("design");
                sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
                sandbox.editor("echo >>\"$f\"");
                sandbox
            }
            Self::Reverted => {
                let sandbox = Sandbox::stopped_after("prd");
                sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
                sandbox
            }
            Self::Delivered => {
                let sandbox = Sandbox::delivered();
                // What the pages ask `why` and git about, and a reviewer's comments.
                sandbox.commit_file("src/store.rs", &"line\n".repeat(40), "mine");
                sandbox.executable(&sandbox.root().join("bin/gh"), "echo 'Say that it is empty.'");
                let edit =
                    json!({"path": "lib/list.sh", "old_text": "List todos", "new_text": "List"});
                let review = at("coding", "actor").task("TASK-006").turn(1);
                sandbox.server.on(review, Reply::call("edit_file", edit));
                sandbox
            }
            Self::Change => {
                let sandbox = Sandbox::delivered();
                sandbox.script_small_change("lib/list.sh", "done");
                sandbox
            }
            Self::Demo => {
                let mut sandbox = Sandbox::nowhere();
                let folder = sandbox.root().join("demo");
                sandbox.cowork(&["demo", &folder.display().to_string()]).exits(0);
                sandbox.enter(folder);
                sandbox
            }
            Self::Remote => {
                let sandbox = Sandbox::delivered();
                let remote = sandbox.root().join("remote").display().to_string();
                sandbox.git(&["init", "-q", "--bare", &remote]);
                sandbox.git(&["remote", "add", "origin", &remote]);
                sandbox.git(&["push", "-q", "origin", "main"]);
                sandbox
            }
        }
    }
}

/// A page: its path below the package and its text.
struct Page {
    path: String,
    text: String,
}

/// README and all pages.
fn pages() -> Vec<Page> {
    let mut paths = vec!["README.md".to_owned()];
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            paths.push(format!("docs/{name}"));
        }
    }
    paths.sort();
    paths.into_iter().map(page).collect()
}

fn page(path: String) -> Page {
    Page { text: fs::read_to_string(root().join(&path)).unwrap(), path }
}

/// The code blocks of a kind, and the code in the text (kind "").
fn code(page: &Page, kind: &str) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), false);
    for event in Parser::new_ext(&page.text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(block)) => {
                let CodeBlockKind::Fenced(info) = block else { panic!("{}: no kind", page.path) };
                assert!(KINDS.contains(&&*info), "{}: code of kind {info}", page.path);
                open = *info == *kind;
            }
            Event::End(TagEnd::CodeBlock) => open = false,
            Event::Text(text) if open => found.push(text.into_string()),
            Event::Code(code) if kind.is_empty() => found.push(code.into_string()),
            _ => {}
        }
    }
    found
}

/// The command lines of the page's shell blocks, without comments.
fn lines(page: &Page) -> Vec<String> {
    let mut lines = Vec::new();
    for block in code(page, "sh") {
        let joined = block.replace("\\\n", " ");
        let typed = joined.lines().map(|line| line.split(" #").next().unwrap_or(line).trim());
        lines.extend(
            typed.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned),
        );
    }
    for block in code(page, "console") {
        lines.extend(block.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned));
    }
    lines
}

/// The line as `sh` runs it here: the program by its own name, its output not read by another shell.
fn runnable(line: &str) -> String {
    let line = line.replace("cargo run -- ", "git-cowork ");
    let inner = line.strip_prefix("source <(").map(|rest| rest.trim_end_matches(')').to_owned());
    inner.unwrap_or(line).replace(" | source", "")
}

#[test]
fn every_line_of_the_shell_runs() {
    let mut all = BTreeSet::new();
    for page in pages() {
        all.extend(lines(&page).into_iter().map(|line| (line, page.path.clone())));
    }
    assert!(all.len() >= 80, "{all:#?}");
    let unused: Vec<_> = LINES
        .iter()
        .filter(|(text, ..)| !all.iter().any(|(line, _)| line.contains(text)))
        .collect();
    assert!(unused.is_empty(), "no page has {unused:?}");
    let wrong: Vec<String> = at_once(chunks(all, 6), |lines| {
        lines.iter().filter_map(|(line, page)| ends_otherwise(line, page)).collect::<Vec<_>>()
    })
    .concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// As many parts as this, of about the same length.
fn chunks<T>(all: impl IntoIterator<Item = T>, parts: usize) -> Vec<Vec<T>> {
    let mut chunks: Vec<Vec<T>> = (0..parts).map(|_| Vec::new()).collect();
    for (at, one) in all.into_iter().enumerate() {
        chunks[at % parts].push(one);
    }
    chunks
}

fn ends_otherwise(line: &str, page: &str) -> Option<String> {
    let row = LINES.iter().find(|(text, ..)| line.contains(text));
    let &(_, place, code) = row.unwrap_or(&("", Place::Delivered, 0));
    if code == NOT_RUN {
        return help_of(line).and_then(|outcome| unlike(page, line, 0, &outcome));
    }
    let sandbox = place.make();
    unlike(page, line, code, &sandbox.shell(&runnable(line)))
}

fn unlike(page: &str, line: &str, code: i32, outcome: &Outcome) -> Option<String> {
    (outcome.code != code).then(|| {
        let Outcome { code: actual, stdout, stderr, .. } = outcome;
        format!("{page}: {line}\nexit {actual} and not {code}\n{stdout}{stderr}")
    })
}

/// The help that the command's line ends in when `-h` is added: it names what does not exist. `None`
/// where the line is not one of this program's, or names a command in general.
fn help_of(line: &str) -> Option<Outcome> {
    let at = line.find("git cowork ")?;
    let typed = line[at + "git cowork ".len()..].split(['|', ')', '&', '>']).next()?;
    if typed.starts_with(char::is_uppercase) || typed.starts_with("help ") {
        return None;
    }
    Some(Sandbox::nowhere().shell(&format!("git-cowork {typed} -h")))
}

#[test]
fn what_the_pages_show_of_the_demo_comes_out_of_it() {
    let demo = Place::Demo.make();
    let log = "git log --graph --oneline --decorate";
    let mut compared = 0;
    for page in pages() {
        for block in code(&page, "console") {
            let (command, shown) = match block.split_once('\n') {
                Some((typed, shown)) if typed.contains("todo.sh") => {
                    (typed.trim_start_matches("$ "), shown)
                }
                _ if block.starts_with("* ") => (log, block.as_str()),
                _ => continue,
            };
            let printed = steady(&demo.shell(command).exits(0).stdout);
            let mut rest = printed.lines();
            for line in steady(shown).lines().filter(|line| !matches!(line.trim(), "…" | "* …"))
            {
                let line = line.trim_end();
                assert!(rest.any(|one| one.trim_end() == line), "{}: {line}\n{printed}", page.path);
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 3, "README's log and why, and docs/why.md");
    let written = ["prd", "design", "plan"].map(|name| {
        let path = format!("cowork/todo:.cowork/sessions/todo/{name}.md");
        demo.git(&["show", &path]).lines().count()
    });
    let told = format!("({} lines in the demo)", written.iter().sum::<usize>());
    assert!(page("README.md".into()).text.contains(&told), "README: {told}");
}

#[test]
fn every_command_in_the_text_is_one_of_the_program() {
    let mut all = BTreeSet::new();
    for page in pages() {
        let named = code(&page, "").into_iter().filter(|code| code.contains("git cowork "));
        // Stages and the like stand for one of them.
        let example = |code: String| code.replace("STAGE", "plan").replace("COMMIT", "1234567");
        all.extend(named.map(|code| (example(code), page.path.clone())));
    }
    assert!(all.len() >= 60, "{all:#?}");
    let wrong: Vec<String> = at_once(chunks(all, 4), |lines| {
        let unlike = |(line, page): &(String, String)| unlike(page, line, 0, &help_of(line)?);
        lines.iter().filter_map(unlike).collect::<Vec<_>>()
    })
    .concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_configuration_is_read() {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("AZURE_KEY", "a-key-for-azure");
    let mut read = 0;
    for page in pages() {
        for block in code(&page, "toml") {
            sandbox.user_config(&block);
            let outcome = sandbox.cowork(&["config"]);
            assert_eq!(outcome.code, 0, "{}:\n{block}\n{}", page.path, outcome.stderr);
            read += 1;
        }
    }
    assert!(read >= 10, "{read}");
}

#[test]
fn the_page_about_configuration_has_every_setting() {
    let sandbox = Sandbox::new();
    sandbox.cowork(&["init"]).exits(0);
    let written = sandbox.read(".cowork/config.toml");
    let page = pages().into_iter().find(|page| page.path == "docs/configuration.md").unwrap();
    let shown = code(&page, "toml").pop().unwrap();
    let different = shown.lines().zip(written.lines()).find(|(shown, written)| shown != written);
    let again = "copy the file that `git cowork init` writes";
    assert_eq!(different, None, "{}: {again}", page.path);
    assert!(shown == written, "{}: {again}", page.path);
}

#[test]
fn site_and_manual_have_every_page() {
    let (summary, contents) = (page("docs/SUMMARY.md".into()), page("docs/README.md".into()));
    let sandbox = Sandbox::nowhere();
    // Nothing of the text is lost on the way but the languages of code, and the headers of
    // tables with two columns.
    let headers = Regex::new(r"(?m)^\|[^|\n]*\|[^|\n]*\|\n\| -|^```\w+").unwrap();
    for page in pages() {
        let Some(name) = page.path.strip_prefix("docs/") else { continue };
        if name != "SUMMARY.md" {
            assert!(summary.text.contains(&format!("({name})")), "SUMMARY.md lacks {name}");
        }
        if ["SUMMARY.md", "README.md"].contains(&name) {
            continue;
        }
        assert!(contents.text.contains(&format!("({name})")), "docs/README.md lacks {name}");
        let name = name.trim_end_matches(".md");
        let shown = sandbox.cowork(&["man", &format!("gitcowork-{name}")]).exits(0).stdout;
        let title = page.text.lines().next().unwrap().trim_start_matches("# ").replace('-', "\\-");
        let title = title.replace('\'', "\\*(Aq");
        assert!(shown.contains(&format!("gitcowork\\-{name} \\- {title}\n")), "{name}: {shown}");
        let text = headers.replace_all(&page.text, "");
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 6) {
            let upper = word.to_uppercase();
            assert!(shown.contains(word) || shown.contains(&upper), "{name} lacks {word}");
        }
    }
}

#[test]
fn links_lead_to_files_that_are_there() {
    let others = ["CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md"].map(str::to_owned);
    for page in pages().into_iter().chain(others.map(page)) {
        let folder = root().join(&page.path).parent().unwrap().to_owned();
        for event in Parser::new_ext(&page.text, Options::ENABLE_TABLES) {
            let (Event::Start(Tag::Link { dest_url, .. })
            | Event::Start(Tag::Image { dest_url, .. })) = event
            else {
                continue;
            };
            let file = dest_url.split('#').next().unwrap();
            let is_here = dest_url.contains("://") || file.is_empty() || folder.join(file).exists();
            assert!(is_here, "{}: {dest_url}", page.path);
        }
    }
}

#[test]
fn the_architecture_names_files_that_are_there() {
    let (mut files, mut gone) = (Vec::new(), Vec::new());
    for folder in ["src", "tests", "benches"] {
        files_below(&root().join(folder), &mut files);
    }
    files.push(root().join("build.rs"));
    let architecture = page("ARCHITECTURE.md".into());
    for name in code(&architecture, "").iter().filter(|name| name.ends_with(".rs")) {
        if !name.contains('X') && !files.iter().any(|file| file.ends_with(name)) {
            gone.push(name.clone());
        }
    }
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn readme_and_architecture_are_short() {
    for (path, most) in [("README.md", 12_000), ("ARCHITECTURE.md", 45_000)] {
        let size = page(path.into()).text.len();
        assert!(size <= most, "{path}: {size} bytes");
    }
}
