//! The description of one language: a row of data, with functions for facts that depend on files.
//! [`PLAIN`] is an empty row; each language overrides some of its fields.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use super::commands::ProjectCommands;
use super::manager::Manager;
use super::one_test::OneTest;

/// Reads a value from the text of a file.
pub type ScriptReader = fn(text: &str) -> Option<String>;

/// A language, or several languages that share their tools and use each other's symbols.
#[derive(Debug)]
pub struct Language {
    /// The name in configuration and guidance.
    pub name: &'static str,
    /// Other names, in lower case.
    pub also: &'static [&'static str],
    /// Extensions of files for which there is no grammar.
    pub extensions: &'static [&'static str],
    /// Grammars, which are used to find the symbols in files.
    pub syntaxes: &'static [Syntax],
    /// Names of manifests; the first is the most reliable.
    pub manifests: &'static [&'static str],
    /// Names of other files that only projects in this language have.
    pub other_files: &'static [&'static str],
    /// How a file imports other files.
    pub imports: Imports,
    /// Returns true if a definition is private to its file. `owner` is the type that contains the
    /// definition, if any; `head` is its signature. Definitions of a trait are never private.
    pub is_private: fn(name: &str, owner: &str, head: &str) -> bool,
    /// Patterns for tests in source code.
    pub tests: Option<TestCode>,
    /// Patterns for the output of test runners.
    pub runners: RunnerOutput,
    /// How to run one test, and how to recognize it in output.
    pub one_test: Option<OneTest>,
    /// Returns the byte ranges of tests in a file that also contains code; `None` if they cannot be
    /// separated reliably.
    pub tests_beside_code: fn(text: &str) -> Option<Vec<Range<usize>>>,
    /// Reads the test command from a file of this name, which is one of the manifests.
    pub test_script: Option<(&'static str, ScriptReader)>,
    /// Returns the commands of a project in this directory; `None` if the project is not in this
    /// language.
    pub commands: fn(&Path) -> Option<ProjectCommands>,
    /// The programs of the language.
    pub programs: Programs,
    /// Its package managers.
    pub managers: &'static [Manager],
    /// Names of folders with installed packages or generated files.
    pub foreign_folders: &'static [&'static str],
    /// Guidance for models that design and write code; may be empty. A user's file
    /// `guidance-NAME.md` replaces it.
    pub guidance: &'static str,
}

/// A language with empty fields.
pub const PLAIN: Language = Language {
    name: "",
    also: &[],
    extensions: &[],
    syntaxes: &[],
    manifests: &[],
    other_files: &[],
    imports: Imports { begins: &[], words: &[], folder_files: &[], package_is_folder: false },
    is_private: |_, _, _| false,
    tests: None,
    runners: RunnerOutput {
        failed: &[],
        not_tests: &[],
        failed_in: |_| BTreeSet::new(),
        reports: &[],
        ends: &[],
    },
    one_test: None,
    tests_beside_code: |_| None,
    test_script: None,
    commands: |_| None,
    programs: Programs {
        run_tests: &[],
        test_frameworks: &[],
        need_no_packages: &[],
        take_paths: &[],
        fix: &[],
        not_installed: &[],
    },
    managers: &[],
    foreign_folders: &[],
    guidance: "",
};

/// Patterns that match nothing.
pub const NO_PATTERNS: TestCode = TestCode {
    head: "",
    by_path: false,
    mark: "",
    decoration: "",
    group: "",
    skip: "",
    skip_all: "",
    assertion: "",
    comment: "",
};

impl Language {
    /// True if a word, ignoring case, is a name of this language.
    pub fn is_called(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        self.name == word || self.also.contains(&word.as_str())
    }

    /// True if the language has symbols or guidance.
    pub fn is_described(&self) -> bool {
        !self.syntaxes.is_empty() || !self.guidance.is_empty()
    }
}

