//! Converts the text of descriptions and items from and to Markdown.
//!
//! A text is a normalized slice of the source: wrapped lines are joined, and lists, code and
//! headings have one form, so that wrapping and the choice of markers make no difference.
//!
//! Tables are formatted as all formatters do.

use std::ops::Range;

use super::blocks::{Block, BlockKind, blocks, open_fence, unclosed};
use super::heading;
use super::indent::{dedented, marked, strip_columns};

/// The direction of a conversion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// From a document: removes escapes.
    Read,
    /// Inside another text.
    Keep,
    /// Into a document: escapes text that would have another meaning there.
    Write {
        /// Headings must be below this level.
        level: u8,
    },
}

/// The position of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Description,
    Item,
}

/// Returns the text of one block of a description; `None` for a comment. `markers` keeps track of
/// the blocks above it.
pub(super) fn block_text(text: &str, block: &Block, markers: &mut Markers) -> Option<String> {
    folded(text, block, Way::Read, markers)
}

/// Returns the text of a list item from its source, which starts at the marker.
pub(super) fn item_text(source: &str) -> String {
    let text = fold(untick(&dedented(source)).0, Way::Read, Place::Item);
    // A formatter may have escaped the closing bracket of a checkbox as well.
    let text = match text.strip_prefix("\\[ \\] ") {
        Some(rest) => format!("\\[ ] {rest}"),
        None => text,
    };
    match text.strip_prefix('\\') {
        Some(rest) if untick(rest.trim_start_matches('\\')).1 => rest.to_owned(),
        _ => text,
    }
}

/// Returns the checkbox of an item.
pub(super) fn box_of(source: &str) -> Option<String> {
    let inner = dedented(source);
    untick(&inner).1.then(|| inner.trim_start().chars().take(3).collect())
}

/// Formats a description for a section of this level.
pub(super) fn description(text: &str, level: u8) -> String {
    fold(text, Way::Write { level }, Place::Description)
}

/// Formats an item without its marker; lines below the first are not indented.
pub(super) fn item(text: &str) -> String {
    let text = text.trim();
    let text = fold(text, Way::Write { level: 0 }, Place::Item);
    if untick(text.trim_start_matches('\\')).1 { format!("\\{text}") } else { text }
}

fn fold(text: &str, way: Way, place: Place) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut out = String::new();
    let mut before: Option<BlockKind> = None;
    let mut markers = Markers::default();
    for block in blocks(&text) {
        if let Way::Write { .. } = way
            && let Some(at) = unclosed(&text, &block)
        {
            let rest = escaped_at(&text[block.range.start..], at - block.range.start);
            push(&mut out, &fold(&rest, way, place), "\n\n");
            return out;
        }
        let Some(piece) = folded(&text, &block, way, &mut markers) else { continue };
        if piece.is_empty() {
            continue;
        }
        let tight =
            place == Place::Item && interrupts(&block) && before == Some(BlockKind::Paragraph);
        push(&mut out, &piece, if tight { "\n" } else { "\n\n" });
        before = Some(block.kind);
    }
    out
}

fn push(out: &mut String, piece: &str, between: &str) {
    if !out.is_empty() && !piece.is_empty() {
        *out += between;
    }
    *out += piece;
}

/// True for a list that can follow a paragraph without a blank line.
fn interrupts(block: &Block) -> bool {
    matches!(block.kind, BlockKind::List { start: None | Some(1), .. })
}

/// Chooses the markers of a list: a list directly below another one of the same type gets different
/// markers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Markers {
    /// Whether the list above is ordered, and whether it has the alternative markers.
    above: Option<(bool, bool)>,
}

impl Markers {
    /// Returns true if the next block is a list that needs the alternative markers.
    fn next(&mut self, kind: &BlockKind) -> bool {
        let BlockKind::List { start, .. } = kind else {
            self.above = None;
            return false;
        };
        let ordered = start.is_some();
        let other = self.above == Some((ordered, false));
        self.above = Some((ordered, other));
        other
    }
}

/// Normalizes one block; `None` for a comment.
fn folded(text: &str, block: &Block, way: Way, markers: &mut Markers) -> Option<String> {
    let text = &*block.with_plain_emphasis(text);
    let source = block.source(text);
    if block.kind == BlockKind::Html && is_comment(source) {
        return None;
    }
    let other = markers.next(&block.kind);
    Some(match &block.kind {
        BlockKind::Paragraph => paragraph(text, block, way),
        BlockKind::Heading(level) => title(source, *level, way),
        BlockKind::Code { fenced: true } => fence(source),
        BlockKind::Code { fenced: false } => indented(source),
        BlockKind::List { start, items } => list(text, *start, items, other),
        BlockKind::Rule => match way {
            Way::Read | Way::Keep => source.trim().to_owned(),
            Way::Write { .. } => format!("\\{}", source.trim()),
        },
        BlockKind::Table => table(source),
        BlockKind::Html | BlockKind::Quote | BlockKind::Other => lines_trimmed(source),
    })
}

