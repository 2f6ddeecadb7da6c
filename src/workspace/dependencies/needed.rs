//! Determines from a command's words which projects' dependencies it needs: a test of the top
//! project is meaningful even if a project beside it lacks all dependencies.

use std::path::{Component, Path, PathBuf};

use crate::languages::{self, Language};
use crate::workspace::command::shell;

/// A command's need for the dependencies of one project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Needed {
    /// Not needed.
    Not,
    /// The command may use that project; its words do not show whether it does.
    Perhaps,
    /// Without that project's dependencies the command's result is meaningless.
    Surely,
}

/// Commands that only read files need no dependencies.
const LOOKS: [&str; 32] = [
    "awk", "basename", "cat", "cd", "cut", "date", "diff", "dirname", "du", "echo", "env", "false",
    "file", "find", "git", "grep", "head", "ls", "mkdir", "nl", "printf", "pwd", "rg", "sed",
    "sort", "stat", "tail", "test", "tree", "true", "wc", "which",
];

/// True if a program only reads files.
fn looks(program: &str) -> bool {
    LOOKS.contains(&program)
}

/// True if a command certainly builds nothing.
pub(super) fn only_looks(command: &str) -> bool {
    let script = shell::split(command);
    script.commands.iter().all(|words| words.first().is_some_and(|word| looks(word)))
}

/// Another program that needs no dependencies, besides those listed in `languages` and those that
/// only read files.
const ALONE: &str = "typos";
/// Words that may precede the program.
const BEFORE: [&str; 5] = ["env", "time", "nice", "exec", "command"];
/// Options that name a program's working directory, or a manifest in it.
const DIRECTORY: [&str; 5] = ["-C", "--prefix", "--directory", "--manifest-path", "--project"];

/// Returns whether `command`, run at the `root` of the tree, needs the dependencies of one project:
/// the one in the folder `place` that uses the package manager `manager`. `projects` lists all
/// projects of the tree, each with its manager and folder.
pub(super) fn needed(
    command: &str,
    root: &Path,
    (manager, place): (&str, &Path),
    projects: &[(&str, &Path)],
) -> Needed {
    let mut at = PathBuf::new();
    let mut most = Needed::Not;
    for words in shell::split(command).commands {
        let assigned = |word: &&String| word.contains('=') && !word.starts_with('-');
        let before = |word: &&String| assigned(word) || BEFORE.contains(&word.as_str());
        let words: Vec<&String> = words.iter().skip_while(before).collect();
        let Some(program) = words.first() else { continue };
        if *program == "cd" {
            at = words.get(1).map_or_else(PathBuf::new, |to| joined(root, &at, to));
            continue;
        }
        let program = program.rsplit('/').next().unwrap_or(program);
        let alone = |language: &&Language| language.programs.need_no_packages.contains(&program);
        if looks(program) || program == ALONE || languages::ALL.iter().any(alone) {
            continue;
        }
        let named = words.windows(2).find(|pair| DIRECTORY.contains(&pair[0].as_str()));
        let at = named.map_or_else(|| at.clone(), |pair| joined(root, &at, pair[1]));
        most = most.max(of_program(program, &at, (manager, place), projects));
    }
    most
}

fn of_program(
    program: &str,
    at: &Path,
    (manager, place): (&str, &Path),
    projects: &[(&str, &Path)],
) -> Needed {
    let mut known =
        languages::managers().filter(|known| known.programs.contains(&program)).peekable();
    let anything = known.peek().is_none();
    if !anything && !known.any(|known| known.name == manager) {
        return Needed::Not;
    }
    let within = languages::managers().any(|known| known.name == manager && known.stays_within);
    let around = projects.iter().filter(|(name, own)| *name == manager && at.starts_with(own));
    let nearest = around.map(|(_, own)| *own).max_by_key(|own| own.components().count());
    if nearest == Some(place) {
        Needed::Surely
    } else if place.starts_with(at) && (anything || !within) {
        Needed::Perhaps
    } else {
        Needed::Not
    }
}

/// Resolves `to` relative to `at`; if it is a file, returns its directory. If the result does not
/// exist, resolves `to` relative to the root, because the command may have left a subshell in the
/// meantime.
fn joined(root: &Path, at: &Path, to: &str) -> PathBuf {
    let path = |from: &Path| {
        let mut path = from.to_owned();
        for part in Path::new(to).components() {
            match part {
                Component::Normal(name) => path.push(name),
                Component::ParentDir => {
                    path.pop();
                }
                _ => {}
            }
        }
        if root.join(&path).is_file() {
            path.pop();
        }
        path
    };
    let from_here = path(at);
    if root.join(&from_here).is_dir() { from_here } else { path(Path::new("")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_files_needs_no_dependencies() {
        for command in ["ls -la", "cat a | grep b && cd src; git status", "rg x $(ls)"] {
            assert!(only_looks(command), "{command}");
        }
        for command in
            ["cargo test", "ls && npm test", "./run", "sh -c ls", "X=1 make", "echo $(make)"]
        {
            assert!(!only_looks(command), "{command}");
        }
    }
    use crate::workspace::testing::Tree;

    #[test]
    fn a_command_needs_the_dependencies_of_its_own_project() {
        use Needed::{Not, Perhaps, Surely};
        let tree = Tree::new();
        for file in ["Cargo.toml", "crates/a/x", "web/package.json", "tool/Cargo.toml", "py/x"] {
            tree.put(file, "");
        }
        let projects: Vec<(&str, &Path)> =
            [("cargo", ""), ("cargo", "tool"), ("npm", "web"), ("pip", "py")]
                .map(|(manager, place)| (manager, Path::new(place)))
                .to_vec();
        for (command, all) in [
            ("cargo test", [Surely, Not, Not, Not]),
            ("cd crates/a && RUST_BACKTRACE=1 cargo test", [Surely, Not, Not, Not]),
            ("cargo test --manifest-path tool/Cargo.toml", [Not, Surely, Not, Not]),
            ("(cd tool && cargo test) && (cd web && npm test)", [Not, Surely, Surely, Not]),
            ("npm --prefix web test", [Not, Not, Surely, Not]),
            ("npm test", [Not, Not, Perhaps, Not]),
            ("python3 -m pytest -q", [Not, Not, Not, Perhaps]),
            ("cd py; .venv/bin/pytest", [Not, Not, Not, Surely]),
            ("make test", [Surely, Perhaps, Perhaps, Perhaps]),
            ("make -C web test", [Surely, Not, Surely, Not]),
            ("ruff check && true", [Not; 4]),
            ("echo tested", [Not; 4]),
        ] {
            let found: Vec<Needed> = projects
                .iter()
                .map(|project| needed(command, tree.root(), *project, &projects))
                .collect();
            assert_eq!(found, all, "{command}");
        }
    }
}
