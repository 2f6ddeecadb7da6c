//! What a step is made of: the commits that a draft or an attempt adds to those already seen, the
//! feedback on a draft, and its transcripts on this machine.
//!
//! Also the stage before an attempt was abandoned, and the stage the session was rewound to.

use std::collections::HashSet;
use std::path::PathBuf;

use super::{Step, Teller};
use crate::artifact::{BY_HAND, Feedback, Origin};
use crate::clock;
use crate::git::{Commit, Git, Oid, Reader};
use crate::session::{Entry, Session, StateDir};
use crate::stage::Stage;

/// Maximum number of commits to read one by one before walking history as a whole.
const LINE: usize = 256;

impl Teller<'_> {
    /// The session's commits that are reachable from a tip and in no other row, oldest first.
    pub(super) fn new_entries(&mut self, tip: &Oid) -> anyhow::Result<Vec<Entry>> {
        let reader = self.git.reader();
        let mut commits = match self.line_to_seen(reader.as_ref(), tip) {
            Some(line) => line,
            None => {
                let hide = std::slice::from_ref(&self.session.tip);
                reader.walk(std::slice::from_ref(tip), hide)?
            }
        };
        commits
            .retain(|commit| self.seen.insert(commit.id.clone(), commit.parents.clone()).is_none());
        let id = &self.session.file.id;
        Ok(commits.iter().rev().filter_map(|commit| Entry::from_commit(commit, id)).collect())
    }

    /// The commits from a tip down to one already seen: all commits below that one were seen as
    /// well, or belong to no row. `None` if there is a merge among those returned, or more than
    /// [`LINE`] commits.
    fn line_to_seen(&self, reader: &dyn Reader, tip: &Oid) -> Option<Vec<Commit>> {
        let (mut line, mut next) = (Vec::new(), tip.clone());
        while !self.seen.contains_key(&next) {
            let commit = reader.commit(&next).ok().filter(|_| line.len() < LINE)?;
            let [parent] = commit.parents.as_slice() else { return None };
            next = parent.clone();
            line.push(commit);
        }
        Some(line)
    }
}

impl Teller<'_> {
    /// The stage of an attempt's tip, and the stage the session was rewound to. `others` are the
    /// tips made later: the session continued from the newest commit that one of them shares with
    /// the attempt.
    pub(super) fn way_back(
        &self,
        attempt: &Entry,
        others: &[Oid],
    ) -> anyhow::Result<(Option<String>, Option<String>)> {
        let Some(tip) = attempt.parents.first() else { return Ok((None, None)) };
        let left = Session::load(self.git, &self.session.name, tip)?;
        let stands = |session: &Session| {
            let next = session.next_stage();
            next.map_or("completed".to_owned(), |stage| stage.to_string())
        };
        let from = stands(&left);
        let reader = self.git.reader();
        let gone = reader.walk(std::slice::from_ref(tip), others)?;
        let gone: HashSet<&Oid> = gone.iter().map(|commit| &commit.id).collect();
        let shared = left.history.iter().filter(|entry| !gone.contains(&entry.commit));
        let shared = Session { history: shared.cloned().collect(), ..left };
        Ok((Some(from), Some(stands(&shared))))
    }
}

impl Teller<'_> {
    /// The step for feedback in a commit.
    pub(super) fn feedback(&self, said: &Feedback, entry: &Entry) -> Step {
        let actor = if said.from == Origin::Human { &entry.author } else { said.from.name() };
        let mut step = self.blank(entry.time, "feedback", actor);
        step.timestamp.clone_from(&said.at);
        step.stage = Some(said.stage);
        step.from = Some(said.stage.to_string());
        step.to.clone_from(&step.from);
        step.decision = Some(said.decision());
        if let Some(stage) = said.goto_stage() {
            step.to = Some(stage.to_string());
        }
        step.iteration = Some(said.iteration);
        step.reason.clone_from(&said.details);
        step.severity = said.severity.name();
        if let Some(files) = said.extra.get(BY_HAND).and_then(|files| files.as_array()) {
            let names: Vec<&str> = files.iter().filter_map(|file| file.as_str()).collect();
            step.reason = names.join(", ");
        }
        // The commit that records the feedback is later than the draft it is about.
        let time = clock::parse_rfc3339(&said.at).unwrap_or(entry.time);
        step.order = (time, step.stage, said.iteration, 1);
        step
    }
}

impl Teller<'_> {
    /// The transcripts of a step.
    pub(super) fn transcripts_of(&self, step: &Step) -> Vec<PathBuf> {
        let Some(stage) = step.stage else { return Vec::new() };
        let drafts = match (step.event, step.iteration) {
            ("stage_completed", Some(used)) => step.first..step.first + used.max(1),
            ("task_completed", _) => 0..u32::MAX,
            ("review_requested" | "question_answered", Some(draft)) => draft..draft + 1,
            _ => return Vec::new(),
        };
        let fits = |one: &&Transcript| {
            one.stage == stage && drafts.contains(&one.draft) && one.task == step.task
        };
        self.transcripts.iter().filter(fits).map(|one| one.path.clone()).collect()
    }
}

/// A transcript, and what its name says it is about.
pub(super) struct Transcript {
    path: PathBuf,
    stage: Stage,
    draft: u32,
    task: Option<String>,
}

impl Transcript {
    fn at_path(path: PathBuf) -> Option<Self> {
        let mut parts = path.file_stem()?.to_str()?.splitn(4, '.');
        let (stage, draft, _role) = (parts.next()?, parts.next()?, parts.next()?);
        // `align`: older versions asked a model to apply a person's edit to the JSON.
        let task = parts.next().filter(|task| *task != "align" && !task.starts_with("question-"));
        let (stage, draft) = (stage.parse().ok()?, draft.parse().ok()?);
        let task = task.map(str::to_owned);
        Some(Self { path, stage, draft, task })
    }
}

/// The session's transcripts on this machine, sorted by path.
pub(super) fn transcripts(git: &Git, session: &Session) -> Vec<Transcript> {
    let folder = StateDir::at(&git.state_dir(), &session.name).transcripts();
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().filter_map(Transcript::at_path).collect()
}
