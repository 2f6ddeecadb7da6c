//! Headings of records, which contain an id and a title.

use super::super::{IdKind, number_of};

/// The text at the position of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IdText {
    /// An id in canonical form.
    Id(String),
    /// `REQ-?` or similar; for a sub-task, with the id of its parent.
    New(Option<String>),
    /// `REQ Title`: a new record if a fields line follows.
    Word,
    /// A malformed id.
    Bad,
}

/// The heading of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordHeading {
    pub kind: IdKind,
    pub id: IdText,
    /// The range of the id in the content, as written.
    pub written: std::ops::Range<usize>,
    pub title: String,
    /// The range of the title in the content, including escapes; empty without a title.
    pub title_range: std::ops::Range<usize>,
}

/// Characters that always separate an id from a title.
const SEPARATORS: [char; 7] = [':', '：', '–', '—', '·', '|', '，'];
/// Characters that separate an id from a title only before a space.
const WEAK_SEPARATORS: [char; 4] = ['-', '.', ')', ']'];

/// Returns the range of a heading's text without its marks.
pub(super) fn content(source: &str) -> std::ops::Range<usize> {
    let lead = source.len() - source.trim_start().len();
    let bare = source.trim();
    let marks = bare.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &bare[marks..];
    let atx = (1..=6).contains(&marks) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    if atx {
        let start = lead + marks + (rest.len() - rest.trim_start().len());
        let inner = rest.trim_start();
        let open = inner.trim_end_matches('#');
        let closed = open.is_empty() || open.ends_with([' ', '\t']);
        let inner = if closed { open.trim_end() } else { inner };
        return start..start + inner.len();
    }
    // A setext heading, underlined by `=` or `-`.
    let end = bare.rfind('\n').unwrap_or(bare.len());
    lead..lead + bare[..end].trim_end().len()
}

/// Parses an id at the start of a text: returns the kind, the id, and its length.
pub(super) fn id_at(text: &str) -> Option<(IdKind, IdText, usize)> {
    let kind = IdKind::ALL.into_iter().find(|kind| {
        let word = kind.word();
        text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
    })?;
    let word = kind.word().len();
    let exact = text.starts_with(kind.word());
    let rest = &text[word..];
    if rest.is_empty() || rest.starts_with([' ', '\t', ':', '：']) {
        return exact.then_some((kind, IdText::Word, word));
    }
    let rest = rest.strip_prefix('-')?;
    let token = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | '?');
    let mut length = rest.find(|c| !token(c)).unwrap_or(rest.len());
    // In a text without spaces, an id ends where another script starts.
    if let Some(at) = rest[..length].find(|c: char| !c.is_ascii()) {
        length = at;
    }
    let number = rest[..length].trim_end_matches(['-', '.', '_']);
    let end = word + 1 + number.len();
    let id = id_text(kind, number);
    let marked = number.starts_with(|c: char| c.is_ascii_digit());
    match id {
        IdText::Bad if !(marked || exact) || number.is_empty() => None,
        id => Some((kind, id, end)),
    }
}

fn id_text(kind: IdKind, number: &str) -> IdText {
    let placeholder = |part: &str| {
        let all = |c: char| !part.is_empty() && part.chars().all(|d| d.eq_ignore_ascii_case(&c));
        all('?') || all('x') && part.len() > 1 || part.eq_ignore_ascii_case("new")
    };
    if placeholder(number) {
        return IdText::New(None);
    }
    if let Some(id) = canonical(kind, number) {
        return IdText::Id(id);
    }
    if kind == IdKind::Task
        && let Some((above, last)) = number.rsplit_once('.')
        && placeholder(last)
        && let Some(above) = canonical(kind, above)
    {
        return IdText::New(Some(above));
    }
    IdText::Bad
}

/// Returns the canonical id: `REQ-001` for `1`, `TASK-001.2` for `1.2`.
fn canonical(kind: IdKind, number: &str) -> Option<String> {
    let mut parts = number.split('.');
    let first = format!("{}{}", kind.prefix(), parts.next()?);
    let number = number_of(kind, &first).filter(|number| *number > 0)?;
    let mut id = kind.format(number);
    for (level, part) in (2..).zip(parts) {
        let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let part: u32 = part.parse().ok().filter(|_| plain)?;
        if kind != IdKind::Task || level > 3 || part == 0 {
            return None;
        }
        id = format!("{id}.{part}");
    }
    Some(id)
}

