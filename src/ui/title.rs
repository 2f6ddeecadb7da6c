//! The title of the terminal's window, the progress that some terminals show beside it (OSC 9;4),
//! and desktop notifications (OSC 9, OSC 777), for terminals that are known to support them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::clean::one_line;

/// The title or the progress was set and must be restored at the end.
static IS_SET: AtomicBool = AtomicBool::new(false);

/// Variables by which terminals with a window can be recognized.
const WINDOWS: [&str; 7] = [
    "TERM_PROGRAM",
    "VTE_VERSION",
    "WT_SESSION",
    "KITTY_WINDOW_ID",
    "ALACRITTY_WINDOW_ID",
    "KONSOLE_VERSION",
    "XTERM_VERSION",
];

/// Features that the terminal supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Knows {
    /// Window titles.
    pub title: bool,
    /// Progress.
    pub progress: bool,
    /// Desktop notifications.
    pub message: Option<Message>,
}

/// The control sequence for a desktop notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// `OSC 9`: the text.
    Osc9,
    /// `OSC 777`: a title and the text.
    Osc777,
}

impl Knows {
    /// Detects the features from the environment.
    pub fn of(env: &BTreeMap<String, String>) -> Self {
        let is = |name: &str, value: &str| env.get(name).is_some_and(|set| set == value);
        let program = |name| is("TERM_PROGRAM", name);
        Self {
            title: WINDOWS.iter().any(|name| env.contains_key(*name)),
            progress: env.contains_key("WT_SESSION")
                || is("ConEmuANSI", "ON")
                || program("WezTerm")
                || program("ghostty"),
            message: if ["iTerm.app", "WezTerm", "ghostty"].into_iter().any(program) {
                Some(Message::Osc9)
            } else {
                let term = env.get("TERM").map_or("", String::as_str);
                let shows = ["foot", "rxvt-unicode"].iter().any(|name| term.starts_with(name));
                shows.then_some(Message::Osc777)
            },
        }
    }

    /// Returns the control sequence that shows a desktop notification.
    pub(super) fn message(self, text: &str) -> String {
        // A semicolon would end the text of OSC 777.
        let text = one_line(text, 200).replace(';', ",");
        match self.message {
            Some(Message::Osc9) => format!("\x1b]9;{text}\x1b\\"),
            Some(Message::Osc777) => format!("\x1b]777;notify;git cowork;{text}\x1b\\"),
            None => String::new(),
        }
    }

    /// Returns the control sequences that set the title and the progress in percent.
    pub(super) fn set(self, title: &str, percent: usize) -> String {
        let mut out = String::new();
        let first = (self.title || self.progress) && !IS_SET.swap(true, Ordering::Relaxed);
        if self.title {
            // The terminal saves the previous title.
            out += if first { "\x1b[22;0t" } else { "" };
            out += &format!("\x1b]0;{title}\x1b\\");
        }
        if self.progress {
            out += &format!("\x1b]9;4;1;{percent}\x1b\\");
        }
        out
    }

    /// Returns the control sequences that restore the title and remove the progress.
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
    fn only_supported_sequences_are_sent() {
        let env = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Knows::of(&pairs.collect())
        };
        assert_eq!(env(&[("TERM", "xterm-256color")]), Knows::default());
        assert_eq!(env(&[("VTE_VERSION", "7600")]), Knows { title: true, ..Knows::default() });
        let message = Some(Message::Osc9);
        assert_eq!(
            env(&[("TERM_PROGRAM", "ghostty")]),
            Knows { title: true, progress: true, message }
        );
        assert_eq!(env(&[("TERM_PROGRAM", "Apple_Terminal")]).message("x"), "");
        let foot = env(&[("TERM", "foot-extra")]).message("a;b\x1b\\ c");
        assert_eq!(foot, "\x1b]777;notify;git cowork;a,b c\x1b\\");
        assert_eq!(Knows::default().set("x", 1) + &Knows::default().end(), "");
    }
}
