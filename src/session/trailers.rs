//! The trailers of a commit message, written and parsed.
//!
//! Git parses more than the last paragraph: `interpret-trailers` stops at a line that starts with
//! `---`, skips comment lines at the end, and cuts at a scissors line (git's `trailer.c` and
//! `wt-status.c`).

use console::measure_text_width as width;

use super::key;
use super::message_body::{self, COLUMNS};

/// Git's default `core.commentChar`.
const COMMENT: &str = "#";
/// Maximum number of trailers of a commit; a folded one counts once.
const MOST: usize = 25;
/// Keys whose values share one trailer where a commit would have more than [`MOST`].
const SHARED: [&str; 6] =
    [key::FEATURE, key::EVIDENCE, key::KNOWLEDGE, key::HOOK, key::RENUMBERED, key::CODE_SAID];
/// Separates such values.
const BETWEEN: &str = " ;; ";

/// The trailers of a commit, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailers(Vec<(String, String)>);

impl Trailers {
    /// Adds a trailer. The value is joined to one line; an empty value is left out.
    pub fn push(&mut self, key: &str, value: impl AsRef<str>) {
        let value = one_line(value.as_ref());
        if !value.is_empty() {
            self.0.push((key.to_owned(), value));
        }
    }

    /// Adds the trailers of another list.
    pub fn extend(&mut self, others: &Self) {
        self.0.extend_from_slice(&others.0);
    }

    /// The last value of a key; keys are case-insensitive, as in git.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(k, _)| k.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a key, in order.
    pub fn all<'t>(&'t self, key: &'t str) -> impl Iterator<Item = &'t str> {
        let found = self.0.iter().filter(move |(k, _)| k.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }

    /// The words of all values of a key, in order: `Cowork-Approved` names one file in each value,
    /// and all files in a single one where an older version wrote it.
    pub fn words<'t>(&'t self, key: &'t str) -> impl Iterator<Item = &'t str> {
        self.all(key).flat_map(str::split_whitespace)
    }

    /// Returns a copy with each value changed by `change`.
    #[must_use]
    pub fn map_values(&self, change: impl Fn(&str) -> String) -> Self {
        Self(self.0.iter().map(|(key, value)| (key.clone(), change(value))).collect())
    }

    /// Renders one trailer a line, as the last paragraph of a message. Long ones are folded.
    pub fn render(&self) -> String {
        let mut all: Vec<(&str, String)> = Vec::new();
        for (key, value) in &self.0 {
            let joins = self.0.len() > MOST && shares(key);
            match all.iter_mut().find(|(other, _)| joins && other == key) {
                Some((_, values)) => *values = format!("{values}{BETWEEN}{value}"),
                None => all.push((key, value.clone())),
            }
        }
        all.into_iter().map(|(key, value)| folded(&format!("{key}: {value}"))).collect()
    }

    /// True if these trailers start with `others`: git and hooks add trailers at the end.
    pub fn begin_with(&self, others: &Self) -> bool {
        self.0.starts_with(&others.0)
    }

    /// Parses the last paragraph of trailers that names a session, or else the last paragraph, if
    /// it has only trailers. Hooks and forges add paragraphs below ours (a ticket, a `Change-Id`,
    /// co-authors).
    pub fn parse(message: &str) -> Self {
        Self::located(message).0
    }

    /// The trailers, and where their paragraph begins.
    fn located(message: &str) -> (Self, usize) {
        Self::of_last_paragraph(message).unwrap_or_else(|| Self::of_any_paragraph(message))
    }

    /// Parses the last paragraph if it names a session and the message has no comment or scissors line
    /// that could end it earlier. Most messages are like this.
    fn of_last_paragraph(message: &str) -> Option<(Self, usize)> {
        let text = message.trim_end_matches('\n');
        let end = last_blank_line(text)?;
        let (before, last) = (&text[..end], &text[end + 2..]);
        let lines: Vec<&str> = last.lines().collect();
        let ends = |line: &&str| line.trim().is_empty() || line.starts_with(COMMENT);
        let cuts = |word: &str| {
            let (first, rest) = word.as_bytes().split_at(1);
            let mut found = memchr::memchr_iter(first[0], message.as_bytes());
            found.any(|at| message.as_bytes()[at + 1..].starts_with(rest))
        };
        if before.trim().is_empty() || lines.iter().any(ends) || cuts(">8") || cuts("Conflicts:") {
            return None;
        }
        let found = Self::of_paragraph(&lines);
        found.get(key::SESSION_ID).is_some().then_some((found, end + 2))
    }

    pub(super) fn of_any_paragraph(message: &str) -> (Self, usize) {
        let lines: Vec<&str> = message.lines().collect();
        let lines = &lines[..end_of_text(&lines)];
        let mut paragraphs = Vec::new();
        let mut first = 0;
        for paragraph in lines.split(|line| line.trim().is_empty()) {
            paragraphs.push((first, paragraph));
            first += paragraph.len() + 1;
        }
        let below_subject = paragraphs.get(1..).unwrap_or_default();
        let start = |line: usize| {
            let breaks = memchr::memchr_iter(b'\n', message.as_bytes());
            line.checked_sub(1).map_or(Some(0), |nth| breaks.map(|at| at + 1).nth(nth))
        };
        let parsed = |(first, lines): &(usize, &[&str])| {
            (Self::of_paragraph(lines), start(*first).unwrap_or(message.len()))
        };
        let named = below_subject.iter().rev();
        let named = named.filter(|(_, lines)| lines.iter().any(|line| names_session(line)));
        let mut named = named.map(parsed);
        let ours = named.find(|(trailers, _)| trailers.get(key::SESSION_ID).is_some());
        ours.or_else(|| below_subject.last().map(parsed))
            .unwrap_or((Self::default(), message.len()))
    }

    fn of_paragraph(lines: &[&str]) -> Self {
        let mut trailers = Self::default();
        // `git am` keeps the signature of git format-patch in the message of an empty commit.
        let signature = lines.iter().position(|line| line.trim_end() == "--");
        let lines = &lines[..signature.unwrap_or(lines.len())];
        for line in lines {
            if line.starts_with([' ', '\t']) {
                if let Some((_, value)) = trailers.0.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
                continue;
            }
            match memchr::memchr(b':', line.as_bytes()).map(|at| (&line[..at], &line[at + 1..])) {
                Some((key, value)) if is_key(key) => {
                    trailers.0.push((key.to_owned(), value.trim().to_owned()));
                }
                // Git skips lines like "(cherry picked from commit …)" as well.
                _ if line.starts_with('(') || line.starts_with(COMMENT) => {}
                _ => return Self::default(),
            }
        }
        trailers.separated()
    }

    /// Each value that shares a trailer as a value of its own.
    fn separated(self) -> Self {
        if !self.0.iter().any(|(key, value)| shares(key) && value.contains(BETWEEN)) {
            return self;
        }
        let apart = |(key, value): (String, String)| {
            let values: Vec<&str> = match shares(&key) {
                true => value.split(BETWEEN).collect(),
                false => vec![&value],
            };
            values.into_iter().map(|one| (key.clone(), one.to_owned())).collect::<Vec<_>>()
        };
        Self(self.0.into_iter().flat_map(apart).collect())
    }
}

/// A message in its parts.
pub(super) struct SplitMessage<'m> {
    /// Its trailers.
    pub(super) trailers: Trailers,
    lines: &'m str,
}

