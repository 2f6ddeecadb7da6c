//! Marks for bold text and code in lines that have not been laid out yet.

use crate::palette::{RESET, Slot, begins};
use crate::wrap::wrap;

/// Characters that mark the start and end of bold text and code until the text is broken into
/// lines. They have no width, and hardly any text contains them (Mongolian variation selectors).
/// Control characters would not work: `unicode-width` gives them a width.
const MARKS: [(char, Slot, bool); 4] = [
    ('\u{180b}', Slot::Header, true),
    ('\u{180c}', Slot::Header, false),
    ('\u{180d}', Slot::Code, true),
    ('\u{180f}', Slot::Code, false),
];

/// Replaces the marks of a line with colours.
pub(super) fn styled(line: &str, colors: bool) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match MARKS.iter().find(|(mark, ..)| *mark == c) {
            Some((_, slot, opens)) => match begins(*slot).filter(|_| colors) {
                Some(begin) if *opens => out.push_str(&begin),
                Some(_) => out.push_str(RESET),
                None => {}
            },
            None => out.push(c),
        }
    }
    out
}

/// Breaks a text into lines; marks that are open at the end of a line are closed there and opened
/// again in the next line.
pub(super) fn parts(text: &str, width: usize) -> Vec<String> {
    let mut open: Option<char> = None;
    let close = |mark: char| if mark == '\u{180b}' { '\u{180c}' } else { '\u{180f}' };
    let mut parts = Vec::new();
    for line in text.split('\n').flat_map(|line| wrap(line, width)) {
        let mut part: String = open.into_iter().collect();
        for c in line.chars() {
            match c {
                '\u{180b}' | '\u{180d}' => open = Some(c),
                '\u{180c}' | '\u{180f}' => open = None,
                _ => {}
            }
            part.push(c);
        }
        part.extend(open.map(close));
        parts.push(part);
    }
    parts
}
