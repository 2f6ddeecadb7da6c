//! Attempts and drafts as `git cowork prune` sees them: which there are, and which must stay.

use std::collections::BTreeMap;

use super::change_requests::known;
use super::{
    KeptDraft, RefNames, Session, SessionName, attempts, drafts_of_a_person, exists, kept_draft,
};
use crate::git::{self, Git, Oid, RefName};
use crate::stage::Stage;

/// How many attempts and how many drafts of a session stay, the newest, unless they are named.
pub const NEWEST: usize = 5;

/// A ref that keeps an attempt or a draft.
#[derive(Clone, Debug)]
pub struct Leftover {
    /// The ref.
    pub name: RefName,
    /// What it names.
    pub commit: Oid,
    /// Whose.
    pub session: SessionName,
    /// `attempt` or `draft`.
    pub kind: &'static str,
    /// When it was made, Unix seconds.
    pub time: i64,
    /// Why it was made, or what it is a draft of.
    pub about: String,
    /// What forbids to drop it unasked.
    pub guard: Option<Guard>,
}

/// What forbids to drop a [`Leftover`] unless somebody names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Its stage is in progress or waits for review: it stays also when it is named.
    InProgress,
    /// It holds, or may hold, edits of a person that are in no commit of the session's branch.
    Edits,
}

/// What `prune` does with a [`Leftover`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// It goes.
    Dropped,
    /// It stays: see [`Guard`].
    Guarded(Guard),
    /// It stays: one of the newest of its kind in its session.
    Newest,
    /// It stays: younger than what was asked for.
    Younger,
}

/// What the user wants dropped.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Exactly these; empty for all that may go.
    pub named: Vec<RefName>,
    /// Only those made before this moment, Unix seconds.
    pub before: i64,
    /// How many stay, of each kind in each session.
    pub newest: usize,
}

/// The attempts and drafts of one session, or of all: by session, attempts first, the newest first.
///
/// # Errors
/// Git cannot be read.
pub fn leftovers(
    git: &Git,
    refs: &RefNames,
    only: Option<&SessionName>,
) -> anyhow::Result<Vec<Leftover>> {
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

/// What happens to each of them. What is named and not among them is left out.
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

/// Whether an attempt holds more than the tip that was left: edits that were not committed, or what
/// was staged or drafted, behind it. Whose they are cannot be told.
fn holds_edits(git: &Git, attempt: &Oid, tip: &Oid) -> anyhow::Result<bool> {
    if attempt == tip {
        return Ok(false);
    }
    let more = git.resolve(&format!("{attempt}^2"))?.is_some();
    Ok(more
        || git::snapshot::tree_of(git, attempt.as_str())?
            != git::snapshot::tree_of(git, tip.as_str())?)
}

fn drafts(git: &Git, refs: &RefNames, only: Option<&SessionName>) -> anyhow::Result<Vec<Leftover>> {
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
            guards.insert(session.clone(), Guards::of(git, refs, &session)?);
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

/// Which drafts of a session must stay.
enum Guards {
    /// The session cannot be read, so nobody can tell what its drafts hold.
    All,
    Some {
        in_progress: Option<Stage>,
        edited: Vec<Oid>,
    },
}

impl Guards {
    fn of(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<Self> {
        let Ok(Some((session, _))) = known(git, refs, name) else { return Ok(Self::All) };
        let edited = drafts_of_a_person(git, &session)?;
        let in_progress = in_progress(git, &session)?;
        // A session in the archive goes on with nothing until it is restored.
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

/// The stage whose draft waits, or would be taken up by the next run.
fn in_progress(git: &Git, session: &Session) -> anyhow::Result<Option<Stage>> {
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
    fn what_is_named_goes_unless_its_stage_is_in_progress() {
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
