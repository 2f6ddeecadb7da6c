//! The line below the live lines in which the user types a note for the actor: its keys and its
//! display.

use std::sync::Arc;

use console::measure_text_width;

use crate::clean::{one_line, sanitize};
use crate::session::TypedNotes;
use crate::typed_line::{Edit, TypedLine};
use crate::wrap::shortened;

/// Prefix of the line.
const PROMPT: &str = "▸ ";
/// Placeholder for a line break, since the note is shown on one line.
const LINE_END: char = '⏎';
/// Maximum number of characters of a note.
const MOST: usize = 16_000;
/// After this many polls without another byte, an Escape byte counts as the Escape key: a slow
/// connection can split an escape sequence.
const ALONE: u8 = 3;

/// A key with a function here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// An edit of the line. [`Edit::Older`] takes back the note that was submitted last.
    Edit(Edit),
    Enter,
    /// Ctrl-Z.
    Suspend,
}

/// The result of processing keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Typed {
    /// The display must be redrawn.
    pub changed: bool,
    /// The job should be suspended.
    pub suspends: bool,
}

/// The typed line.
#[derive(Debug)]
pub(super) struct Typing {
    notes: Arc<TypedNotes>,
    /// Number of characters before the cursor.
    at: usize,
    /// The bytes of an incomplete key.
    rest: Vec<u8>,
    /// Polls since these bytes arrived.
    looks: u8,
}

impl Typing {
    pub(super) fn new(notes: Arc<TypedNotes>) -> Self {
        let at = notes.line().chars().count();
        Self { notes, at, rest: Vec::new(), looks: 0 }
    }

    /// True if there is anything to show.
    pub(super) fn is_active(&self) -> bool {
        !self.notes.line().is_empty() || !self.notes.waiting().is_empty()
    }

    /// Processes the bytes of one poll; `bytes` is empty if no key was pressed since the last poll.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Typed {
        self.looks = if bytes.is_empty() { self.looks.saturating_add(1) } else { 0 };
        self.rest.extend_from_slice(bytes);
        let mut keys = keys(&mut self.rest);
        if self.rest == [0x1b] && self.looks >= ALONE {
            self.rest.clear();
            keys.push(Key::Edit(Edit::EraseLine));
        }
        // Read the line again: another part of the program may have taken it.
        let mut line = TypedLine::new(&self.notes.line(), self.at);
        let last = keys.iter().rposition(|key| *key != Key::Enter);
        let mut out = Typed { changed: !keys.is_empty(), suspends: false };
        for (at, key) in keys.into_iter().enumerate() {
            let edit = match key {
                Key::Suspend => {
                    out.suspends = true;
                    continue;
                }
                // Nobody types that fast after Enter: this is a line break in pasted text.
                Key::Enter if last.is_some_and(|last| at < last) => Edit::Insert('\n'),
                Key::Enter | Key::Edit(Edit::Older) => {
                    self.notes.set_line(line.text());
                    match key {
                        Key::Enter => self.notes.hand_in(),
                        _ => self.notes.take_back(),
                    }
                    line = TypedLine::new(&self.notes.line(), usize::MAX);
                    continue;
                }
                Key::Edit(edit) => edit,
            };
            if !matches!(edit, Edit::Insert(_)) || line.chars().len() < MOST {
                line.apply(edit);
            }
        }
        self.at = line.cursor();
        if out.changed {
            self.notes.set_line(line.text());
        }
        out
    }

    /// Returns the lines below the live ones, none wider than `width`, with the cursor at the
    /// position of the next key.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let waiting = self.notes.waiting();
        if let Some(last) = waiting.last() {
            let text = one_line(&last.text, usize::MAX);
            let line = match waiting.len() {
                1 => format!("  for the actor's next turn (Up edits it): {text}"),
                many => {
                    format!("  {many} notes for the actor's next turn (Up edits the last): {text}")
                }
            };
            lines.push(shortened(&line, width));
        }
        let line = self.notes.line();
        if !line.is_empty() {
            lines.push(self.shown(&line, width));
        }
        lines
    }

    /// Returns the line, truncated to the part around the cursor.
    fn shown(&self, line: &str, width: usize) -> String {
        let line: Vec<char> = line.chars().map(visible).collect();
        let (before, after) = line.split_at(self.at.min(line.len()));
        // One column is for the cursor.
        let room = width.saturating_sub(measure_text_width(PROMPT) + 1);
        let behind = fitting(after.iter(), room / 4);
        let kept = fitting(before.iter().rev(), room.saturating_sub(columns(&after[..behind])));
        let mut text: String = PROMPT.to_owned();
        if kept < before.len() {
            text.push('…');
            let kept =
                fitting(before.iter().rev(), room.saturating_sub(columns(&after[..behind]) + 1));
            text.extend(&before[before.len() - kept..]);
        } else {
            text.extend(before);
        }
        // The columns that remain after the text before the cursor.
        let left = (room + measure_text_width(PROMPT)).saturating_sub(measure_text_width(&text));
        let behind = fitting(after.iter(), left);
        text.extend(&after[..behind]);
        match columns(&after[..behind]) {
            0 => text,
            back => format!("{text}\x1b[{back}D"),
        }
    }
}

