//! Saves what a model sends: some sections, a whole document, or the prose around the sections.

use std::collections::BTreeSet;

use super::super::IdFloors;
use super::apply::{Change, apply, inserted, same};
use super::blocks::{Block, BlockKind, document_blocks};
use super::ids::take;
use super::{Context, LEVEL, Reading, Remark, RemarkKind, Section, heading, open, parse, read};

/// A document that a model saved.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The text of the whole document.
    pub text: String,
    /// The sections and remarks parsed from the text.
    pub reading: Reading,
    /// The records that the model deleted.
    pub deleted: Vec<String>,
    /// The numbers of the lines in which a record got an id, each with the new id.
    pub numbered: Vec<(usize, String)>,
}

/// The way in which sent content is saved: [`save`] or [`save_whole`].
pub type SaveBy = fn(
    Option<&str>,
    &str,
    &Context<'_>,
    &BTreeSet<String>,
    &mut IdFloors,
) -> Result<Saved, Vec<Remark>>;

/// Saves what a model sent for a document. If the content starts with a record's heading, each
/// section replaces the existing section with its id, or is added. Otherwise, the content is the
/// whole document; if it has no sections, the existing sections are kept.
///
/// # Errors
///
/// If the document would not be readable, or lacks records that were created in this draft.
pub fn save(
    present: Option<&str>,
    sent: &str,
    context: &Context<'_>,
    made_in_this_draft: &BTreeSet<String>,
    floors: &mut IdFloors,
) -> Result<Saved, Vec<Remark>> {
    let sent = with_newline(unfenced(sent));
    let blocks = document_blocks(&sent);
    let heads = parse::heads(&sent, &blocks, context.kinds);
    let sections_only = heads.first().is_some_and(|head| head.at == 0);
    let text = match present {
        Some(present) if sections_only => merged(present, &sent, context, floors)?,
        Some(present) if heads.is_empty() => around(present, &read(present, context), &sent),
        _ => return save_whole(present, &sent, context, made_in_this_draft, floors),
    };
    taken(&text, Vec::new(), context, floors)
}

/// Saves a whole document, whatever it starts with and however many records it drops.
///
/// # Errors
///
/// If the document would not be readable, or lacks records that were created in this draft.
pub fn save_whole(
    present: Option<&str>,
    text: &str,
    context: &Context<'_>,
    made_in_this_draft: &BTreeSet<String>,
    floors: &mut IdFloors,
) -> Result<Saved, Vec<Remark>> {
    let before = present.map(|text| read(text, context));
    let deleted = missing(before.as_ref(), text, context, made_in_this_draft)?;
    taken(text, deleted, context, floors)
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
    Ok(Saved { text: taken.text, reading: taken.reading, deleted, numbered: taken.numbered })
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
    let open =
        document_blocks(inner).iter().any(|block| open::never_closed(inner, block).is_some());
    if open { sent } else { inner }
}

/// Puts the sent sections in the places of existing ones.
fn merged(
    present: &str,
    sent: &str,
    context: &Context<'_>,
    floors: &mut IdFloors,
) -> Result<String, Vec<Remark>> {
    let new = take(sent, context, floors);
    let gone = |remark: &Remark| remark.kind == RemarkKind::NoSection;
    let refusals: Vec<Remark> = new.reading.refusals.into_iter().filter(|one| !gone(one)).collect();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut text = present.to_owned();
    for section in &new.reading.sections {
        text = put_section(&text, section, &new.text, context)?;
    }
    Ok(text)
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
fn missing(
    before: Option<&Reading>,
    sent: &str,
    context: &Context<'_>,
    made_in_this_draft: &BTreeSet<String>,
) -> Result<Vec<String>, Vec<Remark>> {
    let Some(before) = before else { return Ok(Vec::new()) };
    let after = read(sent, context);
    let ids = before.sections.iter().map(|section| section.record.id().to_owned());
    let gone: Vec<String> = ids.filter(|id| after.section(id).is_none()).collect();
    let made: Vec<&str> =
        gone.iter().map(String::as_str).filter(|id| made_in_this_draft.contains(*id)).collect();
    if made.is_empty() {
        return Ok(gone);
    }
    let (ids, were) = (made.join(", "), if made.len() == 1 { "was" } else { "were" });
    let text = format!(
        "{ids} {were} made in this draft and has no section here; \
         send the whole document with all its sections, or only the sections that change"
    );
    let text = if made.len() == 1 { text } else { text.replace(" has no ", " have no ") };
    Err(vec![Remark::new(1, text)])
}

/// Puts the existing sections into new prose: below the headings that they were under, otherwise at
/// the end.
fn around(present: &str, before: &Reading, sent: &str) -> String {
    let mut groups: Vec<(Option<String>, Vec<&Section>)> = Vec::new();
    for section in &before.sections {
        let above = heading_above(present, section, before);
        match groups.iter_mut().find(|(known, _)| *known == above) {
            Some((_, sections)) => sections.push(section),
            None => groups.push((above, vec![section])),
        }
    }
    let mut text = sent.to_owned();
    for (above, sections) in groups {
        let level = sections.first().map_or(LEVEL, |section| section.level);
        let at = above.and_then(|title| end_of_chapter(&text, &title, level));
        let at = at.unwrap_or(text.len());
        let sources = sections.iter().map(|s| present[s.range.clone()].trim_end());
        let source = sources.collect::<Vec<_>>().join("\n\n");
        text = inserted(&text, at, &with_newline(&source));
    }
    text
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

/// Returns the title of the nearest heading above a section, skipping those in records' sections.
fn heading_above(text: &str, section: &Section, reading: &Reading) -> Option<String> {
    let in_section = |at: usize| reading.sections.iter().any(|s| s.range.contains(&at));
    let blocks = document_blocks(text);
    let above = blocks.iter().rev().find(|block| {
        level_of(block).is_some()
            && block.range.start < section.range.start
            && !in_section(block.range.start)
    });
    above.map(|block| title_of(text, block))
}

/// Returns where the prose below a heading ends: at the next heading that could not be part of a
/// section of this level.
fn end_of_chapter(text: &str, title: &str, level: u8) -> Option<usize> {
    let blocks = document_blocks(text);
    let at = blocks.iter().position(|b| level_of(b).is_some() && title_of(text, b) == title)?;
    let next = blocks[at + 1..].iter().find(|block| level_of(block).is_some_and(|l| l <= level));
    Some(next.map_or(text.len(), |block| block.range.start))
}
