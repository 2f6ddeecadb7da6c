//! Editing a line at a gate: how it is drawn after its prompt, and the history of lines typed in
//! this run.

use console::measure_text_width;

use crate::typed_line::{Edit, TypedLine};

/// A line being edited on the screen.
#[derive(Debug)]
pub(super) struct LineEdit<'a> {
    prompt: &'a str,
    width: usize,
    history: &'a [String],
    /// Index of the history line shown; the history's length for the new line.
    shown: usize,
    /// The new line, while a history line is shown.
    own: TypedLine,
    line: TypedLine,
}

impl<'a> LineEdit<'a> {
    /// An empty line after a prompt already written, on a screen `width` columns wide.
    pub(super) fn new(prompt: &'a str, width: usize, history: &'a [String]) -> Self {
        let shown = history.len();
        let width = if width == 0 { usize::MAX } else { width };
        Self {
            prompt,
            width,
            history,
            shown,
            own: TypedLine::default(),
            line: TypedLine::default(),
        }
    }

    /// The text typed so far.
    pub(super) fn text(&self) -> String {
        self.line.text()
    }

    /// True if the line is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Applies an edit. Returns the text to write to the terminal.
    pub(super) fn apply(&mut self, edit: Edit) -> String {
        let (row, _) = self.place(self.line.cursor());
        let was_at_end = self.line.is_at_end();
        match edit {
            Edit::Older => self.show(self.shown.saturating_sub(1)),
            Edit::Newer => self.show((self.shown + 1).min(self.history.len())),
            edit => self.line.apply(edit),
        }
        if let Edit::Insert(c) = edit
            && was_at_end
        {
            return format!("{c}{}", self.wrap_at_edge());
        }
        self.redrawn(row)
    }

    /// Moves the cursor to the end of the line, for Enter.
    pub(super) fn leave(&mut self) -> String {
        if self.line.is_at_end() { String::new() } else { self.apply(Edit::End) }
    }

    /// Redraws the whole line on a screen from which it was cleared.
    pub(super) fn again(&self) -> String {
        self.redrawn(0)
    }

    /// Shows a history line, or the new line.
    fn show(&mut self, at: usize) {
        if at == self.shown {
            return;
        }
        if self.shown == self.history.len() {
            self.own = std::mem::take(&mut self.line);
        }
        self.shown = at;
        self.line = match self.history.get(at) {
            Some(line) => TypedLine::new(line, usize::MAX),
            None => std::mem::take(&mut self.own),
        };
        self.line.apply(Edit::End);
    }

    /// Row and column of the character at `index`, counted from the start of the prompt.
    fn place(&self, index: usize) -> (usize, usize) {
        let (mut row, mut column) = (0, 0);
        for c in self.prompt.chars().chain(self.line.chars().iter().take(index).copied()) {
            let columns = measure_text_width(c.encode_utf8(&mut [0; 4]));
            if column + columns > self.width {
                (row, column) = (row + 1, 0);
            }
            column += columns;
        }
        if column == self.width { (row + 1, 0) } else { (row, column) }
    }

    /// A terminal moves to the next row only when more text follows the last column.
    fn wrap_at_edge(&self) -> &'static str {
        let (row, column) = self.place(self.line.chars().len());
        if row > 0 && column == 0 { " \r" } else { "" }
    }

    /// Redraws the line in place. `row` is the row of the line in which the cursor is now.
    fn redrawn(&self, row: usize) -> String {
        let up = |rows: usize| match rows {
            0 => String::new(),
            rows => format!("\x1b[{rows}A"),
        };
        let (end_row, _) = self.place(self.line.chars().len());
        let (to_row, to_column) = self.place(self.line.cursor());
        let right = match to_column {
            0 => String::new(),
            columns => format!("\x1b[{columns}C"),
        };
        format!(
            "{}\r{}{}{}\x1b[J{}\r{right}",
            up(row),
            self.prompt,
            self.text(),
            self.wrap_at_edge(),
            up(end_row - to_row)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &mut LineEdit<'_>, text: &str) {
        for c in text.chars() {
            line.apply(Edit::Insert(c));
        }
    }

    #[test]
    fn a_line_is_edited_where_the_cursor_is() {
        let mut line = LineEdit::new("f  ", 80, &[]);
        typed(&mut line, "b the date");
        line.apply(Edit::Home);
        line.apply(Edit::Right);
        assert_eq!(line.apply(Edit::Insert('y')), "\rf  by the date\x1b[J\r\x1b[5C");
        line.apply(Edit::WordRight);
        line.apply(Edit::EraseWord);
        assert_eq!(line.text(), "by  date");
        line.apply(Edit::Delete);
        line.apply(Edit::End);
        line.apply(Edit::WordLeft);
        line.apply(Edit::EraseRest);
        assert_eq!(line.text(), "by ");
        line.apply(Edit::Erase);
        assert_eq!(
            (line.text().as_str(), line.apply(Edit::Delete).as_str()),
            ("by", "\rf  by\x1b[J\r\x1b[5C")
        );
        line.apply(Edit::EraseLine);
        line.apply(Edit::Erase);
        line.apply(Edit::Left);
        assert!(line.is_empty());
        assert_eq!(line.apply(Edit::Insert('a')), "a", "what is typed at the end is echoed alone");
    }

    #[test]
    fn history_can_be_browsed_without_losing_the_new_line() {
        let history = ["one".to_owned(), "two".to_owned()];
        let mut line = LineEdit::new("f  ", 80, &history);
        typed(&mut line, "thr");
        for (edit, shows) in [
            (Edit::Older, "two"),
            (Edit::Older, "one"),
            (Edit::Older, "one"),
            (Edit::Newer, "two"),
            (Edit::Newer, "thr"),
            (Edit::Newer, "thr"),
        ] {
            line.apply(edit);
            assert_eq!(line.text(), shows, "{edit:?}");
        }
        line.apply(Edit::Older);
        typed(&mut line, "!");
        assert_eq!(line.text(), "two!");
        assert_eq!(LineEdit::new("", 80, &[]).apply(Edit::Older), "\r\x1b[J\r");
    }

    #[test]
    fn a_line_of_several_rows_is_written_over_from_its_beginning() {
        let mut line = LineEdit::new("f  ", 10, &[]);
        typed(&mut line, "123456");
        assert_eq!(line.apply(Edit::Insert('7')), "7 \r", "the last column");
        typed(&mut line, "89");
        assert_eq!(line.apply(Edit::Home), "\x1b[1A\rf  123456789\x1b[J\x1b[1A\r\x1b[3C");
        assert_eq!(line.apply(Edit::End), "\rf  123456789\x1b[J\r\x1b[2C");
        assert_eq!(line.leave(), "");
        // A wide character is not split at the edge.
        let mut line = LineEdit::new("", 3, &[]);
        typed(&mut line, "a漢字");
        assert_eq!(line.place(3), (1, 2));
    }
}
