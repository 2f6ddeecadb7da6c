//! The sessions named by commits: their history if it still exists, and their records at the commit
//! under inspection.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::records::Records;
use crate::artifact::{Artifact, ChangeRequest, Feedback, SessionFile, Store};
use crate::clock;
use crate::config::Config;
use crate::git::gained::Limits;
use crate::git::{self, Git, Object, Oid};
use crate::session::{
    CommittedFiles, Entry, Kind, RefNames, SESSIONS, Session, SessionName, Trailers, adopted,
    artifact_path, key, own_tasks, place_of,
};
use crate::stages::{self, code_stage};
use crate::verify::{Approvals, StageApproval};

/// Tolerance in seconds for commit times of the same session: clocks differ.
const CLOCK_SKEW: i64 = 2 * 24 * 60 * 60;

/// A session with its records.
pub struct SessionView {
    /// The session, from its history.
    pub session: Session,
    /// Its current records: from the commit under inspection if it has them, else from the
    /// session's tip.
    pub records: Records,
    /// Its records at its tip, to which the ids in its commits refer.
    pub at_tip: Records,
    /// Index in the history, by commit.
    places: HashMap<Oid, usize>,
    approvals: OnceCell<Vec<StageApproval>>,
    feedback: OnceCell<Vec<Feedback>>,
    change: OnceCell<Option<ChangeRequest>>,
    code: OnceCell<Option<usize>>,
    tests: OnceCell<Option<usize>>,
}

impl SessionView {
    fn new(git: &Git, session: Session, records_at: Option<&Oid>) -> Self {
        let at_tip = Records::at(git, &session.name, &session.tip);
        let places = session.history.iter().enumerate();
        Self {
            records: records_at
                .map_or_else(|| at_tip.clone(), |at| Records::at(git, &session.name, at)),
            at_tip,
            places: places.map(|(at, entry)| (entry.commit.clone(), at)).collect(),
            approvals: OnceCell::new(),
            feedback: OnceCell::new(),
            change: OnceCell::new(),
            code: OnceCell::new(),
            tests: OnceCell::new(),
            session,
        }
    }

    /// A commit of the session, and the commit after it.
    pub(super) fn entry(&self, commit: &Oid) -> Option<(&Entry, Option<&Entry>)> {
        let at = *self.places.get(commit)?;
        Some((self.session.history.get(at)?, self.session.history.get(at + 1)))
    }

    /// The newest commit that completed the code.
    pub(super) fn code(&self) -> Option<&Entry> {
        let is_code = |entry: &Entry| entry.kind == Kind::Stage(code_stage());
        self.newest(&self.code, is_code)
    }

    /// The newest commit with results of the tests named in criteria.
    pub(super) fn tests(&self) -> Option<&Entry> {
        self.newest(&self.tests, |entry| entry.trailers.get(key::TESTS).is_some())
    }

    /// Cached, because many lines need the same commit of a long history.
    fn newest(
        &self,
        cell: &OnceCell<Option<usize>>,
        is: impl Fn(&Entry) -> bool,
    ) -> Option<&Entry> {
        let history = &self.session.history;
        let at = cell.get_or_init(|| history.iter().rposition(is));
        history.get((*at)?)
    }

    /// Feedback on its drafts; empty if the file is broken.
    pub(super) fn feedback(&self, git: &Git) -> &[Feedback] {
        self.feedback.get_or_init(|| {
            let files = CommittedFiles::new(git, &self.session.name, &self.session.tip);
            Store::new(&files).feedback().unwrap_or_default()
        })
    }

    /// The change request, if there is one.
    pub(super) fn change(&self, git: &Git) -> Option<&ChangeRequest> {
        let change = self.change.get_or_init(|| {
            let files = CommittedFiles::new(git, &self.session.name, &self.session.tip);
            Store::new(&files).change_request().ok().flatten()
        });
        change.as_ref()
    }

    /// How its gated stages were approved, and whether the approvals match their commits. Empty if
    /// this cannot be determined.
    pub fn approvals(&self, sessions: &Sessions<'_>) -> &[StageApproval] {
        self.approvals.get_or_init(|| {
            let (git, refs) = (sessions.git, sessions.refs);
            let approvals = Approvals { git, refs, session: &self.session };
            approvals.of_stages(sessions.config).unwrap_or_default()
        })
    }
}

/// The oldest session.
pub(super) struct First {
    pub name: SessionName,
    /// Creation time (Unix seconds).
    pub began: i64,
    /// The commit it was started from.
    pub base: Option<Oid>,
}

/// The sessions of a repository, each read once.
pub struct Sessions<'a> {
    pub(super) git: &'a Git,
    refs: &'a RefNames,
    config: &'a Config,
    /// The commit under inspection.
    pub(super) at: Oid,
    /// By id; several if a rebase made copies of the commits.
    cache: RefCell<HashMap<String, Vec<Rc<SessionView>>>>,
    newest: RefCell<Option<(i64, HashMap<String, Oid>)>>,
    first: OnceCell<Option<First>>,
    adopted: OnceCell<HashMap<String, Adoption>>,
}

