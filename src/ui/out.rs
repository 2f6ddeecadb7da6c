//! Output streams of renderers, which may be closed, and short forms of numbers.

use std::io::Write;
use std::time::Duration;

use crate::wrap::columns;

/// An output stream. The command line provides it, so that tests can read it.
pub type Output = Box<dyn Write + Send>;

/// An [`Output`] that writes nothing more after its first failure.
pub(super) struct Out {
    stream: Output,
    broken: bool,
}

impl Out {
    pub(super) fn new(stream: Output) -> Self {
        Self { stream, broken: false }
    }

    pub(super) fn put(&mut self, text: &str) {
        if self.broken || text.is_empty() {
            return;
        }
        // After any failure, the next write would fail as well.
        let written = self.stream.write_all(text.as_bytes()).and_then(|()| self.stream.flush());
        self.broken = written.is_err();
    }

    pub(super) fn broken(&self) -> bool {
        self.broken
    }
}

/// Formats a duration: `41 s`, `3 min 4 s`, `1 h 2 min`.
pub(crate) fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns the width of the terminal behind standard output.
pub(crate) fn stdout_columns() -> usize {
    #[cfg(unix)]
    return columns(rustix::stdio::stdout());
    #[cfg(not(unix))]
    columns(&console::Term::stdout())
}

/// Shortens a commit id to as many characters as git shows by default.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_ids_are_short() {
        let times = [0, 41, 184, 3_720].map(|s| elapsed(Duration::from_secs(s)));
        assert_eq!(times, ["0 s", "41 s", "3 min 4 s", "1 h 2 min"]);
        assert_eq!((short("0123456789"), short("01")), ("0123456", "01"));
    }
}
