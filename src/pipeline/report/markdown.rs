//! Words of models and people as Markdown that holds nothing but words, and our sections in a report.

use std::fmt::Write as _;

/// Characters of a refusal.
pub(crate) const REASON: usize = 200;
/// Characters of a title in a table or graph.
pub(crate) const TITLE: usize = 60;

/// Files of a task that are named.
pub(crate) const FILES: usize = 8;

/// A Markdown table. Cells are made by [`cell`] or [`paths`].
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let rule: Vec<String> = head.iter().map(|_| "---".to_owned()).collect();
    let mut out = line(&head) + &line(&rule);
    rows.iter().for_each(|row| out += &line(row));
    out
}

/// Words on one line.
fn one_line(words: &str) -> String {
    let words = words.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn shortened(words: &str, most: usize) -> String {
    if words.chars().count() <= most {
        return words.to_owned();
    }
    let cut: String = words.chars().take(most.saturating_sub(1)).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(head, _)| head);
    format!("{cut}…")
}

/// Words as text in Markdown: no HTML, no link, nobody is called by `@`. Code stays code where its
/// backticks are in order.
fn text(words: &str) -> String {
    let words = one_line(words);
    let code = words.matches('`').count().is_multiple_of(2) && !words.contains("``");
    let mut inside = false;
    let mut out = String::new();
    for c in words.chars() {
        match c {
            '`' if code => {
                inside = !inside;
                out.push(c);
            }
            // A table ends its cells in code, too.
            '|' => out += "\\|",
            c if inside => out.push(c),
            '<' => out += "&lt;",
            '@' => out += "&#64;",
            '\\' | '[' | ']' | '`' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Words as a cell of a table, or on a line.
pub(crate) fn cell(words: &str, most: usize) -> String {
    text(&shortened(&one_line(words), most))
}

/// Paths as a cell.
pub(crate) fn paths(files: &[String]) -> String {
    let name =
        |path: &String| format!("`{}`", one_line(path).replace('`', "'").replace('|', "\\|"));
    let mut names: Vec<String> = files.iter().take(FILES).map(name).collect();
    if files.len() > FILES {
        names.push(format!("and {} more", files.len() - FILES));
    }
    names.join(", ")
}

/// Words as a label of a Mermaid node, between double quotes: its own escapes for all that could
/// end the label, begin a directive, or be markup.
pub(crate) fn label(words: &str) -> String {
    let mut out = String::new();
    for c in shortened(&one_line(words), TITLE).chars() {
        match c {
            '"' | '#' | '<' | '>' | '&' | '`' | '%' | ';' | '\\' | '{' | '}' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// The report with our sections at its end, whatever stood under these headings before.
pub(crate) fn with_sections(report: &str, sections: &[(&str, String)]) -> String {
    let mut ours = false;
    let mut fenced = false;
    let mut kept = String::new();
    for line in report.lines() {
        let heading = !fenced && (line.starts_with("# ") || line.starts_with("## "));
        if heading {
            ours = sections.iter().any(|(head, _)| line.trim_end().eq_ignore_ascii_case(head));
        }
        if !ours {
            fenced ^= is_fence(line);
            kept += line;
            kept.push('\n');
        } else if is_fence(line) {
            fenced = !fenced;
        }
    }
    let mut out = kept.trim_end().to_owned();
    if kept.lines().filter(|line| is_fence(line)).count() % 2 == 1 {
        // A code block nobody closed would take our sections in.
        out += "\n```";
    }
    for (heading, section) in sections {
        let _ = write!(out, "\n\n{heading}\n\n{}", section.trim());
    }
    out + "\n"
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_code_and_all_else_is_text() {
        for (words, said) in [
            ("`add <text>` prints | the @id", "`add <text>` prints \\| the &#64;id"),
            ("`a|b`", "`a\\|b`"),
            ("one ` <b>", "one \\` &lt;b>"),
            ("``<b>``", "\\`\\`&lt;b>\\`\\`"),
            ("[l](u) \\", "\\[l\\](u) \\\\"),
        ] {
            assert_eq!(text(words), said);
        }
    }

    #[test]
    fn sections_are_written_once_and_after_the_models_words() {
        let ours = |item: &str| vec![("## A", item.to_owned()), ("## B", "b".to_owned())];
        let once = with_sections(
            "T\n\n## Own\n\n```\n## A\n```\n\n## a\n\nmodel's\n\n### part\n",
            &ours("1"),
        );
        assert_eq!(once, "T\n\n## Own\n\n```\n## A\n```\n\n## A\n\n1\n\n## B\n\nb\n");
        assert_eq!(with_sections(&once, &ours("2")), once.replace("\n1\n", "\n2\n"));
        let open = with_sections("T\n\n```sh\nnever closed", &ours("1"));
        assert!(open.contains("never closed\n```\n\n## A"), "{open}");
    }
}
