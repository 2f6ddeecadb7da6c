//! Excerpts of command output: plain text, whole lines, failures first.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::clean::sanitize;

/// Maximum size of a mark for omitted text in bytes.
const MARK: usize = 40;
/// Number of lines shown before and after a line that reports a failure.
const BEFORE: usize = 2;
const AFTER: usize = 6;

/// Returns text without sequences that a terminal would execute instead of displaying. Of a line
/// that is overwritten, such as a progress bar, only the last state is kept. Some commands
/// color their output despite `NO_COLOR`, and a color code inside a word hides the word from a
/// search by a model or a person.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        // Line by line: an unterminated sequence must not hide text on the next line.
        let mut states = line.rsplit('\r').map(sanitize);
        let last_state = match line.contains('\r') {
            true => states.find(|state| !state.trim().is_empty()),
            false => states.next(),
        };
        out.push_str(&last_state.unwrap_or_default());
        out.push_str(end);
    }
    out
}

/// Returns at most about `most` bytes of the output of a failed command. Lines that report failures
/// are preferred, then the lines around them, then the lines nearest to the end; lines that report
/// success are included only if nothing failed. The lines stay in order, and marks show what is
/// omitted.
pub fn failures(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let lines: Vec<Cow<'_, str>> = text.lines().map(|line| shortened(line, most / 3 * 2)).collect();
    let weights = weights(&lines);
    let mut order: Vec<usize> = (0..lines.len()).collect();
    // Prefer the first failures, since later ones may follow from them, and the last other lines.
    order.sort_by_key(|at| match weights[*at] {
        weight @ (Weight::Failure | Weight::Around) => (weight, *at),
        weight => (weight, lines.len() - at),
    });
    // If something failed, lines that report success are useless.
    if weights.contains(&Weight::Failure) {
        order.retain(|at| weights[*at] != Weight::Passed);
    }
    let mut selection = vec![false; lines.len()];
    let mut room = most;
    for at in order {
        let cost = lines[at].len() + 1;
        if cost <= room {
            room -= cost;
            selection[at] = true;
        } else if weights[at] >= Weight::Other {
            // Stop here, so that no isolated lines are shown between omitted ones.
            break;
        }
    }
    joined(&lines, &selection)
}

/// Returns at most about `most` bytes from both ends of a text.
pub fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let lines: Vec<Cow<'_, str>> =
        text.lines().map(|line| shortened(line, half.saturating_sub(1))).collect();
    let mut selection = vec![false; lines.len()];
    let mut keep = |ats: &mut dyn Iterator<Item = usize>| {
        let mut room = half;
        for at in ats {
            let Some(rest) = room.checked_sub(lines[at].len() + 1) else { break };
            room = rest;
            selection[at] = true;
        }
    };
    keep(&mut (0..lines.len()));
    keep(&mut (0..lines.len()).rev());
    joined(&lines, &selection)
}

/// Returns at most about `most` bytes from the beginning of a text.
pub fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let text = &text[..boundary(text, most)];
    match text.rfind('\n') {
        Some(end) => &text[..=end],
        // A single line longer than the limit.
        None => text,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Reports a failure.
    Failure,
    /// Near a line that reports a failure.
    Around,
    Other,
    /// Reports a success.
    Passed,
}

fn weights(lines: &[Cow<'_, str>]) -> Vec<Weight> {
    let mut weights: Vec<Weight> = lines
        .iter()
        .map(|line| match () {
            () if is(&PASSES, line) => Weight::Passed,
            () if is(&FAILS, line) && !is(&NONE_FAILED, line) => Weight::Failure,
            () => Weight::Other,
        })
        .collect();
    for at in 0..lines.len() {
        if weights[at] != Weight::Failure {
            continue;
        }
        let end = lines.len().min(at + AFTER + 1);
        for weight in &mut weights[at.saturating_sub(BEFORE)..end] {
            if *weight == Weight::Other {
                *weight = Weight::Around;
            }
        }
    }
    weights
}

fn is(form: &LazyLock<Option<Regex>>, line: &str) -> bool {
    form.as_ref().is_some_and(|form| form.is_match(line))
}

/// Lines of test runners and build tools that report success.
static PASSES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const FORM: &str = r"(?x) \.\.\.\ ok$ | ^\s*ok\s | ^\s*[✓✔] | \bPASS(?:ED)?\b | ^\s*Compiling\s
        | ^\s*(?:Downloaded|Downloading|Fresh|Checking)\s";
    Regex::new(FORM).ok()
});

/// Lines of test runners and compilers that report failures.
static FAILS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const FORM: &str = r"(?x) (?i:\b(?:fail(?:s|ed|ure|ures|ing)?|errors?|fatal|panicked|abort(?:ed)?
            |\w*(?:error|exception)|traceback|undefined|unresolved|assert\w*)\b)
        | ^\s*[✕×✖✗●] | ^\s*not\ ok\b | ^E\s | \*\*\*\ \[ | ^----\ | \bcannot\ find\b | npm\ ERR!";
    Regex::new(FORM).ok()
});

