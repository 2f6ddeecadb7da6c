//! The end of a stage: one commit, then its tag.

use crate::artifact::Store;
use crate::error::Error;
use crate::event::Event;
use crate::git::Oid;
use crate::pipeline::Pipeline;
use crate::pipeline::evidence::{self, Evidence};
use crate::pipeline::progress::Progress;
use crate::pipeline::stage_loop::{StageEnd, Turned};
use crate::pipeline::summary::{self, Facts};
use crate::pipeline::table::{self, Approves, StageSpec};
use crate::record::{Bytes, Credit, DraftEnding, DraftNotes, Recorded, StageRecord};
use crate::session::{Session, key};

/// How often a hook may change approved bytes before we say that it never ends.
const MAX_HOOK_CHANGES: u32 = 3;

/// Why the gate opens again on bytes that passed it.
pub(crate) const HOOK_CHANGED: &str = "a commit hook changed what was approved";

impl Pipeline<'_> {
    pub(crate) fn record_stage(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
    ) -> anyhow::Result<Turned> {
        let tip = self.session.tip.clone();
        let record = StageRecord {
            stage: spec.stage,
            summary: self.summary(spec, progress)?,
            body: self.facts(spec, progress, |facts| summary::body(spec.stage, facts))?,
            iterations: progress.used(),
            approval: progress.approval.clone(),
            self_review: progress.self_review.outcome(),
            credit: progress.credit.clone(),
            checks: spec.runs_checks.then(|| evidence::trailer(progress.evidence.as_ref())),
            evidence: progress.evidence.as_ref().map(Evidence::digests).unwrap_or_default(),
        };
        match self.recorder().stage(&tip, &record)? {
            Recorded::Refused(why) => {
                self.refusal_feedback(spec, progress.iteration, &why)?;
                progress.needs_draft = true;
                Ok(Turned::Again)
            }
            Recorded::Done(commit) => self.completed(spec, progress, &tip, &commit),
        }
    }

    fn completed(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        tip: &Oid,
        commit: &Oid,
    ) -> anyhow::Result<Turned> {
        let approved = progress.approval.as_ref().map(|approval| &approval.bytes);
        let changed =
            approved.map(|approved| self.hook_changed(spec, approved, commit)).transpose()?;
        if changed == Some(true) {
            progress.hook_changes += 1;
            progress.seen = progress.draft.take();
            progress.approval = None;
            let (number, notes) = (progress.iteration, progress.notes());
            let draft = self.recorder().take_back(commit, tip, spec.stage, number, &notes)?;
            self.recorder().compared()?;
            progress.draft = Some(draft);
            progress.judged = None;
            self.mark(progress, progress.iteration, DraftEnding::Whole);
            if progress.hook_changes >= MAX_HOOK_CHANGES {
                return Err(Error::repository("a commit hook changes the approved files at every commit")
                    .hint("make the hook leave files alone that it has already formatted, or leave .cowork out of it")
                    .into());
            }
            progress.note = Some(HOOK_CHANGED.to_owned());
            return Ok(Turned::Again);
        }
        self.recorder().compared()?;
        let spent = self.stage_so_far(progress);
        self.advance(commit)?;
        self.under_way.replace(None);
        let tag = self.recorder().labels(&self.session)?;
        let subject =
            self.session.history.last().map(|entry| entry.subject.clone()).unwrap_or_default();
        self.env.sink.emit(Event::StageCompleted {
            stage: spec.stage,
            commit: commit.to_string(),
            tag,
            subject,
            spent,
        });
        Ok(Turned::Ends(StageEnd::Completed(spec.stage)))
    }

    /// Finishes what a run that died between a stage's commit and the look at it left: bytes that
    /// nobody approved are taken back, and the stage's gate opens again.
    pub(crate) fn compare_last(&mut self) -> anyhow::Result<()> {
        let Some(entry) = self.recorder().uncompared(&self.session)?.cloned() else {
            return self.recorder().compared();
        };
        let Some((stage, _)) = self.session.last_stage() else { return Ok(()) };
        let spec = table::row_of(stage, self.session.is_patch());
        self.stage.set(stage);
        let approved = entry.trailers.get(key::APPROVED).unwrap_or_default();
        let unseen = match Bytes::parse(self.env.git, approved)? {
            Some(approved) if approved.0.is_empty() => false,
            Some(approved) => self.hook_changed(spec, &approved, &entry.commit)?,
            None => true,
        };
        if unseen && let Some(tip) = entry.parents.first() {
            let self_review = entry.trailers.get(key::SELF_REVIEW).unwrap_or_default().to_owned();
            let credit = Credit::of(&entry);
            let notes = DraftNotes { credit, self_review, ..DraftNotes::default() };
            let number = self.earlier_drafts(stage);
            self.recorder().take_back(&entry.commit, tip, stage, number, &notes)?;
            self.session = Session::load(self.env.git, &self.session.name, tip)?;
            self.warn(format!("{stage}: {HOOK_CHANGED}"));
        }
        self.recorder().compared()
    }

    /// True when what was committed is not what was approved, by more than white space.
    fn hook_changed(
        &self,
        spec: &StageSpec,
        approved: &Bytes,
        commit: &Oid,
    ) -> anyhow::Result<bool> {
        Ok(!approved.same_words(self.env.git, &self.bytes_at(spec, commit)?)?)
    }

    pub(crate) fn summary(&self, spec: &StageSpec, progress: &Progress) -> anyhow::Result<String> {
        self.facts(spec, progress, |facts| summary::subject(spec.stage, facts))
    }

    fn facts<T>(
        &self,
        spec: &StageSpec,
        progress: &Progress,
        with: impl FnOnce(&Facts<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let files = self.files();
        // Counting files costs a look at the whole tree, and only coding says their number.
        let files_changed = match spec.approves {
            Approves::Tree => {
                let draft = progress.draft.as_ref().unwrap_or(&self.session.tip);
                self.code_since_start(draft)?.len()
            }
            Approves::Artifacts => 0,
        };
        let changes = self.changes_of(spec.artifacts)?;
        let own_tasks = self.own_tasks()?;
        with(&Facts {
            changes: changes.as_deref(),
            own_tasks: &own_tasks,
            store: Store::new(&files),
            title: &self.session.file.title,
            files: files_changed,
            evidence: progress.evidence.as_ref(),
            approval: progress.judged.as_ref().map_or("", |(_, words)| words.as_str()),
        })
    }
}
