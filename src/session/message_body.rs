//! The body of a commit message: prose is wrapped, and read back as it was written.
//!
//! A line break is one of the wrapping if wrapping the two lines as one gives them again; any other
//! break was written. A line that git, `git am` or a parser of trailers would take for something
//! else gets a mark, which is removed when the body is read.

use console::measure_text_width as width;

use crate::markdown_lines::{self, fixed, pieces};

/// Maximum columns of a line that can be broken.
pub(super) const COLUMNS: usize = 72;
/// Maximum length of a body, in characters.
const MAX: usize = 60_000;

/// The mark of a line that would be misread.
const MARK: &str = " ";
/// The mark of a line that would be taken for a marked one.
const MARKED: &str = "\\";
/// The mark of a line that announces a breaking change: parsers of Conventional Commits pass over
/// white space.
const QUOTE: &str = "> ";

/// The body as lines of a message.
pub(super) fn written(body: &str) -> String {
    let mut text: String = body.chars().take(MAX).collect();
    if text.len() < body.len() {
        text.push_str("\n\n[cut here]");
    }
    let lines = plain_lines(&text);
    let fixed = fixed(&lines);
    let mut out = String::new();
    for (line, fixed) in lines.iter().zip(fixed) {
        if !out.is_empty() {
            out.push('\n');
        }
        let mark = mark(line, out.is_empty());
        out.push_str(mark);
        match fixed {
            true => out.push_str(line),
            false => out.push_str(&wrapped(line, mark.len()).join("\n")),
        }
    }
    out
}

/// What was written, from the lines of a message.
pub(super) fn read(text: &str) -> String {
    let raw: Vec<&str> = text.trim_matches('\n').lines().map(str::trim_end).collect();
    let lines: Vec<&str> =
        raw.iter().enumerate().map(|(at, line)| unmarked(line, at == 0)).collect();
    let fixed = fixed(&lines);
    let mut out = String::with_capacity(text.len());
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).filter(|before| {
            let prose = !fixed[*before] && !fixed[at] && !lines[*before].is_empty();
            let mark = raw[*before].len() - lines[*before].len();
            prose && raw[at].len() == line.len() && is_break(lines[*before], mark, line)
        });
        match before {
            Some(_) => out.push(' '),
            None if at > 0 => out.push('\n'),
            None => {}
        }
        out.push_str(line);
    }
    out
}

/// The lines of a text that is not wrapped, each marked if it would be misread. A forge does not
/// drop comments, so headings and comments in code stay as they are.
pub(crate) fn marked(text: &str) -> String {
    let mark = |at: usize, line: &str| match line.starts_with('#') && !is_scissors(line) {
        true => "",
        false => mark(line, at == 0),
    };
    let lines = plain_lines(text);
    let marked = lines.iter().enumerate().map(|(at, line)| format!("{}{line}", mark(at, line)));
    marked.collect::<Vec<_>>().join("\n")
}

/// Lines without what no message keeps: control characters, white space at the end, blank lines
/// that follow one another. Linters refuse tabs.
fn plain_lines(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in text.lines() {
        let line =
            line.replace('\t', "    ").replace(|c: char| c.is_control() && c.is_whitespace(), " ");
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let line = line.trim_end();
        if !line.is_empty() || out.last().is_some_and(|last| !last.is_empty()) {
            out.push(line.to_owned());
        }
    }
    if out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    out
}

/// A line of prose in parts of at most [`COLUMNS`] columns, the first of which has a mark of this
/// length.
fn wrapped(line: &str, mark: usize) -> Vec<&str> {
    let may_begin = |rest: &str| {
        markdown_lines::may_begin(rest) && !is_misread(rest, false) && !is_breaking(rest)
    };
    let mut parts = Vec::new();
    let (mut start, mut end) = (0, 0);
    for piece in pieces(line, &may_begin) {
        let to = if end == 0 { piece.len() } else { end + 1 + piece.len() };
        let room = COLUMNS - if start == 0 { mark } else { 0 };
        if end > start && width(&line[start..to]) > room {
            parts.push(&line[start..end]);
            start = end + 1;
        }
        end = to;
    }
    parts.push(&line[start..]);
    parts
}

/// True if wrapping put the break between these lines.
fn is_break(before: &str, mark: usize, line: &str) -> bool {
    !line.starts_with(' ') && wrapped(&format!("{before} {line}"), mark) == [before, line]
}

/// The mark that a line needs; `first` if it is the body's first line.
fn mark(line: &str, first: bool) -> &'static str {
    let quoted = line.trim_start_matches(QUOTE);
    let escaped = line.trim_start_matches(MARKED).strip_prefix(MARK);
    if is_breaking(quoted) {
        QUOTE
    } else if is_misread(line, first) {
        MARK
    } else if escaped.is_some_and(|line| is_misread(line, first)) {
        MARKED
    } else {
        ""
    }
}

/// A line of a message without its mark.
fn unmarked(line: &str, first: bool) -> &str {
    let without = [QUOTE, MARK, MARKED].into_iter().find_map(|one| {
        let rest = line.strip_prefix(one)?;
        (mark(rest, first) == one).then_some(rest)
    });
    without.unwrap_or(line)
}

/// True if git or a parser of trailers takes a line for something else: a comment, the end of a
/// message, a difference, a header of a mail, a trailer.
fn is_misread(line: &str, first: bool) -> bool {
    ["#", "---", "diff -", "Index: "].iter().any(|begin| line.starts_with(begin))
        || is_scissors(line)
        || is_trailer(line)
        || begins_mail(line)
        || first && is_mail_header(line)
}

