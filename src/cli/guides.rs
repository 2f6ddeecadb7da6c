//! The pages of `docs/` as manual pages: `docs/NAME.md` is `gitcowork-NAME(7)`.

use clap_mangen::roff::{Inline, Roff, bold, italic, roman};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

macro_rules! guides {
    ($($name:literal)*) => {
        /// Names and texts of all pages.
        pub(crate) const GUIDES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../docs/", $name, ".md")))),*];
    };
}

guides! {
    "agents" "changes" "commands" "configuration" "depth" "evidence" "files" "formats" "gates" "hooks"
    "install" "knowledge" "merging" "models" "sandbox" "specs" "troubleshooting" "why"
}

/// The date of a page, which says nothing that its version does not.
pub(crate) const NO_DATE: &str = "\"\"";

/// The title of a page: its first heading.
pub(crate) fn title(markdown: &str) -> &str {
    markdown.lines().next().unwrap_or_default().trim_start_matches("# ")
}

/// The page `name` in man's format. The first heading becomes the NAME section, other headings
/// become sections; a row of a table becomes a paragraph with its first cell as the tag.
pub(crate) fn manual_page(name: &str, markdown: &str) -> String {
    let mut page = Page::default();
    let source = concat!("git-cowork ", env!("CARGO_PKG_VERSION"));
    let title = format!("GITCOWORK-{}", name.to_uppercase());
    page.roff.control("TH", [title.as_str(), "7", NO_DATE, source, "Git Cowork Manual"]);
    // Neither hyphens that would be copied with a command, nor wide gaps between words.
    page.roff.control("nh", []).control("ad", ["l"]).control("SH", ["NAME"]);
    page.text.push(roman(format!("gitcowork-{name} - ")));
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.take(event);
    }
    page.roff.control("SH", ["SEE ALSO"]);
    page.roff.text([bold("git-cowork"), roman("(1)")]);
    // Characters that a formatter replaces with typographic ones.
    page.roff.render().replace('~', "\\(ti").replace('^', "\\(ha").replace('`', "\\(ga")
}

#[derive(Default)]
struct Page {
    roff: Roff,
    /// Text of the paragraph or cell that has not ended yet.
    text: Vec<Inline>,
    is_strong: bool,
    is_emphasis: bool,
    is_code: bool,
    is_heading: bool,
    /// Where the open link leads, and how much text was before it.
    link: (String, usize),
    /// The number of the next item of each open list; `None` for a list without numbers.
    lists: Vec<Option<u64>>,
    /// The marker of an item that has no text yet.
    marker: Option<String>,
    /// The headers of the open table.
    headers: Vec<String>,
    /// The column of the next cell.
    column: usize,
    is_head: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => {
                for line in text.lines() {
                    self.roff.text([roman(line)]);
                }
            }
            Event::Text(text) if self.is_heading => self.text.push(roman(text.to_uppercase())),
            Event::Text(text) if self.is_strong => self.text.push(bold(&*text)),
            Event::Text(text) if self.is_emphasis => self.text.push(italic(&*text)),
            Event::Text(text) => self.text.push(roman(&*text)),
            Event::Code(code) => self.text.push(bold(&*code)),
            Event::SoftBreak | Event::HardBreak => self.text.push(roman(" ")),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.is_heading = level == HeadingLevel::H2,
            Tag::CodeBlock(_) => {
                self.flush();
                self.roff.control("PP", []).control("RS", ["4"]).control("nf", []);
                self.is_code = true;
            }
            Tag::List(from) => {
                self.flush();
                if !self.lists.is_empty() {
                    self.roff.control("RS", ["4"]);
                }
                self.lists.push(from);
            }
            Tag::Item => {
                self.marker = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}.", *number - 1)
                    }
                    _ => "\u{2022}".to_owned(),
                });
            }
            Tag::TableHead => (self.is_head, self.column) = (true, 0),
            Tag::TableRow => self.column = 0,
            Tag::Strong => self.is_strong = true,
            Tag::Emphasis => self.is_emphasis = true,
            Tag::Link { dest_url, .. } => self.link = (dest_url.into_string(), self.text.len()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let text = std::mem::take(&mut self.text);
                if level == HeadingLevel::H1 {
                    self.roff.text(text).control("SH", ["DESCRIPTION"]);
                } else {
                    self.roff.control(if self.is_heading { "SH" } else { "SS" }, []).text(text);
                }
                self.is_heading = false;
            }
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::CodeBlock => {
                self.roff.control("fi", []).control("RE", []);
                self.is_code = false;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if !self.lists.is_empty() {
                    self.roff.control("RE", []);
                }
            }
            TagEnd::TableHead => self.is_head = false,
            TagEnd::Table => self.headers.clear(),
            TagEnd::TableCell => self.cell(),
            TagEnd::Strong => self.is_strong = false,
            TagEnd::Emphasis => self.is_emphasis = false,
            TagEnd::Link => self.link(),
            _ => {}
        }
    }

    /// Ends a link: to a page with the page's name in the manual, to a site with its address.
    fn link(&mut self) {
        let (link, begin) = std::mem::take(&mut self.link);
        let page = link.split('#').next().unwrap_or_default();
        if let Some(name) = page.strip_suffix(".md") {
            let text: String =
                self.text.drain(begin..).map(|inline| plain(&inline).to_owned()).collect();
            let is_name = text.eq_ignore_ascii_case(name);
            let (open, close) = if is_name { ("", "(7)") } else { (" (", "(7))") };
            let text = if is_name { String::new() } else { text };
            let page = bold(format!("gitcowork-{name}"));
            self.text.extend([roman(text + open), page, roman(close)]);
        } else if link.contains("://") {
            self.text.push(roman(format!(" <{link}>")));
        }
    }

    /// Ends a cell of a table. In a table of two columns the second one needs no header.
    fn cell(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        let column = self.column;
        self.column += 1;
        if self.is_head {
            self.headers.push(text.iter().map(plain).collect());
            return;
        }
        if column == 0 {
            self.roff.control("TP", []);
        } else if self.headers.len() > 2 {
            let header = self.headers.get(column).map_or("", String::as_str);
            text.splice(0..0, [italic(header), roman(": ")]);
            if column > 1 {
                self.roff.control("br", []);
            }
        }
        self.roff.text(text);
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        match (self.marker.take(), self.lists.is_empty()) {
            (Some(marker), _) => self.roff.control("IP", [marker.as_str(), "4"]),
            (None, true) => self.roff.control("PP", []),
            (None, false) => self.roff.control("IP", ["", "4"]),
        };
        self.roff.text(text);
    }
}

fn plain(inline: &Inline) -> &str {
    match inline {
        Inline::Roman(text) | Inline::Italic(text) | Inline::Bold(text) => text,
        Inline::LineBreak => " ",
    }
}
