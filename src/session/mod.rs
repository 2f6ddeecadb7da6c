//! Sessions, read from git history: [`Session::load`] reads the commits that carry the session's id
//! and derives which stages are done. No status file exists that could disagree with history.

mod adopted;
mod attempts;
mod baseline;
mod bases;
mod change_requests;
mod drafts;
mod file_at_tip;
mod find;
mod head;
mod history;
mod inherit;
pub mod key;
mod knowledge;
mod known_heads;
mod known_records;
mod leftover;
mod live;
mod lock;
mod log;
mod merged;
mod merged_changes;
mod message;
mod message_body;
#[cfg(test)]
mod message_random_tests;
mod name;
mod open_gate;
mod project_files;
mod ref_names;
mod renumbered;
mod reviewer;
mod state_dir;
mod status;
mod test_results;
mod trailers;
mod typed;
mod unrecorded;
mod used;

pub(crate) use adopted::adopted;
pub use attempts::{Attempt, Back, attempts};
pub(crate) use baseline::{baseline, parents_files};
pub use bases::{base_branch, began, default_branches, merge_command, review_base};
pub use change_requests::{
    ChangeBase, change_base, changeable, changes_within, delivered_here, find_in_tree, in_tree,
    merged_into, merged_tasks, own_tasks,
};
pub(crate) use change_requests::{place_of, related_commits};
pub use drafts::Waiting;
pub(crate) use drafts::{KeptDraft, drafts_of_a_person, kept_draft};
pub use file_at_tip::{from_top, last_good};
use file_at_tip::{restorable, session_file};
pub use find::{
    NameUse, Overview, Unreadable, default_session, exists, heads, name_use, names, overview,
};
pub use head::{Head, merged_heads, states};
pub use history::{Entry, Kind, Verdict, render_cost, render_usage};
pub use inherit::{Inheritance, StageOf};
pub use knowledge::{
    DROPPED, KNOWLEDGE_EVENT, ProposedBy, TAKEN, knowledge_at, knowledge_taken_out, proposals_of,
    undecided_knowledge,
};
pub use known_heads::wrong_head;
pub use known_records::{CommittedFiles, KnownRecords, recorded_files};
pub use leftover::{Guard, Leftover, NEWEST, Retention, Selection, leftovers, retentions};
pub use live::{Doing, LiveRun, Position, RunNotes, live_run};
pub use lock::{Holder, RunLock};
pub use log::{LineCounts, Step, log, once, wrong_changes};
pub use merged::{Merged, merged, merged_in};
pub use merged_changes::{MergedChange, merged_changes};
pub use message::{Message, subject_line, with_edited};
pub(crate) use message_body::marked;
pub use name::{SESSIONS, SessionName, makes_a_name, slug};
pub use open_gate::{
    Asks, ClosedGate, GateAnswer, GateNote, OpenGate, RunGates, Said, answer_gate, gate_answer,
    gates,
};
pub use project_files::{
    ChangedFile, ProjectFiles, changed_files, code_changes, embedded_repository, in_short,
};
pub(crate) use project_files::{
    CommittedCode, code, code_changes_with, code_digest, code_since_start, committed_code,
    start_of_code,
};
use project_files::{count_changes, is_code};
pub use ref_names::RefNames;
pub use renumbered::{Renumbering, renumberings};
pub use reviewer::{Reviewer, approval_of, as_of, reviewer_of};
pub use state_dir::{Protected, StateDir};
use status::present_draft;
pub use status::{AtHand, Details, Kept, State, Status, StatusJson, Stop, session_state};
pub(crate) use test_results::log_of_tests;
pub use test_results::{TestResults, count_results};
pub use trailers::Trailers;
pub use typed::{TypedNote, TypedNotes};
pub use unrecorded::{FROM_FILES, shown, unrecorded};
pub use used::Used;

use std::collections::BTreeSet;

use crate::artifact::{Artifact, ChangeRequest, Scope, SessionFile, SessionKind};
use crate::error::Error;
use crate::git::{self, Commit, Git, Object, Oid, Part, Reader};
use crate::stage::{Depth, Stage};
use crate::stages::{self, StageSpec, row};

