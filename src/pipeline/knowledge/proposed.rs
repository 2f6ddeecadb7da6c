//! Selects the proposals of an actor that a person is asked about.

use crate::artifact::knowledge::{KNOWLEDGE, KnowledgeFile, PROPOSALS_MAX, Proposal, ProposalKind};
use crate::pipeline::run::Run;
use crate::secret::WITHHELD;
use crate::session::{knowledge_at, proposals_of};

/// The proposals that contain no secret and change the file, up to the maximum number.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn acceptable(run: &Run<'_>, proposals: Vec<Proposal>) -> anyhow::Result<Vec<Proposal>> {
    if proposals.is_empty() {
        return Ok(proposals);
    }
    let file = knowledge_at(run.env.git, &run.session.tip)?.unwrap_or_default();
    let mut kept: Vec<Proposal> = Vec::new();
    for one in proposals {
        let Some(one) = that_changes(&file, one) else { continue };
        if kept.iter().any(|other| other.fact.is_same(&one.fact)) {
            continue;
        }
        if holds_secret(run, &one) {
            run.warn_once(format!(
                "a fact that was proposed for {KNOWLEDGE} holds what looks like a key; it is dropped"
            ));
        } else if kept.len() < PROPOSALS_MAX {
            kept.push(one);
        } else {
            run.warn_once(format!(
                "more than {PROPOSALS_MAX} facts were proposed for {KNOWLEDGE}; the others are dropped"
            ));
        }
    }
    Ok(kept)
}

/// The proposal with the file's wording; `None` if it would change nothing.
fn that_changes(file: &KnowledgeFile, one: Proposal) -> Option<Proposal> {
    match one.kind {
        ProposalKind::Learned => file.is_changed_by(&one).then_some(one),
        ProposalKind::Outdated => {
            let known = file.find(&one.fact.to_string()).or_else(|| file.find(&one.fact.text));
            known.map(|fact| Proposal { fact: fact.clone(), ..one })
        }
    }
}

fn holds_secret(run: &Run<'_>, one: &Proposal) -> bool {
    let text = one.fact.to_string();
    text.contains(WITHHELD) || run.env.workspace.secrets().blanked(&text) != text
}

/// The proposals as trailer values.
pub(crate) fn trailers(proposals: &[Proposal]) -> Vec<String> {
    proposals.iter().map(ToString::to_string).collect()
}

/// The proposals in the session's commits of code since reviewers last reopened it.
pub(crate) fn proposed_by_code(run: &Run<'_>) -> Vec<Proposal> {
    let commits = run.session.newest_round().iter().filter(|entry| entry.brings_code());
    commits.flat_map(|entry| proposals_of(&entry.trailers)).collect()
}
