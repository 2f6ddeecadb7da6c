//! What the actor says about the code of a stage: about the whole, then about each correction of
//! it. Saved with every draft, so that the stage's commit tells all of it.

use crate::agent::Conversation;
use crate::session::{Trailers, key};

/// Begins the value of a trailer with the words about the whole.
const WHOLE: &str = "whole: ";
/// Begins the value of a trailer with the words about a correction.
const CORRECTED: &str = "corrected: ";

/// The actor's words about the code, in order, each as the value of a trailer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodeWords(Vec<String>);

impl CodeWords {
    /// The words that a draft's trailers contain.
    pub(crate) fn of(trailers: &Trailers) -> Self {
        Self(trailers.all(key::CODE_SAID).map(str::to_owned).collect())
    }

    /// The values of the trailers.
    pub(crate) fn values(&self) -> &[String] {
        &self.0
    }

    /// Adds the words of a conversation, which `corrects` existing code.
    pub(crate) fn note(&mut self, conversation: &Conversation, corrects: bool) {
        let first = if corrects || !self.0.is_empty() { CORRECTED } else { WHOLE };
        for (begin, words) in [(first, &conversation.text), (CORRECTED, &conversation.corrected)] {
            if !words.trim().is_empty() {
                self.0.push(format!("{begin}{}", words.trim()));
            }
        }
    }

    /// The words about the whole; empty if there are none.
    pub(crate) fn whole(&self) -> &str {
        self.0.iter().find_map(|one| one.strip_prefix(WHOLE)).unwrap_or_default()
    }

    /// The words about each correction.
    pub(crate) fn corrections(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|one| one.strip_prefix(CORRECTED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_are_about_the_whole_and_later_ones_about_corrections() {
        let said = |text: &str, corrected: &str| Conversation {
            text: text.into(),
            corrected: corrected.into(),
            ..Conversation::default()
        };
        let mut words = CodeWords::default();
        words.note(&said("It adds.", "The `?` is there."), false);
        words.note(&said("Named the file.", ""), false);
        let mut trailers = Trailers::default();
        words.values().iter().for_each(|one| trailers.push(key::CODE_SAID, one));
        assert_eq!(CodeWords::of(&trailers), words);
        assert_eq!(words.whole(), "It adds.");
        let corrections: Vec<&str> = words.corrections().collect();
        assert_eq!(corrections, ["The `?` is there.", "Named the file."]);
        let mut words = CodeWords::default();
        words.note(&said("Named the file.", ""), true);
        assert_eq!((words.whole(), words.corrections().count()), ("", 1));
    }
}
