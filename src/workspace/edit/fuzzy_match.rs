//! Finds in a text a passage that a model has copied, possibly inexactly, and computes the
//! replacement. Pure.
//!
//! Four levels of matching: exact; ignoring white space at the ends of lines; also ignoring
//! indentation that differs consistently; ignoring typography. Looser matching rarely helps and
//! sometimes finds the wrong place. A level is tried only if all stricter ones find nothing, and
//! its replacements keep the file's own bytes where the model did not intend a change.

use std::ops::Range;

use crate::workspace::edit::normalize::{Folded, folded};

/// How exactly a passage was matched, the strictest level first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchLevel {
    Exact,
    LineEnds,
    BothEnds,
    Punctuation,
}

/// A range to replace, and its new text.
#[derive(Debug)]
pub(crate) struct Match {
    pub range: Range<usize>,
    pub new: String,
}

/// All matches of a passage on the first level that has any.
#[derive(Debug)]
pub(crate) struct Found {
    pub level: MatchLevel,
    /// Sorted; overlapping matches cannot both be replaced.
    pub matches: Vec<Match>,
}

/// A way to find a passage; the arguments are the text, the old passage and the new one.
type Look = fn(&str, &str, &str) -> Vec<Match>;

/// Finds `old`, to be replaced by `new`; both have `\n` line endings.
pub(crate) fn find(text: &str, old: &str, new: &str) -> Option<Found> {
    let rungs: [(MatchLevel, Look); 5] = [
        (MatchLevel::Exact, exact),
        (MatchLevel::LineEnds, |text, old, new| by_lines(text, old, new, MatchLevel::LineEnds)),
        (MatchLevel::BothEnds, |text, old, new| by_lines(text, old, new, MatchLevel::BothEnds)),
        (MatchLevel::Punctuation, within_typography),
        (MatchLevel::Punctuation, |text, old, new| {
            by_lines(text, old, new, MatchLevel::Punctuation)
        }),
    ];
    let found = |(level, matches): (MatchLevel, Look)| {
        let matches = matches(text, old, new);
        (!matches.is_empty()).then_some(Found { level, matches })
    };
    rungs.into_iter().find_map(found)
}

fn exact(text: &str, old: &str, new: &str) -> Vec<Match> {
    // A file may mix line endings, so a passage of several lines is tried with both.
    let ends: &[&str] = if old.contains('\n') { &["\n", "\r\n"] } else { &[""] };
    let mut matches = Vec::new();
    for end in ends {
        let old = with_eol(old, end);
        for at in places(text, &old) {
            let end = if end.is_empty() { eol_at(text, at) } else { end };
            matches.push(Match { range: at..at + old.len(), new: with_eol(new, end) });
        }
    }
    matches.sort_by_key(|found| found.range.start);
    matches
}

/// Returns where the passage occurs, including overlapping occurrences.
fn places(text: &str, passage: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(passage)) {
        found.push(from + at);
        from += at + passage.chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// Matches that ignore typography; only the part of the file that differs between `old` and `new`
/// is replaced.
fn within_typography(text: &str, old: &str, new: &str) -> Vec<Match> {
    let wanted = folded(old);
    if wanted.trim().is_empty() {
        return Vec::new();
    }
    let (file, (same, until)) = (Folded::new(text), common(old, new));
    let mut matches = Vec::new();
    for at in places(&file.text, &wanted) {
        let (Some(start), Some(end)) = (file.origin(at), file.origin(at + wanted.len())) else {
            continue;
        };
        let from = file.origin(at + folded(&old[..same]).len());
        let to = file.origin(at + wanted.len() - folded(&old[until..]).len());
        let rest = new.len() - (old.len() - until);
        let (range, put) = match (from, to) {
            (Some(from), Some(to)) if from <= to => (from..to, &new[same..rest]),
            _ => (start..end, new),
        };
        matches.push(Match { range, new: with_eol(put, eol_at(text, start)) });
    }
    matches
}

/// Returns the length in bytes of the common prefix, and where in `old` the common suffix begins.
fn common(old: &str, new: &str) -> (usize, usize) {
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b);
    let same: usize = same.map(|(c, _)| c.len_utf8()).sum();
    let tails = old[same..].chars().rev().zip(new[same..].chars().rev());
    let tail: usize = tails.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    (same, old.len() - tail)
}

