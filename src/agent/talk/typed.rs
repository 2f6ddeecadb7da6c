//! What a person says in a conversation while the actor works, and what still ends it.

use super::Talk;
use crate::agent::brief::Brief;
use crate::agent::notes::Notes;
use crate::agent::transcript::Transcript;
use crate::model::Message;
use crate::secret::Secrets;
use crate::stage::Role;

impl Talk {
    /// Tells an actor what a person has said since; true where it said something.
    pub(in crate::agent) fn pass_on(
        &mut self,
        brief: &Brief,
        secrets: &Secrets,
        notes: &dyn Notes,
        transcript: &mut Transcript,
    ) -> anyhow::Result<bool> {
        if brief.role != Role::Actor {
            return Ok(false);
        }
        let waiting = notes.waiting()?;
        let mut is_new = false;
        for note in &waiting {
            let content = secrets.for_models(&note.told).into_owned();
            // The run that was cut had told it, and could not say so any more.
            if let Some(at) = self.noted.iter().position(|noted| *noted == content) {
                self.noted.remove(at);
                continue;
            }
            self.keep_closing_words();
            let message = Message::User { content };
            transcript.typed(&message)?;
            self.messages.push(message);
            is_new = true;
        }
        if !waiting.is_empty() {
            notes.told(&waiting)?;
        }
        Ok(is_new)
    }

    /// What was said with the closing act is not replaced by the answer to a note.
    pub(super) fn keep_closing_words(&mut self) {
        if self.acted && self.closing_words.is_none() {
            self.closing_words = Some(self.newest_words());
        }
    }

    /// What ends the conversation: these words, unless better ones came before a note.
    pub(in crate::agent) fn ending_words(&mut self, words: String) -> String {
        self.closing_words.take().filter(|before| !before.is_empty()).unwrap_or(words)
    }
}
