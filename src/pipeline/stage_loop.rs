//! The one actor–critic loop, for every row of the table.
//!
//! ```text
//! draft → checks → self-review → gate → critic → record    (critic → gate with [review] order =
//!                                                           critic-first)
//! ```
//!
//! Whoever refuses a draft leaves feedback, and the next draft begins. Two invariants hold
//! whichever way it is configured: nobody's unseen bytes are recorded as approved, and nobody is
//! asked twice about the same bytes.

use crate::agent::Run;
use crate::artifact::check::Report;
use crate::artifact::{Feedback, Origin, Store};
use crate::config::ReviewOrder;
use crate::error::Error;
use crate::event::Event;
use crate::gate::Mode;
use crate::interrupt;
use crate::pipeline::Pipeline;
use crate::pipeline::checks::{Check, CheckInput, secrets_found};
use crate::pipeline::evidence::Evidence;
use crate::pipeline::history::rewind::{Asked, WayBack};
use crate::pipeline::limits::{Why, Wish};
use crate::pipeline::progress::Progress;
use crate::pipeline::table::{Approves, StageSpec};
use crate::record::DraftEnding;
use crate::session::Waiting;
use crate::stage::Stage;
use crate::verify::require_readable;

/// How a stage ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StageEnd {
    /// Its commit exists.
    Completed(Stage),
    /// A person is waited for, with a reason beyond the usual review.
    Waiting(Option<String>),
    /// Back to an earlier stage.
    GoBack(WayBack),
    /// The check stage found the code wrong: corrections, then check again.
    Rework,
}

/// What a step of the loop asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// The next step.
    On,
    /// From the top: there is new feedback, or something to be looked at again.
    Again,
    /// A role wants something that a person may have to say.
    Wishes(Wish),
    /// The stage cannot go on by itself.
    Stuck(Why),
    /// The stage ends.
    Ends(StageEnd),
}

