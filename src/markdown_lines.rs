//! Markdown line by line: which lines are one paragraph, which keep their breaks, and where a line
//! of prose may be broken.

use std::collections::BTreeSet;
use std::ops::Range;

/// True if a line starts or ends a code block.
pub(crate) fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// For each line, whether it belongs to a table.
pub(crate) fn of_tables<S: AsRef<str>>(lines: &[S]) -> Vec<bool> {
    let rule = |line: &str| line.contains('|') && line.contains("--") && is_rule_text(line);
    let mut in_table = vec![false; lines.len()];
    for at in (0..lines.len()).filter(|at| rule(lines[*at].as_ref())) {
        let rows = lines[at..].iter().take_while(|line| !line.as_ref().trim().is_empty()).count();
        in_table[at.saturating_sub(1)..at + rows].fill(true);
    }
    in_table
}

/// For each line, whether its breaks have a meaning: code, tables, headings, HTML.
pub(crate) fn fixed<S: AsRef<str>>(lines: &[S]) -> Vec<bool> {
    let mut lines_fixed = of_tables(lines);
    let mut in_fence = false;
    for (line, fixed) in lines.iter().zip(&mut lines_fixed) {
        let line = line.as_ref();
        let fence = is_fence(line);
        let indent = line.len() - line.trim_start_matches(' ').len();
        let code = indent >= 4 && marker(&line[indent..]) == 0;
        *fixed |= in_fence || fence || code || line[indent..].starts_with(['#', '<', '|']);
        in_fence ^= fence;
    }
    lines_fixed
}

/// The length in bytes of a list's or quotation's marker, with the space after it.
pub(crate) fn marker(text: &str) -> usize {
    if ["- ", "* ", "+ ", "> "].iter().any(|mark| text.starts_with(mark)) {
        return 2;
    }
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let is_number = text[digits..].starts_with(". ") || text[digits..].starts_with(") ");
    if (1..=9).contains(&digits) && is_number { digits + 2 } else { 0 }
}

/// True if Markdown reads this as plain text at the start of a line.
pub(crate) fn may_begin(text: &str) -> bool {
    let word = text.split(' ').next().unwrap_or_default();
    let mark = ["#", ">", "<", "|", "=", "--", "***", "___", "```", "~~~"];
    !mark.iter().any(|mark| word.starts_with(mark))
        && !["-", "+", "*"].contains(&word)
        && !is_rule_text(word)
        && marker(&format!("{word} ")) == 0
}

/// The parts of a line of prose that stay on one line, each followed by a single space or the end:
/// words, inline code, and words with the ones after them that `may_begin` does not let
/// start a line. The parts begin after the line's own list marker.
pub(crate) fn pieces<'t>(line: &'t str, may_begin: &dyn Fn(&str) -> bool) -> Vec<&'t str> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let words = indent + marker(&line[indent..]);
    let code = code_spans(line);
    let mut out = Vec::new();
    let mut start = 0;
    for at in memchr::memchr_iter(b' ', line.as_bytes()) {
        let (before, rest) = (&line[start..at], &line[at + 1..]);
        let single = |c: char| c.is_whitespace();
        if at < words || before.ends_with(single) || rest.is_empty() || rest.starts_with(single) {
            continue;
        }
        let next = code.partition_point(|span| span.end <= at);
        let in_code = code.get(next).is_some_and(|span| span.start < at);
        if !in_code && may_begin(rest) {
            out.push(before);
            start = at + 1;
        }
    }
    out.push(&line[start..]);
    out
}

