//! Takes out of foreign text what a terminal would obey instead of show.
//!
//! What models and commands write may move the cursor, rename the window, write the clipboard or
//! reorder what a reviewer reads. Line feeds and tabs stay, everything else of the kind goes.

/// Cleans text that arrives in pieces: a sequence may begin in one and end in the next.
#[derive(Clone, Debug, Default)]
pub struct Cleaner {
    state: State,
}

/// Where in an escape sequence (ECMA-48) the text stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
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
    /// The harmless part of the next piece.
    pub fn push(&mut self, piece: &str) -> String {
        let mut clean = String::with_capacity(piece.len());
        for c in piece.chars() {
            if self.step(c) {
                clean.push(c);
            }
        }
        clean
    }

    /// Takes one character; whether it is shown.
    fn step(&mut self, c: char) -> bool {
        // No sequence goes over a line's end: an unterminated one must not hide what follows.
        if c == '\n' {
            self.state = State::Text;
            return true;
        }
        if c == '\x1b' {
            self.state = match self.state {
                State::Command => State::CommandEscape,
                _ => State::Escape,
            };
            return false;
        }
        match self.state {
            State::Text => return self.text(c),
            State::Escape | State::CommandEscape => {
                self.state = match c {
                    '\\' if self.state == State::CommandEscape => State::Text,
                    '[' => State::Csi,
                    ']' | 'P' | 'X' | '^' | '_' => State::Command,
                    ' '..='/' => State::Intermediate,
                    '0'..='~' => State::Text,
                    _ => return self.text(c),
                };
            }
            State::Intermediate => match c {
                ' '..='/' => {}
                '0'..='~' => self.state = State::Text,
                _ => return self.text(c),
            },
            State::Csi => match c {
                ' '..='?' => {}
                '@'..='~' => self.state = State::Text,
                _ => return self.text(c),
            },
            State::Command => {
                // BEL, CAN, SUB and the one-character string terminator end it.
                if matches!(c, '\x07' | '\x18' | '\x1a' | '\u{9c}') {
                    self.state = State::Text;
                }
            }
        }
        false
    }

    fn text(&mut self, c: char) -> bool {
        self.state = match c {
            '\u{9b}' => State::Csi,
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => State::Command,
            _ => State::Text,
        };
        c == '\t' || !(c.is_control() || is_deceptive(c))
    }
}

/// Characters that reorder or hide text: bidirectional embeddings, overrides and isolates
/// (CVE-2021-42574), separators some terminals break lines at, and invisible tag characters.
fn is_deceptive(c: char) -> bool {
    matches!(
        c,
        '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// The harmless part of a whole text.
pub fn sanitize(text: &str) -> String {
    Cleaner::default().push(text)
}

/// What standard output may show: foreign text made harmless, and of colours only those a table of
/// ours has, where it has any.
pub fn painted(text: &str, colors: bool) -> String {
    const OURS: [&str; 4] = ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"];
    if !colors {
        return sanitize(text);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    loop {
        let next = OURS.iter().filter_map(|code| Some((rest.find(code)?, code.len()))).min();
        let Some((at, length)) = next else { return out + &sanitize(rest) };
        out.push_str(&sanitize(&rest[..at]));
        out.push_str(&rest[at..at + length]);
        rest = &rest[at + length..];
    }
}

/// JSON that says the same and holds nothing a terminal would obey: what JSON may hold as it is,
/// but no terminal should see, is written as an escape.
pub fn escaped_json(json: &str) -> String {
    let plain = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_deceptive(c));
    if json.chars().all(plain) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if plain(c) {
            out.push(c);
        } else {
            // Beyond the first plane, two of them.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// A text in one line of at most `most` characters, cut with `…`.
pub fn one_line(text: &str, most: usize) -> String {
    let clean = sanitize(text);
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut cut: String = line.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_and_controls_go_text_stays() {
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
    fn cutting_a_text_anywhere_changes_nothing() {
        let text = "a\x1b[1;31mb\x1b]0;t\x1b\\c\u{9b}2Kd\x1b(Be\u{202e}f\n";
        for (at, _) in text.char_indices() {
            let mut cleaner = Cleaner::default();
            let pieces = cleaner.push(&text[..at]) + &cleaner.push(&text[at..]);
            assert_eq!(pieces, "abcdef\n", "cut at {at}");
        }
    }

    #[test]
    fn of_colours_only_ours_pass() {
        let text = "\x1b[32mok\x1b[0m \x1b[8mhidden\x1b[0m \x1b]0;t\x07x\x1b[33";
        assert_eq!(painted(text, true), "\x1b[32mok\x1b[0m hidden\x1b[0m x");
        assert_eq!(painted(text, false), "ok hidden x");
    }

    #[test]
    fn json_says_the_same_without_what_a_terminal_obeys() {
        let value = serde_json::json!({"a": "\u{1b}[2J \u{9b}1m \u{202e} \u{e0041} \u{7f} ü"});
        let escaped = escaped_json(&value.to_string());
        assert!(!escaped.chars().any(|c| c.is_control() || is_deceptive(c)), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        assert!(escaped.contains("ü"));
    }

    #[test]
    fn one_line_folds_and_cuts() {
        assert_eq!(one_line("a\n b\t\x1b[1mc", 80), "a b c");
        assert_eq!(one_line("äöüß", 3), "äö…");
    }
}
