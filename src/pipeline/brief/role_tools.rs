//! The tools of a role's conversation: those it may call and those its requests declare.

use crate::pipeline::brief::part::Part;
use crate::pipeline::run::Run;
use crate::stage::Role;
use crate::stages::VERDICT;
use crate::tool::{self, CommandTool};

/// The tools a role may call, and the tools its requests declare.
pub(crate) type Tools = (Vec<&'static str>, Vec<&'static str>);

/// Returns a role's tools. Its requests do not declare those that repeat what the program or a
/// declared tool does; such a call is answered all the same.
pub(crate) fn tools(run: &Run<'_>, part: &Part<'_>) -> Tools {
    let shared = run.depth().shared_tools(part.spec.stage);
    if !shared.is_empty() {
        let is_own = |tool: &&str| shared.contains(tool) || VERDICT.contains(tool);
        let own: Vec<&str> = part.tools.iter().copied().filter(is_own).collect();
        let declared = if drafts(part) { shared } else { own };
        return (part.tools.clone(), declared);
    }
    let is_checked = part.spec.leaves_records() || part.spec.writes_code();
    let repeats = |tool: &str| {
        is_checked && tool::repeats_own_checks(tool) || tool::repeats_another(tool, &part.tools)
    };
    let declared = part.tools.iter().copied().filter(|tool| !repeats(tool)).collect();
    (part.tools.clone(), declared)
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
