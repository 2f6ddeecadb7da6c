//! The tools of a role's conversation: those it may call and those its requests declare.

use crate::artifact::{Artifact, Store};
use crate::pipeline::brief::continued;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::sections::{ARTIFACT, shown};
use crate::pipeline::run::Run;
use crate::stage::Role;
use crate::stages::VERDICT;
use crate::tool::{self, CommandTool};
use crate::workspace::Fingerprint;

/// The tools a role may call, and the tools its requests declare.
pub(crate) type Tools = (Vec<&'static str>, Vec<&'static str>);

/// Returns a role's tools. Its requests do not declare those that only load a document that its
/// messages contain, nor, where the program checks a draft itself, those that do the same; such a
/// call is answered all the same.
pub(crate) fn tools(
    run: &Run<'_>,
    part: &Part<'_>,
    is_in_message: &dyn Fn(Artifact) -> anyhow::Result<bool>,
) -> anyhow::Result<Tools> {
    let shared = run.depth().shared_tools(part.spec.stage);
    if !shared.is_empty() {
        let is_own = |tool: &&str| shared.contains(tool) || VERDICT.contains(tool);
        let own: Vec<&str> = part.tools.iter().copied().filter(is_own).collect();
        let declared = if drafts(part) { shared.clone() } else { own.clone() };
        return Ok((own, declared));
    }
    let spec = part.spec;
    let is_checked = spec.leaves_records() || spec.writes_code();
    let mut declared = Vec::new();
    for tool in &part.tools {
        let repeats = is_checked && tool::repeats_own_checks(tool);
        if !repeats && !tool::loaded_artifact(tool).map_or(Ok(false), is_in_message)? {
            declared.push(*tool);
        }
    }
    Ok((part.tools.clone(), declared))
}

/// True if a role has nothing to load: its messages contain the whole document, or there is none.
pub(crate) fn is_in_message(
    run: &Run<'_>,
    store: &Store<'_>,
    artifact: Artifact,
    prompt: &str,
    earlier: &continued::Documents,
) -> anyhow::Result<bool> {
    let Some(text) = shown(run, store, artifact)? else { return Ok(true) };
    let seen = earlier.get(artifact.file_name());
    let is_whole = text.len() <= ARTIFACT;
    Ok(prompt.contains(text.trim_end())
        || (is_whole && seen == Some(&Fingerprint::of(text.as_bytes()))))
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
fn drafts(part: &Part<'_>) -> bool {
    matches!(part.role, Role::Actor | Role::SelfReview)
}
