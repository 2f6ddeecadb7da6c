//! Removes critics' verdict markers, `<review>…</review>`, from text for people: the verdict is
//! shown separately. Used for displayed and for recorded text.

const OPEN: &str = "<review>";
const CLOSE: &str = "</review>";

/// Maximum length of the text in a marker.
const MOST: usize = 40;

/// Filter for text that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markers {
    /// A possible beginning of a marker.
    held: String,
}

impl Markers {
    /// Returns the next piece without markers; a possible beginning of one is held back.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut out = String::new();
        while let Some(at) = self.held.find('<') {
            out.extend(self.held.drain(..at));
            if OPEN.starts_with(&self.held) {
                return out;
            }
            if let Some(inside) = self.held.strip_prefix(OPEN) {
                if let Some(end) = inside.find(CLOSE).filter(|end| *end <= MOST) {
                    self.held.drain(..OPEN.len() + end + CLOSE.len());
                    continue;
                }
                if inside.len() <= MOST + CLOSE.len() {
                    return out;
                }
            }
            out.extend(self.held.drain(..1));
        }
        out.push_str(&std::mem::take(&mut self.held));
        out
    }

    /// Returns the text still held back, at the end of the stream.
    pub(crate) fn end(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Returns a whole text without markers.
pub(crate) fn without_markers(text: &str) -> String {
    let mut markers = Markers::default();
    let mut out = markers.push(text);
    out.push_str(&markers.end());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_markers_are_removed() {
        for (given, wanted) in [
            ("good <review>PASS</review>.", "good ."),
            ("a < b, <b>x</b> <rev", "a < b, <b>x</b> <rev"),
            ("<review>A</review><review> B </review>c", "c"),
            ("<review>never closed", "<review>never closed"),
        ] {
            assert_eq!(without_markers(given), wanted);
            for (at, _) in given.char_indices() {
                let mut markers = Markers::default();
                let first = markers.push(&given[..at]);
                let pieces = first + &markers.push(&given[at..]) + &markers.end();
                assert_eq!(pieces, wanted, "cut at {at}");
            }
        }
        let long = format!("<review>{}</review>", "long ".repeat(20));
        assert_eq!(without_markers(&long), long);
    }
}
