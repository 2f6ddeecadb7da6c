//! A plan, which is the only document, from records: its prose first, then each record as a section.

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
    /// How many records of each kind it holds; of tasks those at the top.
    pub requirements: u32,
    /// Features.
    pub features: u32,
    /// Tasks.
    pub tasks: u32,
    /// Records that could not be written as sections, with the reason.
    pub left_out: Vec<String>,
}

/// The plan with these records below `prose`. `in_base` says whether a path is there before the session.
pub fn draft(prose: &str, records: &[Record], in_base: &dyn Fn(&str) -> bool) -> Drafted {
    let alone = Documents { plan: true, ..Documents::default() };
    let mut out = Drafted { text: format!("{}\n", prose.trim_end()), ..Drafted::default() };
    let mut present: Vec<Record> = Vec::new();
    for record in records {
        let known: Records = present.iter().cloned().collect();
        let context = Context {
            kinds: alone.kinds(Document::Plan),
            used: &BTreeMap::new(),
            floors: IdFloors::default(),
            present: &known,
            in_base,
            by: Writer::Model,
        };
        match apply(&out.text, &[Change::Put(record.clone())], &context) {
            Ok(text) => {
                out.text = text;
                out.count(record);
                present.push(record.clone());
            }
            Err(found) => {
                let why = found.first().map(|remark| remark.text.clone()).unwrap_or_default();
                out.left_out.push(format!("{}: {why}", record.title()));
            }
        }
    }
    out
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
