//! The critic: reads a draft with read-only tools and gives its verdict.

use super::Pipeline;
use super::context::{DIFF, artifacts, section};
use super::conversation::Part;
use super::limit::{Why, Wish};
use super::progress::Progress;
use super::stage_loop::Turned;
use super::table::{Approves, StageSpec};
use crate::agent::Run;
use crate::artifact::check::word_evidence;
use crate::artifact::{Feedback, Origin, Severity, Store};
use crate::event::Event;
use crate::gate::Mode;
use crate::git::DiffStyle;
use crate::markers::without_markers;
use crate::model::prose::{Marker, verdict_marker};
use crate::record::{Approval, Bytes, DraftEnding};
use crate::session::Verdict;
use crate::stage::Role;

impl Pipeline<'_> {
    /// Asks the stage's critic, unless it has approved these very bytes.
    pub(super) async fn judge(
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
        variables.delta = self.delta(spec, progress)?;
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
            extra: self.draft_for_critic(spec)?,
            variables,
        };
        let run = self.converse(&part, &mut progress.refusals).await?;
        progress.credit.merge(self.taken());
        progress.read.clone_from(&progress.draft);
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
            return Ok(Turned::Wishes(Wish::GoBack(wish, Origin::Critic)));
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
            (false, true) => "the critic gave no verdict".to_owned(),
            (false, false) => format!("the critic gave no verdict; it said: {said}"),
        };
        let mut entry = self.feedback(spec.stage, progress.iteration, Origin::Critic, &words);
        entry.severity = Severity::Major;
        vec![entry]
    }

    /// The draft as the critic gets it: the documents, or what changed in the code.
    fn draft_for_critic(&self, spec: &StageSpec) -> anyhow::Result<String> {
        match spec.approves {
            Approves::Artifacts => {
                let files = self.files();
                artifacts(&Store::new(&files), &self.session.name, spec.artifacts)
            }
            Approves::Tree => {
                let tree = self.recorder().tree(&self.session.tip)?;
                let diff = self.shown_diff(spec, &self.before_stage(), &tree, DiffStyle::Patch)?;
                let mut out = String::new();
                section(&mut out, "The code as a diff against the plan's commit", &diff, DIFF);
                Ok(out)
            }
        }
    }

    /// On a second look: what changed since the critic read it last (row B14).
    fn delta(&self, spec: &StageSpec, progress: &Progress) -> anyhow::Result<String> {
        let (Some(read), Some(draft)) = (&progress.read, &progress.draft) else {
            return Ok(String::new());
        };
        if read == draft {
            return Ok(String::new());
        }
        let diff = self.shown_diff(spec, read, draft, DiffStyle::Patch)?;
        let mut out = String::new();
        section(&mut out, "Changed since you last read it", &diff, DIFF / 2);
        Ok(out)
    }

    fn words(&self, spec: &StageSpec) -> anyhow::Result<String> {
        let files = self.files();
        let store = Store::new(&files);
        let mut text = String::new();
        for artifact in spec.artifacts {
            text += &store.text(*artifact)?.unwrap_or_default();
        }
        Ok(word_evidence(&text).join(", "))
    }
}
