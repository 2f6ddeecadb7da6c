//! Who answered for a stage, as history tells it. Anybody can write `Reviewed-by: Ada` into a commit;
//! Ada passed a stage where a commit of hers says so.

use super::{Entry, Kind, Session, Verdict, key};
use crate::git::Oid;
use crate::stage::Stage;

/// Who passed a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewer {
    /// `Name <email>`; empty where nobody is named.
    pub name: String,
    /// The commit of theirs that says so; `None` where somebody else's claims it.
    pub commit: Option<Oid>,
}

impl Reviewer {
    /// `passed by Ada`, `edited by Ada`, or `claimed by Ada` where no commit of hers says it.
    pub fn words(&self, verdict: Verdict) -> String {
        let how = self.commit.as_ref().map_or("claimed", |_| verdict.name());
        let name = self.name.split(" <").next().filter(|name| !name.is_empty());
        format!("{how} by {}", name.unwrap_or("a person"))
    }
}

/// The newest commit that says how a stage was approved: the stage's own, or a review of what it has
/// become since.
pub fn approval_of(session: &Session, stage: Stage) -> Option<&Entry> {
    session.history.iter().rev().find(|entry| match entry.kind {
        Kind::Stage(of) => of == stage,
        Kind::Review(of, verdict) => of == stage && is_pass(verdict),
        _ => false,
    })
}

/// Who passed what an approving commit names; `None` where no person did.
pub fn reviewer_of(session: &Session, entry: &Entry) -> Option<Reviewer> {
    entry.verdict().filter(|verdict| matches!(verdict, Verdict::Passed | Verdict::Edited))?;
    let named = entry.trailers.get(key::REVIEWED_BY);
    let name = match entry.kind {
        Kind::Review(..) => named.unwrap_or(&entry.author),
        _ => named.unwrap_or_default(),
    };
    let approved = entry.trailers.get(key::APPROVED);
    let (Kind::Stage(stage) | Kind::Review(stage, _)) = entry.kind else { return None };
    let answers = |other: &&Entry| {
        matches!(other.kind, Kind::Review(of, verdict) if of == stage && is_pass(verdict))
            && approved.is_some()
            && other.trailers.get(key::APPROVED) == approved
    };
    // Somebody else, or a job, may have gone on after their review.
    let mut said = std::iter::once(entry).chain(session.history.iter().rev().filter(answers));
    let commit = said.find(|entry| is_by(entry, name, session.history.first()));
    Some(Reviewer { name: name.to_owned(), commit: commit.map(|entry| entry.commit.clone()) })
}

/// A session as it was at one of its commits.
pub fn as_of(session: &Session, entry: &Entry) -> Session {
    let until = session.history.iter().position(|other| other.commit == entry.commit);
    let history = session.history[..until.map_or(0, |at| at + 1)].to_vec();
    Session { tip: entry.commit.clone(), history, ..session.clone() }
}

/// Whether a commit is of this person: they committed it, or they wrote it and the whole session
/// was rebased since, which keeps authors and puts one committer on every commit from the start
/// commit on. A single commit that somebody amended is theirs.
fn is_by(entry: &Entry, name: &str, start: Option<&Entry>) -> bool {
    let rebased = |start: &Entry| {
        start.is_start()
            && (&start.author, start.time) != (&start.committer, start.committed)
            && start.committer == entry.committer
            && start.committed >= entry.time
    };
    entry.committer == name || entry.author == name && start.is_some_and(rebased)
}

/// Whether a verdict lets a draft pass.
fn is_pass(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Passed | Verdict::Edited | Verdict::Auto)
}
