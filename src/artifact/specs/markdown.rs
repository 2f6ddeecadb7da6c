//! Splits Markdown into blocks with the lines they are on. It goes line by line and not by
//! CommonMark's rules, since people and models indent lists of tasks as they like, and each line
//! counts.

/// The form of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A heading of this level.
    Heading(usize),
    /// A list item with a checkbox.
    Box,
    /// Another list item.
    Item,
    /// A line that starts with a bold word and a colon: `**Goal**: …`.
    Label,
    /// A row of a table.
    Cells,
    /// A paragraph.
    Text,
    /// A code block.
    Code,
    /// A comment that begins a section: `<!-- AC:BEGIN -->`.
    Begin,
    /// A comment that ends a section.
    End,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Its first and last line, from 1.
    pub lines: (usize, usize),
    pub form: Form,
    /// Columns before it.
    pub indent: usize,
    /// The text without the mark of the form; items and labels are one line.
    pub text: String,
}

/// Splits a document into blocks, without front matter, comments and rules.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let (mut goes_on, mut columns) = (false, None);
    for line in lines(text) {
        let bare = line.text.trim();
        if bare.is_empty() && !line.code {
            goes_on = false;
            continue;
        }
        let indent = line.text.chars().take_while(|c| c.is_whitespace());
        let indent = indent.map(|c| if c == '\t' { 4 } else { 1 }).sum();
        let (form, text) = if line.code { (Form::Code, &*line.text) } else { form(&line.text) };
        if form == Form::Text && (is_rule(bare) || is_tag(bare)) {
            goes_on = false;
            continue;
        }
        if form == Form::Cells && bare.trim_matches(['|', '-', ':', ' ']).is_empty() {
            // The line below the names of a table's columns, which belong to its first row.
            columns = out.pop_if(|last| last.form == Form::Cells).map(|names| names.lines.0);
            continue;
        }
        let joins = match (out.last().map(|last| last.form), form) {
            (Some(Form::Code), Form::Code) => Some("\n"),
            (Some(Form::Text), Form::Text) if !bare.starts_with("**Given") => Some("\n"),
            (Some(Form::Item | Form::Box | Form::Label), Form::Text) => Some(" "),
            _ => None,
        };
        match (joins.filter(|_| goes_on), out.last_mut()) {
            (Some(between), Some(last)) => {
                let text = if form == Form::Code { text } else { text.trim() };
                last.text = format!("{}{between}{text}", last.text);
                last.lines.1 = line.at;
            }
            _ => out.push(Block {
                lines: (columns.take().unwrap_or(line.at), line.at),
                form,
                indent,
                text: text.trim_end().to_owned(),
            }),
        }
        goes_on = true;
    }
    out
}

/// A line of a document.
struct Line {
    /// Its number, from 1.
    at: usize,
    text: String,
    /// It is in a code block, or opens or closes one.
    code: bool,
}

/// Returns the lines without front matter, and without comments except those that mark sections.
fn lines(text: &str) -> Vec<Line> {
    let text = text.trim_start_matches('\u{feff}');
    let skipped = split_front_matter(text).map_or(0, |(front, _)| front.lines().count() + 2);
    let (mut out, mut fence, mut comment) = (Vec::new(), None, false);
    for (at, line) in text.lines().enumerate().skip(skipped) {
        let mut push =
            |text: &str, code| out.push(Line { at: at + 1, text: text.to_owned(), code });
        if comment {
            let Some((_, rest)) = line.split_once("-->") else { continue };
            comment = false;
            if !rest.trim().is_empty() {
                push(rest, false);
            }
            continue;
        }
        let mark = fence_mark(line);
        if fence.is_some() || mark.is_some() {
            fence = match fence {
                Some(open) if mark == Some(open) => None,
                Some(open) => Some(open),
                None => mark,
            };
            push(line, true);
        } else if section_mark(line).is_some() {
            push(line, false);
        } else {
            let (shown, open) = without_comments(line);
            comment = open;
            if !(shown.trim().is_empty() && shown.len() != line.len()) {
                push(&shown, false);
            }
        }
    }
    out
}

