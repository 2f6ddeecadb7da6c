//! Classifies the blocks of a section: fields, description, items, interfaces.

use std::ops::Range;

use super::super::IdKind;
use super::blocks::{Block, BlockKind};
use super::fields::{self, Meaning, Value};
use super::text;

/// A part of a section: its range, and its text after normalization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub range: Range<usize>,
    pub text: String,
}

/// The parts of a section below its heading.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    pub values: Vec<Value>,
    /// Blocks that contain only values.
    pub fields: Vec<Range<usize>>,
    pub description: Vec<Piece>,
    /// List items; their ranges start at the marker.
    pub items: Vec<Piece>,
    /// The interfaces of a component: code blocks, and items of its second list.
    pub interfaces: Vec<Piece>,
    pub comments: Vec<Range<usize>>,
    markers: text::Markers,
    /// Start of a second list that is not adjacent to the first one.
    pub second_list: Option<usize>,
    /// Items with a checkbox.
    pub boxes: Vec<usize>,
    /// Headings without an id.
    pub headings: Vec<Range<usize>>,
}

/// True for `<!-- -->`, which separates a description from the lists below it.
fn is_divider(text: &str, block: &Block) -> bool {
    let source = block.source(text).trim();
    let inner = source.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
    block.kind == BlockKind::Html && inner.is_some_and(|inner| inner.trim().is_empty())
}

fn is_comment(text: &str, block: &Block) -> bool {
    block.kind == BlockKind::Html && text::is_comment(block.source(text))
}

/// Classifies each block of a section.
pub(super) fn body(kind: IdKind, text: &str, blocks: &[Block]) -> Body {
    let mut body = Body::default();
    let fields = field_blocks(kind, text, blocks, &mut body);
    let divider = blocks.iter().rposition(|block| is_divider(text, block));
    let mut lists = Lists::default();
    for (at, block) in blocks.iter().enumerate() {
        if is_comment(text, block) {
            body.comments.push(block.range.clone());
            lists.broken |= is_divider(text, block);
            continue;
        }
        let described = divider.is_some_and(|divider| at < divider);
        match fields.iter().find(|(field, _)| *field == at) {
            Some((_, end)) if *end >= block.range.end => body.fields.push(block.range.clone()),
            Some((_, end)) => {
                body.fields.push(block.range.start..*end);
                body.describe_rest(text, block, *end);
            }
            None if described => body.describe(text, block),
            None => body.place(kind, text, blocks, at, &mut lists),
        }
        lists.broken |= !block.is_list();
    }
    body
}

/// The lists so far.
#[derive(Default)]
struct Lists {
    count: usize,
    /// Another block followed the last list.
    broken: bool,
}

impl Body {
    fn describe(&mut self, text: &str, block: &Block) {
        if let BlockKind::Heading(_) = block.kind {
            self.headings.push(block.range.clone());
        }
        if let Some(piece) = text::block_text(text, block, &mut self.markers)
            && !piece.is_empty()
        {
            self.description.push(Piece { range: block.range.clone(), text: piece });
        }
    }

    /// Adds the rest of a paragraph whose first lines are fields.
    fn describe_rest(&mut self, text: &str, block: &Block, end: usize) {
        let rest = text.get(end..block.range.end).unwrap_or_default();
        let start = end + (rest.len() - rest.trim_start().len());
        let rest = Block { range: start..block.range.end, ..block.clone() };
        self.describe(text, &rest);
    }

    /// Classifies a block below the description, or in a section without a divider.
    fn place(&mut self, kind: IdKind, text: &str, blocks: &[Block], at: usize, lists: &mut Lists) {
        let block = &blocks[at];
        match &block.kind {
            BlockKind::List { items, .. } => {
                if lists.broken || lists.count == 0 {
                    lists.count += 1;
                }
                lists.broken = false;
                if lists.count == 2 {
                    self.second_list.get_or_insert(block.range.start);
                }
                for item in items {
                    self.add_item(kind, text, item, lists.count > 1);
                }
            }
            BlockKind::Code { fenced: true } if kind == IdKind::Component => {
                let content = text::fenced_content(block.source(text));
                if !content.trim().is_empty() {
                    self.interfaces.push(Piece { range: block.range.clone(), text: content });
                }
            }
            BlockKind::Paragraph if labels_next(kind, text, blocks, at) => {}
            _ => self.describe(text, block),
        }
    }

    fn add_item(&mut self, kind: IdKind, text: &str, item: &Range<usize>, second: bool) {
        let source = text.get(item.clone()).unwrap_or_default().trim_end();
        let end = item.start + source.len();
        let source = source.trim_start();
        let range = end - source.len()..end;
        let inner = text::item_text(source);
        if text::box_of(source).is_some() {
            self.boxes.push(range.start);
        }
        if inner.is_empty() {
            return;
        }
        if second && kind == IdKind::Component {
            let inner = match fields::code_span(&inner) {
                Some((length, code)) if length == inner.len() => code.to_owned(),
                _ => inner,
            };
            self.interfaces.push(Piece { range, text: inner });
        } else {
            self.items.push(Piece { range, text: inner });
        }
    }
}

