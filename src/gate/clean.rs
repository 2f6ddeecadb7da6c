//! Text of models, files and commands, made harmless for a terminal.

/// Removes terminal control sequences; other control and direction-changing characters become
/// `U+FFFD`, so that a reader sees that something is there. Keeps line ends and tabs.
///
/// A sequence never swallows more than the rest of its line: otherwise a draft could hide from
/// the person who is to approve it.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\u{1b}' => match chars.peek().copied() {
                Some('[') => {
                    chars.next();
                    skip_csi(&mut chars);
                }
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    chars.next();
                    skip_string(&mut chars);
                }
                Some(' '..='~') => {
                    chars.next();
                }
                _ => {}
            },
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            c if c.is_control() || is_invisible(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// As [`clean`], on one line: white space of any kind becomes single spaces.
pub fn clean_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text as git coloured it, with everything but git's colours made harmless: `plain` is what it
/// was made of, so that a colour in the text itself, which could hide some of it, is told from one
/// of git's. `None` where the one is not the other with colours in it.
pub fn clean_colored(plain: &str, colored: &str) -> Option<String> {
    let mut out = String::with_capacity(colored.len());
    let (mut plain, mut colored) = (plain, colored);
    loop {
        // Two of the same, one git's and one not, are one of each in either order.
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

/// The colour a text begins with: `ESC [`, numbers, `m`.
fn color(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\x1b[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then(|| &text[..end + 3])
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Parameters and intermediates, then one final character.
fn skip_csi(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Up to BEL or ST, but not past the end of the line.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        if c == '\u{7}' || c == '\u{9c}' {
            return;
        }
        if c == '\u{1b}' {
            chars.next_if_eq(&'\\');
            return;
        }
    }
}

/// Direction overrides and zero-width characters that make text read differently than it is.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_go_and_text_stays() {
        assert_eq!(clean("a\x1b[31mred\x1b[0m b"), "ared b");
        assert_eq!(clean("\x1b]0;title\x07x\x1b]8;;u\x1b\\y"), "xy");
        assert_eq!(clean("\x1bcreset \u{9b}2Jx"), "reset x");
        assert_eq!(clean("one\r\ntwo\tthree\n"), "one\ntwo\tthree\n");
        assert_eq!(clean("große Größe ✓ 漢字"), "große Größe ✓ 漢字");
    }

    #[test]
    fn nothing_hides_behind_a_sequence_that_never_ends() {
        assert_eq!(clean("a\x1b]0;b\nrm -rf"), "a\nrm -rf");
        assert_eq!(clean("a\x1b[1;2\nb"), "a\nb");
    }

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
        // What git did not write, and what is no colour, never comes through.
        assert_eq!(clean_colored("a", "\x1b[2Ja"), None);
        assert_eq!(clean_colored("a", "b"), None);
        assert_eq!(clean_colored("ab", "a"), None);
    }

    #[test]
    fn what_cannot_be_seen_is_made_visible() {
        assert_eq!(clean("a\rb\x08c\u{202e}d\x07"), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}");
        assert_eq!(clean_line(" a\n\tb  c "), "a b c");
    }
}
