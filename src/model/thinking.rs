//! Separates the thoughts that a model writes in tags from its answer.
//!
//! A tag counts only at certain places; elsewhere it is text, since models also write about tags:
//!
//! - An opening tag must be the first thing on its line, outside a code fence; within an answer it
//!   must also not be indented like code. Everything up to its closing tag is thought. Without a
//!   closing tag, the rest of the answer is thought.
//! - A `</think>` without an opening tag: the server's template opened it, and everything before it
//!   is thought. It does not count in code, in quotation marks, on a line of JSON, after a
//!   `<think>` that is text on the same line, or after any tag was opened.
//!
//! The result does not depend on how the text is split into pieces.

/// Opening and closing tags, as sent by servers that do not parse them.
const TAGS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("[THINK]", "[/THINK]"),
];

/// The closing tag whose opening tag may be in the template, before the answer.
const LONE: &str = "</think>";

/// Starts of calls written as text; tags in them do not count.
const WRITTEN_CALLS: [&str; 4] = ["{", "[{", "<tool_call>", "<function_call>"];

/// Maximum white space before a tag within an answer; more is indented code.
const INDENT: usize = 3;

/// The text of a model's answer, read in pieces.
#[derive(Debug, Default)]
pub struct Speech {
    /// Text not processed yet, since it may become a tag.
    held: String,
    /// The answer so far.
    text: String,
    /// The tag that ends the current thought.
    awaited: Option<&'static str>,
    /// A thought was removed.
    cut: bool,
    /// A tag was opened.
    opened: bool,
    /// The tag was Gemini's.
    gemini: bool,
    /// True if text is withheld until a lone closing tag comes or the answer ends.
    waits: bool,
    line: LineState,
    fence: Option<(char, usize)>,
}

/// State of the current line.
#[derive(Debug, Default)]
struct LineState {
    /// Where its text starts, after white space.
    text: Option<usize>,
    indent: usize,
    /// The run of backticks just read, and the length of the run that opened the current inline
    /// code.
    ticks: usize,
    code: Option<usize>,
    /// The line has an opening tag that is text: then its closing tag is text too.
    mentions: bool,
}

impl Speech {
    /// Starts an answer. `template_thinks`: this model's answers start with a thought without an
    /// opening tag, so nothing is shown before the thought has ended.
    pub fn new(template_thinks: bool) -> Self {
        Self { waits: template_thinks, ..Self::default() }
    }

