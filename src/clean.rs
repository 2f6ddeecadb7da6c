//! Removes from untrusted text the characters that a terminal would execute instead of display.
//!
//! Text from models and commands may contain sequences that move the cursor, rename the window,
//! write to the clipboard or reorder text under review. Line feeds and tabs are kept, all other
//! such characters are removed.

use crate::path_text::is_undecodable;

/// Cleans text that arrives in pieces: a sequence may begin in one piece and end in the next.
#[derive(Clone, Debug, Default)]
pub struct Cleaner {
    state: EscapeState,
    marks: bool,
}

/// The position within an escape sequence (ECMA-48).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character: one final character follows.
    Intermediate,
    /// In a control sequence: parameters up to a final character.
    Csi,
    /// In a command string (OSC, DCS, …), up to its terminator.
    Command,
    /// After ESC in a command string.
    CommandEscape,
}

impl Cleaner {
    /// Returns the next piece without harmful characters.
    pub fn push(&mut self, piece: &str) -> String {
        let (mut clean, mut rest) = (String::with_capacity(piece.len()), piece);
        loop {
            // Most text need not be examined character by character.
            if self.state == EscapeState::Text {
                let plain = rest.bytes().take_while(|byte| is_plain(*byte)).count();
                clean.push_str(&rest[..plain]);
                rest = &rest[plain..];
            }
            let mut chars = rest.chars();
            let Some(next) = chars.next() else { return clean };
            clean.extend(self.step(next));
            rest = chars.as_str();
        }
    }

    /// Processes one character; returns the character to show, if any.
    fn step(&mut self, c: char) -> Option<char> {
        // No sequence continues after a line feed: an unterminated one must not hide the following
        // lines.
        if c == '\n' {
            self.state = EscapeState::Text;
            return Some(c);
        }
        if c == '\x1b' {
            self.state = match self.state {
                EscapeState::Command => EscapeState::CommandEscape,
                _ => EscapeState::Escape,
            };
            return None;
        }
        match self.state {
            EscapeState::Text => return self.text(c),
            EscapeState::Escape | EscapeState::CommandEscape => {
                self.state = match c {
                    '\\' if self.state == EscapeState::CommandEscape => EscapeState::Text,
                    '[' => EscapeState::Csi,
                    ']' | 'P' | 'X' | '^' | '_' => EscapeState::Command,
                    ' '..='/' => EscapeState::Intermediate,
                    '0'..='~' => EscapeState::Text,
                    _ => return self.text(c),
                };
            }
            EscapeState::Intermediate => match c {
                ' '..='/' => {}
                '0'..='~' => self.state = EscapeState::Text,
                _ => return self.text(c),
            },
            EscapeState::Csi => match c {
                ' '..='?' => {}
                '@'..='~' => self.state = EscapeState::Text,
                _ => return self.text(c),
            },
            EscapeState::Command => {
                // BEL, CAN, SUB and the one-character string terminator end the command string.
                if matches!(c, '\x07' | '\x18' | '\x1a' | '\u{9c}') {
                    self.state = EscapeState::Text;
                }
            }
        }
        None
    }

    fn text(&mut self, c: char) -> Option<char> {
        self.state = match c {
            '\u{9b}' => EscapeState::Csi,
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => EscapeState::Command,
            _ => EscapeState::Text,
        };
        match c {
            '\t' => Some(c),
            _ if self.state != EscapeState::Text => None,
            _ if obeyed(c) => self.marks.then_some('\u{fffd}'),
            _ if is_undecodable(c) => Some('\u{fffd}'),
            _ => Some(c),
        }
    }
}

/// True for a printable ASCII character, a line feed or a tab.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

/// True if a terminal executes this character or displays other characters differently because of
/// it.
pub fn obeyed(c: char) -> bool {
    c.is_control() || is_deceptive(c)
}

