//! A session as one HTML page that needs nothing but a browser: no network, no script, no file beside
//! it. What models, commits and clones say is text in it (`html.rs`, `markdown.rs`), and the page's
//! own policy forbids everything else. It is bounded (`room.rs`).
//!
//! A section is a file: it reads what it shows from [`Source`] and writes it. One that cannot be read
//! says so in its place, and the others are there.

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

/// What writes a section.
type Write = fn(&Source<'_>, &mut Room, &mut Html<'_>) -> anyhow::Result<()>;

/// A part of the page: where links lead to, its heading, what writes it.
struct Section {
    id: &'static str,
    title: &'static str,
    write: Write,
}

/// The sections, in the order a reader asks for them.
const SECTIONS: [Section; 6] = [
    Section { id: "timeline", title: "Timeline", write: timeline::write },
    Section { id: "graph", title: "From requirement to file", write: graph::write },
    Section { id: "cost", title: "Cost by stage", write: cost::write },
    Section { id: "documents", title: "Documents", write: documents::write },
    Section { id: "evidence", title: "Evidence", write: evidence::write },
    Section { id: "changes", title: "Changes by task", write: changes::write },
];

/// The page.
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
    fn each_section_has_a_place_of_its_own() {
        let ids: std::collections::BTreeSet<_> =
            SECTIONS.iter().map(|section| section.id).collect();
        assert_eq!(ids.len(), SECTIONS.len());
    }
}
