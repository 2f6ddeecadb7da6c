//! Updates sections whose records got new ids: the heading and the fields line.

use std::collections::BTreeMap;

use super::super::{IdKind, Renumbered};
use super::fields::Meaning;
use super::{Reading, Record, Records, edit};

/// Returns the document with the new ids of `records`, which are in the same order as its sections.
/// Ids are not enough to match them: two sections can have the same old id.
pub fn renumbered(text: &str, reading: &Reading, records: &Records, done: &[Renumbered]) -> String {
    let mut by_kind: BTreeMap<IdKind, Vec<Record>> = BTreeMap::new();
    for record in records.iter() {
        by_kind.entry(record.kind()).or_default().push(record);
    }
    let mut places: BTreeMap<IdKind, usize> = BTreeMap::new();
    let mut edits = Vec::new();
    for section in &reading.sections {
        let kind = section.record.kind();
        let place = places.entry(kind).or_default();
        let new = by_kind.get(&kind).and_then(|records| records.get(*place));
        *place += 1;
        let Some(new) = new else { continue };
        if new.id() != section.record.id() {
            edits.push((section.id.clone(), new.id().to_owned()));
        }
        let (old, new) = (section.record.references(), new.references());
        for value in &section.body.values {
            let Meaning::Id(_, named) = &value.meaning else { continue };
            let to = done.iter().filter_map(|one| {
                let rest = named.strip_prefix(&one.from)?;
                (rest.is_empty() || rest.starts_with('.')).then(|| format!("{}{rest}", one.to))
            });
            let mut to = to.filter(|to| new.contains(&to.as_str()) && !old.contains(&to.as_str()));
            let Some(to) = to.next() else { continue };
            let to = if value.code { format!("`{to}`") } else { to };
            let keeps = new.contains(&named.as_str());
            let written = text.get(value.range.clone()).unwrap_or_default();
            let to = if keeps { format!("{written} {to}") } else { to };
            edits.push((value.range.clone(), to));
        }
    }
    edit::replaced(text, edits)
}