/// Characters that reorder or hide text: bidirectional embeddings, overrides and isolates
/// (CVE-2021-42574), separators at which some terminals break lines, zero-width characters, and
/// invisible tag characters. Joiners that writing systems and emoji need are not included.
const fn is_deceptive(c: char) -> bool {
    matches!(
        c,
        '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Returns a whole text without harmful characters.
pub fn sanitize(text: &str) -> String {
    Cleaner::default().push(text)
}

/// Returns a text for review without harmful characters: a removed character outside an escape
/// sequence is replaced by `U+FFFD`, so that the reviewer notices it.
pub fn marked(text: &str) -> String {
    Cleaner { marks: true, ..Cleaner::default() }.push(&text.replace("\r\n", "\n"))
}

/// Returns a text on one line of at most `most` characters. A longer text is cut and ends with `…`,
/// at a space if there is one in the second half.
pub fn one_line(text: &str, most: usize) -> String {
    let clean = sanitize(text);
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut cut: String = line.chars().take(most.saturating_sub(1)).collect();
    let is_whole = line[cut.len()..].starts_with(' ');
    if let Some(at) = cut.rfind(' ').filter(|at| !is_whole && *at > cut.len() / 2) {
        cut.truncate(at);
    }
    cut.push('…');
    cut
}

/// The first `most` of these, and the number of the others: `a, b and 3 more`.
pub fn few<T: AsRef<str>>(all: &[T], most: usize, between: &str) -> String {
    let first: Vec<&str> = all.iter().take(most).map(AsRef::as_ref).collect();
    match all.len().saturating_sub(most) {
        0 => first.join(between),
        more => format!("{} and {more} more", first.join(between)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_and_control_characters_are_removed() {
        for (given, wanted) in [
            ("plain\ttext\nüñ 漢 🦀", "plain\ttext\nüñ 漢 🦀"),
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b[2J\x1b[1;1Htop", "top"),
            ("\x1b[?25l\x1b[38:2::1:2:3mx", "x"),
            ("a\x1b]0;title\x07b", "ab"),
            ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
            ("a\x1bPq data\x1b\\b", "ab"),
            ("a\x1b_apc\x1b\\b\x1b^pm\x1b\\c", "abc"),
            ("a\u{9b}31mb", "ab"),
            ("a\u{9d}52;c;AAAA\u{9c}b", "ab"),
            ("\x1b(Bx\x1b7y\x1bcz", "xyz"),
            ("one\r\ntwo\rthree", "one\ntwothree"),
            ("a\x08\x07\0\x7f\u{85}b", "ab"),
            ("if \u{202e}evil\u{2066} ok\u{2069}", "if evil ok"),
            ("hidden\u{e0041}\u{e0042}", "hidden"),
            ("\x1b]0;never ends\nshown", "\nshown"),
            ("\x1b[12\nshown", "\nshown"),
            ("\x1b[3\u{e9}", "é"),
            ("\x1b\x1b[1mx", "x"),
            ("ends in \x1b", "ends in "),
        ] {
            assert_eq!(sanitize(given), wanted, "{given:?}");
        }
    }

    #[test]
    fn splitting_a_text_into_pieces_changes_nothing() {
        let text = "a\x1b[1;31mb\x1b]0;t\x1b\\c\u{9b}2Kd\x1b(Be\u{202e}f\n";
        for (at, _) in text.char_indices() {
            let mut cleaner = Cleaner::default();
            let pieces = cleaner.push(&text[..at]) + &cleaner.push(&text[at..]);
            assert_eq!(pieces, "abcdef\n", "cut at {at}");
        }
    }

    #[test]
    fn removed_characters_are_marked_in_reviewed_text() {
        for (given, wanted) in [
            ("a\x1b[31mred\x1b[0m b", "ared b"),
            ("\x1bcreset \u{9b}2Jx", "reset x"),
            ("one\r\ntwo\tthree\n", "one\ntwo\tthree\n"),
            ("a\x1b]0;b\nrm -rf", "a\nrm -rf"),
            ("a\x1b[1;2\nb", "a\nb"),
            ("a\rb\x08c\u{202e}d\x07", "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}"),
        ] {
            assert_eq!(marked(given), wanted, "{given:?}");
        }
    }

    #[test]
    fn one_line_folds_and_cuts() {
        assert_eq!(one_line("a\n b\t\x1b[1mc", 80), "a b c");
        assert_eq!(one_line("äöüß", 3), "äö…");
    }
}
