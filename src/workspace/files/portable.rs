//! Names of new files that not every system can check out, or that are not what they look like.

use crate::workspace::refusal::Refusal;

/// Names that are devices on Windows, whatever their extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// Those that have a number.
const NUMBERED: [&str; 2] = ["com", "lpt"];
/// Characters that Windows has in no name.
const FORBIDDEN: &str = "<>:\"|?*\\";

/// Refuses a path for a new file that a clone on another system would lack, or that reorders or hides
/// text where it is shown.
pub(crate) fn refuse(path: &str) -> Result<(), Refusal> {
    match objection(path) {
        Some(why) => Err(Refusal::failed(format!(
            "{} was not written: the name {why}; choose another one",
            path.escape_default()
        ))),
        None => Ok(()),
    }
}

/// What is wrong with a path for a new file, as the end of a sentence that begins with its name.
pub(crate) fn objection(path: &str) -> Option<String> {
    path.split('/').find_map(why_not)
}

fn why_not(name: &str) -> Option<String> {
    if let Some(c) = name.chars().find(|c| reorders(*c)) {
        return Some(format!("has the character U+{:04X}, which hides or reorders text", c as u32));
    }
    if let Some(c) = name.chars().find(|c| FORBIDDEN.contains(*c)) {
        return Some(format!("has {c:?}, so Windows cannot check it out"));
    }
    if name.ends_with(['.', ' ']) {
        return Some("ends with a dot or a space, so Windows cannot check it out".to_owned());
    }
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let numbered = NUMBERED.iter().any(|device| {
        let number = stem.strip_prefix(device);
        number.is_some_and(|number| matches!(number.as_bytes(), [b'1'..=b'9']))
    });
    let device = DEVICES.contains(&stem.as_str()) || numbered;
    device.then(|| "is a device on Windows, which cannot check it out".to_owned())
}

fn reorders(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_clone_elsewhere_would_lack() {
        for path in ["aux.c", "src/NUL", "a/com1.txt", "what?.md", "x:y", "dir./a", "end ", "a\\b"]
        {
            assert!(refuse(path).is_err(), "{path}");
        }
        for path in ["auxiliary.c", "com0", "com10.txt", ".gitignore", "ä/ü.md", "a..b", "console"]
        {
            assert!(refuse(path).is_ok(), "{path}");
        }
        let told = refuse("a\u{202e}txt.rs").unwrap_err().message;
        assert!(told.contains("U+202E") && !told.contains('\u{202e}'), "{told}");
    }
}
