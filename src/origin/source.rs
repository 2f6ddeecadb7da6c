//! The source of lines: their commit, and the session and task it belongs to.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde::Serialize;

use super::around::{Around, around};
use super::sessions::{SessionView, Sessions, named_by};
use super::{hook, squash};
use crate::config::Config;
use crate::git::blame::{Blamed, added, blame, shallow_ends};
use crate::git::{Commit, Git, Oid};
use crate::session::{Entry, Kind, RefNames, Trailers, key, own_tasks};

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

/// A file in a commit.
type FilePlace = (Oid, String);

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

/// Finds the sources of lines, reading each commit once.
pub struct Origins<'a> {
    /// The sessions that commits name.
    pub sessions: Sessions<'a>,
    commits: RefCell<HashMap<Oid, Rc<CommitOrigin>>>,
    shallow: OnceCell<HashSet<Oid>>,
    inner: RefCell<HashMap<FilePlace, Rc<Vec<Blamed>>>>,
    pub(super) arounds: RefCell<HashMap<Oid, Around>>,
}

impl<'a> Origins<'a> {
    /// Finds sources of lines at the commit `at`.
    pub fn new(git: &'a Git, refs: &'a RefNames, config: &'a Config, at: &Oid) -> Self {
        Self {
            sessions: Sessions::new(git, refs, config, at),
            commits: RefCell::default(),
            shallow: OnceCell::new(),
            inner: RefCell::default(),
            arounds: RefCell::default(),
        }
    }

    /// Reads the newest commit, and so also the session that most lines are likely to come from.
    pub fn read_ahead(&self) {
        // An error is reported when a line needs the commit.
        let _ = self.commit_origin(&self.sessions.at);
    }

