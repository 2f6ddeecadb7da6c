//! What happened in a session, step by step, from its history, attempts, saved drafts and feedback.
//! A clone shows what its refs contain.

mod entries;
mod files;
mod kept_changes;
mod order;
mod step;
mod words;

pub use files::LineCounts;
pub use kept_changes::wrong_changes;
pub use step::{Cost, Step};
pub use words::once;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use kept_changes::KeptChanges;

use super::{
    Attempt, Back, CommittedFiles, Entry, KNOWLEDGE_EVENT, Kind, RefNames, Session, Verdict,
    adopted, artifact_path, attempts, key, reviewer_of,
};
use crate::artifact::{Artifact, Feedback, Origin, Store};
use crate::clock;
use crate::git::{self, Git, Oid};
use crate::spent::Spent;
use crate::stage::Stage;
use crate::stages;

/// Returns all steps known in this repository, in order.
///
/// # Errors
/// Git cannot be read.
pub fn log(git: &Git, session: &Session, lines: LineCounts) -> Result<Vec<Step>> {
    let mut teller = Teller {
        git,
        session,
        lines,
        kept: KeptChanges::read(git, &session.name),
        transcripts: entries::transcripts(git, session),
        told: HashSet::new(),
        on_branch: HashSet::new(),
        read: HashSet::new(),
        seen: session.history.iter().map(|e| (e.commit.clone(), e.parents.clone())).collect(),
    };
    for said in teller.feedback_at(&session.tip) {
        teller.on_branch.insert(serde_json::to_string(&said)?);
    }
    let mut rows = teller.attempts()?;
    rows.push(teller.row(&session.history, None)?);
    rows.extend(teller.drafts()?);
    teller.kept.save();
    let below = order::below(git, session, &rows, &teller.seen)?;
    // The adopted commits are older than all other steps.
    let mut steps = teller.adopted()?;
    steps.extend(order::merged(rows, &below));
    Ok(steps)
}

struct Teller<'a> {
    git: &'a Git,
    session: &'a Session,
    lines: LineCounts,
    kept: KeptChanges,
    transcripts: Vec<entries::Transcript>,
    /// Feedback already reported, as JSON text.
    told: HashSet<String>,
    /// Feedback recorded on the branch.
    on_branch: HashSet<String>,
    /// Feedback files already read: most commits do not change the file.
    read: HashSet<Oid>,
    /// Commits that a row has reported or skipped, with their parents.
    seen: HashMap<Oid, Vec<Oid>>,
}

