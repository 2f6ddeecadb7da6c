//! The source of a line as it was found: its commit, the kind of commit, its session and task.

use std::rc::Rc;

use serde::Serialize;

use super::around::Around;
use super::sessions::SessionView;
use crate::git::{Commit, Oid};
use crate::session::Entry;

/// How the task of a line was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The commit names it.
    Commit,
    /// Of the commit's tasks, it is the only one that the plan or the delivery report names for the
    /// file.
    Plan,
    /// Only the session is known, with the tasks that name the file, if any.
    Session,
    /// Nothing is known.
    Nothing,
}

impl Certainty {
    /// The value of `known_by` in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Plan => "plan",
            Self::Session => "session",
            Self::Nothing => "nothing",
        }
    }
}

/// The kind of commit that a line came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// No commit yet.
    Uncommitted,
    /// A task's commit.
    Task,
    /// A person's commit that a session adopted for a task.
    Adopted,
    /// Another commit of a session: of a stage, a draft, a review.
    Stage,
    /// A squash of a whole session, or of several commits of a session.
    Squash,
    /// A merge: neither parent has the line.
    Merge,
    /// A session's commit in which a hook wrote the line; the hook's name if recorded.
    Hook(Option<String>),
    /// The end of a shallow clone's history, to which all older lines are attributed.
    Shallow,
    /// A person's commit.
    Person(Around),
}

/// What a commit says about a session whose records are not found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// Its name.
    pub session: String,
    /// The task named by the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
}

/// The source of lines.
#[derive(Clone)]
pub struct LineSource {
    /// The commit; `None` for uncommitted lines.
    pub commit: Option<Rc<Commit>>,
    /// The kind of commit.
    pub kind: SourceKind,
    /// Its session.
    pub session: Option<Rc<SessionView>>,
    /// The session named by the commit, if its records are not found.
    pub unknown: Option<Unknown>,
    /// The commit's entry in the session's history.
    pub entry: Option<Entry>,
    /// Its task; several if the task is ambiguous. Ids as in the session's current records.
    pub tasks: Vec<String>,
    /// How the task was found.
    pub certainty: Certainty,
    /// The squash that brought the commit, if the squashed commits are still in this repository.
    pub squash: Option<Rc<Commit>>,
}

/// The part of a session that a commit contains.
#[derive(Clone)]
pub(super) struct SessionPart {
    pub session: Rc<SessionView>,
    /// The tasks it may contain, by their ids in the session's records.
    pub tasks: Vec<String>,
    /// Tip of the squashed commits.
    pub tip: Option<Oid>,
}

/// The session, tasks and kind of a commit.
pub(super) struct CommitOrigin {
    pub commit: Rc<Commit>,
    pub kind: SourceKind,
    pub entry: Option<Entry>,
    pub parts: Vec<SessionPart>,
    pub unknown: Option<Unknown>,
}

pub(super) fn uncommitted() -> LineSource {
    LineSource {
        commit: None,
        kind: SourceKind::Uncommitted,
        session: None,
        unknown: None,
        entry: None,
        tasks: Vec::new(),
        certainty: Certainty::Nothing,
        squash: None,
    }
}

/// The source of a line in a file, from its commit and the plan.
pub(super) fn line_source(origin: &CommitOrigin, path: &str) -> LineSource {
    let source = LineSource {
        commit: Some(Rc::clone(&origin.commit)),
        kind: origin.kind.clone(),
        session: origin.parts.first().map(|part| Rc::clone(&part.session)),
        unknown: origin.unknown.clone().filter(|_| !matches!(origin.kind, SourceKind::Person(_))),
        entry: origin.entry.clone(),
        tasks: Vec::new(),
        certainty: Certainty::Nothing,
        squash: None,
    };
    match (&origin.kind, &origin.parts[..]) {
        (_, []) if source.unknown.is_some() => {
            LineSource { certainty: Certainty::Session, ..source }
        }
        (_, []) => source,
        (SourceKind::Task | SourceKind::Adopted, [part]) => {
            LineSource { tasks: part.tasks.clone(), certainty: Certainty::Commit, ..source }
        }
        // Documents belong to a stage, not to a task.
        _ if path.starts_with(".cowork/") => LineSource { certainty: Certainty::Session, ..source },
        (_, parts) => {
            let matching = parts.iter().flat_map(|part| {
                let naming = part.session.records.naming(path);
                let naming = naming.filter(|task| part.tasks.contains(&task.id));
                naming.map(|task| (Rc::clone(&part.session), task.id.clone())).collect::<Vec<_>>()
            });
            let matching: Vec<(Rc<SessionView>, String)> = matching.collect();
            let session = matching.first().map(|(view, _)| Rc::clone(view)).or(source.session);
            let certainty = match matching.len() {
                1 => Certainty::Plan,
                _ => Certainty::Session,
            };
            let tasks = matching.into_iter().map(|(_, task)| task).collect();
            LineSource { session, tasks, certainty, ..source }
        }
    }
}
