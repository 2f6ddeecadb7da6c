//! A person's feedback on a draft: from the gate, or as comments in its documents.

use anyhow::Context as _;

use crate::artifact::{Feedback, Files as _, Origin};
use crate::gate::comments;
use crate::git::Oid;
use crate::pipeline::draft::keep;
use crate::pipeline::draft_state::Next;
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::pipeline::{edits, protected_files};
use crate::stages::{Approves, StageSpec};

/// Records a person's words as feedback and requests the next draft.
pub(crate) fn take_answer(step: &mut Step<'_, '_>, words: &[String]) -> anyhow::Result<()> {
    step.run.give_feedback(persons_words(step.run, step.spec, step.draft.iteration, words))?;
    step.draft.next = Next::Draft;
    Ok(())
}

/// Deletes saved comments on hunks if `words`, which are recorded as feedback, contain them. Other
/// comments remain until they are sent.
pub(crate) fn forget_comments(run: &Run<'_>, spec: &StageSpec, words: &str) -> anyhow::Result<()> {
    let file = crate::gate::comments_file(run.env.state.path(), spec.stage);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    if !words.contains(text.trim()) {
        return Ok(());
    }
    match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// A person's words about a draft, as feedback.
pub(crate) fn persons_words(
    run: &Run<'_>,
    spec: &StageSpec,
    number: u32,
    words: &[String],
) -> Vec<Feedback> {
    let entry = |words: &String| run.feedback(spec.stage, number, Origin::Human, words);
    words.iter().map(entry).collect()
}

/// Records the comments in a person's edit as feedback on the draft. The edit was made between
/// runs, or while a judge read the draft.
pub(crate) fn take_up_comments(step: &mut Step<'_, '_>) -> anyhow::Result<()> {
    let Some(edit) = step.draft.edit.clone() else { return Ok(()) };
    let comments = take_comments(step.run, step.spec, &edit.since)?;
    if comments.is_empty() {
        return Ok(());
    }
    // The rest of the edit, without the comments.
    step.draft.edit = edits::edit_since(step.run, step.spec, &edit.since)?.and_then(|mut rest| {
        rest.files.retain(|file| edit.files.contains(file));
        (!rest.files.is_empty()).then_some(rest)
    });
    if step.draft.next == Next::Review {
        keep::keep(step)?;
        step.draft.readings.person.clone_from(&step.draft.commit);
    }
    take_answer(step, &comments)
}

/// True if a person has written comments into the stage's documents since `shown`.
pub(crate) fn has_comments(run: &Run<'_>, spec: &StageSpec, shown: &Oid) -> anyhow::Result<bool> {
    let prefix = &run.env.config.review.comment_prefix;
    let before = run.files_at(shown);
    let files = &run.files;
    for artifact in spec.artifacts.iter().filter(|_| spec.approves == Approves::Artifacts) {
        let Some(text) = files.read(*artifact)? else { continue };
        let old = before.read(*artifact)?.unwrap_or_default();
        if !comments::take(&text, &old, prefix).comments.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the comments written since `shown` from the stage's documents on disk, and returns each
/// with its place.
pub(crate) fn take_comments(
    run: &Run<'_>,
    spec: &StageSpec,
    shown: &Oid,
) -> anyhow::Result<Vec<String>> {
    let mut details = Vec::new();
    if spec.approves == Approves::Tree {
        return Ok(details);
    }
    let prefix = &run.env.config.review.comment_prefix;
    let before = run.files_at(shown);
    let files = &run.files;
    for artifact in spec.artifacts {
        let Some(text) = files.read(*artifact)? else { continue };
        let old = before.read(*artifact)?.unwrap_or_default();
        let result = comments::take(&text, &old, prefix);
        if result.text != text {
            protected_files::tell_of_user_files(run);
            files.write(*artifact, &result.text)?;
            // The write saved a copy with the comments in the state directory. No edit was
            // overwritten, so the copy is not reported.
            run.env.workspace.command_effects().take_user_files();
        }
        details.extend(result.comments.iter().map(|c| c.details(artifact.file_name())));
    }
    Ok(details)
}
