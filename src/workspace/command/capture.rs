//! Captures the beginning and the end of a stream of any length.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::excerpt;
use crate::secret::Secrets;
use crate::workspace::command::watched::Lines;

/// Maximum size of a stream's text shown to a model, in bytes.
pub(crate) const SHOWN: usize = 10_000;
/// Maximum size of a stream's text kept for finding failures and test names, in bytes. If a
/// stream is longer, half of this size is kept from each end.
pub(crate) const KEPT: usize = 256 * 1024;

/// The kept text of one stream.
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    /// Maximum number of bytes kept. If the stream is longer, half of them are from each end.
    keep: usize,
    /// Bytes kept in addition, so that a secret is never cut in two before it is redacted.
    margin: usize,
    lines: Option<Lines>,
}

impl Capture {
    pub(crate) fn new(secrets: &Secrets, keep: usize) -> Self {
        let margin = secrets.longest() + 4;
        Self { head: Vec::new(), tail: VecDeque::new(), total: 0, keep, margin, lines: None }
    }

    /// Sends each line to `lines` too.
    pub(crate) fn watched(self, lines: Option<Lines>) -> Self {
        Self { lines, ..self }
    }

    /// True if some output is omitted.
    pub(crate) fn is_cut(&self) -> bool {
        self.total > self.keep as u64
    }

    /// Reads until the stream ends.
    pub(crate) async fn drain(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else {
            return;
        };
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(n @ 1..) = stream.read(&mut buffer).await {
            self.push(&buffer[..n]);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if let Some(lines) = &mut self.lines {
            lines.push(bytes);
        }
        let room = (self.keep + self.margin).saturating_sub(self.head.len());
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.tail.extend(bytes);
        let excess = self.tail.len().saturating_sub(self.keep / 2 + self.margin);
        self.tail.drain(..excess);
    }

    /// Returns the output as plain text, with secrets redacted. If it is too long, whole lines in
    /// the middle are replaced by a line with the omitted size.
    pub(crate) fn text(mut self, secrets: &Secrets) -> String {
        if !self.is_cut() {
            return secrets.withheld(&plain(&self.head)).into_owned();
        }
        // A secret cut in two would not be recognized.
        let whole = |bytes: &[u8]| secrets.for_models(&plain(bytes)).into_owned();
        let head = whole(&self.head[..self.keep / 2 + self.margin]);
        let head = excerpt::beginning(&head, head.len().saturating_sub(self.margin));
        let tail = whole(self.tail.make_contiguous());
        let tail = &tail[boundary(&tail, self.margin.min(tail.len()))..];
        // A line longer than the kept text is cut.
        let tail = tail.split_once('\n').map_or(tail, |(_, rest)| rest);
        let shown = u64::try_from(head.len() + tail.len()).unwrap_or(u64::MAX);
        let cut = self.total.saturating_sub(shown);
        format!("{}\n[… {cut} bytes left out …]\n{tail}", head.trim_end_matches('\n'))
    }
}

/// Returns the character boundary at or before `at`.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn plain(bytes: &[u8]) -> String {
    excerpt::plain(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LITTLE: usize = 10_000;

    fn text(pieces: &[&str], secrets: &Secrets) -> String {
        let mut capture = Capture::new(secrets, LITTLE);
        for piece in pieces {
            capture.push(piece.as_bytes());
        }
        assert!(capture.head.len() + capture.tail.len() < 2 * LITTLE);
        capture.text(secrets)
    }

    #[test]
    fn short_output_is_whole_and_long_output_keeps_both_ends() {
        let none = Secrets::default();
        assert_eq!(text(&["a", "b\n"], &none), "ab\n");
        let long = format!("first{}last", "x".repeat(2_000_000));
        let text = text(&[&long], &none);
        assert!(text.starts_with("first") && text.ends_with("last") && text.len() < 10_100);
        assert!(text.contains("[… 1990009 bytes left out …]"), "{}", &text[4990..5050]);
    }

    #[test]
    fn long_output_is_cut_at_line_boundaries() {
        let long: String = (0..9_000).map(|n| format!("\u{1b}[32mline {n}\u{1b}[0m\n")).collect();
        let text = text(&[&long], &Secrets::default());
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("\nline 8999\n"), "{text}");
        let is_whole = |line: &str| {
            let number = line.strip_prefix("line ").map(|n| n.parse::<u32>().is_ok());
            number.unwrap_or(line.starts_with("[… ") && line.ends_with(" bytes left out …]"))
        };
        assert!(text.lines().all(is_whole), "{text}");
    }

    #[test]
    fn a_secret_never_shows_wherever_the_cut_falls() {
        let secret = "sk-abcdefghij".to_owned();
        let secrets = Secrets::new([secret.clone()]);
        for before in 4_970..5_010 {
            let long = format!("{}{secret}{}", "x".repeat(before), "y".repeat(20_000));
            let shown = text(&[&long], &secrets);
            assert!(!shown.contains("sk-"), "{before}");
            let shown: String = long.chars().rev().collect();
            let reversed = Secrets::new([secret.chars().rev().collect::<String>()]);
            assert!(!text(&[&shown], &reversed).contains("-ks"), "{before}");
        }
        assert_eq!(text(&["sk-abc", "defghij"], &secrets), "[withheld key]");
    }
}