/// A session, read from its history.
#[derive(Clone, Debug)]
pub struct Session {
    /// Name.
    pub name: SessionName,
    /// Tip of its branch.
    pub tip: Oid,
    /// `session.json` at the tip.
    pub file: SessionFile,
    /// The older format version of `session.json`, if `file` was converted from it.
    pub older: Option<String>,
    /// Its commits, oldest first.
    pub history: Vec<Entry>,
    /// The stages a change request needs, from its triage at the tip; `None` before triage and in a
    /// session that is not a change request.
    pub scope: Option<Scope>,
    /// True if its records were delivered and its commits are not in this history: it was squashed.
    pub squashed: bool,
    /// True if a change request has a `prd.md` at its tip; `None` in a session of another kind.
    has_prd: Option<bool>,
}

impl Session {
    /// Reads a session from its tip.
    ///
    /// # Errors
    /// The tip has no readable `session.json` for this name, or history cannot be walked.
    pub fn load(git: &Git, name: &SessionName, tip: &Oid) -> anyhow::Result<Self> {
        let reader = git.reader();
        let (file, older) = session_file(reader.as_ref(), name, tip)
            .map_err(|error| restorable(git, name, tip, error))?;
        Self::with_file(reader.as_ref(), name, tip, file, older)
    }

    /// Reads a session whose tip has no readable `session.json`, using the last commit that has
    /// one. Returns `None` if the tip is readable or no such commit exists.
    ///
    /// # Errors
    /// Git cannot be read.
    pub fn load_broken(git: &Git, name: &SessionName, tip: &Oid) -> anyhow::Result<Option<Self>> {
        let reader = git.reader();
        if session_file(reader.as_ref(), name, tip).is_ok() {
            return Ok(None);
        }
        let path = artifact_path(name, Artifact::Session);
        let Some(good) = last_good(git, tip, Artifact::Session, &path)? else { return Ok(None) };
        let (file, older) = session_file(reader.as_ref(), name, &good)?;
        Self::with_file(reader.as_ref(), name, tip, file, older).map(Some)
    }

    fn with_file(
        reader: &dyn Reader,
        name: &SessionName,
        tip: &Oid,
        file: SessionFile,
        older: Option<String>,
    ) -> anyhow::Result<Self> {
        let history = entries(reader, name, &file, tip)?;
        let (scope, has_prd) = match file.kind {
            SessionKind::New => (None, None),
            SessionKind::Patch => {
                let prd = artifact_path(name, Artifact::Prd);
                let scope = scope(reader, name, tip)?.map(|scope| scope.with(&widened(&history)));
                (scope, Some(reader.blob(Object::At(tip, &prd))?.is_some()))
            }
        };
        let report = artifact_path(name, Artifact::DeliveryReport);
        let squashed = history.is_empty() && reader.blob(Object::At(tip, &report))?.is_some();
        let (name, tip) = (name.clone(), tip.clone());
        Ok(Self { name, tip, file, older, history, scope, squashed, has_prd })
    }

    /// Reads a session by name.
    ///
    /// # Errors
    /// Unknown or archived session: exit 5, with a hint.
    pub fn find(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<Self> {
        git.expect_refs(refs.own(name));
        match git.resolve(refs.branch(name).as_str())? {
            Some(tip) => Self::load(git, name, &tip),
            None if git.resolve(RefNames::archive(name).as_str())?.is_some() => {
                Err(Error::repository(format!("'{name}' is in the archive"))
                    .hint(format!("bring it back first: git cowork restore {name}"))
                    .into())
            }
            None if in_tree(git)?.contains(name) => {
                Err(Error::repository(format!("'{name}' was merged, and has no branch any more"))
                    .hint(format!("look at it: git cowork status {name}"))
                    .into())
            }
            None => Err(no_session(name).into()),
        }
    }

    /// The session's depth; the newest commit with a depth trailer counts.
    pub fn depth(&self) -> Depth {
        let said = |entry: &Entry| entry.trailers.get(key::DEPTH)?.parse().ok();
        self.history.iter().rev().find_map(said).unwrap_or(self.file.depth)
    }

    /// The stages of this session, in order. A change request has the stages in its scope, and
    /// stages it has already completed even if its scope no longer names them.
    pub fn order(&self) -> Vec<Stage> {
        let depth = self.depth();
        let named: Vec<Stage> = stages::order(depth, self.is_patch(), self.scope).collect();
        let all = stages::order(depth, self.is_patch(), None);
        let passes = |stage: &Stage| named.contains(stage) || self.stage_entry(*stage).is_some();
        all.filter(passes).collect()
    }

    /// True for a change request whose documents have no `prd.md`.
    pub fn lacks_prd(&self) -> bool {
        self.has_prd == Some(false)
    }

    /// The specification of a stage, as it applies to this session.
    pub fn row(&self, stage: Stage) -> &'static StageSpec {
        stages::row_of(stage, self.depth(), &self.order(), self.has_prd)
    }

