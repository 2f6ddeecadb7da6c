//! Finding the passage an edit means, and replacing exactly that. Pure: text in, text out.
//!
//! A ladder of three rungs: the passage as given, then without regard to white space at the ends
//! of lines, then to indentation as well. It stops there: looser matching hardly ever helps and
//! sometimes hits the wrong place. More than one match is refused on every rung.

use std::ops::Range;

use super::Refusal;
use super::nearest;

const BOM: char = '\u{feff}';

/// An edited text and what to say about it.
#[derive(Debug)]
pub(super) struct Edited {
    pub text: String,
    pub summary: String,
}

/// Replaces `old` by `new` in `text`, once, or everywhere with `replace_all`. Line ends, a
/// byte-order mark and a final newline stay as the text has them.
pub(super) fn apply(
    path: &str,
    text: &str,
    old: &str,
    new: &str,
    replace_all: bool,
) -> Result<Edited, Refusal> {
    if old.is_empty() {
        return Err(Refusal::failed(
            "old_text is empty; write_file makes or replaces a whole file",
        ));
    }
    if old == new {
        return Err(Refusal::failed("old_text and new_text are the same: nothing to change"));
    }
    let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    let mut loosely = false;
    let mut matches = exact(text, &old, &new);
    for rung in [Rung::LineEnds, Rung::Indentation] {
        if matches.is_empty() {
            loosely = true;
            matches = by_lines(text, &old, &new, rung);
        }
    }
    let lines: Vec<_> = matches.iter().map(|m| line_of(text, m.range.start)).collect();
    let Some(first) = lines.first() else {
        return Err(not_found(path, text, &old, &new));
    };
    if matches.len() > 1 && !replace_all {
        return Err(Refusal::failed(format!(
            "old_text occurs {} times in {path}, at lines {}; give more of the lines around the one \
             you mean, or set replace_all",
            matches.len(),
            join(&lines)
        )));
    }
    let edited = replace(text, &matches);
    if edited == text {
        return Err(Refusal::failed(format!("{path} already reads like this at line {first}")));
    }
    let place = if lines.len() == 1 { "line" } else { "lines" };
    let note = if loosely { " (white space differed; the file's was kept)" } else { "" };
    let summary = format!("edited {path} at {place} {}{note}", join(&lines));
    Ok(Edited { text: edited, summary })
}

/// `content` with the line ends and byte-order mark of `old`.
pub(super) fn in_style_of(old: &str, content: &str) -> String {
    let mut styled = match old.contains('\n') {
        false => content.to_owned(),
        true => with_eol(&content.replace("\r\n", "\n"), eol_of(old)),
    };
    if old.starts_with(BOM) && !styled.starts_with(BOM) {
        styled.insert(0, BOM);
    }
    styled
}

