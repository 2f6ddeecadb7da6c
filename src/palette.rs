//! The colors of the output: six slots, which a user configures with `color.cowork.<slot>` in git's
//! configuration, in git's color syntax. Other code decides whether output is colored at all.

use std::sync::OnceLock;

/// The purpose of a color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Headings, rules and emphasized text.
    Header,
    /// Transient text: thoughts, streamed text, the live lines.
    Dim,
    /// Failures.
    Error,
    /// Completed work.
    Success,
    /// Text that needs a person's attention.
    Warning,
    /// Code in text.
    Code,
}

/// Each slot with its name in the configuration and its default SGR parameters.
const SLOTS: [(Slot, &str, &str); 6] = [
    (Slot::Header, "header", "1"),
    (Slot::Dim, "dim", "2"),
    (Slot::Error, "error", "31"),
    (Slot::Success, "success", "32"),
    (Slot::Warning, "warning", "33"),
    (Slot::Code, "code", "36"),
];

/// Prefix of the configuration keys, as normalized by git.
pub const KEYS: &str = "color.cowork.";

/// Resets the color.
pub const RESET: &str = "\x1b[0m";

/// SGR parameters by slot; `None` if a slot is not colored.
type Codes = [Option<String>; SLOTS.len()];

static CHOSEN: OnceLock<Codes> = OnceLock::new();

/// Sets the user's colors from these settings, once per process; the last value of a key counts.
/// Returns a message for each invalid value; its slot keeps the default.
pub fn choose(settings: &[(String, String)]) -> Vec<String> {
    let (codes, wrong) = read(settings);
    // Colors that are already set come from the same configuration.
    let _ = CHOSEN.set(codes);
    wrong
}

/// Returns the text in the color of a slot.
pub fn paint(slot: Slot, text: &str) -> String {
    match begins(slot) {
        Some(begin) => format!("{begin}{text}{RESET}"),
        None => text.to_owned(),
    }
}

/// Returns the sequence that starts the color of a slot; `None` if it has no color.
pub fn begins(slot: Slot) -> Option<String> {
    let codes = CHOSEN.get_or_init(|| read(&[]).0);
    codes[slot as usize].as_ref().map(|code| format!("\x1b[{code}m"))
}

/// Returns every sequence that [`paint`] writes.
pub fn sequences() -> Vec<String> {
    let mut all: Vec<String> = SLOTS.iter().filter_map(|(slot, ..)| begins(*slot)).collect();
    all.push(RESET.to_owned());
    all
}

fn read(settings: &[(String, String)]) -> (Codes, Vec<String>) {
    let mut wrong = Vec::new();
    let codes = SLOTS.map(|(_, name, default)| {
        let is_it = |(key, _): &&(String, String)| key.strip_prefix(KEYS) == Some(name);
        let Some((key, value)) = settings.iter().rev().find(is_it) else {
            return Some(default.to_owned());
        };
        match parameters(value) {
            Ok(code) => code,
            Err(word) => {
                wrong.push(format!(
                    "{key}: '{word}' is not a colour; the default is used; see: git help config"
                ));
                Some(default.to_owned())
            }
        }
    });
    (codes, wrong)
}

const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/// Attributes with the parameters that switch them on and off.
const ATTRIBUTES: [(&str, u8, u8); 7] = [
    ("bold", 1, 22),
    ("dim", 2, 22),
    ("italic", 3, 23),
    ("ul", 4, 24),
    ("blink", 5, 25),
    ("reverse", 7, 27),
    ("strike", 9, 29),
];

/// Parses a color value of git's configuration (`color_parse` in git's `color.c`): `None` for no
/// color, otherwise the parameters of one SGR sequence.
///
/// # Errors
/// Returns the invalid word.
fn parameters(value: &str) -> Result<Option<String>, String> {
    let (mut colors, mut attributes, mut resets) = (Vec::new(), Vec::new(), false);
    for word in value.split_ascii_whitespace() {
        let lower = word.to_ascii_lowercase();
        if lower == "reset" {
            resets = true;
        } else if let Some(color) = color(&lower).filter(|_| colors.len() < 2) {
            colors.push(color);
        } else if let Some(attribute) = attribute(word) {
            // Git accepts attributes in lower case only.
            attributes.push(attribute);
        } else {
            return Err(word.to_owned());
        }
    }
    attributes.sort_unstable();
    attributes.dedup();
    // An empty parameter counts as zero, which resets.
    let mut parts: Vec<String> = resets.then(String::new).into_iter().collect();
    parts.extend(attributes.iter().map(u8::to_string));
    for (color, ground) in colors.into_iter().zip([0, 10]) {
        match color {
            GitColor::Normal => {}
            GitColor::Named(code) => parts.push((code + ground).to_string()),
            GitColor::Numbered(number) => parts.push(format!("{};5;{number}", 38 + ground)),
            GitColor::Mixed([r, g, b]) => parts.push(format!("{};2;{r};{g};{b}", 38 + ground)),
        }
    }
    Ok((!parts.is_empty()).then(|| parts.join(";")))
}

#[derive(Clone, Copy)]
enum GitColor {
    /// Unchanged.
    Normal,
    /// The parameter for the foreground; add 10 for the background.
    Named(u8),
    Numbered(u8),
    Mixed([u8; 3]),
}

