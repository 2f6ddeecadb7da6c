//! Attempts and drafts for `git cowork prune`: which exist, and which must be kept.

use std::collections::BTreeMap;

use anyhow::Result;

use super::change_requests::known;
use super::{
    KeptDraft, RefNames, Session, SessionName, attempts, drafts_of_a_person, exists, kept_draft,
};
use crate::git::{self, Git, Oid, RefName};
use crate::stage::Stage;

/// Number of newest attempts, and of newest drafts, kept in each session unless the user names
/// them.
pub const NEWEST: usize = 5;

/// An attempt or a draft.
#[derive(Clone, Debug)]
pub struct Leftover {
    /// Name of the ref.
    pub name: RefName,
    /// The commit the ref points to.
    pub commit: Oid,
    /// Its session.
    pub session: SessionName,
    /// `attempt` or `draft`.
    pub kind: &'static str,
    /// When it was made (Unix seconds).
    pub time: i64,
    /// The reason for the attempt, or the draft's stage.
    pub about: String,
    /// Why it is protected, if it is.
    pub guard: Option<Guard>,
}

/// Why a [`Leftover`] is protected: it is deleted only if named, or not even then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Its stage is in progress or waits for review: kept even if named.
    InProgress,
    /// It contains, or may contain, a person's edits that are in no commit of the session's branch.
    Edits,
}

/// The decision of `prune` about a [`Leftover`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Deleted.
    Dropped,
    /// Kept: see [`Guard`].
    Guarded(Guard),
    /// Kept: one of the newest of its kind in its session.
    Newest,
    /// Kept: younger than the selected age.
    Younger,
}

/// What the user wants to delete.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Exactly these refs; if empty, all that are not protected.
    pub named: Vec<RefName>,
    /// Only those made before this time (Unix seconds).
    pub before: i64,
    /// Number to keep, of each kind in each session.
    pub newest: usize,
}

/// The attempts and drafts of one session, or of all, sorted by session, attempts first, newest
/// first.
///
/// # Errors
/// Git cannot be read.
pub fn leftovers(git: &Git, refs: &RefNames, only: Option<&SessionName>) -> Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for attempt in attempts(git, only)? {
        let name = RefNames::attempt(&attempt.session, attempt.number);
        let guard = holds_edits(git, &attempt.commit, &attempt.tip)?.then_some(Guard::Edits);
        found.push(Leftover {
            name,
            commit: attempt.commit,
            session: attempt.session,
            kind: "attempt",
            time: attempt.time,
            about: attempt.reason,
            guard,
        });
    }
    found.extend(drafts(git, refs, only)?);
    let number = |name: &RefName| name.as_str().rsplit('/').next()?.parse::<u32>().ok();
    found.sort_by(|a, b| {
        let age = |one: &Leftover| (number(&one.name), one.time);
        (&a.session, a.kind).cmp(&(&b.session, b.kind)).then(age(b).cmp(&age(a)))
    });
    Ok(found)
}

/// Decides what happens to each of them. Named refs that are not in `all` are ignored.
pub fn retentions(all: &[Leftover], selection: &Selection) -> Vec<(Leftover, Retention)> {
    let mut seen: BTreeMap<(&SessionName, &str), usize> = BTreeMap::new();
    let mut retentions = Vec::new();
    for one in all {
        let newer = seen.entry((&one.session, one.kind)).or_default();
        *newer += 1;
        let named = selection.named.contains(&one.name);
        if !selection.named.is_empty() && !named {
            continue;
        }
        let retention = match one.guard {
            Some(Guard::InProgress) => Retention::Guarded(Guard::InProgress),
            _ if named => Retention::Dropped,
            _ if *newer <= selection.newest => Retention::Newest,
            _ if one.time >= selection.before => Retention::Younger,
            Some(guard) => Retention::Guarded(guard),
            None => Retention::Dropped,
        };
        retentions.push((one.clone(), retention));
    }
    retentions
}

/// True if an attempt contains more than the abandoned tip: uncommitted edits in its tree, or a
/// second parent with staged files or a draft. git-cowork cannot tell who made the edits.
fn holds_edits(git: &Git, attempt: &Oid, tip: &Oid) -> Result<bool> {
    if attempt == tip {
        return Ok(false);
    }
    let more = git.resolve(&format!("{attempt}^2"))?.is_some();
    Ok(more
        || git::snapshot::tree_of(git, attempt.as_str())?
            != git::snapshot::tree_of(git, tip.as_str())?)
}

