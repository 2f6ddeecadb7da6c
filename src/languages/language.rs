//! What the program knows of one language: a row of data, with functions where files have to be
//! looked into. [`PLAIN`] is a row that knows nothing; a language says what it has beside that.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use super::commands::ProjectCommands;
use super::manager::Manager;
use super::one_test::OneTest;

/// Reads something out of the text of a file.
pub type Reader = fn(text: &str) -> Option<String>;

/// A language, or languages that share their tools and use each other's names.
#[derive(Debug)]
pub struct Language {
    /// As configurations and guidance call it.
    pub name: &'static str,
    /// Other words for it, in lower case.
    pub also: &'static [&'static str],
    /// Extensions of files that have no grammar here.
    pub extensions: &'static [&'static str],
    /// Grammars, by which files are taken apart into symbols.
    pub syntaxes: &'static [Syntax],
    /// Names of its manifests; the first says the most.
    pub manifests: &'static [&'static str],
    /// Names of other files that only projects in it have.
    pub other_files: &'static [&'static str],
    /// How a file says what it takes from others.
    pub imports: Imports,
    /// Whether a definition with this name, in this type (if any) and with this head is for its file
    /// alone. Those of a trait never are.
    pub is_private: fn(name: &str, owner: &str, head: &str) -> bool,
    /// What tests look like in it.
    pub tests: Option<TestCode>,
    /// What its test runners print.
    pub runners: RunnerOutput,
    /// What is known of one test that somebody names.
    pub one_test: Option<OneTest>,
    /// The tests in a file that holds code, too, as ranges of bytes; none where they cannot be told
    /// from the code for sure.
    pub tests_beside_code: fn(text: &str) -> Option<Vec<Range<usize>>>,
    /// The command in a file of this name, one of the manifests, that runs the tests.
    pub test_script: Option<(&'static str, Reader)>,
    /// The commands of a project at this place; none where it is not a project in this language.
    pub commands: fn(&Path) -> Option<ProjectCommands>,
    /// Its programs.
    pub programs: Programs,
    /// What fetches packages for it.
    pub managers: &'static [Manager],
    /// Names of folders that hold installed packages or what programs write.
    pub foreign_folders: &'static [&'static str],
    /// How it is written, for those who design and write code; possibly empty. A user replaces it by
    /// a file `guidance-NAME.md`.
    pub guidance: &'static str,
}

/// A language nothing is known of.
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

impl Language {
    /// Whether a word, in any case, means this language.
    pub fn is_called(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        self.name == word || self.also.contains(&word.as_str())
    }

    /// Whether there is anything to be said of it: symbols, or how it is written.
    pub fn is_described(&self) -> bool {
        !self.syntaxes.is_empty() || !self.guidance.is_empty()
    }
}

/// A grammar, the files it is for, and what a definition looks like in it.
#[derive(Debug)]
pub struct Syntax {
    /// Its name in [`grammars`](super::grammars).
    pub name: &'static str,
    /// Extensions of its files.
    pub extensions: &'static [&'static str],
    /// The syntax nodes that mean something.
    pub shapes: &'static [(&'static str, Shape)],
    /// A type's body is not called one: it begins at the first brace.
    pub bodies_by_brace: bool,
}

/// What a syntax node means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
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
    /// A function without a name, which hides what it defines as well.
    Anonymous,
    /// It names what is defined elsewhere. Nodes whose name begins with `import` need no row.
    Import,
}

/// How a file says what it takes from others.
#[derive(Debug)]
pub struct Imports {
    /// What such lines begin with.
    pub begins: &'static [&'static str],
    /// Words in them that are no names.
    pub words: &'static [&'static str],
    /// Files, without extension, that stand for the folder they are in.
    pub folder_files: &'static [&'static str],
    /// What is imported is a folder, not a file.
    pub package_is_folder: bool,
}

/// What tests look like in a language: patterns for one line, where an empty one matches nothing.
#[derive(Debug)]
pub struct TestCode {
    /// Begins a test; its first group that matches is the name. Where it is empty a whole file is
    /// one test.
    pub head: &'static str,
    /// What stands before the head, where the head alone is any function.
    pub mark: &'static str,
    /// Begins a line of attributes or decorators. No pattern.
    pub decoration: &'static str,
    /// Encloses tests; with a group `name`.
    pub group: &'static str,
    /// Keeps a test from being run: before its head, in it, or in its body.
    pub skip: &'static str,
    /// The same for all tests of the file, wherever it stands.
    pub skip_all: &'static str,
    /// An assertion.
    pub assertion: &'static str,
    /// Begins a line that is a comment. No pattern.
    pub comment: &'static str,
}

/// What test runners print of tests that fail: patterns for one line.
///
/// All languages' are tried on every line, because a command such as `make test` does not tell which
/// runner it starts. The first that matches counts, in the order of the table.
#[derive(Debug)]
pub struct RunnerOutput {
    /// Lines that name a test that failed, each with a group `name`. A name has to be the same in
    /// two runs and needs no other meaning.
    pub failed: &'static [&'static str],
    /// What such a line may name that is no test.
    pub not_tests: &'static [&'static str],
    /// Tests that failed, where more than one line tells which.
    pub failed_in: fn(output: &str) -> BTreeSet<String>,
    /// Lines that begin the report of one test that failed, each with a group `name`.
    pub reports: &'static [&'static str],
    /// Where such a report ends, besides at the next one.
    pub ends: &'static [&'static str],
}

/// The programs of a language.
#[derive(Debug)]
pub struct Programs {
    /// Those that run tests when they are told `test`: `NAME test`.
    pub run_tests: &'static [&'static str],
    /// Frameworks whose name alone means tests.
    pub test_frameworks: &'static [&'static str],
    /// Those that need none of a project's packages.
    pub need_no_packages: &'static [&'static str],
    /// How commands begin that can be given a path to look at only that.
    pub take_paths: &'static [&'static str],
    /// How linters begin, and what makes them fix what they find.
    pub fix: &'static [(&'static str, &'static str)],
    /// What they print when a part of them is not installed.
    pub not_installed: &'static [&'static str],
}
