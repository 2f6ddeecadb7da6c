//! The input of one role for one conversation, or for one part of a continued conversation, and the
//! tools it may call.

use crate::artifact::Task;
use crate::pipeline::prompts::{FeedbackItem, Variables};
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::stage::Role;
use crate::stages::{Prompt, StageSpec, VERDICT};
use crate::tool::{self, CommandTool};

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

/// The tools a role may call, and the tools its requests declare.
pub(crate) type RoleTools = (Vec<&'static str>, Vec<&'static str>);

/// Returns a role's tools. Its requests do not declare those that repeat what the program or a
/// declared tool does; such a call is answered all the same.
pub(crate) fn tools(run: &Run<'_>, part: &Part<'_>) -> RoleTools {
    let shared_tools = run.depth().shared_tools(part.spec.stage);
    if !shared_tools.is_empty() {
        let is_own = |tool: &&str| shared_tools.contains(tool) || VERDICT.contains(tool);
        let tools: Vec<&str> = part.tools.iter().copied().filter(is_own).collect();
        let offers = if drafts(part) { shared_tools } else { tools };
        return (part.tools.clone(), offers);
    }
    let is_checked = part.spec.leaves_records() || part.spec.writes_code();
    let repeats = |tool: &str| {
        is_checked && tool::repeats_own_checks(tool) || tool::repeats_another(tool, &part.tools)
    };
    let offers = part.tools.iter().copied().filter(|tool| !repeats(tool)).collect();
    (part.tools.clone(), offers)
}

/// The user's own command tools that a role's requests declare: those of its stage, and in a
/// conversation of several stages those of all its stages, so that the requests share a prefix.
/// Only roles that write drafts have them, since a command may change files.
pub(crate) fn command_tools(run: &Run<'_>, part: &Part<'_>) -> Vec<CommandTool> {
    let (stage, depth) = (part.spec.stage, run.depth());
    if !drafts(part) {
        return Vec::new();
    }
    // A question about a draft goes on in its conversation, and changes nothing.
    let may_call = part.question.is_none();
    let mut stages = depth.conversation(stage).to_vec();
    stages.push(stage);
    let tools = run.env.config.tools.iter();
    tools
        .filter(|(_, tool)| stages.iter().any(|stage| tool.is_offered_in(*stage)))
        .map(|(name, tool)| CommandTool::new(name, tool, may_call && tool.is_offered_in(stage)))
        .collect()
}

/// True for the roles that write drafts.
pub(crate) fn drafts(part: &Part<'_>) -> bool {
    matches!(part.role, Role::Actor | Role::SelfReview)
}
