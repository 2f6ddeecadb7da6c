//! Writes a plan from records, as the only document: first the prose, then each record as a
//! section.

use crate::artifact::IdKind;
use crate::artifact::sections::{
    Change, Context, Document, Documents, Record, Records, Slot, Writer, apply,
};

/// A drafted plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drafted {
    /// `plan.md`
    pub text: String,
    /// Number of requirements.
    pub requirements: u32,
    /// Number of features.
    pub features: u32,
    /// Number of top-level tasks.
    pub tasks: u32,
    /// Records that could not be written as sections, with the reason.
    pub left_out: Vec<String>,
}

/// Writes a plan with `prose` and these records. `in_base` returns whether a path existed before
/// the session. A `REQ-005` in the text of the imported files does not mean a record of this plan,
/// so it is written in a form that is not read as an id.
pub fn draft(prose: &str, records: &[Record], in_base: &dyn Fn(&str) -> bool) -> Drafted {
    let mut out =
        Drafted { text: format!("{}\n", foreign(prose.trim_end())), ..Drafted::default() };
    let mut present: Vec<Record> = Vec::new();
    for record in records {
        let record = with_known_references(with_texts(record.clone(), &foreign), &present);
        let put = put(&out.text, &record, &present, in_base).or_else(|_| {
            // Markdown in the record's texts may change the structure of the document; try again
            // without Markdown.
            let plainer = with_texts(record.clone(), &quoted);
            put(&out.text, &plainer, &present, in_base)
        });
        match put {
            Ok(text) => {
                out.text = text;
                out.count(&record);
                present.push(record);
            }
            Err(why) => out.left_out.push(format!("{}: {why}", record.title())),
        }
    }
    out
}

/// Adds a record to the document, or returns why this is not possible.
fn put(
    text: &str,
    record: &Record,
    present: &[Record],
    in_base: &dyn Fn(&str) -> bool,
) -> Result<String, String> {
    let alone = Documents { plan: true, ..Documents::default() };
    let known: Records = present.iter().cloned().collect();
    let plain = Context::plain(alone.kinds(Document::Plan), &known);
    let context = Context { in_base, by: Writer::Model, ..plain };
    apply(text, &[Change::Put(record.clone())], &context)
        .map_err(|found| found.into_iter().next().map(|remark| remark.text).unwrap_or_default())
}

/// Replaces the hyphen of everything that looks like a record's id by a non-breaking hyphen.
fn foreign(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let (before, after) =
            (text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default());
        let is_id = c == '-'
            && IdKind::ALL.iter().any(|kind| {
                let end = before.len().saturating_sub(kind.word().len());
                before.get(end..).is_some_and(|word| word.eq_ignore_ascii_case(kind.word()))
            })
            && after.get(1..).is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '?')
            });
        out.push(if is_id { '\u{2011}' } else { c });
    }
    out
}

/// Removes Markdown from a text.
fn quoted(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace('`', "'");
        line.trim_matches(|c: char| c.is_whitespace() || "#>|-*+~=[]<".contains(c)).to_owned()
    };
    let words: Vec<String> = text.lines().map(line).filter(|line| !line.is_empty()).collect();
    if words.is_empty() { "(without words)".to_owned() } else { words.join(" ") }
}

/// Changes the texts of a record.
fn with_texts(mut record: Record, change: &dyn Fn(&str) -> String) -> Record {
    let [_, title, description] = record.texts_mut();
    (*title, *description) = (change(title), change(description));
    record.change_items(change);
    record
}

/// Removes references to records that do not exist.
fn with_known_references(mut record: Record, present: &[Record]) -> Record {
    // Dependencies may be on later tasks.
    let refers = |slot: &&Slot| slot.id_kind().is_some_and(|kind| kind != IdKind::Task);
    for slot in record.kind().slots().iter().filter(refers) {
        let ids = record.values(*slot).into_iter();
        let known = ids.filter(|id| present.iter().any(|one| one.id() == id));
        record.set_values(*slot, known.collect());
    }
    record
}

impl Drafted {
    fn count(&mut self, record: &Record) {
        match record.kind() {
            IdKind::Requirement => self.requirements += 1,
            IdKind::Feature => self.features += 1,
            IdKind::Task if !record.id().contains('.') => self.tasks += 1,
            IdKind::Task | IdKind::Component => {}
        }
    }
}
