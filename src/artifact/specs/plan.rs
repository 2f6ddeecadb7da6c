//! Writes a plan from records, as the only document: first the prose, then each record as a
//! section.

use std::collections::BTreeMap;

use crate::artifact::sections::{
    Change, Context, Document, Documents, Record, Records, Writer, apply,
};
use crate::artifact::{IdFloors, IdKind};

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
    let context = Context {
        kinds: alone.kinds(Document::Plan),
        used: &BTreeMap::new(),
        floors: IdFloors::default(),
        present: &known,
        in_base,
        by: Writer::Model,
    };
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
    let each = |texts: &mut Vec<String>| texts.iter_mut().for_each(|text| *text = change(text));
    match &mut record {
        Record::Requirement(one) => {
            one.title = change(&one.title);
            one.description = change(&one.description);
            one.acceptance_criteria.iter_mut().for_each(|one| one.text = change(&one.text));
        }
        Record::Feature(one) => {
            one.name = change(&one.name);
            one.description = change(&one.description);
            each(&mut one.completion_criteria);
        }
        Record::Task(one) => {
            one.title = change(&one.title);
            one.description = change(&one.description);
            each(&mut one.acceptance_criteria);
        }
        Record::Component(_) => {}
    }
    record
}

/// Removes references to records that do not exist.
fn with_known_references(mut record: Record, present: &[Record]) -> Record {
    let is_there = |id: &String| present.iter().any(|one| one.id() == id);
    match &mut record {
        Record::Feature(one) => one.requirement_ids.retain(is_there),
        Record::Task(one) => {
            one.requirement_ids.retain(is_there);
            if !is_there(&one.feature_id) {
                one.feature_id.clear();
            }
        }
        Record::Requirement(_) | Record::Component(_) => {}
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
