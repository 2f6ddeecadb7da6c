//! Kept drafts, read: what a stage's side ref holds, and what lies beside the session's branch.

use super::message::key;
use super::{CommittedFiles, Entry, Kind, RefNames, Session, Verdict};
use crate::artifact::{Artifact, Origin, Store};
use crate::git::{self, Git, Oid};
use crate::stage::Stage;
use crate::stages::row;

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
    /// It became this commit of its stage, which plain git has taken off the branch since.
    LeftBehind(Oid),
}

/// The kept draft of the session's present stage, unless its stage was recorded or its run ended.
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
    let done = |e: &Entry| e.kind == Kind::Stage(stage) && e.parents.first() == on;
    if session.history.iter().any(done) {
        return Ok(None);
    }
    if let Some(commit) = left_behind(git, session, stage, &entry)? {
        return Ok(Some(KeptDraft::LeftBehind(commit)));
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

/// The stage commit that stands where this draft stood, and that a plain `git reset` left behind, as
/// its tag shows. What lies below the draft was left behind before it was begun: drafts of a stage
/// end on the tip that is left.
fn left_behind(
    git: &Git,
    session: &Session,
    stage: Stage,
    draft: &Entry,
) -> anyhow::Result<Option<Oid>> {
    let on = draft.parents.first();
    for tag in git::refs::list(git, &[RefNames::tags(&session.name)])? {
        let label = tag.name.as_str().rsplit('/').next().unwrap_or_default();
        let of_stage = label == stage.name() || label.starts_with(&format!("{stage}-"));
        if of_stage && git.resolve(&format!("{}^1", tag.oid))?.as_ref() == on {
            let below = session.beside_tip(git, &draft.commit)?;
            if !below.iter().any(|entry| entry.commit == tag.oid) {
                return Ok(Some(tag.oid));
            }
        }
    }
    Ok(None)
}

/// The newest drafts of those stages where a person's own bytes stand in a draft, this or an older
/// one, and in no commit of the session.
pub(crate) fn drafts_of_a_person(git: &Git, session: &Session) -> anyhow::Result<Vec<Oid>> {
    let mut found = Vec::new();
    for stage in session.order() {
        let Some(newest) = git.resolve(RefNames::draft(&session.name, stage).as_str())? else {
            continue;
        };
        let mut drafts = session.beside_tip(git, &newest)?;
        // An edit of the code is noted nowhere; a person who had a word in coding may have made one
        // in any draft.
        let any = row(stage).writes_code() && has_a_persons_word(git, session, stage)?;
        drafts.retain(|draft| {
            any || draft.trailers.get(key::EDITED).is_some()
                || draft.verdict() == Some(Verdict::Edited)
        });
        for draft in drafts {
            if !is_recorded(git, session, stage, &draft)? {
                found.push(newest);
                break;
            }
        }
    }
    Ok(found)
}

/// Whether a person gave feedback to the stage: to a draft that was recorded, or to the newest.
fn has_a_persons_word(git: &Git, session: &Session, stage: Stage) -> anyhow::Result<bool> {
    let newest = git.resolve(RefNames::draft(&session.name, stage).as_str())?;
    for commit in newest.iter().chain([&session.tip]) {
        let files = CommittedFiles::new(git, &session.name, commit);
        // What somebody broke by hand may hold anything.
        let Ok(said) = Store::new(&files).feedback() else { return Ok(true) };
        if said.iter().any(|entry| entry.stage == stage && entry.from == Origin::Human) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a commit of the stage, or the tip, has every file as this draft has it.
fn is_recorded(git: &Git, session: &Session, stage: Stage, draft: &Entry) -> anyhow::Result<bool> {
    let Some(on) = draft.parents.first() else { return Ok(false) };
    let mut paths = git::paths::changed(git, on, &draft.commit)?;
    // It only grows.
    paths.retain(|path| !path.ends_with(Artifact::Feedback.file_name()));
    let drafted = git::snapshot::blob_ids(git, &draft.commit, &paths)?;
    let stages = session.history.iter().filter(|entry| entry.kind == Kind::Stage(stage));
    for commit in stages.map(|entry| &entry.commit).chain([&session.tip]) {
        if git::snapshot::blob_ids(git, commit, &paths)? == drafted {
            return Ok(true);
        }
    }
    Ok(false)
}
