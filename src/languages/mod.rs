//! Programming languages: each has a file with a row that contains everything git-cowork knows
//! about it. Code that is not about one language iterates over [`ALL`].
//!
//! To add a language, add its file here and a line in [`ALL`]. If its symbols should be read, also
//! add its grammar's crate to `Cargo.toml` and a line to [`grammars`].

mod bats;
mod c;
mod commands;
mod csharp;
mod go;
pub(crate) mod grammars;
mod java;
mod javascript;
mod language;
mod makefile;
mod manager;
mod one_test;
mod php;
mod python;
mod ruby;
mod rust;
mod shell;

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

pub use commands::ProjectCommands;
pub use language::{Imports, Language, NodeRole, RunnerOutput, ScriptReader, Syntax, TestCode};
pub use manager::Manager;
pub use one_test::{Among, OneTest, Project, TestName};

/// The languages. If a project has manifests of several languages, the first one determines its
/// commands.
pub static ALL: &[&Language] = &[
    &rust::RUST,
    &ruby::RUBY,
    &javascript::JAVASCRIPT,
    &go::GO,
    &python::PYTHON,
    &java::JAVA,
    &c::C,
    &csharp::CSHARP,
    &php::PHP,
    &bats::BATS,
    &shell::SHELL,
];

/// Returns all grammars.
pub fn syntaxes() -> impl Iterator<Item = &'static Syntax> {
    ALL.iter().flat_map(|language| language.syntaxes)
}

/// Returns all package managers.
pub fn managers() -> impl Iterator<Item = &'static Manager> {
    ALL.iter().flat_map(|language| language.managers)
}

/// Returns the language of a file, by its extension.
pub fn of_file(path: &str) -> Option<&'static Language> {
    /// A map, because the paths of a whole project are looked up for each task.
    static OF_EXTENSIONS: LazyLock<HashMap<&str, &Language>> = LazyLock::new(|| {
        let all = ALL.iter().rev().flat_map(|language| {
            let of_grammars = language.syntaxes.iter().flat_map(|syntax| syntax.extensions);
            language.extensions.iter().chain(of_grammars).map(|extension| (*extension, *language))
        });
        all.collect()
    });
    OF_EXTENSIONS.get(extension(path)?).copied()
}

/// Returns the grammar for a file, with its language.
pub fn syntax_of(path: &str) -> Option<(&'static Language, &'static Syntax)> {
    let (language, extension) = (of_file(path)?, extension(path)?);
    let syntax = language.syntaxes.iter().find(|syntax| syntax.extensions.contains(&extension))?;
    Some((language, syntax))
}

/// Returns the language that a file suggests for its project, by its extension or because it is a
/// manifest of the language; `None` if the language has neither symbols nor guidance.
pub fn shown_by(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let by_name = || {
        static OF_FILES: LazyLock<HashMap<&str, &Language>> = LazyLock::new(|| {
            let all = ALL.iter().rev().flat_map(|language| {
                let names = language.manifests.iter().chain(language.other_files);
                names.map(|name| (*name, *language))
            });
            all.collect()
        });
        OF_FILES.get(name).copied().filter(|language| language.is_described())
    };
    let by_extension =
        of_file(path).filter(|language| syntax_of(path).is_some() || !language.guidance.is_empty());
    by_extension.or_else(by_name)
}

/// Returns the language with this name.
pub fn called(word: &str) -> Option<&'static Language> {
    ALL.iter().find(|language| language.is_called(word)).copied()
}

/// Returns the languages named in a text about technology ("Python 3, sqlite3"), in order, if they
/// have symbols or guidance.
pub fn named_in(words: &str) -> Vec<&'static str> {
    let mut names = Vec::new();
    let words = words.split(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#'));
    let words = words.map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()));
    for language in words.filter_map(called).filter(|language| language.is_described()) {
        if !names.contains(&language.name) {
            names.push(language.name);
        }
    }
    names
}

/// Returns the commands of the project at `root`. If there are manifests of several languages,
/// `template`, the name of a language, takes precedence. Commands that are not found are empty.
pub fn detect_commands(root: &Path, template: &str) -> ProjectCommands {
    let mut languages = ALL.to_vec();
    // A stable sort puts the template's language first.
    languages.sort_by_key(|language| !language.is_called(template));
    let commands = languages.iter().find_map(|language| (language.commands)(root));
    shell::complete(makefile::complete(commands.unwrap_or_default(), root), root)
}

/// Returns the function that reads the test command from a file with this name.
pub fn test_script(path: &str) -> Option<ScriptReader> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut scripts = ALL.iter().filter_map(|language| language.test_script);
    let script = scripts.find(|(file, _)| *file == name).map(|(_, read)| read);
    script.or(makefile::is_makefile(name).then_some(makefile::test_recipe as ScriptReader))
}

fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map(|(_, extension)| extension)
}

#[cfg(test)]
mod one_test_tests;
#[cfg(test)]
mod several_tests;
#[cfg(test)]
mod tests;
