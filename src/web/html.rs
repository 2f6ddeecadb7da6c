//! The only writer of the page. Markup can only be a literal of this program (`&'static str`);
//! everything else goes through [`Html::text`] or into an attribute, and is escaped there.

use crate::clean::{marked, one_line};
use crate::secret::Secrets;

/// A page, or a part of one.
pub(super) struct Html<'a> {
    out: String,
    secrets: &'a Secrets,
}

impl<'a> Html<'a> {
    /// An empty part.
    pub(super) fn new(secrets: &'a Secrets) -> Self {
        Self { out: String::new(), secrets }
    }

    /// The HTML that was written.
    pub(super) fn into_string(self) -> String {
        self.out
    }

    /// Bytes written so far.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Removes everything after the first `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.out.truncate(len);
    }

    /// An empty part that withholds the same secrets.
    pub(super) fn part(&self) -> Self {
        Self::new(self.secrets)
    }

    /// Adds a part.
    pub(super) fn add(&mut self, part: Self) -> &mut Self {
        self.out.push_str(&part.out);
        self
    }

    /// Adds HTML that the Markdown library rendered from harmless events; only for `markdown.rs`.
    pub(super) fn rendered(&mut self, markup: &str) -> &mut Self {
        self.out.push_str(markup);
        self
    }

    /// Adds literal markup.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.out.push_str(markup);
        self
    }

    /// Adds text from any source, cleaned and escaped.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let clean = self.clean(text);
        push_escaped(&mut self.out, &clean);
        self
    }

    /// Adds text from any source so that its writing direction does not affect the text around it.
    pub(super) fn isolated(&mut self, text: &str) -> &mut Self {
        self.raw("<bdi>").text(text).raw("</bdi>")
    }

    /// Adds an opening tag with these attributes, whose values are escaped.
    pub(super) fn open(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
    ) -> &mut Self {
        self.raw("<").raw(tag);
        for (name, value) in attributes {
            self.raw(" ").raw(name).raw("=\"").text(value).raw("\"");
        }
        self.raw(">")
    }

    /// Adds a closing tag.
    pub(super) fn close(&mut self, tag: &'static str) -> &mut Self {
        self.raw("</").raw(tag).raw(">\n")
    }

    /// Adds an element that contains only text.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        text: &str,
    ) -> &mut Self {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// Adds a part that is folded; `summary` is shown until a reader opens it.
    pub(super) fn folded(&mut self, summary: &str, inner: Self) -> &mut Self {
        self.raw("<details><summary>").isolated(summary).raw("</summary>\n");
        self.add(inner).close("details")
    }

    /// Adds a text that may be long: one line of it, with the whole text folded below.
    pub(super) fn short(&mut self, text: &str, most: usize) -> &mut Self {
        let line = one_line(text, usize::MAX);
        if line.chars().count() < most {
            return self.isolated(&line);
        }
        let line = one_line(&line, most);
        let mut whole = self.part();
        whole.element("p", &[("class", "long")], text);
        self.folded(&line, whole)
    }

    /// Withholds the user's secrets in a text, and replaces characters that a reader would not see
    /// (control characters, and those that reorder or hide the text around them) with `U+FFFD`.
    pub(super) fn clean(&self, text: &str) -> String {
        marked(&self.secrets.withheld(text))
    }
}

/// Escapes text for the content of an element and for a quoted attribute.
fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_escaped_everywhere() {
        let secrets = Secrets::new(["sk-0123456789abcdef".to_owned()]);
        let mut html = Html::new(&secrets);
        html.element(
            "p",
            &[("title", "\"><b onclick='x'>")],
            "</p><script>\u{202e}a\u{1b}[31m&amp;",
        );
        html.text("key sk-0123456789abcdef");
        assert_eq!(
            html.into_string(),
            "<p title=\"&quot;&gt;&lt;b onclick=&#39;x&#39;&gt;\">&lt;/p&gt;&lt;script&gt;\u{fffd}a&amp;amp;</p>\n\
             key [withheld key]"
        );
    }

    #[test]
    fn a_long_text_folds_and_a_short_one_does_not() {
        let secrets = Secrets::new([]);
        let mut html = Html::new(&secrets);
        html.short("short", 20).short("one two three four five six", 10);
        let out = html.into_string();
        assert!(out.starts_with("<bdi>short</bdi><details><summary><bdi>one two…</bdi>"), "{out}");
        assert!(out.contains("four five six</p>"), "{out}");
    }
}
