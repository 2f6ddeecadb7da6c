//! A session as one self-contained HTML page: no network, no script, no other file. Everything from
//! models, commits and clones is escaped in it (`html.rs`, `markdown.rs`), and the page's
//! Content-Security-Policy blocks everything but its own style. Its size is limited (`room.rs`).
//!
//! Each section is a file, which reads its data from [`Source`] and writes HTML. If a section
//! fails, the page shows its error and the other sections.

mod changes;
mod cost;
mod documents;
mod drawing;
mod evidence;
mod frame;
mod graph;
mod html;
mod markdown;
mod overview;
mod patch;
mod room;
mod source;
mod timeline;
mod versions;

use html::Html;
use room::Room;
pub(crate) use source::Source;

/// A function that writes a section.
type Write = fn(&Source<'_>, &mut Room, &mut Html<'_>) -> anyhow::Result<()>;

/// A section of the page: its id for links, its heading, and the function that writes it.
struct Section {
    id: &'static str,
    title: &'static str,
    write: Write,
}

/// The sections, in reading order.
const SECTIONS: [Section; 6] = [
    Section { id: "timeline", title: "Timeline", write: timeline::write },
    Section { id: "graph", title: "From requirement to file", write: graph::write },
    Section { id: "cost", title: "Cost by stage", write: cost::write },
    Section { id: "documents", title: "Documents", write: documents::write },
    Section { id: "evidence", title: "Evidence", write: evidence::write },
    Section { id: "changes", title: "Changes by task", write: changes::write },
];

/// Returns the page of a session.
pub(crate) fn page(source: &Source<'_>) -> String {
    let mut room = Room::default();
    let mut main = Html::new(source.secrets);
    for Section { id, title, write } in SECTIONS {
        main.open("section", &[("id", id)]).element("h2", &[], title);
        let before = main.len();
        if let Err(error) = write(source, &mut room, &mut main) {
            main.truncate(before);
            main.element("p", &[("class", "bad")], &format!("This cannot be shown: {error:#}"));
        }
        main.close("section");
    }
    let names: Vec<_> = SECTIONS.iter().map(|section| (section.id, section.title)).collect();
    frame::around(source, &names, main, room.left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_has_its_own_id() {
        let ids: std::collections::BTreeSet<_> =
            SECTIONS.iter().map(|section| section.id).collect();
        assert_eq!(ids.len(), SECTIONS.len());
    }
}