    /// The last stage inherited from another session, and the start commit that records it.
    pub fn inherited(&self) -> Option<(Stage, &Entry)> {
        let start = self.history.first().filter(|entry| entry.is_start())?;
        match start.kind {
            Kind::Stage(stage) => Some((stage, start)),
            _ => None,
        }
    }

    /// The session's own stages before `stage`, to which it can be rewound.
    pub fn earlier(&self, stage: Stage) -> Vec<Stage> {
        let inherited = self.inherited().map(|(stage, _)| stage);
        let own = |other: &Stage| *other < stage && inherited.is_none_or(|last| *other > last);
        self.order().into_iter().filter(own).collect()
    }

    /// True for a change request (a patch session).
    pub fn is_patch(&self) -> bool {
        self.file.kind == SessionKind::Patch
    }

    /// The newest stage commit; it implies that every earlier stage of the order was completed.
    pub fn last_stage(&self) -> Option<(Stage, &Entry)> {
        self.history.iter().rev().find_map(|entry| match entry.kind {
            Kind::Stage(stage) => Some((stage, entry)),
            _ => None,
        })
    }

    /// The stages that are done.
    pub fn done(&self) -> Vec<Stage> {
        if self.squashed {
            return self.order();
        }
        let Some((last, _)) = self.last_stage() else { return Vec::new() };
        let open = self.reopened();
        let done = |stage: &Stage| *stage <= last && open.is_none_or(|open| *stage < open);
        self.order().into_iter().take_while(done).collect()
    }

    /// The history since a reviewer's comments last reopened the delivered session; all of it if
    /// they never did.
    pub fn newest_round(&self) -> &[Entry] {
        let mut delivered = false;
        let mut from = 0;
        for (at, entry) in self.history.iter().enumerate() {
            match entry.kind {
                Kind::Stage(stage) => delivered = row(stage).is_last(),
                Kind::Review(stage, Verdict::Feedback) if delivered && row(stage).writes_code() => {
                    (from, delivered) = (at, false);
                }
                _ => {}
            }
        }
        &self.history[from..]
    }

    /// The stage that a reviewer's comments on the delivered session have reopened.
    pub fn reopened(&self) -> Option<Stage> {
        if self.last_stage().is_none_or(|(last, _)| !row(last).is_last()) {
            return None;
        }
        let mut recent = self.since_last_stage().iter();
        recent.find_map(|entry| match entry.kind {
            Kind::Review(stage, Verdict::Feedback) => Some(stage),
            _ => None,
        })
    }

    /// The stage in progress or next; `None` if the delivery commit exists. A draft that waits or
    /// was answered comes first: coding can be in progress again after its stage commit.
    pub fn next_stage(&self) -> Option<Stage> {
        if let Some(waiting) = self.waiting() {
            return Some(waiting.stage);
        }
        let done = self.done();
        self.order().into_iter().find(|stage| !done.contains(stage))
    }

    /// True if the session's last stage is done.
    pub fn is_completed(&self) -> bool {
        self.done().last() == self.order().last()
    }

    /// The newest commit of a stage.
    pub fn stage_entry(&self, stage: Stage) -> Option<&Entry> {
        self.history.iter().rev().find(|entry| entry.kind == Kind::Stage(stage))
    }

    /// Ids of the tasks that have a commit.
    pub fn completed_tasks(&self) -> Vec<&str> {
        let adopted = self.file.adopted().map(|(task, _)| task);
        let tasks = self.history.iter().filter_map(|entry| match &entry.kind {
            Kind::Task(task) => Some(task.as_str()),
            _ => None,
        });
        adopted.chain(tasks).collect()
    }

    /// The entries after the newest stage commit (or the start).
    pub fn since_last_stage(&self) -> &[Entry] {
        let from = self
            .history
            .iter()
            .rposition(|entry| matches!(entry.kind, Kind::Stage(_) | Kind::Start))
            .map_or(0, |at| at + 1);
        &self.history[from..]
    }