/// Matches of whole lines.
fn by_lines(text: &str, old: &str, new: &str, level: MatchLevel) -> Vec<Match> {
    let wanted: Vec<_> = old.lines().collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let lines = spans(text);
    let replacement: Vec<_> = new.lines().collect();
    let kept = kept(&wanted, &replacement);
    let mut matches = Vec::new();
    for (at, window) in lines.windows(wanted.len()).enumerate() {
        let found: Vec<_> = window.iter().map(|span| &text[span.clone()]).collect();
        let Some(shift) = fits(&found, &wanted, level) else { continue };
        let start = window[0].start;
        let next = lines.get(at + wanted.len()).map_or(text.len(), |next| next.start);
        let own = eol_at(text, start);
        let end_of = |line: usize| {
            let from = window[line].end;
            &text[from..lines.get(at + line + 1).map_or(text.len(), |next| next.start)]
        };
        let last = wanted.len() - 1;
        let (end, mut closing) = match old.ends_with('\n') {
            // The last line ending belongs to the match; if `new` lacks it, that is an oversight.
            true => (next, end_of(last).to_owned()),
            false if new.ends_with('\n') => (window[last].end, own.to_owned()),
            false => (window[last].end, String::new()),
        };
        if replacement.is_empty() && old.ends_with('\n') {
            closing.clear();
        }
        let mut put = String::new();
        for (index, (line, same)) in replacement.iter().zip(&kept).enumerate() {
            let mut eol = own;
            match same {
                Some(same) => {
                    put.push_str(found[*same]);
                    eol = Some(end_of(*same)).filter(|end| !end.is_empty()).unwrap_or(own);
                }
                None => put.push_str(&shift.apply(line)),
            }
            put.push_str(if index + 1 == replacement.len() { &closing } else { eol });
        }
        matches.push(Match { range: start..end, new: put });
    }
    matches
}

