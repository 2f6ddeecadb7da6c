//! Finds the tests in a source file, line by line, with patterns for common languages.
//!
//! Files are not parsed. A test starts at its head and ends where the indentation does; this is
//! sometimes wrong, but good enough to show people where to look.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;

use crate::languages::{self, Language, TestCode};

/// A test in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// The name, preceded by those of its groups; empty if a whole file is one test.
    pub name: String,
    /// The number of marks that skip it.
    pub skips: usize,
    /// The number of assertions.
    pub assertions: usize,
}

impl Test {
    /// The name without its groups.
    pub(crate) fn short(&self) -> &str {
        self.name.rsplit(" › ").next().unwrap_or(&self.name)
    }
}

/// The compiled patterns of a language; `None` for missing ones.
struct Patterns {
    code: &'static TestCode,
    head: Option<Regex>,
    mark: Option<Regex>,
    group: Option<Regex>,
    skip: Option<Regex>,
    skip_all: Option<Regex>,
    assertion: Option<Regex>,
}

impl Patterns {
    fn of(language: &'static Language) -> Option<Self> {
        let code = language.tests.as_ref()?;
        let ready = |form: &str| (!form.is_empty()).then(|| Regex::new(form).ok()).flatten();
        Some(Self {
            code,
            head: ready(code.head),
            mark: ready(code.mark),
            group: ready(code.group),
            skip: ready(code.skip),
            skip_all: ready(code.skip_all),
            assertion: ready(code.assertion),
        })
    }
}

/// The number of matches in a line.
fn count(form: &Option<Regex>, line: &str) -> usize {
    form.as_ref().map_or(0, |form| form.find_iter(line).count())
}

fn shows(form: &Option<Regex>, line: &str) -> bool {
    form.as_ref().is_some_and(|form| form.is_match(line))
}

/// The patterns of each language, compiled when they are first needed: compiling all of them takes
/// longer than using one.
static KNOWN: LazyLock<Vec<OnceLock<Option<Patterns>>>> =
    LazyLock::new(|| languages::ALL.iter().map(|_| OnceLock::new()).collect());

/// The patterns of a language.
fn patterns(language: &'static Language) -> Option<&'static Patterns> {
    let at = languages::ALL.iter().position(|known| known.name == language.name)?;
    KNOWN.get(at)?.get_or_init(|| Patterns::of(language)).as_ref()
}

static TEST_PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^t/|(?:^|/)(?:__tests__|tests?|specs?)(?:/|$)|(?:^|[/._-])(?:tests?|specs?)(?:[._-]|$)|[a-z0-9](?:Tests?|Spec)\.(?-u:\w)+$").ok()
});

/// True if tests usually have such a path.
pub(crate) fn is_test_path(path: &str) -> bool {
    TEST_PATH.as_ref().is_some_and(|form| form.is_match(path))
}

/// True if a file with this name may contain tests, or configures how they are run.
pub(crate) fn knows(path: &str) -> bool {
    languages::test_script(path).is_some()
        || languages::of_file(path).is_some_and(|language| language.tests.is_some())
}

/// The tests in a file's text; `None` if its language is unknown.
pub(crate) fn tests_in(path: &str, text: &str) -> Option<Vec<Test>> {
    let language = languages::of_file(path)?;
    let patterns = patterns(language)?;
    let mut tests = match patterns.code.by_path {
        true if !is_test_path(path) => Vec::new(),
        _ => Finder::new(patterns).run(text),
    };
    if patterns.code.by_path && is_test_path(path) && tests.is_empty() {
        tests.push(whole(patterns, text));
    }
    if text.lines().any(|line| shows(&patterns.skip_all, line)) {
        tests.iter_mut().for_each(|test| test.skips += 1);
    }
    Some(tests)
}

/// The lines that are not comments. Whole lines are skipped, even if code follows a `*/`.
fn lines<'a>(patterns: &Patterns, text: &'a str) -> impl Iterator<Item = &'a str> {
    let comment = patterns.code.comment;
    let blocks = comment == "//";
    let mut inside = false;
    text.lines().filter(move |line| {
        let line = line.trim_start();
        if blocks && line.starts_with("/*") {
            inside = true;
        }
        let hidden = inside;
        if inside && line.contains("*/") {
            inside = false;
        }
        !hidden && !line.is_empty() && (comment.is_empty() || !line.starts_with(comment))
    })
}

