//! The base of a change request: the tip of the session it changes while that is unmerged, else the
//! branch the session was merged into. It is found from commits and trees, so it does not matter
//! how the merge was made (with a merge commit, squashed, without artifacts) or whether the
//! session's branch still exists.

use std::collections::BTreeSet;

use anyhow::Result;

use super::bases::bases;
use super::find::Unreadable;
use super::merged::merged_in;
use super::{
    CommittedFiles, Entry, Kind, RefNames, SESSIONS, Session, SessionName, Trailers, artifact_path,
    is_there, key, no_session, renumbered, renumberings,
};
use crate::artifact::{Artifact, Base, Parent, Plan, SessionFile, Store, Task};
use crate::error::Error;
use crate::git::{self, Commit, Git, Head, Object, Oid};

/// The base of a change request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeBase {
    /// The session it changes, and that session's newest commit.
    pub parent: Parent,
    /// The branch the change request starts from, and the commit.
    pub base: Base,
    /// The commit of `base`.
    pub start: Oid,
    /// The session and tip to take the artifacts from, if `start` has none because the merge left
    /// them out.
    pub artifacts: Option<(SessionName, Oid)>,
}

/// A branch a session was merged into.
struct MergedBranch {
    branch: String,
    tip: Oid,
    with_artifacts: bool,
}

/// Returns the base for a change request to `name`.
///
/// # Errors
/// Exit 5: the session does not exist or is not completed.
pub fn change_base(git: &Git, refs: &RefNames, name: &SessionName) -> Result<ChangeBase> {
    let Some((session, on_branch)) = known(git, refs, name)? else {
        return in_a_tree(git, refs, name);
    };
    if !session.is_completed() {
        return Err(Error::repository(format!(
            "'{name}' is not completed, so there is nothing to change yet"
        ))
        .hint(format!("finish it: git cowork resume {name}"))
        .hint("or request changes to it: git cowork review --feedback TEXT")
        .into());
    }
    let parent = Parent { session: name.to_string(), commit: session.tip.to_string() };
    if let Some(merged) = merged_branch(git, refs, &session)? {
        let artifacts = match merged.with_artifacts {
            true => None,
            false => Some(newest_merged(git, refs, &session, &merged.tip)?),
        };
        let base = Base { branch: merged.branch, commit: merged.tip.to_string() };
        return Ok(ChangeBase { parent, base, start: merged.tip, artifacts });
    }
    let branch = if on_branch { refs.short_branch(name) } else { session.file.base.branch.clone() };
    let base = Base { branch, commit: session.tip.to_string() };
    Ok(ChangeBase { parent, base, start: session.tip, artifacts: None })
}

/// The sessions that can be changed, newest first: completed ones with a branch, and delivered ones
/// in HEAD's tree. Excludes change requests.
///
/// # Errors
/// Git cannot be read.
pub fn changeable(git: &Git, refs: &RefNames) -> Result<Vec<SessionName>> {
    let (sessions, _) = super::heads(git, refs)?;
    let completed = sessions.iter().filter(|head| head.is_completed());
    let mut found: Vec<(String, SessionName)> =
        completed.map(|head| (head.file().created_at.clone(), head.name().clone())).collect();
    let in_tree = files_in_tree(git)?.into_iter();
    found.extend(in_tree.map(|(name, file)| (file.created_at, name)));
    found.retain(|(_, name)| name.patch_parts().is_none());
    found.sort_by(|a, b| b.cmp(a));
    let mut names: Vec<SessionName> = found.into_iter().map(|(_, name)| name).collect();
    names.dedup();
    Ok(names)
}

/// The names of the delivered sessions and change requests in HEAD's tree.
///
/// # Errors
/// Git cannot be read.
pub fn in_tree(git: &Git) -> Result<Vec<SessionName>> {
    Ok(files_in_tree(git)?.into_iter().map(|(name, _)| name).collect())
}

fn files_in_tree(git: &Git) -> Result<Vec<(SessionName, SessionFile)>> {
    let Some(head) = git.head()?.oid().cloned() else { return Ok(Vec::new()) };
    let mut names: Vec<SessionName> = Vec::new();
    for folder in git::paths::names_in(git, &head, SESSIONS)? {
        let Ok(name) = folder.parse::<SessionName>() else { continue };
        for change in git::paths::names_in(git, &head, &format!("{SESSIONS}/{name}/changes"))? {
            names.extend(change.parse().ok().and_then(|change| name.change(&change).ok()));
        }
        names.push(name);
    }
    let mut found = Vec::new();
    for name in names {
        found.extend(delivered_in(git, &name, &head)?.map(|file| (name, file)));
    }
    Ok(found)
}