    /// Adds a piece and returns the text that may be shown.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.read(false)
    }

    /// Ends the answer; returns the rest to show.
    pub fn end(&mut self) -> String {
        let rest = self.read(true);
        if std::mem::take(&mut self.waits) { self.text.clone() } else { rest }
    }

    /// The answer without thoughts; complete after [`Self::end`].
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if the server sent unparsed tags, which it may want back unchanged (MiniMax). Gemini,
    /// which writes `<thought>`, does not.
    pub fn tags_go_back(&self) -> bool {
        self.cut && !self.gemini
    }

    /// True if a thought ended whose opening tag was not sent.
    pub fn template_thinks(&self) -> bool {
        self.cut && !self.opened
    }

    fn read(&mut self, at_end: bool) -> String {
        let pending = std::mem::take(&mut self.held);
        let mut at = 0;
        let mut from = self.text.len();
        while let Some(c) = pending[at..].chars().next() {
            let rest = &pending[at..];
            if let Some(closer) = self.awaited {
                match rest.find(closer) {
                    Some(end) => {
                        at += end + closer.len();
                        self.awaited = None;
                    }
                    None if at_end => at = pending.len(),
                    None => {
                        at = pending.len() - begun(rest, closer);
                        break;
                    }
                }
                continue;
            }
            match self.tag(rest, at_end) {
                ThinkingTag::None => {
                    self.say(c);
                    at += c.len_utf8();
                }
                ThinkingTag::Unsure => break,
                ThinkingTag::Opens(opener, closer) => {
                    at += opener.len();
                    (self.awaited, self.cut, self.opened) = (Some(closer), true, true);
                    self.waits = false;
                    self.gemini |= opener == "<thought>";
                    if self.text.trim().is_empty() {
                        from = self.restart();
                    }
                }
                ThinkingTag::Closes => {
                    at += LONE.len();
                    (self.cut, self.waits) = (true, false);
                    from = self.restart();
                }
                ThinkingTag::Mention(tag) => {
                    at += tag.len();
                    tag.chars().for_each(|c| self.say(c));
                    self.line.mentions |= !tag.starts_with("</");
                }
            }
        }
        pending[at..].clone_into(&mut self.held);
        if self.waits { String::new() } else { self.text[from..].to_owned() }
    }

    /// Starts the text again after a thought; returns the position of the text to show.
    fn restart(&mut self) -> usize {
        self.text.clear();
        (self.line, self.fence) = (LineState::default(), None);
        0
    }

    /// Classifies the start of `rest`.
    fn tag(&mut self, rest: &str, at_end: bool) -> ThinkingTag {
        if !rest.starts_with(['<', '[']) {
            return ThinkingTag::None;
        }
        self.line.settle();
        let opening = TAGS.iter().find(|(opener, _)| rest.starts_with(opener));
        if let Some((opener, closer)) = opening {
            let first = self.line.text.is_none();
            let begins = self.text.trim().is_empty();
            let is_place = begins || (self.fence.is_none() && self.line.indent <= INDENT);
            return if first && is_place {
                ThinkingTag::Opens(opener, closer)
            } else {
                ThinkingTag::Mention(opener)
            };
        }
        if let Some(after) = rest.strip_prefix(LONE) {
            if self.opened || self.cut || self.line.mentions || self.in_code() {
                return ThinkingTag::Mention(LONE);
            }
            if !self.text.ends_with(['"', '\'', '“', '‘']) {
                return ThinkingTag::Closes;
            }
            return match after.chars().next() {
                None if !at_end => ThinkingTag::Unsure,
                Some('"' | '\'' | '”' | '’') => ThinkingTag::Mention(LONE),
                _ => ThinkingTag::Closes,
            };
        }
        let may_begin = |tag: &str| !at_end && tag.starts_with(rest);
        let may_become = may_begin(LONE) || TAGS.iter().any(|(opener, _)| may_begin(opener));
        if may_become { ThinkingTag::Unsure } else { ThinkingTag::None }
    }

    fn in_code(&self) -> bool {
        let line = self.line.text.and_then(|at| self.text.get(at..)).unwrap_or_default();
        self.fence.is_some()
            || self.line.code.is_some()
            || WRITTEN_CALLS.iter().any(|opening| line.starts_with(opening))
    }

    fn say(&mut self, c: char) {
        if self.cut && self.text.is_empty() && c.is_whitespace() {
            return;
        }
        if c == '\n' {
            self.end_line();
        } else if c == '`' {
            self.line.ticks += 1;
        } else {
            self.line.settle();
        }
        if c != '\n' && self.line.text.is_none() {
            match c {
                '\t' => self.line.indent += INDENT + 1,
                c if c.is_whitespace() => self.line.indent += 1,
                _ => self.line.text = Some(self.text.len()),
            }
        }
        self.text.push(c);
    }

    /// Opens or closes a code fence, if the line that ends is one.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let Some(text) = line.text.and_then(|at| self.text.get(at..)) else { return };
        let Some(mark @ ('`' | '~')) = text.chars().next() else { return };
        let rest = text.trim_start_matches(mark);
        let length = text.len() - rest.len();
        match self.fence {
            None if length >= 3 && !(mark == '`' && rest.contains('`')) => {
                self.fence = Some((mark, length));
            }
            Some((open, least)) if open == mark && length >= least && rest.trim().is_empty() => {
                self.fence = None;
            }
            _ => {}
        }
    }
}

impl LineState {
    /// Handles the end of a run of backticks: the run opens inline code, or closes the inline code
    /// that a run of the same length opened.
    fn settle(&mut self) {
        let run = std::mem::take(&mut self.ticks);
        match self.code {
            _ if run == 0 => {}
            None => self.code = Some(run),
            Some(open) if open == run => self.code = None,
            Some(_) => {}
        }
    }
}

