//! Describes the sandbox to a model before it writes a command, because each refused command costs
//! a turn.

use super::commands::{Sandbox, existing};

impl Sandbox {
    /// Describes what commands can access; empty if nothing is confined.
    pub(in crate::workspace) fn told(&self) -> String {
        if self.wanted.helper.is_none() {
            return String::new();
        }
        let network = if self.wanted.network { "" } else { "There is no network. " };
        let mut writable = vec!["$HOME (private, for caches)".to_owned(), "$TMPDIR".to_owned()];
        let more = existing(&self.wanted.writable);
        writable.extend(more.iter().map(|dir| dir.display().to_string()));
        format!("{network}Writable besides the project: {}.", writable.join(", "))
    }
}
