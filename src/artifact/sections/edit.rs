//! Edits of a section's bytes: of its title, a code span, an item or a block.
//!
//! Also updates sections whose records got new ids: the heading and the fields line.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::{IdKind, Renumbered};
use super::align::{Step, steps};
use super::blocks::{blocks, line_start};
use super::body::Piece;
use super::fields::{Meaning, Value, code};
use super::render::{Parts, interface};
use super::{Reading, Record, Records, Section, Slot, heading, indent, text};

/// A range of a text and its replacement.
pub(super) type Edit = (Range<usize>, String);

/// Applies all replacements to a text; those at the same position keep their order.
pub(super) fn replaced(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in edits {
        out += text.get(at..range.start).unwrap_or_default();
        out += &new;
        at = range.end.max(at);
    }
    out += text.get(at..).unwrap_or_default();
    out
}

/// Returns the edits that turn a section into the wanted record. `None` if the section must be
/// rendered from scratch, for example if it gets its first item, or if its references change their
/// order.
pub(super) fn edits(text: &str, section: &Section, wanted: &Record) -> Option<Vec<Edit>> {
    let mut all = Vec::new();
    if section.record.title() != wanted.title() {
        (!section.title.is_empty()).then_some(())?;
        all.push((section.title.clone(), heading::escaped(wanted.title())));
    }
    value_edits(text, section, wanted, &mut all)?;
    let parts = Parts::of_record(wanted, section.level);
    description_edits(text, section, &parts.description, &mut all)?;
    item_edits(text, section, &parts.items, &mut all)?;
    interface_edits(text, section, wanted, &mut all)?;
    Some(all)
}

/// Edits the values on the fields line.
fn value_edits(text: &str, section: &Section, wanted: &Record, all: &mut Vec<Edit>) -> Option<()> {
    let values = &section.body.values;
    let mut named = values.iter().filter(|v| v.code && !matches!(v.meaning, Meaning::Id(..)));
    for slot in section.record.kind().slots().iter().copied() {
        let (old, new) = (section.record.values(slot), wanted.values(slot));
        match slot {
            Slot::Priority | Slot::Category => {
                let is_it =
                    |one: &&Value| matches!(one.meaning, Meaning::Word(of, _) if of == slot);
                word_edit(values, values.iter().find(is_it), old != new, &new.concat(), all)?;
            }
            Slot::Type | Slot::Technology => {
                let value = named.next();
                if old != new {
                    let new = new.concat();
                    let new = if new.is_empty() { "-" } else { &new };
                    all.push((value?.range.clone(), code(new)));
                }
            }
            Slot::One(kind) | Slot::Many(kind) => {
                let is_it = |one: &&Value| matches!(one.meaning, Meaning::Id(of, _) if of == kind);
                let group: Vec<&Value> = values.iter().filter(is_it).collect();
                list_edits(text, values, &group, &old, &new, all)?;
            }
            Slot::Paths => path_edits(text, values, &old, &new, all)?,
        }
    }
    Some(())
}

/// Edits the paths of a task, which are one list in Markdown.
fn path_edits(
    text: &str,
    values: &[Value],
    old: &[String],
    new: &[String],
    all: &mut Vec<Edit>,
) -> Option<()> {
    let group: Vec<&Value> = values.iter().filter(|v| v.meaning == Meaning::Other).collect();
    let mut present: Vec<String> = Vec::new();
    for value in &group {
        if !present.contains(&value.text) {
            present.push(value.text.clone());
        }
    }
    // Existing paths keep the document's order; new ones come last.
    let stay = present.iter().filter(|path| new.contains(path));
    let wanted: Vec<String> =
        stay.chain(new.iter().filter(|path| !old.contains(path))).cloned().collect();
    list_edits(text, values, &group, &present, &wanted, all)
}

/// Edits a word like `high`; adds it if the document relied on the default.
fn word_edit(
    values: &[Value],
    value: Option<&Value>,
    changed: bool,
    word: &str,
    all: &mut Vec<Edit>,
) -> Option<()> {
    if !changed {
        return Some(());
    }
    match (value, values.last()) {
        (Some(value), _) => {
            let new = if value.code { code(word) } else { word.to_owned() };
            all.push((value.range.clone(), new));
        }
        (None, Some(last)) => {
            all.push((last.range.end..last.range.end, format!(" {}", code(word))))
        }
        (None, None) => return None,
    }
    Some(())
}

