//! Finds the end of a request's body: later bytes are another request, possibly for another server.
//! Parses strictly, so that no server interprets it differently.

use super::refusal::Failure;

/// The bytes that a client still has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// This many bytes.
    Length(u64),
    /// Chunks, with the part that is expected next.
    Chunked(Next),
    /// Anything: the connection is a tunnel.
    Tunnel,
}

/// A position in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// In the size of a chunk: the value so far, and its number of digits.
    Size(u64, u8),
    /// In the rest of the size line.
    Extension(u64),
    /// Before the line feed of the size line.
    SizeEnd(u64),
    /// In the data of a chunk, with the number of bytes left.
    Data(u64),
    /// After the data of a chunk.
    DataEnd,
    /// Before the line feed after the data.
    DataFeed,
    /// In a line after the last chunk; true if it is empty so far.
    Trailer(bool),
    /// Before the line feed of such a line.
    TrailerFeed(bool),
    /// The end of the body.
    End,
}

/// Maximum number of digits of a size.
const DIGITS: u8 = 15;

impl Body {
    /// Returns the body of a request with these headers.
    pub(super) fn of(headers: &[(String, Vec<u8>)]) -> Result<Self, Failure> {
        let named = |name: &str| {
            let all = headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
            let mut values = all.map(|(_, value)| value.trim_ascii());
            (values.next(), values.next().is_some())
        };
        let unclear = || Failure::Request("the length of the request is not clear");
        match (named("content-length"), named("transfer-encoding")) {
            ((None, _), (None, _)) => Ok(Self::Length(0)),
            ((Some(length), false), (None, _)) => {
                let is_number = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
                let number = std::str::from_utf8(length).ok().filter(|_| is_number);
                number.and_then(|text| text.parse().ok()).map(Self::Length).ok_or_else(unclear)
            }
            ((None, _), (Some(coding), false)) if coding.eq_ignore_ascii_case(b"chunked") => {
                Ok(Self::Chunked(Next::Size(0, 0)))
            }
            _ => Err(unclear()),
        }
    }

    /// Returns how many of the next bytes belong to the body. The first byte that does not belong
    /// to the body ends it.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        match self {
            Self::Tunnel => bytes.len(),
            Self::Length(left) => {
                let taken = fitting(*left, bytes.len());
                *left -= taken as u64;
                taken
            }
            Self::Chunked(next) => {
                let mut taken = 0;
                while let Some((first, _)) = bytes[taken..].split_first() {
                    taken += match next {
                        Next::Data(left) => {
                            let of_chunk = fitting(*left, bytes.len() - taken);
                            *left -= of_chunk as u64;
                            if *left == 0 {
                                *next = Next::DataEnd;
                            }
                            of_chunk
                        }
                        _ => match next.after(*first) {
                            Some(after) => {
                                *next = after;
                                1
                            }
                            // Invalid input ends the body.
                            None => {
                                *next = Next::End;
                                return taken;
                            }
                        },
                    };
                }
                taken
            }
        }
    }
}

impl Next {
    /// Returns the position after this byte; `None` if the byte is invalid here.
    fn after(self, byte: u8) -> Option<Self> {
        let sized = |size| if size == 0 { Self::Trailer(true) } else { Self::Data(size) };
        Some(match (self, byte) {
            (Self::Size(size, digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F')
                if digits < DIGITS =>
            {
                let digit = char::from(byte).to_digit(16)?;
                Self::Size(size * 16 + u64::from(digit), digits + 1)
            }
            (Self::Size(size, 1..) | Self::Extension(size), b'\r') => Self::SizeEnd(size),
            (Self::Size(size, 1..), b';' | b' ' | b'\t') => Self::Extension(size),
            (Self::Extension(size), byte) if byte != b'\n' => Self::Extension(size),
            (Self::SizeEnd(size), b'\n') => sized(size),
            (Self::DataEnd, b'\r') => Self::DataFeed,
            (Self::DataFeed, b'\n') => Self::Size(0, 0),
            (Self::Trailer(is_empty), b'\r') => Self::TrailerFeed(is_empty),
            (Self::Trailer(_), byte) if byte != b'\n' => Self::Trailer(false),
            (Self::TrailerFeed(is_empty), b'\n') if is_empty => Self::End,
            (Self::TrailerFeed(_), b'\n') => Self::Trailer(true),
            _ => return None,
        })
    }
}

fn fitting(left: u64, length: usize) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&str, &str)]) -> Result<Body, Failure> {
        let headers =
            headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        Body::of(&headers.collect::<Vec<_>>())
    }

    /// Returns the text that belongs to the body, read in pieces of this size.
    fn taken(mut body: Body, text: &str, piece: usize) -> String {
        let mut all = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            let taken = body.take(piece);
            all.extend(&piece[..taken]);
            if taken < piece.len() {
                break;
            }
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_body_ends_after_its_length_or_its_last_chunk() {
        const NEXT: &str = "GET http://other.example/ HTTP/1.1\r\n\r\n";
        let chunks = "5\r\nhello\r\n1;a=b\r\n!\r\n0\r\nTrailer: x\r\n\r\n";
        for piece in [1, 2, 7, 1000] {
            let length = of(&[("Content-Length", "5")]).unwrap();
            assert_eq!(taken(length, &format!("hello{NEXT}"), piece), "hello");
            assert_eq!(taken(of(&[]).unwrap(), NEXT, piece), "");
            let chunked = of(&[("transfer-encoding", "Chunked")]).unwrap();
            assert_eq!(taken(chunked, &format!("{chunks}{NEXT}"), piece), chunks);
            let short = format!("0\r\n\r\n{NEXT}");
            assert_eq!(taken(chunked, &short, piece), "0\r\n\r\n");
            // Some servers would accept this as the end.
            for (odd, read) in [("0\n\r\n", "0"), ("2\r\nabX", "2\r\nab"), ("x", ""), ("\r\n", "")]
            {
                assert_eq!(taken(chunked, &format!("{odd}{NEXT}"), piece), read);
            }
            assert_eq!(taken(Body::Tunnel, NEXT, piece), NEXT);
        }
    }

    #[test]
    fn an_ambiguous_length_is_refused() {
        for headers in [
            &[("Content-Length", "5"), ("content-length", "6")][..],
            &[("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
            &[("Transfer-Encoding", "gzip, chunked")],
            &[("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
            &[("Content-Length", "+5")],
            &[("Content-Length", "")],
            &[("Content-Length", "99999999999999999999")],
        ] {
            assert!(matches!(of(headers), Err(Failure::Request(_))), "{headers:?}");
        }
    }
}
