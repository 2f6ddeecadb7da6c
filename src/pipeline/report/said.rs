//! What the actor said about the whole of the code.

use crate::artifact::Store;
use crate::pipeline::run::Run;
use crate::pipeline::summary;
use crate::session::Kind;
use crate::stages::code_stage;

/// What the actor of the last planned task, or of a change without tasks, said about the code; may
/// be empty. Tasks made from reviewers' comments and later corrections are not the whole.
pub(crate) fn said_of_the_code(run: &Run<'_>, store: &Store<'_>) -> anyhow::Result<String> {
    let plan = store.plan()?;
    let is_planned =
        |id: &String| !plan.tasks.iter().any(|task| task.id == *id && task.is_from_review());
    let history = &run.session.history;
    let mut last = history.iter().rev().filter(|entry| matches!(entry.kind, Kind::Task(_)));
    if let Some(entry) = last.clone().find(|e| matches!(&e.kind, Kind::Task(id) if is_planned(id)))
    {
        return Ok(summary::said_in(&entry.body).to_owned());
    }
    if last.next().is_some() {
        return Ok(String::new());
    }
    let mut whole = history.iter().filter(|entry| entry.kind == Kind::Stage(code_stage()));
    let said = whole.find_map(|entry| {
        Some(summary::said_of_the_whole(&entry.body)).filter(|said| !said.is_empty())
    });
    Ok(said.unwrap_or_default().to_owned())
}
