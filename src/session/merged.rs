//! Finds out whether a session was merged: by a merge commit, by a squash on a forge or by hand, by
//! a rebase, or without its artifacts. For many sessions, each base branch is walked once.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;

use super::bases::Lookup;
use super::{RefNames, Session, artifact_path};
use super::{Trailers, key};
use crate::artifact::{Artifact, SessionFile};
use crate::clock;
use crate::git::gained::Limits;
use crate::git::{self, Commit, Gained, Git, Object, Oid, Reader};
use crate::stages;

/// Tolerance in seconds for the clock of another machine: a commit may seem that much older than
/// its session.
const CLOCK_SKEW: i64 = 2 * 24 * 60 * 60;

/// In a walk, the mark of branches that are not a session's base.
const ELSEWHERE: u64 = 1 << 63;

/// Number of branches that one walk can distinguish.
const BRANCHES: usize = 63;

/// Folder of the sessions' artifacts.
const SESSIONS: &str = super::SESSIONS;

/// The merge of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The commit that merged it; the session's own tip if no other commit did.
    pub commit: Oid,
    /// The merged tip, if known.
    pub tip: Option<Oid>,
    /// True if everything delivered was merged; false if the session has continued since.
    pub whole: bool,
}

/// The merge of everything a session delivered: into its base branch, local or remote, or by
/// `git cowork merge` into any other branch. `None` if not merged.
///
/// # Errors
/// Git cannot be read.
pub fn merged(git: &Git, refs: &RefNames, session: &Session) -> Result<Option<Merged>> {
    Ok(merged_each(git, refs, &[session], &Lines::new())?.pop().flatten())
}

/// The commits between the tips of some sessions and their bases: see [`super::head::own_line`].
pub(super) type Lines<'a> = HashMap<&'a Oid, &'a [Oid]>;

/// Like [`merged`], for many sessions. The commits in `lines` are not read.
pub(super) fn merged_each(
    git: &Git,
    refs: &RefNames,
    sessions: &[&Session],
    lines: &Lines<'_>,
) -> Result<Vec<Option<Merged>>> {
    if sessions.is_empty() {
        return Ok(Vec::new());
    }
    let lookup = Lookup::new(git, refs);
    let mut asked = Vec::with_capacity(sessions.len());
    for session in sessions {
        let mut tips = Vec::new();
        for base in lookup.bases(session)? {
            if base != refs.short_branch(&session.name) {
                let is_session = refs.session_of(&RefNames::local(&base)).is_some();
                tips.extend(lookup.tips(&base)?.into_iter().map(|tip| (tip, is_session)));
            }
        }
        tips.sort();
        tips.dedup_by(|a, b| a.0 == b.0);
        asked.push(Question { session, tips });
    }
    let look = Look::at(git, &asked, &other_branches(git, refs)?, lines)?;
    let answers = git::many::ask_each(git, &asked, |git, question| -> Result<Option<Merged>> {
        for (tip, _) in &question.tips {
            if let Some(found) = look.merged_in(git, question.session, tip)?
                && found.whole
            {
                return Ok(Some(found));
            }
        }
        look.elsewhere(git, question.session)
    });
    answers.into_iter().collect()
}

/// The merge of a session that is reachable from a commit, found by ancestry, by its tree (a squash
/// with the artifacts), or by the trailers of a commit.
///
/// # Errors
/// Git cannot be read.
pub fn merged_in(git: &Git, session: &Session, branch: &Oid) -> Result<Option<Merged>> {
    let question = Question { session, tips: vec![(branch.clone(), false)] };
    Look::at(git, std::slice::from_ref(&question), &[], &Lines::new())?
        .merged_in(git, session, branch)
}

/// A session, and the commits it may be merged into.
struct Question<'a> {
    session: &'a Session,
    /// The commits; true for the tip of another session's branch, on which only a few sessions are
    /// based.
    tips: Vec<(Oid, bool)>,
}

