//! Makes standard output safe for a terminal: only git-cowork's own colours and JSON pass, no other
//! control sequences.

use crate::clean::{obeyed, sanitize};
use crate::palette;

/// Returns the text with control sequences removed, except the colours of the palette if `colors`
/// is set.
pub fn painted(text: &str, colors: bool) -> String {
    if !colors {
        return sanitize(text);
    }
    let ours = palette::sequences();
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    loop {
        let found = |code: &String| Some((rest.find(code.as_str())?, code.len()));
        let next = ours.iter().filter_map(found).min();
        let Some((at, length)) = next else { return out + &sanitize(rest) };
        out.push_str(&sanitize(&rest[..at]));
        out.push_str(&rest[at..at + length]);
        rest = &rest[at + length..];
    }
}

/// Returns equivalent JSON without control characters: characters that JSON allows unescaped but a
/// terminal would interpret are written as escapes.
pub fn escaped_json(json: &str) -> String {
    let plain = |c: char| matches!(c, '\n' | '\t') || !obeyed(c);
    if json.chars().all(plain) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if plain(c) {
            out.push(c);
        } else {
            // A character outside the basic plane needs two escapes.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_of_the_palette_pass() {
        let text = "\x1b[32mok\x1b[0m \x1b[8mhidden\x1b[0m \x1b]0;t\x07x\x1b[33";
        assert_eq!(painted(text, true), "\x1b[32mok\x1b[0m hidden\x1b[0m x");
        assert_eq!(painted(text, false), "ok hidden x");
    }

    #[test]
    fn json_is_equivalent_without_control_characters() {
        let value = serde_json::json!({"a": "\u{1b}[2J \u{9b}1m \u{202e} \u{e0041} \u{7f} ü"});
        let escaped = escaped_json(&value.to_string());
        assert!(!escaped.chars().any(obeyed), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        assert!(escaped.contains("ü"));
    }
}