    pub(super) fn git(&self) -> &'a Git {
        self.sessions.git
    }

    /// The sources of blamed lines, split where they differ.
    ///
    /// # Errors
    /// Git cannot be read.
    pub fn sources(&self, lines: &Blamed) -> anyhow::Result<Vec<(Blamed, LineSource)>> {
        let Some(commit) = &lines.commit else {
            return Ok(vec![(lines.clone(), uncommitted())]);
        };
        let origin = self.commit_origin(commit)?;
        if origin.kind == SourceKind::Squash
            && let Some(pieces) = squash::through(self, &origin, lines)?
        {
            return Ok(pieces);
        }
        let source = line_source(&origin, &lines.path);
        let place = source.session.as_ref().filter(|_| source.entry.is_some());
        if let Some(place) = place.and_then(|view| view.entry(commit)) {
            return hook::apart(self.git(), place, lines, &source);
        }
        Ok(vec![(lines.clone(), source)])
    }

    /// Blames a file at another commit; the result is cached.
    pub(super) fn blamed_at(&self, commit: &Oid, path: &str) -> anyhow::Result<Rc<Vec<Blamed>>> {
        let place = (commit.clone(), path.to_owned());
        if let Some(blame_lines) = self.inner.borrow().get(&place) {
            return Ok(Rc::clone(blame_lines));
        }
        let lines = Rc::new(blame(self.git(), Some(commit), path, None, &|| ())?);
        self.inner.borrow_mut().insert(place, Rc::clone(&lines));
        Ok(lines)
    }

    /// Blames those of these files at a commit for which no process is needed.
    ///
    /// # Errors
    /// Git cannot be read.
    pub(super) fn blame_added(&self, commit: &Oid, paths: &[String]) -> anyhow::Result<()> {
        let added_lines = added(self.git(), commit, paths)?.into_iter();
        let entries = added_lines.map(|(path, lines)| ((commit.clone(), path), Rc::new(lines)));
        self.inner.borrow_mut().extend(entries);
        Ok(())
    }

    fn commit_origin(&self, commit: &Oid) -> anyhow::Result<Rc<CommitOrigin>> {
        if let Some(origin) = self.commits.borrow().get(commit) {
            return Ok(Rc::clone(origin));
        }
        let origin = Rc::new(self.read(self.git().reader().commit(commit)?)?);
        self.commits.borrow_mut().insert(commit.clone(), Rc::clone(&origin));
        Ok(origin)
    }

    fn read(&self, commit: Commit) -> anyhow::Result<CommitOrigin> {
        if self.ends_at(&commit.id)? {
            let (commit, kind) = (Rc::new(commit), SourceKind::Shallow);
            return Ok(CommitOrigin {
                commit,
                kind,
                entry: None,
                parts: Vec::new(),
                unknown: None,
            });
        }
        let trailers = Trailers::parse(&commit.message);
        let is_merge = commit.parents.len() > 1;
        if !is_merge && let Some(parts) = squash::parts(self, &commit, &trailers)? {
            let (commit, kind) = (Rc::new(commit), SourceKind::Squash);
            return Ok(CommitOrigin { commit, kind, entry: None, parts, unknown: None });
        }
        let view = self.sessions.of_commit(&commit.id, commit.committer_time, &trailers)?;
        let Some(view) = view else {
            let unknown = named_by(&trailers).map(|(name, _)| Unknown {
                session: name.to_string(),
                task_id: trailers.get(key::TASK).map(str::to_owned),
            });
            let kind = match (&unknown, trailers.get(key::EVENT)) {
                _ if is_merge => SourceKind::Merge,
                (Some(_), Some("merge")) => SourceKind::Squash,
                (Some(Unknown { task_id: Some(_), .. }), _) => SourceKind::Task,
                (Some(_), _) if trailers.get(key::STAGE).is_some() => SourceKind::Stage,
                _ => match self.sessions.adopting(&commit.id)? {
                    Some((view, task)) => return Ok(adopted_origin(commit, view, &task)),
                    None => SourceKind::Person(around(self, &commit)?),
                },
            };
            let commit = Rc::new(commit);
            return Ok(CommitOrigin { commit, kind, entry: None, parts: Vec::new(), unknown });
        };
        let entry = view.entry(&commit.id).map(|(entry, _)| entry.clone());
        let (kind, tasks) = match entry.as_ref().map(|entry| &entry.kind) {
            _ if is_merge => (SourceKind::Merge, Vec::new()),
            Some(Kind::Task(id)) => (SourceKind::Task, vec![view.records.id_of(id, &view.at_tip)]),
            // A person's commit that names the session without a stage or task.
            Some(Kind::Other) if trailers.get(key::EVENT).is_none() => {
                (SourceKind::Person(around(self, &commit)?), Vec::new())
            }
            _ => (SourceKind::Stage, self.own_tasks(&view)),
        };
        let parts = vec![SessionPart { session: view, tasks, tip: None }];
        Ok(CommitOrigin { commit: Rc::new(commit), kind, entry, parts, unknown: None })
    }

    /// True if a shallow clone's history ends at a commit.
    fn ends_at(&self, commit: &Oid) -> anyhow::Result<bool> {
        if let Some(ends) = self.shallow.get() {
            return Ok(ends.contains(commit));
        }
        let ends = shallow_ends(self.git())?;
        Ok(self.shallow.get_or_init(|| ends).contains(commit))
    }

    /// The tasks planned by the session itself.
    pub(super) fn own_tasks(&self, view: &SessionView) -> Vec<String> {
        let tasks = own_tasks(self.git(), &view.session, view.at_tip.plan.clone());
        let tasks = tasks.unwrap_or_default().into_iter();
        tasks.map(|task| view.records.id_of(&task.id, &view.at_tip)).collect()
    }
}

fn adopted_origin(commit: Commit, view: Rc<SessionView>, task: &str) -> CommitOrigin {
    let tasks = vec![view.records.id_of(task, &view.at_tip)];
    let parts = vec![SessionPart { session: view, tasks, tip: None }];
    let (commit, kind) = (Rc::new(commit), SourceKind::Adopted);
    CommitOrigin { commit, kind, entry: None, parts, unknown: None }
}

fn uncommitted() -> LineSource {
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