/// Returns how many of these characters fit.
fn fitting<'a>(chars: impl Iterator<Item = &'a char>, room: usize) -> usize {
    let mut used = 0;
    let fits = |c: &&char| {
        used += columns(&[**c]);
        used <= room
    };
    chars.take_while(fits).count()
}

fn columns(chars: &[char]) -> usize {
    measure_text_width(&chars.iter().collect::<String>())
}

const fn visible(c: char) -> char {
    match c {
        '\n' => LINE_END,
        c => c,
    }
}

/// Takes complete keys from the bytes; the bytes of an incomplete key remain.
fn keys(bytes: &mut Vec<u8>) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let Some((key, length)) = key(&bytes[at..]) else { break };
        keys.extend(key);
        at += length;
    }
    bytes.drain(..at);
    keys
}

/// Returns the first key and the number of its bytes; `None` if the key is incomplete.
fn key(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let key = match bytes[0] {
        b'\r' | b'\n' => Key::Enter,
        0x1a => Key::Suspend,
        b'\t' => Key::Edit(Edit::Insert(' ')),
        0x1b => return escape(bytes),
        first @ 0x20..=0x7e => Key::Edit(Edit::Insert(first.into())),
        0x80.. => return character(bytes),
        control => return Some((Edit::of_control(control).map(Key::Edit), 1)),
    };
    Some((Some(key), 1))
}

/// Parses the sequence of a function key. A single Escape may be the start of one.
fn escape(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let second = bytes.get(1)?;
    if *second == 0x1b {
        return Some((Some(Key::Edit(Edit::EraseLine)), 1));
    }
    if !matches!(second, b'[' | b'O') {
        return Some((None, 2));
    }
    let ends = |byte: &u8| (0x40..=0x7e).contains(byte);
    let length = 3 + bytes.get(2..)?.iter().position(ends)?;
    let key = Edit::of_sequence(&bytes[2..length]).map(Key::Edit);
    Some((key, length))
}

