//! Checks of a document as a whole: duplicate ids, records that are not sections.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::{IdKind, number_of};
use super::parse::Reader;
use super::{RemarkKind, mentions};

impl Reader<'_> {
    /// Finds duplicate ids, ids of deleted records, and ids above the next number.
    pub(super) fn ids(&mut self) {
        let mut seen: Vec<(String, usize)> = Vec::new();
        let mut added: Vec<(String, usize)> = Vec::new();
        let mut refusals: Vec<(usize, String, RemarkKind)> = Vec::new();
        for section in &self.out.sections {
            let id = section.record.id();
            let (at, kind) = (section.range.start, section.record.kind());
            let prefix = kind.prefix();
            if section.unnumbered {
                let text = format!("{}? has no number yet", id.trim_end_matches('?'));
                refusals.push((at, text, RemarkKind::Unnumbered));
                continue;
            }
            if let Some((_, line)) = seen.iter().find(|(known, _)| known == id) {
                let text = format!(
                    "{id} is already at line {line}; write {prefix}? to give this one a new number"
                );
                refusals.push((at, text, RemarkKind::RepeatedId));
                continue;
            }
            seen.push((id.to_owned(), section.line));
            if self.context.present.has(id) {
                continue;
            }
            match self.context.used.get(id) {
                Some(title) if title == section.record.title() => {}
                Some(title) => {
                    let text = format!(
                        "{id} was \"{title}\" and was deleted; write {prefix}? for a new number"
                    );
                    refusals.push((at, text, RemarkKind::Other));
                }
                None => added.push((id.to_owned(), at)),
            }
        }
        added.sort();
        let mut notes = Vec::new();
        let mut floors = self.context.floors;
        for id in self.context.present.ids() {
            if let Some(kind) = IdKind::of(id) {
                floors.see(kind, id);
            }
        }
        for (id, at) in added {
            let Some(kind) = IdKind::of(&id) else { continue };
            let mut above = floors;
            let next = above.next(kind);
            if number_of(kind, &id) > number_of(kind, &next) {
                notes.push((at, format!("{id} is above the next number, {next}")));
            }
            floors.see(kind, &id);
        }
        for (at, text, kind) in refusals {
            self.refuse_as(at, text, kind);
        }
        for (at, text) in notes {
            self.note(at, text);
        }
    }

    /// Finds records that are not sections: in bold text, list items, quotes and table rows.
    pub(super) fn mentions(&mut self) {
        let sections: BTreeSet<&str> = self.out.sections.iter().map(|s| s.record.id()).collect();
        let fields: Vec<Range<usize>> =
            self.out.sections.iter().flat_map(|s| s.body.fields.clone()).collect();
        let mut found = Vec::new();
        for block in self.blocks.iter().filter(|block| !fields.contains(&block.range)) {
            for (at, kind, id) in mentions::leading_ids(self.text, block) {
                let known = self.context.present.has(&id);
                let used = self.context.used.contains_key(&id);
                if self.context.kinds.contains(&kind)
                    && !sections.contains(id.as_str())
                    && (known || !used)
                {
                    let name = kind.name();
                    found.push((
                        at,
                        format!(
                            "{id} has no section; a {name} begins with a heading: ### {id} Title"
                        ),
                    ));
                }
            }
        }
        for (at, text) in found {
            self.refuse_as(at, text, RemarkKind::NoSection);
        }
    }

    /// Refuses a document if a person removed all records from it.
    pub(super) fn nothing_left(&mut self) {
        let held =
            |kind: &&IdKind| self.context.present.ids().any(|id| id.starts_with(kind.prefix()));
        let Some(kind) = self.context.kinds.iter().find(held) else { return };
        if self.out.sections.is_empty() && self.out.refusals.is_empty() {
            let (name, prefix) = (kind.name(), kind.prefix());
            self.refuse(
                0,
                format!("no {name} found; a {name} begins with a heading: ### {prefix}001 Title"),
            );
        }
    }
}
