//! Comments that a person writes into a document while editing it: lines that start with
//! `[review] comment_prefix` are removed, and the actor gets each with the passage above it.
//!
//! Only lines that the person added are comments. In a code fence, such a line may be code (a
//! Python session): there it is a comment only if the fence existed before and contained no such
//! line.

/// Maximum length of a quoted passage, in characters.
const PASSAGE: usize = 400;

/// Start of the location in a feedback text.
const PLACE: &str = "\n\n(a comment on ";

/// A person's comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comment {
    /// The person's words.
    pub words: String,
    /// The heading above, with its marks; empty when there is none.
    pub heading: String,
    /// The paragraph, list item or table row above; empty right below a heading.
    pub passage: String,
}

impl Comment {
    /// Formats it as feedback: the words, then their location in `document`.
    pub fn details(&self, document: &str) -> String {
        let mut text = format!("{}{PLACE}{document}", self.words);
        if !self.heading.is_empty() {
            text.push_str(&format!(", under \"{}\"", self.heading));
        }
        if self.passage.is_empty() {
            text.push_str(if self.heading.is_empty() { ", above everything)" } else { ")" });
        } else {
            text.push_str(", about this:\n> ");
            text.push_str(&self.passage.replace('\n', "\n> "));
            text.push(')');
        }
        text
    }
}

/// Returns the person's words in a feedback text.
pub fn words(details: &str) -> &str {
    details.split_once(PLACE).map_or(details, |(words, _)| words)
}

/// Returns the document and the quoted passage that a feedback text is about.
pub fn place(details: &str) -> Option<(&str, String)> {
    let (_, place) = details.split_once(PLACE)?;
    let (head, passage) = place.strip_suffix(')')?.split_once(", about this:\n> ")?;
    let document = head.split_once(", under \"").map_or(head, |(document, _)| document);
    Some((document, passage.replace("\n> ", "\n").trim_end_matches('…').to_owned()))
}

/// A document without its comments, and the comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commented {
    /// The remaining text: all other lines, byte for byte.
    pub text: String,
    /// The comments, in order; empty ones are removed and not listed.
    pub comments: Vec<Comment>,
}

/// Removes from `text` the comments that are not in `before`, the text the person was shown.
/// Consecutive comment lines are one comment.
pub fn take(text: &str, before: &str, prefix: &str) -> Commented {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let marks = Marks::of(&lines, &before.lines().collect::<Vec<_>>(), prefix);
    let mut out = Out::default();
    let mut at = 0;
    while at < lines.len() {
        let loose = |at: usize| marks.comment[at] || (marks.added[at] && is_blank(lines[at]));
        let end = (at..lines.len()).find(|at| !loose(*at)).unwrap_or(lines.len());
        if !(at..end).any(|at| marks.comment[at]) {
            let end = end.max(at + 1);
            lines[at..end].iter().for_each(|line| out.push(line));
            at = end;
            continue;
        }
        let run = &lines[at..end];
        let is_comment: Vec<bool> = marks.comment[at..end].to_vec();
        for group in groups(run, &is_comment) {
            let words: Vec<&str> = group.iter().map(|line| said(line, prefix)).collect();
            out.comment(words.join("\n").trim());
        }
        // Do not join paragraphs the person wrote around a comment.
        let blank = run.iter().find(|line| is_blank(line));
        let theirs = at.checked_sub(1).is_some_and(|at| marks.added[at])
            || marks.added.get(end).is_some_and(|added| *added);
        let between = at > 0 && !is_blank(lines[at - 1]) && end < lines.len();
        if let (Some(blank), true) = (blank, theirs && between) {
            out.push(blank);
        }
        at = end;
    }
    Commented { text: out.text, comments: out.comments }
}

/// The words of a comment line; `None` if it is not a comment.
fn comment_of<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let mark = prefix.trim_end();
    if mark.is_empty() {
        return None;
    }
    let rest = line.trim().strip_prefix(mark)?;
    // The space after the mark may be missing: editors remove it at the end of a line, and people
    // forget it. But a mark of one character ("#") must not match headings ("##").
    let fits = prefix == mark || rest.is_empty() || rest.starts_with(' ') || mark.len() > 1;
    fits.then(|| rest.trim())
}

