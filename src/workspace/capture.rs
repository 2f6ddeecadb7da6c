//! Keeps the head and the tail of a stream, however long it is.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::secret::Secrets;

/// Bytes kept of a stream: all of it up to this, else half from each end.
const KEEP: usize = 10_000;
const HALF: usize = KEEP / 2;

/// What is kept of one stream.
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    /// Kept beyond what is shown, so that a secret is never cut in two before it is blanked out.
    margin: usize,
}

impl Capture {
    pub(super) fn new(secrets: &Secrets) -> Self {
        let margin = secrets.longest() + 4;
        Self { head: Vec::new(), tail: VecDeque::new(), total: 0, margin }
    }

    /// Reads until the stream ends.
    pub(super) async fn drain(&mut self, stream: Option<impl AsyncRead + Unpin>) {
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
        let room = (KEEP + self.margin).saturating_sub(self.head.len());
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.tail.extend(bytes);
        let excess = self.tail.len().saturating_sub(HALF + self.margin);
        self.tail.drain(..excess);
    }

    /// As text: the secrets blanked out, the middle left out and a line that says how much.
    pub(super) fn text(mut self, secrets: &Secrets) -> String {
        if self.total <= KEEP as u64 {
            return blanked(&self.head, secrets);
        }
        let head = blanked(&self.head[..HALF + self.margin], secrets);
        let end = boundary(&head, head.len().saturating_sub(self.margin));
        let tail = blanked(self.tail.make_contiguous(), secrets);
        let start = boundary(&tail, self.margin.min(tail.len()));
        let cut = self.total - KEEP as u64;
        format!("{}\n[… {cut} bytes left out …]\n{}", &head[..end], &tail[start..])
    }
}

/// The character boundary at or before a place.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn blanked(bytes: &[u8], secrets: &Secrets) -> String {
    secrets.withheld(&String::from_utf8_lossy(bytes)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pieces: &[&str], secrets: &Secrets) -> String {
        let mut capture = Capture::new(secrets);
        for piece in pieces {
            capture.push(piece.as_bytes());
        }
        assert!(capture.head.len() + capture.tail.len() < 2 * KEEP);
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