/// A grammar, its files, and its syntax nodes for definitions.
#[derive(Debug)]
pub struct Syntax {
    /// The grammar's name in [`grammars`](super::grammars).
    pub name: &'static str,
    /// Extensions of the files.
    pub extensions: &'static [&'static str],
    /// The relevant syntax nodes.
    pub shapes: &'static [(&'static str, NodeRole)],
    /// True if the grammar has no field for the body of a type: the first brace then starts the
    /// body.
    pub bodies_by_brace: bool,
}

/// The meaning of a syntax node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRole {
    /// Code that runs: definitions inside it are local.
    Code,
    /// A type or another container of definitions.
    Type,
    /// Like [`Shape::Type`] if it has a body; without a body, the code only mentions the type.
    TypeWithBody,
    /// Not a definition, but the definitions inside it belong to the type in its field `type`.
    Implementation,
    /// A variable, which is a definition if its value is code and it is at the top level.
    Variable,
    /// A declaration, which is a definition if it declares a function.
    Prototype,
    /// An anonymous function: definitions inside it are local as well.
    Anonymous,
    /// An import of names that are defined elsewhere. Nodes whose name starts with `import` need no
    /// row.
    Import,
}

/// How a file imports other files.
#[derive(Debug)]
pub struct Imports {
    /// The starts of import lines.
    pub begins: &'static [&'static str],
    /// Words in these lines that are not names.
    pub words: &'static [&'static str],
    /// Files, given without extension, that represent their folder.
    pub folder_files: &'static [&'static str],
    /// True if folders are imported, not files.
    pub package_is_folder: bool,
}

/// Patterns for tests in a language's source code. Each matches one line; an empty pattern matches
/// nothing.
#[derive(Debug)]
pub struct TestCode {
    /// The start of a test; the first group that matches is the name.
    pub head: &'static str,
    /// True if any file may hold such starts by chance, so that only a file with the path of a test
    /// has tests; without a start, that whole file is one test.
    pub by_path: bool,
    /// A line before the head that marks a test; needed if the head matches any function.
    pub mark: &'static str,
    /// The start of a line with attributes or decorators; not a pattern.
    pub decoration: &'static str,
    /// The start of a block that contains tests, with a group `name`.
    pub group: &'static str,
    /// Disables a test: before its head, in its head, or in its body.
    pub skip: &'static str,
    /// Disables all tests of the file, anywhere in it.
    pub skip_all: &'static str,
    /// An assertion.
    pub assertion: &'static str,
    /// The start of a comment line; not a pattern.
    pub comment: &'static str,
}

/// Patterns for the output of test runners about failed tests. Each matches one line.
///
/// The patterns of all languages are tried on every line, because a command such as `make test`
/// does not show which runner it starts. The first match counts, in the order of the table.
#[derive(Debug)]
pub struct RunnerOutput {
    /// Lines that name a failed test, each with a group `name`. A name need not be exact, as long
    /// as it is the same in every run.
    pub failed: &'static [&'static str],
    /// Names in such lines that are not tests.
    pub not_tests: &'static [&'static str],
    /// Finds failed tests whose names must be put together from more than one line.
    pub failed_in: fn(output: &str) -> BTreeSet<String>,
    /// Lines that start the report of one failed test, each with a group `name`.
    pub reports: &'static [&'static str],
    /// Lines that end such a report, besides the start of the next one.
    pub ends: &'static [&'static str],
}

/// The programs of a language.
#[derive(Debug)]
pub struct Programs {
    /// Programs that run tests with the argument `test`: `NAME test`.
    pub run_tests: &'static [&'static str],
    /// Names of test frameworks: a command that contains one runs tests.
    pub test_frameworks: &'static [&'static str],
    /// Programs that need none of the project's packages.
    pub need_no_packages: &'static [&'static str],
    /// The starts of commands that accept paths to check.
    pub take_paths: &'static [&'static str],
    /// The starts of linter commands, with the option that fixes findings.
    pub fix: &'static [(&'static str, &'static str)],
    /// Messages that report that a part of the program is not installed.
    pub not_installed: &'static [&'static str],
}
