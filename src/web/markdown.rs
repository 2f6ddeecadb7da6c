//! Renders Markdown from models and people as harmless HTML: markup in it is text, only links to
//! the web are links, nothing is loaded.

use pulldown_cmark::{
    Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

use super::template::clean;
use crate::secret::Secrets;

/// The highest level of a document's headings: one below that of the page's sections.
const BELOW: usize = 3;
/// The lowest level of headings in HTML.
const LOWEST: usize = 6;

/// Renders a document.
pub(super) fn markdown(secrets: &Secrets, text: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let text = clean(text, secrets);
    let mut rules = Rules { secrets, level: BELOW, links: Vec::new() };
    let events: Vec<Event<'_>> =
        Parser::new_ext(&text, options).filter_map(|event| rules.convert(event)).collect();
    let mut out = String::new();
    html::push_html(&mut out, events.into_iter());
    out
}

/// Converts the events of a document.
struct Rules<'s> {
    secrets: &'s Secrets,
    /// The level of the last heading: screen readers navigate by headings, so no level may be
    /// skipped.
    level: usize,
    /// For each open link, true if it is kept as a link.
    links: Vec<bool>,
}

impl Rules<'_> {
    /// The event that replaces this one, if any.
    fn convert<'t>(&mut self, event: Event<'t>) -> Option<Event<'t>> {
        Some(match event {
            Event::Html(text) | Event::InlineHtml(text) | Event::Text(text) => {
                Event::Text(self.clean(&text))
            }
            Event::Code(text) => Event::Code(self.clean(&text)),
            // A checkbox would need a label.
            Event::TaskListMarker(is_done) => Event::Text(if is_done { "☑ " } else { "☐ " }.into()),
            Event::Start(tag) => return self.start(tag),
            Event::End(tag) => return self.end(tag),
            event => event,
        })
    }

    fn start<'t>(&mut self, tag: Tag<'t>) -> Option<Event<'t>> {
        Some(match tag {
            Tag::HtmlBlock => Event::Start(Tag::Paragraph),
            Tag::Heading { level, .. } => {
                self.level = (level as usize + BELOW).min(self.level + 1).min(LOWEST);
                let level = heading(self.level);
                let (classes, attrs) = (Vec::new(), Vec::new());
                Event::Start(Tag::Heading { level, id: None, classes, attrs })
            }
            // The library would write alignments as styles, which the page's policy forbids.
            Tag::Table(sides) => Event::Start(Tag::Table(vec![Alignment::None; sides.len()])),
            Tag::CodeBlock(_) => Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)),
            Tag::Link { link_type, dest_url, .. } => {
                let is_link = leads_to_the_web(&dest_url);
                self.links.push(is_link);
                let (title, id) = (CowStr::Borrowed(""), CowStr::Borrowed(""));
                return is_link.then_some(Event::Start(Tag::Link {
                    link_type,
                    dest_url,
                    title,
                    id,
                }));
            }
            Tag::Image { dest_url, .. } => {
                Event::Text(format!("[picture {}: ", self.clean(&dest_url)).into())
            }
            tag => Event::Start(tag),
        })
    }

    fn end<'t>(&mut self, tag: TagEnd) -> Option<Event<'t>> {
        Some(match tag {
            TagEnd::HtmlBlock => Event::End(TagEnd::Paragraph),
            TagEnd::Heading(_) => Event::End(TagEnd::Heading(heading(self.level))),
            TagEnd::Link => return self.links.pop()?.then_some(Event::End(TagEnd::Link)),
            TagEnd::Image => Event::Text("]".into()),
            tag => Event::End(tag),
        })
    }

    /// Cleans text again: the parser has resolved entities in it.
    fn clean(&self, text: &str) -> CowStr<'static> {
        clean(text, self.secrets).into()
    }
}

/// True for an address that a person may want to open and that runs no code in the page.
fn leads_to_the_web(address: &str) -> bool {
    let plain = !address.chars().any(|c| c.is_control() || c.is_whitespace());
    let lower = address.to_ascii_lowercase();
    plain && ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme))
}

fn heading(level: usize) -> HeadingLevel {
    HeadingLevel::try_from(level).unwrap_or(HeadingLevel::H6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let secrets = Secrets::new(["sk-0123456789abcdef".to_owned()]);
        markdown(&secrets, text)
    }

    #[test]
    fn markup_in_a_document_is_text() {
        let out = written(
            "<script>alert(1)</script>\n\na <img src=x onerror=alert(1)> b\n\n\
             ```\n</code></pre><script>\n```\n\n```x\"><script>\ncode\n```\n\n`</code><b>` &lt;script&gt; &#x202e;",
        );
        assert!(!out.contains("<script") && !out.contains("<img") && !out.contains("<b>"), "{out}");
        assert!(out.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{out}");
        assert!(out.contains('\u{fffd}') && !out.contains('\u{202e}'), "{out}");
    }

    #[test]
    fn only_links_to_the_web_are_links() {
        let out = written(
            "[a](javascript:alert(1)) [b](JAVASCRIPT:alert(1)) [c](data:text/html,x) [d](../x.md) \
             <javascript:alert(1)> [e](\"><script>) [f]( java\tscript:x) [g](https://x.y/?a=\"b&c)",
        );
        assert_eq!(out.matches("<a ").count(), 1, "{out}");
        assert!(out.contains("<a href=\"https://x.y/?a=%22b&amp;c\">g</a>"), "{out}");
        assert!(!out.contains("href=\"java") && !out.contains("<script"), "{out}");
    }

    #[test]
    fn nothing_is_loaded_and_nothing_is_styled() {
        let out = written(
            "![alt](https://x.y/p.png \"t\")\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n\n- [x] done\n",
        );
        for forbidden in ["<img", "style=", "<input"] {
            assert!(!out.contains(forbidden), "{out}");
        }
        assert!(
            out.contains("[picture https://x.y/p.png: alt]") && out.contains("☑ done"),
            "{out}"
        );
    }

    #[test]
    fn headings_skip_no_level() {
        let out = written("# A\n\n##### B\n\n## C\n\n# D {#id .class onclick=x}\n");
        let tags: Vec<&str> = out.split('<').filter(|tag| tag.starts_with('h')).collect();
        let levels: Vec<&str> = tags.iter().map(|tag| &tag[..3]).collect();
        assert_eq!(levels, ["h4>", "h5>", "h5>", "h4>"], "{out}");
    }

    #[test]
    fn keys_do_not_get_through() {
        assert!(!written("key: `sk-0123456789abcdef`").contains("0123"));
    }
}
