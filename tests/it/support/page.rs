//! A page of `show --web`, parsed more strictly than by any browser: every tag must be closed by
//! its own, and every element and attribute must be one that the program writes. Anything else
//! fails.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// Elements without an end.
const VOID: [&str; 4] = ["!doctype", "meta", "br", "hr"];

const ELEMENTS: &[&str] = &[
    "!doctype",
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "main",
    "footer",
    "nav",
    "section",
    "div",
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "thead",
    "tbody",
    "tfoot",
    "tr",
    "th",
    "td",
    "details",
    "summary",
    "pre",
    "code",
    "span",
    "strong",
    "em",
    "del",
    "blockquote",
    "br",
    "hr",
    "a",
    "bdi",
    "time",
    "svg",
    "g",
    "rect",
    "path",
    "text",
];

const ATTRIBUTES: &[&str] = &[
    "html",
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "id",
    "class",
    "href",
    "open",
    "scope",
    "start",
    "datetime",
    "tabindex",
    "role",
    "aria-label",
    "aria-hidden",
    "viewBox",
    "preserveAspectRatio",
    "x",
    "y",
    "rx",
    "width",
    "height",
    "d",
];

/// A parsed page.
pub struct Page {
    /// The source of the page.
    pub html: String,
    /// The text that a reader sees, with entities resolved.
    pub text: String,
    pub hrefs: Vec<String>,
    pub ids: Vec<String>,
}

impl Page {
    /// Reads a page and fails on anything in it that the program does not write.
    #[track_caller]
    pub fn read(html: &str) -> Self {
        let (mut hrefs, mut ids, mut open) = (Vec::new(), Vec::new(), Vec::<String>::new());
        let (mut text, mut rest) = (String::new(), html);
        while let Some(at) = rest.find('<') {
            text.push_str(&rest[..at]);
            let end = at + rest[at..].find('>').unwrap();
            let tag = &rest[at + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(
                    open.pop().as_deref(),
                    Some(name),
                    "closed by another, before {rest:.200}"
                );
                continue;
            }
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            let name = name.trim_end_matches('/');
            assert!(ELEMENTS.contains(&name), "<{tag}> before {rest:.200}");
            for (key, value) in attributes_of(attributes) {
                assert!(ATTRIBUTES.contains(&key.as_str()), "{key} in <{tag}>");
                match key.as_str() {
                    "href" => hrefs.push(value),
                    "id" => ids.push(value),
                    _ => {}
                }
            }
            if name == "style" {
                let end = rest.find("</style>").unwrap();
                rest = &rest[end..];
            }
            if !VOID.contains(&name) {
                open.push(name.to_owned());
            }
        }
        assert_eq!(open, Vec::<String>::new(), "left open");
        Self { html: html.to_owned(), text: resolved(&text), hrefs, ids }
    }

    /// Checks that each link of the page leads to a place in it, or to the web.
    #[track_caller]
    pub fn links_lead_somewhere(&self) {
        let unique: BTreeSet<&String> = self.ids.iter().collect();
        assert_eq!(unique.len(), self.ids.len(), "an id that is there twice");
        for href in &self.hrefs {
            match href.strip_prefix('#') {
                Some(id) => assert!(self.ids.iter().any(|there| there == id), "{href}"),
                None => {
                    assert!(href.starts_with("https://") || href.starts_with("http://"), "{href}")
                }
            }
        }
    }

    /// The part of the page between this heading of a section and the next.
    #[track_caller]
    pub fn section(&self, id: &str) -> &str {
        let start = self.html.find(&format!("<section id=\"{id}\">")).unwrap();
        let rest = &self.html[start..];
        &rest[..rest.find("</section>").unwrap()]
    }

    /// Saves the page for the check in a browser (`.ci/page/run`).
    pub fn keep(&self, name: &str) {
        if let Some(folder) = std::env::var_os("COWORK_TEST_PAGES") {
            std::fs::write(PathBuf::from(folder).join(format!("{name}.html")), &self.html).unwrap();
        }
    }
}

/// Attributes with quoted values, and some without one.
fn attributes_of(mut text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while !text.trim_start().is_empty() {
        text = text.trim_start();
        let end = text.find([' ', '=']).unwrap_or(text.len());
        let key = text[..end].trim_end_matches('/').to_owned();
        text = &text[end..];
        let mut value = String::new();
        if let Some(quoted) = text.strip_prefix("=\"") {
            let close = quoted.find('"').unwrap();
            value = resolved(&quoted[..close]);
            text = &quoted[close + 1..];
        }
        if !key.is_empty() {
            found.push((key, value));
        }
    }
    found
}

fn resolved(text: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (entity, c)| text.replace(entity, c))
}
