//! Answers a waiting review, or approves a completed stage: makes one commit, and runs nothing.

use crate::error::Error;
use crate::gate::{AfterEdit, Decision, EditResult, Editor, Reply};
use crate::git::{self, Oid};
use crate::pipeline::draft::keep;
use crate::pipeline::draft_state::DraftState;
use crate::pipeline::edits::{self, records};
use crate::pipeline::files::{approved_content, project_files};
use crate::pipeline::history::resume_stage;
use crate::pipeline::history::rewind::{self, before};
use crate::pipeline::outcome::TRY_AGAIN;
use crate::pipeline::review::{feedback, shown};
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::record::{self, Recorded, ReviewRecord};
use crate::session::{Entry, Session, Verdict, Waiting, key};
use crate::stage::Stage;
use crate::stages::{Approves, StageSpec};
use crate::verify::require_readable;

/// A person's answer to a waiting draft.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Pass the draft as it is.
    Pass,
    /// Open the editor; the saved version passes.
    Edit,
    /// Request another draft with this feedback.
    Feedback(String),
    /// Allow this many more drafts.
    More(u32),
    /// Go back to this stage.
    GoBack(Stage),
    /// Start this stage from scratch.
    Abort,
    /// Show the gate and let the person choose.
    Ask,
}

/// Records the answer. `None` if the person stopped without answering.
///
/// # Errors
/// Exit 5 if no draft is waiting.
pub(crate) fn give_answer(
    run: &mut Run<'_>,
    answer: Answer,
    editor: &Editor,
) -> anyhow::Result<Option<Oid>> {
    let waiting = require_waiting(&run.session)?;
    // The answer's commit contains the session's files as they are.
    require_readable(run.env.git, &run.session)?;
    let spec = run.session.row(waiting.stage);
    run.stage.set(spec.stage);
    let paths = approved_content::take_persons_code(run, spec, None)?;
    let result = record_answer(run, spec, &waiting, answer, editor);
    if !matches!(result, Ok(Some(_))) {
        keep::stop_cleanly(run, None)?;
        run.env.workspace.written().forget(&paths)?;
    }
    result
}

/// The draft that waits for an answer.
///
/// # Errors
/// Exit 5 if no draft is waiting.
pub fn require_waiting(session: &Session) -> anyhow::Result<Waiting> {
    if let Some(waiting) = session.unanswered() {
        return Ok(waiting);
    }
    let name = &session.name;
    let hint = match session.is_completed() {
        true => format!(
            "it is delivered; ask for a change: git cowork modify --session {name} \"what is to change\""
        ),
        false => "continue: git cowork resume".to_owned(),
    };
    Err(Error::repository(format!("'{name}' has no draft waiting for review")).hint(hint).into())
}

fn record_answer(
    run: &mut Run<'_>,
    spec: &'static StageSpec,
    waiting: &Waiting,
    answer: Answer,
    editor: &Editor,
) -> anyhow::Result<Option<Oid>> {
    records::put_back_json(run)?;
    let number = waiting.draft.iterations();
    let (mut back, mut more) = (None, None);
    let (verdict, words) = match answer {
        Answer::Pass => (Verdict::Passed, String::new()),
        Answer::Edit => match edit(run, spec, waiting, editor)? {
            Some(_) if records::put_back_json(run)? => {
                return Err(Error::waiting("nothing is passed, because your edit was put back")
                    .hint("edit the document instead: git cowork review --edit")
                    .into());
            }
            Some(verdict) => (verdict, String::new()),
            None => return Ok(None),
        },
        Answer::Feedback(text) => (Verdict::Feedback, text),
        Answer::Abort => (Verdict::Aborted, String::new()),
        Answer::More(count) => {
            more = Some(count.to_string());
            (Verdict::Feedback, TRY_AGAIN.to_owned())
        }
        Answer::GoBack(stage) => {
            back = Some(stage);
            (Verdict::Aborted, String::new())
        }
        Answer::Ask => match looked(run, spec, waiting)? {
            // Other terminals are not asked about a waiting draft, so `PassedElsewhere` does not
            // occur.
            Decision::Pass | Decision::PassedElsewhere => (Verdict::Passed, String::new()),
            Decision::Commented | Decision::HandOver => (Verdict::Edited, String::new()),
            Decision::Feedback(text) => (Verdict::Feedback, text),
            Decision::Abort => (Verdict::Aborted, String::new()),
            Decision::GoBack(stage) => {
                back = Some(stage);
                (Verdict::Aborted, String::new())
            }
            Decision::Raise(depth) => {
                let hint = format!("git cowork resume {} --depth {depth}", run.session.name);
                return Err(Error::usage(
                    "a review only answers the draft; it cannot raise the depth",
                )
                .hint(hint)
                .into());
            }
            Decision::Stop
            | Decision::Look
            | Decision::TakeBack
            | Decision::Question(_)
            | Decision::OtherModel => return Ok(None),
        },
    };
    if let Some(stage) = back {
        before(&run.session, stage)?;
    }
    let (verdict, said) = weigh(run, spec, waiting, verdict, words)?;
    let passes = matches!(verdict, Verdict::Passed | Verdict::Edited);
    if verdict != Verdict::Aborted {
        let unread = records::settle(run)?.refusals;
        if passes && !unread.is_empty() {
            return Err(Error::waiting(unread.join("\n"))
                .hint("correct it: git cowork review --edit")
                .into());
        }
    }
    if verdict == Verdict::Feedback {
        run.give_feedback(feedback::persons_words(run, spec, number, &said))?;
    }
    let words = said.join("\n\n");
    if !passes {
        // Feedback on a draft, or an abort, does not approve the files in the working tree.
        run.stage.set(Stage::Idea);
    }
    let bytes = if passes { Some(approved_content::content_now(run, spec)?) } else { None };
    let tip = run.session.tip.clone();
    edits::tell_of_edited_earlier(run, spec)?;
    if verdict == Verdict::Aborted && back.is_none() {
        // Save the draft, so that `undo` can restore it. The way back saves it by itself.
        rewind::keep_aborted(run, spec.stage)?;
    }
    let code = match &bytes {
        Some(bytes) => approved_content::code_digest(run, bytes)?,
        None => None,
    };
    let (stage, bytes, code) = (spec.stage, bytes.as_ref(), code.as_deref());
    let iteration = number;
    let then = match (back, &more) {
        (Some(stage), _) => Some((key::BACK, stage.name())),
        (None, more) => more.as_deref().map(|count| (key::MORE, count)),
    };
    let review = ReviewRecord { stage, verdict, iteration, bytes, code, words: &words, then };
    match record::review::commit_answer(&run.recorder(), &tip, &review)? {
        Recorded::Done(commit) => {
            run.advance(&commit)?;
            feedback::forget_comments(run, spec, &words)?;
            Ok(Some(commit))
        }
        Recorded::Refused(why) => Err(Error::repository(why.to_string())
            .hint("fix the reported problem and answer again; nothing was lost")
            .into()),
    }
}

