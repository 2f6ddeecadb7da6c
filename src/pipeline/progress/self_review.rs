//! How far the actor's own reading of its draft is.

use crate::git::Oid;

/// It changed files.
pub(crate) const REVISED: &str = "revised";
/// It changed nothing and found nothing that must change.
pub(crate) const PASSED: &str = "passed";
/// It changed nothing and could not fix what it found.
pub(crate) const NEEDS_REVISION: &str = "needs_revision";

/// How far the self-review of a stage is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum SelfReview {
    /// Not begun.
    #[default]
    Open,
    /// Begun on this draft.
    Begun(Oid),
    /// Done, and what came of it.
    Done(&'static str),
}

impl SelfReview {
    /// For the trailer of a kept draft.
    pub fn render(&self) -> String {
        match self {
            Self::Open => String::new(),
            Self::Begun(draft) => format!("begun {draft}"),
            Self::Done(outcome) => (*outcome).to_owned(),
        }
    }

    /// Reads that back.
    pub fn parse(text: &str) -> Self {
        if let Some(draft) = text.strip_prefix("begun ").and_then(|oid| oid.parse().ok()) {
            return Self::Begun(draft);
        }
        let outcome = [REVISED, PASSED, NEEDS_REVISION].into_iter().find(|known| *known == text);
        outcome.map_or(Self::Open, Self::Done)
    }

    /// What came of it; empty before it is done.
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Done(outcome) => outcome,
            Self::Open | Self::Begun(_) => "",
        }
    }

    /// The draft it reads.
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
    fn it_reads_back_from_its_trailer() {
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
