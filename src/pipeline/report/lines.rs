//! Lines of a report: at most [`COLUMNS`] wide, wrapped only where the Markdown keeps its meaning.

use console::measure_text_width as width;

use crate::markdown_lines::{is_fence, marker, may_begin, of_tables, pieces};

/// Maximum columns of a line.
pub(crate) const COLUMNS: usize = 100;

/// Markdown as lines, with long ones wrapped at spaces. Code blocks, tables and headings are not
/// wrapped, nor is a word that is wider than a line.
pub(crate) fn wrapped(markdown: &str) -> Vec<String> {
    let lines: Vec<&str> = markdown.lines().collect();
    let tables = of_tables(&lines);
    let mut out = Vec::new();
    let mut in_fence = false;
    for (line, table) in lines.into_iter().zip(tables) {
        let fence = is_fence(line);
        if in_fence || fence || table || line.starts_with(['#', '<']) || width(line) <= COLUMNS {
            out.push(line.trim_end().to_owned());
        } else {
            out.extend(broken(line));
        }
        in_fence ^= fence;
    }
    out
}

fn broken(line: &str) -> Vec<String> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let marker = marker(&line[indent..]);
    if indent >= 4 && marker == 0 {
        // An indented code block.
        return vec![line.trim_end().to_owned()];
    }
    let (margin, words) = line.split_at(indent + marker);
    let quote = margin.ends_with("> ");
    let below = if quote { margin.to_owned() } else { " ".repeat(margin.len()) };
    let mut out = Vec::new();
    let mut part = margin.to_owned();
    let mut begun = false;
    for piece in pieces(words.trim(), &may_begin) {
        if begun && width(&part) + 1 + width(piece) > COLUMNS {
            out.push(std::mem::replace(&mut part, below.clone()));
            begun = false;
        }
        if begun {
            part.push(' ');
        }
        part += piece;
        begun = true;
    }
    out.push(part);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_where_markdown_stays_the_same() {
        let long = "word ".repeat(30);
        let text = format!("{long}\n\n- {long}\n  1. {long}\n> {long}");
        let lines = wrapped(&text);
        assert!(lines.iter().all(|line| width(line) <= COLUMNS), "{lines:?}");
        let starts: Vec<&str> = lines.iter().map(|line| &line[..line.len().min(6)]).collect();
        let five =
            ["word w", "word w", "", "- word", "  word", "  1. w", "     w", "> word", "> word"];
        assert_eq!(starts, five);
        let again = wrapped(&lines.join("\n"));
        assert_eq!(again, lines);
    }

    #[test]
    fn nothing_becomes_a_heading_a_list_or_a_rule() {
        for mark in ["-", "#", "1.", "---", "===", ">", "|", "<div>", "+"] {
            let text = format!("{} {mark} end", "x".repeat(COLUMNS - 1));
            let lines = wrapped(&text);
            assert!(lines.iter().all(|line| !line.starts_with(mark)), "{lines:?}");
        }
        let code = format!("`cargo  run -- add{}`", " --loud".repeat(20));
        let text = format!("- {} {code} end", "x ".repeat(46).trim());
        assert_eq!(wrapped(&text)[1..], [format!("  {code}"), "  end".to_owned()]);
    }

    #[test]
    fn tables_code_and_addresses_stay_whole() {
        let long = "word ".repeat(30);
        let row = format!("{} | b", long.trim());
        let text = format!("a | b\n--- | ---\n{row}\n\n```\n{long}\n```\n\n    {long}\n");
        let lines = wrapped(&text);
        assert!(lines.contains(&row), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.trim() == long.trim()).count(), 2, "{lines:?}");
        let address = format!("https://example.org/{}", "a".repeat(120));
        assert_eq!(wrapped(&format!("see {address} there")), ["see", &address, "there"]);
    }
}
