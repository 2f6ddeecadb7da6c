//! Finding the tests in a source file: line by line, by what tests look like in common languages.
//!
//! Nothing is parsed. A test begins where its head stands and ends where the indentation says so;
//! that is wrong now and then, and good enough to tell people where to look.

use std::sync::LazyLock;

use regex::Regex;

/// A test in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// Its name, with those of the groups it is in; empty where a whole file is one test.
    pub name: String,
    /// Marks that keep it from being run.
    pub skips: usize,
    /// Assertions.
    pub assertions: usize,
}

impl Test {
    /// The name without its groups.
    pub(crate) fn short(&self) -> &str {
        self.name.rsplit(" › ").next().unwrap_or(&self.name)
    }
}

/// What tests look like in a language. Patterns are for one line.
struct Language {
    extensions: &'static [&'static str],
    /// Begins a test; with a group `name`.
    head: &'static str,
    /// What stands before the head, where the head alone is any function.
    mark: &'static str,
    /// Begins a line of attributes or decorators.
    decoration: &'static str,
    /// Encloses tests; with a group `name`.
    group: &'static str,
    /// Keeps a test from being run: before its head, in it, or in its body.
    skip: &'static str,
    /// The same for all tests of the file, wherever it stands.
    skip_all: &'static str,
    /// An assertion.
    assertion: &'static str,
    /// Begins a line that is a comment.
    comment: &'static str,
}

/// Matches nothing.
const NEVER: &str = r"[^\s\S]";

const RUST: Language = Language {
    extensions: &["rs"],
    head: r#"^\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|const|unsafe|extern\s+"C")\s+)*fn\s+(?<name>\w+)"#,
    mark: r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b",
    decoration: "#[",
    group: r"^\s*(?:pub\s+)?mod\s+(?<name>\w+)\s*\{",
    skip: r"#\[\s*(?:cfg_attr\(.*\b)?ignore\b|#\[cfg\((?:any\(\)|FALSE|false)\)\]",
    skip_all: r"^#!\[cfg\((?:any\(\)|FALSE|false)\)\]",
    assertion: r"\b\w*assert\w*!?\s*[({\[]|\.(?:expect_err|unwrap_err)\(|#\[should_panic",
    comment: "//",
};

const PYTHON: Language = Language {
    extensions: &["py"],
    head: r"^\s*(?:async\s+)?def\s+(?<name>test\w*)\s*\(",
    mark: "",
    decoration: "@",
    group: r"^\s*class\s+(?<name>\w+)",
    skip: r"@[\w.]*(?:skip|xfail|expectedFailure)|\b(?:pytest\.(?:skip|xfail|importorskip)|self\.skipTest|raise\s+(?:unittest\.)?SkipTest)\b",
    skip_all: r"^pytestmark\s*=.*\b(?:skip|xfail)|^pytest\.skip\(",
    assertion: r"(?:^|:)\s*assert\b|\bself\.assert\w+\(|\bself\.fail\(|\b(?:pytest\.)?(?:raises|warns)\(|\.assert_\w+\(",
    comment: "#",
};

const JAVASCRIPT: Language = Language {
    extensions: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"],
    head: r#"^\s*(?:await\s+)?(?:[xf]?(?:it|test|specify)|[xf]test)(?:\.\w+)*(?:\([^'"`]*\)|`[^`]*`)?\(\s*(?:'(?<name>[^']*)'|"(?<double>[^"]*)"|`(?<back>[^`]*)`)"#,
    mark: "",
    decoration: "",
    group: r#"^\s*[xf]?(?:describe|context|suite)(?:\.\w+)*\(\s*['"`](?<name>[^'"`]*)['"`]"#,
    skip: r"^\s*x(?:it|test|describe|specify|context)\b|\b(?:it|test|describe|specify|context|suite)\.(?:skip|todo|fixme|failing|skipIf|concurrent\.skip)\b|\bskip:\s*(?:true|['\x22])|\b(?:t|this|ctx|context)\.skip\(",
    skip_all: r"\b(?:it|test|describe|specify|context|suite)\.only\b|^\s*f(?:it|describe)\(",
    assertion: r"\bexpect(?:\.\w+)?\s*\(|\bassert\b\s*[.(]|\.should\b|\bt\.(?:is|equal|deepEqual|ok|not|throws|true|false|same|like)\w*\(",
    comment: "//",
};

const GO: Language = Language {
    extensions: &["go"],
    head: r"^func\s+(?<name>(?:Test|Fuzz|Example)\w*)\s*\(",
    mark: "",
    decoration: "",
    group: NEVER,
    skip: r"\b\w+\.Skip(?:f|Now)?\(",
    skip_all: r"^//go:build\s+(?:ignore|never)\b",
    assertion: r"\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require)\.\w+\(",
    comment: "//",
};

