//! What a person says about a draft: in the gate, or as comments in its documents.

use anyhow::Context as _;

use crate::artifact::{Feedback, Files as _, Origin};
use crate::gate::comments;
use crate::git::Oid;
use crate::pipeline::draft::keep;
use crate::pipeline::outcome::StepOutcome;
use crate::pipeline::progress::Progress;
use crate::pipeline::run::Run;
use crate::pipeline::{edits, protected_files};
use crate::session::CommittedFiles;
use crate::stages::{Approves, StageSpec};

/// A person's words are feedback, and the next draft begins.
pub(crate) fn take_answer(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    words: &[String],
) -> anyhow::Result<StepOutcome> {
    run.give_feedback(persons_words(run, spec, progress.iteration, words))?;
    progress.needs_draft = true;
    Ok(StepOutcome::Again)
}

/// Forgets the comments on hunks that these words hold: the feedback keeps them now. Others stay until
/// they are sent.
pub(crate) fn forget_comments(run: &Run<'_>, spec: &StageSpec, words: &str) -> anyhow::Result<()> {
    let file = crate::gate::comments_file(run.env.state.path(), spec.stage);
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    if !words.contains(written.trim()) {
        return Ok(());
    }
    match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// What a person said about a draft.
pub(crate) fn persons_words(
    run: &Run<'_>,
    spec: &StageSpec,
    number: u32,
    words: &[String],
) -> Vec<Feedback> {
    let said = |words: &String| run.feedback(spec.stage, number, Origin::Human, words);
    words.iter().map(said).collect()
}

/// Comments in a draft that a person edited while no run was there are feedback on it.
pub(crate) fn take_up_comments(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let Some(edit) = progress.edit.clone() else { return Ok(()) };
    let comments = take_comments(run, spec, &edit.since)?;
    if comments.is_empty() {
        return Ok(());
    }
    // What is left of the edit without them.
    progress.edit = edits::edit_since(run, spec, &edit.since)?.and_then(|mut rest| {
        rest.files.retain(|file| edit.files.contains(file));
        (!rest.files.is_empty()).then_some(rest)
    });
    if !progress.needs_draft {
        keep::keep(run, spec, progress)?;
        progress.seen.clone_from(&progress.draft);
    }
    take_answer(run, spec, progress, &comments)?;
    Ok(())
}

/// Whether a person has written comments into the stage's documents since `shown`.
pub(crate) fn has_comments(run: &Run<'_>, spec: &StageSpec, shown: &Oid) -> anyhow::Result<bool> {
    let prefix = &run.env.config.review.comment_prefix;
    let before = CommittedFiles::new(run.env.git, &run.session.name, shown);
    let files = run.files();
    for artifact in spec.artifacts.iter().filter(|_| spec.approves == Approves::Artifacts) {
        let Some(text) = files.read(*artifact)? else { continue };
        let old = before.read(*artifact)?.unwrap_or_default();
        if !comments::take(&text, &old, prefix).comments.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes the comments a person has written since `shown` out of the stage's documents on disk,
/// each with the place it stood in.
pub(crate) fn take_comments(
    run: &Run<'_>,
    spec: &StageSpec,
    shown: &Oid,
) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    if spec.approves == Approves::Tree {
        return Ok(found);
    }
    let prefix = &run.env.config.review.comment_prefix;
    let before = CommittedFiles::new(run.env.git, &run.session.name, shown);
    let files = run.files();
    for artifact in spec.artifacts {
        let Some(text) = files.read(*artifact)? else { continue };
        let old = before.read(*artifact)?.unwrap_or_default();
        let taken = comments::take(&text, &old, prefix);
        if taken.text != text {
            protected_files::tell_of_set_aside(run);
            files.write(*artifact, &taken.text)?;
            // A copy with the comments stays in J, but nobody wrote over the person.
            run.env.workspace.take_set_aside();
        }
        found.extend(taken.comments.iter().map(|c| c.details(artifact.file_name())));
    }
    Ok(found)
}
