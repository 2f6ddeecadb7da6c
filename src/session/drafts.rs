//! Kept drafts, read: what a stage's side ref holds, and what lies beside the session's branch.

use super::{Entry, Kind, RefNames, Session, Verdict};
use crate::git::{Git, Oid};
use crate::stage::Stage;

impl Session {
    /// The session's commits that `newest` reaches and the tip does not, each before its parents:
    /// a kept draft and those before it.
    pub(crate) fn beside_tip(&self, git: &Git, newest: &Oid) -> anyhow::Result<Vec<Entry>> {
        let (newest, tip) = (std::slice::from_ref(newest), std::slice::from_ref(&self.tip));
        let commits = git.reader().walk(newest, tip)?;
        Ok(commits.iter().filter_map(|commit| Entry::of(commit, &self.file.id)).collect())
    }

    /// The entry of a commit of this session, in its history or beside its tip.
    pub(crate) fn entry_at(&self, git: &Git, commit: &Oid) -> anyhow::Result<Option<Entry>> {
        let is_it = |entry: &Entry| entry.commit == *commit;
        match self.history.iter().find(|entry| is_it(entry)) {
            Some(entry) => Ok(Some(entry.clone())),
            None => Ok(self.beside_tip(git, commit)?.into_iter().find(is_it)),
        }
    }
}

/// A draft in its side ref.
#[derive(Clone, Debug)]
pub(crate) enum KeptDraft {
    /// It belongs to the present run of its stage: a run can take it up.
    Live(Entry),
    /// It was made on a tip that an amend or a rebase has replaced.
    Elsewhere(Entry),
    /// A person aborted it, and nothing has happened since.
    Aborted,
}

/// The kept draft of the session's present stage, unless its run was completed or ended.
pub(crate) fn kept_draft(
    git: &Git,
    session: &Session,
    stage: Stage,
) -> anyhow::Result<Option<KeptDraft>> {
    let Some(oid) = git.resolve(RefNames::draft(&session.name, stage).as_str())? else {
        return Ok(None);
    };
    let Some(entry) = session.entry_at(git, &oid)? else { return Ok(None) };
    let on = entry.parents.first();
    if entry.verdict() == Some(Verdict::Aborted) {
        return Ok((on == Some(&session.tip)).then_some(KeptDraft::Aborted));
    }
    if was_completed(git, session, stage, &entry)? {
        return Ok(None);
    }
    let place = session.history.iter().position(|e| Some(&e.commit) == on);
    let completed = |e: &Entry| matches!(e.kind, Kind::Stage(_) | Kind::Start);
    let present = session.history.iter().rposition(completed).unwrap_or(0);
    Ok(match place {
        _ if on == Some(&session.tip) => Some(KeptDraft::Live(entry)),
        Some(place) if place >= present => Some(KeptDraft::Live(entry)),
        // A stage was completed since: the draft is about what was there before.
        Some(_) => None,
        None => Some(KeptDraft::Elsewhere(entry)),
    })
}

/// True when a stage commit (also one that a plain `git reset` left behind, as its tag shows)
/// stands where this draft stood. What lies below the draft was left behind before it was begun: a
/// revert ends the drafts of its stages on the tip it leaves.
fn was_completed(
    git: &Git,
    session: &Session,
    stage: Stage,
    draft: &Entry,
) -> anyhow::Result<bool> {
    let on = draft.parents.first();
    let done = |entry: &Entry| entry.kind == Kind::Stage(stage) && entry.parents.first() == on;
    if session.history.iter().any(done) {
        return Ok(true);
    }
    for tag in git.list_refs(&[&format!("refs/tags/cowork/{}/", session.name)])? {
        let label = tag.name.as_str().rsplit('/').next().unwrap_or_default();
        let of_stage = label == stage.name() || label.starts_with(&format!("{stage}-"));
        if of_stage && git.resolve(&format!("{}^1", tag.oid))?.as_ref() == on {
            let below = session.beside_tip(git, &draft.commit)?;
            if !below.iter().any(|entry| entry.commit == tag.oid) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