/// A delivered session in HEAD's tree, read at HEAD; `None` if it is not there.
///
/// # Errors
/// It cannot be read.
pub fn find_in_tree(git: &Git, name: &SessionName) -> Result<Option<Session>> {
    let Some(head) = git.head()?.oid().cloned() else { return Ok(None) };
    let is_there = delivered_in(git, name, &head)?.is_some();
    is_there.then(|| Session::load(git, name, &head)).transpose()
}

/// The delivered sessions in HEAD's tree, read at HEAD; for a HEAD that is not on a session's
/// branch. The second list reports those that cannot be read.
///
/// # Errors
/// Git cannot be read.
pub fn delivered_here(git: &Git) -> Result<(Vec<Session>, Unreadable)> {
    let (mut sessions, mut unreadable) = (Vec::new(), Unreadable::default());
    for name in in_tree(git)?.into_iter().filter(|name| name.patch_parts().is_none()) {
        match find_in_tree(git, &name) {
            Ok(session) => sessions.extend(session),
            Err(error) => unreadable.add(name.to_string(), &error),
        }
    }
    Ok((sessions, unreadable))
}

/// The branch a completed session was merged into, and that branch's tip: its base branch, or the
/// branch its base was merged into in turn. `None` if it is not merged.
///
/// # Errors
/// Git cannot be read.
pub fn merged_into(git: &Git, refs: &RefNames, session: &Session) -> Result<Option<(String, Oid)>> {
    Ok(merged_branch(git, refs, session)?.map(|merged| (merged.branch, merged.tip)))
}

/// The sessions that were merged into a session since it started, each with its newest commit: its
/// change requests, and for a change request also its parent, if the parent has new commits.
///
/// # Errors
/// Git cannot be read.
pub fn changes_within(git: &Git, session: &Session) -> Result<Vec<(SessionName, Entry)>> {
    let mut found: Vec<(SessionName, Entry)> = Vec::new();
    for (name, entry) in merged_entries(git, session)? {
        if !found.iter().any(|(other, _)| *other == name) {
            found.push((name, entry));
        }
    }
    Ok(found)
}

/// The tasks of sessions that were merged into this session since it started.
///
/// # Errors
/// Git cannot be read.
pub fn merged_tasks(git: &Git, session: &Session) -> Result<Vec<String>> {
    let tasks =
        merged_entries(git, session)?.into_iter().filter_map(|(_, entry)| match entry.kind {
            Kind::Task(task) => Some(task),
            _ => None,
        });
    Ok(tasks.collect())
}

/// The session's own top-level tasks in a plan. In a change request, these are the tasks that
/// neither existed at its start nor were merged into it later; in any other session, all tasks.
///
/// # Errors
/// Git cannot be read, or the plan at the change request's start is broken.
pub fn own_tasks(git: &Git, session: &Session, plan: Plan) -> Result<Vec<Task>> {
    let mut others: BTreeSet<String> = BTreeSet::new();
    if let Some(start) = session.history.first().filter(|_| session.is_patch()) {
        let merged = changes_within(git, session)?.into_iter().map(|(_, entry)| entry.commit);
        for commit in std::iter::once(start.commit.clone()).chain(merged) {
            let files = CommittedFiles::new(git, &session.name, &commit);
            others.extend(Store::new(&files).plan()?.tasks.into_iter().map(|task| task.id));
        }
    }
    let own = |task: &Task| task.is_top_level() && !others.contains(&task.id);
    Ok(plan.tasks.into_iter().filter(own).collect())
}

/// The commits of sessions that were merged into this session since it started, newest first.
fn merged_entries(git: &Git, session: &Session) -> Result<Vec<(SessionName, Entry)>> {
    if is_straight(session) {
        return Ok(Vec::new());
    }
    let start: Vec<Oid> = session.history.first().map(|e| e.commit.clone()).into_iter().collect();
    let commits = related_commits(git, &session.name, &session.tip, &start)?;
    let others = commits.into_iter().filter(|(name, _)| *name != session.name);
    let entry = |(name, commit): (SessionName, Commit)| {
        let id = Trailers::parse(&commit.message).get(key::SESSION_ID).map(str::to_owned)?;
        Entry::from_commit(&commit, &id).map(|entry| (name, entry))
    };
    let (names, mut entries): (Vec<SessionName>, Vec<Entry>) = others.filter_map(entry).unzip();
    let given = renumberings(git, &session.name, &session.tip, &start)?;
    let reaches = |from: &Oid, to: &Oid| git::refs::is_ancestor(git, to, from).unwrap_or(false);
    renumbered::follow(&mut entries, &given, git.reader().as_ref(), reaches);
    Ok(names.into_iter().zip(entries).collect())
}