/// True for a text that contains only comments.
pub(super) fn is_comment(source: &str) -> bool {
    let mut rest = source.trim();
    while let Some(inner) = rest.strip_prefix("<!--") {
        let Some(end) = inner.find("-->") else { return false };
        rest = inner[end + 3..].trim_start();
    }
    rest.is_empty()
}

/// Formats a paragraph as one line.
fn paragraph(text: &str, block: &Block, way: Way) -> String {
    let mut out = joined(text, block.range.clone(), &block.breaks, &block.comments);
    if !block.comments.is_empty() && !is_paragraph(&out) {
        out = joined(text, block.range.clone(), &block.breaks, &[]);
    }
    let bare = out.trim_start_matches('\\');
    if is_rule(bare) && bare.len() < out.len() {
        match way {
            Way::Read => drop(out.remove(0)),
            Way::Write { .. } => out.insert(0, '\\'),
            Way::Keep => {}
        }
    }
    out
}

fn is_paragraph(text: &str) -> bool {
    matches!(&blocks(text)[..], [Block { kind: BlockKind::Paragraph, .. }])
}

/// True for a line that is a thematic break.
fn is_rule(line: &str) -> bool {
    let Some(mark) = line.chars().next().filter(|mark| "-*_".contains(*mark)) else { return false };
    let marks = line.chars().filter(|c| *c == mark).count();
    marks > 2 && line.chars().all(|c| c == mark || c == ' ' || c == '\t')
}

/// Joins the lines of a range, without comments.
fn joined(
    text: &str,
    range: Range<usize>,
    breaks: &[Range<usize>],
    comments: &[Range<usize>],
) -> String {
    let mut source = String::new();
    let mut kept: Vec<usize> = Vec::new();
    let mut at = range.start;
    for comment in comments {
        if comment.start < at || comment.end > range.end || !removable(&source, text, at, comment) {
            continue;
        }
        note_breaks(breaks, at..comment.start, source.len(), &mut kept);
        source += text.get(at..comment.start).unwrap_or_default().trim_end();
        at = comment.end;
    }
    note_breaks(breaks, at..range.end, source.len(), &mut kept);
    source += text.get(at..range.end).unwrap_or_default();
    join_lines(&source, &kept)
}

/// True if a comment between words can be removed without changing the meaning of the line.
fn removable(before: &str, text: &str, at: usize, comment: &Range<usize>) -> bool {
    let before = format!("{before}{}", text.get(at..comment.start).unwrap_or_default());
    let words = before.contains(|c: char| c.is_alphabetic());
    let after = text.get(comment.end..).unwrap_or_default();
    words
        && before.ends_with(char::is_whitespace)
        && (after.is_empty() || after.starts_with(char::is_whitespace))
}

/// Adds the line breaks in `range` to `kept`, as offsets in a text in which the range begins at
/// `base`.
fn note_breaks(breaks: &[Range<usize>], range: Range<usize>, base: usize, kept: &mut Vec<usize>) {
    for hard in breaks.iter().filter(|hard| range.start <= hard.start && hard.end <= range.end) {
        kept.push(base + hard.start - range.start);
    }
}

/// Joins lines with a space, or with nothing between two characters of a script without spaces. A
/// hard line break stays if the next line starts with a letter.
fn join_lines(source: &str, breaks: &[usize]) -> String {
    let mut out = String::new();
    let mut at = 0;
    let mut hard = false;
    for line in source.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let bare = line.trim();
        let ends_hard = breaks.iter().any(|place| range.contains(place));
        let bare = if ends_hard {
            bare.strip_suffix('\\').filter(|rest| !rest.is_empty()).unwrap_or(bare).trim_end()
        } else {
            bare
        };
        if !out.is_empty() && !bare.is_empty() {
            if hard && bare.starts_with(char::is_alphabetic) {
                out += "\\\n";
            } else if !(out.ends_with(is_cjk) && bare.starts_with(is_cjk)) {
                out.push(' ');
            }
        }
        out += bare;
        hard = ends_hard;
    }
    out
}

/// True for Chinese and Japanese characters: these scripts have no spaces between words.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{312f}' | '\u{3190}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

