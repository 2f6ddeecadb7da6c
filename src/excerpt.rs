//! Excerpts of what commands print: plain text, whole lines, and what failed before all else.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::clean::sanitize;

/// Bytes that a mark for what is left out may take.
const MARK: usize = 40;
/// Lines before and after one that tells of a failure which go with it.
const BEFORE: usize = 2;
const AFTER: usize = 6;

/// Text without what a terminal would obey instead of show. Of a line that was written over, as
/// progress is, only the last state is left. What tools print in colour in spite of `NO_COLOR` is
/// read by models and people, and a colour in the middle of a word hides it from whoever searches.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        // A line each: a sequence without an end hides nothing of the next one.
        let mut states = line.rsplit('\r').map(sanitize);
        let shown = match line.contains('\r') {
            true => states.find(|state| !state.trim().is_empty()),
            false => states.next(),
        };
        out.push_str(&shown.unwrap_or_default());
        out.push_str(end);
    }
    out
}

/// At most about `most` bytes of the output of a command that failed: lines that tell of failures,
/// what is around them, then what is nearest to the end; what passed is told only where nothing
/// failed. Lines stay in their order, and marks say what is left out.
pub fn failures(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let lines: Vec<Cow<'_, str>> = text.lines().map(|line| shortened(line, most / 3 * 2)).collect();
    let weights = weights(&lines);
    let mut order: Vec<usize> = (0..lines.len()).collect();
    // Of failures the first, since others follow from it; of the rest the last.
    order.sort_by_key(|at| match weights[*at] {
        weight @ (Weight::Failure | Weight::Around) => (weight, *at),
        weight => (weight, lines.len() - at),
    });
    // Beside failures, what passed says nothing.
    if weights.contains(&Weight::Failure) {
        order.retain(|at| weights[*at] != Weight::Passed);
    }
    let mut kept = vec![false; lines.len()];
    let mut left = most;
    for at in order {
        let cost = lines[at].len() + 1;
        if cost <= left {
            left -= cost;
            kept[at] = true;
        } else if weights[at] >= Weight::Other {
            // Nothing is picked from between lines that are no longer told.
            break;
        }
    }
    joined(&lines, &kept)
}

/// At most about `most` bytes from both ends of a text.
pub fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let lines: Vec<Cow<'_, str>> =
        text.lines().map(|line| shortened(line, half.saturating_sub(1))).collect();
    let mut kept = vec![false; lines.len()];
    let mut keep = |ats: &mut dyn Iterator<Item = usize>| {
        let mut left = half;
        for at in ats {
            let Some(rest) = left.checked_sub(lines[at].len() + 1) else { break };
            left = rest;
            kept[at] = true;
        }
    };
    keep(&mut (0..lines.len()));
    keep(&mut (0..lines.len()).rev());
    joined(&lines, &kept)
}

/// At most about `most` bytes from the beginning of a text.
pub fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let text = &text[..boundary(text, most)];
    match text.rfind('\n') {
        Some(end) => &text[..=end],
        // One line that is longer than all there may be.
        None => text,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Tells of a failure.
    Failure,
    /// Is beside a line that does.
    Around,
    Other,
    /// Tells that something passed.
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
        for beside in &mut weights[at.saturating_sub(BEFORE)..end] {
            if *beside == Weight::Other {
                *beside = Weight::Around;
            }
        }
    }
    weights
}

fn is(form: &LazyLock<Option<Regex>>, line: &str) -> bool {
    form.as_ref().is_some_and(|form| form.is_match(line))
}

/// How runners say that something passed.
static PASSES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const FORM: &str = r"(?x) \.\.\.\ ok$ | ^\s*ok\s | ^\s*[✓✔] | \bPASS(?:ED)?\b | ^\s*Compiling\s
        | ^\s*(?:Downloaded|Downloading|Fresh|Checking)\s";
    Regex::new(FORM).ok()
});

/// How runners and compilers say that something failed.
static FAILS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const FORM: &str = r"(?x) (?i:\b(?:fail(?:s|ed|ure|ures|ing)?|errors?|fatal|panicked|abort(?:ed)?
            |\w*(?:error|exception)|traceback|undefined|unresolved|assert\w*)\b)
        | ^\s*[✕×✖✗●] | ^\s*not\ ok\b | ^E\s | \*\*\*\ \[ | ^----\ | \bcannot\ find\b | npm\ ERR!";
    Regex::new(FORM).ok()
});

/// The same words where nothing did.
static NONE_FAILED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)test result: ok|\b(?:0|no) (?:failed|failures?|failing|errors?)\b").ok()
});

/// A line of at most about `most` bytes, with a mark where it is cut.
fn shortened(line: &str, most: usize) -> Cow<'_, str> {
    if line.len() <= most {
        return line.into();
    }
    let room = most.saturating_sub(MARK);
    let start = boundary(line, room / 3 * 2);
    let end = boundary(line, line.len() - room / 3);
    format!("{}[… {} bytes left out …]{}", &line[..start], end - start, &line[end..]).into()
}

/// The character boundary at or before a place.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The kept lines in their order, and marks for the others.
fn joined(lines: &[Cow<'_, str>], kept: &[bool]) -> String {
    let mut out = String::new();
    let mut left_out = 0;
    let end = (&Cow::Borrowed(""), &true);
    for (line, kept) in lines.iter().zip(kept).chain([end]) {
        if !kept {
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
    fn what_a_terminal_obeys_goes_and_words_stay() {
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
    fn what_failed_comes_before_what_passed() {
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
    fn where_nothing_failed_the_end_is_told() {
        let text = format!("{}\ntest result: ok. 300 passed; 0 failed\n", noise(300));
        let shown = failures(&text, 100);
        assert!(shown.starts_with("[… 29") && shown.contains(" lines left out …]\n"), "{shown}");
        assert!(shown.ends_with("\ntest result: ok. 300 passed; 0 failed"), "{shown}");
    }

    #[test]
    fn a_line_longer_than_all_there_may_be_is_cut_with_a_mark() {
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
