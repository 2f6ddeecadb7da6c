//! Saves drafts (work in progress) in side refs, and restores them.

use std::collections::BTreeSet;

use super::{Approval, ApprovedContent, Credit, Recorder, point, refused};
use crate::artifact::Artifact;
use crate::git::{self, Oid, RefTransaction, Store};
use crate::session::{Entry, Message, RefNames, Trailers, Verdict, artifact_path, key};
use crate::stage::Stage;

/// The result of restoring a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoredDraft {
    /// The working tree already contains work of the session.
    FilesInPlace,
    /// The draft's files are restored, except those that somebody has changed in the meantime.
    Restored {
        /// Paths left as they are.
        skipped: Vec<String>,
    },
}

/// The data saved with a draft.
#[derive(Clone, Debug, Default)]
pub struct DraftNotes {
    /// The usage of the stage so far.
    pub credit: Credit,
    /// The person's approval, so that nobody is asked twice.
    pub approval: Option<Approval>,
    /// A person's edits in it, in the pipeline's own form; empty if there are none.
    pub edited: String,
    /// The commit a person looked at last.
    pub seen: Option<Oid>,
    /// The commit the critic read last.
    pub read: Option<Oid>,
    /// The content that the critic approved and its comment, so that it is not asked twice either.
    pub judged: Option<(ApprovedContent, String)>,
    /// The same for the challenger.
    pub challenged: Option<(ApprovedContent, String)>,
    /// Who asks for a person and why, in the pipeline's own form.
    pub asks: Option<String>,
    /// The actor's last message about it, as one line.
    pub said: String,
    /// Its words about the code in all drafts, in the pipeline's own form.
    pub code_said: Vec<String>,
    /// The progress of the actor's self-review, in the pipeline's own form.
    pub self_review: String,
    /// How many calls a guard has refused in the stage.
    pub refusals: u32,
    /// The model that a person has chosen for the next drafts, in the pipeline's own form.
    pub taken: String,
    /// Why the run cannot continue without a person, in the pipeline's own form.
    pub stuck: Option<String>,
}

/// How a saved draft ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraftEnding {
    /// The actor finished it.
    Whole,
    /// The run stopped in the middle of it.
    Partial,
    /// A person wants a new one.
    Dropped,
}

/// Saves the current draft in its side ref. Nothing that a person sees changes.
pub fn keep(
    recorder: &Recorder<'_>,
    tip: &Oid,
    stage: Stage,
    iteration: u32,
    ending: DraftEnding,
    notes: &DraftNotes,
) -> anyhow::Result<Oid> {
    let tree = recorder.tree(tip)?;
    keep_tree(recorder, tip, &tree, stage, iteration, ending, notes)
}

/// Saves the current draft with a person's question about it and the actor's answer.
pub fn keep_answer(
    recorder: &Recorder<'_>,
    tip: &Oid,
    stage: Stage,
    iteration: u32,
    notes: &DraftNotes,
    (question, answer): (&str, &str),
) -> anyhow::Result<Oid> {
    let mut trailers = trailers(recorder, stage, iteration, DraftEnding::Whole, notes);
    trailers.push(key::ASKED, question);
    let subject = format!("{stage}: a question about draft {iteration}");
    let message = Message { subject, body: answer.to_owned(), trailers };
    write(recorder, tip, &recorder.tree(tip)?, stage, message)
}

/// Saves a document that was drafted before any run as the first draft of a stage.
pub fn begin(
    recorder: &Recorder<'_>,
    tip: &Oid,
    stage: Stage,
    document: Artifact,
    text: &str,
) -> anyhow::Result<Oid> {
    let path = artifact_path(recorder.name, document);
    let blob = refused::store(recorder, &path, text)?;
    let tree = git::snapshot::tree_with(recorder.git, tip, &[(path, blob)])?;
    keep_tree(recorder, tip, &tree, stage, 1, DraftEnding::Whole, &DraftNotes::default())
}