/// Formats a heading with leading marks.
fn title(source: &str, level: u8, way: Way) -> String {
    let content = &source[heading::content(source)];
    let line = heading::unclosing(&heading::one_line(content));
    let level = match way {
        Way::Write { level: above } if above >= 6 => return format!("\\# {line}"),
        Way::Write { level: above } if level <= above => above + 1,
        _ => level,
    };
    format!("{} {line}", "#".repeat(level.into())).trim_end().to_owned()
}

/// Formats a fenced block: closed and not indented.
fn fence(source: &str) -> String {
    let indent = source.len() - source.trim_start_matches(' ').len();
    let strip = |line: &str| {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        line[spaces.min(indent)..].to_owned()
    };
    let mut lines: Vec<String> = source.lines().map(strip).collect();
    if let Some(last) = lines.last_mut() {
        *last = last.trim_end().to_owned();
    }
    if let Some(mark) = open_fence(source) {
        lines.push(mark);
    }
    lines.join("\n")
}

/// Returns the lines between the fences of a fenced block.
pub(super) fn fenced_content(source: &str) -> String {
    let text = fence(source);
    let mut lines: Vec<&str> = text.split('\n').skip(1).collect();
    lines.pop();
    lines.join("\n")
}

/// Formats a fenced block with fences that do not occur in the content.
pub(super) fn fenced(content: &str, info: &str) -> String {
    let longest = content.lines().map(|line| run_of(line.trim_start(), '`')).max().unwrap_or(0);
    let mark = "`".repeat(longest.max(2) + 1);
    let mark = if longest < 3 { "```".to_owned() } else { mark };
    let content = content.trim_end_matches('\n');
    if content.is_empty() {
        format!("{mark}{info}\n{mark}")
    } else {
        format!("{mark}{info}\n{content}\n{mark}")
    }
}

fn run_of(text: &str, mark: char) -> usize {
    text.chars().take_while(|c| *c == mark).count()
}

/// Converts an indented block to a fenced one.
fn indented(source: &str) -> String {
    let lines = source.lines().map(|line| strip_columns(line, 4));
    let lines: Vec<String> = lines.collect();
    fenced(&lines.join("\n"), "")
}

fn list(text: &str, start: Option<u64>, items: &[Range<usize>], other: bool) -> String {
    let mut lines = Vec::new();
    let mut number = start;
    for range in items {
        let source = text.get(range.clone()).unwrap_or_default();
        let inner = fold(&dedented(source), Way::Keep, Place::Item);
        if inner.is_empty() {
            continue;
        }
        let marker = match number {
            None if other => "*".to_owned(),
            None => "-".to_owned(),
            Some(n) if other => format!("{n})"),
            Some(n) => format!("{n}."),
        };
        number = number.map(|n| n.saturating_add(1));
        let line = marked(&marker, &inner);
        // `- ---` would be a thematic break.
        let rule = line.lines().next().is_some_and(is_rule);
        lines.push(if rule { marked(&marker, &format!("\\{inner}")) } else { line });
    }
    lines.join("\n")
}

/// Returns the text after a checkbox, and whether there is one.
fn untick(text: &str) -> (&str, bool) {
    for tick in ["[ ]", "[x]", "[X]"] {
        if let Some(rest) = text.trim_start().strip_prefix(tick)
            && rest.starts_with(char::is_whitespace)
        {
            return (rest, true);
        }
    }
    (text, false)
}

fn lines_trimmed(source: &str) -> String {
    let lines: Vec<&str> =
        source.trim_start_matches([' ', '\t']).lines().map(str::trim_end).collect();
    lines.join("\n")
}

fn escaped_at(text: &str, at: usize) -> String {
    format!("{}\\{}", &text[..at], &text[at..])
}

/// Formats a table with one space around each cell.
pub(super) fn table(source: &str) -> String {
    let lines = source.lines().enumerate().map(|(number, line)| {
        let cells = cells(line).into_iter();
        let cells = cells.map(|cell| if number == 1 { alignment(cell) } else { cell.to_owned() });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Splits a row into cells; a pipe after a backslash is text.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in line.char_indices() {
        if c == '|' && !escaped {
            cells.push(line[start..at].trim());
            start = at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    if !line[start..].trim().is_empty() {
        cells.push(line[start..].trim());
    }
    cells
}

/// Normalizes an alignment: `:-----` to `:---`.
fn alignment(cell: &str) -> String {
    let side = |is: bool| if is { ":" } else { "" };
    format!("{}---{}", side(cell.starts_with(':')), side(cell.ends_with(':')))
}
