//! Menu keys as data, so that a process in another terminal can offer the same menu.

use serde::{Deserialize, Serialize};

use crate::stage::Stage;

/// A key of a menu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The key.
    pub key: char,
    /// Description of its action in a few words.
    pub does: String,
    /// The input it needs.
    #[serde(default)]
    pub wants: Wants,
}

/// The input requested after a key was pressed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    /// No input.
    #[default]
    Nothing,
    /// A text, requested with this prompt.
    Text(String),
    /// One of these stages.
    OneOf(Vec<Stage>),
}

/// A pressed key and its input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// The key.
    pub key: char,
    /// The text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
}

impl Choice {
    /// Creates a key that needs no input.
    pub fn new(key: char, does: impl Into<String>) -> Self {
        Self { key, does: does.into(), wants: Wants::Nothing }
    }

    /// Sets the input that the key requires.
    #[must_use]
    pub fn wanting(self, wants: Wants) -> Self {
        Self { wants, ..self }
    }

    /// True if `chosen` is this key with the required input.
    pub fn fits(&self, chosen: &Chosen) -> bool {
        self.key == chosen.key
            && match &self.wants {
                Wants::Nothing => true,
                Wants::Text(_) => !chosen.text.trim().is_empty(),
                Wants::OneOf(stages) => chosen.stage.is_some_and(|stage| stages.contains(&stage)),
            }
    }
}

impl Chosen {
    /// A key without input.
    pub const fn key(key: char) -> Self {
        Self { key, text: String::new(), stage: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_fits_with_what_it_wants() {
        let retry = Choice::new('1', "retry");
        assert!(retry.fits(&Chosen::key('1')) && !retry.fits(&Chosen::key('2')));
        let guide = Choice::new('2', "guide").wanting(Wants::Text("what?".into()));
        assert!(!guide.fits(&Chosen { text: " ".into(), ..Chosen::key('2') }));
        assert!(guide.fits(&Chosen { text: "so".into(), ..Chosen::key('2') }));
        let back = Choice::new('g', "back").wanting(Wants::OneOf(vec![Stage::Prd]));
        assert!(!back.fits(&Chosen { stage: Some(Stage::Plan), ..Chosen::key('g') }));
        assert!(back.fits(&Chosen { stage: Some(Stage::Prd), ..Chosen::key('g') }));
    }
}