impl Question<'_> {
    /// The earliest possible time of a merge of the session (Unix seconds).
    fn since(&self) -> i64 {
        let created = clock::parse_rfc3339(&self.session.file.created_at).unwrap_or(0);
        let first = self.session.history.first().map_or(created, |entry| entry.time);
        (created.min(first) - CLOCK_SKEW).max(0)
    }

    /// The tips with new commits since the session began.
    fn walked(&self) -> impl Iterator<Item = &(Oid, bool)> {
        let session = self.session;
        self.tips
            .iter()
            .filter(|(tip, _)| *tip != session.tip && tip.as_str() != session.file.base.commit)
    }
}

/// The new commits of the branches that sessions may be merged into.
struct Look {
    walks: Vec<Gained>,
    /// The walk that covers a tip, and the tip's mark in it.
    places: HashMap<Oid, (usize, u64)>,
    /// Commits that may be merges of a session, by its id, newest first.
    copies: HashMap<String, Vec<Copy>>,
    /// The artifact folders in each tip's tree, by name.
    folders: HashMap<Oid, HashMap<String, Oid>>,
}

/// A commit that names a session and may be outside that session's history.
#[derive(Clone)]
struct Copy {
    commit: Oid,
    time: i64,
    /// The merged tip, if the commit names it.
    tip: Option<Oid>,
    /// True if its trailers mark it as a merge.
    is_merge: bool,
}

