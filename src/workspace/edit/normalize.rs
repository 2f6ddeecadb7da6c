//! Punctuation as models write it: quotes, dashes, dots and blanks of typography are one with
//! their plain spelling when a passage is looked for.

/// Its plain spelling; the character itself when it has no other.
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

/// A text in plain punctuation.
pub(crate) fn folded(text: &str) -> String {
    let mut buffer = [0; 4];
    let mut folded = String::with_capacity(text.len());
    text.chars().for_each(|c| folded.push_str(plain(c, &mut buffer)));
    folded
}

/// A text in plain punctuation and with `\n` line ends, and where its parts come from.
pub(crate) struct Folded {
    pub text: String,
    /// Byte by byte of `text`: where the character it comes from begins, if it is its first byte.
    origin: Vec<Option<usize>>,
    /// Length of what was folded.
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
            // A line end begins with all of it.
            let at = if c == '\n' && text[..at].ends_with('\r') { at - 1 } else { at };
            let written = plain(c, &mut buffer);
            folded.text.push_str(written);
            let bytes = (0..written.len()).map(|byte| (byte == 0).then_some(at));
            folded.origin.extend(bytes);
        }
        folded
    }

    /// Where a place in the folded text was; none in the middle of a character.
    pub(crate) fn origin(&self, at: usize) -> Option<usize> {
        if at == self.origin.len() { Some(self.length) } else { *self.origin.get(at)? }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typography_is_one_with_plain_punctuation() {
        assert_eq!(folded("“It’s” – a\u{a0}b…"), "\"It's\" - a b...");
        assert_eq!(folded("naïve 日本\t x\u{200b}y"), "naïve 日本\t xy");
    }

    #[test]
    fn places_are_found_again() {
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