/// True if the history from the session's start to its tip is linear and has only commits of the
/// session.
pub(super) fn is_straight(session: &Session) -> bool {
    let upon = |pair: &[Entry]| pair[1].parents == [pair[0].commit.clone()];
    session.history.windows(2).all(upon)
        && session.history.last().is_some_and(|newest| newest.commit == session.tip)
}

/// The commits of a session and its change requests that are reachable from `tip` and not from
/// `but`, newest first.
pub(crate) fn related_commits(
    git: &Git,
    name: &SessionName,
    tip: &Oid,
    but: &[Oid],
) -> Result<Vec<(SessionName, Commit)>> {
    let owner: SessionName =
        name.patch_parts().map_or(name.as_str(), |(parent, _)| parent).parse()?;
    let reader = git.reader();
    let file: Option<SessionFile> = reader
        .blob(Object::At(tip, &artifact_path(&owner, Artifact::Session)))?
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let base = file.and_then(|file| file.base.commit.parse::<Oid>().ok());
    // A rewritten history, or a shallow clone, does not have the owner's base.
    let base = base.filter(|base| is_there(reader.as_ref(), base));
    let hide: Vec<Oid> = base.into_iter().chain(but.iter().cloned()).collect();
    let commits = reader.walk(std::slice::from_ref(tip), &hide).unwrap_or_default();
    let named = commits.into_iter().filter_map(|commit| {
        let name =
            Trailers::parse(&commit.message).get(key::SESSION)?.parse::<SessionName>().ok()?;
        (name.artifact_dir() == owner.artifact_dir()).then_some((name, commit))
    });
    Ok(named.collect())
}

/// Loads a session with a branch here or on a remote (true), or in the archive (false).
pub(super) fn known(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
) -> Result<Option<(Session, bool)>> {
    match place_of(git, refs, name)? {
        Some((tip, on_branch)) => Ok(Some((Session::load(git, name, &tip)?, on_branch))),
        None => Ok(None),
    }
}

/// The tip of a session, and true if it has a branch here or on a remote.
pub(crate) fn place_of(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
) -> Result<Option<(Oid, bool)>> {
    if let Some(tip) = git.resolve(refs.branch(name).as_str())? {
        return Ok(Some((tip, true)));
    }
    let remotes = git::refs::remote_branches(git, &refs.short_branch(name))?;
    let remotes = remotes.into_iter().map(|place| (place, true));
    for (place, on_branch) in remotes.chain([(RefNames::archive(name), false)]) {
        if let Some(tip) = git.resolve(place.as_str())? {
            return Ok(Some((tip, on_branch)));
        }
    }
    Ok(None)
}

/// The last branch in the session's chain of base branches that contains its delivery.
fn merged_branch(git: &Git, refs: &RefNames, session: &Session) -> Result<Option<MergedBranch>> {
    let mut found = None;
    for branch in bases(git, refs, session)? {
        let local = git.resolve(&RefNames::local(&branch))?;
        let remotes = git::refs::remote_branches(git, &branch)?;
        let remotes = remotes.iter().filter_map(|remote| git.resolve(remote.as_str()).transpose());
        for tip in local.into_iter().map(Ok).chain(remotes) {
            let tip = tip?;
            if let Some(with_artifacts) = holds(git, session, &tip)? {
                found = Some(MergedBranch { branch: branch.clone(), tip, with_artifacts });
                break;
            }
        }
    }
    Ok(found)
}