fn color(word: &str) -> Option<GitColor> {
    let code_of =
        |name: &str| NAMES.iter().position(|candidate| *candidate == name).map(|at| at as u8);
    match word {
        "normal" | "-1" => return Some(GitColor::Normal),
        "default" => return Some(GitColor::Named(39)),
        _ => {}
    }
    if let Some(at) = code_of(word) {
        return Some(GitColor::Named(30 + at));
    }
    if let Some(at) = word.strip_prefix("bright").and_then(code_of) {
        return Some(GitColor::Named(90 + at));
    }
    if let Some(digits) = word.strip_prefix('#') {
        return mixed(digits).map(GitColor::Mixed);
    }
    let number: u8 = word.parse().ok()?;
    Some(match number {
        0..8 => GitColor::Named(30 + number),
        8..16 => GitColor::Named(90 + number - 8),
        _ => GitColor::Numbered(number),
    })
}

/// Parses `rrggbb`, or `rgb` with each digit doubled.
fn mixed(digits: &str) -> Option<[u8; 3]> {
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let part = |at: usize| match digits.len() {
        6 => u8::from_str_radix(digits.get(at * 2..at * 2 + 2)?, 16).ok(),
        3 => Some(u8::from_str_radix(digits.get(at..=at)?, 16).ok()? * 17),
        _ => None,
    };
    Some([part(0)?, part(1)?, part(2)?])
}

fn attribute(word: &str) -> Option<u8> {
    let find = |name: &str| ATTRIBUTES.iter().find(|(candidate, ..)| *candidate == name);
    let off = word.strip_prefix("no").map(|rest| rest.strip_prefix('-').unwrap_or(rest));
    find(word).map(|(_, on, _)| *on).or_else(|| find(off?).map(|(_, _, off)| *off))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Returns git's result for the value, outside a repository; `None` if git rejects the value.
    fn git(folder: &std::path::Path, value: &str) -> Option<String> {
        let file = folder.join("config");
        std::fs::write(&file, format!("[c]\n\tv = \"{value}\"\n")).unwrap();
        let ask = Command::new("git")
            .args(["config", "--file"])
            .arg(&file)
            .args(["--type=color", "--get", "c.v"])
            .current_dir(folder)
            .output()
            .unwrap();
        let said = String::from_utf8(ask.stdout).unwrap();
        ask.status.success().then(|| said.trim_end_matches('\n').to_owned())
    }

    #[test]
    fn values_are_parsed_as_by_git() {
        let folder = tempfile::tempdir().unwrap();
        for value in [
            "",
            "red",
            "bold RED",
            "Bold",
            "RESET",
            "red blue",
            "ul bold red black",
            "normal",
            "normal green",
            "-1",
            "brightcyan",
            "white brightblack",
            "0",
            "7",
            "8",
            "15",
            "16",
            "255",
            "3 200",
            "#ff8000",
            "#010203 #FFFFFF",
            "reset",
            "nobold",
            "no-dim",
            "noul",
            "no-blink",
            "noreverse",
            "noitalic",
            "no-strike",
            "bold nobold",
            "strike italic reverse blink",
            "dim dim",
            "red blue green",
            "256",
            "-2",
            "1x",
            "#12345",
            "#12345g",
            "purple",
            "bright",
            "true",
            "no-red",
            "underline",
        ] {
            let ours = parameters(value).ok();
            let ours = ours.map(|code| code.map_or(String::new(), |code| format!("\x1b[{code}m")));
            assert_eq!(ours, git(folder.path(), value), "{value:?}");
        }
        // Supported only by newer versions of git.
        assert_eq!(parameters("default default").unwrap().unwrap(), "39;49");
        assert_eq!(parameters("#f80").unwrap().unwrap(), "38;2;255;136;0");
        assert_eq!(parameters("reset bold red").unwrap().unwrap(), ";1;31");
    }

    #[test]
    fn the_last_value_counts_and_an_invalid_one_keeps_the_default() {
        let set = |pairs: &[(&str, &str)]| {
            let pair =
                |(name, value): &(&str, &str)| (format!("{KEYS}{name}"), (*value).to_owned());
            read(&pairs.iter().map(pair).collect::<Vec<_>>())
        };
        let (codes, wrong) = set(&[("error", "blue"), ("error", "magenta bold"), ("dim", "")]);
        assert_eq!((codes[2].as_deref(), codes[1].as_deref()), (Some("1;35"), None));
        assert_eq!((codes[0].as_deref(), wrong.len()), (Some("1"), 0));
        let (codes, wrong) = set(&[("error", "blue"), ("error", "redd"), ("unknown", "x")]);
        assert_eq!(codes[2].as_deref(), Some("31"));
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].starts_with("color.cowork.error: 'redd' is not a colour"), "{wrong:?}");
    }

    #[test]
    fn slots_are_painted_and_their_sequences_known() {
        for (at, (slot, _, code)) in SLOTS.into_iter().enumerate() {
            assert_eq!(slot as usize, at);
            assert_eq!(paint(slot, "x"), format!("\x1b[{code}mx\x1b[0m"));
            assert!(sequences().contains(&format!("\x1b[{code}m")));
        }
    }
}