fn whole(patterns: &Patterns, text: &str) -> Test {
    let sum = |form| lines(patterns, text).map(|line| count(form, line)).sum();
    let (skips, assertions) = (sum(&patterns.skip), sum(&patterns.assertion));
    Test { name: String::new(), skips, assertions }
}

/// An open group: its indentation, its name, and whether it skips its tests.
type Group = (usize, String, bool);

/// The state while reading the lines of a file.
struct Finder<'a> {
    patterns: &'a Patterns,
    tests: Vec<Test>,
    groups: Vec<Group>,
    /// Attributes and decorators of the next item.
    marks: Vec<&'a str>,
    /// The indentation of the test whose body is being read.
    body: Option<usize>,
}

impl<'a> Finder<'a> {
    fn new(patterns: &'a Patterns) -> Self {
        Self { patterns, tests: Vec::new(), groups: Vec::new(), marks: Vec::new(), body: None }
    }

    fn run(mut self, text: &'a str) -> Vec<Test> {
        for line in lines(self.patterns, text) {
            self.line(line);
        }
        self.tests
    }

    fn line(&mut self, line: &'a str) {
        let word = line.trim_start();
        let indent = line.len() - word.len();
        // The last line of a multi-line signature does not end the body.
        let goes_on = word.starts_with([')', '{']) || word.starts_with("where");
        if !goes_on {
            self.body.take_if(|body| indent <= *body);
        }
        let closes = word.starts_with(['}', ')', ']', '{']) || word.starts_with("end");
        if !closes {
            self.groups.retain(|(group, ..)| *group < indent);
        }
        let p = self.patterns;
        let group = p.group.as_ref().and_then(|group| group.captures(line));
        if let Some(name) = group.and_then(|found| found.name("name")) {
            let skipped = self.marks.drain(..).chain([line]).any(|line| shows(&p.skip, line));
            self.groups.push((indent, name.as_str().to_owned(), skipped));
            return;
        }
        if let Some(name) = self.head(line) {
            self.begin(line, indent, &name);
            return;
        }
        if let (Some(_), Some(test)) = (self.body, self.tests.last_mut()) {
            test.assertions += count(&p.assertion, line);
            test.skips += count(&p.skip, line);
            return;
        }
        let decoration = p.code.decoration;
        let begins = !decoration.is_empty() && word.starts_with(decoration);
        // An attribute may take several lines. A line that ends a statement or opens a block does
        // not belong to an attribute.
        if begins || !self.marks.is_empty() && !line.ends_with([';', '{', '}', ':']) {
            self.marks.push(line);
        } else {
            self.marks.clear();
        }
    }

    /// The name of the test that starts in this line.
    fn head(&self, line: &str) -> Option<String> {
        let found = self.patterns.head.as_ref()?.captures(line)?;
        let is_marked = |mark: &Regex| self.marks.iter().chain([&line]).any(|l| mark.is_match(l));
        if self.patterns.mark.as_ref().is_some_and(|mark| !is_marked(mark)) {
            return None;
        }
        Some(found.iter().skip(1).flatten().next()?.as_str().to_owned())
    }

    fn begin(&mut self, line: &'a str, indent: usize, name: &str) {
        let p = self.patterns;
        let own: Vec<&str> = self.marks.drain(..).chain([line]).collect();
        let sum = |form| own.iter().map(|line| count(form, line)).sum::<usize>();
        let groups = self.groups.iter();
        let path: Vec<&str> = groups.map(|(_, name, _)| name.as_str()).chain([name]).collect();
        let skipped = self.groups.iter().filter(|(.., skipped)| *skipped).count();
        self.tests.push(Test {
            name: path.join(" › "),
            skips: sum(&p.skip) + skipped,
            assertions: sum(&p.assertion),
        });
        self.body = Some(indent);
    }
}

#[cfg(test)]
#[path = "test_finder_tests.rs"]
mod tests;
