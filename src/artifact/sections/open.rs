//! Unclosed blocks of code and HTML.

use super::blocks::{Block, BlockKind};

/// Returns the fence that would close a code block; `None` if the block is closed.
pub(super) fn open_fence(source: &str) -> Option<String> {
    let source = source.trim_start();
    let mark = source.chars().next()?;
    let length = source.chars().take_while(|c| *c == mark).count();
    let last = source.lines().skip(1).last().unwrap_or_default().trim_end();
    let marks = last.trim_start_matches(' ');
    let closed = last.len() - marks.len() < 4
        && marks.chars().count() >= length
        && marks.chars().all(|c| c == mark);
    (!closed).then(|| mark.to_string().repeat(length))
}

/// Returns where an unclosed HTML block starts.
pub(super) fn unclosed(text: &str, block: &Block) -> Option<usize> {
    if block.kind != BlockKind::Html || block.range.end < text.trim_end().len() {
        return None;
    }
    let source = block.source(text);
    let lower = source.trim_start().to_ascii_lowercase();
    let ends: &[&str] = match () {
        () if lower.starts_with("<!--") => &["-->"],
        () if lower.starts_with("<?") => &["?>"],
        () if lower.starts_with("<![cdata[") => &["]]>"],
        () if lower.starts_with("<!") => &[">"],
        () if ["<script", "<pre", "<style", "<textarea"]
            .iter()
            .any(|tag| lower.starts_with(tag)) =>
        {
            &["</script>", "</pre>", "</style>", "</textarea>"]
        }
        () => return None,
    };
    let open = !ends.iter().any(|end| lower.contains(end));
    let lead = source.len() - source.trim_start().len();
    open.then_some(block.range.start + lead)
}

/// Returns the kind of unclosed block: a code block, a comment or other HTML.
pub(super) fn never_closed(text: &str, block: &Block) -> Option<&'static str> {
    match block.kind {
        BlockKind::Code { fenced: true } => open_fence(block.source(text)).map(|_| "code block"),
        BlockKind::Html => {
            let at = unclosed(text, block)?;
            Some(if text[at..].starts_with("<!--") { "comment" } else { "HTML block" })
        }
        _ => None,
    }
}
