//! The lines of an event stream, from bytes that a server may split anywhere.
//!
//! The parser in async-openai (eventsource-stream 0.2) panics on a byte order mark, stops at the
//! first byte that is not UTF-8, and reads a long line again from its start for each piece.
//! Therefore it gets only complete lines of valid text.

/// The mark that some systems put before text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Splits bytes into lines.
#[derive(Debug, Default)]
pub struct LineSplitter {
    partial: Vec<u8>,
}

impl LineSplitter {
    /// Adds a piece; returns the lines that are now complete, with their ends.
    pub fn push(&mut self, piece: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for part in piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.partial.extend_from_slice(part);
            if part.ends_with(b"\n") || part.ends_with(b"\r") {
                lines.push(self.line());
            }
        }
        lines
    }

    /// The rest after the last complete line.
    pub fn end(&mut self) -> String {
        self.line()
    }

    fn line(&mut self) -> String {
        let bytes = std::mem::take(&mut self.partial);
        String::from_utf8_lossy(unmarked(&bytes)).into_owned()
    }
}

/// Bytes without a leading byte order mark.
pub fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// True if there is only white space and a byte order mark, or part of one.
pub fn is_blank(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii();
    BYTE_ORDER_MARK.starts_with(bytes) || unmarked(bytes).trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_they_are_cut() {
        let stream = "\u{feff}data: añ✓\r\n\r\n\u{feff}data: b\n\n: c\rrest".as_bytes();
        let wanted = "data: añ✓\r\n\r\ndata: b\n\n: c\rrest";
        for cut in 0..=stream.len() {
            let mut lines = LineSplitter::default();
            let mut all = lines.push(&stream[..cut]);
            all.extend(lines.push(&stream[cut..]));
            all.push(lines.end());
            assert_eq!(all.concat(), wanted, "cut at {cut}");
        }
    }

    #[test]
    fn an_invalid_byte_spoils_only_itself() {
        let mut lines = LineSplitter::default();
        let got = lines.push(b"data: a\xff\xc3\ndata: \0b\n");
        assert_eq!(got, ["data: a\u{fffd}\u{fffd}\n", "data: \0b\n"]);
    }

    #[test]
    fn a_byte_order_mark_counts_as_blank() {
        for blank in [&b""[..], b" \n", b"\xef", b"\xef\xbb", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n "] {
            assert!(is_blank(blank), "{blank:?}");
        }
        for begun in [&b"d"[..], b"\xef\xbb\xbfd", b"\xefd", b"{"] {
            assert!(!is_blank(begun), "{begun:?}");
        }
    }
}
