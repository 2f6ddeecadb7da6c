//! Saves what a model sends: parts of a document, or the whole document.

use super::super::IdFloors;
use super::apply::{Change, apply, inserted, same};
use super::blocks::{Block, BlockKind, document_blocks, never_closed};
use super::ids::{Taken, take};
use super::{Context, IdKind, Reading, Remark, RemarkKind, Section, heading, read};

/// A document that a model saved.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The text of the whole document.
    pub text: String,
    /// The sections and remarks parsed from the text.
    pub reading: Reading,
    /// The records that the model deleted.
    pub deleted: Vec<String>,
    /// The records and headings that a document with a title did not have, and that stay.
    pub unsent: Vec<String>,
    /// The numbers of the lines in which a record got an id, each with the new id.
    pub numbered: Vec<(usize, String)>,
}

/// What is sent of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent<'a> {
    /// Some of its sections; nothing is deleted.
    Parts,
    /// All of it. The records that it lacks are deleted.
    Whole,
    /// All of it, by an editing tool or a program. A record that it lacks is deleted only if it is
    /// among these ids.
    WholeDeleting(&'a [String]),
}

/// Saves what a model sent for a document. Of parts, a record's section replaces the one with its
/// id, and another section's text the one under the same heading: the second of two equal headings
/// is the second one in the document. What has no counterpart is added.
///
/// # Errors
///
/// If the document would not be readable, or would lose records that may not be deleted.
pub fn save(
    present: Option<&str>,
    sent: &str,
    extent: Extent<'_>,
    context: &Context<'_>,
    floors: &mut IdFloors,
) -> Result<Saved, Vec<Remark>> {
    let sent = &with_newline(unfenced(sent));
    let Some(present) = present.filter(|text| !text.trim().is_empty()) else {
        return taken(sent, Vec::new(), context, floors);
    };
    if extent == Extent::Parts {
        let Merged { text, unsent, numbered } = merged(present, sent, context, floors)?;
        return Ok(Saved { unsent, numbered, ..taken(&text, Vec::new(), context, floors)? });
    }
    let before = read(present, context);
    let mut deleted = missing(&before, sent, context);
    if extent == Extent::Whole {
        // A completed task is history: the requests of a change do not have its text, so a document
        // that lacks it does not mean to delete it.
        let history: Vec<&Section> = before
            .sections
            .iter()
            .filter(|one| {
                one.record.is_completed_task() && deleted.iter().any(|id| id == one.record.id())
            })
            .collect();
        let unsent: Vec<String> = history.iter().map(|one| one.record.id().to_owned()).collect();
        deleted.retain(|id| !unsent.contains(id));
        let mut text = sent.clone();
        for section in history {
            text = put_section(&text, section, present, context)?;
        }
        return Ok(Saved { unsent, ..taken(&text, deleted, context, floors)? });
    }
    if let Extent::WholeDeleting(named) = extent {
        let kept: Vec<Remark> = deleted
            .iter()
            .filter(|id| !named.contains(id))
            .map(|id| Remark::new(1, format!("{id} has no section here; {}", how_to_delete(id))))
            .collect();
        if !kept.is_empty() {
            return Err(kept);
        }
    }
    taken(sent, deleted, context, floors)
}

/// The ways in which a record is deleted.
fn how_to_delete(id: &str) -> String {
    let tool = match IdKind::of_id(id) {
        Some(IdKind::Requirement) => "delete_requirement",
        Some(IdKind::Feature) => "delete_feature",
        Some(IdKind::Component) => "delete_design_component",
        Some(IdKind::Task) | None => "delete_task",
    };
    format!("restore it; to delete it call {tool}, or without tools add the line `DELETED: {id}`")
}

fn taken(
    text: &str,
    deleted: Vec<String>,
    context: &Context<'_>,
    floors: &mut IdFloors,
) -> Result<Saved, Vec<Remark>> {
    let taken = take(text, context, floors);
    if !taken.reading.refusals.is_empty() {
        return Err(taken.reading.refusals);
    }
    let Taken { text, reading, numbered } = taken;
    Ok(Saved { text, reading, deleted, unsent: Vec::new(), numbered })
}

fn with_newline(text: &str) -> String {
    let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{text}{newline}")
}

/// Removes the `md` code block that models put around documents.
pub fn unfenced(sent: &str) -> &str {
    let bare = sent.trim();
    let Some((first, rest)) = bare.split_once('\n') else { return sent };
    let info = first.trim_start_matches(['`', '~']).trim().to_ascii_lowercase();
    let marks = first.len() - first.trim_start_matches(['`', '~']).len();
    let Some((inner, last)) = rest.rsplit_once('\n') else { return sent };
    let close = last.trim();
    let closes = close.len() >= marks && close.chars().all(|c| first.starts_with(c));
    if marks < 3 || !closes || !matches!(info.as_str(), "md" | "markdown") {
        return sent;
    }
    let open = document_blocks(inner).iter().any(|block| never_closed(inner, block).is_some());
    if open { sent } else { inner }
}

