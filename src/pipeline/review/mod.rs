//! The gate of a stage: asking a person, leaving the draft to wait for one, or passing it.

pub(crate) mod answer;
pub(crate) mod since_last_review;

use crate::artifact::check::Report;
use crate::artifact::{Artifact, Feedback, Files as _, Origin, Store};
use crate::error::Error;
use crate::event::Event;
use crate::gate::{Decision, Document, Draft, Mode, comments};
use crate::git::{DiffStyle, Oid};
use crate::pipeline::Pipeline;
use crate::pipeline::edits::Edit;
use crate::pipeline::history::rewind::{Asked, WayBack};
use crate::pipeline::progress::Progress;
use crate::pipeline::stage_loop::{StageEnd, Turned};
use crate::pipeline::table::{Approves, StageSpec};
use crate::record::{Approval, Recorded};
use crate::session::{CommittedFiles, Verdict, key};

impl Pipeline<'_> {
    /// Lets the draft pass the gate, unless these bytes have passed it already.
    pub(crate) fn review(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
    ) -> anyhow::Result<Turned> {
        if !self.env.config.gated(spec.stage) {
            self.tell_of_broken_law(spec, progress)?;
            if progress.edit.is_some() {
                let bytes = self.bytes_now(spec)?;
                progress.approval = Some(Approval { bytes, verdict: Verdict::Edited, by: None });
            }
            return Ok(Turned::On);
        }
        let bytes = self.bytes_now(spec)?;
        if let Some(approval) = &progress.approval
            && approval.bytes.same(self.env.git.reader().as_ref(), &bytes)?
        {
            return Ok(Turned::On);
        }
        self.tell_of_broken_law(spec, progress)?;
        match self.env.mode {
            Mode::Auto => {
                let before = progress.approval.as_ref().map(|approval| approval.verdict);
                let edited = progress.edit.is_some() || before == Some(Verdict::Edited);
                let verdict = if edited { Verdict::Edited } else { Verdict::Auto };
                progress.approval = Some(Approval { bytes, verdict, by: None });
                Ok(Turned::On)
            }
            Mode::Wait => {
                let why = progress.note.take();
                self.leave_waiting(spec, progress, why)
            }
            Mode::Ask => self.open_gate(spec, progress),
        }
    }

    pub(crate) fn open_gate(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
    ) -> anyhow::Result<Turned> {
        self.env.sink.emit(Event::ReviewRequested {
            stage: spec.stage,
            iteration: progress.iteration,
            commit: None,
            reason: progress.note.clone(),
        });
        let shown = progress.draft.clone();
        self.keep_persons_code(spec, progress)?;
        let decision = self.ask_person(spec, progress)?;
        // Code has no editor of ours: a person edits it beside the gate.
        let edited = self.keep_persons_code(spec, progress)?;
        let why = progress.note.take();
        let asks = progress.asks.take().or_else(|| why.clone());
        progress.seen = shown;
        match decision {
            Decision::Pass => {
                let verdict = if edited { Verdict::Edited } else { Verdict::Passed };
                self.passed(spec, progress, verdict)?;
                if std::mem::take(&mut progress.critic_asks) {
                    // The critic asked for a person, and this is the person's answer.
                    progress.judged = Some((self.bytes_now(spec)?, String::new()));
                }
                Ok(Turned::On)
            }
            Decision::Edited => self.edited(spec, progress),
            Decision::Feedback(text) => {
                // Whatever else the person did to the files meanwhile is theirs.
                if let Some(shown) = progress.seen.clone() {
                    self.note_edit(spec, progress, &shown)?;
                }
                self.answered(spec, progress, &[text])
            }
            Decision::GoBack(stage) => {
                let asked = asks.and_then(|words| Asked::parse(&words, progress.iteration));
                let way = WayBack::decided(spec.stage, stage, "", asked);
                Ok(Turned::Ends(StageEnd::GoBack(way)))
            }
            Decision::Abort => {
                self.drop_draft(spec, progress)?;
                Err(self.aborted(spec).into())
            }
            Decision::Stop => self.leave_waiting(spec, progress, why),
        }
    }

    /// Takes a person's edits of code into the draft and keeps it. True when there were any.
    fn keep_persons_code(&self, spec: &StageSpec, progress: &mut Progress) -> anyhow::Result<bool> {
        let edited = !self.take_persons_code(spec, progress.draft.as_ref())?.is_empty();
        if edited {
            self.keep(spec, progress)?;
        }
        Ok(edited)
    }

    /// The checks refuse what a person wrote: the person says what comes of it.
    pub(crate) fn refused_edit(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        report: &Report,
    ) -> anyhow::Result<Turned> {
        let why = progress.note.take();
        let refused = "your edit does not pass the checks";
        let why = match why {
            Some(why) if progress.by_hand => format!("{why}; {refused}"),
            Some(why) => why,
            None => refused.to_owned(),
        };
        if self.env.mode == Mode::Ask {
            progress.note = Some(format!("{why}; to pass it hands it to the actor as it is"));
            return Ok(match self.open_gate(spec, progress)? {
                Turned::On => Turned::Again,
                other => other,
            });
        }
        let found: Vec<&str> = report.findings.iter().map(|f| f.details.as_str()).collect();
        self.leave_waiting(spec, progress, Some(format!("{why}: {}", found.join("; "))))
    }

    /// A person's words are feedback, and the next draft begins.
    fn answered(
        &self,
        spec: &StageSpec,
        progress: &mut Progress,
        words: &[String],
    ) -> anyhow::Result<Turned> {
        self.give_feedback(self.persons_words(spec, progress.iteration, words))?;
        progress.needs_draft = true;
        Ok(Turned::Again)
    }

    /// What a person said about a draft.
    pub(crate) fn persons_words(
        &self,
        spec: &StageSpec,
        number: u32,
        words: &[String],
    ) -> Vec<Feedback> {
        let said = |words: &String| self.feedback(spec.stage, number, Origin::Human, words);
        words.iter().map(said).collect()
    }

    /// What a person saved passes, unless there are comments in it: these go to the actor.
    fn edited(&self, spec: &StageSpec, progress: &mut Progress) -> anyhow::Result<Turned> {
        let shown = progress.seen.clone();
        let comments = match &shown {
            Some(shown) => self.take_comments(spec, shown)?,
            None => Vec::new(),
        };
        self.env.workspace.adopt(&self.documents_on_disk(spec))?;
        if let Some(shown) = &shown {
            self.note_edit(spec, progress, shown)?;
        }
        self.keep(spec, progress)?;
        progress.seen.clone_from(&progress.draft);
        if !comments.is_empty() {
            return self.answered(spec, progress, &comments);
        }
        self.passed(spec, progress, Verdict::Edited)?;
        // The checks have not seen these bytes.
        Ok(Turned::Again)
    }

    /// Comments in a draft that a person edited while no run was there are feedback on it.
    pub(crate) fn take_up_comments(
        &self,
        spec: &StageSpec,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let Some(edit) = progress.edit.clone() else { return Ok(()) };
        let comments = self.take_comments(spec, &edit.since)?;
        if comments.is_empty() {
            return Ok(());
        }
        // What is left of the edit without them.
        progress.edit = self.edit_since(spec, &edit.since)?.and_then(|mut rest| {
            rest.files.retain(|file| edit.files.contains(file));
            rest.base = edit.base;
            (!rest.files.is_empty()).then_some(rest)
        });
        if !progress.needs_draft {
            self.keep(spec, progress)?;
            progress.seen.clone_from(&progress.draft);
        }
        self.answered(spec, progress, &comments)?;
        Ok(())
    }

    /// Takes the comments a person has written since `shown` out of the stage's documents on disk,
    /// each with the place it stood in.
    pub(crate) fn take_comments(
        &self,
        spec: &StageSpec,
        shown: &Oid,
    ) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        if spec.approves == Approves::Tree {
            return Ok(found);
        }
        let prefix = &self.env.config.review.comment_prefix;
        let before = CommittedFiles::new(self.env.git, &self.session.name, shown);
        let files = self.files();
        for artifact in spec.artifacts {
            let Some(text) = files.read(*artifact)? else { continue };
            let old = before.read(*artifact)?.unwrap_or_default();
            let taken = comments::take(&text, &old, prefix);
            if taken.text != text {
                self.tell_of_set_aside();
                files.write(*artifact, &taken.text)?;
                // A copy with the comments stays in J, but nobody wrote over the person.
                self.env.workspace.take_set_aside();
            }
            found.extend(taken.comments.iter().map(|c| c.details(artifact.file_name())));
        }
        Ok(found)
    }

    /// Notes a pass, also in the draft ref: whatever stops the run before the stage is recorded,
    /// the person is not asked again.
    fn passed(
        &self,
        spec: &StageSpec,
        progress: &mut Progress,
        verdict: Verdict,
    ) -> anyhow::Result<()> {
        let bytes = self.bytes_now(spec)?;
        let by = Some(self.env.git.author()?);
        let edited = progress.edit.is_some() && verdict == Verdict::Passed;
        let verdict = if edited { Verdict::Edited } else { verdict };
        progress.approval = Some(Approval { bytes, verdict, by });
        self.keep(spec, progress)
    }

    /// Ends a draft that was aborted: an attempt keeps it, the next run begins afresh.
    pub(crate) fn drop_draft(
        &mut self,
        spec: &StageSpec,
        progress: &Progress,
    ) -> anyhow::Result<()> {
        let recorder = self.recorder();
        let tip = self.session.tip.clone();
        let (stage, number) = (spec.stage, progress.iteration);
        // The person may have been elsewhere while the gate stood open.
        recorder.expect_tip(&tip)?;
        self.keep_aborted(stage)?;
        recorder.end_draft(&tip, stage)?;
        recorder.put_back(&tip)?;
        self.under_way.replace(None);
        if self.session.waiting().is_some() {
            // The draft on the branch would be taken up again; this is its answer.
            let verdict = Verdict::Aborted;
            if let Recorded::Done(commit) =
                self.recorder().review(&tip, stage, verdict, number, None, "")?
            {
                self.advance(&commit)?;
            }
        }
        Ok(())
    }

    /// Commits the draft to the branch, where it waits for a person on any machine.
    pub(crate) fn leave_waiting(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        why: Option<String>,
    ) -> anyhow::Result<Turned> {
        let tip = self.session.tip.clone();
        let unanswered = self.session.waiting().is_some_and(|waiting| waiting.answer.is_none());
        if unanswered && !self.recorder().differs_from(&tip)? {
            self.under_way.replace(None);
            return Ok(Turned::Ends(StageEnd::Waiting(why)));
        }
        self.tell_edit(spec, progress)?;
        let summary = self.summary(spec, progress)?;
        let stops = why.is_some() || self.env.mode != Mode::Wait;
        let body = why.clone().unwrap_or_default();
        let number = progress.iteration;
        let credit = progress.credit.clone();
        let critic = match (progress.critic_asks, &progress.judged) {
            (true, _) => "asks",
            (false, Some(_)) => "approved",
            (false, None) => "",
        };
        let edited = progress.edit.as_ref().map(Edit::render).unwrap_or_default();
        let (recorder, own) = (self.recorder(), progress.self_review.outcome());
        let marks =
            [(key::CRITIC, critic), (key::EDITED, edited.as_str()), (key::SELF_REVIEW, own)];
        match recorder.waiting(&tip, spec.stage, number, &summary, &body, &credit, &marks)? {
            Recorded::Done(commit) => {
                self.advance(&commit)?;
                self.under_way.replace(None);
                self.env.sink.emit(Event::ReviewRequested {
                    stage: spec.stage,
                    iteration: number,
                    commit: Some(commit.to_string()),
                    reason: why.clone(),
                });
                Ok(Turned::Ends(StageEnd::Waiting(why)))
            }
            // Nobody may have asked for another draft: a person who stops, a role that asks.
            Recorded::Refused(why) if stops => Err(Error::waiting(format!(
                "{} is stopped, but its draft cannot wait on the branch: {why}",
                spec.stage
            ))
            .hint("the draft is kept all the same; go on: git cowork resume")
            .into()),
            Recorded::Refused(why) => {
                self.refusal_feedback(spec, number, &why)?;
                progress.needs_draft = true;
                Ok(Turned::Again)
            }
        }
    }

    pub(crate) fn ask_person(
        &self,
        spec: &StageSpec,
        progress: &Progress,
    ) -> anyhow::Result<Decision> {
        let Some(gate) = &self.env.gate else { return Ok(Decision::Stop) };
        let files = self.files();
        let store = Store::new(&files);
        let report = self.report(spec, progress)?;
        let from = self.before_stage();
        let tree = self.recorder().tree(&self.session.tip)?;
        let full = |color| self.shown_diff_in(spec, &from, &tree, DiffStyle::Patch, color);
        let diffstat = match spec.approves {
            Approves::Tree => Some(self.shown_diff(spec, &from, &tree, DiffStyle::Stat)?),
            Approves::Artifacts => None,
        };
        let earlier = self.session.earlier(spec.stage);
        let look = self.second_look(spec, progress, &tree)?;
        gate.ask(&Draft {
            stage: spec.stage,
            iteration: progress.iteration,
            limit: self.allowed(spec, progress)?,
            spent: self.stage_so_far(progress),
            documents: self.documents(spec, &store)?,
            since: look.since,
            passed: report.passed,
            findings: report.findings.into_iter().map(|finding| finding.details).collect(),
            warnings: report.warnings,
            said: look.said,
            unfixed: self.unfixed_about(spec, progress)?,
            actor_said: look.actor_said,
            critic_said: progress.judged.as_ref().map(|(_, words)| words.clone()),
            critic_next: spec.critic.is_some()
                && progress.judged.is_none()
                && !progress.critic_asks,
            diffstat,
            full_diff: &full,
            earlier: &earlier,
            note: progress.note.clone(),
        })
    }

    /// The files a person reads and edits. In coding that is the diff, not a document.
    fn documents(&self, spec: &StageSpec, store: &Store<'_>) -> anyhow::Result<Vec<Document>> {
        if spec.approves == Approves::Tree {
            return Ok(Vec::new());
        }
        let mut documents = Vec::new();
        for artifact in spec.artifacts {
            if let Some(text) = store.text(*artifact)? {
                let path = crate::session::artifact_path(&self.session.name, *artifact);
                documents.push(Document {
                    name: artifact.file_name().to_owned(),
                    path: self.env.git.top().join(path),
                    readable: match artifact {
                        Artifact::ChangeRequest => store
                            .change_request()?
                            .map(|c| format!("{}\n\n{}", c.headline(), c.describe())),
                        _ => None,
                    },
                    text,
                });
            }
        }
        Ok(documents)
    }

    /// The stage's documents that exist, as paths in the working tree.
    pub(crate) fn documents_on_disk(&self, spec: &StageSpec) -> Vec<String> {
        if spec.approves == Approves::Tree {
            return Vec::new();
        }
        let paths = self.document_paths(spec).into_iter();
        paths.filter(|path| self.env.git.top().join(path).is_file()).collect()
    }
}
