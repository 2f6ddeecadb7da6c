//! Colours of what goes to standard output, or none.

/// Paints when it is on.
pub(super) struct Paint {
    /// Whether it does.
    pub on: bool,
}

impl Paint {
    pub(super) fn green(&self, text: &str) -> String {
        self.with("32", text)
    }

    pub(super) fn yellow(&self, text: &str) -> String {
        self.with("33", text)
    }

    fn with(&self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