/// A document into which parts were merged.
struct Merged {
    text: String,
    /// What the sent document lacked.
    unsent: Vec<String>,
    /// The lines of the sent text in which a record got a number, each with the id.
    numbered: Vec<(usize, String)>,
}

/// Merges what was sent into the document. Without a title, its sections go to the places of those
/// they replace. With one, the sent document gives the order, and what it lacks is added to it.
fn merged(
    present: &str,
    sent: &str,
    context: &Context<'_>,
    floors: &mut IdFloors,
) -> Result<Merged, Vec<Remark>> {
    let mut new = take(sent, context, floors);
    let gone = |remark: &Remark| remark.kind == RemarkKind::NoSection;
    let refusals = std::mem::take(&mut new.reading.refusals);
    let refusals: Vec<Remark> = refusals.into_iter().filter(|one| !gone(one)).collect();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let sent_chapters = chapters(&new.text, &new.reading.sections);
    let sent_behind = behind_records(&new.text, &new.reading.sections);
    if sent_chapters.first().is_none_or(|first| first.level != 1) {
        let mut text = present.to_owned();
        for chapter in sent_chapters.iter().chain(&sent_behind) {
            text = put_chapter(&text, chapter, true, context)?;
        }
        for section in &new.reading.sections {
            text = put_section(&text, section, &new.text, context)?;
        }
        return Ok(Merged { text, unsent: Vec::new(), numbered: new.numbered });
    }
    let before = read(present, context);
    let (mut text, mut unsent) = (new.text.clone(), Vec::new());
    for chapter in chapters(present, &before.sections) {
        if !sent_chapters.iter().any(|sent| sent.is_same(&chapter)) && !chapter.title.is_empty() {
            unsent.push(format!("\"{}\"", chapter.title));
        }
        text = put_chapter(&text, &chapter, false, context)?;
    }
    for section in &before.sections {
        if new.reading.section(section.record.id()).is_none() {
            unsent.push(section.record.id().to_owned());
            text = put_section(&text, section, present, context)?;
        }
    }
    for old in behind_records(present, &before.sections) {
        if !sent_behind.iter().any(|sent| sent.is_same(&old)) {
            let reading = read(&text, context);
            let record = reading.section(&old.title);
            let at = record.map_or(text.len(), |record| record.range.end);
            text = inserted(&text, at, &format!("{}\n", old.text));
        }
    }
    Ok(Merged { text, unsent, numbered: new.numbered })
}

/// A heading that is no record's, with the text below it up to the next heading or record.
#[derive(Debug)]
struct Chapter<'a> {
    /// The heading as it stands in the text; empty for text without one: before the first heading,
    /// or behind the `---` that ends a record.
    heading: &'a str,
    /// The title in lower case; of text behind a record, the record's id.
    title: String,
    /// The level; 0 for text without a heading.
    level: u8,
    /// How many chapters before it have the same title.
    nth: usize,
    /// The title of the chapter before it.
    after: Option<String>,
    /// The range of the text below the heading.
    body: std::ops::Range<usize>,
    /// That text, trimmed.
    text: &'a str,
}

impl Chapter<'_> {
    /// True for the document's title, whatever it says.
    fn is_title(&self) -> bool {
        self.level == 1 && self.after.is_none()
    }

    fn is_same(&self, other: &Self) -> bool {
        let named = self.level.min(1) == other.level.min(1)
            && (&self.title, self.nth) == (&other.title, other.nth);
        named || (self.is_title() && other.is_title())
    }
}

/// Returns the parts of a text outside records.
fn chapters<'a>(text: &'a str, records: &[Section]) -> Vec<Chapter<'a>> {
    let mut chapters: Vec<Chapter<'a>> = Vec::new();
    let blocks = document_blocks(text);
    let is_own = |block: &&Block| !records.iter().any(|one| one.range.contains(&block.range.start));
    let starts = |from: usize| next_start(text, &blocks, records, from);
    let mut add = |heading: &'a str, title: String, level: u8, from: usize| {
        let body = from..starts(from);
        let nth = chapters.iter().filter(|other| other.title == title).count();
        let after = chapters.last().map(|other| other.title.clone());
        let text = text[body.clone()].trim();
        chapters.push(Chapter { heading, title, level, nth, after, body, text });
    };
    if starts(0) > 0 {
        add("", String::new(), 0, 0);
    }
    for block in blocks.iter().filter(is_own) {
        if let Some(level) = level_of(block) {
            let heading = block.source(text);
            add(heading, title_of(text, block), level, block.range.end);
        }
    }
    chapters.retain(|one| one.level > 0 || !one.text.is_empty());
    chapters
}

/// Returns where the next heading or record starts.
fn next_start(text: &str, blocks: &[Block], records: &[Section], from: usize) -> usize {
    let headings = blocks.iter().filter(|block| level_of(block).is_some());
    let all = headings.map(|block| block.range.start);
    let all = all.chain(records.iter().map(|one| one.range.start));
    all.filter(|at| *at >= from).min().unwrap_or(text.len())
}

