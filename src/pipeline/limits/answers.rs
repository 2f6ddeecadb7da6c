//! The answers to a draft that waits on the branch, as commands, and how the run ends until there
//! is one.

use crate::artifact::{Feedback, Origin};
use crate::error::Error;
use crate::event::Event;
use crate::markers::without_markers;
use crate::pipeline::draft_state::DraftState;
use crate::pipeline::limits::blocked;
use crate::pipeline::outcome::{Asked, StageEnd, UNJUDGED};
use crate::pipeline::review::shown;
use crate::pipeline::run::Run;
use crate::pipeline::{checks, draft_count};
use crate::session::Waiting;
use crate::stage::Stage;
use crate::stages::{Approves, StageSpec};

/// Reports that the draft still waits, and ends the stage.
///
/// # Errors
/// Like [`end_of_waiting`].
pub(crate) fn waits(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<StageEnd> {
    if let Some(waiting) = run.session.waiting() {
        run.env.sink.emit(Event::ReviewRequested {
            stage: spec.stage,
            iteration: waiting.draft.iterations(),
            commit: Some(waiting.draft.commit.to_string()),
            reason: waiting.reason(),
        });
    }
    end_of_waiting(run, spec)
}

/// The end of a stage whose draft waits.
///
/// # Errors
/// The draft waits because the stage has failed; a question is no error.
pub(crate) fn end_of_waiting(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<StageEnd> {
    let Some(waiting) = run.session.waiting() else { return Ok(StageEnd::Waiting(None)) };
    let Some((_, words)) = blocked::failure_of(&waiting) else {
        return Ok(StageEnd::Waiting(waiting.reason()));
    };
    let reasons = said_of(&run.feedback_so_far()?, spec.stage, waiting.draft.iterations());
    let error = failure(spec.stage, words, &reasons);
    Err(answers(run, spec)?.into_iter().fold(error, Error::hint).into())
}

/// The commands that answer the waiting draft, each after what it does.
pub(crate) fn answers(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Vec<String>> {
    let Some(waiting) = run.session.waiting() else { return Ok(Vec::new()) };
    let (name, stage) = (&run.session.name, spec.stage);
    let review = format!("git cowork review {name}");
    let is_there = shown::missing(run, spec)?.is_empty();
    let reason = waiting.blocked();
    let mut lines = Vec::new();
    if is_there {
        lines.push(format!("read it: {}", reading(run, spec)));
    }
    if is_there && can_pass(run, spec, &waiting)? {
        lines.push(format!("pass it: {review} --pass"));
    }
    let does =
        if reason.is_some() { "answer it, or say what to change" } else { "ask for changes" };
    lines.push(format!("{does}: {review} --feedback TEXT"));
    match blocked::failure_of(&waiting) {
        Some((kind, _)) if kind.starts_with(UNJUDGED) => {
            lines.push(format!("ask again: git cowork resume {name}"));
        }
        Some(_) => {
            let more = run.env.config.iterations(stage);
            lines.push(format!("allow more drafts: {review} --more {more}"));
        }
        None => {}
    }
    let asks = waiting.reason();
    if let Some(words) = reason.map(|(_, words)| words).or(asks.as_deref()) {
        let earlier = run.session.earlier(stage);
        let goal = Asked::parse(words, waiting.draft.iterations()).map(|asked| asked.wish.stage);
        let to = goal.filter(|to| earlier.contains(to)).or(earlier.last().copied());
        lines.extend(to.map(|to| format!("go back to {to}: {review} --goto {to}")));
    }
    if is_there && spec.approves == Approves::Artifacts {
        lines.push(format!("edit it: {review} --edit"));
    }
    lines.push(format!("start {stage} again: {review} --abort"));
    lines.push(format!("then: git cowork resume {name}"));
    Ok(lines)
}

/// True if the draft can be read and the checks have found nothing in it, so that a person's pass
/// would count.
fn can_pass(run: &Run<'_>, spec: &StageSpec, waiting: &Waiting) -> anyhow::Result<bool> {
    let by = |judge| draft_count::has_refused(run, spec, waiting.draft.iterations(), judge);
    // A draft that waits for its review has passed the checks of its run.
    if waiting.blocked().is_some() && (by(Origin::Validator)? || by(Origin::Hook)?) {
        return Ok(false);
    }
    let draft = DraftState::default();
    let is_code = spec.approves == Approves::Tree;
    let commit = Some(&waiting.draft.commit);
    Ok(shown::broken(run, spec, &draft, commit, true)?.lines.is_empty()
        && (!is_code || checks::check_report(run, spec, &draft)?.is_ok()))
}

/// The command that shows the draft, from any folder and in a clone.
fn reading(run: &Run<'_>, spec: &StageSpec) -> String {
    let name = &run.session.name;
    match spec {
        spec if spec.writes_code() => format!("git cowork diff {name} --without-artifacts"),
        spec if run.session.is_patch() && spec.leaves_records() => {
            format!("git cowork diff {name}")
        }
        spec => format!("git cowork show {name} {}", spec.stage),
    }
}

/// The error of a stage that cannot go on, with the feedback on its last draft.
pub(super) fn failure(stage: Stage, words: &str, said: &[String]) -> Error {
    // They may be a model's sentence, which ends in a period.
    let words = words.trim_end_matches('.');
    Error::failed(match said {
        [] => format!("{stage}: {words}"),
        said => format!("{stage}: {words}; the last feedback:\n{}", said.join("\n")),
    })
}

/// The feedback on a draft, one or more lines for each entry.
pub(super) fn said_of(feedback: &[Feedback], stage: Stage, iteration: u32) -> Vec<String> {
    let of_draft = |entry: &&Feedback| {
        entry.stage == stage && entry.iteration == iteration && !entry.is_note()
    };
    let line = |entry: &Feedback| {
        format!("[{}] {}", entry.from.name(), without_markers(&entry.details).trim())
    };
    feedback.iter().filter(of_draft).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_feedback_follows_a_sentence_without_its_period() {
        let error = failure(Stage::Prd, "it does not say for whom.", &["name a user".to_owned()]);
        let said = "prd: it does not say for whom; the last feedback:\nname a user";
        assert_eq!(error.to_string(), said);
    }
}
