//! Breaks streamed text between words into lines that are at most as wide as the screen.

use console::measure_text_width;

use crate::palette::{Slot, paint};

/// If at least this many columns are free, a word is written before its end has arrived.
const LONG: usize = 20;

/// The text that is not written yet, and the position of the next word.
#[derive(Default)]
pub(super) struct Flow {
    column: usize,
    blanks: String,
    word: String,
    /// The start of the current word has been written.
    begun: bool,
    /// Paint the text.
    color: bool,
    /// Break lines: the output is a terminal.
    breaks: bool,
}

impl Flow {
    pub(super) fn new(color: bool, breaks: bool) -> Self {
        Self { color, breaks, ..Self::default() }
    }

    /// Starts a new text after `column` columns of other text.
    pub(super) fn begin(&mut self, column: usize) {
        *self = Self { column, ..Self::new(self.color, self.breaks) };
    }

    /// Adds a piece of text and returns the part that can be written on a screen of this width;
    /// without a width, all of it.
    pub(super) fn push(&mut self, piece: &str, width: usize) -> String {
        if width == 0 || !self.breaks {
            return self.painted(piece);
        }
        let mut out = String::new();
        for c in piece.chars() {
            match c {
                '\n' => {
                    out += &self.flushed(width);
                    out.push('\n');
                    self.blanks.clear();
                    self.column = 0;
                    self.begun = false;
                }
                ' ' | '\t' => {
                    out += &self.flushed(width);
                    self.blanks.push(c);
                    self.begun = false;
                }
                c => self.word.push(c),
            }
        }
        let columns = measure_text_width(&self.blanks) + measure_text_width(&self.word);
        if !self.word.is_empty() && self.column + columns + LONG <= width {
            out += &self.flushed(width);
            self.begun = true;
        }
        self.painted(&out)
    }

    /// Returns the word that was held back.
    pub(super) fn end(&mut self, width: usize) -> String {
        let word = self.flushed(width);
        self.painted(&word)
    }

    fn flushed(&mut self, width: usize) -> String {
        if self.word.is_empty() {
            return String::new();
        }
        let word = std::mem::take(&mut self.word);
        let blanks = std::mem::take(&mut self.blanks);
        let columns = measure_text_width(&word);
        let all = measure_text_width(&blanks) + columns;
        if self.column > 0 && !self.begun && self.column + all > width {
            self.column = columns;
            return format!("\n{word}");
        }
        self.column += all;
        blanks + &word
    }

    fn painted(&self, text: &str) -> String {
        if self.color && !text.is_empty() { paint(Slot::Dim, text) } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_for_any_split_into_pieces() {
        let text = "I followed each criterion.\n\n    fn add() {}\nAveryveryverylongword ends.\n";
        for size in 1..8 {
            let mut flow = Flow::new(false, true);
            flow.begin(8);
            let mut out = String::new();
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(size) {
                out += &flow.push(&piece.iter().collect::<String>(), 16);
            }
            out += &flow.end(16);
            assert_eq!(
                out,
                "I\nfollowed each\ncriterion.\n\n    fn add() {}\nAveryveryverylongword\nends.\n"
            );
        }
    }

    #[test]
    fn far_from_the_edge_a_word_is_shown_as_it_arrives() {
        let mut flow = Flow::new(false, true);
        assert_eq!(flow.push("half a wo", 80), "half a wo");
        assert_eq!(flow.push("rd", 80), "rd");
    }

    #[test]
    fn without_a_width_text_is_not_broken() {
        let mut flow = Flow::new(false, true);
        assert_eq!(flow.push("half a wo", 0) + &flow.push("rd", 0) + &flow.end(0), "half a word");
    }
}
