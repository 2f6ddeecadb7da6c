//! Steps for feedback on a draft.

use super::{Step, Teller};
use crate::artifact::{BY_HAND, Feedback, Origin};
use crate::clock;
use crate::session::Entry;

impl Teller<'_> {
    /// The step for feedback in a commit.
    pub(super) fn feedback(&self, said: &Feedback, entry: &Entry) -> Step {
        let actor = if said.from == Origin::Human { &entry.author } else { said.from.name() };
        let mut step = self.blank(entry.time, "feedback", actor);
        step.timestamp.clone_from(&said.at);
        step.stage = Some(said.stage);
        step.from = Some(said.stage.to_string());
        step.to.clone_from(&step.from);
        step.decision = Some(said.decision());
        if let Some(stage) = said.goto_stage() {
            step.to = Some(stage.to_string());
        }
        step.iteration = Some(said.iteration);
        step.reason.clone_from(&said.details);
        step.severity = said.severity.name();
        if let Some(files) = said.extra.get(BY_HAND).and_then(|files| files.as_array()) {
            let names: Vec<&str> = files.iter().filter_map(|file| file.as_str()).collect();
            step.reason = names.join(", ");
        }
        // The commit that records the feedback is later than the draft it is about.
        let time = clock::parse_rfc3339(&said.at).unwrap_or(entry.time);
        step.order = (time, step.stage, said.iteration, 1);
        step
    }
}
