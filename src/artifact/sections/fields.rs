//! The fields line: code spans, ids, enum words, separators and labels.

use std::ops::Range;

use super::super::IdKind;
use super::Slot;
use super::heading::{IdText, id_at, one_line};

/// The meaning of a value on a fields line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Id(IdKind, String),
    /// `REQ-?`
    NewId,
    /// A word of the slot's enum, such as `high`.
    Word(Slot, &'static str),
    /// A status, which is ignored.
    Status,
    /// `-`
    Empty,
    Other,
}

/// A value on a fields line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// The range, including backticks.
    pub range: Range<usize>,
    /// The text without backticks.
    pub text: String,
    /// True if the value is in backticks.
    pub code: bool,
    pub meaning: Meaning,
}

/// The values at the start of a text; they end at the end of a line.
pub(super) struct Values {
    pub values: Vec<Value>,
    pub end: usize,
    /// True if there is a label among them.
    pub labelled: bool,
}

/// Reads the values at the start of a range, in whole lines.
pub(super) fn values(kind: IdKind, text: &str, range: Range<usize>) -> Values {
    let mut good = Values { values: Vec::new(), end: range.start, labelled: false };
    let (mut found, mut labelled) = (Vec::new(), false);
    let mut at = range.start;
    while let Some(rest) = text.get(at..range.end) {
        let Some(first) = rest.chars().next() else {
            return Values { values: found, end: range.end, labelled };
        };
        if first == '\n' {
            good = Values { values: found.clone(), end: at, labelled };
        }
        if first.is_whitespace() || is_separator(first) {
            at += first.len_utf8();
        } else if let Some(length) = hard_break(rest) {
            at += length;
        } else if let Some((length, inner)) = code_span(rest) {
            found.push(value(kind, at..at + length, &one_line(inner), true));
            at += length;
        } else if let Some((length, word)) = word(kind, rest) {
            found.push(value(kind, at..at + length, word, false));
            at += length;
        } else if let Some(length) = label(rest) {
            labelled = true;
            at += length;
        } else {
            return good;
        }
    }
    good
}

/// True for characters that can separate values: punctuation and emphasis.
fn is_separator(c: char) -> bool {
    ",;|/·-–—•*_&+，、；。→".contains(c)
}

/// Returns the length of a backslash that is a hard line break.
fn hard_break(rest: &str) -> Option<usize> {
    (rest.starts_with("\\\n") || rest.starts_with("\\\r\n") || rest == "\\").then_some(1)
}

/// Returns the length and the content of a code span at the start of a text.
pub(super) fn code_span(text: &str) -> Option<(usize, &str)> {
    let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
    if ticks == 0 {
        return None;
    }
    let mut at = ticks;
    while let Some(next) = text[at..].find('`') {
        let start = at + next;
        let run = text[start..].bytes().take_while(|byte| *byte == b'`').count();
        if run == ticks {
            let inner = &text[ticks..start];
            return Some((start + run, unpadded(inner)));
        }
        at = start + run;
    }
    None
}

/// Removes one space at each end of a code span: this padding is not part of the content.
fn unpadded(inner: &str) -> &str {
    let padded = inner.strip_prefix(' ').and_then(|rest| rest.strip_suffix(' '));
    padded.filter(|rest| !rest.trim().is_empty()).unwrap_or(inner)
}

