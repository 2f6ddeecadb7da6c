//! The result of one check: what was found, and how to fix it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::cli::terminal::paint::Paint;
use crate::error::hints_of;
use crate::wrap::hanging;

/// The state of what was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No problem.
    Ok,
    /// Sessions run, but something is missing or surprising.
    Warning,
    /// Sessions do not run.
    Problem,
}

impl State {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// The result of one check.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The subject of the check, in one word.
    check: &'static str,
    pub(crate) state: State,
    /// What was found.
    text: String,
    /// The fixes, each a command or a setting that can be pasted.
    fixes: Vec<String>,
    /// The label of the lines of `fixes`: `fix`, or `hint` for an error.
    label: &'static str,
}

/// The column at which the text begins.
const INDENT: usize = 24;

impl Finding {
    pub(crate) fn ok(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, state: State::Ok, text: text.into(), fixes: Vec::new(), label: "fix" }
    }

    pub(crate) fn warning(check: &'static str, text: impl Into<String>) -> Self {
        Self { state: State::Warning, ..Self::ok(check, text) }
    }

    pub(crate) fn problem(check: &'static str, text: impl Into<String>) -> Self {
        Self { state: State::Problem, ..Self::ok(check, text) }
    }

    /// A finding for an error that would stop every session.
    pub(crate) fn of_error(check: &'static str, error: &anyhow::Error) -> Self {
        Self::hinted(check, &format!("{error:#}"), hints_of(error))
    }

    /// Like [`Self::of_error`], but for an error given as text.
    pub(crate) fn hinted(check: &'static str, text: &str, hints: &[String]) -> Self {
        let finding = Self::problem(check, text).fixed_by(hints.iter().cloned());
        Self { label: "hint", ..finding }
    }

    #[must_use]
    pub(crate) fn fix(self, fix: impl Into<String>) -> Self {
        self.fixed_by([fix.into()])
    }

    #[must_use]
    pub(crate) fn fixed_by(mut self, fixes: impl IntoIterator<Item = String>) -> Self {
        self.fixes.extend(fixes.into_iter().filter(|fix| !fix.is_empty()));
        self
    }

    /// Appends to the text.
    #[must_use]
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.text.push_str(more);
        self
    }

    /// Raises an `Ok` finding to a warning, because a run asks the user about what was found.
    #[must_use]
    pub(crate) fn at_least_a_warning(mut self) -> Self {
        if self.state == State::Ok {
            self.state = State::Warning;
        }
        self
    }

    /// Lowers a problem to a warning, because nothing needs what was checked.
    #[must_use]
    pub(crate) fn not_needed(mut self) -> Self {
        if self.state == State::Problem {
            self.state = State::Warning;
        }
        self
    }

    /// Formats the finding: one line for its text, and one for each fix. The text is wrapped if
    /// there is a width; fixes are never wrapped.
    pub(crate) fn lines(&self, width: Option<usize>, paint: &Paint) -> String {
        let word = format!("{:<8}", self.state.word());
        let word = match self.state {
            State::Ok => paint.green(&word),
            State::Warning => paint.yellow(&word),
            State::Problem => paint.red(&word),
        };
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = match width {
            Some(width) => hanging(&text, width, INDENT),
            None => text,
        };
        let mut out = format!("{word} {:<14} {text}\n", self.check);
        for fix in &self.fixes {
            let _ = writeln!(out, "{:INDENT$}{}: {fix}", "", self.label);
        }
        out
    }

    pub(crate) fn json(&self) -> Value {
        let Self { check, state, text, fixes, .. } = self;
        json!({ "check": check, "state": state.word(), "text": text, "fixes": fixes })
    }
}