impl Look {
    fn at(git: &Git, asked: &[Question<'_>], elsewhere: &[Oid], lines: &Lines<'_>) -> Result<Self> {
        let ids = asked.iter().map(|question| question.session.file.id.clone());
        let copies = ids.map(|id| (id, Vec::new())).collect();
        let mut look =
            Self { walks: Vec::new(), places: HashMap::new(), copies, folders: HashMap::new() };
        // Each tip, and the time to walk back to. Tips of session branches are walked one by one,
        // because few sessions are based on each.
        let (mut shared, mut single) = (BTreeMap::new(), BTreeMap::new());
        for question in asked {
            for (tip, is_session) in question.walked() {
                let tips = if *is_session { &mut single } else { &mut shared };
                let since = tips.entry(tip).or_insert(i64::MAX);
                *since = question.since().min(*since);
            }
        }
        let earliest = asked.iter().map(Question::since).min().unwrap_or(0);
        let shared: Vec<&Oid> = shared.into_keys().collect();
        let groups = shared.chunks(BRANCHES).map(<[&Oid]>::to_vec);
        let mut others = elsewhere;
        for group in if shared.is_empty() { vec![Vec::new()] } else { groups.collect() } {
            let marks = group.into_iter().enumerate().map(|(at, tip)| (tip.clone(), 1 << at));
            let others = std::mem::take(&mut others).iter().map(|tip| (tip.clone(), ELSEWHERE));
            look.walk(git, marks.chain(others).collect(), earliest, lines)?;
        }
        for (tip, since) in single {
            look.walk(git, vec![(tip.clone(), 1)], since, lines)?;
        }
        for copies in look.copies.values_mut() {
            copies.sort_by_key(|copy| std::cmp::Reverse(copy.time));
            copies.dedup_by(|a, b| a.commit == b.commit);
        }
        let tips = asked.iter().flat_map(Question::walked);
        for (tip, _) in tips {
            if !look.folders.contains_key(tip) {
                let there = git.reader().folders_in(tip, SESSIONS)?;
                look.folders.insert(tip.clone(), there.into_iter().collect());
            }
        }
        Ok(look)
    }

    fn walk(
        &mut self,
        git: &Git,
        tips: Vec<(Oid, u64)>,
        since: i64,
        lines: &Lines<'_>,
    ) -> Result<()> {
        let copies = &mut self.copies;
        let gained = git::gained::find(git, &tips, &Limits { since, lines }, &mut |commit| {
            for (id, copy) in speaks_for(&commit.id, commit.committer_time, &commit.message) {
                if let Some(copies) = copies.get_mut(&id) {
                    copies.push(copy);
                }
            }
        })?;
        for (tip, mark) in tips {
            if mark != ELSEWHERE {
                self.places.insert(tip, (self.walks.len(), mark));
            }
        }
        self.walks.push(gained);
        Ok(())
    }

    /// Like [`merged_in`], for a tip that was walked.
    fn merged_in(&self, git: &Git, session: &Session, tip: &Oid) -> Result<Option<Merged>> {
        let own = &session.tip;
        let reached = |commit: &Oid| {
            let place = self.places.get(tip);
            place.is_some_and(|(walk, mark)| self.walks[*walk].marks_of(commit) & mark != 0)
        };
        if own == tip || reached(own) {
            return Ok(Some(Merged { commit: own.clone(), tip: Some(own.clone()), whole: true }));
        }
        let copy = self.copy(git, session, |copy| reached(&copy.commit))?;
        let Some(folder) = self.folder(session, tip) else { return Ok(copy) };
        let there = delivered(git.reader().as_ref(), session, folder)?;
        if there.as_ref().is_none_or(|(file, _)| file.id != session.file.id) {
            return Ok(copy);
        }
        let report = artifact_path(&session.name, Artifact::DeliveryReport);
        let same = there.map(|(_, report)| report) == git::snapshot::blob_id(git, own, &report)?;
        Ok(match copy {
            Some(copy) => Some(Merged { whole: copy.whole && same, ..copy }),
            // Of a plain merge the commits are there; the session may have gone on since.
            None => same.then(|| {
                let is_plain = session.history.iter().any(|entry| reached(&entry.commit));
                Merged { commit: tip.clone(), tip: None, whole: !is_plain }
            }),
        })
    }

    /// A merge by `git cowork merge` into any branch that is not a session's.
    fn elsewhere(&self, git: &Git, session: &Session) -> Result<Option<Merged>> {
        let Some(walk) = self.walks.first() else { return Ok(None) };
        let whole = |copy: &Copy| {
            let whole = copy.tip.as_ref().is_none_or(|tip| *tip == session.tip);
            whole && copy.is_merge && walk.marks_of(&copy.commit) & ELSEWHERE != 0
        };
        self.copy(git, session, whole)
    }

    /// The newest commit outside the session's history that contains its delivery.
    fn copy(
        &self,
        git: &Git,
        session: &Session,
        wanted: impl Fn(&Copy) -> bool,
    ) -> Result<Option<Merged>> {
        let copies = self.copies.get(&session.file.id).into_iter().flatten();
        for copy in copies.filter(|copy| wanted(copy)) {
            if !session.stands_on(git, &copy.commit)? {
                let Copy { commit, tip, .. } = copy.clone();
                let whole = tip.as_ref().is_none_or(|tip| *tip == session.tip);
                return Ok(Some(Merged { commit, tip, whole }));
            }
        }
        Ok(None)
    }

    /// The folder of the session's artifacts in a tip's tree.
    fn folder(&self, session: &Session, tip: &Oid) -> Option<&Oid> {
        let folder = session.name.artifact_dir();
        let name = folder.strip_prefix(SESSIONS)?.strip_prefix('/')?;
        self.folders.get(tip)?.get(name)
    }
}

/// Reads `session.json` and the id of the delivery report from a folder of artifacts; `None` if one
/// is missing or unreadable.
fn delivered(
    reader: &dyn Reader,
    session: &Session,
    folder: &Oid,
) -> Result<Option<(SessionFile, Oid)>> {
    let within = format!("{}/", session.name.artifact_dir());
    let [file, report] =
        [Artifact::Session, Artifact::DeliveryReport].map(|one| artifact_path(&session.name, one));
    let names = [&file, &report].map(|path| path.strip_prefix(&within).unwrap_or(path));
    let [Some(record), Some(report)] = &reader.entries(folder, &names)?[..] else {
        return Ok(None);
    };
    let Some(bytes) = reader.blob(Object::Document(&record.oid, &session.tip, &file))? else {
        return Ok(None);
    };
    // Ignore a broken file.
    Ok(serde_json::from_slice(&bytes).ok().map(|file| (file, report.oid.clone())))
}

/// The tips of all branches that are not a session's, local and remote.
fn other_branches(git: &Git, refs: &RefNames) -> Result<Vec<Oid>> {
    let root = refs.branch_root();
    let prefix = root.trim_start_matches(RefNames::BRANCHES);
    let is_session = |name: &str| {
        let folders = [prefix, "cowork-pr/"];
        match name.strip_prefix(RefNames::REMOTES) {
            Some(name) => folders.iter().any(|folder| name.contains(&format!("/{folder}"))),
            None => folders.iter().any(|folder| {
                name.strip_prefix(RefNames::BRANCHES).is_some_and(|n| n.starts_with(folder))
            }),
        }
    };
    let all = git.refs(&[RefNames::BRANCHES, RefNames::REMOTES])?.into_iter();
    let others = all.filter(|one| !is_session(one.name.as_str()));
    let mut tips: Vec<Oid> = others.map(|one| one.object).collect();
    tips.sort();
    tips.dedup();
    Ok(tips)
}

/// True if a commit contains no delivery except possibly that of the session with this id.
pub(super) fn speaks_for_no_other(commit: &Commit, id: &str) -> bool {
    let spoken = speaks_for(&commit.id, commit.committer_time, &commit.message);
    spoken.iter().all(|(other, _)| other == id)
}

/// The message of each commit with a delivery contains one of these words.
fn spoken() -> [&'static str; 2] {
    ["merge", stages::last().name()]
}

/// The sessions, by id, whose delivery a commit contains: its trailers say so, or it quotes the
/// trailers of a delivery commit (`git merge --squash`).
fn speaks_for(commit: &Oid, time: i64, message: &str) -> Vec<(String, Copy)> {
    // Most commits of sessions contain neither word.
    if !spoken().iter().any(|word| message.contains(word)) {
        return Vec::new();
    }
    let named = message.lines().filter_map(|line| line.split_once(':'));
    let mut ids: Vec<&str> = named
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case(key::SESSION_ID))
        .map(|(_, id)| id.trim())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Vec::new();
    }
    let trailers = Trailers::parse(message);
    let mut found = Vec::new();
    for id in ids {
        let ours = trailers.get(key::SESSION_ID) == Some(id);
        let is_merge = ours && trailers.get(key::EVENT) == Some("merge");
        if is_merge || (ours && is_delivery(&trailers)) || quotes_delivery(message, id) {
            let tip = trailers.get(key::TIP).filter(|_| ours).and_then(|tip| tip.parse().ok());
            found.push((id.to_owned(), Copy { commit: commit.clone(), time, tip, is_merge }));
        }
    }
    found
}

fn is_delivery(trailers: &Trailers) -> bool {
    trailers.get(key::EVENT).is_none()
        && trailers.get(key::STAGE).is_some_and(|stage| stage == stages::last().name())
}

/// True if a message quotes a delivery commit, even indented or among other text, as squashes do.
fn quotes_delivery(message: &str, id: &str) -> bool {
    let has = |key: &str, value: &str| {
        let line = format!("{key}: {value}");
        message.lines().any(|quoted| quoted.trim() == line)
    };
    has(key::SESSION_ID, id) && has(key::STAGE, stages::last().name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_squash_by_hand_quotes_the_delivery() {
        let quoted = "Squashed commit of the following:\n\ncommit 1\n\n    delivery: x\n\n    \
                      Cowork-Session: todo\n    Cowork-Session-Id: 1-2\n    Cowork-Stage: delivery\n";
        assert!(quotes_delivery(quoted, "1-2"));
        assert!(!quotes_delivery(quoted, "1-3"));
        assert!(!quotes_delivery(&quoted.replace("delivery\n", "check\n"), "1-2"));
    }
}