    /// The draft waiting for review, with its answer if it has one.
    pub fn waiting(&self) -> Option<Waiting> {
        let recent = self.since_last_stage();
        let (at, stage) =
            recent.iter().enumerate().rev().find_map(|(at, entry)| match entry.kind {
                Kind::Draft(stage) => Some((at, stage)),
                _ => None,
            })?;
        let answer = recent[at + 1..]
            .iter()
            .rev()
            .find(|entry| matches!(entry.kind, Kind::Review(answered, _) if answered == stage));
        Some(Waiting { stage, draft: recent[at].clone(), answer: answer.cloned() })
    }

    /// The draft that waits for an answer.
    #[must_use]
    pub fn unanswered(&self) -> Option<Waiting> {
        self.waiting().filter(|waiting| waiting.answer.is_none())
    }

    /// True if `commit` is reachable from the session's tip, but not from its base (if the base is
    /// in this repository).
    fn stands_on(&self, git: &Git, commit: &Oid) -> anyhow::Result<bool> {
        let reader = git.reader();
        let base = self.file.base.commit.parse::<Oid>().ok();
        match base.filter(|base| is_there(reader.as_ref(), base)) {
            Some(base) => {
                let own = reader.walk(std::slice::from_ref(&self.tip), &[base])?;
                Ok(own.iter().any(|there| there.id == *commit))
            }
            None => git::refs::is_ancestor(git, commit, &self.tip),
        }
    }

    /// The commit with the newest records: the waiting or saved draft, else the tip.
    pub fn newest_records(&self, git: &Git) -> anyhow::Result<Oid> {
        Ok(present_draft(git, self)?.map_or_else(|| self.tip.clone(), |draft| draft.commit))
    }
}

/// The error about a session that does not exist.
fn no_session(name: &SessionName) -> Error {
    Error::repository(format!("there is no session '{name}'"))
        .hint("list the sessions: git cowork list --all")
}

/// The scope in the change request at the tip. An unreadable file gives `None`; `verify` reports
/// it.
fn scope(reader: &dyn Reader, name: &SessionName, tip: &Oid) -> anyhow::Result<Option<Scope>> {
    let path = artifact_path(name, Artifact::ChangeRequest);
    let Some(bytes) = reader.blob(Object::At(tip, &path))? else { return Ok(None) };
    let change: Option<ChangeRequest> = serde_json::from_slice(&bytes).ok();
    Ok(change.map(|change| change.scope))
}

/// The scopes that the stage commits of a change request name, together.
fn widened(history: &[Entry]) -> Scope {
    let named = history.iter().filter_map(|entry| entry.trailers.get(key::SCOPE));
    named.fold(Scope::default(), |scope, words| scope.with(&Scope::named(words)))
}

/// True if the commit exists in this repository.
fn is_there(reader: &dyn Reader, commit: &Oid) -> bool {
    reader.part(commit, Part::Commit).is_ok_and(|found| found.as_ref() == Some(commit))
}

/// The session's commits reachable from the tip and not from the start commit's parent.
fn entries(
    reader: &dyn Reader,
    name: &SessionName,
    file: &SessionFile,
    tip: &Oid,
) -> anyhow::Result<Vec<Entry>> {
    // The recorded base only limits the walk: after a rebase it is still an ancestor, and if it is
    // missing (a shallow clone) the walk is longer but never wrong.
    let base = file.base.commit.parse::<Oid>().ok();
    let hide: Vec<Oid> = base.filter(|base| is_there(reader, base)).into_iter().collect();
    let commits = reader.walk(std::slice::from_ref(tip), &hide)?;
    let mut found: Vec<Entry> =
        commits.iter().filter_map(|commit| Entry::from_commit(commit, &file.id)).collect();
    found.reverse();
    let start = found.iter().rposition(Entry::is_start);
    let mut found = found.split_off(start.unwrap_or(0));
    renumbered::follow(&mut found, &renumbered::among(&commits, name), reader, |from, to| {
        stands_on(&commits, from, to)
    });
    Ok(found)
}

/// True if `from` is `to` or one of its descendants. `commits` is sorted children first.
fn stands_on(commits: &[Commit], from: &Oid, to: &Oid) -> bool {
    let mut reached: BTreeSet<&Oid> = BTreeSet::from([from]);
    for commit in commits.iter().take_while(|commit| commit.id != *to) {
        if reached.contains(&commit.id) {
            reached.extend(&commit.parents);
        }
    }
    reached.contains(to)
}

/// Path of a session's artifact, relative to the top of the working tree.
pub fn artifact_path(name: &SessionName, artifact: Artifact) -> String {
    artifact.path_in(&name.artifact_dir(), &name.record_dir())
}