/// Returns for every line of `new` the index of the line of `old` that it keeps unchanged, if any;
/// the indices ascend.
fn kept(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    /// Maximum table size; for longer passages only the common first and last lines are kept.
    const MOST: usize = 1_000_000;
    let alike = |a: &&str, b: &&str| a.trim_end() == b.trim_end();
    let mut kept = vec![None; new.len()];
    let head = old.iter().zip(new).take_while(|(a, b)| alike(a, b)).count();
    let (inner_old, inner_new) = (&old[head..], &new[head..]);
    let tails = inner_old.iter().rev().zip(inner_new.iter().rev());
    let tail = tails.take_while(|(a, b)| alike(a, b)).count();
    (0..head).for_each(|line| kept[line] = Some(line));
    (0..tail).for_each(|line| kept[new.len() - 1 - line] = Some(old.len() - 1 - line));
    let (a, b) = (&inner_old[..inner_old.len() - tail], &inner_new[..inner_new.len() - tail]);
    if a.len().saturating_mul(b.len()) > MOST {
        return kept;
    }
    // For each pair of positions: the length of the longest common subsequence from there to the
    // end.
    let width = b.len() + 1;
    let mut table = vec![0_usize; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            table[i * width + j] = match alike(&a[i], &b[j]) {
                true => table[(i + 1) * width + j + 1] + 1,
                false => table[(i + 1) * width + j].max(table[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if alike(&a[i], &b[j]) {
            kept[head + j] = Some(head + i);
            (i, j) = (i + 1, j + 1);
        } else if table[(i + 1) * width + j] >= table[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    kept
}

/// Returns how the indentation differs; `None` if the lines do not match on this level.
fn fits(found: &[&str], wanted: &[&str], level: MatchLevel) -> Option<Shift> {
    if level == MatchLevel::LineEnds {
        let same = found.iter().zip(wanted).all(|(a, b)| a.trim_end() == b.trim_end());
        return same.then(|| Shift::Add(String::new()));
    }
    let written = |line: &str| match level {
        MatchLevel::Punctuation => folded(line),
        _ => line.to_owned(),
    };
    let mut shift = None;
    for (found, wanted) in found.iter().zip(wanted) {
        let (found, wanted) = (written(found), written(wanted));
        if found.trim() != wanted.trim() {
            return None;
        }
        if !found.trim().is_empty() {
            let this = Shift::between(indent(&found), indent(&wanted), shift.as_ref())?;
            shift = Some(this);
        }
    }
    Some(shift.unwrap_or_else(|| Shift::Add(String::new())))
}

/// How the file's indentation differs from the model's; applied to the new text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shift {
    Add(String),
    Remove(String),
    /// The file has a tab where the model wrote this many spaces; 0 if not yet known.
    Tabs(usize),
}

impl Shift {
    /// Returns the difference of two indentations, if it is consistent with the previous lines.
    fn between(found: &str, wanted: &str, before: Option<&Self>) -> Option<Self> {
        let this = Self::of(found, wanted)?;
        match before {
            None => Some(this),
            Some(before) if *before == this => Some(this),
            // A line without indentation is consistent with any tab width.
            Some(Self::Add(none)) if none.is_empty() && matches!(this, Self::Tabs(_)) => Some(this),
            Some(tabs @ Self::Tabs(_)) if found.is_empty() && wanted.is_empty() => {
                Some(tabs.clone())
            }
            Some(_) => None,
        }
    }

    fn of(found: &str, wanted: &str) -> Option<Self> {
        if let Some(more) = found.strip_suffix(wanted) {
            return Some(Self::Add(more.to_owned()));
        }
        if let Some(less) = wanted.strip_suffix(found) {
            return Some(Self::Remove(less.to_owned()));
        }
        let (tabs, spaces) = (found.len(), wanted.len());
        let plain = found.bytes().all(|b| b == b'\t') && wanted.bytes().all(|b| b == b' ');
        (plain && tabs > 0 && spaces % tabs == 0).then(|| Self::Tabs(spaces / tabs))
    }

    fn apply(&self, line: &str) -> String {
        if line.trim().is_empty() {
            return String::new();
        }
        match self {
            Self::Add(more) => format!("{more}{line}"),
            Self::Remove(less) => line.strip_prefix(less.as_str()).unwrap_or(line).to_owned(),
            Self::Tabs(width) => {
                let spaces = line.len() - line.trim_start_matches(' ').len();
                let tabs = spaces.checked_div(*width).unwrap_or(0);
                format!("{}{}", "\t".repeat(tabs), &line[tabs * width..])
            }
        }
    }
}

/// Returns the lines of a text, without line endings.
fn spans(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let line = |whole: &str| {
        let start = at;
        at += whole.len();
        let bare = whole.strip_suffix('\n').unwrap_or(whole);
        start..start + bare.strip_suffix('\r').unwrap_or(bare).len()
    };
    text.split_inclusive('\n').map(line).collect()
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Returns the ending of the line at a position; if it has none, that of most lines.
fn eol_at(text: &str, at: usize) -> &'static str {
    match text[at..].find('\n') {
        Some(end) if text[..at + end].ends_with('\r') => "\r\n",
        Some(_) => "\n",
        None => eol_of(text),
    }
}

/// Returns the line ending of most lines.
pub(crate) fn eol_of(text: &str) -> &'static str {
    let windows = text.matches("\r\n").count();
    if windows > 0 && windows * 2 >= text.matches('\n').count() { "\r\n" } else { "\n" }
}

/// Returns a text with `\n` line endings converted to `eol`.
pub(crate) fn with_eol(text: &str, eol: &str) -> String {
    if eol == "\r\n" { text.replace('\n', eol) } else { text.to_owned() }
}