/// The session and task of an adopted commit.
struct Adoption {
    session: SessionName,
    id: String,
    task: String,
    /// A commit with the session's records.
    place: Oid,
}

impl<'a> Sessions<'a> {
    /// The sessions named by the commits reachable from `at`.
    pub fn new(git: &'a Git, refs: &'a RefNames, config: &'a Config, at: &Oid) -> Self {
        Self {
            git,
            refs,
            config,
            at: at.clone(),
            cache: RefCell::default(),
            newest: RefCell::default(),
            first: OnceCell::new(),
            adopted: OnceCell::new(),
        }
    }

    /// The session that a commit names; `None` if its records are not found.
    pub(super) fn of_commit(
        &self,
        commit: &Oid,
        time: i64,
        trailers: &Trailers,
    ) -> anyhow::Result<Option<Rc<SessionView>>> {
        let Some((name, id)) = named_by(trailers) else { return Ok(None) };
        let contains = |view: &Rc<SessionView>| view.entry(commit).is_some();
        let cache_hit =
            self.cache.borrow().get(id).and_then(|all| all.iter().find(|k| contains(k)).cloned());
        if cache_hit.is_some() {
            return Ok(cache_hit);
        }
        let load = |tip: Option<Oid>| self.read(&name, id, &tip?).filter(contains);
        // An earlier walk through history may have found a commit of this session: use that result.
        let walk_tip =
            self.newest.borrow().as_ref().and_then(|(_, newest)| newest.get(id).cloned());
        if let Some(view) = load(walk_tip) {
            return Ok(Some(view));
        }
        let place_tip = place_of(self.git, self.refs, &name)?.map(|(tip, _)| tip);
        if let Some(view) = load(place_tip) {
            return Ok(Some(view));
        }
        // Its branch is gone, or a rebase has rewritten its commits.
        if let Some(view) = load(self.newest_of(id, time)?) {
            return Ok(Some(view));
        }
        Ok(load(Some(commit.clone())))
    }

    /// Finds a session whose commits may be gone: by the tip named in a merge, its branch, its
    /// archive ref, or the tag of its delivery.
    pub(super) fn of_name(
        &self,
        name: &SessionName,
        id: &str,
        tip: Option<&Oid>,
    ) -> anyhow::Result<Option<Rc<SessionView>>> {
        if let Some(view) = tip.and_then(|tip| self.read(name, id, tip)) {
            return Ok(Some(view));
        }
        let tip = place_of(self.git, self.refs, name)?.map(|(tip, _)| tip);
        if let Some(view) = tip.and_then(|tip| self.read(name, id, &tip)) {
            return Ok(Some(view));
        }
        // The label of its delivery may still exist without the branch.
        let last = RefNames::labels(name).map(|root| format!("{root}{}", stages::last()));
        let labels = self.git.refs(&RefNames::labels(name))?.into_iter().rev();
        let of_last = |label: &str| last.iter().any(|last| label.starts_with(last));
        let mut labels = labels.filter(|label| of_last(label.name.as_str()));
        Ok(labels.find_map(|label| self.read(name, id, &label.object)))
    }

    /// A session with its history up to a commit; `None` if the commit does not have its records.
    pub(super) fn at(&self, name: &SessionName, id: &str, commit: &Oid) -> Option<Rc<SessionView>> {
        self.read(name, id, commit)
    }

    /// True if the commit under inspection has the records of the session with this id.
    fn has_records(&self, name: &SessionName, id: &str) -> bool {
        session_file(self.git, name, &self.at).is_some_and(|file| file.id == id)
    }

    fn read(&self, name: &SessionName, id: &str, tip: &Oid) -> Option<Rc<SessionView>> {
        let same = |view: &&Rc<SessionView>| view.session.tip == *tip;
        let cache_hit = self.cache.borrow().get(id).and_then(|all| all.iter().find(same).cloned());
        if cache_hit.is_some() {
            return cache_hit;
        }
        let session =
            Session::load(self.git, name, tip).ok().filter(|session| session.file.id == id)?;
        let records_at = self.has_records(name, id).then_some(&self.at);
        let view = Rc::new(SessionView::new(self.git, session, records_at));
        self.cache.borrow_mut().entry(id.to_owned()).or_default().push(Rc::clone(&view));
        Some(view)
    }

    /// The newest commit of a session among the ancestors of `at`, ignoring merges of the session.
    fn newest_of(&self, id: &str, time: i64) -> anyhow::Result<Option<Oid>> {
        // Walk back twice as far as needed, so that not every older commit starts a new walk.
        let now = self.git.reader().commit(&self.at)?.committer_time;
        let since = time - CLOCK_SKEW.max(now - time);
        let is_walked =
            self.newest.borrow().as_ref().is_some_and(|(from, _)| *from <= time - CLOCK_SKEW);
        if !is_walked {
            let mut newest: HashMap<String, Oid> = HashMap::new();
            let tips = [(self.at.clone(), 1)];
            let lines = HashMap::new();
            git::gained::find(self.git, &tips, &Limits { since, lines: &lines }, &mut |commit| {
                let message = &commit.message;
                // A session's newest commit comes first; the trailers of older ones are not parsed.
                if said_id(message).is_some_and(|id| newest.contains_key(id)) {
                    return;
                }
                let trailers = Trailers::parse(message);
                if trailers.get(key::EVENT) != Some("merge")
                    && let Some(id) = trailers.get(key::SESSION_ID)
                {
                    newest.entry(id.to_owned()).or_insert_with(|| commit.id.clone());
                }
            })?;
            *self.newest.borrow_mut() = Some((since, newest));
        }
        let newest = self.newest.borrow();
        Ok(newest.as_ref().and_then(|(_, newest)| newest.get(id).cloned()))
    }

