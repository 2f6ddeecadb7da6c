//! Reads parts of files without loading the whole file into memory.

use std::io::{BufRead, BufReader, Read as _};

use crate::shell_quote::quoted;
use crate::workspace::files::guard::{self, Purpose};
use crate::workspace::refusal::Refusal;
use crate::workspace::working_tree::WHOLE_FILE_MAX;
use crate::workspace::working_tree::WorkingTree;

/// Default and maximum number of lines returned.
const LINES: u64 = 600;
const LINES_MAX: u64 = 3000;
/// Maximum size of the returned content, so that the result, with its header, is not truncated.
const BYTES_MAX: usize = 15_000;
/// Maximum size of one returned line in bytes.
const LINE_MAX: usize = 2_000;
/// After this many bytes, lines are no longer counted.
const COUNT_MAX: u64 = 64 * 1024 * 1024;
/// Maximum number of bytes skipped to find the first requested line.
const SKIP_MAX: u64 = 1024 * 1024 * 1024;

/// Returns at most `limit` lines of a text file from line `offset` (the first is 1), after a header
/// with the line range and how to read the rest.
pub(crate) fn lines(
    tree: &WorkingTree,
    path: &str,
    offset: Option<u64>,
    limit: Option<u64>,
) -> Result<String, Refusal> {
    let path = guard::resolve(tree, path, Purpose::Look)?;
    let first = offset.unwrap_or(1).max(1);
    let limit = limit.unwrap_or(LINES).clamp(1, LINES_MAX);
    let mut file = tree.open_regular(&path)?;
    let failed = |error| tree.io_errors.unreadable(&path, error);
    let mut bytes = Vec::new();
    file.by_ref().take(WHOLE_FILE_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    // A larger file cannot be overwritten, so its content need not be tracked.
    let whole = bytes.len() as u64 <= WHOLE_FILE_MAX;
    let part = scan(BufReader::new(bytes.as_slice().chain(file)), first, limit);
    let text = match part.map_err(failed)? {
        Part::Binary => return Err(Refusal::failed(format!("{path} is binary"))),
        Part::NotUtf8(line) => {
            return Err(not_utf8(&path, Some(line)));
        }
        Part::TooBig => {
            return Err(Refusal::failed(format!(
                "{path} is too big to look for line {first}; read its beginning, or a part of \
                 it with a command"
            )));
        }
        Part::Text(text) => text,
    };
    if whole && (text.count > 0 || text.total == 0) {
        let last = (first - 1).saturating_add(text.count);
        // A truncated line does not count as seen.
        let last = if text.cut { first - 1 } else { last };
        tree.read_tracker.note_read(&path, &bytes, first, last, text.total);
    }
    text.render(&path, first)
}

/// Refuses a text in another encoding, with ways to go on.
pub(crate) fn not_utf8(path: &str, line: Option<u64>) -> Refusal {
    let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
    let name = quoted(path);
    Refusal::failed(format!(
        "{path} is not UTF-8 text{line}; search_files shows its lines, with \u{fffd} for what is not \
         UTF-8; a command can show it (iconv -f ISO-8859-1 -t UTF-8 {name}, if that is its encoding) \
         and change it"
    ))
}

/// Returns the first `bytes` bytes of a text file and up to 4 more, with invalid UTF-8 replaced;
/// empty if the path is not a readable regular file in the tree.
pub(crate) fn head(tree: &WorkingTree, path: &str, bytes: usize) -> String {
    let file = guard::resolve(tree, path, Purpose::Look).and_then(|path| tree.open_regular(&path));
    let Ok(file) = file else { return String::new() };
    let mut head = Vec::new();
    // A few bytes more, so that a caller that truncates the text notices that some of it is
    // missing.
    let limit = u64::try_from(bytes + 4).unwrap_or(u64::MAX);
    match file.take(limit).read_to_end(&mut head) {
        Ok(_) => String::from_utf8_lossy(&head).into_owned(),
        Err(_) => String::new(),
    }
}

enum Part {
    Binary,
    NotUtf8(u64),
    TooBig,
    Text(Text),
}

#[derive(Default)]
struct Text {
    shown: String,
    /// Lines in `shown`.
    count: u64,
    /// Lines of the whole file, or those counted.
    total: u64,
    /// Counting was stopped at the limit.
    more: bool,
    /// Some line was truncated.
    cut: bool,
}

impl Text {
    fn render(self, path: &str, first: u64) -> Result<String, Refusal> {
        let of = if self.more { "more than " } else { "" };
        if self.total == 0 {
            return Ok(format!("{path} is empty"));
        }
        if self.count == 0 {
            return Err(Refusal::failed(format!("{path} has only {of}{} lines", self.total)));
        }
        let last = first + self.count - 1;
        let mut header = format!("{path}, lines {first}-{last} of {of}{}", self.total);
        if last < self.total {
            header.push_str(&format!("; for more: offset {}", last + 1));
        }
        if self.cut {
            header.push_str(&format!("; lines longer than {LINE_MAX} bytes are cut"));
        }
        Ok(format!("{header}\n{}", self.shown))
    }
}

fn scan(mut reader: impl BufRead, first: u64, limit: u64) -> std::io::Result<Part> {
    // Like git: a NUL byte near the beginning makes a file binary.
    if reader.fill_buf()?.contains(&0) {
        return Ok(Part::Binary);
    }
    let mut text = Text::default();
    let mut line = Vec::new();
    let mut length = 0;
    let mut bytes = 0;
    let mut full = false;
    loop {
        let buffer = reader.fill_buf()?;
        let end = buffer.is_empty();
        if end && length == 0 {
            return Ok(Part::Text(text));
        }
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let piece = &buffer[..newline.unwrap_or(buffer.len())];
        let number = text.total + 1;
        let wanted = !full && number >= first && number < first.saturating_add(limit);
        if wanted {
            line.extend_from_slice(&piece[..piece.len().min(LINE_MAX.saturating_sub(line.len()))]);
        }
        // The line ending counts too, so that an empty line is a line.
        length += piece.len() + usize::from(newline.is_some());
        let taken = piece.len() + usize::from(newline.is_some());
        reader.consume(taken);
        bytes += taken as u64;
        if newline.is_some() || end {
            let content = length - usize::from(newline.is_some());
            if wanted {
                let cut = content > line.len();
                let Some(valid) = utf8(&line, cut) else {
                    return Ok(Part::NotUtf8(number));
                };
                full = text.count > 0 && text.shown.len() + valid.len() > BYTES_MAX;
                if !full {
                    text.shown.push_str(valid.strip_suffix('\r').unwrap_or(valid));
                    text.shown.push_str(if cut { "…\n" } else { "\n" });
                    text.count += 1;
                    text.cut |= cut;
                }
            }
            text.total += 1;
            line.clear();
            length = 0;
            if end {
                return Ok(Part::Text(text));
            }
        }
        if bytes > SKIP_MAX && text.count == 0 {
            return Ok(Part::TooBig);
        }
        if bytes > COUNT_MAX && (full || text.total >= first.saturating_add(limit)) {
            text.more = true;
            return Ok(Part::Text(text));
        }
    }
}

/// Returns the line as text, without a character that was cut in half.
fn utf8(line: &[u8], cut: bool) -> Option<&str> {
    match std::str::from_utf8(line) {
        Ok(text) => Some(text),
        Err(error) if cut && error.error_len().is_none() => {
            std::str::from_utf8(&line[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::workspace::testing::Tree;

    #[test]
    fn the_header_names_the_lines_and_the_next_offset() {
        let tree = Tree::new();
        tree.put("a.txt", "1\n2\n\n4\r\n5");
        let read = |offset, limit| tree.workspace.read("a.txt", offset, limit);
        assert_eq!(read(None, None).unwrap(), "a.txt, lines 1-5 of 5\n1\n2\n\n4\n5\n");
        assert_eq!(
            read(Some(2), Some(2)).unwrap(),
            "a.txt, lines 2-3 of 5; for more: offset 4\n2\n\n"
        );
        assert_eq!(read(Some(6), None).unwrap_err().message, "a.txt has only 5 lines");
        tree.put("empty", "");
        assert_eq!(tree.workspace.read("empty", None, None).unwrap(), "empty is empty");
    }

    #[test]
    fn long_lines_and_big_files_are_truncated_with_a_note() {
        let tree = Tree::new();
        tree.put("long", &"ä".repeat(200_000));
        let text = tree.workspace.read("long", None, None).unwrap();
        assert!(text.len() < 2_200 && text.contains("are cut"), "{}", text.len());
        tree.put("big", &"a line of some length\n".repeat(300_000));
        let text = tree.workspace.read("big", None, Some(3000)).unwrap();
        assert!(text.len() < 15_200);
        assert!(
            text.starts_with("big, lines 1-681 of 300000; for more: offset 682"),
            "{}",
            &text[..60]
        );
        assert!(tree.workspace.read("big", Some(299_999), None).unwrap().contains("299999-300000"));
    }

    #[test]
    fn files_that_are_not_text_are_reported() {
        let tree = Tree::new();
        tree.put_bytes("latin1", b"caf\xe9\n");
        tree.put_bytes("binary", b"ab\0c");
        let message = |path| tree.workspace.read(path, None, None).unwrap_err().message;
        assert!(message("latin1").starts_with("latin1 is not UTF-8 text (line 1); search_files"));
        assert_eq!(message("binary"), "binary is binary");
    }
}
