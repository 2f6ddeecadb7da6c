//! Evidence: the project's own tests, run by the program at a known tree, not told by a model.

use crate::git::Oid;
use crate::workspace::{CommandResult, Workspace};

/// Longest piece of output kept, in bytes from its end.
const TAIL: usize = 3_000;

/// What was run, on which tree, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The command.
    pub command: String,
    /// Its exit code; none when it was killed or could not run.
    pub exit: Option<i32>,
    /// It did not end in time.
    pub timed_out: bool,
    /// The tree it ran on.
    pub tree: Oid,
    /// The end of its output.
    pub tail: String,
}

impl Evidence {
    /// Runs `command` on the working tree, whose content is `tree`.
    pub async fn gather(
        workspace: &Workspace,
        command: &str,
        timeout_s: u64,
        tree: Oid,
    ) -> anyhow::Result<Self> {
        let result = workspace.run_trusted(command, Some(timeout_s)).await?;
        Ok(Self {
            command: command.to_owned(),
            exit: result.exit,
            timed_out: result.timed_out,
            tree,
            tail: tail(&result),
        })
    }

    /// True when it ended well.
    pub fn passed(&self) -> bool {
        self.exit == Some(0) && !self.timed_out
    }

    /// For prompts: what was run, how it ended and the end of its output.
    pub fn describe(&self) -> String {
        let said = if self.tail.trim().is_empty() { "(it printed nothing)" } else { &self.tail };
        format!("The program ran `{}` itself: {}.\n\n{said}", self.command, self.trailer())
    }

    /// The value of `Cowork-Checks`: `passed (cargo test)`, `failed (npm test, exit 1)`.
    pub fn trailer(&self) -> String {
        match self.exit {
            Some(0) if !self.timed_out => format!("passed ({})", self.command),
            Some(code) if !self.timed_out => format!("failed ({}, exit {code})", self.command),
            _ if self.timed_out => format!("failed ({}, timed out)", self.command),
            _ => format!("failed ({}, killed)", self.command),
        }
    }
}

/// `none` where nothing was run.
pub fn trailer(evidence: Option<&Evidence>) -> String {
    evidence.map_or_else(|| "none".to_owned(), Evidence::trailer)
}

fn tail(result: &CommandResult) -> String {
    // Where it worked all the same, nobody needs to know.
    let missing = if result.succeeded() { String::new() } else { result.missing.join("\n") };
    let both = format!("{}\n{}\n{missing}", result.stdout.trim_end(), result.stderr.trim_end());
    let both = both.trim();
    let mut from = both.len().saturating_sub(TAIL);
    while !both.is_char_boundary(from) {
        from += 1;
    }
    both[from..].to_owned()
}
