//! Formats Markdown for a terminal: headings, lists, code and tables, laid out for the width of the
//! screen. Without colours, Markdown's own marks show emphasis and code.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::styled::{parts, styled};
use super::table::Table;
use crate::clean::sanitize;

/// Longer lines are hard to read, even on a wide screen.
const WIDEST: usize = 100;

/// Returns the text laid out for a terminal of `width` columns (0: unknown).
pub fn markdown(text: &str, width: usize, colors: bool) -> String {
    let width = if width == 0 { WIDEST } else { width.min(WIDEST) };
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let mut page = Page { width, colors, ..Page::default() };
    for event in Parser::new_ext(&sanitize(text), options) {
        page.take(event);
    }
    page.flush();
    let lines: Vec<String> = page.out.lines().map(|line| styled(line, colors)).collect();
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The prefix of the lines of a list item or a quotation.
struct Prefix {
    first: String,
    rest: String,
    is_used: bool,
}

#[derive(Default)]
struct Page {
    width: usize,
    colors: bool,
    out: String,
    /// An empty line must precede the next line.
    is_apart: bool,
    /// Text that has not been broken into lines yet.
    text: String,
    prefixes: Vec<Prefix>,
    /// The number of the next item of each open list; `None` for a list without numbers.
    lists: Vec<Option<u64>>,
    links: Vec<(String, usize)>,
    is_code: bool,
    table: Option<Table>,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text.push_str(&sanitize(&text)),
            Event::Code(code) => {
                let (open, close) = if self.colors { ("\u{180d}", "\u{180f}") } else { ("`", "`") };
                let code = sanitize(&code);
                self.text.push_str(&format!("{open}{code}{close}"));
            }
            Event::Html(html) | Event::InlineHtml(html) => self.text.push_str(&sanitize(&html)),
            Event::SoftBreak => self.text.push(' '),
            Event::HardBreak => self.text.push('\n'),
            Event::Rule => {
                self.flush();
                self.put(&"─".repeat(self.room()));
                self.is_apart = true;
            }
            Event::TaskListMarker(is_done) => {
                self.text.push_str(if is_done { "[x] " } else { "[ ] " })
            }
            Event::FootnoteReference(name) => self.text.push_str(&format!("[{}]", sanitize(&name))),
            Event::InlineMath(math) | Event::DisplayMath(math) => {
                self.text.push_str(&sanitize(&math))
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.flush();
                self.is_apart |= !self.out.is_empty();
                if !matches!(level, HeadingLevel::H1 | HeadingLevel::H2) && !self.colors {
                    self.text.push_str(&format!("{} ", "#".repeat(level as usize)));
                }
                self.text.push('\u{180b}');
            }
            Tag::Paragraph | Tag::HtmlBlock => self.flush(),
            Tag::BlockQuote(_) => {
                self.flush();
                self.indent("│ ", "│ ");
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.is_code = true;
                self.is_apart |= matches!(kind, CodeBlockKind::Fenced(_)) && !self.out.is_empty();
            }
            Tag::List(from) => {
                self.flush();
                self.lists.push(from);
            }
            Tag::Item => {
                self.flush();
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.indent(&marker, &" ".repeat(marker.chars().count()));
            }
            Tag::Table(sides) => {
                self.flush();
                self.table = Some(Table::new(sides));
            }
            Tag::Strong => self.text.push_str(if self.colors { "\u{180b}" } else { "**" }),
            Tag::Emphasis if !self.colors => self.text.push('*'),
            Tag::Strikethrough => self.text.push('~'),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((sanitize(&dest_url), self.text.len()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.is_apart = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.prefixes.pop();
                self.is_apart = true;
            }
            TagEnd::CodeBlock => self.code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.is_apart |= self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                if self.prefixes.last().is_some_and(|prefix| !prefix.is_used) {
                    self.put("");
                }
                self.prefixes.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::TableRow | TagEnd::TableHead => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Table => {
                for line in
                    self.table.take().map(|table| table.lines(self.room())).unwrap_or_default()
                {
                    self.put(&line);
                }
                self.is_apart = true;
            }
            TagEnd::Strong => self.text.push_str(if self.colors { "\u{180c}" } else { "**" }),
            TagEnd::Emphasis if !self.colors => self.text.push('*'),
            TagEnd::Strikethrough => self.text.push('~'),
            TagEnd::Link | TagEnd::Image => {
                if let Some((url, at)) = self.links.pop()
                    && self.text.get(at..) != Some(&url)
                {
                    self.text.push_str(&format!(" ({url})"));
                }
            }
            _ => {}
        }
    }

    fn heading(&mut self, level: HeadingLevel) {
        // The end of a strong part in the heading turns bold off, so turn bold on again after it.
        let text = std::mem::take(&mut self.text).replace('\u{180c}', "\u{180c}\u{180b}");
        self.text = format!("{text}\u{180c}");
        let room = self.room();
        let lines = parts(&self.text, room);
        let widest = lines.iter().map(|line| console::measure_text_width(line)).max().unwrap_or(0);
        self.flush();
        match level {
            HeadingLevel::H1 => self.put(&"━".repeat(widest)),
            HeadingLevel::H2 => self.put(&"─".repeat(widest)),
            _ => {}
        }
        self.is_apart = level == HeadingLevel::H1;
    }

    /// Lines of code are never broken, so that they can be copied.
    fn code(&mut self) {
        self.is_code = false;
        let code = std::mem::take(&mut self.text);
        for line in code.trim_end_matches('\n').split('\n') {
            self.put(&format!("    \u{180d}{line}\u{180f}"));
        }
        self.is_apart = true;
    }

    fn indent(&mut self, first: &str, rest: &str) {
        self.prefixes.push(Prefix {
            first: first.to_owned(),
            rest: rest.to_owned(),
            is_used: false,
        });
    }

    /// Returns the columns that remain beside the prefixes.
    fn room(&self) -> usize {
        let taken: usize = self.prefixes.iter().map(|prefix| prefix.rest.chars().count()).sum();
        self.width.saturating_sub(taken).max(10)
    }

    /// Lays out the collected text.
    fn flush(&mut self) {
        if self.is_code || self.table.is_some() || self.text.trim().is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        for part in parts(text.trim_end(), self.room()) {
            self.put(&part);
        }
    }

    fn put(&mut self, line: &str) {
        if std::mem::take(&mut self.is_apart) && !self.out.is_empty() {
            let quoted = self.prefixes.iter().filter(|prefix| prefix.is_used);
            let blank: String = quoted.map(|prefix| prefix.rest.as_str()).collect();
            self.out.push_str(blank.trim_end());
            self.out.push('\n');
        }
        for prefix in &mut self.prefixes {
            let used = std::mem::replace(&mut prefix.is_used, true);
            self.out.push_str(if used { &prefix.rest } else { &prefix.first });
        }
        self.out.push_str(line);
        self.out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Todo\n\nA **list** of `things`\nto do, *kept* in a [file](https://x.y).\n\n\
        ## Features\n\n1. add\n2. list all of the things there are\n   - by date\n\n\
        > said\n> twice\n\n```sh\ncargo run -- add \"buy milk and honey\"\n```\n\n\
        | id | name |\n| --- | ---: |\n| FEAT-001 | Store the things in a file |\n| FEAT-2 | Add |\n\n---\n- [x] done\n";

    #[test]
    fn without_colours_marks_stay() {
        assert_eq!(
            markdown(TEXT, 30, false),
            "Todo\n━━━━\n\nA **list** of `things` to do,\n*kept* in a file\n(https://x.y).\n\n\
             Features\n────────\n1. add\n2. list all of the things\n   there are\n   • by date\n\n\
             │ said twice\n\n    cargo run -- add \"buy milk and honey\"\n\n\
             id                        name\n────────  ────────────────────\n\
             FEAT-001   Store the things in\n                        a file\nFEAT-2                     Add\n\n\
             ──────────────────────────────\n\n• [x] done\n"
        );
    }

    #[test]
    fn no_line_of_prose_is_wider_than_the_screen() {
        for width in [20, 40, 100, 200] {
            let shown = markdown(TEXT, width, false);
            for line in shown.lines().filter(|line| !line.contains("cargo")) {
                assert!(console::measure_text_width(line) <= width.min(WIDEST), "{width}: {line}");
            }
        }
    }

    #[test]
    fn colours_end_with_the_line_and_no_other_sequence_passes() {
        let text = "**one two three four**\n\n&#27;[8mhidden \u{1b}[2Jx `a\u{7}b`";
        assert_eq!(
            markdown(text, 10, true),
            "\x1b[1mone two\x1b[0m\n\x1b[1mthree four\x1b[0m\n\n[8mhidden\nx \x1b[36mab\x1b[0m\n"
        );
        let plain = markdown(TEXT, 60, true);
        let plain = console::strip_ansi_codes(&plain);
        assert!(
            plain.starts_with("Todo\n━━━━\n\nA list of things to do, kept in a file"),
            "{plain}"
        );
    }
}