/// Returns the texts that follow the records without a heading: behind a `---`, which ends a record.
fn behind_records<'a>(text: &'a str, records: &[Section]) -> Vec<Chapter<'a>> {
    let blocks = document_blocks(text);
    let behind = records.iter().map(|record| {
        let start = record.range.end;
        let body = start..next_start(text, &blocks, records, start);
        let title = record.record.id().to_owned();
        let text = text[body.clone()].trim();
        Chapter { heading: "", title, level: 0, nth: 0, after: None, body, text }
    });
    // A rule alone is layout.
    let says = |text: &str| text.contains(|c: char| !c.is_whitespace() && !"-*_".contains(c));
    behind.filter(|one| says(one.text)).collect()
}

/// Puts the text of a chapter below its heading, or adds the chapter behind the one before it. Where
/// both have text, that of the chapter counts if it `replaces`.
fn put_chapter(
    text: &str,
    sent: &Chapter<'_>,
    replaces: bool,
    context: &Context<'_>,
) -> Result<String, Vec<Remark>> {
    let sections = read(text, context).sections;
    let present = chapters(text, &sections).into_iter().chain(behind_records(text, &sections));
    if let Some(found) = present.into_iter().find(|one| one.is_same(sent)) {
        let mut out = text.to_owned();
        let is_due = replaces || found.text.is_empty();
        if is_due && !sent.text.is_empty() && sent.text != found.text {
            let end = if found.body.end < text.len() { "\n\n" } else { "\n" };
            let lead = if found.level == 0 { "" } else { "\n\n" };
            out.replace_range(found.body.clone(), &format!("{lead}{}{end}", sent.text));
        }
        return Ok(out);
    }
    if sent.level == 0 && !replaces {
        return Ok(format!("{}\n\n{text}", sent.text));
    }
    if sent.level == 0 {
        return Err(vec![Remark::new(
            1,
            "text before the first heading, or behind the --- below a record, has no place in \
             the document; send it below a heading, or change the document with edit_file"
                .to_owned(),
        )]);
    }
    let before =
        sent.after.as_ref().and_then(|title| end_of_chapter(text, title, sent.level.max(2)));
    let body = if sent.text.is_empty() { String::new() } else { format!("\n\n{}", sent.text) };
    let chapter = format!("{}{body}\n", sent.heading.trim_end());
    Ok(inserted(text, before.unwrap_or(text.len()), &chapter))
}

/// Puts one section: changes the fields of an existing one, or adds the section as it was sent.
fn put_section(
    text: &str,
    section: &Section,
    source: &str,
    context: &Context<'_>,
) -> Result<String, Vec<Remark>> {
    let change = [Change::Put(section.record.clone())];
    let before = read(text, context);
    let after = apply(text, &change, context)?;
    if before.section(section.record.id()).is_some() {
        return Ok(after);
    }
    // Keep the section as it was sent, including info strings, if it reads back the same.
    let rendered = read(&after, context);
    let Some(place) = rendered.section(section.record.id()) else { return Ok(after) };
    let sent = source.get(section.range.clone()).unwrap_or_default().trim_end();
    let marks = "#".repeat(place.level.into());
    let sent = format!("{marks} {}", sent.trim_start().trim_start_matches('#').trim_start());
    let end = place.range.start + after[place.range.clone()].trim_end().len();
    let as_sent = super::edit::replaced(&after, vec![(place.range.start..end, sent)]);
    let reading = read(&as_sent, context);
    let equal = rendered.sections.len() == reading.sections.len()
        && rendered.sections.iter().zip(&reading.sections).all(|(a, b)| same(&a.record, &b.record));
    Ok(if equal { as_sent } else { after })
}

/// Returns the records that a whole document leaves out.
fn missing(before: &Reading, sent: &str, context: &Context<'_>) -> Vec<String> {
    let after = read(sent, context);
    let ids = before.sections.iter().map(|section| section.record.id().to_owned());
    ids.filter(|id| after.section(id).is_none()).collect()
}

fn title_of(text: &str, block: &Block) -> String {
    let source = block.source(text);
    heading::one_line(&source[heading::content(source)]).to_lowercase()
}

fn level_of(block: &Block) -> Option<u8> {
    match block.kind {
        BlockKind::Heading(level) => Some(level),
        _ => None,
    }
}

/// Returns where the prose below a heading ends: at the next heading that could not be part of a
/// section of this level.
fn end_of_chapter(text: &str, title: &str, level: u8) -> Option<usize> {
    let blocks = document_blocks(text);
    let at = blocks.iter().position(|b| level_of(b).is_some() && title_of(text, b) == title)?;
    let next = blocks[at + 1..].iter().find(|block| level_of(block).is_some_and(|l| l <= level));
    Some(next.map_or(text.len(), |block| block.range.start))
}
