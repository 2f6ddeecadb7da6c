//! Lists sessions, and finds the session that a command operates on. References are the only
//! registry of sessions.
//!
//! Also names what looks like a session and cannot be read as one.

use std::collections::HashSet;

use super::change_requests::in_tree;
use super::known_heads::KnownHeads;
use super::{Entry, Head, Kind, RefNames, SessionName, Trailers, key};
use crate::error::{Error, ErrorSubject, about};
use crate::git::{self, Commit, Git, Head as At, Oid};
use crate::stages;

/// The number of sessions, and the newest one that is not completed.
#[derive(Debug, Default)]
pub struct Overview {
    /// Number of sessions with a branch, here or on a remote.
    pub sessions: usize,
    /// The newest session that is not completed; local branches come first.
    pub open: Option<Head>,
}

/// Returns all sessions that have a local branch or one on a remote, newest commit first, and the
/// branches without a readable session.
///
/// # Errors
/// Git cannot be read.
pub fn heads(git: &Git, refs: &RefNames) -> anyhow::Result<(Vec<Head>, Unreadable)> {
    let mut heads: Vec<Head> = Vec::new();
    let mut unreadable = Unreadable::default();
    let mut names = HashSet::new();
    let known = KnownHeads::read(git);
    let mut keep = Vec::new();
    // A local branch takes precedence over branches of the same session on remotes.
    for pattern in [refs.branch_root(), refs.remote_pattern()] {
        let mut tips = Vec::new();
        for branch in git.refs(&[pattern])? {
            let name = refs.session_of_any(branch.name.as_str());
            tips.extend(
                name.filter(|name| !names.contains(name)).map(|name| (name, branch.object)),
            );
        }
        for (name, head, line) in newest_first(git, &tips, &known) {
            match head {
                Ok(head) if names.insert(name.clone()) => {
                    keep.push((name, head.tip().clone(), line));
                    heads.push(head);
                }
                // An older branch of the same session, on another remote.
                Ok(_) => {}
                Err(_) if names.contains(&name) => {}
                Err(error) => unreadable.add(name.to_string(), &error),
            }
        }
    }
    known.keep(git, &keep);
    Ok((heads, unreadable))
}

/// Returns the heads at these tips, newest commit first. Each head that was not in the cache comes
/// with its line for the cache.
fn newest_first(
    git: &Git,
    tips: &[(SessionName, Oid)],
    known: &KnownHeads,
) -> Vec<(SessionName, anyhow::Result<Head>, Option<String>)> {
    let mut heads = git::many::ask_each(git, tips, |git, (name, tip)| {
        if let Some(mut text) = known.get(name, tip)
            && let Ok(head) = Head::from_text(git, name, &mut text)
        {
            return (head.time(), name.clone(), Ok(head), None);
        }
        let (head, line) = match Head::read(git, name, tip) {
            Ok((head, text)) => (Ok(head), text.line(name)),
            Err(error) => (Err(error), None),
        };
        let time = match &head {
            Ok(head) => head.time(),
            Err(_) => git.reader().commit(tip).map_or(0, |commit| commit.committer_time),
        };
        (time, name.clone(), head, line)
    });
    heads.sort_by_key(|(time, ..)| std::cmp::Reverse(*time));
    heads.into_iter().map(|(_, name, head, line)| (name, head, line)).collect()
}

/// Returns the newest session that is not completed. Sessions with a local branch come before those
/// with only a branch on a remote. Reads no more sessions than necessary.
///
/// # Errors
/// Git cannot be read.
pub fn newest_open(git: &Git, refs: &RefNames) -> anyhow::Result<Option<Head>> {
    Ok(overview(git, refs)?.open)
}

/// [`newest_open`], with the number of all sessions.
///
/// # Errors
/// Git cannot be read.
pub fn overview(git: &Git, refs: &RefNames) -> anyhow::Result<Overview> {
    let mut names = HashSet::new();
    let mut open = None;
    // Local branches come first.
    for pattern in [refs.branch_root(), refs.remote_pattern()] {
        let mut tips: Vec<(SessionName, Oid)> = git
            .refs(&[pattern])?
            .into_iter()
            .filter_map(|branch| Some((refs.session_of_any(branch.name.as_str())?, branch.object)))
            .collect();
        tips.retain(|(name, _)| !names.contains(name));
        names.extend(tips.iter().map(|(name, _)| name.clone()));
        if open.is_none() {
            open = newest_open_of(git, tips);
        }
    }
    Ok(Overview { sessions: names.len(), open })
}

