//! The page around its sections: metadata, security policy, header and navigation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

use super::html::Html;
use super::overview;
use super::source::Source;
use crate::clean::one_line;

const STYLE: &str = include_str!("style.css");
/// Maximum length of the window's title.
const TITLE: usize = 80;

/// Returns the whole page; `sections` are the ids and titles for the navigation.
pub(super) fn around(
    source: &Source<'_>,
    sections: &[(&'static str, &'static str)],
    main: Html<'_>,
    left_out: usize,
) -> String {
    let session = source.session();
    let mut html = main.part();
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let policy = policy();
    html.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
    html.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"referrer\" content=\"no-referrer\">\n");
    let title = format!("{} · {}", session.name, one_line(&session.file.title, TITLE));
    html.element("title", &[], &title);
    html.raw("<style>").raw(STYLE).raw("</style>\n</head>\n<body>\n<header>\n");
    overview::write(source, &mut html);
    html.raw("<nav aria-label=\"Sections\"><ul>\n");
    for (id, title) in sections {
        let place = format!("#{id}");
        html.raw("<li>").open("a", &[("href", &place)]).text(title).raw("</a></li>\n");
    }
    html.raw("</ul></nav>\n</header>\n<main>\n").add(main).raw("</main>\n<footer>\n<p>");
    html.text(&format!("Written by git-cowork {} from ", env!("CARGO_PKG_VERSION")));
    html.element("code", &[], session.tip.as_str());
    if left_out > 0 {
        let things = if left_out == 1 { "1 thing is" } else { "some things are" };
        html.text(&format!("; {things} left out; a note marks each place"));
    }
    html.raw(".</p>\n</footer>\n</body>\n</html>\n");
    html.into_string()
}

/// The content security policy: nothing is loaded, run or sent, and only the page's own style
/// counts.
fn policy() -> String {
    let style = STANDARD.encode(digest(&SHA256, STYLE.as_bytes()));
    format!("default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'")
}
