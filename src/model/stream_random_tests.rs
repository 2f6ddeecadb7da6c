//! Server streams with random changes, split at random places.

use serde_json::Value;

use super::answer::take;
use super::dialect::{Dialect, Refusals};
use super::lines::LineSplitter;
use super::stream::Assembly;
use crate::test_random::{cases, changed, corpus};

/// The result of these pieces of a stream: the reply so far, and the failure that ended it.
fn heard<'a>(dialect: Dialect, pieces: impl Iterator<Item = &'a [u8]>) -> (String, String) {
    let (mut reader, mut assembly) = (dialect.reader(), Assembly::new(false));
    let mut lines = LineSplitter::default();
    let mut all: Vec<String> = pieces.flat_map(|piece| lines.push(piece)).collect();
    all.push(lines.end());
    let mut failure = None;
    for line in all {
        let Some(data) = line.trim_end().strip_prefix("data:") else { continue };
        let Ok(value) = serde_json::from_str::<Value>(data.trim()) else { continue };
        let taken = take(&value, &mut reader, Refusals::default(), &mut assembly, &|_| ());
        if let Err(error) = taken {
            failure = Some(error);
            break;
        }
    }
    assembly.end_text();
    (format!("{assembly:?}"), format!("{failure:?}"))
}

#[test]
fn any_stream_is_read_the_same_however_it_is_split() {
    let texts = corpus("streams");
    cases(|random| {
        let mut bytes = changed(random, &texts).into_bytes();
        if random.u8(0..4) == 0 && !bytes.is_empty() {
            let at = random.usize(0..bytes.len());
            bytes[at] = random.u8(..);
        }
        let most = random.usize(1..200);
        for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Messages] {
            let whole = heard(dialect, std::iter::once(&bytes[..]));
            assert_eq!(heard(dialect, bytes.chunks(most)), whole, "in pieces of {most} bytes");
        }
    });
}