/// Makes an earlier draft of this tip the newest one again.
pub fn keep_again(recorder: &Recorder<'_>, draft: &Entry, stage: Stage) -> anyhow::Result<Oid> {
    let tip = draft.parents.first().unwrap_or(&draft.commit);
    let tree = git::snapshot::tree_of(recorder.git, draft.commit.as_str())?
        .unwrap_or_else(|| draft.commit.clone());
    let message = message(stage, draft.iterations(), draft.trailers.clone());
    write(recorder, tip, &tree, stage, message)
}

/// Like [`keep`], for a given tree.
pub(super) fn keep_tree(
    recorder: &Recorder<'_>,
    tip: &Oid,
    tree: &Oid,
    stage: Stage,
    iteration: u32,
    ending: DraftEnding,
    notes: &DraftNotes,
) -> anyhow::Result<Oid> {
    let trailers = trailers(recorder, stage, iteration, ending, notes);
    write(recorder, tip, tree, stage, message(stage, iteration, trailers))
}

/// The trailers of a draft.
fn trailers(
    recorder: &Recorder<'_>,
    stage: Stage,
    iteration: u32,
    ending: DraftEnding,
    notes: &DraftNotes,
) -> Trailers {
    let mut trailers = recorder.base_trailers();
    trailers.push(key::EVENT, "draft");
    trailers.push(key::STAGE, stage.name());
    trailers.push(key::ITERATIONS, iteration.to_string());
    match ending {
        DraftEnding::Whole => {}
        DraftEnding::Partial => trailers.push(key::PARTIAL, "yes"),
        DraftEnding::Dropped => trailers.push(key::REVIEW, Verdict::Aborted.name()),
    }
    notes.credit.push(&mut trailers, recorder.project.attribution);
    if let Some(approval) = &notes.approval {
        trailers.push(key::REVIEW, approval.verdict.name());
        approval.bytes.push(&mut trailers);
        if let Some((decided, by)) = approval.decided_by() {
            trailers.push(decided, by);
        }
    }
    trailers.push(key::EDITED, &notes.edited);
    for (key, commit) in [(key::SEEN, &notes.seen), (key::READ, &notes.read)] {
        trailers.push(key, commit.as_ref().map_or("", Oid::as_str));
    }
    if let Some(words) = &notes.asks {
        trailers.push(key::CRITIC, words);
    } else if let Some((bytes, words)) = &notes.judged {
        trailers.push(key::CRITIC, format!("approved {}", bytes.render()));
        trailers.push(key::CRITIC_SAID, words);
    }
    if let Some((bytes, words)) = &notes.challenged {
        trailers.push(key::CHALLENGER, format!("approved {}", bytes.render()));
        trailers.push(key::CHALLENGER_SAID, words);
    }
    trailers.push(key::ACTOR_SAID, &notes.said);
    notes.code_said.iter().for_each(|words| trailers.push(key::CODE_SAID, words));
    trailers.push(key::SELF_REVIEW, &notes.self_review);
    if notes.refusals > 0 {
        trailers.push(key::REFUSALS, notes.refusals.to_string());
    }
    trailers.push(key::ACTOR_MODEL, &notes.taken);
    trailers.push(key::STUCK, notes.stuck.as_deref().unwrap_or_default());
    trailers
}

fn message(stage: Stage, iteration: u32, trailers: Trailers) -> Message {
    Message { subject: format!("{stage}: draft {iteration}"), body: String::new(), trailers }
}

fn write(
    recorder: &Recorder<'_>,
    tip: &Oid,
    tree: &Oid,
    stage: Stage,
    message: Message,
) -> anyhow::Result<Oid> {
    let name = RefNames::draft(recorder.name, stage);
    let before = recorder.git.resolve(name.as_str())?;
    let subject = message.subject.replacen(&format!("{stage}: "), "", 1);
    let parents: Vec<Oid> = std::iter::once(tip.clone()).chain(before.clone()).collect();
    let message = recorder.without_secrets(&message).render();
    let commit = git::made::commit_tree(recorder.git, tree, &parents, &message)?;
    point("draft.before-ref");
    let transaction = RefTransaction::new(format!("cowork: {subject} of {stage}"));
    match before {
        Some(before) => transaction.update(&name, &commit, &before),
        None => transaction.create(&name, &commit),
    }
    .commit(recorder.git)?;
    point("draft.after-ref");
    Ok(commit)
}

