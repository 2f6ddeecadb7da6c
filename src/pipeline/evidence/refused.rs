//! Checks that fail because the sandbox denies them something: that proves nothing about the code.
//!
//! Output alone proves nothing: a model that wrote the test could print it. Two conditions must
//! hold. First, the sandbox's level must deny such a call (with namespaces it does not: a command
//! may connect and listen in a network of its own, and make files at the top of the tree). Second, either the very same tests were denied
//! something before the session changed anything (`CheckRun::outcome` compares), or each failed
//! test shows the denied call in its own section of the runner's report; any other failure counts
//! as a failure. A test that fakes such a section gains little: the result is "not run", which
//! passes nothing and is reported everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::failing::{ready, without_times};
use crate::workspace::Level;

/// The denied access, if the output shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    /// A short description.
    pub(crate) what: String,
    /// The tests whose own section of the report shows it.
    pub(crate) tests: BTreeSet<String>,
}

/// Lines around an error that show which call failed.
const AROUND: usize = 3;

/// Patterns of errors of socket calls.
static FAMILY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)address family not supported|\bEAFNOSUPPORT\b").ok());
static DENIED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)permission ?denied|\bEACCES\b|operation not permitted|\bEPERM\b").ok()
});
static CONNECTS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)connect(?:ing|ion)?\b|\bdial\b|TcpStream").ok());
static LISTENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\bbind\b|\bbinding (?:to|on)\b|\blisten(?:ing)?\b|TcpListener").ok()
});
/// Errors of calls that make a file or folder.
static MAKES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\bmkdir\b|\bcreat(?:e|ing)\b|\bcreate_dir").ok());
/// Errors of a command that has no network; faults of the code can also cause them.
static ALONE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const FORM: &str = r"(?ix) connection\ ?refused | \bECONNREFUSED\b
        | network\ is\ unreachable | \bENETUNREACH\b
        | temporary\ failure\ in\ name\ resolution | \bEAI_AGAIN\b | could\ not\ resolve\ host
        | name\ or\ service\ not\ known | \bENOTFOUND\b";
    Regex::new(FORM).ok()
});

fn says(form: &LazyLock<Option<Regex>>, text: &str) -> bool {
    form.as_ref().is_some_and(|form| form.is_match(text))
}

/// The denied call that this text shows.
fn call(text: &str, level: Level) -> Option<&'static str> {
    if says(&FAMILY, text) {
        return Some("address family not supported");
    }
    if level.has_mounts() {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().enumerate().find_map(|(at, line)| {
        if !says(&DENIED, line) {
            return None;
        }
        let around = lines[at.saturating_sub(AROUND)..lines.len().min(at + 2)].join("\n");
        if level == Level::Landlock && says(&MAKES, line) {
            Some("a new file or folder was refused")
        } else if says(&CONNECTS, &around) {
            Some("connecting was refused")
        } else {
            says(&LISTENS, &around).then_some("listening was refused")
        }
    })
}

/// What the sandbox denied to a check with this output and these `failing` tests; `None` if
/// commands are not confined.
pub(crate) fn refused(
    output: &str,
    failing: &BTreeSet<String>,
    level: Option<Level>,
) -> Option<Refused> {
    let level = level.filter(|level| *level > Level::None)?;
    let alone = || says(&ALONE, output).then_some("no network");
    let what = call(output, level).or_else(alone)?.to_owned();
    let reports = reports(output);
    let of_failing = |(of, _): &(&String, &String)| failing.iter().any(|name| is_of(of, name));
    let mut own = reports.iter().filter(of_failing).peekable();
    // If the runner reports on each failed test, and no report shows a denied call, the lines that
    // show one are logs of passing tests.
    if own.peek().is_some()
        && !own.any(|(_, text)| call(text, level).is_some() || says(&ALONE, text))
    {
        return None;
    }
    let shows = |name: &&String| {
        reports.iter().any(|(of, text)| is_of(of, name) && call(text, level).is_some())
    };
    let mut tests: BTreeSet<String> = failing.iter().filter(shows).cloned().collect();
    // A name that is a prefix of other names, such as a Go package, fails because the tests with
    // those names fail.
    let sum = |name: &&String| {
        let mut inner = failing.iter().filter(|other| is_inside(other, name)).peekable();
        inner.peek().is_some() && inner.all(|inner| tests.contains(inner))
    };
    let sums: Vec<String> = failing.iter().filter(sum).cloned().collect();
    tests.extend(sums);
    Some(Refused { what, tests })
}

