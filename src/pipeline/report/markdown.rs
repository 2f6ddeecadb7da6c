//! Escapes text of models and people for Markdown, and extracts the actor's own part of a report.

use console::measure_text_width as width;

use crate::markdown_lines::{is_fence, marker, may_begin, of_tables, pieces};

/// Maximum characters of a refusal.
pub(crate) const REASON: usize = 200;
/// No maximum: for what is never cut.
pub(crate) const WHOLE: usize = usize::MAX;
/// Maximum characters of a title in a table or graph.
pub(crate) const TITLE: usize = 60;

/// The words on one line.
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

/// Escapes words for Markdown: no HTML, no link, no mention by `@`. Code remains code if its
/// backticks are balanced.
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
            // A `|` ends a table cell even in code.
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

/// Words as a table cell, or as part of a line.
pub(crate) fn cell(words: &str, most: usize) -> String {
    text(&shortened(&one_line(words), most))
}

/// Reverts [`cell`].
pub(crate) fn uncelled(cell: &str) -> String {
    // `text` escapes all backticks if they are unbalanced, so an escaped one means that there is
    // no code.
    let code = !cell.contains("\\`");
    let (mut out, mut inside) = (String::new(), false);
    let mut rest = cell;
    while let Some(c) = rest.chars().next() {
        let entities = [("&lt;", '<'), ("&#64;", '@')];
        let entity = entities.into_iter().find(|(text, _)| !inside && rest.starts_with(text));
        if let Some((text, meant)) = entity {
            out.push(meant);
            rest = &rest[text.len()..];
            continue;
        }
        let next = rest[c.len_utf8()..].chars().next();
        match (c, next) {
            ('\\', Some(next @ ('\\' | '[' | ']' | '`' | '|'))) if !inside || next == '|' => {
                out.push(next);
                rest = &rest[1 + next.len_utf8()..];
                continue;
            }
            ('`', _) if code => inside = !inside,
            _ => {}
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// An item with as many of the words as fit on one line.
pub(crate) fn one_line_item(before: &str, words: &str) -> String {
    let fits = |most: &usize| width(before) + width(&cell(words, *most)) <= COLUMNS;
    let most = (1..=COLUMNS).rev().find(fits).unwrap_or(1);
    format!("{before}{}", cell(words, most))
}

/// As many of the paths as fit on two lines, of which `taken` columns are used already.
pub(crate) fn paths(files: &[String], taken: usize) -> String {
    let name = |path: &String| {
        let path = one_line(path).replace('`', "'").replace('|', "\\|");
        format!("`{path}`")
    };
    let room = (2 * COLUMNS).saturating_sub(taken + " and 1000 more".len() + 10);
    let mut out = String::new();
    for (at, path) in files.iter().map(name).enumerate() {
        if at > 0 && width(&out) + width(&path) > room {
            return format!("{out} and {} more", files.len() - at);
        }
        out += if at > 0 { ", " } else { "" };
        out += &path;
    }
    out
}

/// A report without the sections under these headings.
pub(crate) fn own_words(report: &str, ours: &[&str]) -> String {
    let mut skips = false;
    let mut in_fence = false;
    let mut text = String::new();
    for line in report.lines() {
        if !in_fence && (line.starts_with("# ") || line.starts_with("## ")) {
            skips = ours.iter().any(|head| line.trim_end().eq_ignore_ascii_case(head));
        }
        in_fence ^= is_fence(line);
        if !skips {
            text += line;
            text.push('\n');
        }
    }
    text.trim_end().to_owned()
}

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
    fn code_stays_code_and_all_else_is_text() {
        for (words, said) in [
            ("`add <text>` prints | the @id", "`add <text>` prints \\| the &#64;id"),
            ("`a|b`", "`a\\|b`"),
            ("one ` <b>", "one \\` &lt;b>"),
            ("``<b>``", "\\`\\`&lt;b>\\`\\`"),
            ("[l](u) \\", "\\[l\\](u) \\\\"),
        ] {
            assert_eq!(text(words), said);
            assert_eq!(uncelled(said), words);
        }
    }

    #[test]
    fn only_what_the_actor_wrote_is_kept() {
        let report =
            "T\n\n## Own\n\n```\n## A\n```\n\n## a\n\nmodel's\n\n### part\n\n## Last\n\nx\n";
        let own = "T\n\n## Own\n\n```\n## A\n```\n\n## Last\n\nx";
        assert_eq!(own_words(report, &["## A", "## B"]), own);
    }

    #[test]
    fn an_item_is_one_line_and_paths_are_two() {
        let item = one_line_item("- prd, by the critic: ", &"a < b @c ".repeat(40));
        assert!(width(&item) <= COLUMNS && width(&item) > 80, "{item}");
        assert!(item.ends_with('…'), "{item}");
        let files: Vec<String> = (0..40).map(|n| format!("src/module/file{n}.rs")).collect();
        let named = paths(&files, 20);
        assert!(width(&named) <= 180 && named.ends_with(" more"), "{named}");
        assert_eq!(paths(&files[..2], 20), "`src/module/file0.rs`, `src/module/file1.rs`");
        assert_eq!(paths(&["a|b`".to_owned()], 0), "`a\\|b'`");
    }

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
