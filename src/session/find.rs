//! Lists sessions, and finds the session that a command operates on. References are the only
//! registry of sessions.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::known_heads::KnownHeads;
use super::{Entry, Head, Kind, RefNames, SessionName, Trailers, key};
use crate::error::Error;
use crate::git::{self, Commit, Git, Head as At, Oid, RefName};
use crate::stages;

/// Number of branches that are read first to find the newest session.
const FIRST: usize = 32;

/// The number of sessions, and the newest one that is not completed.
#[derive(Debug, Default)]
pub struct Overview {
    /// Number of sessions with a branch, here or on a remote.
    pub sessions: usize,
    /// The newest session that is not completed; local branches come first.
    pub open: Option<Head>,
}

/// Returns all sessions that have a local branch or one on a remote, newest commit first. The
/// second list reports the branches without a readable session.
///
/// # Errors
/// Git cannot be read.
pub fn heads(git: &Git, refs: &RefNames) -> anyhow::Result<(Vec<Head>, Vec<String>)> {
    let mut heads: Vec<Head> = Vec::new();
    let mut unreadable = Vec::new();
    let mut names = HashSet::new();
    let known = KnownHeads::of(git);
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
                Err(error) => unreadable.push(format!("{name}: {error}")),
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
            && let Ok(head) = Head::of(git, name, &mut text)
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
    let mut found = Overview::default();
    let known = OnceCell::new();
    let root = refs.branch_root();
    let all = git::refs::moved(git, &[&root, &refs.remote_pattern()])?.into_iter();
    let (local, remote): (Vec<_>, Vec<_>) =
        all.partition(|(branch, _)| branch.as_str().starts_with(&root));
    for branches in [local, remote] {
        let branches = branches.into_iter().filter_map(|(branch, moved)| {
            Some((refs.session_of_any(branch.as_str())?, branch, moved))
        });
        let mut branches: Vec<_> = branches.filter(|(name, ..)| !names.contains(name)).collect();
        names.extend(branches.iter().map(|(name, ..)| name.clone()));
        if found.open.is_none() {
            branches.sort_by_key(|(_, _, moved)| std::cmp::Reverse(*moved));
            let rest = branches.split_off(branches.len().min(FIRST));
            found.look_among(git, &branches, &KnownHeads::default());
            let after = found.open.as_ref().map_or(i64::MIN, Head::time);
            let rest: Vec<_> = rest.into_iter().filter(|(_, _, moved)| *moved >= after).collect();
            if !rest.is_empty() {
                let known = known.get_or_init(|| KnownHeads::of(git));
                found.look_among(git, &rest, known);
            }
        }
    }
    found.sessions = names.len();
    Ok(found)
}

impl Overview {
    /// Sets `open` to the newest session of these branches that is not completed, if it is newer
    /// than the current `open`.
    fn look_among(
        &mut self,
        git: &Git,
        branches: &[(SessionName, RefName, i64)],
        known: &KnownHeads,
    ) {
        let tips = git::many::ask_each(git, branches, |git, (name, branch, _)| {
            let tip = git.refs(&[branch.as_str()]).ok()?.pop()?.object;
            let commit = match known.get(name, &tip) {
                Some(text) => text.tip,
                None => git.reader().commit(&tip).ok()?,
            };
            // Most sessions are completed, and of these only the tip needs to be read.
            let is_open = !completes(&commit, name);
            Some(is_open.then(|| (std::cmp::Reverse(commit.committer_time), name.clone(), tip)))
        });
        let mut tips: Vec<_> = tips.into_iter().flatten().flatten().collect();
        if let Some(head) = &self.open {
            let (time, name) = (std::cmp::Reverse(head.time()), head.name());
            tips.retain(|(at, there, _)| (*at, there) < (time, name));
        }
        tips.sort();
        for (_, name, tip) in tips {
            if let Ok(head) = Head::load(git, &name, &tip)
                && !head.is_completed()
            {
                self.open = Some(head);
                break;
            }
        }
    }
}

/// True if the trailers of a commit mark it as the delivery of this session.
fn completes(commit: &Commit, name: &SessionName) -> bool {
    if !commit.message.contains(stages::last().name()) {
        return false;
    }
    let trailers = Trailers::parse(&commit.message);
    let id = trailers.get(key::SESSION_ID).unwrap_or_default();
    let delivers = |entry: &Entry| entry.kind == Kind::Stage(stages::last());
    Entry::of(commit, id).as_ref().is_some_and(delivers)
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

/// True if a reference uses the name: a local branch or one on a remote, an archived session, an
/// attempt, a draft or a tag.
pub fn taken(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<bool> {
    let short = refs.short_branch(name);
    let patterns = [
        refs.branch(name).as_str().to_owned(),
        RefNames::archive(name).as_str().to_owned(),
        RefNames::attempts(name),
        RefNames::drafts(name),
        RefNames::tags(name),
    ];
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    Ok(!git.refs(&patterns)?.is_empty() || !git::refs::remote_branches(git, &short)?.is_empty())
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
            if !names(git, refs)?.is_empty() {
                error = error.hint("look at all: git cowork list --all");
            }
            Err(error.hint("start one: git cowork new \"what you want built\"").into())
        }
    }
}