/// Like [`refused`], as a short description for a person.
pub(crate) fn refused_in(
    output: &str,
    failing: &BTreeSet<String>,
    level: Option<Level>,
) -> Option<String> {
    refused(output, failing, level).map(|refused| refused.what)
}

fn is_inside(name: &str, outer: &str) -> bool {
    name.strip_prefix(outer).is_some_and(|rest| rest.starts_with([' ', '/', ':']))
}

/// Patterns of the first line of a failed test's section.
static BEGINS: LazyLock<Vec<Regex>> = LazyLock::new(|| ready(|runners| runners.reports));
/// Patterns of lines that end such a section, besides the next one's first line.
static ENDS: LazyLock<Vec<Regex>> = LazyLock::new(|| ready(|runners| runners.ends));

/// The sections of failed tests, by the names in their first lines.
fn reports(output: &str) -> BTreeMap<String, String> {
    let mut reports: BTreeMap<String, String> = BTreeMap::new();
    let mut open = None;
    for line in output.lines().map(str::trim_end) {
        let head = BEGINS.iter().find_map(|form| form.captures(line));
        if let Some(name) = head.and_then(|head| Some(head.name("name")?.as_str().to_owned())) {
            open = Some(without_times(&name));
        } else if ENDS.iter().any(|form| form.is_match(line)) {
            open = None;
        } else if let Some(name) = &open {
            let report = reports.entry(name.clone()).or_default();
            report.push_str(line);
            report.push('\n');
        }
    }
    reports
}

/// True if a section's first line names this test: pytest omits the file, and Go the package.
fn is_of(head: &str, name: &str) -> bool {
    let inner = name.split_once("::").map(|(_, inner)| inner.replace("::", "."));
    head == name
        || inner.is_some_and(|inner| inner == head)
        || name.split_once(' ').is_some_and(|(_, test)| test == head)
}

#[cfg(test)]
mod tests {
    use super::super::failing::names;
    use super::*;

    const CARGO: &str = "running 3 tests\ntest serves ... FAILED\ntest adds ... FAILED\ntest c ... ok\n\n\
        failures:\n\n---- serves stdout ----\n\nthread 'serves' panicked at src/lib.rs:9:50:\n\
        bind: Os { code: 13, kind: PermissionDenied, message: \"Permission denied\" }\n\n\
        ---- adds stdout ----\n\nthread 'adds' panicked at src/lib.rs:3:1:\nassertion failed\n\n\n\
        failures:\n    adds\n    serves\n\ntest result: FAILED. 1 passed; 2 failed\n";
    const PYTEST: &str = "=== FAILURES ===\n____ TestA.test_x ____\n\n    def test_x(self):\n\
        >       socket.create_connection(('127.0.0.1', 9))\n\nlib/socket.py:833: in create_connection\n\
            sock.connect(sa)\nE   PermissionError: [Errno 13] Permission denied\n\
        ____ test_y ____\nE   OSError: [Errno 97] Address family not supported by protocol\n\
        === short test summary info ===\nFAILED t/test_a.py::TestA::test_x - PermissionError\n\
        FAILED t/test_a.py::test_y - OSError\n";
    const GO: &str = "--- FAIL: TestDial (0.00s)\n    a_test.go:9: dial tcp 127.0.0.1:9: connect: \
        permission denied\nFAIL\nFAIL\texample.com/a\t0.003s\n";
    const TAP: &str = "not ok 1 - serves\n  ---\n  error: 'listen EACCES: permission denied 127.0.0.1'\n\
        \u{20} ...\nok 2 - adds\n";
    const UNITTEST: &str = "====================\nERROR: test_x (t.A.test_x)\n--------------------\n\
        Traceback (most recent call last):\n  File \"t.py\", line 3\n    s.bind(('', 0))\n\
        PermissionError: [Errno 13] Permission denied\n\n--------------------\nRan 1 test in 0.1s\n";

