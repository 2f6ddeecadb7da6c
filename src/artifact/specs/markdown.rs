//! Parses the parts of Markdown that the files of other tools need: headings with the lines below
//! them, and list items; comments and front matter are removed. Code blocks are text. Also
//! finds file names in text.

/// A heading and the text below it, up to the next heading of any level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Heading level, 1 to 6; 0 for the text before the first heading.
    pub level: usize,
    /// The title without marks.
    pub title: String,
    /// The lines below the heading. Lines in code blocks do not start list items.
    pub lines: Vec<Line>,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The text without the line end.
    pub text: String,
    /// The line is in a code block, or opens or closes one.
    pub code: bool,
}

/// Splits a document into parts.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut parts = vec![Part::default()];
    for line in lines(text) {
        match heading(&line) {
            Some((level, title)) => parts.push(Part { level, title, lines: Vec::new() }),
            None => {
                if let Some(part) = parts.last_mut() {
                    part.lines.push(line);
                }
            }
        }
    }
    parts
}

/// Returns the lines without front matter and comments.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let text = text.trim_start_matches('\u{feff}');
    let (mut out, mut fence, mut comment) = (Vec::new(), None, false);
    for line in without_front_matter(text).lines() {
        if comment {
            let Some((_, rest)) = line.split_once("-->") else { continue };
            comment = false;
            if !rest.trim().is_empty() {
                out.push(Line { text: rest.to_owned(), code: false });
            }
            continue;
        }
        let mark = fence_mark(line);
        if let Some(open) = fence {
            if mark == Some(open) {
                fence = None;
            }
            out.push(Line { text: line.to_owned(), code: true });
            continue;
        }
        if mark.is_some() {
            fence = mark;
            out.push(Line { text: line.to_owned(), code: true });
            continue;
        }
        let (shown, open) = without_comments(line);
        comment = open;
        if !(shown.trim().is_empty() && shown.len() != line.len()) {
            out.push(Line { text: shown, code: false });
        }
    }
    out
}

fn without_front_matter(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return text;
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            return rest.get(at..).unwrap_or_default();
        }
    }
    text
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

fn heading(line: &Line) -> Option<(usize, String)> {
    if line.code {
        return None;
    }
    let text = line.text.trim_end();
    let level = text.len() - text.trim_start_matches('#').len();
    let rest = text.get(level..)?;
    if !(1..=6).contains(&level) || !rest.starts_with([' ', '\t']) {
        return None;
    }
    Some((level, plain(rest.trim().trim_end_matches('#'))))
}

/// A list item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Columns before the marker.
    pub indent: usize,
    /// The item's text on one line, including its continuation lines.
    pub text: String,
}

/// Returns the items of all lists in order, including nested ones. Indented lines below an item
/// belong to it.
pub(super) fn items(lines: &[Line]) -> Vec<Item> {
    let mut out: Vec<Item> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        let indent = line.text.len() - line.text.trim_start().len();
        match marked(&line.text).filter(|_| !line.code) {
            Some(text) => {
                out.push(Item { indent, text: text.trim().to_owned() });
                goes_on = true;
            }
            None if line.text.trim().is_empty() => goes_on = false,
            None => {
                let belongs = goes_on && !line.code || indent > 0;
                if let Some(item) =
                    out.last_mut().filter(|item| belongs && !(line.code && item.indent == 0))
                {
                    item.text = format!("{} {}", item.text, line.text.trim());
                } else {
                    goes_on = false;
                }
            }
        }
    }
    out
}

/// Returns the text after the marker of a list item.
fn marked(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if let Some(rest) = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(rest);
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = line.get(digits..).filter(|_| (1..=3).contains(&digits))?;
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))
}

/// Returns a text on one line, without emphasis marks.
pub(super) fn plain(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace("**", "").replace("__", "").trim().to_owned()
}

/// Returns the text after a bold label, such as `**Goal**: text`, at the start of a line, with the
/// rest of the paragraph.
pub(super) fn labelled(lines: &[Line], label: &str) -> Option<String> {
    let at = lines.iter().position(|line| {
        let text = plain(&line.text);
        let text = text.trim_start_matches('*').trim_start();
        !line.code && text.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label))
    })?;
    let ends = |line: &Line| {
        line.text.trim().is_empty()
            || line.code
            || marked(&line.text).is_some()
            || is_label(&line.text)
    };
    let mut rest = lines.get(at..)?.iter();
    let first = rest.next()?;
    let all = std::iter::once(first).chain(rest.take_while(|line| !ends(line)));
    let text = all.map(|line| line.text.trim()).collect::<Vec<_>>().join(" ");
    let text = plain(&text).split_once(':').map(|(_, text)| text.trim().to_owned())?;
    (!text.is_empty()).then_some(text)
}