/// True for a paragraph that is a label of the list or code block below it.
fn labels_next(kind: IdKind, text: &str, blocks: &[Block], at: usize) -> bool {
    let below = blocks.get(at + 1).is_some_and(|next| match next.kind {
        BlockKind::List { .. } => true,
        BlockKind::Code { fenced } => fenced && kind == IdKind::Component,
        _ => false,
    });
    below && is_label(text, &blocks[at])
}

/// True for a paragraph that contains only a label.
pub(super) fn is_label(text: &str, block: &Block) -> bool {
    block.kind == BlockKind::Paragraph && fields::is_label(block.source(text))
}

/// Finds the fields line and the blocks that continue it: returns indices of blocks, and where the
/// fields end in each.
fn field_blocks(
    kind: IdKind,
    text: &str,
    blocks: &[Block],
    body: &mut Body,
) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let content = |at: &usize| !is_comment(text, &blocks[*at]);
    let mut first = true;
    for at in (0..blocks.len()).filter(content) {
        if let Some((values, end)) = fields_line(kind, text, &blocks[at], first) {
            body.values.extend(values);
            found.push((at, end));
            break;
        }
        if kind == IdKind::Component {
            break;
        }
        first = false;
    }
    // Blocks directly below the fields line continue it.
    let mut next = found.first().map(|(at, _)| at + 1);
    if found.first().is_some_and(|(at, end)| *end < blocks[*at].range.end) {
        next = None;
    }
    while let Some(at) = next {
        next = None;
        let label = blocks.get(at).is_some_and(|block| is_label(text, block));
        let at = if label { at + 1 } else { at };
        if let Some(values) = blocks.get(at).and_then(|block| more_values(kind, text, block)) {
            body.values.extend(values);
            if label {
                found.push((at - 1, blocks[at - 1].range.end));
            }
            found.push((at, blocks[at].range.end));
            next = Some(at + 1);
        }
    }
    // Blocks below a label are fields wherever they are.
    let divider = blocks.iter().rposition(|block| is_divider(text, block)).map_or(0, |at| at + 1);
    for at in divider..blocks.len().saturating_sub(1) {
        let taken = found.iter().any(|(taken, _)| *taken == at || *taken == at + 1);
        if !taken
            && is_label(text, &blocks[at])
            && let Some(values) = more_values(kind, text, &blocks[at + 1])
        {
            body.values.extend(values);
            found.push((at, blocks[at].range.end));
            found.push((at + 1, blocks[at + 1].range.end));
        }
    }
    found
}

/// Returns the values of a block that is a fields line, and where they end.
fn fields_line(
    kind: IdKind,
    text: &str,
    block: &Block,
    first: bool,
) -> Option<(Vec<Value>, usize)> {
    if block.is_list() {
        let values = list_values(kind, text, block, kind == IdKind::Component)?;
        let fit = values.iter().all(|value| fields::fits(kind, value));
        let meant =
            values.iter().any(|value| matches!(value.meaning, Meaning::Id(..) | Meaning::Word(..)));
        let good = if kind == IdKind::Component { first } else { fit && meant };
        return good.then_some((values, block.range.end));
    }
    if block.kind != BlockKind::Paragraph {
        return None;
    }
    let read = fields::values(kind, text, block.range.clone());
    let fit = read.values.iter().all(|value| fields::fits(kind, value));
    let whole = read.end >= block.range.end;
    let good = match (first, whole) {
        _ if read.values.is_empty() => false,
        (true, true) => fit || read.values.iter().any(|value| value.code),
        (true, false) => fit || kind == IdKind::Component && read.values.len() > 1,
        (false, _) => fit && read.values.iter().any(|value| value.meaning != Meaning::Empty),
    };
    good.then_some((read.values, read.end))
}

/// Returns the values of a list whose items contain only values.
fn list_values(kind: IdKind, text: &str, block: &Block, labelled: bool) -> Option<Vec<Value>> {
    let BlockKind::List { items, .. } = &block.kind else { return None };
    let mut all = Vec::new();
    for item in items {
        let source = text.get(item.clone())?.trim_end();
        let marker = source.bytes().take_while(u8::is_ascii_digit).count() + 1;
        let range = item.start + marker.min(source.len())..item.start + source.len();
        let read = fields::values(kind, text, range.clone());
        if read.end < range.end || read.values.is_empty() || labelled && !read.labelled {
            return None;
        }
        all.extend(read.values);
    }
    (!all.is_empty()).then_some(all)
}

/// Returns the values of a block that contains only values and continues the fields line above it.
pub(super) fn more_values(kind: IdKind, text: &str, block: &Block) -> Option<Vec<Value>> {
    let values = match block.kind {
        BlockKind::Paragraph => {
            let read = fields::values(kind, text, block.range.clone());
            (read.end >= block.range.end).then_some(read.values)?
        }
        _ => list_values(kind, text, block, false)?,
    };
    let fit = values.iter().all(|value| fields::fits(kind, value));
    (fit && !values.is_empty()).then_some(values)
}