    const MINITEST: &str = "  1) Error:\nServerTest#test_serves:\nErrno::EACCES: Permission denied - bind(2) for \
        127.0.0.1:80\n    server.rb:3:in `initialize'\n\n  2) Failure:\nServerTest#test_adds [t.rb:9]:\nExpected: 1\n\n\
        2 runs, 1 assertions\n";

    fn shown(output: &str, level: Level) -> Vec<String> {
        let refused = refused(output, &names(output), Some(level));
        refused.map(|refused| refused.tests.into_iter().collect()).unwrap_or_default()
    }

    #[test]
    fn a_refused_call_is_found_in_the_report_of_its_test() {
        assert_eq!(shown(CARGO, Level::Landlock), ["serves"]);
        let pytest = ["t/test_a.py::TestA::test_x", "t/test_a.py::test_y"];
        assert_eq!(shown(PYTEST, Level::Landlock), pytest);
        assert_eq!(shown(GO, Level::Landlock), ["example.com/a", "example.com/a TestDial"]);
        assert_eq!(shown(TAP, Level::Landlock), ["serves"]);
        assert_eq!(shown(MINITEST, Level::Landlock), ["ServerTest#test_serves"]);
        assert_eq!(shown(UNITTEST, Level::Landlock), ["test_x (t.A.test_x)"]);
    }

    /// Node's own calls go through what it calls a binding.
    #[test]
    fn a_refused_new_folder_is_not_one_of_the_network() {
        let node = "const result = binding.mkdir(\n  ^\n\nError: EACCES: permission denied, mkdir 'dist'\n\
            \x20   at Object.mkdirSync (node:fs:1363:26)\n";
        let what = |level| refused(node, &BTreeSet::new(), Some(level)).map(|refused| refused.what);
        assert_eq!(what(Level::Landlock).as_deref(), Some("a new file or folder was refused"));
        assert_eq!(what(Level::Namespaces), None);
        assert_eq!(what(Level::Seatbelt), None);
    }

    #[test]
    fn what_a_level_allows_was_not_denied() {
        // With namespaces a test may connect and listen.
        assert_eq!(shown(CARGO, Level::Namespaces), [""; 0]);
        assert_eq!(shown(PYTEST, Level::Namespaces), ["t/test_a.py::test_y"]);
        for level in [None, Some(Level::None)] {
            assert_eq!(refused(PYTEST, &names(PYTEST), level), None);
        }
    }

    #[test]
    fn errors_outside_of_a_tests_section_do_not_count() {
        for output in [
            "connect: permission denied\ntest a ... FAILED\n",
            "test a ... FAILED\nEAFNOSUPPORT\n",
            "---- b stdout ----\nEAFNOSUPPORT\n\nfailures:\n    b\ntest a ... FAILED\n",
            // An unreadable file has nothing to do with the sandbox's network.
            "---- a stdout ----\nopen /x: Permission denied (os error 13)\ntest a ... FAILED\n",
        ] {
            assert_eq!(shown(output, Level::Landlock), [""; 0], "{output}");
        }
    }

    #[test]
    fn logs_of_passing_tests_are_not_refusals() {
        let output = "INFO connection refused, trying again\ntest a ... FAILED\n\nfailures:\n\n\
            ---- a stdout ----\nassertion failed\n\nfailures:\n    a\n";
        assert_eq!(refused(output, &names(output), Some(Level::Namespaces)), None);
    }

    #[test]
    fn missing_network_counts_only_if_the_base_lacked_it_too() {
        let output = "---- a stdout ----\nConnection refused (os error 111)\ntest a ... FAILED\n";
        let refused = refused(output, &names(output), Some(Level::Namespaces)).unwrap();
        assert_eq!((refused.what.as_str(), refused.tests.len()), ("no network", 0));
    }
}
