//! The width of the terminal, and line wrapping at word boundaries.

use console::measure_text_width;

/// Number of columns if the terminal does not report it.
const USUAL: usize = 80;

/// Returns the number of columns of the terminal behind standard error.
pub(crate) fn stderr_columns() -> usize {
    #[cfg(unix)]
    return columns(rustix::stdio::stderr());
    #[cfg(not(unix))]
    columns(&console::Term::stderr())
}

/// Returns the number of rows of the terminal behind standard error; 0 if it does not report them.
pub(crate) fn stderr_rows() -> usize {
    #[cfg(unix)]
    return rustix::termios::tcgetwinsize(rustix::stdio::stderr())
        .map_or(0, |size| usize::from(size.ws_row));
    #[cfg(not(unix))]
    console::Term::stderr().size_checked().map_or(0, |(rows, _)| rows.into())
}

/// Returns the number of columns of a terminal. `console` does not return it if the terminal does
/// not report its rows (`stty cols 40` in a new terminal).
#[cfg(unix)]
pub(crate) fn columns(terminal: std::os::fd::BorrowedFd<'_>) -> usize {
    let size = rustix::termios::tcgetwinsize(terminal).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(USUAL)
}

/// Returns the number of columns of a terminal.
#[cfg(not(unix))]
pub(crate) fn columns(terminal: &console::Term) -> usize {
    terminal.size_checked().map_or(USUAL, |(_, columns)| columns.into())
}

/// Breaks a line at spaces into parts of at most `width` columns. A word wider than that is split;
/// white space is kept at the beginning of the line and removed at a break. Never returns an empty
/// list.
pub(crate) fn wrap(line: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut columns = 0;
    // Where the part could end: the last space after a word.
    let mut space = None;
    for c in line.chars() {
        let wide = measure_text_width(c.encode_utf8(&mut [0; 4]));
        if c == ' ' && part.is_empty() && !parts.is_empty() {
            continue;
        }
        if columns + wide > width && !part.is_empty() {
            let rest = match space.take() {
                _ if c == ' ' => String::new(),
                Some(at) => part.split_off(at).trim_start().to_owned(),
                None => String::new(),
            };
            parts.push(std::mem::replace(&mut part, rest).trim_end().to_owned());
            columns = measure_text_width(&part);
            if c == ' ' {
                continue;
            }
        }
        if c == ' ' && !part.trim_start().is_empty() {
            space = Some(part.len());
        }
        part.push(c);
        columns += wide;
    }
    if !part.trim_end().is_empty() || parts.is_empty() {
        parts.push(part.trim_end().to_owned());
    }
    parts
}

/// Returns a line of at most `width` columns, truncated at a word boundary if possible, with `…`.
pub(crate) fn shortened(line: &str, width: usize) -> String {
    if measure_text_width(line) <= width {
        return line.to_owned();
    }
    let cut = console::truncate_str(line, width.saturating_sub(1), "").into_owned();
    let next = line[cut.len()..].chars().next();
    let text = match cut.rfind(' ') {
        Some(at) if next != Some(' ') && !cut[..at].trim().is_empty() => &cut[..at],
        _ => cut.as_str(),
    };
    format!("{}…", text.trim_end_matches([' ', '·', ',', ':', ';']))
}

/// Returns a text of at most `width` columns. A longer one loses its middle: its end often says
/// what tells it apart.
pub(crate) fn without_middle(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let start = console::truncate_str(text, room.div_ceil(2), "");
    let ends = text.char_indices().map(|(at, _)| &text[at..]);
    let fits = |end: &&str| measure_text_width(end) + measure_text_width(&start) <= room;
    let end = ends.into_iter().find(fits).unwrap_or_default();
    format!("{start}…{end}")
}

/// Like [`wrap`], for a line that starts after `indent` columns; further parts are indented to the
/// same column. Returns one text with line feeds, none at its end.
pub(crate) fn hanging(line: &str, width: usize, indent: usize) -> String {
    let room = width.saturating_sub(indent).max(10);
    wrap(line, room).join(&format!("\n{}", " ".repeat(indent)))
}

/// Like [`hanging`], but never breaks a git command at the end of the line: a command that does not
/// fit is put on a line of its own, which the terminal may wrap, so that it can be copied.
pub(crate) fn hanging_command(line: &str, width: usize, indent: usize) -> String {
    let fits = measure_text_width(line) <= width.saturating_sub(indent);
    match line.rfind(": git ").filter(|_| !fits) {
        Some(at) => {
            let (sentence, command) = line.split_at(at + 1);
            let sentence = hanging(sentence, width, indent);
            format!("{sentence}\n{}{}", " ".repeat(indent), command.trim_start())
        }
        None => hanging(line, width, indent),
    }
}

/// Wraps, at word boundaries, the lines that are wider than the screen; `indent` returns the
/// indentation of a line's further parts. A command at the end of a line is not broken.
pub(crate) fn within(text: &str, screen: Option<usize>, indent: &dyn Fn(&str) -> usize) -> String {
    let Some(screen) = screen else { return text.to_owned() };
    let mut out = String::new();
    for line in text.lines() {
        let at = indent(line);
        match line.split_at_checked(at) {
            Some((label, rest)) if measure_text_width(line) > screen => {
                out.push_str(&format!("{label}{}\n", hanging_command(rest, screen, at)));
            }
            _ => out.push_str(&format!("{line}\n")),
        }
    }
    out
}

/// Returns the indentation of a line plus two.
pub(crate) fn below(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len() + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_between_words() {
        for (width, cut) in [
            (30, "3 requirements, 2 features"),
            (20, "3 requirements, 2…"),
            (17, "3 requirements…"),
            (14, "3…"),
            (1, "…"),
        ] {
            assert_eq!(shortened("3 requirements, 2 features", width), cut, "{width}");
        }
        assert_eq!(shortened("src/a/very/long/path", 10), "src/a/ver…");
    }

    #[test]
    fn a_name_loses_its_middle() {
        for (width, cut) in [
            (27, "todo-list-for-the-terminal"),
            (20, "todo-list-…-terminal"),
            (7, "tod…nal"),
            (1, "…"),
        ] {
            assert_eq!(without_middle("todo-list-for-the-terminal", width), cut, "{width}");
        }
        assert_eq!(without_middle("名前の長いセッション", 9), "名前…ョン");
    }

    #[test]
    fn a_command_is_not_broken() {
        let told = "kept: git show refs/cowork/drafts/todo/plan";
        assert_eq!(hanging_command(told, 60, 2), told);
        let whole = "kept:\n  git show refs/cowork/drafts/todo/plan";
        assert_eq!(hanging_command(told, 40, 2), whole);
        assert_eq!(hanging_command(told, 20, 2), whole);
        assert_eq!(hanging_command("one two three four", 14, 4), "one two\n    three four");
    }

    #[test]
    fn lines_break_at_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("one  two", 4), ["one", "two"]);
        assert_eq!(wrap("  in dented", 6), ["  in", "dented"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("漢字漢字", 4), ["漢字", "漢字"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("fits ", 4), ["fits"]);
    }

    #[test]
    fn further_parts_are_aligned_with_the_first() {
        assert_eq!(hanging("one two three four", 14, 4), "one two\n    three four");
    }
}
