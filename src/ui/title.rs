//! The title of the terminal's window, and the progress that some show beside it (OSC 9;4), where
//! the terminal says that it knows them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Something was set, which is to be taken back at the end.
static IS_SET: AtomicBool = AtomicBool::new(false);

/// Variables by which terminals with a window tell their names.
const WINDOWS: [&str; 7] = [
    "TERM_PROGRAM",
    "VTE_VERSION",
    "WT_SESSION",
    "KITTY_WINDOW_ID",
    "ALACRITTY_WINDOW_ID",
    "KONSOLE_VERSION",
    "XTERM_VERSION",
];

/// What the terminal knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Knows {
    /// Titles.
    pub title: bool,
    /// Progress.
    pub progress: bool,
}

impl Knows {
    /// As the environment tells.
    pub fn of(env: &BTreeMap<String, String>) -> Self {
        let is = |name: &str, value: &str| env.get(name).is_some_and(|set| set == value);
        let program = |name| is("TERM_PROGRAM", name);
        Self {
            title: WINDOWS.iter().any(|name| env.contains_key(*name)),
            progress: env.contains_key("WT_SESSION")
                || is("ConEmuANSI", "ON")
                || program("WezTerm")
                || program("ghostty"),
        }
    }

    /// Sets the title, and how much of a hundred is done.
    pub(super) fn set(self, title: &str, percent: usize) -> String {
        let mut out = String::new();
        let first = (self.title || self.progress) && !IS_SET.swap(true, Ordering::Relaxed);
        if self.title {
            // The one there was is kept by the terminal.
            out += if first { "\x1b[22;0t" } else { "" };
            out += &format!("\x1b]0;{title}\x1b\\");
        }
        if self.progress {
            out += &format!("\x1b]9;4;1;{percent}\x1b\\");
        }
        out
    }

    /// Takes back what was set.
    pub(super) fn end(self) -> String {
        let was_set = (self.title || self.progress) && IS_SET.swap(false, Ordering::Relaxed);
        match was_set {
            true => {
                let title = if self.title { "\x1b[23;0t" } else { "" };
                let progress = if self.progress { "\x1b]9;4;0\x1b\\" } else { "" };
                format!("{title}{progress}")
            }
            false => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_terminal_knows_is_sent() {
        let env = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Knows::of(&pairs.collect())
        };
        assert_eq!(env(&[("TERM", "xterm-256color")]), Knows::default());
        assert_eq!(env(&[("VTE_VERSION", "7600")]), Knows { title: true, progress: false });
        assert_eq!(env(&[("TERM_PROGRAM", "ghostty")]), Knows { title: true, progress: true });
        assert_eq!(Knows::default().set("x", 1) + &Knows::default().end(), "");
    }
}
