//! Manual edits of every kind of record: each is read, read with a note, or refused with a line and
//! a message.

mod requirements;
mod tasks;

use super::*;

const PRD: &str = include_str!("prd.md");
const DESIGN: &str = include_str!("design.md");
const PLAN: &str = include_str!("plan.md");

/// The result of an edit.
enum Outcome {
    /// The edit is read and changes these records, separated by commas.
    Reads(&'static str),
    /// The edit is read with this note and changes these records.
    Notes(&'static str, &'static str),
    /// The edit is refused with this line and message.
    Refused(&'static str),
}

use Outcome::{Notes, Reads, Refused};

/// A document, a part of it, the replacement, and the expected result.
struct Edit {
    document: Document,
    from: &'static str,
    to: &'static str,
    outcome: Outcome,
}

const fn edit(document: Document, from: &'static str, to: &'static str, outcome: Outcome) -> Edit {
    Edit { document, from, to, outcome }
}

/// The value of `from` that replaces the whole text.
const WHOLE: &str = "";

use Document::{Design, Plan, Prd};

/// The three documents, one of them edited.
struct Edited {
    texts: [(Document, String); 3],
    present: Records,
}

const DOCUMENTS: Documents = Documents { prd: true, design: true, plan: true };

fn in_base(path: &str) -> bool {
    path == "a dir/file.txt"
}

fn context<'a>(
    document: Document,
    used: &'a BTreeMap<String, String>,
    present: &'a Records,
) -> Context<'a> {
    let kinds = DOCUMENTS.kinds(document);
    let floors = floors_of(used.keys().map(String::as_str));
    Context { kinds, used, floors, present, in_base: &in_base, by: Writer::Person }
}

fn history() -> BTreeMap<String, String> {
    let ids = ["REQ-003", "FEAT-002", "COMP-002", "TASK-004"];
    ids.map(|id| (id.to_owned(), "Export".to_owned())).into()
}

fn edited(edit: &Edit) -> Edited {
    let texts = [(Prd, PRD), (Design, DESIGN), (Plan, PLAN)];
    let used = history();
    let mut present = Records::default();
    for (document, text) in texts {
        let nothing = Records::default();
        let mut context = context(document, &used, &nothing);
        context.by = Writer::Model;
        let without = BTreeMap::new();
        context.used = &without;
        read(text, &context).sections.into_iter().for_each(|section| present.push(section.record));
    }
    let texts = texts.map(|(document, text)| {
        let text = match edit.from {
            _ if document != edit.document => text.to_owned(),
            WHOLE => edit.to.to_owned(),
            from => text.replacen(from, edit.to, 1),
        };
        (document, text)
    });
    Edited { texts, present }
}

/// Returns notes and refusals as they are printed, and the ids of changed records.
fn outcome(edit: &Edit) -> (Vec<String>, Vec<String>, Vec<String>) {
    let used = history();
    let Edited { texts, present } = edited(edit);
    let (mut notes, mut refusals) = (Vec::new(), Vec::new());
    let mut after = Records::default();
    let mut readings = Vec::new();
    for (document, text) in &texts {
        let context = context(*document, &used, &present);
        let mut floors = context.floors;
        let taken = take(text, &context, &mut floors);
        readings.push((*document, taken));
    }
    let all: Vec<_> =
        readings.iter().map(|(document, t)| (*document, t.text.as_str(), &t.reading)).collect();
    let print = |remark: &Remark| format!("{}: {}", remark.line, remark.text);
    for (_, taken) in &readings {
        notes.extend(taken.reading.notes.iter().map(print));
        refusals.extend(taken.reading.refusals.iter().map(print));
        taken.reading.records().iter().for_each(|record| after.push(record));
    }
    if refusals.is_empty() {
        refusals.extend(references(DOCUMENTS, &all, &after).iter().map(|one| print(&one.remark)));
    }
    let mut changed: Vec<String> = Vec::new();
    for record in present.iter() {
        if after.get(record.id()) != Some(record.clone()) {
            changed.push(record.id().to_owned());
        }
    }
    changed.extend(after.ids().filter(|id| !present.has(id)).map(str::to_owned));
    (notes, refusals, changed)
}

#[test]
fn every_edit_is_read_or_refused_with_its_line() {
    let mut wrong = Vec::new();
    let edits: Vec<&Edit> = requirements::EDITS.iter().chain(tasks::EDITS).collect();
    assert!(edits.len() >= 120);
    for edit in &edits {
        let original = [(Prd, PRD), (Design, DESIGN), (Plan, PLAN)];
        let original = original.iter().find(|(document, _)| *document == edit.document);
        assert!(original.is_some_and(|(_, text)| text.contains(edit.from)), "{:?}", edit.from);
        let (notes, refusals, changed) = outcome(edit);
        let changed = changed.join(",");
        let is = |ids: &str| {
            let sorted = |ids: &str| {
                let mut ids: Vec<String> = ids.split(',').map(str::to_owned).collect();
                ids.sort();
                ids
            };
            sorted(ids) == sorted(&changed)
        };
        let right = match edit.outcome {
            Reads(ids) => notes.is_empty() && refusals.is_empty() && is(ids),
            Notes(note, ids) => notes.contains(&note.to_owned()) && refusals.is_empty() && is(ids),
            Refused(message) => refusals.first().is_some_and(|first| first == message),
        };
        if !right {
            let (from, to) = (edit.from, edit.to);
            wrong.push(format!(
                "{from:?} -> {to:?}\n  notes {notes:?}\n  refused {refusals:?}\n  changed {changed}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), edits.len(), wrong.join("\n"));
}