fn drafts(git: &Git, refs: &RefNames, only: Option<&SessionName>) -> Result<Vec<Leftover>> {
    let root = only.map_or_else(|| RefNames::DRAFTS.to_owned(), RefNames::drafts);
    let mut guards: BTreeMap<SessionName, Guards> = BTreeMap::new();
    let mut found = Vec::new();
    for info in git::refs::list(git, &[&root])? {
        let parts =
            info.name.as_str().strip_prefix(RefNames::DRAFTS).and_then(|rest| rest.split_once('/'));
        let Some((Ok(session), Ok(stage))) =
            parts.map(|(session, stage)| (session.parse::<SessionName>(), stage.parse::<Stage>()))
        else {
            continue;
        };
        if !guards.contains_key(&session) {
            guards.insert(session.clone(), Guards::read(git, refs, &session)?);
        }
        let guard = guards.get(&session).and_then(|guards| guards.about(stage, &info.oid));
        found.push(Leftover {
            name: info.name,
            commit: info.oid,
            session,
            kind: "draft",
            time: info.committer_time,
            about: format!("the drafts of {stage}"),
            guard,
        });
    }
    Ok(found)
}

/// The drafts of a session that must be kept.
enum Guards {
    /// The session cannot be read, so its drafts may contain anything.
    All,
    Some {
        in_progress: Option<Stage>,
        edited: Vec<Oid>,
    },
}

impl Guards {
    fn read(git: &Git, refs: &RefNames, name: &SessionName) -> Result<Self> {
        let Ok(Some((session, _))) = known(git, refs, name) else { return Ok(Self::All) };
        let edited = drafts_of_a_person(git, &session)?;
        let in_progress = in_progress(git, &session)?;
        // An archived session has no stage in progress until it is restored.
        let on_branch = exists(git, refs, name)?;
        Ok(Self::Some { in_progress: in_progress.filter(|_| on_branch), edited })
    }

    fn about(&self, stage: Stage, draft: &Oid) -> Option<Guard> {
        match self {
            Self::Some { in_progress: Some(present), .. } if *present == stage => {
                Some(Guard::InProgress)
            }
            Self::Some { edited, .. } if !edited.contains(draft) => None,
            Self::All | Self::Some { .. } => Some(Guard::Edits),
        }
    }
}

/// The stage of the draft that waits, or that the next run would continue.
fn in_progress(git: &Git, session: &Session) -> Result<Option<Stage>> {
    if let Some(waiting) = session.waiting() {
        return Ok(Some(waiting.stage));
    }
    let Some(stage) = session.next_stage() else { return Ok(None) };
    Ok(match kept_draft(git, session, stage)? {
        None | Some(KeptDraft::Aborted) => None,
        Some(KeptDraft::Live(_) | KeptDraft::Elsewhere(_) | KeptDraft::LeftBehind(_)) => {
            Some(stage)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(session: &str, number: u32, time: i64, guard: Option<Guard>) -> Leftover {
        let session: SessionName = session.parse().unwrap();
        Leftover {
            name: RefNames::attempt(&session, number),
            commit: "0123456789012345678901234567890123456789".parse().unwrap(),
            session,
            kind: "attempt",
            time,
            about: String::new(),
            guard,
        }
    }

    fn told(
        all: &[Leftover],
        named: &[&str],
        before: i64,
        newest: usize,
    ) -> Vec<(String, Retention)> {
        let named = named.iter().map(|name| RefName::new(*name).unwrap()).collect();
        let retentions = retentions(all, &Selection { named, before, newest });
        let short = |one: &Leftover| one.name.as_str().replace("refs/cowork/attempts/", "");
        retentions.iter().map(|(one, retention)| (short(one), *retention)).collect()
    }

    #[test]
    fn the_newest_the_younger_and_the_guarded_stay() {
        let all = [
            attempt("a", 9, 90, None),
            attempt("a", 8, 80, None),
            attempt("a", 7, 70, Some(Guard::Edits)),
            attempt("a", 6, 60, None),
            attempt("b", 1, 10, None),
        ];
        let expected = [
            ("a/9".to_owned(), Retention::Newest),
            ("a/8".to_owned(), Retention::Younger),
            ("a/7".to_owned(), Retention::Guarded(Guard::Edits)),
            ("a/6".to_owned(), Retention::Dropped),
            ("b/1".to_owned(), Retention::Newest),
        ];
        assert_eq!(told(&all, &[], 75, 1), expected);
    }

    #[test]
    fn named_refs_are_deleted_unless_their_stage_is_in_progress() {
        let all = [
            attempt("a", 3, 90, Some(Guard::InProgress)),
            attempt("a", 2, 80, Some(Guard::Edits)),
            attempt("a", 1, 70, None),
        ];
        let named = ["refs/cowork/attempts/a/2", "refs/cowork/attempts/a/3"];
        let expected = [
            ("a/3".to_owned(), Retention::Guarded(Guard::InProgress)),
            ("a/2".to_owned(), Retention::Dropped),
        ];
        assert_eq!(told(&all, &named, i64::MAX, 5), expected);
    }
}
