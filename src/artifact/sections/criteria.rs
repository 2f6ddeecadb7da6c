//! Criteria and the tests that they name.

use std::ops::Range;

use super::super::Criterion;
use super::blocks::{BlockKind, blocks};
use super::fields::{code, code_span};
use super::{indent, text};

/// Parses a criterion from the text of an item.
pub fn criterion(text: &str) -> Criterion {
    let Some((range, test)) = test_of(text) else { return text.into() };
    let (mut before, mut after) = (text[..range.start].trim_end(), text[range.end..].trim_start());
    if before.ends_with('(') && after.starts_with(')') {
        before = before[..before.len() - 1].trim_end();
        after = after[1..].trim_start();
    }
    let between =
        if after.is_empty() || before.is_empty() || after.starts_with(['.', ',', ';', ')']) {
            ""
        } else {
            " "
        };
    let kept = format!("{before}{between}{after}");
    // Normalize the remaining text, so that it reads back the same.
    let kept = text::item_text(&indent::marked("-", &text::item(&kept)));
    let bare = test.trim_start_matches('!');
    Criterion { text: kept, test: Some(bare.to_owned()), fails_before: bare.len() < test.len() }
}

/// Formats a criterion as the text of an item, without escapes.
pub fn item_of(criterion: &Criterion) -> String {
    let text = criterion.text.trim();
    let Some(test) = &criterion.test else { return text.to_owned() };
    let test = code(&format!("{}{test}", if criterion.fails_before { "!" } else { "" }));
    let last = blocks(text).pop().map(|block| block.kind);
    match last {
        None => test,
        // Check that the test is still the last code span: a backtick in the text could pair with
        // the first backtick of the test.
        Some(BlockKind::Paragraph) if ends_with_test(&format!("{text} {test}"), &test) => {
            format!("{text} {test}")
        }
        Some(_) => format!("{text}\n\n{test}"),
    }
}

fn ends_with_test(text: &str, test: &str) -> bool {
    let range = last_code(text);
    range.is_some_and(|range| range.end == text.len() && text[range] == *test)
}

/// Returns the last code span of a text if it names a test.
fn test_of(text: &str) -> Option<(Range<usize>, String)> {
    let range = last_code(text)?;
    let (_, inner) = code_span(&text[range.clone()])?;
    let inner = inner.trim();
    is_test(inner.strip_prefix('!').unwrap_or(inner)).then(|| (range, inner.to_owned()))
}

fn last_code(text: &str) -> Option<Range<usize>> {
    let all = blocks(text);
    let span = all.iter().flat_map(|block| &block.codes).max_by_key(|span| span.start)?;
    Some(span.clone())
}

/// True for `path.ext::name`.
pub(super) fn is_test(text: &str) -> bool {
    let Some((path, name)) = text.split_once("::") else { return false };
    let file = path.rsplit('/').next().unwrap_or_default();
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    let plain = |c: char| c.is_ascii_alphanumeric();
    let dotted = !extension.is_empty() && extension.len() <= 8 && extension.chars().all(plain);
    dotted
        && !path.contains(char::is_whitespace)
        && !path.starts_with(['/', '!'])
        && !name.trim().is_empty()
        && !text.contains('\n')
}