/// Ends the saved draft of a stage, if there is one: it stays readable, but no run resumes it.
pub fn end(recorder: &Recorder<'_>, tip: &Oid, stage: Stage) -> anyhow::Result<()> {
    if recorder.git.resolve(RefNames::draft(recorder.name, stage).as_str())?.is_some() {
        let notes = DraftNotes::default();
        keep(recorder, tip, stage, 0, DraftEnding::Dropped, &notes)?;
    }
    Ok(())
}

/// Resets the paths that a commit would contain to their content at the tip, so that a stopped run
/// leaves a clean tree. The changes must already be saved.
pub fn reset_files(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<()> {
    git::put_back::restore_paths(recorder.git, tip, &recorder.changes()?)?;
    point("put-back.after-files");
    recorder.workspace.written().clear()
}

/// True if a run was killed and the files written by its tools are still in the working tree. Files
/// that were reset to the tip do not count, even if the run died before it could clear its list of
/// them.
pub fn has_files(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<bool> {
    let feedback = Artifact::Feedback.file_name();
    let mut written = recorder.workspace.written().paths();
    // Feedback is also written between drafts.
    written.retain(|path| {
        // In a stage that records only documents, code does not count: commands left it there.
        recorder.scope.reaches(path)
            && !path.ends_with(feedback)
            && recorder.workspace.written().is_as_written(path)
    });
    if written.is_empty() {
        return Ok(false);
    }
    Ok(git::blobs::hash_files(recorder.git, &written, Store::No)?
        != git::snapshot::blob_ids(recorder.git, tip, &written)?)
}

/// Restores the files of a saved draft in the working tree, except those that somebody has changed
/// in the meantime, in a commit or on disk. Returns the paths that were left alone. If the files
/// of a killed run are still in the working tree, nothing is restored.
pub fn restore(
    recorder: &Recorder<'_>,
    draft: &Oid,
    base: &Oid,
    tip: &Oid,
) -> anyhow::Result<RestoredDraft> {
    let paths = git::paths::changed(recorder.git, base, draft)?;
    if has_files(recorder, tip)? {
        return Ok(RestoredDraft::FilesInPlace);
    }
    let mut touched: BTreeSet<String> =
        git::paths::changed(recorder.git, base, tip)?.into_iter().collect();
    touched.extend(recorder.git.status()?.into_iter().map(|entry| entry.path));
    let (mut skipped, mut paths): (Vec<String>, Vec<String>) =
        paths.into_iter().partition(|path| touched.contains(path));
    if let Err(error) = refused::restore_worktree(recorder, draft, &paths) {
        // Half a draft would count as a person's edits; the whole draft is still in its ref.
        git::put_back::restore_paths(recorder.git, tip, &paths)?;
        return Err(error);
    }
    // Some may be restored already, by a run that was killed in the middle of this.
    let there = git::blobs::hash_files(recorder.git, &skipped, Store::No)?;
    let drafted = git::snapshot::blob_ids(recorder.git, draft, &skipped)?;
    let is_drafted = |(path, (there, drafted)): &(&String, (&Option<Oid>, &Option<Oid>))| {
        let refused =
            || drafted.as_ref().is_some_and(|blob| refused::is_there(recorder, path, blob));
        there == drafted || refused()
    };
    let same = skipped.iter().zip(there.iter().zip(&drafted)).filter(is_drafted);
    let same: Vec<String> = same.map(|(path, _)| path.clone()).collect();
    skipped.retain(|path| !same.contains(path));
    paths.extend(same);
    point("bring-back.after-files");
    recorder.workspace.written().adopt(&paths)?;
    Ok(RestoredDraft::Restored { skipped })
}