/// Returns a document without front matter and comments.
pub(super) fn shown(text: &str) -> String {
    let lines = lines(text);
    let lines = lines.iter().filter(|line| line.code || section_mark(&line.text).is_none());
    lines.map(|line| line.text.trim_end()).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Returns the front matter without the lines around it, and the text below it.
pub(super) fn split_front_matter(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((rest.get(..at)?, rest.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

/// Returns the name of a section that a comment begins, or ends (false).
fn section_mark(line: &str) -> Option<(&str, bool)> {
    let name = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    let begins = name.strip_suffix(":BEGIN").map(|name| (name, true));
    let (name, begins) = begins.or_else(|| name.strip_suffix(":END").map(|name| (name, false)))?;
    let fits = |c: char| c.is_ascii_uppercase() || c == '_' || c == ':';
    name.chars().all(fits).then_some((name, begins))
}

/// Returns the line without comments, and whether a comment is still open at its end.
fn without_comments(line: &str) -> (String, bool) {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once("<!--") {
        out += before;
        match after.split_once("-->") {
            Some((_, behind)) => rest = behind,
            None => return (out, true),
        }
    }
    (out + rest, false)
}

fn fence_mark(line: &str) -> Option<char> {
    let line = line.trim_start();
    ['`', '~'].into_iter().find(|mark| line.starts_with(&mark.to_string().repeat(3)))
}

fn is_rule(bare: &str) -> bool {
    ['-', '*', '_'].iter().any(|mark| {
        bare.chars().filter(|c| c == mark).count() >= 3
            && bare.chars().all(|c| c == *mark || c == ' ')
    })
}

/// True for a line with a tag of HTML and nothing else.
fn is_tag(bare: &str) -> bool {
    let inside = bare.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inside.is_some_and(|inside| !inside.is_empty() && !inside.contains(['<', '>']))
}

/// Returns the form of a line outside of code, and the text behind its mark.
fn form(line: &str) -> (Form, &str) {
    let bare = line.trim();
    if let Some((name, begins)) = section_mark(line) {
        return (if begins { Form::Begin } else { Form::End }, name);
    }
    let level = line.len() - line.trim_start_matches('#').len();
    if let Some(rest) = line.get(level..)
        && (1..=6).contains(&level)
        && rest.starts_with([' ', '\t'])
    {
        return (Form::Heading(level), rest.trim().trim_end_matches('#').trim_end());
    }
    match marked(line) {
        Some(text) if check_box(text).is_some() => (Form::Box, text),
        Some(text) => (Form::Item, text),
        None if bare.starts_with('|') => (Form::Cells, bare),
        None if bare.starts_with("**") && (bare.contains("**:") || bare.contains(":**")) => {
            (Form::Label, bare)
        }
        None => (Form::Text, bare),
    }
}

/// Returns the text after the marker of a list item.
fn marked(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(rest) = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(rest.trim_start());
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = line.get(digits..).filter(|_| (1..=3).contains(&digits))?;
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).map(str::trim_start)
}

/// Returns the mark in a checkbox, whether a star behind it says that it is optional, and the text.
pub(super) fn check_box(text: &str) -> Option<(Option<char>, bool, &str)> {
    let (mark, rest) = text.strip_prefix('[')?.split_once(']')?;
    let mut inside = mark.trim().chars();
    let mark = inside.next();
    let bare = rest.strip_prefix('*').unwrap_or(rest);
    // `[P]` is a label.
    let is_mark = mark.is_none_or(|c| ['x', 'X'].contains(&c) || !c.is_alphanumeric());
    let ends = bare.is_empty() || bare.starts_with(char::is_whitespace);
    let is_box = is_mark && ends && inside.next().is_none();
    is_box.then_some((mark, bare.len() < rest.len(), bare.trim()))
}

/// Returns a text on one line, without the marks of bold text. Marks in code and next to a `/` are
/// part of a path, and so are underscores, as in `__init__.py`.
pub(super) fn plain(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut out, mut rest, mut code) = (String::new(), &*words, false);
    while let Some(c) = rest.chars().next() {
        let behind = rest.strip_prefix("**");
        code ^= c == '`';
        match behind {
            Some(after) if !code && !out.ends_with('/') && !after.starts_with('/') => rest = after,
            _ => {
                out.push(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }
    out.trim().to_owned()
}

/// Shortens a text to `most` characters, between words.
pub(super) fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{}…", cut.trim_end_matches([',', ';', ':', '.', '-', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(usize, Form, usize, String)> {
        let each = |one: Block| (one.lines.0, one.form, one.indent, one.text);
        blocks(text).into_iter().map(each).collect()
    }

    #[test]
    fn comments_front_matter_and_code_are_no_headings() {
        let text = "---\ndescription: x\n---\n# Top\n\n<!--\n## Not\n-->\ntext <!-- a --> more\n\
                    ```\n# code\n<!-- kept\n```\n## Next **bold** ##\nend\n<!-- AC:BEGIN -->\n---\n";
        let expected = [
            (4, Form::Heading(1), "Top"),
            (9, Form::Text, "text  more"),
            (10, Form::Code, "```\n# code\n<!-- kept\n```"),
            (14, Form::Heading(2), "Next **bold**"),
            (15, Form::Text, "end"),
            (16, Form::Begin, "AC"),
        ];
        assert_eq!(of(text), expected.map(|(at, form, text)| (at, form, 0, text.to_owned())));
        assert_eq!(shown("<!-- AC:BEGIN -->\na\n<!-- AC:END -->\n"), "a");
    }

    #[test]
    fn an_item_continues_in_the_lines_below() {
        let text = "- a\n  b\n- [ ] c\n  - d\n\npara\n\n1. e\n2) f\n- [P] g\n- [x]* h\n**Goal**: i\nj\n\
                    | A | B |\n|---|:-:|\n| c | d |\n";
        let expected = [
            (1, Form::Item, 0, "a b"),
            (3, Form::Box, 0, "[ ] c"),
            (4, Form::Item, 2, "d"),
            (6, Form::Text, 0, "para"),
            (8, Form::Item, 0, "e"),
            (9, Form::Item, 0, "f"),
            (10, Form::Item, 0, "[P] g"),
            (11, Form::Box, 0, "[x]* h"),
            (12, Form::Label, 0, "**Goal**: i j"),
            (14, Form::Cells, 0, "| c | d |"),
        ];
        assert_eq!(of(text), expected.map(|(at, form, by, text)| (at, form, by, text.to_owned())));
    }

    #[test]
    fn only_marks_of_bold_text_are_removed() {
        for (text, expected) in [
            ("**Given** a  **b**", "Given a b"),
            ("edit __init__.py", "edit __init__.py"),
            ("all of src/**/*.rs and `**kwargs`", "all of src/**/*.rs and `**kwargs`"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }
}
