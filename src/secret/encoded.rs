//! Other encodings of a secret: base64 (credentials of registries, keys in manifests), and two
//! bytes per character (UTF-16, as written by PowerShell's redirection).

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::sha256::hex;

/// Shorter runs cannot contain a key.
const SHORTEST: usize = 24;

/// Minimum length of base64 lines that continue on the next line.
const LINE: usize = 60;

const DECODER: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Calls `found` with the decoded text of each run of base64; returns its results with the runs'
/// ranges.
pub(super) fn in_base64<T>(
    bytes: &[u8],
    mut visit: impl FnMut(&[u8]) -> Option<T>,
) -> Vec<(Range<usize>, T)> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(|byte| is_digit(*byte)).map(|n| at + n) {
        let end = end_of_run(bytes, start);
        if end - start >= SHORTEST {
            let digits = bytes[start..end].iter().filter(|byte| is_digit(**byte));
            let mut digits: Vec<u8> = digits
                .map(|byte| match byte {
                    b'-' => b'+',
                    b'_' => b'/',
                    byte => *byte,
                })
                .collect();
            if digits.len() % 4 == 1 {
                digits.pop();
            }
            if let Some(result) = DECODER.decode(&digits).ok().and_then(|text| visit(&text)) {
                let padding = bytes[end..].iter().take(2).take_while(|byte| **byte == b'=');
                all.push((start..end + padding.count(), result));
            }
        }
        at = end;
    }
    all
}

/// Returns the end of a run: after a full line, the run continues on the next one.
fn end_of_run(bytes: &[u8], start: usize) -> usize {
    let line = |at: usize| bytes[at..].iter().position(|byte| !is_digit(*byte));
    let mut begin = start;
    loop {
        let end = line(begin).map_or(bytes.len(), |n| begin + n);
        let next = match bytes.get(end..) {
            Some([b'\r', b'\n', ..]) => end + 2,
            Some([b'\n', ..]) => end + 1,
            _ => return end,
        };
        let full = end - begin >= LINE && (end - begin).is_multiple_of(4);
        if !full || !bytes.get(next).is_some_and(|byte| is_digit(*byte)) {
            return end;
        }
        begin = next;
    }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The columns at which `xxd -p`, `openssl` and `base32` begin another line.
const COLUMNS: [usize; 3] = [60, 64, 76];

/// A key backwards, in hexadecimal digits and in base32, each also in lines.
pub(super) fn dumps(key: &str) -> Vec<String> {
    let (digits, backwards) = (hex(key.as_bytes()), key.chars().rev().collect());
    let mut all = vec![backwards, digits.to_uppercase(), digits, base32(key.as_bytes())];
    let in_lines = |text: &String, column: usize| {
        let lines = text.as_bytes().chunks(column).map(String::from_utf8_lossy);
        (text.len() > column).then(|| lines.collect::<Vec<_>>().join("\n"))
    };
    let long = all[1..].iter().flat_map(|text| COLUMNS.map(|column| in_lines(text, column)));
    let long: Vec<String> = long.flatten().collect();
    all.extend(long);
    all
}

/// The digits in base32 that are the same whatever follows (RFC 4648).
fn base32(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bit = |at: usize| usize::from(bytes[at / 8] >> (7 - at % 8) & 1);
    let digit = |at: usize| (5 * at..5 * at + 5).fold(0, |digit, at| 2 * digit + bit(at));
    (0..bytes.len() * 8 / 5).map(|at| char::from(DIGITS[digit(at)])).collect()
}

/// Reduces text that has two bytes per character to one byte per character; `None` if the bytes are
/// not such text.
pub(super) fn narrowed(bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    let zeros = memchr::memchr_iter(0, bytes).count();
    let wide = zeros > 0 && zeros >= bytes.len() / 4;
    wide.then(|| bytes.iter().copied().filter(|byte| *byte != 0).collect())
}

/// Returns the range in `bytes` for a range of the narrowed text.
pub(super) fn widened(bytes: &[u8], narrow: &Range<usize>) -> Range<usize> {
    let mut places = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0).map(|(at, _)| at);
    let start = places.nth(narrow.start).unwrap_or(bytes.len());
    let more = narrow.len().saturating_sub(2);
    let last = if narrow.len() > 1 { places.nth(more).unwrap_or(bytes.len() - 1) } else { start };
    start..(last + 1).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Vec<(Range<usize>, Vec<u8>)> {
        in_base64(text.as_bytes(), |bytes| Some(bytes.to_vec()))
    }

    #[test]
    fn base64_is_decoded_in_both_alphabets_and_across_lines() {
        let [(range, text)] = &decoded("auth: aGVsbG8gd29ybGQsIGhlbGxvIQ==\n")[..] else {
            panic!("one run");
        };
        assert_eq!((range.clone(), text.as_slice()), (6..34, &b"hello world, hello!"[..]));
        let long = "a".repeat(57);
        let lines = format!("{}\n{}\n", DECODER.encode(&long), DECODER.encode("b".repeat(30)));
        assert_eq!(decoded(&lines)[0].1, format!("{long}{}", "b".repeat(30)).into_bytes());
        assert_eq!(decoded("short words only, and-some_more"), []);
    }

    #[test]
    fn a_key_is_written_in_other_ways_and_in_lines() {
        let all = dumps("a key of forty-two characters, more or less");
        assert!(all[0].starts_with("ssel ro erom") && all[2].starts_with("61206b6579"));
        assert!(all[3].starts_with("MEQGWZLZEBXWMIDGN5ZHI6JNOR3W6"), "{}", all[3]);
        let (first, rest) = all[4].split_once('\n').unwrap();
        assert_eq!(([first, rest].concat(), first.len()), (all[1].clone(), 60));
        assert_eq!(base32(b"foobar"), "MZXW6YTBO");
    }

    #[test]
    fn two_byte_characters_are_narrowed() {
        let wide: Vec<u8> = "say hello".bytes().flat_map(|byte| [byte, 0]).collect();
        assert_eq!(narrowed(&wide).as_deref(), Some(&b"say hello"[..]));
        assert_eq!(wide[widened(&wide, &(4..9))], wide[8..17]);
        assert_eq!(narrowed(b"plain"), None);
        assert_eq!(narrowed(b"\x00binary with one zero"), None);
    }
}