/// A place to change, and what to put there.
struct Match {
    range: Range<usize>,
    new: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rung {
    LineEnds,
    Indentation,
}

fn exact(text: &str, old: &str, new: &str) -> Vec<Match> {
    // A file may mix line ends, so the passage is tried with either.
    for eol in ["\n", "\r\n"] {
        let old = with_eol(old, eol);
        let own = if old.contains('\n') { eol } else { eol_of(text) };
        let new = with_eol(new, own);
        let found: Vec<_> = text
            .match_indices(&old)
            .map(|(at, _)| Match { range: at..at + old.len(), new: new.clone() })
            .collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Matches of whole lines.
fn by_lines(text: &str, old: &str, new: &str, rung: Rung) -> Vec<Match> {
    let wanted: Vec<_> = old.lines().collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let lines = spans(text);
    let mut matches = Vec::new();
    let mut at = 0;
    while let Some(window) = lines.get(at..at + wanted.len()) {
        let found: Vec<_> = window.iter().map(|span| &text[span.clone()]).collect();
        let Some(shift) = fits(&found, &wanted, rung) else {
            at += 1;
            continue;
        };
        let (start, mut end) = (window[0].start, window[wanted.len() - 1].end);
        let mut new = shift.apply(new);
        if old.ends_with('\n') {
            // The window's last line end belongs to it; a missing one in `new` is carelessness.
            end = lines.get(at + wanted.len()).map_or(text.len(), |next| next.start);
            if !new.is_empty() && !new.ends_with('\n') {
                new.push('\n');
            }
        }
        matches.push(Match { range: start..end, new: with_eol(&new, eol_of(text)) });
        at += wanted.len();
    }
    matches
}

/// Whether lines are the wanted ones on this rung, and how their indentation differs.
fn fits(found: &[&str], wanted: &[&str], rung: Rung) -> Option<Shift> {
    let mut shift = None;
    for (found, wanted) in found.iter().zip(wanted) {
        let same = match rung {
            Rung::LineEnds => found.trim_end() == wanted.trim_end(),
            Rung::Indentation => found.trim() == wanted.trim(),
        };
        if !same {
            return None;
        }
        if rung == Rung::Indentation && !found.trim().is_empty() {
            let this = Shift::between(indent(found), indent(wanted))?;
            if *shift.get_or_insert_with(|| this.clone()) != this {
                return None;
            }
        }
    }
    Some(shift.unwrap_or(Shift::Add(String::new())))
}

/// How the file is indented in comparison with what the model wrote; the new text gets the same.
#[derive(Clone, PartialEq, Eq)]
enum Shift {
    Add(String),
    Remove(String),
}

impl Shift {
    fn between(found: &str, wanted: &str) -> Option<Self> {
        if let Some(more) = found.strip_suffix(wanted) {
            return Some(Self::Add(more.to_owned()));
        }
        wanted.strip_suffix(found).map(|less| Self::Remove(less.to_owned()))
    }

    fn apply(&self, text: &str) -> String {
        let mut shifted = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            match self {
                Self::Add(more) if !line.trim().is_empty() => {
                    shifted.push_str(more);
                    shifted.push_str(line);
                }
                Self::Remove(less) => shifted.push_str(line.strip_prefix(less).unwrap_or(line)),
                Self::Add(_) => shifted.push_str(line),
            }
        }
        shifted
    }
}

fn replace(text: &str, matches: &[Match]) -> String {
    let mut edited = String::with_capacity(text.len());
    let mut at = 0;
    for one in matches {
        edited.push_str(&text[at..one.range.start]);
        edited.push_str(&one.new);
        at = one.range.end;
    }
    edited.push_str(&text[at..]);
    if text.ends_with('\n') && !edited.ends_with('\n') && !edited.is_empty() {
        edited.push_str(eol_of(text));
    }
    edited
}

fn not_found(path: &str, text: &str, old: &str, new: &str) -> Refusal {
    let mut message = format!("old_text was not found in {path}; nothing was changed");
    if let Some(there) = exact(text, new, "").first().filter(|_| !new.trim().is_empty()) {
        let line = line_of(text, there.range.start);
        message.push_str(&format!("; new_text is already there, at line {line}"));
    }
    match nearest::excerpt(text, old) {
        Some(lines) => message.push_str(&format!("; the nearest lines are:\n{lines}")),
        None => message.push_str("; read the file again and copy the passage from it"),
    }
    Refusal::failed(message)
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

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// What most lines end with.
fn eol_of(text: &str) -> &'static str {
    let windows = text.matches("\r\n").count();
    if windows > 0 && windows * 2 >= text.matches('\n').count() { "\r\n" } else { "\n" }
}

/// A text with `\n` line ends, with these instead.
fn with_eol(text: &str, eol: &str) -> String {
    if eol == "\n" { text.to_owned() } else { text.replace('\n', eol) }
}

fn join(lines: &[usize]) -> String {
    const SHOWN: usize = 10;
    let mut text = lines.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if lines.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str, old: &str, new: &str) -> String {
        apply("f", text, old, new, false).unwrap().text
    }

    fn refusal(text: &str, old: &str, new: &str) -> String {
        apply("f", text, old, new, false).unwrap_err().message
    }

    #[test]
    fn an_exact_passage_is_replaced_and_nothing_else() {
        assert_eq!(edit("a\nb \nc\n", "b ", "x"), "a\nx\nc\n");
        assert_eq!(apply("f", "a a a", "a", "b", true).unwrap().text, "b b b");
    }

    #[test]
    fn more_than_one_match_is_refused_on_every_rung_with_line_numbers() {
        assert!(refusal("a\nb\na\n", "a", "x").contains("2 times in f, at lines 1, 3"));
        assert!(refusal("a  \nb\na \n", "a\n", "x\n").contains("at lines 1, 3"));
        assert!(refusal(" a b\n  a b\n", "\ta b", "x").contains("not found"));
    }

    #[test]
    fn white_space_at_line_ends_is_forgiven() {
        assert_eq!(edit("fn a() { \n  1\t\n}\n", "fn a() {\n  1\n}", "fn b() {}"), "fn b() {}\n");
        assert_eq!(edit("a \nb\nc\n", "a\nb\n", "x"), "x\nc\n");
    }

    #[test]
    fn indentation_is_forgiven_and_given_to_the_new_text() {
        let text = "class A:\n    def f(self):\n        return 1\n";
        let edited = edit(text, "def f(self):\n    return 1", "def f(self):\n\n    return 2");
        assert_eq!(edited, "class A:\n    def f(self):\n\n        return 2\n");
        let edited =
            edit("def f():\n  pass\n", "    def f():\n      pass", "    def g():\n      pass");
        assert_eq!(edited, "def g():\n  pass\n");
    }

    #[test]
    fn uneven_indentation_is_no_match() {
        let text = "  a\n      b\n";
        assert!(refusal(text, "a\nb", "c").contains("not found"));
    }

    #[test]
    fn line_ends_bom_and_final_newline_stay() {
        assert_eq!(edit("\u{feff}a\r\nb\r\n", "a\nb", "x\ny\nz"), "\u{feff}x\r\ny\r\nz\r\n");
        assert_eq!(edit("a\r\nb\r\n", "b\r\n", "c"), "a\r\nc\r\n");
        assert_eq!(edit("a\nb\r\nc\n", "a\n", "x\n"), "x\nb\r\nc\n");
        assert_eq!(edit("a\nb", "b", "c"), "a\nc");
        assert_eq!(in_style_of("\u{feff}a\r\n", "x\ny\n"), "\u{feff}x\r\ny\r\n");
        assert_eq!(in_style_of("a\n", "x\r\n"), "x\n");
        assert_eq!(in_style_of("", "x\r\n"), "x\r\n");
    }

    #[test]
    fn a_miss_shows_the_nearest_lines_and_what_is_there_already() {
        let text = "fn one() {}\n\nfn parse(input: &str) -> u32 {\n    7\n}\n";
        let message = refusal(text, "fn parse(inputs: &str) -> u64 {\n", "fn one() {}\n");
        assert!(message.contains("3 | fn parse(input: &str) -> u32 {"), "{message}");
        assert!(message.contains("already there, at line 1"), "{message}");
    }

    #[test]
    fn empty_and_idle_edits_are_refused() {
        assert!(refusal("a", "", "b").contains("write_file"));
        assert!(refusal("a", "a", "a").contains("nothing to change"));
    }
}
