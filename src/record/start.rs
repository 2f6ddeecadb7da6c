//! The first commit of a session.

use super::{Credit, Recorded, Recorder, commit, point};
use crate::artifact::SessionFile;
use crate::git::Oid;
use crate::session::{Inheritance, Message, key};

/// Maximum characters of the idea in the message.
const MAX_IDEA: usize = 2_000;

/// Makes the start commit: `session.json`, `.cowork/.gitattributes` and the artifacts taken over
/// from another session are already written. `says_depth` is false if a triage is to choose the
/// depth.
pub fn commit(
    recorder: &Recorder<'_>,
    tip: &Oid,
    file: &SessionFile,
    paths: &[String],
    says_depth: bool,
    from: Option<&Inheritance>,
) -> anyhow::Result<Recorded> {
    let mut trailers = recorder.base_trailers();
    trailers.push(key::EVENT, "start");
    if says_depth {
        trailers.push(key::DEPTH, file.depth.name());
    }
    if let Some(from) = from {
        from.trailers.iter().for_each(|(key, value)| trailers.push(key, value));
        let credit = Credit { models: from.models.clone(), ..Credit::default() };
        credit.push(&mut trailers, recorder.project.attribution);
    }
    let (title, idea) = (file.title.as_str(), file.idea.as_str());
    let mut body: String =
        if idea.trim() == title { String::new() } else { idea.chars().take(MAX_IDEA).collect() };
    if !body.is_empty() && body.len() < idea.len() {
        body.push_str("…\n\n[the whole idea is in session.json]");
    }
    let message = Message { subject: recorder.project.subject_for("start", title), body, trailers };
    point("start.before-commit");
    let recorded = commit::commit(recorder, tip, paths, &message)?;
    point("start.after-commit");
    Ok(recorded)
}