/// Determines the verdict. If the person passes content that differs from the draft, the verdict is
/// an edit. If the content has comments, the verdict is feedback instead: the comments are added to
/// the feedback of the answer itself.
fn weigh(
    run: &Run<'_>,
    spec: &StageSpec,
    waiting: &Waiting,
    verdict: Verdict,
    words: String,
) -> anyhow::Result<(Verdict, Vec<String>)> {
    if verdict == Verdict::Aborted {
        return Ok((verdict, Vec::new()));
    }
    let comments = feedback::take_comments(run, spec, &waiting.draft.commit)?;
    if !comments.is_empty() && verdict != Verdict::Feedback {
        let goes = match comments.len() {
            1 => "your comment goes".to_owned(),
            n => format!("your {n} comments go"),
        };
        run.note(format!("{goes} to the actor, so this is feedback, not a pass"));
    }
    let remarks: Vec<String> =
        (!words.is_empty()).then_some(words).into_iter().chain(comments).collect();
    if !remarks.is_empty() {
        return Ok((Verdict::Feedback, remarks));
    }
    let missing = shown::missing(run, spec)?;
    if !missing.is_empty() {
        return Err(Error::usage(format!(
            "there is nothing to pass yet: {} {} missing or empty",
            missing.join(" and "),
            if missing.len() == 1 { "is" } else { "are" }
        ))
        .hint(format!("say what to change: git cowork review {} --feedback TEXT", run.session.name))
        .hint("or restore what was deleted: git checkout HEAD -- .cowork")
        .into());
    }
    let draft_content = approved_content::content_at(run, spec, &waiting.draft.commit)?;
    let same = draft_content.same(
        run.env.git,
        &run.session,
        &approved_content::content_now(run, spec)?,
    )?;
    Ok((if same { Verdict::Passed } else { Verdict::Edited }, Vec::new()))
}

/// Opens the editor until the saved text can be parsed and passes the checks. `None` if the person
/// leaves the draft as it is, or reverts the edit.
fn edit(
    run: &Run<'_>,
    spec: &StageSpec,
    waiting: &Waiting,
    editor: &Editor,
) -> anyhow::Result<Option<Verdict>> {
    let paths = approved_content::documents_on_disk(run, spec);
    let files: Vec<_> = paths.iter().map(|path| run.env.git.top().join(path)).collect();
    if files.is_empty() {
        return Err(Error::usage(format!("{} has no document to edit", spec.stage))
            .hint("edit the code with your own tools, then: git cowork review --pass")
            .into());
    }
    let mut verdict = Verdict::Passed;
    loop {
        if let EditResult::Changed(_) = editor.open(&files)? {
            verdict = Verdict::Edited;
        }
        let (Some(gate), Verdict::Edited) = (&run.env.gate, verdict) else { break };
        let with_checks = !feedback::has_comments(run, spec, &waiting.draft.commit)?;
        let (draft, shown) = (DraftState::default(), Some(&run.session.tip));
        let broken = shown::broken(run, spec, &draft, shown, with_checks)?;
        if broken.lines.is_empty() {
            break;
        }
        match gate.broken(&broken, false)? {
            AfterEdit::EditAgain => {}
            AfterEdit::HandOver | AfterEdit::Leave => return Ok(None),
            AfterEdit::TakeBack => {
                run.note(edits::put_back(run, spec, &waiting.draft.commit, "")?);
                return Ok(None);
            }
        }
    }
    Ok(Some(verdict))
}