/// Lines that match `FAILS` although nothing failed.
static NONE_FAILED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)test result: ok|\b(?:0|no) (?:failed|failures?|failing|errors?)\b").ok()
});

/// Returns a line of at most about `most` bytes, with a mark for the omitted part.
fn shortened(line: &str, most: usize) -> Cow<'_, str> {
    if line.len() <= most {
        return line.into();
    }
    let room = most.saturating_sub(MARK);
    let start = boundary(line, room / 3 * 2);
    let end = boundary(line, line.len() - room / 3);
    format!("{}[… {} bytes left out …]{}", &line[..start], end - start, &line[end..]).into()
}

/// Returns the character boundary at or before `at`.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the kept lines in order, with marks for the omitted ones.
fn joined(lines: &[Cow<'_, str>], selection: &[bool]) -> String {
    let mut out = String::new();
    let mut left_out = 0;
    let end = (&Cow::Borrowed(""), &true);
    for (line, selection) in lines.iter().zip(selection).chain([end]) {
        if !selection {
            left_out += 1;
            continue;
        }
        if left_out > 0 {
            let s = if left_out == 1 { "" } else { "s" };
            out.push_str(&format!("[… {left_out} line{s} left out …]\n"));
            left_out = 0;
        }
        out.push_str(line);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_sequences_are_removed() {
        for (given, wanted) in [
            ("test \u{1b}[31ma\u{1b}[0m ... FAILED\n", "test a ... FAILED\n"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\ b\n", "link b\n"),
            ("\u{1b}]0;never ends\nshown\n", "\nshown\n"),
            ("10%\r50%\r100% done\nnext\r\n", "100% done\nnext\n"),
            ("working\r\u{1b}[K", "working"),
            ("a\tb\u{8}\u{7}ü 漢\n\n", "a\tbü 漢\n\n"),
        ] {
            assert_eq!(plain(given), wanted, "{given:?}");
        }
    }

    fn noise(count: usize) -> String {
        (0..count).map(|n| format!("test passes::number_{n} ... ok\n")).collect()
    }

    #[test]
    fn failures_are_shown_before_successes() {
        let failed = "---- broken stdout ----\nthread 'broken' panicked at src/lib.rs:7:5:\n\
                      assertion `left == right` failed\n  left: 1\n right: 2\n";
        let text = format!(
            "{}test broken ... FAILED\n{}\n{failed}\n{}\ntest result: FAILED. 900 passed; 1 failed\n",
            noise(300),
            noise(300),
            noise(300)
        );
        for most in [400, 1_000, 3_000] {
            let shown = failures(&text, most);
            assert!(shown.len() <= most + 4 * MARK, "{} of {most}", shown.len());
            let mut rest = shown.as_str();
            for part in
                ["test broken ... FAILED\n", "panicked at src/lib.rs:7:5:\n", "\n right: 2\n"]
            {
                let at = rest.find(part).unwrap_or_else(|| panic!("{most}, {part}: {shown}"));
                rest = &rest[at..];
            }
            assert!(shown.ends_with("test result: FAILED. 900 passed; 1 failed"), "{shown}");
            let whole = |line: &str| text.lines().any(|l| l == line) || line.starts_with("[… ");
            assert!(shown.lines().all(whole), "{shown}");
        }
        assert!(!failures(&text, 300).contains("... ok"));
        assert_eq!(failures("short\n", 300), "short\n");
    }

    #[test]
    fn without_failures_the_end_is_shown() {
        let text = format!("{}\ntest result: ok. 300 passed; 0 failed\n", noise(300));
        let shown = failures(&text, 100);
        assert!(shown.starts_with("[… 29") && shown.contains(" lines left out …]\n"), "{shown}");
        assert!(shown.ends_with("\ntest result: ok. 300 passed; 0 failed"), "{shown}");
    }

    #[test]
    fn a_line_longer_than_the_limit_is_cut_with_a_mark() {
        let text = format!("{}error: {} at the end\nb\n", noise(9), "ü".repeat(5_000));
        for shown in [failures(&text, 201), ends(&text, 401)] {
            assert!(shown.contains("\nerror: üü") && shown.contains("üü at the end"), "{shown}");
            assert!(shown.contains("ü[… 9") && shown.contains(" bytes left out …]ü"), "{shown}");
            assert!(shown.len() < 500, "{shown}");
        }
        let text = "x".repeat(5_000);
        assert!(failures(&text, 300).starts_with("xx") && ends(&text, 300).ends_with("xx"));
    }

    #[test]
    fn both_ends_are_whole_lines() {
        let text: String = (0..1_000).map(|n| format!("line {n}\n")).collect();
        let shown = ends(&text, 200);
        assert!(shown.starts_with("line 0\nline 1\n") && shown.ends_with("\nline 999"), "{shown}");
        assert!(shown.contains("\n[… 97") && shown.len() < 240, "{shown}");
        assert_eq!(beginning("one\ntwo\n", 6), "one\n");
        assert_eq!(beginning("üü", 3), "ü");
    }
}
