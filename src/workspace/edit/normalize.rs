//! Normalizes punctuation: typographic quotes, dashes, dots and blanks match their plain spelling
//! when a passage is searched for.

/// Returns the plain spelling of a character, or the character itself.
fn plain(c: char, buffer: &mut [u8; 4]) -> &str {
    match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{02bc}' => "'",
        '\u{201c}'..='\u{201f}' | '\u{2033}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => "-",
        '\u{2026}' => "...",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' => "",
        other => other.encode_utf8(buffer),
    }
}

/// Returns a text with plain punctuation.
pub(crate) fn folded(text: &str) -> String {
    let mut buffer = [0; 4];
    let mut folded = String::with_capacity(text.len());
    text.chars().for_each(|c| folded.push_str(plain(c, &mut buffer)));
    folded
}

/// A text with plain punctuation and `\n` line endings, with the origin of its characters.
pub(crate) struct Folded {
    pub text: String,
    /// For each byte of `text` that begins the plain spelling of a character: where that character
    /// begins in the original text. `None` for other bytes.
    origin: Vec<Option<usize>>,
    /// Length of the original text.
    length: usize,
}

impl Folded {
    pub(crate) fn new(text: &str) -> Self {
        let mut buffer = [0; 4];
        let mut folded = Self {
            text: String::with_capacity(text.len()),
            origin: Vec::new(),
            length: text.len(),
        };
        for (at, c) in text.char_indices() {
            if c == '\r' && text[at + 1..].starts_with('\n') {
                continue;
            }
            // A CRLF line ending begins at its `\r`.
            let at = if c == '\n' && text[..at].ends_with('\r') { at - 1 } else { at };
            let written = plain(c, &mut buffer);
            folded.text.push_str(written);
            let bytes = (0..written.len()).map(|byte| (byte == 0).then_some(at));
            folded.origin.extend(bytes);
        }
        folded
    }

    /// Returns the original position of a position in the normalized text; `None` inside a
    /// character.
    pub(crate) fn origin(&self, at: usize) -> Option<usize> {
        if at == self.origin.len() { Some(self.length) } else { *self.origin.get(at)? }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typography_is_converted_to_plain_punctuation() {
        assert_eq!(folded("“It’s” – a\u{a0}b…"), "\"It's\" - a b...");
        assert_eq!(folded("naïve 日本\t x\u{200b}y"), "naïve 日本\t xy");
    }

    #[test]
    fn positions_are_mapped_to_the_original_text() {
        let text = "é…\r\n“x”";
        let folded = Folded::new(text);
        assert_eq!(folded.text, "é...\n\"x\"");
        let at = |part: &str| folded.origin(folded.text.find(part).unwrap()).unwrap();
        assert_eq!(&text[at("\"x")..], "“x”");
        assert_eq!(&text[at("...")..], "…\r\n“x”");
        assert_eq!(&text[at("\n")..], "\r\n“x”");
        assert_eq!(folded.origin(3), None);
        assert_eq!(folded.origin(folded.text.len()), Some(text.len()));
    }
}
