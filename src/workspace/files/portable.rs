//! Checks the names of new files: refuses names that some systems cannot check out, and names that
//! hide or reorder text.

use crate::path_text::is_undecodable;
use crate::workspace::refusal::Refusal;

/// Names that are devices on Windows, whatever their extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// Device names followed by a digit.
const NUMBERED: [&str; 2] = ["com", "lpt"];
/// Characters not allowed in names on Windows.
const FORBIDDEN: &str = "<>:\"|?*\\";

/// Refuses a path for a new file that a clone on another system could not check out, or that
/// reorders or hides text when it is displayed.
pub(crate) fn refuse(path: &str) -> Result<(), Refusal> {
    match objection(path) {
        Some(why) => {
            Err(Refusal::failed(format!("{} was not written: {why}", path.escape_default())))
        }
        None => Ok(()),
    }
}

/// Returns the problem of a new file's path, as a clause, and what to do.
pub(crate) fn objection(path: &str) -> Option<String> {
    let why = path.split('/').find_map(why_not)?;
    Some(format!("its name {why}; choose another one"))
}

/// Refuses a path that systems do not take, before any of them is asked: a name longer than 255
/// bytes (ext4, APFS, NTFS), or a path longer than 1,000 (macOS takes 1,024 with the root).
pub(crate) fn refuse_long(path: &str) -> Result<(), Refusal> {
    const NAME: usize = 255;
    const PATH: usize = 1_000;
    const SHOWN: usize = 60;
    if path.len() <= PATH && path.split('/').all(|name| name.len() <= NAME) {
        return Ok(());
    }
    let begins: String = path.chars().take(SHOWN).collect();
    Err(Refusal::failed(format!(
        "{}… is longer than systems take: a name has at most {NAME} bytes, a path {PATH}",
        begins.escape_default()
    )))
}

fn why_not(name: &str) -> Option<String> {
    if name.contains(is_undecodable) {
        return Some("is not UTF-8, so macOS cannot check it out".to_owned());
    }
    if let Some(c) = name.chars().find(|c| reorders(*c)) {
        return Some(format!("has the character U+{:04X}, which hides or reorders text", c as u32));
    }
    if let Some(c) = name.chars().find(|c| c.is_control()) {
        let c = c as u32;
        return Some(format!(
            "has the control character U+{c:04X}, so Windows cannot check it out"
        ));
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
    fn names_that_other_systems_cannot_check_out_are_refused() {
        for path in [
            "aux.c",
            "src/NUL",
            "a/com1.txt",
            "what?.md",
            "x:y",
            "dir./a",
            "end ",
            "a\\b",
            "a\tb",
            "a\n## b",
        ] {
            assert!(refuse(path).is_err(), "{path}");
        }
        for path in ["auxiliary.c", "com0", "com10.txt", ".gitignore", "ä/ü.md", "a..b", "console"]
        {
            assert!(refuse(path).is_ok(), "{path}");
        }
        for path in ["n".repeat(256), vec!["d".repeat(200); 6].join("/")] {
            let told = refuse_long(&path).unwrap_err().message;
            assert!(told.len() < 200 && told.contains("longer than systems take"), "{told}");
        }
        assert!(refuse_long(&vec!["d".repeat(199); 5].join("/")).is_ok());
        let told = refuse("a\u{202e}txt.rs").unwrap_err().message;
        assert!(told.contains("U+202E") && !told.contains('\u{202e}'), "{told}");
    }
}
