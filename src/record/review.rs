//! A draft that waits for a review as a commit, and a person's answer to it.

use super::{ApprovedContent, Credit, Recorded, Recorder, commit, point};
use crate::git::Oid;
use crate::session::{Message, Verdict, key};
use crate::stage::Stage;

/// Leaves a draft on the branch, waiting for a review.
#[expect(clippy::too_many_arguments, reason = "what one commit says, each named once")]
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
    let subject =
        recorder.subject(stage.name(), &format!("draft {iteration} for review, {summary}"));
    let message = Message { subject, body: body.to_owned(), trailers };
    point("waiting.before-commit");
    let recorded = commit::commit(recorder, tip, &recorder.changes()?, &message)?;
    point("waiting.after-commit");
    Ok(recorded)
}

/// Records a person's answer to a waiting draft.
pub fn commit_answer(
    recorder: &Recorder<'_>,
    tip: &Oid,
    stage: Stage,
    verdict: Verdict,
    iteration: u32,
    bytes: Option<&ApprovedContent>,
    words: &str,
) -> anyhow::Result<Recorded> {
    let mut trailers = recorder.base_trailers();
    trailers.push(key::EVENT, "review");
    trailers.push(key::STAGE, stage.name());
    trailers.push(key::ITERATIONS, iteration.to_string());
    trailers.push(key::REVIEW, verdict.name());
    if let Some(bytes) = bytes {
        trailers.push(key::APPROVED, bytes.render());
    }
    let subject =
        recorder.subject(stage.name(), &format!("review of draft {iteration}: {}", verdict.name()));
    let message = Message { subject, body: words.to_owned(), trailers };
    point("review.before-commit");
    let recorded = commit::commit(recorder, tip, &recorder.changes()?, &message)?;
    point("review.after-commit");
    Ok(recorded)
}