impl<'m> SplitMessage<'m> {
    pub(super) fn parse(message: &'m str) -> Self {
        let (trailers, end) = Trailers::located(message);
        let lines = message[..end].split_once('\n').map_or("", |(_, lines)| lines);
        Self { trailers, lines }
    }

    /// The text between the subject and the trailers, as it was written.
    pub(super) fn body(&self) -> String {
        message_body::read(self.lines)
    }
}

/// True if values of a key may share one trailer.
fn shares(key: &str) -> bool {
    SHARED.iter().any(|name| name.eq_ignore_ascii_case(key))
}

/// A trailer, folded at blanks where it is too wide.
fn folded(trailer: &str) -> String {
    let mut out = String::new();
    let mut columns = 0;
    for word in trailer.split(' ') {
        let wide = width(word);
        // A key and its first word are one line.
        if columns > 0 && columns + 1 + wide > COLUMNS && out.contains(' ') {
            out.push('\n');
            columns = 0;
        }
        if !out.is_empty() {
            out.push(' ');
            columns += 1;
        }
        out.push_str(word);
        columns += wide;
    }
    out.push('\n');
    out
}

/// Where the last blank line of a text begins: the line break before it.
fn last_blank_line(text: &str) -> Option<usize> {
    // Faster than a search for two line breaks: a message has few lines.
    let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).rev();
    breaks.skip(1).find(|at| text.as_bytes()[at + 1] == b'\n')
}

/// Where a message ends for git (`ignored_log_message_bytes` in `trailer.c`): before any comments
/// at the bottom, such as the list of conflicted paths, which git leaves if no editor was opened.
fn end_of_text(lines: &[&str]) -> usize {
    let scissors = |line: &&str| line.strip_prefix(COMMENT).is_some_and(is_scissors);
    let cutoff = lines.iter().position(scissors).unwrap_or(lines.len());
    // The characters before `Conflicts:` above git's list of conflicted paths are taken to be
    // `core.commentChar`.
    let conflicts = |line: &&str| line.strip_suffix(" Conflicts:").map(str::to_owned);
    let comment = lines[..cutoff].iter().rev().find_map(conflicts);
    let comment = comment.filter(|it| !it.is_empty() && !it.contains(char::is_alphanumeric));
    let (mut end, mut in_old_block) = (None, false);
    for (at, line) in lines[..cutoff].iter().enumerate() {
        let is_comment = comment.as_ref().is_some_and(|it| line.starts_with(it));
        if line.trim().is_empty() || line.starts_with(COMMENT) || is_comment {
            end.get_or_insert(at);
        } else if *line == "Conflicts:" {
            in_old_block = true;
            end.get_or_insert(at);
        } else if !(in_old_block && line.starts_with('\t')) {
            (end, in_old_block) = (None, false);
        }
    }
    end.unwrap_or(cutoff)
}

fn is_scissors(rest: &str) -> bool {
    rest == " ------------------------ >8 ------------------------"
}

fn names_session(line: &str) -> bool {
    let name = line.get(..key::SESSION_ID.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(key::SESSION_ID))
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