/// The newest of these sessions that is not completed.
fn newest_open_of(git: &Git, tips: Vec<(SessionName, Oid)>) -> Option<Head> {
    let times = git::many::ask_each(git, &tips, |git, (name, tip)| {
        // Most sessions are completed, and of these only the tip needs to be read.
        let commit = git.reader().commit(tip).ok()?;
        (!completes(&commit, name)).then_some(std::cmp::Reverse(commit.committer_time))
    });
    let mut tips: Vec<_> =
        times.into_iter().zip(tips).filter_map(|(time, tip)| Some((time?, tip))).collect();
    tips.sort();
    let mut heads = tips.iter().filter_map(|(_, (name, tip))| Head::load(git, name, tip).ok());
    heads.find(|head| !head.is_completed())
}

/// True if the trailers of a commit mark it as the delivery of this session.
fn completes(commit: &Commit, name: &SessionName) -> bool {
    if !commit.message.contains(stages::last().name()) {
        return false;
    }
    let trailers = Trailers::parse(&commit.message);
    let id = trailers.get(key::SESSION_ID).unwrap_or_default();
    let delivers = |entry: &Entry| entry.kind == Kind::Stage(stages::last());
    Entry::from_commit(commit, id).as_ref().is_some_and(delivers)
        && trailers.get(key::SESSION) == Some(name.as_str())
}

/// Returns the names of all sessions that have a local branch, have a branch on a remote, or are
/// archived.
///
/// # Errors
/// Git cannot be read.
pub fn names(git: &Git, refs: &RefNames) -> anyhow::Result<Vec<SessionName>> {
    let named = git.refs(&[&refs.branch_root(), &refs.remote_pattern(), RefNames::ARCHIVE])?;
    let mut names: Vec<SessionName> = named
        .iter()
        .filter_map(|named| {
            let name = named.name.as_str();
            let archived = || name.strip_prefix(RefNames::ARCHIVE)?.parse().ok();
            refs.session_of_any(name).or_else(archived)
        })
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// True if the session has a local branch.
pub fn exists(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<bool> {
    Ok(git.resolve(refs.branch(name).as_str())?.is_some())
}

/// What a session name is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameUse {
    /// A branch, here or on a remote, a draft or a tag.
    Session,
    /// An archived session.
    Archived,
    /// The attempts of a deleted session.
    Deleted,
    /// Records in the tree of the commit to start from.
    InTree,
}

/// The use of a name by a reference, or by the tree of the commit `start`; `None` if it is free.
///
/// # Errors
/// Git cannot be read.
pub fn name_use(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
    start: Option<&Oid>,
) -> anyhow::Result<Option<NameUse>> {
    git.expect_refs(refs.own(name));
    let used = |pattern: String| git.refs(&[pattern]).map(|found| !found.is_empty());
    let remote = git::refs::remote_branches(git, &refs.short_branch(name))?;
    let in_tree = |start| git::paths::names_in(git, start, &name.record_dir());
    Ok(if used(refs.branch(name).to_string())? || !remote.is_empty() {
        Some(NameUse::Session)
    } else if used(RefNames::archive(name).to_string())? {
        Some(NameUse::Archived)
    } else if start.map(in_tree).transpose()?.is_some_and(|files| !files.is_empty()) {
        Some(NameUse::InTree)
    } else if used(RefNames::attempts(name))? {
        Some(NameUse::Deleted)
    } else {
        let is_used = used(RefNames::drafts(name))?
            || used(RefNames::tags(name))?
            || used(RefNames::stages(name))?;
        is_used.then_some(NameUse::Session)
    })
}

/// Returns the session for a command without a session name: that of the current branch or, if
/// there is none, the newest unfinished session. The flag is true in the second case.
///
/// # Errors
/// Exit 5 if there is no such session.
pub fn default_session(git: &Git, refs: &RefNames) -> anyhow::Result<(SessionName, bool)> {
    if let At::Branch { name, .. } = git.head()?
        && let Some(session) = refs.session_of(name.as_str())
    {
        return Ok((session, false));
    }
    match newest_open(git, refs)? {
        Some(head) => Ok((head.name().clone(), true)),
        None => {
            let mut error = Error::repository("there is no unfinished session here");
            if !names(git, refs)?.is_empty() || !in_tree(git)?.is_empty() {
                error = error.hint("look at all: git cowork list --all");
            }
            Err(error.hint("start one: git cowork new \"what you want built\"").into())
        }
    }
}

/// What is named like a session and cannot be read as one.
#[derive(Debug, Default)]
pub struct Unreadable {
    /// The names of branches without a session.
    pub others: Vec<String>,
    /// The sessions that cannot be read, each with the reason.
    pub broken: Vec<String>,
}

impl Unreadable {
    /// Adds what `name` refers to.
    pub fn add(&mut self, name: String, error: &anyhow::Error) {
        match about(error) {
            ErrorSubject::NoSession => self.others.push(name),
            ErrorSubject::Moved | ErrorSubject::Other => {
                self.broken.push(format!("{name}: {error:#}"))
            }
        }
    }

    /// True if everything could be read.
    pub fn is_empty(&self) -> bool {
        self.others.is_empty() && self.broken.is_empty()
    }
}