/// True for a line with a bold label: `**Why this priority**: …`.
pub(super) fn is_label(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("**") && (line.contains("**:") || line.contains(":**"))
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

/// Joins lines, without empty lines at both ends.
pub(super) fn joined(lines: &[Line]) -> String {
    let all: Vec<&str> = lines.iter().map(|line| line.text.trim_end()).collect();
    all.join("\n").trim_matches('\n').to_owned()
}

/// Returns the paths in a text, in order; `is_file` returns whether a bare name is a file.
pub(super) fn named_paths(text: &str, is_file: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "`\"'()<>,;|".contains(c)) {
        let word = word.trim_matches(|c: char| "*_:!?".contains(c)).trim_end_matches('.');
        let word = without_line(word);
        let word = word.strip_prefix("./").unwrap_or(word);
        if is_path(word)
            && (named_as_path(word) || is_file(word))
            && !out.iter().any(|one| one == word)
        {
            out.push(word.to_owned());
        }
    }
    out
}

/// Removes a line number: `src/a.rs` for `src/a.rs:12`.
fn without_line(word: &str) -> &str {
    match word.rsplit_once(':') {
        Some((path, line))
            if !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit() || b == b'-') =>
        {
            path
        }
        _ => word,
    }
}

/// True if a task may name the word as a path inside the repository.
fn is_path(word: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || "._-/@+".contains(c);
    !word.is_empty()
        && word.chars().all(fits)
        && !word.starts_with(['/', '-', '+', '@'])
        && !word.ends_with('/')
        && word.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
        && !word.starts_with(".git/")
        && !word.starts_with(".cowork/")
}

/// True for a path that has a folder and ends with a file extension, such as `src/main.rs`.
fn named_as_path(word: &str) -> bool {
    let Some((_, file)) = word.rsplit_once('/') else { return false };
    let Some((_, extension)) = file.rsplit_once('.') else { return false };
    let letters = extension.chars().filter(char::is_ascii_alphabetic).count();
    letters > 0 && extension.len() <= 12 && extension.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_front_matter_and_code_are_no_headings() {
        let text = "---\ndescription: x\n---\n# Top\n\n<!--\n## Not\n-->\ntext <!-- a --> more\n\
                    ```\n# code\n<!-- kept\n```\n## Next **bold**\nend\n";
        let found = parts(text);
        let titles: Vec<_> = found.iter().map(|part| (part.level, part.title.as_str())).collect();
        assert_eq!(titles, [(0, ""), (1, "Top"), (2, "Next bold")]);
        assert_eq!(joined(&found[1].lines), "text  more\n```\n# code\n<!-- kept\n```");
    }

    #[test]
    fn an_item_continues_in_the_lines_below() {
        let text = "- a\n  b\n- [ ] c\n  - d\n\npara\n\n1. e\n2) f\n```\n- g\n```\n";
        let found: Vec<_> =
            items(&lines(text)).into_iter().map(|item| (item.indent, item.text)).collect();
        let expected = [(0, "a b"), (0, "[ ] c"), (2, "d"), (0, "e"), (0, "f")];
        assert_eq!(found, expected.map(|(indent, text)| (indent, text.to_owned())));
    }

    #[test]
    fn labels_are_found_in_bold_and_plain() {
        let found = lines("**Goal**: do it\nwell\n\n**Independent Test**: try\n");
        assert_eq!(labelled(&found, "Goal").as_deref(), Some("do it well"));
        assert_eq!(labelled(&found, "independent test").as_deref(), Some("try"));
        assert_eq!(labelled(&found, "Checkpoint"), None);
    }

    #[test]
    fn paths_are_distinguished_from_words() {
        let is_file = |name: &str| ["README.md", "Makefile", "src/bin"].contains(&name);
        let of = |text: &str| named_paths(text, &is_file).join(" ");
        assert_eq!(of("Create User model in src/models/user.py."), "src/models/user.py");
        assert_eq!(
            of("Edit `src/a-b.rs:12` and (./web/App.tsx), e.g. and/or 1.2/3.4"),
            "src/a-b.rs web/App.tsx"
        );
        assert_eq!(
            of("Update README.md, Makefile and docs/ in src/bin"),
            "README.md Makefile src/bin"
        );
        assert_eq!(
            of("tests/test_[name].py /etc/x.conf ../x.rs http://a.b/c.html .git/config.x"),
            ""
        );
        assert_eq!(
            of("src/a.rs src/a.rs .github/workflows/ci.yml"),
            "src/a.rs .github/workflows/ci.yml"
        );
    }
}
