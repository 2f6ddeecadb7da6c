//! What standard output may show: colours of ours and JSON, and nothing else a terminal obeys.

use crate::clean::{obeyed, sanitize};
use crate::palette;

/// What standard output may show: foreign text made harmless, and of colours only those of the
/// palette, where there are any.
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

/// JSON that says the same and holds nothing a terminal would obey: what JSON may hold as it is,
/// but no terminal should see, is written as an escape.
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
            // Beyond the first plane, two of them.
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
    fn of_colours_only_ours_pass() {
        let text = "\x1b[32mok\x1b[0m \x1b[8mhidden\x1b[0m \x1b]0;t\x07x\x1b[33";
        assert_eq!(painted(text, true), "\x1b[32mok\x1b[0m hidden\x1b[0m x");
        assert_eq!(painted(text, false), "ok hidden x");
    }

    #[test]
    fn json_says_the_same_without_what_a_terminal_obeys() {
        let value = serde_json::json!({"a": "\u{1b}[2J \u{9b}1m \u{202e} \u{e0041} \u{7f} ü"});
        let escaped = escaped_json(&value.to_string());
        assert!(!escaped.chars().any(obeyed), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        assert!(escaped.contains("ü"));
    }
}
