//! Three-way merges of documents: records per field and item, the order of sections, and the prose
//! around them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{IdFloors, IdKind, Renumbered, renumber_text};
use super::apply::{Change, apply, same};
use super::ids::next_below;
use super::merge_records;
use super::{Context, Document, Documents, Reading, Record, Records, Writer, read, references};

/// The documents of one version, those that exist.
pub type Texts = BTreeMap<Document, String>;

/// Merges three texts of prose; `None` is a conflict.
pub type MergeProse<'a> = dyn Fn(&str, &str, &str) -> Option<String> + 'a;

/// Documents with the changes of both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// All documents of the session.
    pub texts: Texts,
    /// Records of theirs that got another id, since ours had it, too.
    pub renumbered: Vec<Renumbered>,
}

/// Why two sides cannot be merged without a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Where.
    pub document: Document,
    /// What both sides did.
    pub text: String,
}

/// One version of the documents, read.
struct Version<'a> {
    texts: &'a Texts,
    readings: BTreeMap<Document, Reading>,
}

impl<'a> Version<'a> {
    fn read(texts: &'a Texts, documents: Documents, name: &str) -> Result<Self, Vec<Conflict>> {
        let mut readings = BTreeMap::new();
        let mut refused = Vec::new();
        for (document, text) in texts {
            let reading = read_for_merge(text, documents.kinds(*document));
            refused.extend(reading.refusals.iter().map(|remark| Conflict {
                document: *document,
                text: format!("{name}, line {}: {}", remark.line, remark.text),
            }));
            readings.insert(*document, reading);
        }
        if refused.is_empty() { Ok(Self { texts, readings }) } else { Err(refused) }
    }

    fn ids(&self) -> BTreeSet<&str> {
        let sections = self.readings.values().flat_map(|reading| &reading.sections);
        sections.map(|section| section.record.id()).collect()
    }

    fn record(&self, id: &str) -> Option<&Record> {
        self.readings.values().find_map(|reading| Some(&reading.section(id)?.record))
    }
}

fn read_for_merge(text: &str, kinds: &[IdKind]) -> Reading {
    let used = BTreeMap::new();
    let present = Records::default();
    read(text, &merge_context(kinds, &used, &present))
}

/// Whatever a side has was accepted when it was committed.
fn merge_context<'a>(
    kinds: &'a [IdKind],
    used: &'a BTreeMap<String, String>,
    present: &'a Records,
) -> Context<'a> {
    let floors = IdFloors::default();
    Context { kinds, used, floors, present, in_base: &|_| true, by: Writer::Person }
}

/// Which documents there are on any side.
fn documents_of(sides: &[&Texts]) -> Documents {
    let has = |document| sides.iter().any(|side| side.contains_key(&document));
    Documents { prd: has(Document::Prd), design: has(Document::Design), plan: has(Document::Plan) }
}

/// Merges what two sides made of the documents of a session. Where both gave one id to different
/// new records, theirs gets the next number, and what theirs says of it follows.
///
/// # Errors
/// What both sides changed to different things, and references to records that a side deleted.
pub fn merge(
    base: &Texts,
    ours: &Texts,
    theirs: &Texts,
    floors: &mut IdFloors,
    prose: &MergeProse<'_>,
) -> Result<Merged, Vec<Conflict>> {
    let documents = documents_of(&[base, ours, theirs]);
    let old = Version::read(base, documents, "base")?;
    let our = Version::read(ours, documents, "ours")?;
    let their = Version::read(theirs, documents, "theirs")?;
    let renumbered = collisions(&old, &our, &their, floors);
    let texts = theirs.iter();
    let theirs: Texts =
        texts.map(|(document, text)| (*document, renumber_text(text, 1, &renumbered))).collect();
    let their = Version::read(&theirs, documents, "theirs")?;
    let mut merged = Merged { texts: Texts::new(), renumbered };
    let mut conflicts = Vec::new();
    for document in Document::ALL {
        let side = |texts: &Texts| texts.get(&document).cloned();
        let text = match (side(base), side(ours), side(theirs_of(&their))) {
            (_, None, None) => continue,
            (Some(base), None, Some(theirs)) if base == theirs => continue,
            (Some(base), Some(ours), None) if base == ours => continue,
            (Some(_), Some(_), None) | (Some(_), None, Some(_)) => {
                let text = "one side deleted the document, the other changed it".to_owned();
                conflicts.push(Conflict { document, text });
                continue;
            }
            (None, Some(text), None) | (None, None, Some(text)) => text,
            (base, Some(_), Some(_)) => {
                let empty = (Texts::from([(document, String::new())]), Reading::default());
                let base_text = base.unwrap_or_default();
                let three = Three {
                    document,
                    base: Side::of(&old, document, &base_text, &empty.1),
                    ours: Side::of(&our, document, &ours[&document], &empty.1),
                    theirs: Side::of(&their, document, &theirs[&document], &empty.1),
                };
                match three.merged(prose, documents.kinds(document)) {
                    Ok(text) => text,
                    Err(more) => {
                        conflicts.extend(more);
                        continue;
                    }
                }
            }
        };
        merged.texts.insert(document, text);
    }
    if conflicts.is_empty() {
        conflicts = dangling(&merged.texts, documents, &our, &their);
    }
    if conflicts.is_empty() { Ok(merged) } else { Err(conflicts) }
}

