//! Three-way merge of one document: its sections, their order, and the prose between them.

use super::super::IdKind;
use super::apply::{Change, apply, same};
use super::merge::{Conflict, MergeProse, Version};
use super::{Context, Document, Reading, Record, Records, Remark, merge_records};

/// One version of one document.
pub(super) struct Side<'a> {
    text: &'a str,
    reading: &'a Reading,
}

impl<'a> Side<'a> {
    pub(super) fn new(
        version: &'a Version<'_>,
        document: Document,
        text: &'a str,
        none: &'a Reading,
    ) -> Self {
        Self { text, reading: version.readings.get(&document).unwrap_or(none) }
    }

    fn ids(&self) -> Vec<&'a str> {
        self.reading.sections.iter().map(|section| section.record.id()).collect()
    }

    fn has(&self, id: &str) -> bool {
        self.reading.section(id).is_some()
    }

    fn record(&self, id: &str) -> Option<&'a Record> {
        self.reading.section(id).map(|section| &section.record)
    }

    /// Returns the source of a section, without the blank lines after it.
    fn source(&self, id: &str) -> Option<&'a str> {
        let range = self.reading.section(id)?.range.clone();
        self.text.get(range).map(str::trim_end)
    }

    /// Returns the prose directly above a section; for `None`, the prose at the end.
    fn prose(&self, id: Option<&str>) -> Option<&'a str> {
        let sections = &self.reading.sections;
        let at = match id {
            Some(id) => sections.iter().position(|section| section.record.id() == id)?,
            None => sections.len(),
        };
        let start = at.checked_sub(1).map_or(0, |before| sections[before].range.end);
        let end = sections.get(at).map_or(self.text.len(), |section| section.range.start);
        self.text.get(start..end)
    }
}

/// Three versions of one document.
pub(super) struct Three<'a> {
    pub(super) document: Document,
    pub(super) base: Side<'a>,
    pub(super) ours: Side<'a>,
    pub(super) theirs: Side<'a>,
}