fn said<'a>(line: &'a str, prefix: &str) -> &'a str {
    comment_of(line, prefix).unwrap_or_default()
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Groups consecutive comment lines.
fn groups<'a>(run: &'a [&'a str], is_comment: &[bool]) -> Vec<Vec<&'a str>> {
    let mut groups: Vec<Vec<&str>> = Vec::new();
    for (at, line) in run.iter().enumerate() {
        if !is_comment[at] {
            continue;
        }
        match groups.last_mut().filter(|_| at > 0 && is_comment[at - 1]) {
            Some(group) => group.push(line),
            None => groups.push(vec![line]),
        }
    }
    groups
}

/// Properties of each line.
struct Marks {
    added: Vec<bool>,
    comment: Vec<bool>,
}

impl Marks {
    fn of(lines: &[&str], before: &[&str], prefix: &str) -> Self {
        let same = matched(before, lines);
        let added: Vec<bool> = same.iter().map(Option::is_none).collect();
        let begins = |line: &str| comment_of(line, prefix).is_some();
        let mut comment: Vec<bool> =
            lines.iter().zip(&added).map(|(line, added)| *added && begins(line)).collect();
        // A line in the place of a removed comment-like line was changed, not added.
        let mut next = 0;
        let mut gone = 0;
        for at in 0..lines.len() {
            let gap = same[at].or_else(|| same[at..].iter().flatten().next().copied());
            let gap = gap.unwrap_or(before.len());
            gone += before[next..gap.max(next)].iter().filter(|line| begins(line)).count();
            next = gap.max(next);
            if let Some(matched) = same[at] {
                (next, gone) = (matched + 1, 0);
            } else if comment[at] && gone > 0 {
                comment[at] = false;
                gone -= 1;
            }
        }
        for (open, end) in fences(lines) {
            let own = (open..end).any(|at| !comment[at] && begins(lines[at]));
            if own || added[open] {
                comment[open..end].fill(false);
            }
        }
        Self { added, comment }
    }
}

/// Maps each line of `now` to its line in `before`, by a longest common subsequence that ignores
/// white space at the ends of lines.
pub fn matched(before: &[&str], now: &[&str]) -> Vec<Option<usize>> {
    /// With more pairs of lines than this, skip the subsequence: a line matches the first equal old
    /// line.
    const PAIRS: usize = 4_000_000;
    let same = |a: usize, b: usize| before[a].trim_end() == now[b].trim_end();
    let most = before.len().min(now.len());
    let head = (0..most).take_while(|at| same(*at, *at)).count();
    let tail =
        (1..=most - head).take_while(|back| same(before.len() - back, now.len() - back)).count();
    let (rows, columns) = (before.len() - head - tail, now.len() - head - tail);
    let mut found: Vec<Option<usize>> = (0..now.len())
        .map(|at| match at {
            at if at < head => Some(at),
            at if at >= head + columns => Some(at + before.len() - now.len()),
            _ => None,
        })
        .collect();
    if rows * columns > PAIRS {
        for (at, place) in found.iter_mut().enumerate().skip(head).take(columns) {
            *place = (head..head + rows).find(|old| same(*old, at));
        }
        return found;
    }
    // Lengths of the longest common subsequence from each pair to the end.
    let mut rest = vec![vec![0_u32; columns + 1]; rows + 1];
    for a in (0..rows).rev() {
        for b in (0..columns).rev() {
            rest[a][b] = if same(head + a, head + b) {
                rest[a + 1][b + 1] + 1
            } else {
                rest[a + 1][b].max(rest[a][b + 1])
            };
        }
    }
    let (mut a, mut b) = (0, 0);
    while a < rows && b < columns {
        if same(head + a, head + b) {
            found[head + b] = Some(head + a);
            (a, b) = (a + 1, b + 1);
        } else if rest[a + 1][b] >= rest[a][b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    found
}

/// The character and length of the code fence a line opens or closes.
fn fence_mark(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    (count >= 3).then_some((mark, count))
}

/// Ranges of code fences, from the opening line to after the closing line.
fn fences(lines: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, char, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        match (open, fence_mark(line)) {
            (None, Some((mark, count))) => open = Some((at, mark, count)),
            (Some((from, mark, count)), Some((closing, length)))
                if closing == mark && length >= count && line.trim().len() == length =>
            {
                found.push((from, at + 1));
                open = None;
            }
            _ => {}
        }
    }
    if let Some((from, ..)) = open {
        found.push((from, lines.len()));
    }
    found
}

/// The text without comments so far.
#[derive(Default)]
struct Out {
    text: String,
    comments: Vec<Comment>,
}

impl Out {
    fn push(&mut self, line: &str) {
        self.text.push_str(line);
    }

    fn comment(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        let (heading, passage) = above(&self.text);
        self.comments.push(Comment { words: words.to_owned(), heading, passage });
    }
}

/// The last heading of a text, and its last paragraph, list item, table row or line of code.
fn above(text: &str) -> (String, String) {
    let lines: Vec<&str> = text.lines().collect();
    let fences = fences(&lines);
    let in_code = |at: usize| fences.iter().any(|(from, to)| (*from..*to).contains(&at));
    let is_heading = |at: usize| {
        let rest = lines[at].trim_start_matches('#');
        rest.len() < lines[at].len() && rest.starts_with(' ') && !in_code(at)
    };
    let heading = (0..lines.len()).rev().find(|at| is_heading(*at));
    let heading = heading.map(|at| lines[at].trim().to_owned()).unwrap_or_default();
    let Some(last) = (0..lines.len()).rev().find(|at| !is_blank(lines[*at])) else {
        return (heading, String::new());
    };
    if is_heading(last) {
        return (heading, String::new());
    }
    let mut first = last;
    let alone = in_code(last) || lines[last].trim_start().starts_with('|');
    while !alone && !is_item(lines[first]) && first > 0 {
        let up = first - 1;
        if is_blank(lines[up]) || is_heading(up) || in_code(up) {
            break;
        }
        first = up;
    }
    (heading, bounded(&lines[first..=last]))
}

/// `- a`, `* a`, `+ a`, `1. a`
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        || (number.len() < line.len() && (number.starts_with(". ") || number.starts_with(") ")))
}

fn bounded(lines: &[&str]) -> String {
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n");
    if text.chars().count() <= PASSAGE {
        return text;
    }
    let start: String = text.chars().take(PASSAGE).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str, before: &str) -> (String, Vec<String>) {
        let found = take(text, before, ">>> ");
        (found.text, found.comments.into_iter().map(|comment| comment.words).collect())
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn comments_are_removed_with_their_location() {
        let before = "# Title\n\nOne\nmore.\n\n## Parts\n- a\n- b\n  goes on\n| x | y |\n";
        let text = ">>> top\n# Title\n>>> who is it for?\n\nOne\nmore.\n>>> shorter\n>>> and kinder\n\n\
                    ## Parts\n- a\n- b\n  goes on\n  >>> is b needed?\n| x | y |\n>>> why y?\n";
        let found = take(text, before, ">>> ");
        assert_eq!(found.text, before);
        let at = |words: &str, heading: &str, passage: &str| Comment {
            words: words.to_owned(),
            heading: heading.to_owned(),
            passage: passage.to_owned(),
        };
        assert_eq!(
            found.comments,
            [
                at("top", "", ""),
                at("who is it for?", "# Title", ""),
                at("shorter\nand kinder", "# Title", "One\nmore."),
                at("is b needed?", "## Parts", "- b\ngoes on"),
                at("why y?", "## Parts", "| x | y |"),
            ]
        );
        let details = found.comments[2].details("design.md");
        assert_eq!(
            details,
            "shorter\nand kinder\n\n(a comment on design.md, under \"# Title\", about this:\n\
             > One\n> more.)"
        );
        assert_eq!(super::words(&details), "shorter\nand kinder");
        assert_eq!(place(&details), Some(("design.md", "One\nmore.".to_owned())));
        assert_eq!(place("plain words"), None);
        assert!(
            found.comments[0].details("x.md").ends_with("(a comment on x.md, above everything)")
        );
    }

    #[test]
    fn only_lines_the_person_added_are_comments() {
        let doctest = "```python\n>>> add('x')\n1\n>>> add('y')\n```\n>>> quoted\nEnd\n";
        assert_eq!(taken(doctest, doctest), (doctest.to_owned(), vec![]));
        // A changed line of the document is an edit,
        let changed = doctest.replace("add('y')", "add('z')").replace("quoted", "cited");
        assert_eq!(taken(&changed, doctest), (changed.clone(), vec![]));
        // as is an additional line in a Python session, or a new session.
        let more = doctest.replace("1\n", "1\n>>> add('b')\n");
        assert_eq!(taken(&more, doctest), (more.clone(), vec![]));
        let own = format!("{doctest}```\n>>> 1 + 1\n2\n```\n");
        assert_eq!(taken(&own, doctest), (own.clone(), vec![]));
        // A `>>>` line is a comment below the fence, and in a fence that had no such line.
        let below = format!("{doctest}>>> no doctests\n");
        assert_eq!(taken(&below, doctest), (doctest.to_owned(), words(&["no doctests"])));
        let shell = "```sh\nls\n```\n";
        let within = "```sh\nls\n>>> which shell?\n```\n";
        assert_eq!(taken(within, shell), (shell.to_owned(), words(&["which shell?"])));
    }

    #[test]
    fn blank_lines_around_a_comment_go_with_it() {
        let before = "One.\n\nTwo.\n";
        for text in ["One.\n\n>>> a\n\nTwo.\n", "One.\n>>> a\n\nTwo.\n", "One.\n\n>>> a\nTwo.\n"] {
            assert_eq!(taken(text, before), (before.to_owned(), words(&["a"])), "{text:?}");
        }
        let two = "One.\n\n>>> a\n\n>>> b\n\nTwo.\n";
        assert_eq!(taken(two, before), (before.to_owned(), words(&["a", "b"])));
        // A paragraph the person wrote remains separate.
        let (text, _) = taken("One.\n\n>>> a\n\nNew.\n\nTwo.\n", before);
        assert_eq!(text, "One.\n\nNew.\n\nTwo.\n");
    }

    #[test]
    fn every_other_byte_stays() {
        assert_eq!(taken("a\r\n>>> x\r\nb\r\n", "a\nb\n"), ("a\r\nb\r\n".into(), words(&["x"])));
        assert_eq!(taken("a\nb\n>>> x", "a\nb\n"), ("a\nb\n".into(), words(&["x"])));
        assert_eq!(taken("a\n>>> x\nb", "a\nb"), ("a\nb".into(), words(&["x"])));
        assert_eq!(taken("a  \n>>>\nc\n", "a\nb\n"), ("a  \nc\n".into(), words(&[])));
        assert_eq!(taken(">>>close\n", ""), (String::new(), words(&["close"])));
    }

    #[test]
    fn the_prefix_is_the_persons_choice() {
        let text = "# Head\n# a word\n";
        assert_eq!(take(text, "# Head\n", "").text, text);
        assert_eq!(take("#Tag\n% hm\n", "", "% ").comments[0].words, "hm");
        assert_eq!(take("#Tag\n# hm\n", "", "# ").text, "#Tag\n");
    }

    #[test]
    fn a_long_passage_is_cut() {
        let long = "word ".repeat(200);
        let found = take(&format!("{long}\n>>> x\n"), &long, ">>> ");
        let passage = &found.comments[0].passage;
        assert!(passage.chars().count() <= PASSAGE + 1 && passage.ends_with('…'), "{passage}");
    }
}
