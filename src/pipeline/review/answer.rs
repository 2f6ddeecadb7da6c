//! Answering a waiting review: one commit, and nothing is run.

use crate::artifact::Store;
use crate::error::Error;
use crate::gate::{Decision, EditResult, Editor};
use crate::git::Oid;
use crate::pipeline::Pipeline;
use crate::pipeline::table::{self, StageSpec};
use crate::record::Recorded;
use crate::session::{Verdict, Waiting};
use crate::stage::Stage;
use crate::verify::require_readable;

/// What a person says to a waiting draft.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It passes as it is.
    Pass,
    /// Open the editor; what is saved passes.
    Edit,
    /// Do it again, with this in mind.
    Feedback(String),
    /// Begin this stage afresh.
    Abort,
    /// Show the gate and let the person choose.
    Ask,
}

impl Pipeline<'_> {
    /// Records the answer. `None` when the person chose to stop without one.
    ///
    /// # Errors
    /// Exit 5 when nothing waits.
    pub fn answer(&mut self, answer: Answer, editor: &Editor) -> anyhow::Result<Option<Oid>> {
        let Some(waiting) = self.session.waiting().filter(|waiting| waiting.answer.is_none())
        else {
            let mut error =
                Error::repository(format!("nothing waits for a review in '{}'", self.session.name));
            if !self.session.is_completed() {
                error = error.hint("go on with: git cowork resume");
            }
            return Err(error.into());
        };
        // An answer is recorded with the session's files as they are.
        require_readable(self.env.git, &self.session)?;
        let spec = table::row_of(waiting.stage, self.session.is_patch());
        self.stage.set(spec.stage);
        let taken = self.take_persons_code(spec, None)?;
        let result = self.record_answer(spec, &waiting, answer, editor);
        if !matches!(result, Ok(Some(_))) {
            self.stop_cleanly()?;
            self.env.workspace.forget(&taken)?;
        }
        result
    }

    fn record_answer(
        &mut self,
        spec: &StageSpec,
        waiting: &Waiting,
        answer: Answer,
        editor: &Editor,
    ) -> anyhow::Result<Option<Oid>> {
        let number = waiting.draft.iterations();
        let (verdict, words) = match answer {
            Answer::Pass => (Verdict::Passed, String::new()),
            Answer::Edit => (self.edit(spec, editor)?, String::new()),
            Answer::Feedback(text) => (Verdict::Feedback, text),
            Answer::Abort => (Verdict::Aborted, String::new()),
            Answer::Ask => match self.ask_waiting(spec)? {
                Decision::Pass => (Verdict::Passed, String::new()),
                Decision::Edited => (Verdict::Edited, String::new()),
                Decision::Feedback(text) => (Verdict::Feedback, text),
                Decision::Abort => (Verdict::Aborted, String::new()),
                Decision::GoBack(stage) => {
                    return Err(Error::usage("a review answers the draft; it does not go back")
                        .hint(format!("git cowork revert {} --to {stage}", self.session.name))
                        .into());
                }
                Decision::Stop => return Ok(None),
            },
        };
        let (verdict, said) = self.weigh(spec, waiting, verdict, words)?;
        if verdict == Verdict::Feedback {
            self.give_feedback(self.persons_words(spec, number, &said))?;
        }
        let words = said.join("\n\n");
        let passes = matches!(verdict, Verdict::Passed | Verdict::Edited);
        if !passes {
            // Words about a draft say nothing about the files that lie there.
            self.stage.set(Stage::Idea);
        }
        let bytes = if passes { Some(self.bytes_now(spec)?) } else { None };
        let tip = self.session.tip.clone();
        let recorder = self.recorder();
        if verdict == Verdict::Aborted {
            // So that `undo` finds where it was.
            self.keep_aborted(spec.stage)?;
        }
        match recorder.review(&tip, spec.stage, verdict, number, bytes.as_ref(), &words)? {
            Recorded::Done(commit) => {
                self.advance(&commit)?;
                Ok(Some(commit))
            }
            Recorded::Refused(why) => Err(Error::repository(why.to_string())
                .hint("mend what it complains about and answer again; nothing was lost")
                .into()),
        }
    }

    /// What the answer comes to: a pass of bytes that are not the draft's is an edit, comments in
    /// them are feedback instead, beside what was said with the answer.
    fn weigh(
        &self,
        spec: &StageSpec,
        waiting: &Waiting,
        verdict: Verdict,
        words: String,
    ) -> anyhow::Result<(Verdict, Vec<String>)> {
        if verdict == Verdict::Aborted {
            return Ok((verdict, Vec::new()));
        }
        let comments = self.take_comments(spec, &waiting.draft.commit)?;
        if !comments.is_empty() && verdict != Verdict::Feedback {
            let goes = match comments.len() {
                1 => "your comment goes".to_owned(),
                n => format!("your {n} comments go"),
            };
            self.note(format!("{goes} to the actor, so this is feedback and no pass"));
        }
        let said: Vec<String> =
            (!words.is_empty()).then_some(words).into_iter().chain(comments).collect();
        if !said.is_empty() {
            return Ok((Verdict::Feedback, said));
        }
        let empty = spec.artifacts.iter().any(|artifact| {
            let files = self.files();
            Store::new(&files)
                .text(*artifact)
                .is_ok_and(|t| t.unwrap_or_default().trim().is_empty())
        });
        if empty {
            let names: Vec<&str> = spec.artifacts.iter().map(|a| a.file_name()).collect();
            return Err(Error::usage(format!(
                "{} is empty or missing and cannot pass",
                names.join(" or ")
            ))
            .hint(
                "take it back: git checkout HEAD -- .cowork, or answer with --feedback or --abort",
            )
            .into());
        }
        let drafted = self.bytes_at(spec, &waiting.draft.commit)?;
        let same = drafted.same(self.env.git.reader().as_ref(), &self.bytes_now(spec)?)?;
        Ok((if same { Verdict::Passed } else { Verdict::Edited }, Vec::new()))
    }

    fn edit(&self, spec: &StageSpec, editor: &Editor) -> anyhow::Result<Verdict> {
        let paths = self.documents_on_disk(spec);
        let files: Vec<_> = paths.iter().map(|path| self.env.git.top().join(path)).collect();
        if files.is_empty() {
            return Err(Error::usage(format!("{} has no document to edit", spec.stage))
                .hint("edit the code with your own tools, then: git cowork review --pass")
                .into());
        }
        Ok(match editor.open(&files)? {
            EditResult::Changed(_) => Verdict::Edited,
            EditResult::Unchanged => Verdict::Passed,
        })
    }

    fn ask_waiting(&self, spec: &StageSpec) -> anyhow::Result<Decision> {
        let progress = self.take_up(spec)?.unwrap_or_default();
        self.ask_person(spec, &progress)
    }
}
