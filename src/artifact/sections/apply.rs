//! Adds, changes and deletes records in a document with as few changed bytes as possible.

use std::collections::BTreeMap;

use super::super::{IdKind, Task};
use super::blocks::blocks;
use super::edit::{self, replaced};
use super::render::{self, LEVEL, Parts};
use super::{Context, Reading, Record, Records, Remark, Section, normal, parse, read, values};

/// A change of a record.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there are few of them at a time")]
pub enum Change {
    /// Replaces the record with the same id, or adds the record.
    Put(Record),
    /// Deletes the record with this id.
    Delete(String),
}

/// Changes records of a document. In existing records, only the bytes of the changed fields change.
/// A new record is inserted after the last one of its kind, a sub-task after its siblings.
///
/// # Errors
///
/// If the changed document could not be read, or would not contain the intended records: do not
/// write it.
pub fn apply(text: &str, changes: &[Change], context: &Context<'_>) -> Result<String, Vec<Remark>> {
    let (used, present) = expected(changes, context);
    let context = Context { used: &used, present: &present, ..*context };
    let mut text = text.to_owned();
    for change in changes {
        text = match change {
            Change::Put(record) => put(&text, record, &context)?,
            Change::Delete(id) => delete(&text, id, &context)?,
        };
    }
    Ok(text)
}

/// Returns the context in which the changed document must be read: deleted ids count as prose, new
/// ids are known.
fn expected(changes: &[Change], context: &Context<'_>) -> (BTreeMap<String, String>, Records) {
    let mut used = context.used.clone();
    let mut records: Vec<Record> = context.present.iter().collect();
    for change in changes {
        match change {
            Change::Put(record) => {
                records.retain(|one| one.id() != record.id());
                records.push(record.clone());
            }
            Change::Delete(id) => {
                if let Some(old) = context.present.get(id) {
                    used.entry(id.clone()).or_insert_with(|| old.title().to_owned());
                }
                records.retain(|one| one.id() != id);
            }
        }
    }
    (used, records.into_iter().collect())
}

fn refusal(line: usize, text: String) -> Vec<Remark> {
    vec![Remark::new(line, text)]
}

fn put(text: &str, record: &Record, context: &Context<'_>) -> Result<String, Vec<Remark>> {
    let before = read(text, context);
    let section = before.section(record.id());
    let line = section.map_or(1, |section| section.line);
    if record.title().trim().is_empty() {
        return Err(refusal(line, format!("{} has no title", record.id())));
    }
    if let Some(heading) = record_heading_in(record, context.kinds) {
        let id = record.id();
        let text = format!("the description of {id} contains the heading of a record: {heading}");
        return Err(refusal(line, text));
    }
    if let Record::Task(task) = record
        && let Some(path) = task.files().find(|path| values::is_outside(path))
    {
        return Err(refusal(line, values::outside(path)));
    }
    let Some(section) = section else {
        let (at, level) = place(&before, record, text);
        let new = render::render(record, level);
        let after = inserted(text, at, &new);
        return check(&before, after, &normal(record, level), context);
    };
    let wanted = normal(record, section.level);
    if same(&section.record, &wanted) {
        return Ok(text.to_owned());
    }
    if let Some(edits) = edit::edits(text, section, &wanted) {
        let edits = edits.into_iter().map(|(range, new)| (range, as_lines_of(text, &new)));
        let after = replaced(text, edits.collect());
        if let Ok(after) = check(&before, after, &wanted, context) {
            return Ok(after);
        }
    }
    let source = text.get(section.range.clone()).unwrap_or_default();
    let end = section.range.start + source.trim_end().len();
    let new = again(text, section, record);
    let after = replaced(text, vec![(section.range.start..end, as_lines_of(text, new.trim_end()))]);
    check(&before, after, &wanted, context)
}

/// Renders a section from scratch, but keeps its comments and the info strings of its code blocks.
fn again(text: &str, section: &Section, record: &Record) -> String {
    let mut parts = Parts::of_record(record, section.level);
    for (new, entry) in parts.interfaces.iter_mut().zip(record.interfaces()) {
        let old = section.body.interfaces.iter().find(|old| old.text == *entry);
        if let Some(source) = old.and_then(|old| text.get(old.range.clone()))
            && source.starts_with(['`', '~'])
        {
            source.clone_into(new);
        }
    }
    let mut new = render::section(record, section.level, &parts);
    for comment in edit::comments(text, section) {
        new += &format!("\n{}\n", comment.trim());
    }
    new
}

/// True if two records are equal, comparing only what Markdown contains.
pub(super) fn same(one: &Record, other: &Record) -> bool {
    one.written() == other.written()
}

/// Returns the first heading in a record's description that would be read as a record's heading.
fn record_heading_in(record: &Record, kinds: &[IdKind]) -> Option<String> {
    let text = record.description();
    let blocks = blocks(text);
    let head = parse::heads(text, &blocks, kinds).into_iter().next()?;
    blocks.get(head.at).map(|block| block.source(text).trim().to_owned())
}

