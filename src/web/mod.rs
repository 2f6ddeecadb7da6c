//! A session as one self-contained HTML page: no network, no script, no other file. Everything from
//! models, commits and clones is escaped in it (`template.rs`, `markdown.rs`), and the page's
//! Content-Security-Policy blocks everything but its own style. Its size is limited (`room.rs`).
//!
//! Each section is a file, which reads its data from [`Source`]; `page.html` shows the data. If a
//! section fails, the page shows its error and the other sections.

mod changes;
mod cost;
mod documents;
mod drawing;
mod evidence;
mod graph;
mod markdown;
mod overview;
mod room;
mod source;
mod template;
mod timeline;

use serde_json::{Value, json};

use crate::clean::one_line;
use room::PageRoom;
pub(crate) use source::PageSource;

/// Maximum length of the window's title.
const TITLE: usize = 80;

/// A function that returns the data of a section.
type SectionReader = fn(&PageSource<'_>, &mut PageRoom) -> anyhow::Result<Value>;

/// The sections, in reading order: the id for links, the heading, and the data.
const SECTIONS: [(&str, &str, SectionReader); 6] = [
    ("timeline", "Timeline", timeline::read),
    ("graph", "From requirement to file", graph::read),
    ("cost", "Cost by stage", cost::read),
    ("documents", "Documents", documents::read),
    ("evidence", "Evidence", evidence::read),
    ("changes", "Changes by task", changes::read),
];

/// Returns the page of a session.
///
/// # Errors
/// The template is broken.
pub(crate) fn page(source: &PageSource<'_>) -> anyhow::Result<String> {
    let mut room = PageRoom::default();
    let sections = SECTIONS.map(|(id, title, read)| match read(source, &mut room) {
        Ok(data) => json!({"id": id, "title": title, "data": data}),
        Err(error) => json!({"id": id, "title": title, "error": format!("{error:#}")}),
    });
    let session = source.session();
    let data = json!({
        "title": format!("{} · {}", session.name, one_line(&session.file.title, TITLE)),
        "session": session.name.as_str(),
        "overview": overview::read(source),
        "sections": sections,
        "tip": session.tip.as_str(),
        "left_out": room.left_out,
    });
    template::render(data, source.secrets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_has_its_own_id() {
        let ids: std::collections::BTreeSet<_> = SECTIONS.iter().map(|(id, ..)| id).collect();
        assert_eq!(ids.len(), SECTIONS.len());
    }
}
