//! Finds text that starts with an id but is not a record's heading.

use super::super::IdKind;
use super::blocks::{Block, BlockKind};
use super::heading::{IdText, id_at};

/// Returns the ids, with their offsets, at the start of bold text, list items, quotes and table
/// rows.
pub(super) fn leading_ids(text: &str, block: &Block) -> Vec<(usize, IdKind, String)> {
    let start = block.range.start;
    match &block.kind {
        BlockKind::Paragraph => {
            let bold = block.source(text).trim_start().starts_with(['*', '_']);
            found(text, start, block.range.end).filter(|_| bold).into_iter().collect()
        }
        BlockKind::List { items, .. } => {
            let first_line = |item: &std::ops::Range<usize>| {
                let source = text.get(item.clone()).unwrap_or_default();
                let digits = source.bytes().take_while(u8::is_ascii_digit).count();
                found(text, item.start + (digits + 1).min(source.len()), item.end)
            };
            items.iter().filter_map(first_line).collect()
        }
        BlockKind::Quote | BlockKind::Table => {
            let mut at = start;
            let mut all = Vec::new();
            for line in block.source(text).split_inclusive('\n') {
                let bare = line.trim_start();
                let marked = block.kind == BlockKind::Table || bare.starts_with('>');
                all.extend(found(text, at, at + line.len()).filter(|_| marked));
                at += line.len();
            }
            all
        }
        _ => Vec::new(),
    }
}

fn found(text: &str, start: usize, end: usize) -> Option<(usize, IdKind, String)> {
    let source = text.get(start..end)?;
    let bare = source.trim_start_matches(['>', '|', '#', '*', '_', '[', ' ', '\t', '`']);
    let (kind, id, length) = id_at(bare)?;
    let at = end - bare.len();
    // Only an id with letters after it looks like a record; `REQ-001/2` does not.
    let titled = bare[length..].chars().any(char::is_alphabetic);
    match id {
        IdText::Id(id) if titled => Some((at, kind, id)),
        _ => None,
    }
}
