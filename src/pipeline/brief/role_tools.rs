//! The tools of a role's conversation: those it may call and those its requests declare.

use crate::artifact::{Artifact, Store};
use crate::pipeline::brief::continued;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::sections::ARTIFACT;
use crate::pipeline::run::Run;
use crate::stage::Role;
use crate::tool::{self, CommandTool};
use crate::workspace::Fingerprint;

/// The tools a role may call, and the tools its requests declare.
pub(crate) type Tools = (Vec<&'static str>, Vec<&'static str>);

/// Returns a role's tools. Its requests do not declare those that only load a document that its
/// messages contain; such a call is answered all the same.
pub(crate) fn tools(
    run: &Run<'_>,
    part: &Part<'_>,
    is_in_message: &dyn Fn(Artifact) -> anyhow::Result<bool>,
) -> anyhow::Result<Tools> {
    let shared = run.depth().shared_tools(part.spec.stage);
    if !shared.is_empty() {
        let own = part.tools.iter().copied().filter(|tool| shared.contains(tool));
        return Ok((own.collect(), shared));
    }
    let mut declared = Vec::new();
    for tool in &part.tools {
        if !tool::loaded_artifact(tool).map_or(Ok(false), is_in_message)? {
            declared.push(*tool);
        }
    }
    Ok((part.tools.clone(), declared))
}

/// True if a role has nothing to load: its messages contain the whole document, or there is none.
pub(crate) fn is_in_message(
    store: &Store<'_>,
    artifact: Artifact,
    prompt: &str,
    earlier: &continued::Documents,
) -> anyhow::Result<bool> {
    let Some(text) = store.text(artifact)? else { return Ok(true) };
    let seen = earlier.get(artifact.file_name());
    let is_whole = text.len() <= ARTIFACT;
    Ok(prompt.contains(text.trim_end())
        || (is_whole && seen == Some(&Fingerprint::of(text.as_bytes()))))
}

/// The user's own command tools that a role's requests declare: those of its stage, and in a
/// conversation of several stages those of all its stages, so that the requests share a prefix.
/// Only roles that write drafts may call them, since a command may change files.
pub(crate) fn command_tools(run: &Run<'_>, part: &Part<'_>) -> Vec<CommandTool> {
    let (stage, depth) = (part.spec.stage, run.depth());
    let drafts = matches!(part.role, Role::Actor | Role::SelfReview) && part.question.is_none();
    if !drafts && depth.shared_tools(stage).is_empty() {
        return Vec::new();
    }
    let mut stages = depth.conversation(stage).to_vec();
    stages.push(stage);
    let tools = run.env.config.tools.iter();
    tools
        .filter(|(_, tool)| stages.iter().any(|stage| tool.is_offered_in(*stage)))
        .map(|(name, tool)| CommandTool::new(name, tool, drafts && tool.is_offered_in(stage)))
        .collect()
}