/// The session that was merged last into a branch, among `session`, its parent and the parent's
/// change requests: the next change request starts from its artifacts.
fn newest_merged(
    git: &Git,
    refs: &RefNames,
    session: &Session,
    onto: &Oid,
) -> Result<(SessionName, Oid)> {
    let owner: SessionName = match session.name.patch_parts() {
        Some((owner, _)) => owner.parse()?,
        None => session.name.clone(),
    };
    let branch = refs.short_branch(&owner);
    let mut names = BTreeSet::from([owner.clone()]);
    let patterns = [
        RefNames::local(&format!("{branch}--*")),
        RefNames::remote("*", &format!("{branch}--*")),
        format!("{}--*", RefNames::archive(&owner).as_str()),
    ];
    for info in git::refs::list(git, &patterns)? {
        let name = info.name.as_str().rsplit('/').next().unwrap_or_default();
        names.extend(name.parse::<SessionName>());
    }
    let mut newest = (session.name.clone(), session.tip.clone());
    let mut at = merged_in(git, session, onto)?.map(|merged| merged.commit);
    for name in names.into_iter().filter(|name| *name != session.name) {
        // Ignore branches with a matching name that are not sessions.
        let Some((other, _)) = known(git, refs, &name).ok().flatten() else { continue };
        let Some(merged) = merged_in(git, &other, onto)?.filter(|merged| merged.whole) else {
            continue;
        };
        let later = match &at {
            Some(at) => *at != merged.commit && git::refs::is_ancestor(git, at, &merged.commit)?,
            None => true,
        };
        if later {
            newest = (name, other.tip);
            at = Some(merged.commit);
        }
    }
    Ok(newest)
}

/// Returns `Some` if a commit contains the session's delivery: true if it also contains the
/// session's artifacts.
fn holds(git: &Git, session: &Session, tip: &Oid) -> Result<Option<bool>> {
    let report = artifact_path(&session.name, Artifact::DeliveryReport);
    let with_artifacts = git::snapshot::blob_id(git, tip, &report)?.is_some();
    let merged = merged_in(git, session, tip)?.filter(|merged| merged.whole);
    Ok(merged.map(|_| with_artifacts))
}

/// `session.json` of a session that is delivered in a tree.
pub(super) fn delivered_in(git: &Git, name: &SessionName, at: &Oid) -> Result<Option<SessionFile>> {
    let reader = git.reader();
    let read = |artifact| reader.blob(Object::At(at, &artifact_path(name, artifact)));
    let Some(bytes) = read(Artifact::Session)? else { return Ok(None) };
    if read(Artifact::DeliveryReport)?.is_none() {
        return Ok(None);
    }
    // Ignore a broken file.
    Ok(serde_json::from_slice(&bytes).ok())
}

/// The base for a session without a branch, which exists only in the tree of the branch it was
/// merged into.
fn in_a_tree(git: &Git, refs: &RefNames, name: &SessionName) -> Result<ChangeBase> {
    let head = git.head()?;
    let current = match &head {
        Head::Branch { name: branch, oid } => Some((branch.short().to_owned(), oid.clone())),
        Head::Detached { oid } => Some((String::new(), oid.clone())),
        Head::Unborn { .. } => None,
    };
    let listed = git::refs::list(git, &[RefNames::BRANCHES, RefNames::REMOTES])?;
    let listed = listed.into_iter().map(|info| {
        let full = info.name.as_str();
        let remote = full.strip_prefix(RefNames::REMOTES).and_then(|rest| rest.split_once('/'));
        (remote.map_or(info.name.short(), |(_, branch)| branch).to_owned(), info.oid)
    });
    let mut holders = Vec::new();
    for (branch, tip) in current.into_iter().chain(listed) {
        // A change request's branch contains its parent's artifacts although they are not merged
        // there.
        let is_session = refs.session_of(&RefNames::local(&branch)).is_some();
        if !is_session && let Some(file) = delivered_in(git, name, &tip)? {
            holders.push((branch, tip, file));
        }
    }
    let based = |(branch, _, file): &&(String, Oid, SessionFile)| *branch == file.base.branch;
    let Some((branch, tip, file)) = holders.iter().find(based).or_else(|| holders.first()) else {
        return Err(no_session(name).hint("if it was created elsewhere: git fetch").into());
    };
    let reader = git.reader();
    let base = file.base.commit.parse().ok().filter(|base| is_there(reader.as_ref(), base));
    let hide: Vec<Oid> = base.into_iter().collect();
    let commits = reader.walk(std::slice::from_ref(tip), &hide).unwrap_or_default();
    let newest = commits.iter().find(|commit| Entry::from_commit(commit, &file.id).is_some());
    let commit = newest.map_or(tip, |commit| &commit.id).to_string();
    Ok(ChangeBase {
        parent: Parent { session: name.to_string(), commit },
        base: Base { branch: branch.clone(), commit: tip.to_string() },
        start: tip.clone(),
        artifacts: None,
    })
}
