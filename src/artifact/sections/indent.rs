//! Indents and dedents the lines of list items.

/// Formats an item with its marker.
pub(super) fn marked(marker: &str, item: &str) -> String {
    let lines = hanging(item, marker.len() + 1);
    format!("{marker} {lines}").trim_end().to_owned()
}

/// Indents all lines of an item except the first by `width` more columns.
pub(super) fn hanging(item: &str, width: usize) -> String {
    let mut out = String::new();
    for (number, line) in item.split('\n').enumerate() {
        let bare = line.trim_start_matches([' ', '\t']);
        match (number, bare.is_empty()) {
            (0, _) => out += line,
            (_, true) => out.push('\n'),
            // Spaces only: a tab would have another width at this position.
            _ => out += &format!("\n{}{bare}", " ".repeat(width + columns(line))),
        }
    }
    out
}

/// Returns the source of an item without its marker, with the lines below the first dedented.
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

/// Returns the width of the white space at the start of a line.
fn columns(line: &str) -> usize {
    let space = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    space.fold(0, |at, c| if c == '\t' { at / 4 * 4 + 4 } else { at + 1 })
}

/// Removes white space of this width from the start of a line.
pub(super) fn strip_columns(line: &str, width: usize) -> String {
    let bare = line.trim_start_matches([' ', '\t']);
    if bare.is_empty() {
        return String::new();
    }
    format!("{}{bare}", " ".repeat(columns(line).saturating_sub(width)))
}