/// Edits ids or paths: replaces them in place, adds new ones after the last, removes others.
fn list_edits(
    text: &str,
    values: &[Value],
    group: &[&Value],
    old: &[String],
    new: &[String],
    all: &mut Vec<Edit>,
) -> Option<()> {
    if old == new {
        return Some(());
    }
    // Edits in place are only possible if the section names every id or path once.
    if group.len() != old.len() {
        return None;
    }
    let reordered = new.iter().filter(|id| old.contains(id)).collect::<Vec<_>>()
        != old.iter().filter(|id| new.contains(id)).collect::<Vec<_>>();
    if reordered {
        return None;
    }
    let mut anchor: Option<usize> = None;
    for step in steps(old, new) {
        match step {
            Step::Keep(i, _) => anchor = Some(group[i].range.end),
            Step::Replace(i, j) => {
                let value = group[i];
                let text = if value.code { code(&new[j]) } else { new[j].clone() };
                all.push((value.range.clone(), text));
                anchor = Some(value.range.end);
            }
            Step::Delete(i) => all.push(removal(text, values, group[i])),
            Step::Insert(j) => {
                let empty = values.iter().find(|value| value.meaning == Meaning::Empty);
                match (anchor, empty, values.last()) {
                    (Some(at), ..) => all.push((at..at, format!(" {}", code(&new[j])))),
                    (None, None, Some(last)) if group.is_empty() => {
                        all.push((last.range.end..last.range.end, format!(" {}", code(&new[j]))));
                    }
                    _ => return None,
                }
            }
        }
    }
    Some(())
}

/// Removes a value with its separator; a single value becomes `-`.
fn removal(text: &str, values: &[Value], value: &Value) -> Edit {
    let at = values.iter().position(|one| one == value).unwrap_or(0);
    let near = |from: usize, to: usize| {
        text.get(from..to).is_some_and(|between| !between.contains(['\n', ':', '：']))
    };
    let before = at.checked_sub(1).and_then(|at| values.get(at));
    if let Some(before) = before.filter(|one| near(one.range.end, value.range.start)) {
        return (before.range.end..value.range.end, String::new());
    }
    if let Some(after) = values.get(at + 1).filter(|one| near(value.range.end, one.range.start)) {
        return (value.range.start..after.range.start, String::new());
    }
    (value.range.clone(), code("-"))
}

/// Edits the blocks of a description.
fn description_edits(
    text: &str,
    section: &Section,
    wanted: &str,
    all: &mut Vec<Edit>,
) -> Option<()> {
    let old: Vec<&str> = section.body.description.iter().map(|one| one.text.as_str()).collect();
    let written: Vec<&str> = blocks(wanted).iter().map(|one| one.source(wanted)).collect();
    let mut markers = text::Markers::default();
    let new: Vec<String> = blocks(wanted)
        .iter()
        .map(|block| text::block_text(wanted, block, &mut markers).unwrap_or_default())
        .collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let pieces = &section.body.description;
    let after_fields = section.body.fields.last().map(|range| range.end);
    let mut anchor = after_fields;
    for step in steps(&old, &new) {
        match step {
            Step::Keep(i, _) => anchor = Some(pieces[i].range.end),
            Step::Replace(i, j) => {
                all.push((pieces[i].range.clone(), written[j].to_owned()));
                anchor = Some(pieces[i].range.end);
            }
            Step::Delete(i) => {
                let start = blank_before(text, pieces[i].range.start);
                all.push((start..pieces[i].range.end, String::new()));
            }
            Step::Insert(j) => all.push((anchor?..anchor?, format!("\n\n{}", written[j]))),
        }
    }
    Some(())
}

/// Returns the start of the white space before an offset.
fn blank_before(text: &str, at: usize) -> usize {
    text.get(..at).map_or(at, |before| before.trim_end().len())
}