/// Returns where to insert a new record, and the level of its heading.
fn place(reading: &Reading, record: &Record, text: &str) -> (usize, u8) {
    let kind = record.kind();
    let level = |section: Option<&Section>| section.map_or(LEVEL, |section| section.level);
    if let Record::Task(Task { id, .. }) = record
        && let Some((above, _)) = id.rsplit_once('.')
    {
        let below = format!("{above}.");
        let near = |s: &&Section| s.record.id() == above || s.record.id().starts_with(&below);
        if let Some(last) = reading.sections.iter().rfind(near) {
            let sibling = reading.sections.iter().rfind(|s| {
                s.record.id().strip_prefix(&below).is_some_and(|rest| !rest.contains('.'))
            });
            return (last.range.end, level(sibling.or(Some(last))));
        }
    }
    let of_kind = |s: &&Section| s.record.kind() == kind;
    let earlier = |s: &&Section| s.record.kind() <= kind;
    let top = |s: &&Section| of_kind(s) && !s.record.id().contains('.');
    let last = reading.sections.iter().rfind(of_kind);
    if let Some(last) = last {
        let shape = reading.sections.iter().rfind(top).or(Some(last));
        return (last.range.end, level(shape));
    }
    match reading.sections.iter().rfind(earlier) {
        Some(last) => (last.range.end, level(Some(last))),
        None => (text.len(), level(reading.sections.first())),
    }
}

/// Inserts a section at the start of a block or at the end of the text.
pub(super) fn inserted(text: &str, at: usize, section: &str) -> String {
    let section = as_lines_of(text, section);
    let newline = newline_of(text);
    let (before, after) = text.split_at(at.min(text.len()));
    let bare = before.trim_start_matches('\u{feff}').trim_end();
    let gap = &before[before.trim_end().len()..];
    let lines = gap.matches('\n').count();
    let lead = match (bare.is_empty(), lines) {
        (true, _) | (_, 2..) => String::new(),
        (_, lines) => newline.repeat(2 - lines),
    };
    let tail = if after.is_empty() { "" } else { newline };
    format!("{before}{lead}{section}{tail}{after}")
}

/// Converts a text to the line ends of a document.
pub(super) fn as_lines_of(document: &str, text: &str) -> String {
    match newline_of(document) {
        "\n" => text.to_owned(),
        newline => text.replace("\r\n", "\n").replace('\n', newline),
    }
}

fn newline_of(text: &str) -> &'static str {
    let first = text.find('\n').unwrap_or(0);
    if first > 0 && text.as_bytes()[first - 1] == b'\r' { "\r\n" } else { "\n" }
}

fn delete(text: &str, id: &str, context: &Context<'_>) -> Result<String, Vec<Remark>> {
    let before = read(text, context);
    let Some(section) = before.section(id) else {
        return Err(refusal(1, format!("{id} has no section")));
    };
    let range = section.range.clone();
    let (start, end) = (&text[..range.start], &text[range.end..]);
    let mut after = start.to_owned();
    if end.is_empty() {
        after.truncate(start.trim_end().len());
        after += if after.is_empty() { "" } else { newline_of(text) };
    } else if !start.trim_start_matches('\u{feff}').is_empty() {
        let gap = start[start.trim_end().len()..].matches('\n').count();
        after += &newline_of(text).repeat(2usize.saturating_sub(gap));
    }
    after += end;
    let reading = read(&after, context);
    others_kept(&before, &reading, id)?;
    gone(&reading, id)?;
    new_refusals(&before, &reading)?;
    Ok(after)
}

fn gone(reading: &Reading, id: &str) -> Result<(), Vec<Remark>> {
    match reading.section(id) {
        Some(section) => Err(refusal(section.line, format!("{id} could not be deleted"))),
        None => Ok(()),
    }
}

/// Returns the text if it contains the intended record and no other record changed.
fn check(
    before: &Reading,
    after: String,
    wanted: &Record,
    context: &Context<'_>,
) -> Result<String, Vec<Remark>> {
    let reading = read(&after, context);
    new_refusals(before, &reading)?;
    let id = wanted.id();
    others_kept(before, &reading, id)?;
    let found = reading.section(id).map(|section| &section.record);
    if !found.is_some_and(|found| same(found, wanted)) {
        let line = before.section(id).map_or(1, |section| section.line);
        return Err(refusal(
            line,
            format!("{id} cannot be written as Markdown that reads back the same"),
        ));
    }
    Ok(after)
}

/// Fails if there are refusals that did not exist before.
fn new_refusals(before: &Reading, after: &Reading) -> Result<(), Vec<Remark>> {
    let known = |text: &str| before.refusals.iter().any(|remark| remark.text == text);
    let new = after.refusals.iter().filter(|remark| !known(&remark.text));
    let new: Vec<Remark> = new.cloned().collect();
    if new.is_empty() { Ok(()) } else { Err(new) }
}

/// Fails unless every other record is unchanged and in the same order.
fn others_kept(before: &Reading, after: &Reading, id: &str) -> Result<(), Vec<Remark>> {
    let others = |reading: &Reading| -> Vec<Record> {
        let records = reading.sections.iter().map(|section| section.record.written());
        records.filter(|record| record.id() != id).collect()
    };
    let (old, new) = (others(before), others(after));
    if old == new {
        return Ok(());
    }
    let changed = old.iter().find(|record| !new.contains(record)).or(new.first());
    let other = changed.map_or("", Record::id);
    Err(refusal(1, format!("changing {id} would also change {other}")))
}
