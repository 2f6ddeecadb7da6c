//! Formats tables as all formatters do.

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
