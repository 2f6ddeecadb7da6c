//! Text that comes in pieces, broken between words at the edge of the screen.

use console::measure_text_width;

use crate::palette::{Slot, paint};

/// Columns of a long word: a shorter one that ends before the edge needs not be waited for.
const LONG: usize = 20;

/// What of a text is not written yet, and where the next word goes.
#[derive(Default)]
pub(super) struct Flow {
    column: usize,
    blanks: String,
    word: String,
    /// The beginning of the word is written.
    begun: bool,
    /// Paint what is written.
    color: bool,
    /// Break lines: there is a screen.
    breaks: bool,
}

impl Flow {
    pub(super) fn new(color: bool, breaks: bool) -> Self {
        Self { color, breaks, ..Self::default() }
    }

    /// Begins behind what stands in the line already.
    pub(super) fn begin(&mut self, column: usize) {
        *self = Self { column, ..Self::new(self.color, self.breaks) };
    }

    /// Takes a piece in; what of it can be written on a screen of this width. Without a width all of it.
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

    /// The word that was held back.
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
    fn words_are_whole_however_the_pieces_come() {
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
    fn far_from_the_edge_a_word_is_shown_as_it_comes() {
        let mut flow = Flow::new(false, true);
        assert_eq!(flow.push("half a wo", 80), "half a wo");
        assert_eq!(flow.push("rd", 80), "rd");
    }

    #[test]
    fn where_no_width_is_known_text_is_as_it_comes() {
        let mut flow = Flow::new(false, true);
        assert_eq!(flow.push("half a wo", 0) + &flow.push("rd", 0) + &flow.end(0), "half a word");
    }
}
