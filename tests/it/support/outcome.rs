//! How a program ended, and its output.

use serde_json::Value;

/// How a program ended.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code; 128 + n after signal n.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    /// The command line, for messages.
    pub(super) what: String,
}

impl Outcome {
    /// Fails the test unless the program exited with this code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "{}\n--- stdout\n{}\n--- stderr\n{}",
            self.what, self.stdout, self.stderr
        );
        self
    }

    /// Fails the test unless the program was killed (or killed itself).
    #[track_caller]
    pub fn was_killed(self) -> Self {
        let (kill, abort) = (128 + 9, 128 + 6);
        let code = if self.code == abort { abort } else { kill };
        self.exits(code)
    }

    /// Fails the test unless standard error contains this text (ignoring case).
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(
            self.stderr.to_lowercase().contains(&text.to_lowercase()),
            "{}: no '{text}' in\n{}",
            self.what,
            self.stderr
        );
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{}: {error} in\n{}", self.what, self.stdout))
    }

    /// Standard output as one JSON value for each line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{}: {error} in\n{line}", self.what))
        };
        self.stdout.lines().map(parse).collect()
    }
}