impl Three<'_> {
    pub(super) fn merged(
        &self,
        prose: &MergeProse<'_>,
        kinds: &[IdKind],
    ) -> Result<String, Vec<Conflict>> {
        let mut conflicts = Vec::new();
        let order = self.order(&mut conflicts);
        let mut changes = Vec::new();
        let mut out = String::new();
        for id in &order {
            self.put_prose(&mut out, Some(id), prose, &mut conflicts);
            let source = self.section(id, &mut changes, &mut conflicts);
            separate(&mut out);
            out += source;
            out += "\n";
        }
        self.put_prose(&mut out, None, prose, &mut conflicts);
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
        let trimmed = out.trim_end().len();
        out.truncate(trimmed);
        out.push('\n');
        let present = Records::default();
        apply(&out, &changes, &Context::plain(kinds, &present)).map_err(|remarks| {
            let conflict = |remark: Remark| self.conflict(remark.text);
            remarks.into_iter().map(conflict).collect()
        })
    }

    fn conflict(&self, text: String) -> Conflict {
        Conflict { document: self.document, text }
    }

    /// Returns the source of a section. If both sides changed it, returns the source of `ours` and
    /// adds a change that merges `theirs` into it.
    fn section<'b>(
        &'b self,
        id: &str,
        changes: &mut Vec<Change>,
        conflicts: &mut Vec<Conflict>,
    ) -> &'b str {
        let (base, ours, theirs) =
            (self.base.source(id), self.ours.source(id), self.theirs.source(id));
        match (ours, theirs) {
            (Some(ours), None) => ours,
            (None, Some(theirs)) => theirs,
            (None, None) => "",
            (Some(ours), Some(theirs)) if ours == theirs || base == Some(theirs) => ours,
            (Some(ours), Some(theirs)) if base == Some(ours) => theirs,
            (Some(ours), Some(_)) => {
                self.merge_record(id, changes, conflicts);
                ours
            }
        }
    }

    fn merge_record(&self, id: &str, changes: &mut Vec<Change>, conflicts: &mut Vec<Conflict>) {
        let (Some(ours), Some(theirs)) = (self.ours.record(id), self.theirs.record(id)) else {
            return;
        };
        // If both sides created the same record, only its references can differ, because
        // referenced records got new ids.
        let made = || merge_records::without_sets(ours);
        let base = self.base.record(id).cloned().unwrap_or_else(made);
        match merge_records::merged(&base, ours, theirs) {
            Ok(record) if same(&record, ours) => {}
            Ok(record) => changes.push(Change::Put(record)),
            Err(fields) => {
                conflicts.extend(fields.into_iter().map(|field| {
                    self.conflict(format!("{field} of {id} was changed on both sides"))
                }))
            }
        }
    }

    /// Returns the order of ids: the order of `ours`, unless only `theirs` moved sections. A new
    /// section of `theirs` comes after the section that precedes it in `theirs`, and after new
    /// sections of `ours` at the same place.
    fn order(&self, conflicts: &mut Vec<Conflict>) -> Vec<String> {
        let (base, ours, theirs) = (self.base.ids(), self.ours.ids(), self.theirs.ids());
        let common = |ids: &[&str]| -> Vec<String> {
            let all = |id: &&&str| base.contains(id) && ours.contains(id) && theirs.contains(id);
            ids.iter().filter(all).map(|id| (*id).to_owned()).collect()
        };
        let only_theirs = common(&ours) == common(&base) && common(&theirs) != common(&base);
        let (first, second) = if only_theirs { (&theirs, &ours) } else { (&ours, &theirs) };
        let mut order: Vec<String> = Vec::new();
        let keeps = |id: &str| !self.deleted(id);
        for id in first.iter().filter(|id| keeps(id)) {
            order.push((*id).to_owned());
        }
        for (at, id) in second.iter().enumerate().filter(|(_, id)| keeps(id)) {
            if order.iter().any(|known| known == id) {
                continue;
            }
            let before = second[..at].iter().rev();
            let place = before.filter_map(|id| order.iter().position(|known| known == id)).next();
            let mut place = place.map_or(0, |place| place + 1);
            if !only_theirs {
                // Sections that ours added at this place come first.
                while order.get(place).is_some_and(|id| !theirs.contains(&id.as_str())) {
                    place += 1;
                }
            }
            order.insert(place, (*id).to_owned());
        }
        self.deleted_and_changed(conflicts);
        order
    }

    /// True if a side deleted a record of the base.
    fn deleted(&self, id: &str) -> bool {
        self.base.has(id) && !(self.ours.has(id) && self.theirs.has(id))
    }

    fn deleted_and_changed(&self, conflicts: &mut Vec<Conflict>) {
        for section in &self.base.reading.sections {
            let id = section.record.id();
            let left = match (self.ours.record(id), self.theirs.record(id)) {
                (Some(left), None) | (None, Some(left)) => left,
                _ => continue,
            };
            if !same(left, &section.record) {
                let text = format!("{id} was deleted on one side and changed on the other");
                conflicts.push(self.conflict(text));
            }
        }
    }

    /// Merges the prose above a section and appends it.
    fn put_prose(
        &self,
        out: &mut String,
        id: Option<&str>,
        merge: &MergeProse<'_>,
        conflicts: &mut Vec<Conflict>,
    ) {
        let base = self.base.prose(id).unwrap_or_default();
        let (ours, theirs) = (self.ours.prose(id), self.theirs.prose(id));
        let merged = match (ours, theirs) {
            (Some(ours), Some(theirs)) if same_prose(ours, theirs) || same_prose(base, theirs) => {
                ours.to_owned()
            }
            (Some(ours), Some(theirs)) if same_prose(base, ours) => theirs.to_owned(),
            (Some(ours), Some(theirs)) => match merge(base, ours, theirs) {
                Some(merged) => merged,
                None => {
                    let above = id.map_or("at the end".to_owned(), |id| format!("above {id}"));
                    conflicts
                        .push(self.conflict(format!("the text {above} was changed on both sides")));
                    return;
                }
            },
            (Some(one), None) | (None, Some(one)) => {
                // Two new records can have the same heading above them; write it once.
                let known = !one.trim().is_empty() && out.contains(one.trim());
                if known { String::new() } else { one.to_owned() }
            }
            (None, None) => return,
        };
        if merged.trim().is_empty() && id.is_some() {
            return;
        }
        if !out.is_empty() && !merged.trim().is_empty() {
            separate(out);
            *out += merged.trim_start();
        } else {
            *out += &merged;
        }
    }
}

fn same_prose(one: &str, other: &str) -> bool {
    one.trim() == other.trim()
}

/// Ends the text with a blank line.
fn separate(out: &mut String) {
    if out.trim_start_matches('\u{feff}').is_empty() {
        return;
    }
    let gap = out[out.trim_end().len()..].matches('\n').count();
    *out += &"\n".repeat(2usize.saturating_sub(gap));
}
