//! The input of one role for one conversation, or for one part of a continued conversation.

use crate::artifact::Task;
use crate::pipeline::prompts::{FeedbackItem, Variables};
use crate::pipeline::step::Step;
use crate::stage::Role;
use crate::stages::{Prompt, StageSpec};

/// One conversation, or one part of a conversation.
pub(crate) struct Part<'a> {
    pub spec: &'static StageSpec,
    pub role: Role,
    pub prompt: Prompt,
    /// The brief if the part continues a conversation; `None` if each part is a conversation of its
    /// own.
    pub again: Option<Prompt>,
    pub tools: Vec<&'static str>,
    /// The subset of `tools` whose call ends the part; empty if text or a verdict ends it.
    pub closing: Vec<&'static str>,
    pub iteration: u32,
    pub task: Option<&'a Task>,
    /// The number of a person's question about the draft, from 1. It is answered in the draft's
    /// conversation, and changes nothing.
    pub question: Option<u32>,
    /// For a second reading: the text that replaces the repository and the documents at the start.
    pub opening: Option<String>,
    /// Sections between the approved artifacts and the brief.
    pub extra: String,
    pub variables: Variables,
}

impl<'a> Part<'a> {
    /// The input of a role with these tools, without documents beside the approved ones.
    pub(crate) const fn new(
        step: &Step<'_, '_>,
        role: Role,
        prompt: Prompt,
        tools: Vec<&'static str>,
        variables: Variables,
    ) -> Self {
        Self {
            spec: step.spec,
            role,
            prompt,
            again: None,
            tools,
            closing: Vec::new(),
            iteration: step.draft.iteration,
            task: None,
            question: None,
            opening: None,
            extra: String::new(),
            variables,
        }
    }

    /// True if an actor gets feedback on the code as a whole.
    pub(crate) fn corrects_code(&self) -> bool {
        self.role == Role::Actor
            && self.spec.writes_code()
            && self.task.is_none()
            && self.question.is_none()
            && !self.variables.feedback.is_empty()
    }

    /// The text of the feedback.
    pub(crate) fn feedback(&self) -> String {
        let fix = |item: &FeedbackItem| item.suggested_fix.clone().unwrap_or_default();
        let texts = self.variables.feedback.iter();
        texts.map(|item| format!("{} {}\n", item.details, fix(item))).collect()
    }
}