const JAVA: Language = Language {
    extensions: &["java", "kt", "kts", "scala", "groovy"],
    head: r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:[\w<>\[\],.?]+\s+)*(?:void|fun|[\w<>\[\]]+)\s+(?<name>\w+|`[^`]+`)\s*\(",
    mark: r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b",
    decoration: "@",
    group: r"^\s*(?:[\w@]+\s+)*(?:class|object)\s+(?<name>\w+)",
    skip: r"@(?:\w+\.)*(?:Disabled|Ignore)|enabled\s*=\s*false|\bassume(?:True|False|That)\(",
    skip_all: NEVER,
    assertion: r"\b\w*[aA]ssert\w*(?:!?\s*[({\[]|\.\w+)|\bverify\(|\bshould\w*\b|\bfail\(",
    comment: "//",
};

const CSHARP: Language = Language {
    extensions: &["cs", "fs", "vb"],
    head: r"^\s*(?:\[[^\]]*\]\s*)*(?:[\w<>\[\],.?]+\s+)+(?<name>\w+)\s*\(",
    mark: r"\[(?:\w+\.)*(?:Test|TestCase|TestMethod|Fact|Theory)\b",
    decoration: "[",
    group: r"^\s*(?:\w+\s+)*class\s+(?<name>\w+)",
    skip: r"\[(?:\w+\.)*Ignore\b|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive|Skip)\(",
    skip_all: NEVER,
    assertion: r"\bAssert\.\w+|\.Should\w*\(|\bVerify\(",
    comment: "//",
};

const RUBY: Language = Language {
    extensions: &["rb"],
    head: r#"^\s*(?:[xf]?(?:it|specify|example|scenario|test)\s*\(?\s*(?:'(?<name>[^']*)'|"(?<double>[^"]*)")|def\s+(?<function>test_\w+))"#,
    mark: "",
    decoration: "",
    group: r#"^\s*(?:RSpec\.)?(?:x?describe|x?context|feature|class|module)\s+['"]?(?<name>[^'"\s]+)"#,
    skip: r"^\s*x(?:it|specify|example|describe|context)\b|^\s*(?:skip|pending)\b|,\s*:?(?:skip|pending)\b",
    skip_all: r",\s*:?focus\b|^\s*f(?:it|describe|context)\b",
    assertion: r"\bexpect\b|\b(?:assert|refute)\w*|\.(?:should|must_|wont_)",
    comment: "#",
};

const PHP: Language = Language {
    extensions: &["php"],
    head: r#"^\s*(?:(?:final|public|protected|static)\s+)*function\s+(?<name>test\w*)\s*\(|^\s*(?:it|test)\(\s*(?:'(?<single>[^']*)'|"(?<double>[^"]*)")"#,
    mark: "",
    decoration: "",
    group: r"^\s*(?:(?:final|abstract)\s+)*class\s+(?<name>\w+)",
    skip: r"\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|todo)\(",
    skip_all: r"->only\(",
    assertion: r"(?:->|::)(?:assert|expect)\w*\(|\bexpect\(",
    comment: "//",
};

const BATS: Language = Language {
    extensions: &["bats"],
    head: r#"^\s*@test\s+(?:'(?<name>[^']*)'|"(?<double>[^"]*)")"#,
    mark: "",
    decoration: "",
    group: NEVER,
    skip: r"^\s*skip\b",
    skip_all: NEVER,
    assertion: r"\[\[? |\bassert\w*\b|\brefute\w*\b|\bgrep -\w*q|(?:^|\s)(?:diff|cmp|test) ",
    comment: "#",
};

/// A script that is a test as a whole, by its place.
const SHELL: Language = Language {
    extensions: &["sh", "bash", "zsh", "t"],
    head: NEVER,
    mark: "",
    decoration: "",
    group: NEVER,
    skip: r"^\s*(?:skip\b|exit 0\b)",
    skip_all: NEVER,
    assertion: r"\[\[? |\bassert\w*\b|\btest_expect\w*|\bgrep -\w*q|(?:^|\s)(?:diff|cmp|test) ",
    comment: "#",
};

static LANGUAGES: [Language; 10] =
    [RUST, PYTHON, JAVASCRIPT, GO, JAVA, CSHARP, RUBY, PHP, BATS, SHELL];

/// The patterns of a language, ready.
struct Patterns {
    language: &'static Language,
    head: Regex,
    mark: Option<Regex>,
    group: Regex,
    skip: Regex,
    skip_all: Regex,
    assertion: Regex,
}

impl Patterns {
    fn of(language: &'static Language) -> Result<Self, regex::Error> {
        let mark = Some(language.mark).filter(|mark| !mark.is_empty());
        Ok(Self {
            language,
            head: Regex::new(language.head)?,
            mark: mark.map(Regex::new).transpose()?,
            group: Regex::new(language.group)?,
            skip: Regex::new(language.skip)?,
            skip_all: Regex::new(language.skip_all)?,
            assertion: Regex::new(language.assertion)?,
        })
    }
}

static KNOWN: LazyLock<Vec<Patterns>> =
    LazyLock::new(|| LANGUAGES.iter().filter_map(|language| Patterns::of(language).ok()).collect());

static TEST_PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:^|/)(?:__tests__|tests?|specs?)(?:/|$)|(?:^|[/._-])(?:tests?|specs?)(?:[._-]|$)|[a-z0-9](?:Tests?|Spec)\.\w+$").ok()
});

/// Whether a path is one where tests usually are.
pub(crate) fn is_test_path(path: &str) -> bool {
    TEST_PATH.as_ref().is_some_and(|form| form.is_match(path))
}

/// Whether a file of this name may hold tests, or says how they are run.
pub(crate) fn knows(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    ["package.json", "Makefile", "makefile", "GNUmakefile"].contains(&name)
        || LANGUAGES.iter().any(|language| language.extensions.contains(&extension))
}

/// The tests in a file's text; `None` where its language is not known.
pub(crate) fn tests_in(path: &str, text: &str) -> Option<Vec<Test>> {
    let extension = path.rsplit('/').next()?.rsplit_once('.')?.1;
    let patterns = KNOWN.iter().find(|p| p.language.extensions.contains(&extension))?;
    let mut tests = if patterns.language.head == NEVER {
        whole(patterns, path, text)
    } else {
        Finder::new(patterns).run(text)
    };
    if text.lines().any(|line| patterns.skip_all.is_match(line)) {
        tests.iter_mut().for_each(|test| test.skips += 1);
    }
    Some(tests)
}

/// The lines that are no comments, without the ends that `/* … */` cuts out.
fn lines<'a>(patterns: &Patterns, text: &'a str) -> impl Iterator<Item = &'a str> {
    let comment = patterns.language.comment;
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

fn whole(patterns: &Patterns, path: &str, text: &str) -> Vec<Test> {
    if !is_test_path(path) {
        return Vec::new();
    }
    let count = |form: &Regex| lines(patterns, text).map(|l| form.find_iter(l).count()).sum();
    let (skips, assertions) = (count(&patterns.skip), count(&patterns.assertion));
    vec![Test { name: String::new(), skips, assertions }]
}

/// A group that is open: its indentation, its name, and whether it keeps its tests from being run.
type Group = (usize, String, bool);

/// Goes over the lines of a file.
struct Finder<'a> {
    patterns: &'a Patterns,
    tests: Vec<Test>,
    groups: Vec<Group>,
    /// Attributes and decorators of what comes next.
    marks: Vec<&'a str>,
    /// Indentation of the test whose body this is.
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
        // The end of a signature that took several lines is no end of the body.
        let goes_on = word.starts_with([')', '{']) || word.starts_with("where");
        if !goes_on {
            self.body.take_if(|body| indent <= *body);
        }
        let closes = word.starts_with(['}', ')', ']', '{']) || word.starts_with("end");
        if !closes {
            self.groups.retain(|(group, ..)| *group < indent);
        }
        let p = self.patterns;
        if let Some(name) = p.group.captures(line).and_then(|found| found.name("name")) {
            let skipped = self.marks.drain(..).chain([line]).any(|line| p.skip.is_match(line));
            self.groups.push((indent, name.as_str().to_owned(), skipped));
            return;
        }
        if let Some(name) = self.head(line) {
            self.begin(line, indent, &name);
            return;
        }
        if let (Some(_), Some(test)) = (self.body, self.tests.last_mut()) {
            test.assertions += p.assertion.find_iter(line).count();
            test.skips += p.skip.find_iter(line).count();
            return;
        }
        let decoration = p.language.decoration;
        let begins = !decoration.is_empty() && word.starts_with(decoration);
        // An attribute may take several lines; a statement ends what belongs to a head.
        if begins || !self.marks.is_empty() && !line.ends_with([';', '{', '}', ':']) {
            self.marks.push(line);
        } else {
            self.marks.clear();
        }
    }

    /// The name of the test this line begins.
    fn head(&self, line: &str) -> Option<String> {
        let found = self.patterns.head.captures(line)?;
        let is_marked = |mark: &Regex| self.marks.iter().chain([&line]).any(|l| mark.is_match(l));
        if self.patterns.mark.as_ref().is_some_and(|mark| !is_marked(mark)) {
            return None;
        }
        Some(found.iter().skip(1).flatten().next()?.as_str().to_owned())
    }

    fn begin(&mut self, line: &'a str, indent: usize, name: &str) {
        let p = self.patterns;
        let own: Vec<&str> = self.marks.drain(..).chain([line]).collect();
        let count = |form: &Regex| own.iter().map(|l| form.find_iter(l).count()).sum::<usize>();
        let groups = self.groups.iter();
        let path: Vec<&str> = groups.map(|(_, name, _)| name.as_str()).chain([name]).collect();
        let skipped = self.groups.iter().filter(|(.., skipped)| *skipped).count();
        self.tests.push(Test {
            name: path.join(" › "),
            skips: count(&p.skip) + skipped,
            assertions: count(&p.assertion),
        });
        self.body = Some(indent);
    }
}

#[cfg(test)]
#[path = "languages_tests.rs"]
mod tests;
