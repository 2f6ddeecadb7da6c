//! What one role has to say in one conversation, or in one part of a conversation that goes on.

use crate::artifact::Task;
use crate::pipeline::prompts::Variables;
use crate::stage::Role;
use crate::stages::{Prompt, StageSpec};

/// One conversation to be had, or one part of it.
pub(crate) struct Part<'a> {
    pub spec: &'a StageSpec,
    pub role: Role,
    pub prompt: Prompt,
    /// Its brief in a conversation that goes on; none where each is one of its own.
    pub again: Option<Prompt>,
    pub tools: Vec<&'static str>,
    /// Those of them that are the closing act; none where words or a verdict end it.
    pub closing: Vec<&'static str>,
    pub iteration: u32,
    pub task: Option<&'a Task>,
    /// A person's question about the draft, counted from 1: it is answered in the draft's conversation,
    /// and nothing is changed.
    pub question: Option<u32>,
    /// A second reading: what comes first, in the place of the repository and the documents.
    pub opening: Option<String>,
    /// Sections between the approved artifacts and the brief.
    pub extra: String,
    pub variables: Variables,
}
