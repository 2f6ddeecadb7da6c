//! Who approved a stage, read from history. Anybody can write `Reviewed-by: Ada` into a commit; Ada
//! approved a stage only if a commit of hers says so.

use super::{Entry, Kind, Session, Verdict, key};
use crate::git::Oid;
use crate::stage::Stage;

/// The person who approved a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewer {
    /// `Name <email>`; empty if the commit names nobody.
    pub name: String,
    /// The person's own commit that records it; `None` if only another person's commit claims it.
    pub commit: Option<Oid>,
}

impl Reviewer {
    /// Returns `passed by Ada`, `edited by Ada`, or `claimed by Ada` if no commit of hers records
    /// it.
    pub fn words(&self, verdict: Verdict) -> String {
        let how = self.commit.as_ref().map_or("claimed", |_| verdict.name());
        let name = self.name.split(" <").next().filter(|name| !name.is_empty());
        format!("{how} by {}", name.unwrap_or("a person"))
    }
}

/// The newest commit that approved a stage: its stage commit, or a later review of the stage that
/// names the approved files. A review that names none approves nothing.
pub fn approval_of(session: &Session, stage: Stage) -> Option<&Entry> {
    session.history.iter().rev().find(|entry| match entry.kind {
        Kind::Stage(of) => of == stage,
        Kind::Review(of, verdict) => {
            of == stage && is_pass(verdict) && entry.trailers.get(key::APPROVED).is_some()
        }
        _ => false,
    })
}

/// The person who gave the approval in this commit; `None` if no person gave it.
pub fn reviewer_of(session: &Session, entry: &Entry) -> Option<Reviewer> {
    entry.verdict().filter(|verdict| matches!(verdict, Verdict::Passed | Verdict::Edited))?;
    let named = entry.trailers.get(key::REVIEWED_BY);
    let name = match entry.kind {
        Kind::Review(..) => named.unwrap_or(&entry.author),
        _ => named.unwrap_or_default(),
    };
    let approved = |of: &Entry| of.trailers.words(key::APPROVED).map(str::to_owned).collect();
    let bytes: Vec<String> = approved(entry);
    let (Kind::Stage(stage) | Kind::Review(stage, _)) = entry.kind else { return None };
    let answers = |other: &&Entry| {
        matches!(other.kind, Kind::Review(of, verdict) if of == stage && is_pass(verdict))
            && !bytes.is_empty()
            && approved(other) == bytes
    };
    // Another person, or a CI job, may have resumed the session after the review.
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

/// True if a commit is by this person: the person is its committer, or its author in a session that
/// has since been rebased as a whole, which keeps authors and gives the start commit and all later
/// commits the same committer. A single amended commit belongs to whoever amended it.
fn is_by(entry: &Entry, name: &str, start: Option<&Entry>) -> bool {
    let rebased = |start: &Entry| {
        start.is_start()
            && (&start.author, start.time) != (&start.committer, start.committed)
            && start.committer == entry.committer
            && start.committed >= entry.time
    };
    entry.committer == name || entry.author == name && start.is_some_and(rebased)
}

/// True if a verdict approves a draft.
fn is_pass(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Passed | Verdict::Edited | Verdict::Auto)
}
