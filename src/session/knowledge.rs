//! The recorded facts about the project at a commit, and the undecided proposals, made by
//! sessions, to change these facts. Read from history: the trailers of delivery commits and of
//! decisions.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{Entry, Kind, RefNames, Session, SessionName, Trailers, find, key};
use crate::artifact::knowledge::{KNOWLEDGE, KnowledgeFile, Proposal, ProposalKind};
use crate::git::{EntryKind, Git, Object, Oid};
use crate::stages::row;

/// `Cowork-Event` of a decision.
pub const KNOWLEDGE_EVENT: &str = "knowledge";
/// The reviewer accepted the proposal: the fact was added, or an outdated one was removed.
pub const TAKEN: &str = "taken";
/// The reviewer declined the proposal.
pub const DROPPED: &str = "dropped";
/// Number of newest delivered sessions whose proposals are considered.
const SESSIONS: usize = 20;

/// The proposals of one session.
#[derive(Clone, Debug)]
pub struct ProposedBy {
    /// The session.
    pub session: SessionName,
    /// Its proposals, in order.
    pub proposals: Vec<Proposal>,
}

/// The knowledge file in a commit; empty if there is none. The inner error is the reason why it
/// cannot be read, worded to follow the file name.
///
/// # Errors
/// Git cannot be read.
pub fn knowledge_at(git: &Git, commit: &Oid) -> Result<Result<KnowledgeFile, &'static str>> {
    let reader = git.reader();
    let entry = reader.entries(commit, &[KNOWLEDGE])?.into_iter().next().flatten();
    let Some(entry) = entry else { return Ok(Ok(KnowledgeFile::default())) };
    if entry.kind != EntryKind::File {
        return Ok(Err("is not a regular file"));
    }
    let bytes = reader.blob(Object::At(commit, KNOWLEDGE))?.unwrap_or_default();
    Ok(KnowledgeFile::read(&bytes))
}

/// The proposals of a commit.
pub fn proposals_of(trailers: &Trailers) -> Vec<Proposal> {
    trailers.all(key::KNOWLEDGE).filter_map(Proposal::parse).collect()
}

/// The newest stage commit among these entries, if it is a delivery.
fn delivery(history: &[Entry]) -> Option<&Entry> {
    history.iter().rev().find_map(|entry| match entry.kind {
        Kind::Stage(stage) => Some(row(stage).is_last().then_some(entry)),
        _ => None,
    })?
}

/// The undecided proposals of this session and other delivered sessions that would change `file`;
/// each change once.
///
/// # Errors
/// Git cannot be read.
pub fn undecided_knowledge(
    git: &Git,
    refs: &RefNames,
    session: &Session,
    file: &KnowledgeFile,
) -> Result<Vec<ProposedBy>> {
    let (heads, _) = find::heads(git, refs)?;
    let mut tips: Vec<Oid> = heads.iter().map(|head| head.tip().clone()).collect();
    tips.push(session.tip.clone());
    let own = delivery(&session.history).map(|entry| (&session.name, entry));
    let others = heads.iter().filter(|head| *head.name() != session.name);
    let others = others.filter_map(|head| Some((head.name(), delivery(head.entries())?)));
    let mut found: Vec<ProposedBy> = Vec::new();
    for (name, entry) in own.into_iter().chain(others).take(SESSIONS) {
        let mut open = proposals_of(&entry.trailers);
        // Accepted proposals are already in the file.
        open.retain(|one| file.is_changed_by(one));
        open.retain(|one| !found.iter().any(|other| other.proposals.contains(one)));
        if open.is_empty() {
            continue;
        }
        let decided = decided_since(git, &tips, &entry.commit)?;
        open.retain(|one| !decided.contains(&one.fact.to_string()));
        if !open.is_empty() {
            found.push(ProposedBy { session: name.clone(), proposals: open });
        }
    }
    Ok(found)
}

/// The facts that have a decision in these histories after a commit.
fn decided_since(git: &Git, tips: &[Oid], since: &Oid) -> Result<BTreeSet<String>> {
    let commits = git.reader().walk(tips, std::slice::from_ref(since))?;
    let mut decided = BTreeSet::new();
    for commit in commits.iter().filter(|commit| commit.message.contains(key::KNOWLEDGE)) {
        decided.extend(decisions_of(&Trailers::parse(&commit.message)).map(|(_, fact)| fact));
    }
    Ok(decided)
}

/// Each decision in a commit: whether the proposal was accepted, and the fact.
fn decisions_of(trailers: &Trailers) -> impl Iterator<Item = (bool, String)> {
    trailers.all(key::KNOWLEDGE).filter_map(|value| {
        let (how, fact) = value.split_once(' ')?;
        [TAKEN, DROPPED].contains(&how).then(|| (how == TAKEN, fact.to_owned()))
    })
}

/// The facts that a session proposed as outdated and a person removed.
pub fn knowledge_taken_out(session: &Session) -> Vec<Proposal> {
    let mut proposed = Vec::new();
    let mut out: Vec<Proposal> = Vec::new();
    for entry in &session.history {
        proposed.extend(proposals_of(&entry.trailers));
        for (taken, fact) in decisions_of(&entry.trailers) {
            let named = |one: &&Proposal| one.fact.to_string() == fact;
            let newest = proposed.iter().rfind(named).filter(|_| taken);
            out.retain(|one| one.fact.to_string() != fact);
            out.extend(newest.filter(|one| one.kind == ProposalKind::Outdated).cloned());
        }
    }
    out
}
