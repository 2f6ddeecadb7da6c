//! The top-level blocks of a Markdown text, with their byte ranges; unclosed blocks of code and
//! HTML.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};

/// The type of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Heading(u8),
    Paragraph,
    Code {
        fenced: bool,
    },
    /// The ranges of the list's items; `start` is the number of the first item of an ordered list.
    List {
        start: Option<u64>,
        items: Vec<Range<usize>>,
    },
    Rule,
    Html,
    Quote,
    Table,
    /// Footnotes and link definitions.
    Other,
}

/// A block of a text. Its range starts at the start of its first line and ends after its last
/// character.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub kind: BlockKind,
    pub range: Range<usize>,
    /// Hard line breaks, which stay when lines are joined.
    pub breaks: Vec<Range<usize>>,
    /// Comments inside the text.
    pub comments: Vec<Range<usize>>,
    /// Code spans.
    pub codes: Vec<Range<usize>>,
    /// Emphasis, and whether it is strong.
    pub emphasis: Vec<(Range<usize>, bool)>,
}

impl Block {
    fn new(kind: BlockKind, range: Range<usize>) -> Self {
        let (breaks, comments, codes) = (Vec::new(), Vec::new(), Vec::new());
        Self { kind, range, breaks, comments, codes, emphasis: Vec::new() }
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.kind, BlockKind::List { .. })
    }

    /// Returns the text with emphasis marked as formatters do: `_so_` and `**so**`. Offsets do not
    /// change.
    pub(super) fn with_plain_emphasis<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.emphasis.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut bytes = text.as_bytes().to_vec();
        for (range, strong) in &self.emphasis {
            let (width, mark) = if *strong { (2, b'*') } else { (1, b'_') };
            let alone =
                |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || ".,;:!?()".contains(c));
            let before = text.get(..range.start).and_then(|before| before.chars().next_back());
            let after = text.get(range.end..).and_then(|after| after.chars().next());
            let inside = |(other, _): &(Range<usize>, bool)| {
                other != range && other.start <= range.start && range.end <= other.end
            };
            let marks = [range.start..range.start + width, range.end - width..range.end];
            let marked = |at: &Range<usize>| {
                text.get(at.clone()).is_some_and(|mark| matches!(mark, "*" | "_" | "**" | "__"))
            };
            let plain = marks.iter().all(marked) && alone(before) && alone(after);
            if plain && !self.emphasis.iter().any(inside) {
                marks.into_iter().flatten().for_each(|at| bytes[at] = mark);
            }
        }
        String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Returns the source of the block.
    pub(super) fn source<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.range.clone()).unwrap_or_default()
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
}

/// Returns where the Markdown starts: after a byte order mark and front matter.
pub(super) fn start_of_body(text: &str) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut at = mark;
    for (number, line) in text[mark..].split_inclusive('\n').enumerate() {
        at += line.len();
        let rule = matches!(line.trim_end(), "---" | "...");
        match (number, rule) {
            (0, false) => return mark,
            (0, true) if !line.starts_with("---") => return mark,
            // The first `---` is a thematic break: a blank line follows, so there is no front
            // matter.
            (1, _) if line.trim().is_empty() => return mark,
            (1.., true) => return at,
            _ => {}
        }
    }
    mark
}

/// Returns all top-level blocks of a document, including link definitions, in order.
pub(super) fn document_blocks(text: &str) -> Vec<Block> {
    blocks_from(text, start_of_body(text))
}

/// Returns all top-level blocks of a part of a document.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    blocks_from(text, 0)
}

fn blocks_from(text: &str, offset: usize) -> Vec<Block> {
    let body = &text[offset..];
    let mut found: Vec<Block> = Vec::new();
    let mut depth = 0usize;
    for (event, range) in Parser::new_ext(body, options()).into_offset_iter() {
        let range = range.start + offset..range.end + offset;
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth == 1 {
                    found.push(Block::new(kind_of(&tag), range));
                } else if depth == 2
                    && tag == Tag::Item
                    && let Some(Block { kind: BlockKind::List { items, .. }, .. }) =
                        found.last_mut()
                {
                    items.push(range);
                } else if let (Some(block), Tag::Emphasis | Tag::Strong) = (found.last_mut(), &tag)
                {
                    block.emphasis.push((range, tag == Tag::Strong));
                }
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => found.push(Block::new(BlockKind::Rule, range)),
            inline => {
                if let Some(block) = found.last_mut() {
                    note_inline(block, &inline, range, text);
                }
            }
        }
    }
    let found = found.into_iter().filter_map(|block| whole_lines(text, offset, block));
    with_definitions(text, offset, found.collect())
}

fn note_inline(block: &mut Block, event: &Event<'_>, range: Range<usize>, text: &str) {
    match event {
        Event::HardBreak => block.breaks.push(range),
        Event::Code(_) => block.codes.push(range),
        Event::InlineHtml(_) if text.get(range.clone()).is_some_and(|t| t.starts_with("<!--")) => {
            block.comments.push(range);
        }
        _ => {}
    }
}

fn kind_of(tag: &Tag<'_>) -> BlockKind {
    match tag {
        Tag::Heading { level, .. } => BlockKind::Heading(number(*level)),
        Tag::Paragraph => BlockKind::Paragraph,
        Tag::CodeBlock(kind) => BlockKind::Code { fenced: kind.is_fenced() },
        Tag::List(start) => BlockKind::List { start: *start, items: Vec::new() },
        Tag::HtmlBlock => BlockKind::Html,
        Tag::BlockQuote(_) => BlockKind::Quote,
        Tag::Table(_) => BlockKind::Table,
        _ => BlockKind::Other,
    }
}

const fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Extends a block to the start of its first line and trims its end; `None` if nothing is left.
fn whole_lines(text: &str, offset: usize, mut block: Block) -> Option<Block> {
    let start = line_start(text, block.range.start).max(offset);
    let source = text.get(start..block.range.end)?;
    let end = start + source.trim_end().len();
    // The range of an indented code block includes the blank lines above it.
    let lead = source.len() - source.trim_start().len();
    let start = line_start(text, start + lead).max(start);
    block.range = start..end;
    (start < end).then_some(block)
}

/// Adds link definitions, for which the parser emits no event: any text between blocks that is not
/// blank.
fn with_definitions(text: &str, offset: usize, found: Vec<Block>) -> Vec<Block> {
    let mut all = Vec::with_capacity(found.len());
    let mut at = offset;
    let gap = |from: usize, to: usize| {
        let block = Block::new(BlockKind::Other, from..to);
        text.get(from..to).filter(|gap| !gap.trim().is_empty())?;
        let lead = text.get(from..to)?.len() - text.get(from..to)?.trim_start().len();
        whole_lines(text, offset, Block { range: from + lead..to, ..block })
    };
    for mut block in found {
        if block.range.start < at {
            block.range.start = at.min(block.range.end);
        }
        all.extend(gap(at, block.range.start));
        // Indented lines directly below a definition belong to it; on their own, they would be code
        // or HTML.
        let source = block.source(text);
        let indented =
            source.starts_with("    ") || source.trim_start_matches(' ').starts_with('\t');
        if indented
            && block.kind == BlockKind::Paragraph
            && let Some(Block { kind: BlockKind::Other, range, .. }) = all.last_mut()
        {
            range.end = block.range.end;
            at = block.range.end.max(at);
            continue;
        }
        at = block.range.end.max(at);
        all.push(block);
    }
    all.extend(gap(at, text.len()));
    all
}

/// Returns where the line that contains this offset starts.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// Returns the number of the line that contains this offset, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..at.min(text.len())]).count()
}

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
