//! The critic: reads a draft with read-only tools and gives its verdict.

pub(crate) mod second_reading;

use crate::agent::Run;
use crate::artifact::check::word_evidence;
use crate::artifact::{Artifact, Feedback, Origin, Severity, Store};
use crate::event::Event;
use crate::gate::Mode;
use crate::git::DiffStyle;
use crate::markers::without_markers;
use crate::model::prose::{Marker, verdict_marker};
use crate::pipeline::Pipeline;
use crate::pipeline::brief::conversation::Part;
use crate::pipeline::brief::sections::{DIFF, artifacts, section};
use crate::pipeline::history::rewind::Asked;
use crate::pipeline::limits::{Why, Wish};
use crate::pipeline::progress::Progress;
use crate::pipeline::stage_loop::Turned;
use crate::pipeline::table::{Approves, StageSpec};
use crate::record::{Approval, Bytes, DraftEnding};
use crate::session::Verdict;
use crate::stage::Role;

/// What feedback begins with that a critic gave by not giving a verdict.
pub(crate) const NO_VERDICT: &str = "the critic gave no verdict";

/// The heading of all of the session's code.
pub(crate) const WHOLE_CODE: &str = "The code as a diff against the plan's commit";

impl Pipeline<'_> {
    /// Asks the stage's critic, unless it has approved these very bytes.
    pub(crate) async fn judge(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
    ) -> anyhow::Result<Turned> {
        let Some(critic) = &spec.critic else { return Ok(Turned::On) };
        let bytes = self.bytes_now(spec)?;
        let reader = self.env.git.reader();
        if let Some((approved, _)) = &progress.judged
            && approved.same(reader.as_ref(), &bytes)?
        {
            return Ok(Turned::On);
        }
        let mut variables = self.variables(spec, progress)?;
        variables.words = self.words(spec)?;
        let again = self.second_reading(spec, critic, progress)?;
        let unfixed = self.unfixed_section(spec, progress)?;
        let (opening, extra) = match again {
            Some(again) => {
                variables.delta = again.changes;
                (Some(again.opening + &unfixed), String::new())
            }
            None => (None, self.draft_for_reader(spec)? + &unfixed),
        };
        if spec.approves == Approves::Tree {
            let draft = progress.draft.as_ref().unwrap_or(&self.session.tip);
            variables.evidence += &self.tests_for_readers(draft)?;
        }
        let part = Part {
            spec,
            role: Role::Critic,
            prompt: critic.prompt,
            tools: critic.tools(),
            iteration: progress.iteration,
            task: None,
            opening,
            extra,
            variables,
        };
        let run = self.converse(&part, &mut progress.refusals).await?;
        progress.credit.merge(self.taken());
        let outcome = &run.outcome;
        if outcome.approved.is_some()
            || !outcome.feedback.is_empty()
            || verdict_marker(&run.text).is_some()
        {
            // Without a verdict it has yet to judge the whole.
            progress.read.clone_from(&progress.draft);
        }
        let edited = self.edited_while_read(spec, progress, &bytes)?;
        Ok(match self.verdict(spec, progress, run, bytes)? {
            // It approved what is no longer there.
            Turned::On if edited => Turned::Again,
            turned => turned,
        })
    }

    /// Takes what a person changed while the critic read `bytes` into the draft. Where nobody is
    /// asked that is how the draft passes: edited. True when there was something.
    fn edited_while_read(
        &self,
        spec: &StageSpec,
        progress: &mut Progress,
        bytes: &Bytes,
    ) -> anyhow::Result<bool> {
        let now = self.bytes_now(spec)?;
        if bytes.same(self.env.git.reader().as_ref(), &now)? {
            return Ok(false);
        }
        if let Some(read) = progress.draft.clone() {
            self.note_edit(spec, progress, &read)?;
        }
        let why = format!("the {} draft was edited while the critic read it", spec.stage);
        self.env.sink.emit(Event::Note { text: why.clone() });
        progress.approval = if self.env.mode != Mode::Auto && self.env.config.gated(spec.stage) {
            progress.note = Some(why);
            None
        } else {
            Some(Approval { bytes: now, verdict: Verdict::Edited, by: None })
        };
        self.keep(spec, progress)?;
        self.take_up_comments(spec, progress)?;
        Ok(true)
    }

    fn verdict(
        &self,
        spec: &StageSpec,
        progress: &mut Progress,
        run: Run,
        bytes: Bytes,
    ) -> anyhow::Result<Turned> {
        let outcome = run.outcome;
        if let Some(wish) = outcome.go_back {
            // What it says of the draft beside that is no less said.
            self.give_feedback(outcome.feedback)?;
            progress.critic_asks = true;
            let (by, stage, iteration) = (Origin::Critic, spec.stage, progress.iteration);
            return Ok(Turned::Wishes(Wish::GoBack(Asked { by, stage, iteration, wish })));
        }
        let verdict = outcome.approved.is_some() || !outcome.feedback.is_empty();
        let asked = outcome.human_review.map(|why| format!("the critic says: {why}"));
        let astray = outcome.astray.filter(|_| !verdict).map(|why| format!("the critic: {why}"));
        if let Some(why) = asked.or(astray) {
            progress.critic_asks = true;
            progress.asks = Some(why.clone());
            self.mark(progress, progress.iteration, DraftEnding::Whole);
            return Ok(Turned::Stuck(Why::Asked(why)));
        }
        let marker = verdict_marker(&run.text);
        if outcome.feedback.is_empty() {
            if let Some(summary) = outcome.approved {
                let words = without_markers(&summary).trim().to_owned();
                progress.judged = Some((bytes, words));
                self.mark(progress, progress.iteration, DraftEnding::Whole);
                return Ok(Turned::On);
            }
            if marker == Some(Marker::Pass) {
                progress.judged = Some((bytes, String::new()));
                self.mark(progress, progress.iteration, DraftEnding::Whole);
                return Ok(Turned::On);
            }
        }
        self.give_feedback(self.critique(spec, progress, outcome.feedback, &run.text))?;
        progress.needs_draft = true;
        Ok(Turned::Again)
    }

    /// A critic that answers in prose has not approved; its words are the feedback.
    fn critique(
        &self,
        spec: &StageSpec,
        progress: &Progress,
        feedback: Vec<Feedback>,
        text: &str,
    ) -> Vec<Feedback> {
        if !feedback.is_empty() {
            return feedback;
        }
        let said: String = without_markers(text).trim().chars().take(4_000).collect();
        let words = match (verdict_marker(text).is_some(), said.is_empty()) {
            (true, false) => said,
            (true, true) => "the critic refused the draft without a reason".to_owned(),
            (false, true) => NO_VERDICT.to_owned(),
            (false, false) => format!("{NO_VERDICT}; it said: {said}"),
        };
        let mut entry = self.feedback(spec.stage, progress.iteration, Origin::Critic, &words);
        entry.severity = Severity::Major;
        vec![entry]
    }

    /// The draft as a reader gets it: the documents, or what changed in the code.
    pub(crate) fn draft_for_reader(&self, spec: &StageSpec) -> anyhow::Result<String> {
        match spec.approves {
            Approves::Artifacts => {
                let files = self.files();
                artifacts(&Store::new(&files), &self.session.name, spec.artifacts)
            }
            Approves::Tree => {
                let tree = self.recorder().tree(&self.session.tip)?;
                let diff = self.shown_diff(spec, &self.before_stage(), &tree, DiffStyle::Patch)?;
                let mut out = String::new();
                section(&mut out, WHOLE_CODE, &diff, DIFF);
                Ok(out)
            }
        }
    }

    fn words(&self, spec: &StageSpec) -> anyhow::Result<String> {
        let files = self.files();
        let store = Store::new(&files);
        let mut text = String::new();
        // What the idea names is asked for.
        for artifact in spec.artifacts.iter().filter(|artifact| **artifact != Artifact::Idea) {
            text += &store.text(*artifact)?.unwrap_or_default();
        }
        Ok(word_evidence(&text).join(", "))
    }
}
