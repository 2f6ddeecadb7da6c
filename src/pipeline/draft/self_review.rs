//! The actor reads its own draft once, before anybody else does, and fixes what it finds (`[project]
//! self_review`, rows O1 to O3). What it did is what the files show; what it says it could not fix is
//! feedback that refuses nothing, and is told to the critic, the person and history.

use std::fmt::Write as _;

use crate::artifact::{Artifact, Feedback, Origin};
use crate::event::Event;
use crate::git::Oid;
use crate::markers::without_markers;
use crate::model::prose::{Marker, verdict_marker};
use crate::pipeline::Pipeline;
use crate::pipeline::brief::conversation::Part;
use crate::pipeline::brief::sections::section;
use crate::pipeline::progress::Progress;
use crate::pipeline::prompts::Prompt;
use crate::pipeline::stage_loop::Turned;
use crate::pipeline::table::StageSpec;
use crate::stage::Role;

/// Characters of a self-review's prose that are kept as feedback.
const MOST_SAID: usize = 4_000;
/// Bytes of what it could not fix, for the critic.
const UNFIXED: usize = 6_000;

/// It changed files.
const REVISED: &str = "revised";
/// It changed nothing and found nothing that must change.
const PASSED: &str = "passed";
/// It changed nothing and could not fix what it found.
const NEEDS_REVISION: &str = "needs_revision";

/// How far the self-review of a stage is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum SelfReview {
    /// Not begun.
    #[default]
    Open,
    /// Begun on this draft.
    Begun(Oid),
    /// Done, and what came of it.
    Done(&'static str),
}

impl SelfReview {
    /// For the trailer of a kept draft.
    pub fn render(&self) -> String {
        match self {
            Self::Open => String::new(),
            Self::Begun(draft) => format!("begun {draft}"),
            Self::Done(outcome) => (*outcome).to_owned(),
        }
    }

    /// Reads that back.
    pub fn parse(text: &str) -> Self {
        if let Some(draft) = text.strip_prefix("begun ").and_then(|oid| oid.parse().ok()) {
            return Self::Begun(draft);
        }
        let outcome = [REVISED, PASSED, NEEDS_REVISION].into_iter().find(|known| *known == text);
        outcome.map_or(Self::Open, Self::Done)
    }

    /// What came of it; empty before it is done.
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Done(outcome) => outcome,
            Self::Open | Self::Begun(_) => "",
        }
    }

    /// The draft it reads.
    pub const fn reads(&self) -> Option<&Oid> {
        match self {
            Self::Begun(draft) => Some(draft),
            Self::Open | Self::Done(_) => None,
        }
    }
}