/// True for a line below which git drops everything, whatever its comment character is.
fn is_scissors(line: &str) -> bool {
    let mut rest = line.chars();
    let _comment = rest.next();
    rest.as_str().starts_with(" ------------------------ >8 ------------------------")
}

/// True for a line that begins with the key of a trailer. A single word is none: `Note: …` is
/// prose, and nobody looks for trailers where prose is.
fn is_trailer(line: &str) -> bool {
    let key: &str = line.split(':').next().filter(|key| key.len() < line.len()).unwrap_or_default();
    let key = key.trim_end();
    let words = |key: &str| {
        key.split('-')
            .all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    key.contains('-') && words(key)
}

/// True if `git mailsplit` may take a line for the first one of another mail.
fn begins_mail(line: &str) -> bool {
    let has_time = |text: &str| {
        text.split(' ').any(|word| {
            word.split_once(':').is_some_and(|(hour, rest)| {
                hour.len() <= 2
                    && hour.bytes().chain(rest.bytes().take(1)).all(|b| b.is_ascii_digit())
            })
        })
    };
    line.strip_prefix("From ").is_some_and(has_time)
}

/// True if `git am` takes the first line of a body for a header of the mail.
fn is_mail_header(line: &str) -> bool {
    let header =
        |name: &str| line.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    ["From:", "Date:", "Subject:", ">From ", "[PATCH]"].into_iter().any(header)
}

/// True if a parser of Conventional Commits takes a line for the note of a breaking change.
fn is_breaking(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '|', '*']);
    let Some((begin, rest)) = line.split_at_checked("breaking-change".len()) else { return false };
    ["breaking-change", "breaking change"].iter().any(|note| begin.eq_ignore_ascii_case(note))
        && rest.starts_with([' ', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_without_indents_and_joined_when_it_is_read() {
        let prose = "word ".repeat(40).trim().to_owned();
        let item = format!("- {prose}");
        let row = format!("| {prose} | b |\n| --- | --- |");
        let address = format!("see https://example.org/{} there", "a".repeat(90));
        let code = format!("```\n{prose}\n```");
        let body = format!("{prose}\n\n{item}\n  {item}\n\n{row}\n\n{address}\n\n{code}");
        let text = written(&body);
        assert_eq!(read(&text), body);
        let wide: Vec<&str> = text.lines().filter(|line| width(line) > COLUMNS).collect();
        let link = format!("https://example.org/{}", "a".repeat(90));
        assert_eq!(wide, [row.lines().next().unwrap(), &link, &prose]);
        let below: Vec<&str> = text.lines().skip(1).take(2).collect();
        assert!(below.iter().all(|line| line.starts_with("word ")), "{text}");
    }

    #[test]
    fn code_is_never_broken_and_is_read_back() {
        let code = |words: usize| format!("`sh hello.sh{}`", " --loud".repeat(words));
        for words in 1..20 {
            for filled in 40..72 {
                let prose = "x".repeat(filled);
                let body = format!("- {prose} {} {prose} ` {}", code(words), code(2));
                let text = written(&body);
                assert!(text.contains(&code(words)) && text.contains('\n'), "{text}");
                assert_eq!(read(&text), body);
            }
        }
    }

    #[test]
    fn written_breaks_stay_breaks() {
        for body in
            ["one\ntwo", "a:\n- b\n- c\n\nd", "trace:\n  at x\n  at y", "x\n    code\n    more"]
        {
            assert_eq!(written(body), body);
            assert_eq!(read(body), body);
        }
    }

    #[test]
    fn only_lines_that_would_be_misread_get_a_mark() {
        for (line, text) in [
            ("## Heading", " ## Heading"),
            ("---", " ---"),
            ("diff --git a/x b/x", " diff --git a/x b/x"),
            ("Index: x", " Index: x"),
            ("Signed-off-by: A <a@b>", " Signed-off-by: A <a@b>"),
            ("Cowork-Session-Id: 1", " Cowork-Session-Id: 1"),
            ("BREAKING CHANGE: all", "> BREAKING CHANGE: all"),
            ("> BREAKING-CHANGE: all", "> > BREAKING-CHANGE: all"),
            (" # comment", "\\ # comment"),
            ("\\ # comment", "\\\\ # comment"),
            ("    # comment", "    # comment"),
            ("Note: this", "Note: this"),
            ("> quoted", "> quoted"),
            ("-- two", "-- two"),
            ("; comment", "; comment"),
            ("* item", "* item"),
            ("From the start", "From the start"),
            ("Subject: x", "Subject: x"),
        ] {
            assert_eq!(written(&format!("a\n{line}")), format!("a\n{text}"));
            assert_eq!(read(&format!("a\n{text}")), format!("a\n{line}"));
        }
        for first in ["Subject: x", "from: x", "[PATCH] x"] {
            assert_eq!(written(first), format!(" {first}"));
            assert_eq!(read(&written(first)), first);
        }
    }

    #[test]
    fn no_break_makes_a_line_that_would_be_misread() {
        for word in
            ["Signed-off-by: A", "BREAKING CHANGE: all", "---", "# x", "- x", "diff -u", "1. x"]
        {
            let body = format!("{} {word} and more", "x".repeat(70));
            let text = written(&body);
            assert!(text.lines().all(|line| !line.starts_with(word)), "{text}");
            assert_eq!(read(&text), body);
        }
    }
}