    /// The session that adopted a commit, and the commit's task.
    pub(super) fn adopting(
        &self,
        commit: &Oid,
    ) -> anyhow::Result<Option<(Rc<SessionView>, String)>> {
        if self.adopted.get().is_none() {
            let mut places = self.places()?;
            for branch in self.git.refs(&[self.refs.branch_root()])? {
                let name = self.refs.session_of(branch.name.as_str());
                places.extend(name.map(|name| (name, branch.object)));
            }
            let mut adoptions = HashMap::new();
            for (name, place) in places {
                let Some(file) = session_file(self.git, &name, &place) else { continue };
                if !file.is_adopted() {
                    continue;
                }
                let commits = file.adopted().map(|(task, id)| (task.to_owned(), id.to_owned()));
                let mut commits: Vec<(String, String)> = commits.collect();
                // A rebase may have rewritten them.
                if let Ok(session) = Session::load(self.git, &name, &place) {
                    let now = adopted(self.git, &session)?.into_iter();
                    commits.extend(now.map(|(task, commit)| (task, commit.id.to_string())));
                }
                for (task, commit) in commits {
                    let (session, id) = (name.clone(), file.id.clone());
                    let adoption = Adoption { session, id, task, place: place.clone() };
                    adoptions.entry(commit).or_insert(adoption);
                }
            }
            // If it is already set, the value is the same.
            let _ = self.adopted.set(adoptions);
        }
        let Some(adoption) = self.adopted.get().and_then(|all| all.get(commit.as_str())) else {
            return Ok(None);
        };
        let Adoption { session, id, task, place } = adoption;
        let view = match self.of_name(session, id, None)? {
            Some(view) => Some(view),
            None => self.read(session, id, place),
        };
        Ok(view.map(|view| (view, task.clone())))
    }

    /// The commits with records of sessions: the commit under inspection, and those in the archive.
    fn places(&self) -> anyhow::Result<Vec<(SessionName, Oid)>> {
        let mut places: Vec<(SessionName, Oid)> = Vec::new();
        for folder in git::paths::names_in(self.git, &self.at, SESSIONS)? {
            places.extend(folder.parse().ok().map(|name| (name, self.at.clone())));
        }
        for info in self.git.refs(&[RefNames::ARCHIVE])? {
            let name = info.name.as_str().strip_prefix(RefNames::ARCHIVE);
            places.extend(name.and_then(|name| name.parse().ok()).map(|name| (name, info.object)));
        }
        Ok(places)
    }

    /// The tasks planned by the session itself.
    pub(super) fn own_tasks(&self, view: &SessionView) -> Vec<String> {
        let tasks = own_tasks(self.git, &view.session, view.at_tip.plan.clone());
        let tasks = tasks.unwrap_or_default().into_iter();
        tasks.map(|task| view.records.id_of(&task.id, &view.at_tip)).collect()
    }

    /// The oldest session with records at the commit under inspection or in the archive.
    pub(super) fn first(&self) -> anyhow::Result<Option<&First>> {
        if let Some(first) = self.first.get() {
            return Ok(first.as_ref());
        }
        let began = self.places()?.into_iter().filter_map(|(name, commit)| {
            let file = session_file(self.git, &name, &commit)?;
            let began = clock::parse_rfc3339(&file.created_at)?;
            Some(First { name, began, base: file.base.commit.parse().ok() })
        });
        let first = began.min_by_key(|first| first.began);
        Ok(self.first.get_or_init(|| first).as_ref())
    }
}

/// The session named by trailers, and its id.
pub(super) fn named_by(trailers: &Trailers) -> Option<(SessionName, &str)> {
    let name = trailers.get(key::SESSION)?.parse().ok()?;
    Some((name, trailers.get(key::SESSION_ID)?))
}

/// The session id in a message, if exactly one line has one.
fn said_id(message: &str) -> Option<&str> {
    let is_id = |line: &&str| line.starts_with(key::SESSION_ID);
    let mut lines = message.lines().filter(is_id);
    let id = lines.next()?.split_once(':')?.1;
    lines.next().is_none().then(|| id.trim())
}

/// `session.json` of a session at a commit, if it exists and is readable.
pub(super) fn session_file(git: &Git, name: &SessionName, commit: &Oid) -> Option<SessionFile> {
    let path = artifact_path(name, Artifact::Session);
    let bytes = git.reader().blob(Object::At(commit, &path)).ok().flatten()?;
    serde_json::from_slice(&bytes).ok()
}