impl Teller<'_> {
    /// The commits that the session adopted, oldest first.
    fn adopted(&self) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for (task, commit) in adopted(self.git, self.session)?.into_iter().rev() {
            steps.push(Step {
                files: files::code_changes(self.git, &commit.id, &commit.parents)?,
                commit: Some(commit.id.clone()),
                summary: commit.subject().to_owned(),
                task: Some(task),
                ..self.blank(commit.committer_time, "commit_adopted", &commit.author)
            });
        }
        Ok(steps)
    }

    /// The steps of each attempt.
    fn attempts(&mut self) -> Result<Vec<Vec<Step>>> {
        let root = RefNames::attempts(&self.session.name);
        let refs = git::refs::list(self.git, &[&root])?;
        let number = |name: &str| name.strip_prefix(&root).and_then(|n| n.parse::<u32>().ok());
        let mut attempts: Vec<(u32, Oid)> = refs
            .into_iter()
            .filter_map(|info| Some((number(info.name.as_str())?, info.oid)))
            .collect();
        attempts.sort();
        let mut rows = Vec::new();
        let mut others = vec![self.session.tip.clone()];
        // Newest first: a commit in several attempts counts as discarded with the newest one.
        for (number, tip) in attempts.iter().rev() {
            let entries = self.new_entries(tip)?;
            let mut row = self.row(&entries, Some(*number))?;
            if let Some((step, entry)) = row.last_mut().zip(entries.last())
                && step.event == "went_back"
            {
                (step.from, step.to) = self.way_back(entry, &others)?;
            }
            rows.push(row);
            others.push(tip.clone());
        }
        Ok(rows)
    }

    /// The saved drafts of every stage.
    fn drafts(&mut self) -> Result<Vec<Vec<Step>>> {
        let mut rows = Vec::new();
        for stage in self.session.order() {
            let name = RefNames::draft(&self.session.name, stage);
            let Some(tip) = self.git.resolve(name.as_str())? else { continue };
            let mut entries = self.new_entries(&tip)?;
            let left = self.ended_with(&entries)?;
            // The commit that marks the end of a draft is not a draft.
            entries.retain(|entry| {
                matches!(entry.kind, Kind::Draft(_)) && entry.verdict() != Some(Verdict::Aborted)
            });
            let mut row = self.row(&entries, None)?;
            for step in &mut row {
                if step.event == "review_requested" {
                    step.event = "draft_kept";
                    "actor".clone_into(&mut step.actor);
                    step.to.clone_from(&step.from);
                } else if step.event != "question_answered" {
                    continue;
                }
                step.left = step.commit.as_ref().and_then(|id| left.get(id.as_str())).copied();
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Maps drafts to the attempts they were abandoned with: the commit that ends a draft is based
    /// on the abandoned tip.
    fn ended_with(&self, drafts: &[Entry]) -> Result<HashMap<String, u32>> {
        let attempts = attempts(self.git, Some(&self.session.name))?;
        let (mut left, mut number) = (HashMap::new(), None);
        for entry in drafts.iter().rev() {
            if entry.verdict() == Some(Verdict::Aborted) {
                let on = entry.parents.first();
                let of_tip = |attempt: &&Attempt| Some(&attempt.tip) == on;
                number = attempts.iter().rev().find(of_tip).map(|attempt| attempt.number);
            } else if let Some(number) = number {
                left.insert(entry.commit.to_string(), number);
            }
        }
        Ok(left)
    }

    /// The steps of successive commits; feedback on a draft comes before the commit that contains
    /// the feedback.
    fn row(&mut self, entries: &[Entry], attempt: Option<u32>) -> Result<Vec<Step>> {
        let mut steps: Vec<Step> = Vec::new();
        let mut drafts: Vec<(Stage, u32)> = Vec::new();
        let feedback = artifact_path(&self.session.name, Artifact::Feedback);
        let how = (&mut self.kept, self.lines);
        let changes = files::changes(self.git, entries, &feedback, how)?;
        for (entry, changes) in entries.iter().zip(changes) {
            if changes.watched {
                for said in self.new_feedback(&entry.commit, &feedback, attempt.is_some())? {
                    // Feedback in a start commit was given in the session it started from.
                    if !entry.is_start() {
                        steps.push(self.feedback(&said, entry));
                    }
                }
            }
            let Some(mut step) = self.step(entry) else { continue };
            step.files = changes.files;
            step.has_counts = self.lines == LineCounts::Wanted && step.event == "task_completed";
            if let Kind::Stage(stage) = entry.kind
                && !entry.is_start()
            {
                let earlier = drafts.iter().filter(|(other, _)| *other == stage);
                step.first = 1 + earlier.map(|(_, used)| used).sum::<u32>();
                drafts.push((stage, entry.iterations()));
            }
            step.transcripts = self.transcripts_of(&step);
            steps.push(step);
        }
        for step in &mut steps {
            step.attempt = attempt;
        }
        Ok(steps)
    }

    /// The feedback that is in a commit and in no earlier one. For abandoned work (`left`), only
    /// feedback that is not on the branch: the row of the branch reports the rest.
    fn new_feedback(&mut self, commit: &Oid, path: &str, left: bool) -> Result<Vec<Feedback>> {
        let Some(blob) = git::snapshot::blob_id(self.git, commit, path)? else {
            return Ok(Vec::new());
        };
        if !self.read.insert(blob.clone()) {
            return Ok(Vec::new());
        }
        let mut new = Vec::new();
        for said in self.feedback_at(commit) {
            let text = serde_json::to_string(&said)?;
            if left && self.on_branch.contains(&text) {
                // The branch may have the same file: its row must read the file again to report
                // this feedback.
                self.read.remove(&blob);
            } else if self.told.insert(text) {
                new.push(said);
            }
        }
        Ok(new)
    }

    /// All feedback in a commit; a broken file counts as empty.
    fn feedback_at(&self, commit: &Oid) -> Vec<Feedback> {
        let files = CommittedFiles::new(self.git, &self.session.name, commit);
        Store::new(&files).feedback().unwrap_or_default()
    }

    fn blank(&self, time: i64, event: &'static str, actor: &str) -> Step {
        Step {
            timestamp: moment(time),
            event,
            actor: actor.to_owned(),
            session: self.session.name.to_string(),
            order: (time, None, 0, 0),
            first: 1,
            ..Step::default()
        }
    }

    /// The step of a commit; `None` if the commit does not change the session's state.
    fn step(&self, entry: &Entry) -> Option<Step> {
        let mut step = self.blank(entry.time, "", &entry.author);
        step.commit = Some(entry.commit.clone());
        step.summary = entry.summary().to_owned();
        step.checks = entry.trailers.get(key::CHECKS).map(str::to_owned);
        let models = entry.trailers.get(key::MODEL).unwrap_or_default().split(", ");
        step.models = models.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        step.spent = entry.spent();
        // A stage's usage includes that of its drafts: a sum over the steps must not count
        // them twice.
        if matches!(entry.kind, Kind::Draft(_)) {
            step.spent = Spent::default();
        }
        step.cost = (step.spent.requests > 0).then(|| Cost::from_spent(&step.spent));
        let name = |stage: Stage| Some(stage.to_string());
        let waiting = || Some("waiting".to_owned());
        let iteration = entry.iterations();
        let mut rank = 0;
        match &entry.kind {
            Kind::Start => {
                step.event = "session_started";
                step.to = self.session.order().first().map(ToString::to_string);
            }
            Kind::Stage(stage) if entry.is_start() => {
                step.event = "session_started";
                let next = self.session.order().into_iter().find(|next| next > stage);
                step.to = next.map(|next| next.to_string());
                step.reason = entry.from().map(|from| format!("from {from}")).unwrap_or_default();
            }
            Kind::Draft(stage) => {
                step.event = "review_requested";
                (step.stage, step.from, step.to) = (Some(*stage), name(*stage), waiting());
                step.iteration = Some(iteration);
                step.reason.clone_from(&entry.body);
                if let Some(question) = entry.trailers.get(key::ASKED) {
                    step.event = "question_answered";
                    step.to.clone_from(&step.from);
                    question.clone_into(&mut step.reason);
                    step.summary.clone_from(&entry.body);
                }
            }
            Kind::Review(stage, verdict) => {
                step.event = "review_answered";
                (step.stage, step.from, step.to) = (Some(*stage), waiting(), name(*stage));
                step.iteration = Some(iteration);
                step.decision = Some(verdict.name());
                step.claimed = self.is_claimed(entry);
                step.reason.clone_from(&entry.body);
                if let Some(stage) = entry.trailers.get(key::BACK) {
                    step.reason = format!("back to {stage}");
                }
                rank = 2;
            }
            Kind::Task(task) => {
                step.event = "task_completed";
                let coding = stages::code_stage();
                (step.stage, step.from, step.to) = (Some(coding), name(coding), name(coding));
                step.task = Some(task.clone());
                step.features = entry.trailers.all(key::FEATURE).map(str::to_owned).collect();
            }
            Kind::Stage(stage) => {
                step.event = "stage_completed";
                (step.stage, step.from) = (Some(*stage), name(*stage));
                let mut order = self.session.order().into_iter();
                let next = order.find(|next| next > stage);
                step.to = Some(next.map_or("completed".to_owned(), |next| next.to_string()));
                step.iteration = Some(iteration);
                step.decision = entry.verdict().map(Verdict::name);
                let by = entry.trailers.get(key::REVIEWED_BY);
                step.claimed = self.is_claimed(entry);
                if let Some(by) = by.or_else(|| entry.trailers.get(key::DECIDED_BY)) {
                    by.clone_into(&mut step.actor);
                }
                step.self_review = entry.trailers.get(key::SELF_REVIEW).map(str::to_owned);
                let approved = entry.body.split_once("The critic approved: ");
                step.reason = approved
                    .map(|(_, words)| words.split_whitespace().collect::<Vec<_>>().join(" "))
                    .unwrap_or_default();
                rank = 4;
            }
            Kind::Other => match entry.trailers.get(key::EVENT) {
                Some("attempt") => {
                    (step.event, step.decision) = match entry.verdict() {
                        // A copy of a file that a tool was allowed to overwrite, or of a document
                        // restarted from scratch.
                        Some(Verdict::Passed) => ("copy_kept", None),
                        Some(Verdict::Edited) => ("copy_kept", Some("edited")),
                        Some(Verdict::Auto) => ("went_back", Some("auto")),
                        _ => ("went_back", Some("aborted")),
                    };
                    // The number in `attempt 1: back to prd` has its own field.
                    step.reason = std::mem::take(&mut step.summary);
                    rank = 5;
                }
                Some("merge") => step.event = "merged",
                Some(KNOWLEDGE_EVENT) => {
                    step.event = "knowledge_decided";
                    step.reason = entry.trailers.all(key::KNOWLEDGE).collect::<Vec<_>>().join("; ");
                }
                Some("depth") => {
                    step.event = "depth_raised";
                    step.to = entry.trailers.get(key::DEPTH).map(str::to_owned);
                }
                _ => return None,
            },
        }
        let is_end = matches!(entry.kind, Kind::Stage(_)) && !entry.is_start();
        let drafts = if is_end { u32::MAX } else { iteration };
        step.order = (entry.time, step.stage, drafts, rank);
        if step.event == "went_back"
            && let Some(back) = Back::parse(&entry.trailers)
            && let Some(by) = back.by.filter(|by| *by != Origin::Human)
        {
            // The role that requested it; if a person decided, the person is the actor.
            step.stage = Some(back.from);
            step.iteration = Some(back.iteration);
            if step.decision == Some("auto") {
                by.name().clone_into(&mut step.actor);
            }
        }
        Some(step)
    }

    fn is_claimed(&self, entry: &Entry) -> bool {
        reviewer_of(self.session, entry).is_some_and(|reviewer| reviewer.commit.is_none())
    }
}

fn moment(time: i64) -> String {
    clock::rfc3339(UNIX_EPOCH + Duration::from_secs(u64::try_from(time).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(time: i64, event: &'static str, attempt: Option<u32>) -> Step {
        let order = (time, None, 0, 0);
        Step { timestamp: moment(time), event, attempt, order, ..Step::default() }
    }

    #[test]
    fn a_line_has_the_fields_of_an_audit_log() {
        let line = serde_json::to_value(step(0, "feedback", None)).unwrap();
        let fields: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
        for field in ["timestamp", "event", "from", "to", "actor", "decision"] {
            assert!(fields.contains(&field), "{fields:?}");
        }
        assert!(!fields.contains(&"tokens"), "{fields:?}");
    }
}
