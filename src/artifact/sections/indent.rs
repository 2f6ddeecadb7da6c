//! Items of lists: their lines moved to the left, and back.

/// An item behind its marker.
pub(super) fn marked(marker: &str, item: &str) -> String {
    let lines = hanging(item, marker.len() + 1);
    format!("{marker} {lines}").trim_end().to_owned()
}

/// An item whose lines below the first are this far to the right.
pub(super) fn hanging(item: &str, width: usize) -> String {
    let mut out = String::new();
    for (number, line) in item.split('\n').enumerate() {
        let bare = line.trim_start_matches([' ', '\t']);
        match (number, bare.is_empty()) {
            (0, _) => out += line,
            (_, true) => out.push('\n'),
            // A tab would be narrower there.
            _ => out += &format!("\n{}{bare}", " ".repeat(width + columns(line))),
        }
    }
    out
}

/// The source of an item without its marker, lines below the first moved to the left.
pub(super) fn dedented(source: &str) -> String {
    let source = source.trim_end();
    let marker = match source.bytes().take_while(u8::is_ascii_digit).count() {
        0 => 1,
        digits => digits + 1,
    };
    let mut lines = source.lines();
    let first = lines.next().unwrap_or_default();
    let rest = first.get(marker..).unwrap_or_default();
    let spaces = columns(rest);
    let blank = rest.trim().is_empty();
    let inner = if blank || spaces > 4 { 1 } else { spaces };
    let mut out = strip_columns(rest, inner);
    for line in lines {
        out.push('\n');
        out += &strip_columns(line, marker + inner);
    }
    out
}

/// How wide the white space is that a line begins with.
fn columns(line: &str) -> usize {
    let space = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    space.fold(0, |at, c| if c == '\t' { at / 4 * 4 + 4 } else { at + 1 })
}

/// A line without white space of this width.
pub(super) fn strip_columns(line: &str, width: usize) -> String {
    let bare = line.trim_start_matches([' ', '\t']);
    if bare.is_empty() {
        return String::new();
    }
    format!("{}{bare}", " ".repeat(columns(line).saturating_sub(width)))
}
