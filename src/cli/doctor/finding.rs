//! One thing that was looked at: what was seen, and what helps where something is wrong.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::cli::terminal::paint::Paint;
use crate::error::hints_of;
use crate::wrap::hanging;

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// As it should be.
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

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// What was looked at, in one word.
    check: &'static str,
    pub(crate) state: State,
    /// What was seen.
    text: String,
    /// What helps, each a command or a setting that can be pasted.
    fixes: Vec<String>,
    /// What the lines of `fixes` begin with; those of an error are hints.
    label: &'static str,
}

/// Where what was seen begins.
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

    /// An error that every session would end with.
    pub(crate) fn of_error(check: &'static str, error: &anyhow::Error) -> Self {
        Self::hinted(check, &format!("{error:#}"), hints_of(error))
    }

    /// The same of an error that was told in words.
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

    /// With more words behind what was seen.
    #[must_use]
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.text.push_str(more);
        self
    }

    /// No less than a warning: it will be asked about.
    #[must_use]
    pub(crate) fn at_least_a_warning(mut self) -> Self {
        if self.state == State::Ok {
            self.state = State::Warning;
        }
        self
    }

    /// No more than a warning: nothing needs it.
    #[must_use]
    pub(crate) fn not_needed(mut self) -> Self {
        if self.state == State::Problem {
            self.state = State::Warning;
        }
        self
    }

    /// One line, and one for each fix. What was seen is wrapped where there is a width; fixes never are.
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
