//! A line of input while it is typed, in any prompt: the meaning of keys and their effects.

/// The effect of a key on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Inserts a character at the cursor.
    Insert(char),
    /// Deletes the character before the cursor.
    Erase,
    /// Deletes the character at the cursor.
    Delete,
    /// Deletes the word before the cursor.
    EraseWord,
    /// Deletes the whole line.
    EraseLine,
    /// Deletes the text from the cursor to the end.
    EraseRest,
    /// Moves the cursor one character left.
    Left,
    /// Moves the cursor one character right.
    Right,
    /// Moves the cursor one word left.
    WordLeft,
    /// Moves the cursor one word right.
    WordRight,
    /// Moves the cursor to the beginning.
    Home,
    /// Moves the cursor to the end.
    End,
    /// Shows the previous entry of the history; the caller handles it.
    Older,
    /// Shows the next entry of the history; the caller handles it.
    Newer,
}

impl Edit {
    /// Returns the effect of a control character, as in a shell.
    pub(crate) const fn of_control(control: u8) -> Option<Self> {
        Some(match control {
            0x01 => Self::Home,
            0x02 => Self::Left,
            0x05 => Self::End,
            0x06 => Self::Right,
            0x08 | 0x7f => Self::Erase,
            0x0b => Self::EraseRest,
            0x0e => Self::Newer,
            0x10 => Self::Older,
            0x15 => Self::EraseLine,
            0x17 => Self::EraseWord,
            _ => return None,
        })
    }

    /// Returns the effect of a function key's sequence, given without its initial `ESC [` or `ESC
    /// O`.
    pub(crate) fn of_sequence(sequence: &[u8]) -> Option<Self> {
        // Ctrl or Alt with an arrow key moves by words.
        let by_words = sequence.starts_with(b"1;5") || sequence.starts_with(b"1;3");
        Some(match (sequence, sequence.last()) {
            (b"3~", _) => Self::Delete,
            (b"1~" | b"7~", _) | (_, Some(b'H')) => Self::Home,
            (b"4~" | b"8~", _) | (_, Some(b'F')) => Self::End,
            (_, Some(b'A')) => Self::Older,
            (_, Some(b'B')) => Self::Newer,
            (_, Some(b'C')) if by_words => Self::WordRight,
            (_, Some(b'C')) => Self::Right,
            (_, Some(b'D')) if by_words => Self::WordLeft,
            (_, Some(b'D')) => Self::Left,
            _ => return None,
        })
    }
}

/// The characters of a line, and the position of its cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypedLine {
    text: Vec<char>,
    cursor: usize,
}

impl TypedLine {
    /// Creates a line with the cursor after `cursor` characters, at most at its end.
    pub(crate) fn new(text: &str, cursor: usize) -> Self {
        let text: Vec<char> = text.chars().collect();
        let cursor = cursor.min(text.len());
        Self { text, cursor }
    }

    pub(crate) fn chars(&self) -> &[char] {
        &self.text
    }

    /// Number of characters before the cursor.
    pub(crate) const fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn text(&self) -> String {
        self.text.iter().collect()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.cursor == self.text.len()
    }

    /// Applies the effect of a key. History keys have no effect: the line does not know the
    /// history.
    pub(crate) fn apply(&mut self, edit: Edit) {
        let (at, end) = (self.cursor, self.text.len());
        let (left_of, right) = (at.saturating_sub(1), (at + 1).min(end));
        // The deleted range; the cursor moves to its start.
        let (from, to) = match edit {
            Edit::Insert(c) => {
                self.text.insert(at, c);
                (at + 1, at + 1)
            }
            Edit::Erase => (left_of, at),
            Edit::Delete => (at, right),
            Edit::EraseWord => (self.word_before(), at),
            Edit::EraseLine => (0, end),
            Edit::EraseRest => (at, end),
            Edit::Left => (left_of, left_of),
            Edit::Right => (right, right),
            Edit::WordLeft => (self.word_before(), self.word_before()),
            Edit::WordRight => (self.word_after(), self.word_after()),
            Edit::Home => (0, 0),
            Edit::End => (end, end),
            Edit::Older | Edit::Newer => (at, at),
        };
        self.text.drain(from..to);
        self.cursor = from;
    }

    fn word_before(&self) -> usize {
        let is_blank = |c: &char| c.is_whitespace();
        let before = &self.text[..self.cursor];
        let end = before.iter().rposition(|c| !is_blank(c)).map_or(0, |last| last + 1);
        before[..end].iter().rposition(is_blank).map_or(0, |blank| blank + 1)
    }

    fn word_after(&self) -> usize {
        let from = |at: usize, blank: bool| {
            let rest = self.text[at..].iter();
            rest.take_while(|c| c.is_whitespace() == blank).count() + at
        };
        from(from(self.cursor, true), false)
    }
}
