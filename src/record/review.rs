//! A commit with a draft that waits for review, and a person's answer to it.

use super::{ApprovedContent, Credit, Recorded, Recorder, commit, point};
use crate::git::Oid;
use crate::session::{Message, Verdict, key};
use crate::stage::Stage;

/// Commits a draft to the branch, to wait for review.
#[expect(clippy::too_many_arguments, reason = "the parts of one commit message, each named")]
pub fn commit_draft(
    recorder: &Recorder<'_>,
    tip: &Oid,
    stage: Stage,
    iteration: u32,
    summary: &str,
    body: &str,
    credit: &Credit,
    marks: &[(&str, &str)],
) -> anyhow::Result<Recorded> {
    let mut trailers = recorder.base_trailers();
    trailers.push(key::EVENT, "draft");
    trailers.push(key::STAGE, stage.name());
    trailers.push(key::ITERATIONS, iteration.to_string());
    credit.push(&mut trailers, recorder.project.attribution);
    marks.iter().for_each(|(key, value)| trailers.push(key, value));
    let subject = recorder
        .project
        .subject_for(stage.name(), &format!("draft {iteration} for review, {summary}"));
    let message = Message { subject, body: body.to_owned(), trailers };
    point("waiting.before-commit");
    let recorded = commit::commit(recorder, tip, &recorder.changes()?, &message)?;
    point("waiting.after-commit");
    Ok(recorded)
}

/// The content of a review commit.
#[derive(Clone, Copy, Debug)]
pub struct ReviewRecord<'a> {
    /// The stage of the draft.
    pub stage: Stage,
    /// The answer.
    pub verdict: Verdict,
    /// The number of the draft.
    pub iteration: u32,
    /// The approved content.
    pub bytes: Option<&'a ApprovedContent>,
    /// A digest of the session's code in it, if the stage is coding.
    pub code: Option<&'a str>,
    /// The person's comment.
    pub words: &'a str,
    /// The trailer of an answer that says more than its verdict: where to go back to, or how many
    /// more drafts there may be.
    pub then: Option<(&'a str, &'a str)>,
}

/// Records a person's answer to a waiting draft.
pub fn commit_answer(
    recorder: &Recorder<'_>,
    tip: &Oid,
    review: &ReviewRecord<'_>,
) -> anyhow::Result<Recorded> {
    let answer = match review.then {
        Some((key::BACK, stage)) => format!("back to {stage}"),
        Some((key::MORE, count)) => format!("{count} more"),
        _ => review.verdict.name().to_owned(),
    };
    let what = format!("review of draft {}: {answer}", review.iteration);
    let message = message(recorder, review, &what);
    point("review.before-commit");
    let recorded = commit::commit(recorder, tip, &recorder.changes()?, &message)?;
    point("review.after-commit");
    Ok(recorded)
}

/// Records that a person approves a completed stage as it is at the tip now. `files` are those of its
/// files that were written again for the approval.
pub fn commit_approval(
    recorder: &Recorder<'_>,
    tip: &Oid,
    files: &[String],
    review: &ReviewRecord<'_>,
) -> anyhow::Result<Recorded> {
    let message = message(recorder, review, "passed as it is now");
    commit::commit(recorder, tip, files, &message)
}

fn message(recorder: &Recorder<'_>, review: &ReviewRecord<'_>, what: &str) -> Message {
    let mut trailers = recorder.base_trailers();
    trailers.push(key::EVENT, "review");
    trailers.push(key::STAGE, review.stage.name());
    trailers.push(key::ITERATIONS, review.iteration.to_string());
    trailers.push(key::REVIEW, review.verdict.name());
    review.bytes.iter().for_each(|bytes| bytes.push(&mut trailers));
    trailers.push(key::CODE, review.code.unwrap_or_default());
    review.then.iter().for_each(|(key, value)| trailers.push(key, value));
    let subject = recorder.project.subject_for(review.stage.name(), what);
    Message { subject, body: review.words.to_owned(), trailers }
}
