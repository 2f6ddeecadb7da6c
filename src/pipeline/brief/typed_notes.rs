//! The notes the user types while the actor works, and their answers to its questions: how the
//! actor gets them and how they are recorded, as feedback of severity minor, which refuses no draft
//! and resets no count.

use crate::agent::{Notes, UserNote};
use crate::artifact::{Feedback, FeedbackType, Origin, Severity};
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::sections::section;
use crate::pipeline::prompts::{NOTE, Variables};
use crate::pipeline::run::{Run, now};
use crate::session::TypedNote;
use crate::stage::Role;
use crate::tool::{Person, Question};

/// Maximum bytes of notes that are sent again.
const AGAIN: usize = 16_000;

/// The user's notes for the actor of a part.
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

impl Person for ForActor<'_> {
    /// Asks the person, and records the answer as later drafts and reviewers read it.
    fn ask(&self, question: &Question) -> anyhow::Result<Option<String>> {
        let answer = self.run.env.person.ask(question)?;
        if let Some(words) = answer.as_deref().map(str::trim).filter(|words| !words.is_empty()) {
            let text = format!("answer to \"{}\": {words}", question.question);
            self.run.give_feedback(vec![self.entry(&now(), &text)])?;
        }
        Ok(answer)
    }
}

impl Notes for ForActor<'_> {
    fn waiting(&self) -> anyhow::Result<Vec<UserNote>> {
        let waiting = self.run.env.typed.waiting().into_iter();
        waiting
            .map(|TypedNote { at, text }| {
                let variables = Variables { note: text.clone(), ..self.part.variables.clone() };
                Ok(UserNote { told: self.run.env.prompts.render(NOTE, &variables)?, at, text })
            })
            .collect()
    }

    fn mark_sent(&self, notes: &[UserNote]) -> anyhow::Result<()> {
        // If the run is killed here, the note is still waiting when the next run starts. That run
        // finds the note in the transcript and does not send it again.
        let entries = notes.iter().map(|note| self.entry(&note.at, &note.text));
        self.run.give_feedback(entries.collect())?;
        let as_typed = |note: &UserNote| TypedNote { at: note.at.clone(), text: note.text.clone() };
        self.run.env.typed.told(&notes.iter().map(as_typed).collect::<Vec<_>>());
        Ok(())
    }
}

/// The notes typed while this draft was made that the part's conversation does not contain: another
/// task has its own conversation, and a conversation that grew too long is restarted.
pub(crate) fn typed_before(
    run: &Run<'_>,
    part: &Part<'_>,
    told: &[String],
) -> anyhow::Result<String> {
    let entries = run.feedback_so_far()?.into_iter().filter(|entry| {
        (entry.stage, entry.iteration) == (part.spec.stage, part.iteration)
            && entry.is_note()
            && part.role == Role::Actor
            && !told.iter().any(|message| message.contains(&entry.details))
    });
    let notes: Vec<String> = entries.map(|entry| format!("- {}", entry.details)).collect();
    Ok(section("What a person said while this draft was made", &notes.join("\n"), AGAIN))
}