impl Pipeline<'_> {
    /// True when a self-review was stopped and goes on.
    pub(crate) fn is_self_reviewing(
        &self,
        spec: &StageSpec,
        progress: &Progress,
    ) -> anyhow::Result<bool> {
        Ok(progress.self_review.reads().is_some() && self.is_for_self_review(spec, progress)?)
    }

    /// True until it is done, or somebody else has had a say in the draft: from then on the actor
    /// answers to them.
    fn is_for_self_review(&self, spec: &StageSpec, progress: &Progress) -> anyhow::Result<bool> {
        let open = self.env.config.project.self_review.contains(&spec.stage)
            && !matches!(progress.self_review, SelfReview::Done(_))
            && progress.approval.is_none()
            && progress.edit.is_none();
        let has_spoken = |entry: &Feedback| {
            entry.stage == spec.stage
                && entry.iteration > progress.offset
                && matches!(entry.from, Origin::Critic | Origin::Human | Origin::Challenger)
        };
        Ok(open && !self.feedback_so_far()?.iter().any(has_spoken))
    }

    /// The actor reads the draft that passed the checks, once. After its edits the checks run again.
    pub(crate) async fn self_review(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
    ) -> anyhow::Result<Turned> {
        if !self.is_for_self_review(spec, progress)? {
            return Ok(Turned::On);
        }
        let goes_on = progress.self_review.reads().cloned();
        let unchecked = goes_on.is_some();
        let before = match goes_on.or_else(|| progress.draft.clone()) {
            Some(before) => before,
            None => self.session.tip.clone(),
        };
        if !unchecked {
            // A run that is killed in the middle goes on here, and knows what it began with.
            progress.self_review = SelfReview::Begun(before.clone());
            self.keep(spec, progress)?;
            self.goes_on.set(false);
        }
        let mut tools = spec.actor.tools();
        tools.push("provide_feedback");
        let part = Part {
            spec,
            role: Role::SelfReview,
            prompt: Prompt::SelfReview,
            tools,
            iteration: progress.iteration,
            task: None,
            opening: None,
            extra: self.draft_for_reader(spec)?,
            variables: self.variables(spec, progress)?,
        };
        let mut run = self.converse(&part, &mut progress.refusals).await?;
        self.goes_on.set(false);
        progress.note_checked(&mut run);
        progress.credit.merge(self.taken());
        let unfixed = self.unfixed(spec, progress, &mut run);
        // Files of another branch are no draft.
        self.recorder().expect_tip(&self.session.tip)?;
        let mut files = self.changed_since(&before)?;
        self.settle(spec, progress, None)?;
        // What the program writes into a document itself is nobody's revision.
        let settled = self.changed_since(&before)?;
        files.retain(|path| settled.contains(path));
        let outcome = match (files.is_empty(), unfixed.is_empty()) {
            (false, _) => REVISED,
            (true, true) => PASSED,
            (true, false) => NEEDS_REVISION,
        };
        self.env.sink.emit(Event::SelfReview {
            stage: spec.stage,
            iteration: progress.iteration,
            outcome,
            files: files.clone(),
            unfixed: unfixed.len(),
        });
        self.give_feedback(unfixed)?;
        progress.self_review = SelfReview::Done(outcome);
        self.keep(spec, progress)?;
        Ok(match self.turned(spec, progress, Origin::SelfReview, run) {
            Turned::On if unchecked || !files.is_empty() => Turned::Again,
            turned => turned,
        })
    }

    /// What the self-review says it could not fix.
    fn unfixed(
        &self,
        spec: &StageSpec,
        progress: &Progress,
        run: &mut crate::agent::Run,
    ) -> Vec<Feedback> {
        let named = std::mem::take(&mut run.outcome.feedback);
        let marker = verdict_marker(&run.text);
        if marker.is_none() {
            self.warn(format!(
                "{}: the self-review gave no <review> marker; taken as PASS",
                spec.stage
            ));
        }
        if !named.is_empty() || matches!(marker, None | Some(Marker::Pass)) {
            return named;
        }
        let said: String = without_markers(&run.text).trim().chars().take(MOST_SAID).collect();
        let words = match said.is_empty() {
            true => {
                "the self-review says that the draft needs a revision, and not of what".to_owned()
            }
            false => said,
        };
        vec![self.feedback(spec.stage, progress.iteration, Origin::SelfReview, &words)]
    }

    /// The draft's files that differ from a commit's, feedback aside.
    fn changed_since(&self, before: &Oid) -> anyhow::Result<Vec<String>> {
        let tree = self.recorder().tree(&self.session.tip)?;
        let mut paths = self.env.git.changed_paths(before, &tree)?;
        paths.retain(|path| !path.ends_with(Artifact::Feedback.file_name()));
        Ok(paths)
    }

    /// What the actor's self-review could not fix in this run of the stage.
    fn unfixed_so_far(
        &self,
        spec: &StageSpec,
        progress: &Progress,
    ) -> anyhow::Result<Vec<Feedback>> {
        let mut said = self.feedback_so_far()?;
        said.retain(|entry| {
            entry.stage == spec.stage
                && entry.from == Origin::SelfReview
                && entry.iteration > progress.offset
        });
        Ok(said)
    }

    /// The same for the critic.
    pub(crate) fn unfixed_section(
        &self,
        spec: &StageSpec,
        progress: &Progress,
    ) -> anyhow::Result<String> {
        let mut list = String::new();
        for entry in self.unfixed_so_far(spec, progress)? {
            let draft = entry.iteration - progress.offset;
            let _ = writeln!(list, "- draft {draft}, {}: {}", entry.severity.name(), entry.details);
        }
        let mut out = String::new();
        section(&mut out, "What the author's self-review could not fix", &list, UNFIXED);
        Ok(out)
    }

    /// The same for the person who looks at the draft it was said about.
    pub(crate) fn unfixed_about(
        &self,
        spec: &StageSpec,
        progress: &Progress,
    ) -> anyhow::Result<Vec<String>> {
        let mut said = self.unfixed_so_far(spec, progress)?;
        said.retain(|entry| entry.iteration == progress.iteration);
        Ok(said.into_iter().map(|entry| entry.details).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back_from_its_trailer() {
        let draft: Oid = "0123456789012345678901234567890123456789".parse().unwrap();
        for state in [
            SelfReview::Open,
            SelfReview::Begun(draft),
            SelfReview::Done(REVISED),
            SelfReview::Done(PASSED),
            SelfReview::Done(NEEDS_REVISION),
        ] {
            assert_eq!(SelfReview::parse(&state.render()), state);
        }
        for other in ["begun", "begun nothing", "rejected"] {
            assert_eq!(SelfReview::parse(other), SelfReview::Open, "{other}");
        }
    }
}
