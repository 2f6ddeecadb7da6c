//! Passes what the user types during a conversation to the actor, and picks the words that end the
//! conversation.

use super::Talk;
use crate::agent::brief::{Brief, Conversation};
use crate::agent::notes::Notes;
use crate::agent::transcript::RunTranscript;
use crate::model::Message;
use crate::secret::Secrets;
use crate::stage::Role;

impl Talk {
    /// Sends the actor what the user has typed since the last call; true if there was something new.
    pub(in crate::agent) fn pass_on(
        &mut self,
        brief: &Brief,
        secrets: &Secrets,
        notes: &dyn Notes,
        transcript: &mut RunTranscript,
    ) -> anyhow::Result<bool> {
        if brief.role != Role::Actor {
            return Ok(false);
        }
        let waiting = notes.waiting()?;
        let mut is_new = false;
        for note in &waiting {
            let content = secrets.for_models(&note.told).into_owned();
            // The interrupted run had sent this note to the model, but could not record that.
            if let Some(at) = self.sent_notes.iter().position(|other| *other == content) {
                self.sent_notes.remove(at);
                continue;
            }
            self.keep_closing_words();
            let message = Message::User { content };
            transcript.typed(&message)?;
            self.messages.push(message);
            is_new = true;
        }
        if !waiting.is_empty() {
            notes.mark_sent(&waiting)?;
        }
        Ok(is_new)
    }

    /// Saves the words that the model wrote together with its closing tool call, so that the answer
    /// to a later note does not replace them.
    pub(super) fn keep_closing_words(&mut self) {
        if self.acted && self.closing_words.is_none() {
            self.closing_words = Some(self.newest_words());
        }
    }

    /// The model's text in its newest turn.
    pub(in crate::agent) fn newest_words(&self) -> String {
        let newest = self.own().iter().rev().find_map(|message| match message {
            Message::Assistant { content, .. } => Some(content.trim().to_owned()),
            _ => None,
        });
        newest.unwrap_or_default()
    }

    /// Saves the words beside the first closing act after which something was missing: they are
    /// about the whole work, and later ones about what was corrected.
    pub(in crate::agent) fn keep_first_words(&mut self) {
        if self.acted && self.first_words.is_none() {
            let words = self.newest_words();
            self.first_words = Some(self.closing_words.take().unwrap_or(words));
        }
    }

    /// Ends the conversation with `words`, or with those saved before a note.
    pub(in crate::agent) fn end(&mut self, words: String, run: &mut Conversation) {
        let before = self.closing_words.take().filter(|before| !before.is_empty());
        let words = before.unwrap_or(words);
        match self.first_words.take() {
            Some(first) => (run.text, run.corrected) = (first, words),
            None => run.text = words,
        }
    }
}