impl Pipeline<'_> {
    pub(crate) async fn run_stage(&mut self, spec: &StageSpec) -> anyhow::Result<StageEnd> {
        self.env.sink.emit(Event::StageStarted { stage: spec.stage });
        self.require_earlier(spec)?;
        let mut evidence = None;
        if spec.stage == Stage::Check
            && let Some(end) = self.code_is_wrong(spec, &mut evidence).await?
        {
            return Ok(end);
        }
        if spec.check == Check::Delivery {
            self.something_to_deliver(spec)?;
        }
        let Some(mut progress) = self.take_up(spec)? else {
            let waiting = self.session.waiting();
            let reason = waiting.as_ref().and_then(Waiting::reason);
            if let Some(waiting) = waiting {
                self.env.sink.emit(Event::ReviewRequested {
                    stage: spec.stage,
                    iteration: waiting.draft.iterations(),
                    commit: Some(waiting.draft.commit.to_string()),
                    reason: reason.clone(),
                });
            }
            return Ok(StageEnd::Waiting(reason));
        };
        self.tell_why_again(spec.stage, progress.offset)?;
        progress.evidence = evidence;
        if spec.runs_checks && spec.stage == Stage::Coding {
            self.tell_change_so_far()?;
        }
        self.take_up_comments(spec, &mut progress)?;
        loop {
            interrupt::check()?;
            self.recorder().expect_tip(&self.session.tip)?;
            let mut turned = self.step(spec, &mut progress).await?;
            if let Turned::Wishes(wish) = turned {
                turned = self.wish(spec, &mut progress, wish)?;
            }
            if let Turned::Stuck(why) = turned {
                turned = self.stuck(spec, &mut progress, why)?;
            }
            if let Turned::Ends(end) = turned {
                return Ok(end);
            }
        }
    }

    /// One round of the loop.
    async fn step(&mut self, spec: &StageSpec, progress: &mut Progress) -> anyhow::Result<Turned> {
        if let Some(words) = progress.asks.clone() {
            return Ok(Turned::Stuck(Why::Asked(words)));
        }
        if self.env.mode == Mode::Ask
            && let Some(words) = progress.waits.take()
        {
            // Before anything is done about the draft: a role that stopped to ask may not have
            // finished it, and checks would send it back without an answer.
            return self.read_draft(spec, progress, words);
        }
        if progress.needs_draft {
            match self.may_draft(spec, progress)? {
                Turned::On => {}
                other => return Ok(other),
            }
            match self.draft(spec, progress).await? {
                Turned::On => {}
                other => return Ok(other),
            }
        }
        self.align(spec, progress).await?;
        self.mark(progress, progress.iteration, DraftEnding::Whole);
        // What a self-review that was stopped has left is half a change: it is finished first.
        if !self.is_self_reviewing(spec, progress)? {
            match self.checks_hold(spec, progress).await? {
                Turned::On => {}
                other => return Ok(other),
            }
        }
        match self.self_review(spec, progress).await? {
            Turned::On => {}
            other => return Ok(other),
        }
        let critic_first = self.env.config.review.order == ReviewOrder::CriticFirst;
        if critic_first {
            match self.judge(spec, progress).await? {
                Turned::On => {}
                other => return Ok(other),
            }
        }
        match self.review(spec, progress)? {
            Turned::On => {}
            other => return Ok(other),
        }
        // After a person's edit in critic-first order the critic reads the new bytes, too.
        match self.judge(spec, progress).await? {
            Turned::On => {}
            other => return Ok(other),
        }
        self.record_stage(spec, progress)
    }

    /// The stages before this one must have left what they promise, and it must be readable (row B6).
    fn require_earlier(&self, spec: &StageSpec) -> anyhow::Result<()> {
        require_readable(self.env.git, &self.session)?;
        self.tell_what_no_longer_holds(spec.stage)?;
        let files = self.files();
        let store = Store::new(&files);
        for artifact in spec.context {
            if store.text(*artifact)?.is_none() {
                return Err(Error::repository(format!(
                    "{} is missing, which {} needs",
                    crate::session::artifact_path(&self.session.name, *artifact),
                    spec.stage
                ))
                .hint("take it back from history: git checkout HEAD -- .cowork, or go back: git cowork revert --to STAGE")
                .into());
            }
        }
        self.tell_of_edited_earlier(spec)
    }

    /// A person's edit of a document of an earlier stage counts, and nobody passes it: it is said.
    fn tell_of_edited_earlier(&self, spec: &StageSpec) -> anyhow::Result<()> {
        if spec.context.is_empty() {
            return Ok(());
        }
        let path = |artifact| crate::session::artifact_path(&self.session.name, artifact);
        let paths: Vec<String> = spec.context.iter().map(|artifact| path(*artifact)).collect();
        let written = self.env.workspace.written_paths();
        for path in paths.iter().filter(|path| !written.contains(path)) {
            if !self.env.git.is_uncommitted(path)? {
                continue;
            }
            self.warn(format!(
                "{path} has your edits since it was approved; they go along with {}; take them back: git checkout HEAD -- {path}",
                spec.stage
            ));
        }
        Ok(())
    }

    /// The mechanical checks; what fails is feedback and costs no model call.
    async fn checks_hold(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
    ) -> anyhow::Result<Turned> {
        if spec.runs_checks {
            let known = progress.evidence.take();
            progress.evidence = self.evidence(known, &progress.checked).await?;
            if progress.evidence.as_ref().is_some_and(Evidence::lacks_dependencies) {
                self.require_dependencies().await?;
            }
        }
        // A person may have committed code that a task was waiting for.
        if spec.approves == Approves::Tree && self.settle_features(spec, progress, None)? {
            self.keep(spec, progress)?;
        }
        let report = self.report(spec, progress)?;
        if report.is_ok() {
            return Ok(Turned::On);
        }
        if let Some(edit) = progress.edit.as_mut().filter(|edit| !edit.told)
            && self.env.mode != Mode::Auto
        {
            // What a person wrote is not handed to the actor before the person has seen why.
            edit.told = true;
            progress.approval = None;
            return self.refused_edit(spec, progress, &report);
        }
        let at = crate::pipeline::now();
        let entries: Vec<Feedback> = report
            .findings
            .iter()
            .map(|finding| finding.to_feedback(&at, spec.stage, progress.iteration))
            .collect();
        let wider = self.needs_wider_scope(&report, progress.iteration)?;
        self.give_feedback(entries)?;
        progress.needs_draft = true;
        Ok(wider.map_or(Turned::Again, Turned::Wishes))
    }

    pub(crate) fn report(&self, spec: &StageSpec, progress: &Progress) -> anyhow::Result<Report> {
        let files = self.files();
        let baseline = self.baseline_of_change()?;
        let project = self.project_files()?;
        let mut report = spec.check.run(&CheckInput {
            store: Store::new(&files),
            limits: &self.env.config.limits,
            baseline: baseline.as_ref(),
            files: &project,
            evidence: progress.evidence.as_ref(),
            drafting: true,
        });
        if spec.check == Check::Prd {
            report.merge(self.report_on_idea()?);
        }
        self.look_at_tests(spec, progress, &mut report)?;
        let leaks = self.recorder().leaks(&self.session.tip)?;
        if !leaks.is_empty() {
            report.findings.push(secrets_found(&leaks));
        }
        Ok(report)
    }

    /// What a finished conversation of the actor asks for; `by` is the actor or its self-review.
    pub(crate) fn turned(
        &self,
        spec: &StageSpec,
        progress: &Progress,
        by: Origin,
        run: Run,
    ) -> Turned {
        let outcome = run.outcome;
        if let Some(wish) = outcome.go_back {
            let (stage, iteration) = (spec.stage, progress.iteration);
            return Turned::Wishes(Wish::GoBack(Asked { by, stage, iteration, wish }));
        }
        if let Some(question) = outcome.question {
            let options = question.options.join(" / ");
            let options = if options.is_empty() { String::new() } else { format!(" ({options})") };
            let why = format!("the actor asks: {}{options}", question.question);
            return Turned::Wishes(Wish::Answer(why));
        }
        if let Some(why) = outcome.human_review {
            return Turned::Stuck(Why::Asked(format!("the actor says: {why}")));
        }
        match outcome.astray {
            Some(why) => Turned::Stuck(Why::Astray(format!("the actor: {why}"))),
            None => Turned::On,
        }
    }
}
