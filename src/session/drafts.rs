//! Reads saved drafts: the draft ref of a stage, and the commits beside the session's branch.
//!
//! Also the draft that waits on the session's branch, and the answer to it.

use anyhow::Result;

use super::{CommittedFiles, Entry, Kind, RefNames, Session, Verdict, key};
use crate::artifact::{Artifact, Origin, Store};
use crate::git::{self, Git, Oid};
use crate::stage::Stage;
use crate::stages::row;

impl Session {
    /// The session's commits reachable from `newest` and not from the tip, children first: a saved
    /// draft and the drafts before it.
    pub(crate) fn beside_tip(&self, git: &Git, newest: &Oid) -> Result<Vec<Entry>> {
        let (newest, tip) = (std::slice::from_ref(newest), std::slice::from_ref(&self.tip));
        let commits = git.reader().walk(newest, tip)?;
        Ok(commits.iter().filter_map(|commit| Entry::from_commit(commit, &self.file.id)).collect())
    }

    /// The entry of a commit of this session: one in the session's history, or one that the tip
    /// does not contain, such as a saved draft.
    pub(crate) fn entry_at(&self, git: &Git, commit: &Oid) -> Result<Option<Entry>> {
        match self.history.iter().find(|entry| entry.commit == *commit) {
            Some(entry) => Ok(Some(entry.clone())),
            None => Ok(Entry::from_commit(&git.reader().commit(commit)?, &self.file.id)),
        }
    }
}

/// The draft in a stage's draft ref.
#[derive(Clone, Debug)]
pub(crate) enum KeptDraft {
    /// It belongs to the current run of its stage: `resume` can continue it.
    Live(Entry),
    /// It is based on a tip that an amend or a rebase has replaced.
    Elsewhere(Entry),
    /// The reviewer aborted it, and the tip has not changed since.
    Aborted,
    /// It became this stage commit, which somebody has since removed from the branch with plain
    /// git.
    LeftBehind(Oid),
}

/// The saved draft of a stage, unless the stage was committed or its run ended.
pub(crate) fn kept_draft(git: &Git, session: &Session, stage: Stage) -> Result<Option<KeptDraft>> {
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
        // A stage has been completed in the meantime: the draft is outdated.
        Some(_) => None,
        None => Some(KeptDraft::Elsewhere(entry)),
    })
}

/// The stage commit, found by its tag, that a plain `git reset` abandoned and that has the same
/// parent as this draft. A tagged commit that is an ancestor of the draft does not count: an older
/// draft builds on it, so it was abandoned before this draft began.
fn left_behind(git: &Git, session: &Session, stage: Stage, draft: &Entry) -> Result<Option<Oid>> {
    let on = draft.parents.first();
    for tag in git::refs::list(git, &RefNames::labels(&session.name))? {
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

/// The newest draft of each stage in which some draft may contain a person's edits that no commit
/// of the session contains.
pub(crate) fn drafts_of_a_person(git: &Git, session: &Session) -> Result<Vec<Oid>> {
    let mut found = Vec::new();
    for stage in session.order() {
        let Some(newest) = git.resolve(RefNames::draft(&session.name, stage).as_str())? else {
            continue;
        };
        let mut drafts = session.beside_tip(git, &newest)?;
        // Edits of code are not recorded; if a person gave feedback in coding, any draft may
        // contain an edit.
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

/// True if a person gave feedback on the stage, in the newest draft or at the tip.
fn has_a_persons_word(git: &Git, session: &Session, stage: Stage) -> Result<bool> {
    let newest = git.resolve(RefNames::draft(&session.name, stage).as_str())?;
    for commit in newest.iter().chain([&session.tip]) {
        let files = CommittedFiles::new(git, &session.name, commit);
        // A broken file may have contained feedback.
        let Ok(said) = Store::new(&files).feedback() else { return Ok(true) };
        if said.iter().any(|entry| entry.stage == stage && entry.from == Origin::Human) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True if a commit of the stage, or the tip, contains every file as it is in this draft.
fn is_recorded(git: &Git, session: &Session, stage: Stage, draft: &Entry) -> Result<bool> {
    let Some(on) = draft.parents.first() else { return Ok(false) };
    let mut paths = git::paths::changed(git, on, &draft.commit)?;
    // Ignore the feedback file: it only grows, so it may differ from the draft's.
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

/// A draft that waits for review, or that was answered and waits for `resume`.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Stage.
    pub stage: Stage,
    /// The draft commit.
    pub draft: Entry,
    /// The newest answer to the draft.
    pub answer: Option<Entry>,
}

impl Waiting {
    /// The model's question to the reviewer, on one line; `None` if it only asks for a review.
    pub fn reason(&self) -> Option<String> {
        let words: Vec<&str> = self.draft.body.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Why only a person's answer lets the stage go on, with the kind of reason before it.
    pub fn blocked(&self) -> Option<(&str, &str)> {
        self.draft.trailers.get(key::STUCK)?.split_once(' ')
    }

    /// The stage that the answer goes back to.
    pub fn goes_back(&self) -> Option<Stage> {
        self.answer.as_ref()?.trailers.get(key::BACK)?.parse().ok()
    }
}