/// Shows the gate until there is an answer. It is shown again after a person edited code or
/// reverted an edit.
fn looked(
    run: &mut Run<'_>,
    spec: &'static StageSpec,
    waiting: &Waiting,
) -> anyhow::Result<Decision> {
    let mut reply = None;
    let mut last_shown = None;
    loop {
        let mut step = Step::new(run, spec);
        resume_stage::resume(&mut step)?;
        step.draft.readings.person = last_shown.clone().or(step.draft.readings.person);
        match shown::ask_person(&step, false, reply.take())? {
            Decision::Look => {
                approved_content::take_persons_code(run, spec, None)?;
                records::settle(run)?;
                last_shown = Some(waiting.draft.commit.clone());
                reply = Some(Reply { text: String::new(), redraws: true, calls: false });
            }
            Decision::TakeBack => {
                let text = edits::put_back(run, spec, &waiting.draft.commit, edits::AT_GATE)?;
                reply = Some(Reply { text, redraws: true, calls: false });
            }
            decision => return Ok(decision),
        }
    }
}

/// Makes sure that a session has completed a stage.
///
/// # Errors
/// Exit 5 if it has not.
pub fn require_completed(session: &Session, stage: Stage) -> anyhow::Result<()> {
    if session.done().contains(&stage) {
        return Ok(());
    }
    let name = &session.name;
    Err(Error::repository(format!("'{name}' has not completed {stage}"))
        .hint(format!("continue: git cowork resume {name}"))
        .into())
}

/// Records that a person approves the content of a completed stage at the tip.
///
/// # Errors
/// Exit 5: the stage is not completed, or its files have uncommitted changes.
pub(crate) fn approve(run: &mut Run<'_>, stage: Stage) -> anyhow::Result<Oid> {
    let (git, tip) = (run.env.git, run.session.tip.clone());
    require_completed(&run.session, stage)?;
    require_readable(git, &run.session)?;
    let spec = run.session.row(stage);
    let paths = match spec.approves {
        Approves::Artifacts => approved_content::document_paths(run, spec),
        Approves::Tree => project_files::code_since_start(run, &tip)?,
    };
    if let Some(entry) = git::status::of(git, &paths)?.first() {
        return Err(Error::repository(format!("{} has your uncommitted changes", entry.path))
            .hint("commit it (git commit) or stash it (git stash), then run the command again")
            .into());
    }
    records::put_back_json(run)?;
    let before = run.recorder().tree(&tip)?;
    let result = approve_now(run, spec, &tip, &paths);
    if result.is_err() {
        // A refused approval leaves no records behind that were written for it.
        let new_paths = git::paths::changed(git, &before, &run.recorder().tree(&tip)?)?;
        git::put_back::restore_worktree(git, &before, &new_paths)?;
        run.env.workspace.written().forget(&new_paths)?;
    }
    result
}

/// Adapts the records to the documents, and commits the approval of these paths of a stage.
fn approve_now(
    run: &mut Run<'_>,
    spec: &StageSpec,
    tip: &Oid,
    paths: &[String],
) -> anyhow::Result<Oid> {
    let (git, stage) = (run.env.git, spec.stage);
    // The records follow what a person has committed in the documents.
    let (bytes, records) = match spec.approves {
        Approves::Artifacts => {
            let unread = records::settle(run)?.refusals;
            if !unread.is_empty() {
                let hint = "correct it and commit it (git commit), then run the command again";
                return Err(Error::repository(unread.join("\n")).hint(hint).into());
            }
            let edits = git::status::of(git, paths)?.into_iter().map(|entry| entry.path);
            (approved_content::content_now(run, spec)?, edits.collect())
        }
        Approves::Tree => (approved_content::content_at(run, spec, tip)?, Vec::new()),
    };
    if bytes.0.is_empty() {
        return Err(Error::repository(format!(
            "{stage} of '{}' has no document",
            run.session.name
        ))
        .into());
    }
    let code = approved_content::code_digest(run, &bytes)?;
    let review = ReviewRecord {
        stage,
        verdict: Verdict::Passed,
        iteration: run.session.stage_entry(stage).map_or(1, Entry::iterations),
        bytes: Some(&bytes),
        code: code.as_deref(),
        words: "",
        then: None,
    };
    match record::review::commit_approval(&run.recorder(), tip, &records, &review)? {
        Recorded::Done(commit) => {
            run.advance(&commit)?;
            Ok(commit)
        }
        Recorded::Refused(why) => Err(Error::repository(why.to_string())
            .hint("fix the reported problem, then run the command again")
            .into()),
    }
}