/// The parts of a line that are inline code, with their backticks. A run of backticks without
/// another one of its length is text, and so is a backtick after a backslash.
fn code_spans(line: &str) -> Vec<Range<usize>> {
    let run = |from: usize| {
        let start = from + memchr::memchr(b'`', line.as_bytes().get(from..)?)?;
        let len = line.as_bytes()[start..].iter().take_while(|byte| **byte == b'`').count();
        Some(start..start + len)
    };
    let mut out = Vec::new();
    // Lengths of runs of which no other follows: a long line is not searched for each of them.
    let mut single = BTreeSet::new();
    let mut at = 0;
    while let Some(open) = run(at) {
        let slashes =
            line.as_bytes()[..open.start].iter().rev().take_while(|b| **b == b'\\').count();
        if slashes % 2 == 1 {
            at = open.start + 1;
            continue;
        }
        at = open.end;
        if single.contains(&open.len()) {
            continue;
        }
        let mut runs = std::iter::successors(run(at), |last| run(last.end));
        match runs.find(|close| close.len() == open.len()) {
            Some(close) => {
                at = close.end;
                out.push(open.start..at);
            }
            None => {
                single.insert(open.len());
            }
        }
    }
    out
}

/// The text with each paragraph and each list item on one line, as Markdown reads it.
pub(crate) fn unwrapped(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let breaks = fixed(&lines);
    let mut out = String::new();
    let mut open = false;
    for (line, is_fixed) in lines.into_iter().zip(breaks) {
        // An item of a list goes on at its margin, where other lines are code.
        let is_fixed = is_fixed && !(open && goes_on(last_line(&out), line));
        let quotation =
            line.trim_start().strip_prefix("> ").filter(|_| last_line(&out).contains("> "));
        let rest = quotation.unwrap_or(line).trim();
        if open && !is_fixed && !rest.is_empty() && may_begin(rest) {
            out.truncate(out.trim_end().len());
            out.push(' ');
            out.push_str(rest);
        } else {
            if !out.is_empty() || line.is_empty() {
                out.push('\n');
            }
            out.push_str(line.trim_end());
        }
        // Two spaces or a backslash at the end of a line are a break.
        open = !is_fixed && !rest.is_empty() && !line.ends_with("  ") && !line.ends_with('\\');
    }
    out
}

/// True if a line is at the margin of the list item above it.
fn goes_on(item: &str, line: &str) -> bool {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let marker = marker(item.trim_start_matches(' '));
    marker > 0 && indent(line) == indent(item) + marker && may_begin(line.trim_start_matches(' '))
}

fn last_line(text: &str) -> &str {
    text.rsplit('\n').next().unwrap_or_default()
}

/// True for text of nothing but what the line below a table's head consists of.
fn is_rule_text(text: &str) -> bool {
    text.chars().all(|c| "|-: ".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_and_items_become_one_line_and_code_stays() {
        let text = "One\ntwo\nthree.\n\n- an item\n  goes on\n  - below\n    it\n    and on\n\n\
                    > a\n> b\n\n```\nx\ny\n```\n\
                    | a |\n| - |\nbreak  \nhere\n\n    code\n    more";
        assert_eq!(
            unwrapped(text),
            "One two three.\n\n- an item goes on\n  - below it and on\n\n> a b\n\n```\nx\ny\n```\n| a |\n| - |\n\
             break\nhere\n\n    code\n    more"
        );
    }

    #[test]
    fn lines_break_at_single_spaces_outside_code() {
        let cut = |line| pieces(line, &may_begin);
        assert_eq!(cut("- one two"), ["- one", "two"]);
        assert_eq!(cut("run `git log -1` now"), ["run", "`git log -1`", "now"]);
        let long = format!("`{}`", ["--one"; 30].join(" "));
        let line = format!("run {long} now");
        assert_eq!(cut(&line), ["run", &long, "now"]);
        assert_eq!(cut("a `` b ` c `` d e"), ["a", "`` b ` c ``", "d", "e"]);
        assert_eq!(cut("a ` b \\`c d\\` e"), ["a", "` b \\`c", "d\\`", "e"]);
        assert_eq!(cut("a \\`b c` d `e f` `` g"), ["a", "\\`b", "c` d `e", "f`", "``", "g"]);
        assert_eq!(cut("a  b c - d"), ["a  b", "c -", "d"]);
        assert_eq!(cut("  2. x"), ["  2. x"]);
        assert_eq!(cut(""), [""]);
    }
}