/// Parses a character of several bytes; invalid bytes are skipped.
fn character(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((None, 1)),
    };
    match std::str::from_utf8(&bytes[..length.min(bytes.len())]) {
        Ok(text) => {
            // Characters that change the reading direction are dropped.
            Some((sanitize(text).chars().next().map(|c| Key::Edit(Edit::Insert(c))), length))
        }
        Err(error) if error.error_len().is_none() => None,
        Err(_) => Some((None, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::StateDir;

    struct Desk {
        typing: Typing,
        notes: Arc<TypedNotes>,
        _dir: tempfile::TempDir,
    }

    fn desk() -> Desk {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path(), &"todo".parse().unwrap()).unwrap();
        let notes = Arc::new(TypedNotes::open(&state, "1"));
        Desk { typing: Typing::new(Arc::clone(&notes)), notes, _dir: dir }
    }

    impl Desk {
        fn types(&mut self, keys: &str) -> String {
            self.typing.take(keys.as_bytes());
            self.notes.line()
        }

        fn handed_in(&self) -> Vec<String> {
            self.notes.waiting().into_iter().map(|note| note.text).collect()
        }
    }

    #[test]
    fn a_note_is_edited_submitted_and_taken_back() {
        let mut desk = desk();
        assert!(!desk.typing.is_active());
        assert_eq!(desk.types("name teh"), "name teh");
        assert_eq!(desk.types("\x17the file\x7f\x7f\x7f\x7f"), "name the ");
        assert_eq!(desk.types("\x1b[D\x1b[D\x1b[De\x1b[C\x06\x06\x06é日"), "name tehe é日");
        assert_eq!(desk.types("\x01\x1b[3~\x05!"), "ame tehe é日!");
        assert_eq!(desk.types("\x15"), "");
        assert_eq!(desk.types("one\r"), "");
        assert_eq!(desk.types("\r \r"), "");
        desk.types("two\n");
        assert_eq!(desk.handed_in(), ["one", "two"]);
        assert_eq!(desk.types("\x1b[A"), "two");
        assert_eq!(desk.types("\x1b[A"), "two", "a typed note is not replaced");
        assert_eq!(desk.types("\x1b[D\x1b"), "two");
        (1..ALONE).for_each(|_| assert_eq!(desk.types(""), "two", "may be an incomplete key"));
        assert_eq!(desk.types(""), "");
        assert_eq!(desk.handed_in(), ["one"]);
    }

    #[test]
    fn keys_may_arrive_in_pieces_and_unknown_keys_are_ignored() {
        let mut desk = desk();
        desk.typing.take(&[0xe6, 0x97]);
        assert_eq!(desk.notes.line(), "");
        desk.typing.take(&[0xa5]);
        assert_eq!(desk.types("\x1b["), "日");
        assert_eq!(desk.types("15~\x07\x1bx\x1bOP"), "日");
        desk.typing.take(&[0xff, 0xe6, b'a']);
        assert_eq!(desk.notes.line(), "日a");
        assert!(desk.typing.take(b"\x1a").suspends);
        assert_eq!(desk.types(&"x".repeat(MOST)).chars().count(), MOST);
    }

    #[test]
    fn several_lines_that_were_pasted_are_one_note() {
        let mut desk = desk();
        assert_eq!(desk.types("one\r\rtwo"), "one\n\ntwo");
        assert_eq!(desk.typing.lines(40), ["▸ one⏎⏎two"]);
        desk.types("\r");
        desk.types("three\nfour\n");
        assert_eq!(desk.handed_in(), ["one\n\ntwo", "three\nfour"]);
        assert_eq!(
            desk.typing.lines(60),
            ["  2 notes for the actor's next turn (Up edits the last)…"]
        );
    }

    #[test]
    fn a_long_line_is_truncated_around_the_cursor() {
        let mut desk = desk();
        desk.types("please name the file");
        assert_eq!(desk.typing.lines(30), ["▸ please name the file"]);
        assert_eq!(desk.typing.lines(16), ["▸ …ame the file"]);
        desk.types("\x1b[D\x1b[D\x1b[D\x1b[D");
        assert_eq!(desk.typing.lines(16), ["▸ …name the fil\x1b[3D"]);
        desk.types("\x01");
        assert_eq!(desk.typing.lines(16), ["▸ please name t\x1b[13D"]);
        desk.types("\x05\x15日本語日本語日本語");
        for width in 1..30 {
            let line = desk.typing.lines(width).pop().unwrap();
            assert!(width < 5 || measure_text_width(&line) < width, "{width}: {line}");
        }
        assert_eq!(desk.typing.lines(12), ["▸ …語日本語"]);
    }
}