/// Formats a text as a code span.
pub(super) fn code(text: &str) -> String {
    let text = one_line(text);
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let ticks = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Returns an id or an enum word without backticks.
fn word(kind: IdKind, rest: &str) -> Option<(usize, &str)> {
    if let Some((_, IdText::Id(_) | IdText::New(_), length)) = id_at(rest) {
        return Some((length, &rest[..length]));
    }
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let length = rest.find(|c| !part(c)).unwrap_or(rest.len());
    let word = rest[..length].trim_end_matches(['-', '_']);
    let known = !word.is_empty() && meaning(kind, word) != Meaning::Other;
    // A word before a colon is a label: `High: …`.
    let labels = rest[word.len()..].trim_start_matches(['*', '_', ' ']).starts_with([':', '：']);
    (known && !labels).then_some((word.len(), word))
}

/// Returns the length of a label with its colon.
fn label(rest: &str) -> Option<usize> {
    let end = rest.find([':', '：'])?;
    let name = &rest[..end];
    let short = name.chars().count() <= 40 && name.split_whitespace().count() <= 4;
    let plain =
        !name.contains(['`', '\n', '<', '>', '=', '"']) && name.contains(char::is_alphabetic);
    let colon = rest[end..].chars().next().map_or(0, char::len_utf8);
    // `a::b` and `http://x` are not labels.
    let next = rest[end + colon..].chars().next();
    let ends = next.is_none_or(|c| c.is_whitespace() || matches!(c, '*' | '_' | '`')) || colon > 1;
    (short && plain && ends).then_some(end + colon)
}

/// True for a text that contains only a short label.
pub(super) fn is_label(text: &str) -> bool {
    let bare = text.trim().trim_matches(['*', '_']);
    let Some(length) = label(text.trim_start().trim_start_matches(['*', '_'])) else {
        return false;
    };
    let wide = bare.split_whitespace().count() > 3;
    !wide
        && text.trim_start().trim_start_matches(['*', '_'])[length..]
            .trim_matches(['*', '_', ' '])
            .is_empty()
}

fn value(kind: IdKind, range: Range<usize>, text: &str, code: bool) -> Value {
    Value { range, text: text.to_owned(), code, meaning: meaning(kind, text) }
}

/// Returns the meaning of a value on the fields line of a record of this kind.
fn meaning(kind: IdKind, text: &str) -> Meaning {
    if text == "-" || text.is_empty() {
        return Meaning::Empty;
    }
    if let Some((of, id, length)) = id_at(text)
        && length == text.len()
    {
        match id {
            IdText::Id(id) => return Meaning::Id(of, id),
            IdText::New(_) => return Meaning::NewId,
            _ => {}
        }
    }
    let lower = text.to_ascii_lowercase();
    match (kind, lower.as_str()) {
        (IdKind::Requirement, "high" | "must") => Meaning::Word(Slot::Priority, "high"),
        (IdKind::Requirement, "medium" | "should") => Meaning::Word(Slot::Priority, "medium"),
        (IdKind::Requirement, "low" | "could") => Meaning::Word(Slot::Priority, "low"),
        (IdKind::Requirement, "functional") => Meaning::Word(Slot::Category, "functional"),
        (IdKind::Requirement, "non_functional" | "non-functional") => {
            Meaning::Word(Slot::Category, "non_functional")
        }
        (IdKind::Feature, "planned" | "in_progress" | "implemented" | "verified" | "delivered")
        | (IdKind::Task, "pending" | "in_progress" | "completed" | "blocked") => Meaning::Status,
        _ => Meaning::Other,
    }
}

/// True if a value is valid for a record of this kind. The first values of a component can be any
/// text.
pub(super) fn fits(kind: IdKind, value: &Value) -> bool {
    match &value.meaning {
        Meaning::Empty | Meaning::Status | Meaning::Word(..) => true,
        Meaning::Id(of, _) => kind.slots().iter().any(|slot| slot.id_kind() == Some(*of)),
        Meaning::NewId => kind != IdKind::Requirement,
        Meaning::Other => {
            let is_path = || !value.text.contains(char::is_whitespace);
            kind == IdKind::Task && value.text.contains(['/', '.']) && is_path()
        }
    }
}

/// Formats a path so that it is not read as another kind of value, such as a status.
pub(super) fn one_value(kind: IdKind, path: &str) -> String {
    match meaning(kind, path.trim()) {
        _ if path.trim().is_empty() => String::new(),
        Meaning::Other => path.trim().to_owned(),
        _ => format!("./{}", path.trim()),
    }
}