fn theirs_of<'a>(version: &Version<'a>) -> &'a Texts {
    version.texts
}

/// The new ids of records that both sides made under one id.
fn collisions(
    old: &Version<'_>,
    our: &Version<'_>,
    their: &Version<'_>,
    floors: &mut IdFloors,
) -> Vec<Renumbered> {
    let mut known: Vec<String> = Vec::new();
    for version in [old, our, their] {
        known.extend(version.ids().into_iter().map(str::to_owned));
    }
    for id in &known {
        if let Some(kind) = IdKind::of(id) {
            floors.see(kind, id);
        }
    }
    let mut done: Vec<Renumbered> = Vec::new();
    let both = our.ids().into_iter().filter(|id| their.record(id).is_some());
    for id in both.filter(|id| old.record(id).is_none()) {
        let (Some(one), Some(other)) = (our.record(id), their.record(id)) else { continue };
        let moved = |done: &[Renumbered]| {
            done.iter()
                .any(|one| id.strip_prefix(&one.from).is_some_and(|rest| rest.starts_with('.')))
        };
        if same(one, other) || moved(&done) {
            continue;
        }
        let Some(kind) = IdKind::of(id) else { continue };
        let to = match id.rsplit_once('.') {
            Some((above, _)) => next_below(above, &known),
            None => floors.next(kind),
        };
        known.push(to.clone());
        done.push(Renumbered { from: id.to_owned(), to, side: 1 });
    }
    done
}

/// References that no side had left dangling.
fn dangling(
    texts: &Texts,
    documents: Documents,
    our: &Version<'_>,
    their: &Version<'_>,
) -> Vec<Conflict> {
    let read: Vec<(Document, &String, Reading)> = texts
        .iter()
        .map(|(document, text)| (*document, text, read_for_merge(text, documents.kinds(*document))))
        .collect();
    let all: Vec<(Document, &str, &Reading)> =
        read.iter().map(|(document, text, reading)| (*document, text.as_str(), reading)).collect();
    let before: Vec<String> = [our, their]
        .into_iter()
        .flat_map(|version| {
            let all: Vec<(Document, &str, &Reading)> = version
                .readings
                .iter()
                .map(|(document, reading)| (*document, version.texts[document].as_str(), reading))
                .collect();
            references(documents, &all)
        })
        .map(|(_, remark)| remark.text)
        .collect();
    let mut found: Vec<Conflict> = references(documents, &all)
        .into_iter()
        .filter(|(_, remark)| !before.contains(&remark.text))
        .map(|(document, remark)| Conflict { document, text: remark.text })
        .collect();
    for (document, _, reading) in &read {
        found.extend(reading.refusals.iter().map(|remark| Conflict {
            document: *document,
            text: format!("line {}: {}", remark.line, remark.text),
        }));
    }
    found
}

/// One version of one document.
struct Side<'a> {
    text: &'a str,
    reading: &'a Reading,
}

impl<'a> Side<'a> {
    fn of(version: &'a Version<'_>, document: Document, text: &'a str, none: &'a Reading) -> Self {
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

    /// The bytes of a section, without the blank lines behind it.
    fn source(&self, id: &str) -> Option<&'a str> {
        let range = self.reading.section(id)?.range.clone();
        self.text.get(range).map(str::trim_end)
    }

    /// The prose right above a section, or with no id at the end.
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
struct Three<'a> {
    document: Document,
    base: Side<'a>,
    ours: Side<'a>,
    theirs: Side<'a>,
}

impl Three<'_> {
    fn merged(&self, prose: &MergeProse<'_>, kinds: &[IdKind]) -> Result<String, Vec<Conflict>> {
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
        let (used, present) = (BTreeMap::new(), Records::default());
        apply(&out, &changes, &merge_context(kinds, &used, &present)).map_err(|remarks| {
            let conflict = |remark: super::Remark| self.conflict(remark.text);
            remarks.into_iter().map(conflict).collect()
        })
    }

    fn conflict(&self, text: String) -> Conflict {
        Conflict { document: self.document, text }
    }

    /// The bytes of a section; where both sides changed it, ours and what is to become of it.
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
        let base = self.base.record(id).unwrap_or(ours);
        match merge_records::merged(base, ours, theirs) {
            Ok(record) if same(&record, ours) => {}
            Ok(record) => changes.push(Change::Put(record)),
            Err(fields) => {
                conflicts.extend(fields.into_iter().map(|field| {
                    self.conflict(format!("{field} of {id} was changed on both sides"))
                }))
            }
        }
    }

    /// The ids in the order they get: ours, unless only theirs moved some; what is new in theirs
    /// goes behind what it stands behind there, and behind what is new in ours.
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
                // What ours added at this place is first.
                while order.get(place).is_some_and(|id| !theirs.contains(&id.as_str())) {
                    place += 1;
                }
            }
            order.insert(place, (*id).to_owned());
        }
        self.deleted_and_changed(conflicts);
        order
    }

    /// True when a side deleted a record that was there.
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

    /// The prose above a section, with the changes of both sides.
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
                // The heading above two new records is one heading.
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

/// A blank line at the end of what is there.
fn separate(out: &mut String) {
    if out.trim_start_matches('\u{feff}').is_empty() {
        return;
    }
    let gap = out[out.trim_end().len()..].matches('\n').count();
    *out += &"\n".repeat(2usize.saturating_sub(gap));
}
