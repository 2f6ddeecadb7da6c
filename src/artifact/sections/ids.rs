//! Numbers records that a person wrote without one: `REQ-?`.

use super::super::id::next_below;
use super::super::{IdFloors, IdKind};
use super::blocks::{document_blocks, line_of};
use super::heading::IdText;
use super::parse::heads;
use super::{Context, Reading, Remark, RemarkKind, edit, read};

/// A document after its new records got numbers.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The text with the new ids.
    pub text: String,
    /// The contents of the text.
    pub reading: Reading,
    /// The numbers of the lines in which a record got an id, each with the new id.
    pub numbered: Vec<(usize, String)>,
}

/// Reads a document and gives ids to its new records, unless something else in the document is
/// refused. Raises `floors`, the highest numbers used so far, to the new numbers.
pub fn take(text: &str, context: &Context<'_>, floors: &mut IdFloors) -> Taken {
    let mut reading = read(text, context);
    let is_unnumbered = |remark: &Remark| remark.kind == RemarkKind::Unnumbered;
    let only_numbers = reading.refusals.iter().all(is_unnumbered);
    if reading.refusals.is_empty() || !only_numbers {
        reading.refusals.retain(|remark| !is_unnumbered(remark));
        return Taken { text: text.to_owned(), reading, numbered: Vec::new() };
    }
    let (text, numbered) = number(text, context, floors);
    let reading = read(&text, context);
    Taken { text, reading, numbered }
}

/// Writes an id into the heading of each record without a number.
pub fn number(
    text: &str,
    context: &Context<'_>,
    floors: &mut IdFloors,
) -> (String, Vec<(usize, String)>) {
    let blocks = document_blocks(text);
    let heads = heads(text, &blocks, context.kinds);
    let mut known: Vec<String> = context.used.keys().cloned().collect();
    known.extend(context.present.ids().map(str::to_owned));
    known.extend(heads.iter().filter_map(|head| match &head.heading.id {
        IdText::Id(id) => Some(id.clone()),
        _ => None,
    }));
    for id in &known {
        if let Some(kind) = IdKind::of_id(id) {
            floors.see(kind, id);
        }
    }
    let (mut edits, mut numbered) = (Vec::new(), Vec::new());
    for head in heads {
        let id = match &head.heading.id {
            IdText::New(Some(above)) => next_below(above, known.iter().map(String::as_str)),
            IdText::New(None) | IdText::Word => floors.next(head.heading.kind),
            _ => continue,
        };
        known.push(id.clone());
        let written = &head.heading.written;
        let range = head.start + written.start..head.start + written.end;
        numbered.push((line_of(text, range.start), id.clone()));
        edits.push((range, id));
    }
    (edit::replaced(text, edits), numbered)
}

/// Returns the ids in the headings of a text's records.
pub fn written(text: &str, kinds: &[IdKind]) -> Vec<String> {
    let heads = heads(text, &document_blocks(text), kinds).into_iter();
    let ids = heads.filter_map(|head| match head.heading.id {
        IdText::Id(id) => Some(id),
        _ => None,
    });
    ids.collect()
}
