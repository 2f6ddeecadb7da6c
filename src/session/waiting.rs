//! A draft that waits on the session's branch, and the answer to it.

use super::{Entry, key};
use crate::stage::Stage;

/// A draft that waits for review, or that was answered and waits for `resume`.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Stage.
    pub stage: Stage,
    /// The draft commit.
    pub draft: Entry,
    /// The newest answer to the draft.
    pub answer: Option<Entry>,
}

impl Waiting {
    /// The model's question to the reviewer, on one line; `None` if it only asks for a review.
    pub fn reason(&self) -> Option<String> {
        let words: Vec<&str> = self.draft.body.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Why only a person's answer lets the stage go on, with the kind of reason before it.
    pub fn blocked(&self) -> Option<(&str, &str)> {
        self.draft.trailers.get(key::STUCK)?.split_once(' ')
    }

    /// The stage that the answer goes back to.
    pub fn goes_back(&self) -> Option<Stage> {
        self.answer.as_ref()?.trailers.get(key::BACK)?.parse().ok()
    }
}
