//! Reports a command's output line by line while it runs.

use crate::activity::{Activity, Watch};
use crate::secret::Secrets;

/// Maximum number of bytes of a line that are reported.
const LONGEST: usize = 400;

/// Splits a stream into lines.
pub(crate) struct Lines {
    watch: Watch,
    secrets: Secrets,
    line: Vec<u8>,
}

impl Lines {
    pub(crate) fn new(watch: Watch, secrets: &Secrets) -> Self {
        Self { watch, secrets: secrets.clone(), line: Vec::new() }
    }

    /// Adds output; a line is reported once complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let room = LONGEST.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") || part.ends_with(b"\r") {
                let line = std::mem::take(&mut self.line);
                let line = String::from_utf8_lossy(&line);
                let line = self.secrets.withheld(line.trim_end()).into_owned();
                if !line.is_empty() {
                    (self.watch)(Activity::Prints { line, failed: None });
                }
            }
        }
    }
}

/// Reports a command as running until dropped.
pub(crate) struct Running(Watch);

impl Running {
    pub(crate) fn begin(watch: Watch, command: &str, secrets: &Secrets) -> Self {
        watch(Activity::Runs { command: secrets.withheld(command).into_owned() });
        Self(watch)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        (self.0)(Activity::Ran);
    }
}
