//! Markdown line by line: which lines are one paragraph, which keep their breaks, and where a line
//! of prose may be broken.

use console::measure_text_width as width;

/// Maximum columns of inline code that is kept on one line.
const CODE: usize = 60;

/// True if a line starts or ends a code block.
pub(crate) fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// For each line, whether it belongs to a table.
pub(crate) fn of_tables<S: AsRef<str>>(lines: &[S]) -> Vec<bool> {
    let rule = |line: &str| line.contains('|') && line.contains("--") && is_rule_text(line);
    let mut found = vec![false; lines.len()];
    for at in (0..lines.len()).filter(|at| rule(lines[*at].as_ref())) {
        let rows = lines[at..].iter().take_while(|line| !line.as_ref().trim().is_empty()).count();
        found[at.saturating_sub(1)..at + rows].fill(true);
    }
    found
}

/// For each line, whether its breaks have a meaning: code, tables, headings, HTML.
pub(crate) fn fixed<S: AsRef<str>>(lines: &[S]) -> Vec<bool> {
    let mut found = of_tables(lines);
    let mut fenced = false;
    for (line, fixed) in lines.iter().zip(&mut found) {
        let line = line.as_ref();
        let fence = is_fence(line);
        let indent = line.len() - line.trim_start_matches(' ').len();
        let code = indent >= 4 && marker(&line[indent..]) == 0;
        *fixed |= fenced || fence || code || line[indent..].starts_with(['#', '<', '|']);
        fenced ^= fence;
    }
    found
}

/// The length in bytes of a list's or quotation's marker, with the space after it.
pub(crate) fn marker(text: &str) -> usize {
    if ["- ", "* ", "+ ", "> "].iter().any(|mark| text.starts_with(mark)) {
        return 2;
    }
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let numbered = text[digits..].starts_with(". ") || text[digits..].starts_with(") ");
    if (1..=9).contains(&digits) && numbered { digits + 2 } else { 0 }
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
/// words, short inline code, and words with the ones after them that `may_begin` does not let
/// start a line. The parts begin after the line's own list marker.
pub(crate) fn pieces<'t>(line: &'t str, may_begin: &dyn Fn(&str) -> bool) -> Vec<&'t str> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let words = indent + marker(&line[indent..]);
    let mut out = Vec::new();
    let mut start = 0;
    for at in memchr::memchr_iter(b' ', line.as_bytes()) {
        let (before, rest) = (&line[start..at], &line[at + 1..]);
        let single = |c: char| c.is_whitespace();
        if at < words || before.ends_with(single) || rest.is_empty() || rest.starts_with(single) {
            continue;
        }
        let in_code = before.matches('`').count() % 2 == 1;
        let word = rest.split(' ').next().unwrap_or_default();
        if !(in_code && width(before) + width(word) < CODE) && may_begin(rest) {
            out.push(before);
            start = at + 1;
        }
    }
    out.push(&line[start..]);
    out
}

/// The text with each paragraph and each list item on one line, as Markdown reads it.
pub(crate) fn unwrapped(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let fixed = fixed(&lines);
    let mut out = String::new();
    let mut open = false;
    for (line, fixed) in lines.into_iter().zip(fixed) {
        let quoted =
            line.trim_start().strip_prefix("> ").filter(|_| last_line(&out).contains("> "));
        let rest = quoted.unwrap_or(line).trim();
        if open && !fixed && !rest.is_empty() && may_begin(rest) {
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
        open = !fixed && !rest.is_empty() && !line.ends_with("  ") && !line.ends_with('\\');
    }
    out
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
        let text = "One\ntwo\nthree.\n\n- an item\n  goes on\n- next\n\n> a\n> b\n\n```\nx\ny\n```\n\
                    | a |\n| - |\nbreak  \nhere\n\n    code\n    more";
        assert_eq!(
            unwrapped(text),
            "One two three.\n\n- an item goes on\n- next\n\n> a b\n\n```\nx\ny\n```\n| a |\n| - |\n\
             break\nhere\n\n    code\n    more"
        );
    }

    #[test]
    fn lines_break_at_single_spaces_outside_short_code() {
        let cut = |line| pieces(line, &may_begin);
        assert_eq!(cut("- one two"), ["- one", "two"]);
        assert_eq!(cut("run `git log -1` now"), ["run", "`git log -1`", "now"]);
        assert_eq!(cut("a  b c - d"), ["a  b", "c -", "d"]);
        assert_eq!(cut("  2. x"), ["  2. x"]);
        assert_eq!(cut(""), [""]);
    }
}
