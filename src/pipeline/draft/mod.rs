//! One draft: the actor's conversations, and the commit that keeps it.

pub(crate) mod finish_draft;
pub(crate) mod self_review;
pub(crate) mod tasks;

use crate::artifact::{FeedbackType, Origin, Severity, Store};
use crate::event::Event;
use crate::pipeline::brief::conversation::Part;
use crate::pipeline::brief::sections::artifacts;
use crate::pipeline::progress::Progress;
use crate::pipeline::prompts::Prompt;
use crate::pipeline::stage_loop::Turned;
use crate::pipeline::table::{StageSpec, Work};
use crate::pipeline::{Pipeline, UnderWay, checks, now};
use crate::record::{DraftEnding, Refused};
use crate::stage::{Role, Stage};

impl Pipeline<'_> {
    /// Makes the next draft and keeps it in its ref.
    pub(crate) async fn draft(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
    ) -> anyhow::Result<Turned> {
        let first = progress.iteration == progress.offset;
        self.tell_edit(spec, progress)?;
        progress.edit = None;
        progress.by_hand = false;
        progress.iteration += 1;
        progress.unfinished = false;
        progress.approval = None;
        progress.words.clear();
        progress.note = None;
        progress.judged = None;
        progress.critic_asks = false;
        progress.asks = None;
        self.mark(progress, progress.iteration, DraftEnding::Partial);
        self.look_before_coding(spec).await?;
        let pending = self.pending_tasks(spec)?;
        let turned = match spec.work {
            Work::Tasks { .. } if !pending.is_empty() => {
                self.tasks(spec, progress, pending).await?
            }
            // A change without a plan is one conversation.
            Work::Tasks { change, .. } if first && self.own_tasks()?.is_empty() => {
                self.whole(spec, progress, change).await?
            }
            // The run was killed after its last task: the draft is whole.
            Work::Tasks { .. } if first && !self.asked_for_more(spec.stage, progress.offset)? => {
                Turned::On
            }
            Work::Tasks { correction, .. } => self.whole(spec, progress, correction).await?,
            Work::Whole => self.whole(spec, progress, spec.actor.prompt).await?,
        };
        if let Turned::Wishes(_) | Turned::Stuck(_) = turned {
            return Ok(turned);
        }
        // Files of another branch are no draft.
        self.recorder().expect_tip(&self.session.tip)?;
        self.settle(spec, progress, None)?;
        self.keep(spec, progress)?;
        if let (Work::Tasks { .. }, Some(draft)) = (spec.work, &progress.draft) {
            self.warn_outside_scope(&self.code_since_start(draft)?)?;
            self.warn_of_tests(draft)?;
        }
        self.goes_on.set(false);
        progress.needs_draft = turned == Turned::Again;
        Ok(turned)
    }

    /// Keeps the draft in the working tree in its ref.
    pub(crate) fn keep(&self, spec: &StageSpec, progress: &mut Progress) -> anyhow::Result<()> {
        let (tip, number) = (&self.session.tip, progress.iteration);
        self.recorder().expect_tip(tip)?;
        self.mark(progress, number, DraftEnding::Whole);
        let notes = progress.notes();
        let whole = DraftEnding::Whole;
        progress.draft = Some(self.recorder().draft(tip, spec.stage, number, whole, &notes)?);
        // Whoever wrote what lies there now: it is kept, and may be written over.
        self.env.workspace.adopt(&self.documents_on_disk(spec))
    }

    /// Notes what a stop has to keep.
    pub(crate) fn mark(&self, progress: &Progress, iteration: u32, ending: DraftEnding) {
        let notes = progress.notes();
        self.under_way.replace(Some(UnderWay { iteration, ending, notes, stuck: None }));
    }

    async fn whole(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        prompt: Prompt,
    ) -> anyhow::Result<Turned> {
        self.announce(spec, progress, None)?;
        let mut variables = self.variables(spec, progress)?;
        if spec.stage == Stage::Check {
            variables.evidence += &self.tests_for_readers(&self.session.tip)?;
        }
        let part = Part {
            spec,
            role: Role::Actor,
            prompt,
            tools: spec.actor.tools(),
            iteration: progress.iteration,
            task: None,
            opening: None,
            extra: self.draft_so_far(spec, progress)?,
            variables,
        };
        let mut run = self.converse(&part, &mut progress.refusals).await?;
        progress.note_checked(&mut run);
        progress.credit.merge(self.taken());
        progress.words.clone_from(&run.text);
        let turned = self.turned(spec, progress, Origin::Actor, run);
        let tries_again = self.offer_theirs(spec, progress, &turned)?;
        Ok(if tries_again { Turned::Again } else { turned })
    }

    /// From the second draft on the actor gets what it left last time, also in an earlier run of the
    /// stage; in a change request from the first one on, since it edits what is there.
    fn draft_so_far(&self, spec: &StageSpec, progress: &Progress) -> anyhow::Result<String> {
        let files = self.files();
        let store = Store::new(&files);
        let again = progress.iteration > 1 || self.session.is_patch();
        if again && spec.work == Work::Whole {
            artifacts(&store, &self.session.name, spec.artifacts)
        } else {
            Ok(String::new())
        }
    }

    pub(crate) fn announce(
        &self,
        spec: &StageSpec,
        progress: &Progress,
        task: Option<String>,
    ) -> anyhow::Result<()> {
        self.env.sink.emit(Event::DraftStarted {
            stage: spec.stage,
            iteration: progress.iteration,
            limit: self.allowed(spec, progress)?,
            task,
        });
        Ok(())
    }

    /// Why a commit was refused goes to the actor.
    pub(crate) fn refusal_feedback(
        &self,
        spec: &StageSpec,
        iteration: u32,
        refused: &Refused,
    ) -> anyhow::Result<()> {
        let entry = match refused {
            Refused::Hook { .. } => {
                let words = refused.to_string();
                let mut entry = self.feedback(spec.stage, iteration, Origin::Hook, &words);
                entry.feedback_type = FeedbackType::BuildError;
                entry.severity = Severity::Critical;
                entry
            }
            Refused::Secrets(leaks) => {
                checks::secrets_found(leaks).to_feedback(&now(), spec.stage, iteration)
            }
        };
        self.give_feedback(vec![entry])
    }
}
