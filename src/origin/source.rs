//! Finds the source of lines: their commit, and the session and task it belongs to.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::around::{Around, around};
use super::line_source::{
    CommitOrigin, LineSource, SessionPart, SourceKind, Unknown, line_source, uncommitted,
};
use super::sessions::{SessionView, Sessions, named_by};
use super::{hook, squash};
use crate::config::Config;
use crate::git::blame::{Blamed, added, blame, shallow_ends};
use crate::git::{Commit, Git, Oid};
use crate::session::{Kind, RefNames, Trailers, key};

/// A file in a commit.
type FilePlace = (Oid, String);

/// Finds the sources of lines, reading each commit once.
pub struct Origins<'a> {
    /// The sessions that commits name.
    pub sessions: Sessions<'a>,
    commits: RefCell<HashMap<Oid, Rc<CommitOrigin>>>,
    shallow: OnceCell<HashSet<Oid>>,
    inner: RefCell<HashMap<FilePlace, Rc<Vec<Blamed>>>>,
    arounds: RefCell<HashMap<Oid, Around>>,
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
            && let Some(pieces) = squash::through(
                self.git(),
                |tip| self.blamed_at(tip, &lines.path),
                |lines| self.sources(lines),
                &origin,
                lines,
            )?
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
        if !is_merge && let Some(parts) = squash::parts(&self.sessions, &commit, &trailers)? {
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
                    None => SourceKind::Person(around(&self.sessions, &self.arounds, &commit)?),
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
                (SourceKind::Person(around(&self.sessions, &self.arounds, &commit)?), Vec::new())
            }
            _ => (SourceKind::Stage, self.sessions.own_tasks(&view)),
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
}

fn adopted_origin(commit: Commit, view: Rc<SessionView>, task: &str) -> CommitOrigin {
    let tasks = vec![view.records.id_of(task, &view.at_tip)];
    let parts = vec![SessionPart { session: view, tasks, tip: None }];
    let (commit, kind) = (Rc::new(commit), SourceKind::Adopted);
    CommitOrigin { commit, kind, entry: None, parts, unknown: None }
}
