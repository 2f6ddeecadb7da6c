//! Colours for standard output.

use crate::palette::{self, Slot};

/// Adds colours to text if `on` is true.
pub(crate) struct Paint {
    /// True if colours are added.
    pub on: bool,
}

impl Paint {
    pub(crate) fn green(&self, text: &str) -> String {
        self.with(Slot::Success, text)
    }

    pub(crate) fn yellow(&self, text: &str) -> String {
        self.with(Slot::Warning, text)
    }

    pub(crate) fn red(&self, text: &str) -> String {
        self.with(Slot::Error, text)
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.with(Slot::Dim, text)
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        self.with(Slot::Header, text)
    }

    /// The value of `Cowork-Checks`, red if a check fails that did not fail before the session.
    pub(crate) fn checks(&self, checks: &str) -> String {
        let mut failed = checks.split("failed (").skip(1);
        if failed.any(|rest| !rest.contains(", as before)")) {
            self.red(checks)
        } else {
            checks.to_owned()
        }
    }

    fn with(&self, slot: Slot, text: &str) -> String {
        if self.on { palette::paint(slot, text) } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fails_newly_is_red() {
        let paint = Paint { on: true };
        for (checks, red) in [
            ("passed (make)", false),
            ("failed (make test, exit 1, as before); passed (make)", false),
            ("failed (make test, exit 1); passed (make)", true),
            ("failed (make test, exit 1, as before); failed (make lint, exit 1)", true),
        ] {
            assert_eq!(paint.checks(checks).starts_with("\u{1b}[31m"), red, "{checks}");
        }
    }
}
