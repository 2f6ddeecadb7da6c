//! The commit with which a person accepts stages as done: the session's files show that they are,
//! but no commit records it.

use super::{ApprovedContent, Recorded, Recorder, commit};
use crate::git::Oid;
use crate::session::{FROM_FILES, Message, Verdict, key};
use crate::stage::{Depth, Stage};

/// Records that a person accepts everything up to `stage` as done, with this content. Without a
/// stage, records that the session starts again from the beginning.
///
/// # Errors
/// Git fails, or HEAD has moved.
pub fn take_as_done(
    recorder: &Recorder<'_>,
    tip: &Oid,
    stage: Option<Stage>,
    depth: Depth,
    bytes: &ApprovedContent,
    by: &str,
) -> anyhow::Result<Recorded> {
    let mut trailers = recorder.base_trailers();
    let subject = match stage {
        Some(stage) => {
            trailers.push(key::STAGE, stage.name());
            trailers.push(key::DEPTH, depth.name());
            trailers.push(key::FROM, format!("{FROM_FILES} {}", tip.abbreviated()));
            trailers.push(key::ITERATIONS, "0");
            trailers.push(key::REVIEW, Verdict::Passed.name());
            bytes.push(&mut trailers);
            trailers.push(key::REVIEWED_BY, by);
            recorder.project.subject_for(stage.name(), "completed from existing files")
        }
        None => {
            trailers.push(key::EVENT, "start");
            trailers.push(key::DEPTH, depth.name());
            recorder.project.subject_for("start", "started again, regardless of the files")
        }
    };
    let message = Message { subject, body: String::new(), trailers };
    commit::commit(recorder, tip, &recorder.changes()?, &message)
}
