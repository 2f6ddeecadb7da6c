//! The state of the actor's self-review of its draft.

use crate::git::Oid;

/// The self-review changed files.
pub(crate) const REVISED: &str = "revised";
/// It changed nothing and found no problem that must be fixed.
pub(crate) const PASSED: &str = "passed";
/// It changed nothing and could not fix the problems it found.
pub(crate) const NEEDS_REVISION: &str = "needs_revision";

/// The state of a stage's self-review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum SelfReview {
    /// Not started.
    #[default]
    Open,
    /// Started on this draft.
    Begun(Oid),
    /// Done, with this outcome.
    Done(&'static str),
}

impl SelfReview {
    /// The value of a saved draft's trailer.
    pub fn render(&self) -> String {
        match self {
            Self::Open => String::new(),
            Self::Begun(draft) => format!("begun {draft}"),
            Self::Done(outcome) => (*outcome).to_owned(),
        }
    }

    /// Parses the output of [`render`](Self::render).
    pub fn parse(text: &str) -> Self {
        if let Some(draft) = text.strip_prefix("begun ").and_then(|oid| oid.parse().ok()) {
            return Self::Begun(draft);
        }
        let outcome = [REVISED, PASSED, NEEDS_REVISION].into_iter().find(|known| *known == text);
        outcome.map_or(Self::Open, Self::Done)
    }

    /// The outcome; empty before it is done.
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Done(outcome) => outcome,
            Self::Open | Self::Begun(_) => "",
        }
    }

    /// The draft under self-review.
    pub const fn reads(&self) -> Option<&Oid> {
        match self {
            Self::Begun(draft) => Some(draft),
            Self::Open | Self::Done(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_state_is_parsed_from_its_trailer() {
        let draft: Oid = "0123456789012345678901234567890123456789".parse().unwrap();
        for state in [
            SelfReview::Open,
            SelfReview::Begun(draft),
            SelfReview::Done(REVISED),
            SelfReview::Done(PASSED),
            SelfReview::Done(NEEDS_REVISION),
        ] {
            assert_eq!(SelfReview::parse(&state.render()), state);
        }
        for other in ["begun", "begun nothing", "rejected"] {
            assert_eq!(SelfReview::parse(other), SelfReview::Open, "{other}");
        }
    }
}