/// Edits the items of the list.
fn item_edits(text: &str, section: &Section, wanted: &[String], all: &mut Vec<Edit>) -> Option<()> {
    let pieces = &section.body.items;
    let old: Vec<&str> = pieces.iter().map(|one| one.text.as_str()).collect();
    let new: Vec<String> =
        wanted.iter().map(|item| text::item_text(&indent::marked("-", item))).collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    if old == new {
        return Some(());
    }
    if old.is_empty() || new.is_empty() {
        return None;
    }
    let mut last: Option<usize> = None;
    for step in steps(&old, &new) {
        match step {
            Step::Keep(i, _) => last = Some(i),
            Step::Replace(i, j) => {
                all.push((pieces[i].range.clone(), like(text, &pieces[i], &wanted[j], 0)));
                last = Some(i);
            }
            Step::Delete(i) if i > 0 => {
                all.push((
                    blank_before(text, pieces[i].range.start)..pieces[i].range.end,
                    String::new(),
                ));
            }
            Step::Delete(i) => {
                let next = pieces.get(i + 1)?;
                all.push((pieces[i].range.start..next.range.start, String::new()));
            }
            Step::Insert(j) => {
                let piece = &pieces[last.unwrap_or(0)];
                let indent = &text[line_start(text, piece.range.start)..piece.range.start];
                indent.trim().is_empty().then_some(())?;
                let item = like(text, piece, &wanted[j], usize::from(last.is_some()));
                match last {
                    Some(_) => {
                        all.push((piece.range.end..piece.range.end, format!("\n{indent}{item}")))
                    }
                    None => all
                        .push((piece.range.start..piece.range.start, format!("{item}\n{indent}"))),
                }
            }
        }
    }
    Some(())
}

/// Formats an item with the marker and indentation of another one; in an ordered list, its number
/// is higher by `more`.
fn like(text: &str, piece: &Piece, item: &str, more: usize) -> String {
    let source = &text[piece.range.clone()];
    let digits = source.bytes().take_while(u8::is_ascii_digit).count();
    let sign = source[digits..].chars().next().unwrap_or('-');
    let marker = match source[..digits].parse::<usize>() {
        Ok(number) => format!("{}{sign}", number + more),
        Err(_) => sign.to_string(),
    };
    let rest = &source[(digits + 1).min(source.len())..];
    let spaces = rest.len() - rest.trim_start_matches(' ').len();
    let spaces = if (1..5).contains(&spaces) && !rest.trim().is_empty() { spaces } else { 1 };
    let outer = text[line_start(text, piece.range.start)..piece.range.start].len();
    let tick = text::box_of(source).map(|tick| format!("{tick} ")).unwrap_or_default();
    let item = indent::hanging(item, outer + marker.len() + spaces);
    format!("{marker}{}{tick}{item}", " ".repeat(spaces))
}

/// Edits the code blocks of a component.
fn interface_edits(
    text: &str,
    section: &Section,
    wanted: &Record,
    all: &mut Vec<Edit>,
) -> Option<()> {
    let Record::Component(wanted) = wanted else { return Some(()) };
    let pieces = &section.body.interfaces;
    let old: Vec<&str> = pieces.iter().map(|one| one.text.as_str()).collect();
    let new: Vec<&str> = wanted.interfaces.iter().map(String::as_str).collect();
    let fences = |piece: &Piece| {
        let source = text[piece.range.clone()].trim_start();
        source.starts_with("```") || source.starts_with("~~~")
    };
    let mut anchor: Option<usize> = None;
    for step in steps(&old, &new) {
        match step {
            Step::Keep(i, _) => anchor = Some(pieces[i].range.end),
            Step::Replace(i, j) if fences(&pieces[i]) => {
                let source = &text[pieces[i].range.clone()];
                all.push((pieces[i].range.clone(), with_info(source, new[j])));
                anchor = Some(pieces[i].range.end);
            }
            Step::Insert(j) => {
                all.push((anchor?..anchor?, format!("\n\n{}", interface(new[j]))));
            }
            Step::Replace(..) | Step::Delete(_) => return None,
        }
    }
    Some(())
}

/// Formats a code block with new content and the info string of the old one.
pub(super) fn with_info(old: &str, content: &str) -> String {
    let first = old.trim_start().lines().next().unwrap_or_default();
    let info = first.trim_start_matches(['`', '~']).trim();
    let info = if first.starts_with('`') && !info.contains('`') { info } else { "" };
    text::fenced(content, info)
}

/// Returns the comments of a section, which are kept when it is rendered from scratch.
pub(super) fn comments<'a>(text: &'a str, section: &Section) -> Vec<&'a str> {
    let sources = section.body.comments.iter().filter_map(|range| text.get(range.clone()));
    let divider = |source: &&str| {
        source.trim().trim_start_matches("<!--").trim_end_matches("-->").trim().is_empty()
    };
    sources.filter(|source| !divider(source)).collect()
}

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
            let mut to = to.filter(|to| new.contains(to) && !old.contains(to));
            let Some(to) = to.next() else { continue };
            let to = if value.code { format!("`{to}`") } else { to };
            let keeps = new.contains(named);
            let written = text.get(value.range.clone()).unwrap_or_default();
            let to = if keeps { format!("{written} {to}") } else { to };
            edits.push((value.range.clone(), to));
        }
    }
    replaced(text, edits)
}
