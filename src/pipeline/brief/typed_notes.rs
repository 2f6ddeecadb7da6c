//! What a person types while the actor works, as the actor is told it, and as it is recorded: feedback
//! of severity minor, which refuses no draft and restarts no count.

use crate::agent::{Note, Notes};
use crate::artifact::{Feedback, FeedbackType, Origin, Severity};
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::sections::section;
use crate::pipeline::prompts::{NOTE, Variables};
use crate::pipeline::run::Run;
use crate::session::TypedNote;

/// Bytes of what is told again.
const AGAIN: usize = 16_000;

/// What is typed for the actor of a part.
pub(crate) struct ForActor<'a> {
    pub run: &'a Run<'a>,
    pub part: &'a Part<'a>,
}

impl ForActor<'_> {
    fn entry(&self, at: &str, text: &str) -> Feedback {
        let (stage, iteration) = (self.part.spec.stage, self.part.iteration);
        Feedback {
            at: at.to_owned(),
            feedback_type: FeedbackType::Suggestion,
            severity: Severity::Minor,
            ..self.run.feedback(stage, iteration, Origin::Human, text)
        }
    }
}

impl Notes for ForActor<'_> {
    fn waiting(&self) -> anyhow::Result<Vec<Note>> {
        let waiting = self.run.env.typed.waiting().into_iter();
        waiting
            .map(|TypedNote { at, text }| {
                let variables = Variables { note: text.clone(), ..self.part.variables.clone() };
                Ok(Note { told: self.run.env.prompts.render(NOTE, &variables)?, at, text })
            })
            .collect()
    }

    fn told(&self, notes: &[Note]) -> anyhow::Result<()> {
        // A run that is killed in between tells it again, and finds it in the transcript.
        let entries = notes.iter().map(|note| self.entry(&note.at, &note.text));
        self.run.give_feedback(entries.collect())?;
        let known = |note: &Note| TypedNote { at: note.at.clone(), text: note.text.clone() };
        self.run.env.typed.told(&notes.iter().map(known).collect::<Vec<_>>());
        Ok(())
    }
}

/// What was typed for a part's actor since it was asked: told again where its conversation starts again.
pub(crate) fn told_since(run: &Run<'_>, part: &Part<'_>) -> anyhow::Result<String> {
    let said = run.feedback_so_far()?.into_iter().filter(|entry| {
        (entry.stage, entry.iteration) == (part.spec.stage, part.iteration)
            && entry.is_note()
            && !part.variables.feedback.iter().any(|item| item.details == entry.details)
    });
    let notes: Vec<String> = said.map(|entry| format!("- {}", entry.details)).collect();
    let mut out = String::new();
    section(&mut out, "What a person said while you worked", &notes.join("\n"), AGAIN);
    Ok(out)
}
