//! Removes control sequences from text of models, files and commands before a person sees it.

pub use crate::clean::marked as clean;

/// Like [`clean`], on one line: each run of white space becomes a single space.
pub fn clean_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cleans text that git coloured, keeping only git's colours. `plain` is the same text before git
/// coloured it, to distinguish git's colours from those in the text itself, which could hide parts
/// of it. `None` if `colored` is not `plain` with colours added.
pub fn clean_colored(plain: &str, colored: &str) -> Option<String> {
    let mut out = String::with_capacity(colored.len());
    let (mut plain, mut colored) = (plain, colored);
    loop {
        // Of two equal colours, one from git and one not, it does not matter which one remains.
        if let Some(color) = color(colored).filter(|color| !plain.starts_with(color)) {
            out.push_str(color);
            colored = &colored[color.len()..];
            continue;
        }
        if colored.is_empty() {
            return plain.is_empty().then_some(out);
        }
        let length = colored.char_indices().skip(1).find(|(_, c)| *c == '\u{1b}');
        let own =
            color(colored).map_or(0, str::len).max(length.map_or(colored.len(), |(at, _)| at));
        let (text, rest) = colored.split_at(own);
        plain = plain.strip_prefix(text)?;
        colored = rest;
        out.push_str(&clean(text));
    }
}

/// The colour sequence at the start of a text: `ESC [`, numbers, `m`.
fn color(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\x1b[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then(|| &text[..end + 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gits_own_colours_are_left() {
        let plain = "-a\n+\x1b[8mb\x1b[2J\x1b[31m\n";
        let colored = "\x1b[31m-a\x1b[m\n\x1b[31m+\x1b[31m\x1b[8mb\x1b[2J\x1b[31m\x1b[m\n";
        assert_eq!(
            clean_colored(plain, colored).as_deref(),
            Some("\x1b[31m-a\x1b[m\n\x1b[31m+\x1b[31mb\x1b[m\n")
        );
        assert_eq!(
            clean_colored("+a\r\n", "\x1b[32m+a\x1b[m\r\n").as_deref(),
            Some("\x1b[32m+a\x1b[m\n")
        );
        assert_eq!(clean_colored("a\x1b", "\x1b[1ma\x1b").as_deref(), Some("\x1b[1ma"));
        assert_eq!(clean_colored("", "").as_deref(), Some(""));
        // Text that git did not write, and sequences that are not colours, are rejected.
        assert_eq!(clean_colored("a", "\x1b[2Ja"), None);
        assert_eq!(clean_colored("a", "b"), None);
        assert_eq!(clean_colored("ab", "a"), None);
    }

    #[test]
    fn a_line_has_single_spaces() {
        assert_eq!(clean_line(" a\n\tb  c "), "a b c");
    }
}
