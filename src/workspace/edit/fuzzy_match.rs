//! Where in a text a passage is that a model has copied, more or less well, and what the text is to
//! read there instead. Pure.
//!
//! Four levels of matching: the passage as given; then without regard to white space at the ends of
//! lines; then at both ends, where the indentation differs evenly; then without regard to
//! typography. It stops there: looser matching hardly ever helps and sometimes hits the wrong
//! place. A lower level is tried only where all above have found nothing, and its matches keep the
//! file's own bytes wherever the model did not mean to change them.

use std::ops::Range;

use crate::workspace::edit::normalize::{Folded, folded};

/// How exactly a passage was found, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchLevel {
    Exact,
    LineEnds,
    BothEnds,
    Punctuation,
}

/// A place to change, and what to put there.
#[derive(Debug)]
pub(crate) struct Match {
    pub range: Range<usize>,
    pub new: String,
}

/// All places of a passage on the first level that has any.
#[derive(Debug)]
pub(crate) struct Found {
    pub level: MatchLevel,
    /// In order; they may overlap, and then no two of them can be changed.
    pub matches: Vec<Match>,
}

/// One way to look for a passage in a text, and what it is to become.
type Look = fn(&str, &str, &str) -> Vec<Match>;

/// Looks for `old`, which is to become `new`, both with `\n` line ends.
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
    // A file may mix line ends, so a passage of several lines is tried with either.
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

/// Where a passage begins, overlapping ones included.
fn places(text: &str, passage: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(passage)) {
        found.push(from + at);
        from += at + passage.chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// Matches without regard to typography; of the file only the part changes in which `old` and
/// `new` differ.
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

/// Bytes at the beginning that both have, and where in `old` the end begins that both have.
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
            // The window's last line end belongs to it; a missing one in `new` is carelessness.
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

/// For every line of `new` the line of `old` it is, if any, in rising order.
fn kept(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    /// Cells of the table; passages beyond that keep what they begin and end with.
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
    // Lengths of the longest common run of lines from here to the end.
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

/// Whether lines are the wanted ones on this level, and how their indentation differs.
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

/// How the file is indented in comparison with what the model wrote; the new text gets the same.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shift {
    Add(String),
    Remove(String),
    /// Tabs, where the model wrote so many spaces for each; none seen yet when 0.
    Tabs(usize),
}

impl Shift {
    /// The difference of two indentations, if it goes with that of the lines before.
    fn between(found: &str, wanted: &str, before: Option<&Self>) -> Option<Self> {
        let this = Self::of(found, wanted)?;
        match before {
            None => Some(this),
            Some(before) if *before == this => Some(this),
            // A line without indentation goes with any width of a tab.
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

/// Lines of a text, without their ends.
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

/// What the line at a place ends with; where it has no end, what most lines end with.
fn eol_at(text: &str, at: usize) -> &'static str {
    match text[at..].find('\n') {
        Some(end) if text[..at + end].ends_with('\r') => "\r\n",
        Some(_) => "\n",
        None => eol_of(text),
    }
}

/// What most lines end with.
pub(crate) fn eol_of(text: &str) -> &'static str {
    let windows = text.matches("\r\n").count();
    if windows > 0 && windows * 2 >= text.matches('\n').count() { "\r\n" } else { "\n" }
}

/// A text with `\n` line ends, with these instead.
pub(crate) fn with_eol(text: &str, eol: &str) -> String {
    if eol == "\r\n" { text.replace('\n', eol) } else { text.to_owned() }
}
