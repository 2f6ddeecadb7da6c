//! The page's template, and the rules for text in it. Markup is only in `page.html`; every value is
//! cleaned and escaped, except for the HTML that `markdown.rs` made.

use std::borrow::Cow;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::clean::{marked, one_line};
use crate::headings::in_all;
use crate::secret::Secrets;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");

/// Renders the page from its data.
///
/// # Errors
/// The template is broken.
pub(super) fn render(mut data: Value, secrets: &Secrets) -> anyhow::Result<String> {
    in_all(&mut data, &|text| Cow::Owned(clean(text, secrets)));
    // Nothing is loaded, run or sent, and only the page's own style counts.
    let style = STANDARD.encode(digest(&SHA256, STYLE.as_bytes()));
    data["policy"] = json!(format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
    ));
    data["style"] = json!(STYLE);
    data["version"] = json!(env!("CARGO_PKG_VERSION"));
    filled(PAGE, &data)
}

/// Fills a template. Text is escaped for the content of an element and for a quoted attribute.
fn filled(template: &str, data: &Value) -> anyhow::Result<String> {
    let mut environment = Environment::new();
    environment
        .set_syntax(SyntaxConfig::builder().trim_blocks(true).keep_trailing_newline(true).build()?);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(|out, _, value| {
        let text = value.to_string();
        if value.is_safe() {
            return Ok(out.write_str(&text)?);
        }
        for c in text.chars() {
            match c {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                c => out.write_char(c)?,
            }
        }
        Ok(())
    });
    Ok(environment.render_str(template, minijinja::value::Serde(data))?)
}

/// Withholds the user's secrets in a text, and replaces characters that a reader would not see
/// (control characters, and those that reorder or hide the text around them) with `U+FFFD`.
pub(super) fn clean(text: &str, secrets: &Secrets) -> String {
    marked(&secrets.withheld(text))
}

/// A text that may be long: one line of it and, if it is longer, the whole text to fold below.
pub(super) fn short(text: &str, most: usize) -> Value {
    let line = one_line(text, usize::MAX);
    if line.chars().count() < most {
        return json!({"line": line, "whole": null});
    }
    json!({"line": one_line(&line, most), "whole": text})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_escaped_everywhere() {
        let secrets = Secrets::new(["sk-0123456789abcdef".to_owned()]);
        let mut data = json!({
            "title": "\"><b onclick='x'>",
            "text": "</p><script>\u{202e}a\u{1b}[31m&amp;",
            "key": "key sk-0123456789abcdef",
        });
        in_all(&mut data, &|text| Cow::Owned(clean(text, &secrets)));
        let template = "<p title=\"{{ title }}\">{{ text }}</p>\n{{ key }}";
        assert_eq!(
            filled(template, &data).unwrap(),
            "<p title=\"&quot;&gt;&lt;b onclick=&#39;x&#39;&gt;\">&lt;/p&gt;&lt;script&gt;\u{fffd}a&amp;amp;</p>\n\
             key [withheld key]"
        );
    }

    #[test]
    fn a_long_text_folds_and_a_short_one_does_not() {
        assert_eq!(short("short", 20), json!({"line": "short", "whole": null}));
        let text = "one two three four five six";
        assert_eq!(short(text, 10), json!({"line": "one two…", "whole": text}));
    }
}