enum ThinkingTag {
    None,
    /// The text may become a tag.
    Unsure,
    /// An opening tag, and the closing tag of its thought.
    Opens(&'static str, &'static str),
    /// The end of the thought that the template opened.
    Closes,
    /// A tag that is text.
    Mention(&'static str),
}

/// A whole answer without thoughts.
pub fn spoken(content: &str) -> String {
    let mut speech = Speech::default();
    speech.push(content);
    speech.end();
    speech.text
}

/// How many bytes at the end of `text` are the start of `tag`, which is ASCII.
fn begun(text: &str, tag: &str) -> usize {
    let longest = (tag.len() - 1).min(text.len());
    (1..=longest).rev().find(|n| text.ends_with(&tag[..*n])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the answer; asserts that it is the same however `content` is split into chunks.
    fn said(content: &str) -> String {
        let whole = spoken(content);
        for (at, _) in content.char_indices() {
            let mut speech = Speech::default();
            speech.push(&content[..at]);
            speech.push(&content[at..]);
            speech.end();
            assert_eq!(speech.text(), whole, "{content:?} cut at {at}");
        }
        let mut speech = Speech::default();
        let mut shown = String::new();
        for c in content.chars() {
            shown += &speech.push(&c.to_string());
        }
        shown += &speech.end();
        assert_eq!(speech.text(), whole, "{content:?} by characters");
        if speech.opened || !speech.cut {
            assert_eq!(shown.trim_start(), whole.trim_start(), "{content:?} as shown");
        }
        whole
    }

    #[test]
    fn thoughts_in_tags_are_cut() {
        for (content, wanted) in [
            ("<think>a <review>PASS</review></think>\n\nNo.", "No."),
            ("\n <thinking>\na\n</thinking>b", "b"),
            ("<thought>a</thought>b\n\n<thought>c</thought>d", "b\n\nd"),
            ("[THINK]a[/THINK]b", "b"),
            ("<think></think>b", "b"),
            ("<think>a</think> <think>b</think> c", "c"),
            ("said\n<think>a</think>\nmore", "said\n\nmore"),
            ("<think>a ```\n</think>```rust\nx\n```", "```rust\nx\n```"),
            ("<think>it says </thinking> and <think></think>b", "b"),
        ] {
            assert_eq!(said(content), wanted, "{content:?}");
        }
    }

    #[test]
    fn an_answer_that_ends_in_a_thought_says_nothing_more() {
        assert_eq!(said("<think>a <review>PASS</review>"), "");
        assert_eq!(said("said\n\n<think>a </thin"), "said\n\n");
    }

    #[test]
    fn text_before_a_lone_closing_tag_is_thought() {
        for (content, wanted) in [
            ("Hm. <review>PASS</review>\n</think>\n\nNo.", "No."),
            ("they say \"so\"</think>No", "No"),
            ("```rust\nx\n```\nso</think>No", "No"),
            ("`a` or `b`</think>No", "No"),
            ("Hm</think>No, and </think> is a tag", "No, and </think> is a tag"),
        ] {
            assert_eq!(said(content), wanted, "{content:?}");
        }
    }

    #[test]
    fn text_about_tags_is_left_alone() {
        for content in [
            "plain < text > [TH and <thin",
            "  leading space stays",
            "Models write <think>a</think> before an answer.",
            "Use `</think>` to end, ``a`</think>`` too, or \"</think>\".",
            "Format:\n\n```xml\n<think>\nx\n</think>\n```\n\nas above",
            "~~~\n</think>\n```\n</think>\n~~~",
            "Like this:\n\n    <think>\n\n\t<think>\n",
            "- <think> opens",
            "{\"name\":\"write_file\",\"arguments\":{\"content\":\"a</think>b\"}}",
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"</think>\"}}</tool_call>",
        ] {
            assert_eq!(said(content), content);
        }
    }

    #[test]
    fn a_model_whose_template_opens_the_tag_is_shown_only_after_it() {
        let mut speech = Speech::new(true);
        assert_eq!(speech.push("Hm"), "");
        assert_eq!(speech.push("m</think>\n\nYes"), "Yes");
        assert_eq!(speech.push("."), ".");
        assert!(speech.template_thinks());
        let mut speech = Speech::new(true);
        assert_eq!(speech.push("Yes"), "");
        assert_eq!(speech.end(), "Yes");
        assert!(!speech.template_thinks());
    }

    #[test]
    fn hostile_answers_take_no_longer_than_others() {
        for piece in ["<think", "</think>", "<think></think>", "`", " ", "[THINK]", "a<think>"] {
            let content = piece.repeat((1 << 20) / piece.len());
            let mut speech = Speech::default();
            for chunk in content.as_bytes().chunks(1 << 10) {
                speech.push(std::str::from_utf8(chunk).unwrap());
            }
            speech.end();
        }
    }
}