/// Parses the id and the title of a heading's content; `None` if it does not start with an id.
pub(super) fn record_heading(content: &str) -> Option<RecordHeading> {
    let mut at = list_number(content);
    let mut openers: Vec<&str> = Vec::new();
    while let Some(opener) = OPENERS.iter().find(|(open, _)| content[at..].starts_with(open)) {
        openers.push(opener.0);
        at += opener.0.len();
    }
    let (kind, id, length) = id_at(&content[at..])?;
    let written = at..at + length;
    at += length;
    let mut end = content.len();
    // If emphasis or brackets open before the id, they end directly after it or at the end of the
    // heading.
    let mut left = String::new();
    for opener in openers.iter().rev() {
        let close = OPENERS.iter().find(|(open, _)| open == opener).map_or("", |(_, close)| close);
        let rest = &content[at..end];
        if rest.starts_with(close) {
            at += close.len();
            if *opener == "[" && content[at..end].starts_with('(') {
                at += content[at..end].find(')').map_or(0, |close| close + 1);
            }
        } else if rest.ends_with(close) && !rest.is_empty() {
            end -= close.len();
        } else {
            left.insert_str(0, opener);
        }
    }
    let title = &content[at..end];
    let skipped = separators(title);
    let raw = title[skipped..].trim_end();
    let range = at + skipped..at + skipped + raw.len();
    let title = format!("{left}{}", unescaped(&one_line(raw)));
    Some(RecordHeading { kind, id, written, title, title_range: range })
}

const OPENERS: [(&str, &str); 7] =
    [("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ("[", "]"), ("(", ")")];

/// Returns the length of `1. ` at the start.
fn list_number(content: &str) -> usize {
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &content[digits..];
    let marked = digits > 0 && (rest.starts_with(". ") || rest.starts_with(") "));
    if marked { digits + 1 + (rest[1..].len() - rest[1..].trim_start().len()) } else { 0 }
}

/// Returns the length of the separators at the start of a title.
fn separators(text: &str) -> usize {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if !c.is_whitespace() && !is_separator(&text[at..]) {
            break;
        }
        at += c.len_utf8();
    }
    at
}

/// True if the text starts with a separator.
fn is_separator(text: &str) -> bool {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return false };
    let mut weak = || chars.next().is_none_or(char::is_whitespace);
    SEPARATORS.contains(&first) || WEAK_SEPARATORS.contains(&first) && weak()
}

/// Removes escapes from a title: one backslash before a separator at the start or before a final
/// run of `#`.
fn unescaped(raw: &str) -> String {
    let mut title = raw.to_owned();
    if let Some(rest) = title.strip_prefix('\\')
        && is_separator(rest.trim_start_matches('\\'))
    {
        title = rest.to_owned();
    }
    if let Some(at) = closing_marks(&title)
        && title[..at].ends_with('\\')
    {
        title.remove(at - 1);
    }
    title
}

/// Escapes a title for a heading.
pub(super) fn escaped(title: &str) -> String {
    let mut title = one_line(title);
    if let Some(at) = closing_marks(&title) {
        title.insert(at, '\\');
    }
    if is_separator(title.trim_start_matches('\\')) {
        title.insert(0, '\\');
    }
    title
}

/// Returns the start of the run of `#` that could close a heading, ignoring backslashes before it.
fn closing_marks(title: &str) -> Option<usize> {
    let open = title.trim_end_matches('#');
    let before = open.trim_end_matches('\\');
    let closes = before.is_empty() || before.ends_with(char::is_whitespace);
    (open.len() < title.len() && closes).then_some(open.len())
}

/// Puts a text on one line, with single spaces.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Escapes a final run of `#` in a heading, so that it does not close the heading.
pub(super) fn unclosing(line: &str) -> String {
    let mut line = line.to_owned();
    if let Some(at) = closing_marks(&line)
        && !line[..at].ends_with('\\')
    {
        line.insert(at, '\\');
    }
    line
}
