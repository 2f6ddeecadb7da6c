//! Takes the verdict markers of critics, `<review>…</review>`, out of text people read: what
//! they say is shown as a verdict. Shared by what shows text and what records it.

const OPEN: &str = "<review>";
const CLOSE: &str = "</review>";

/// Longest text between the two; more is no marker.
const MOST: usize = 40;

/// For text that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markers {
    /// What may become a marker.
    held: String,
}

impl Markers {
    /// The next piece without markers; the beginning of one is held back.
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

    /// What is still held back, at the end of the text.
    pub(crate) fn end(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// A whole text without markers.
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
    fn markers_go_and_other_text_stays() {
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
