//! Answers that other terminals give to the gates of a run (`git cowork watch`).

use crate::choice::Chosen;
use crate::gate::{Decision, Elsewhere};
use crate::session::{GateAnswer, RunGates, Said};

/// Reads answers from other terminals.
pub(crate) struct FromElsewhere<'a>(pub &'a RunGates);

impl Elsewhere for FromElsewhere<'_> {
    fn has_answered(&self) -> bool {
        self.0.answer().is_some()
    }

    fn decide(&self) -> Option<Decision> {
        let GateAnswer { said, .. } = self.0.decide()?;
        match said {
            Said::Pass => Some(Decision::PassedElsewhere),
            Said::Feedback(text) => Some(Decision::Feedback(text)),
            Said::There | Said::Chose(_) => None,
        }
    }

    fn choose(&self) -> Option<Chosen> {
        match self.0.decide()?.said {
            Said::Chose(chosen) => Some(chosen),
            Said::Pass | Said::Feedback(_) | Said::There => None,
        }
    }
}
