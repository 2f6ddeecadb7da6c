//! A person's edits are preserved. A draft's text that a person changed stays byte for byte: the
//! actors of later drafts are told about the edit, and the gate reports edited lines that a later
//! draft changed.

pub(crate) mod overwritten_edits;
pub(crate) mod records;

use std::collections::BTreeSet;

use crate::artifact::{Artifact, BY_HAND, FeedbackType, Files as _, Origin};
use crate::git::{self, DiffStyle, Oid};
use crate::pipeline::brief::sections::cut;
use crate::pipeline::draft_state::Edit;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::record;
use crate::session::{Entry, Verdict};
use crate::stages::{Approves, StageSpec};

/// Maximum bytes of a person's edit in the feedback to later drafts.
const TOLD: usize = 4_000;

/// True if two texts differ in white space at most.
fn alike(a: Option<String>, b: Option<String>) -> bool {
    let without_space = |text: Option<String>| -> Option<String> {
        text.map(|text| text.chars().filter(|c| !c.is_whitespace()).collect())
    };
    without_space(a) == without_space(b)
}

/// A person's changes in the stage's files since that person saw the commit `shown`.
pub(crate) fn edit_since(
    run: &Run<'_>,
    spec: &StageSpec,
    shown: &Oid,
) -> anyhow::Result<Option<Edit>> {
    if spec.approves == Approves::Tree {
        return Ok(None);
    }
    let before = run.files_at(shown);
    let now = &run.files;
    let mut files = Vec::new();
    for artifact in spec.artifacts {
        if !alike(before.read(*artifact)?, now.read(*artifact)?) {
            files.push(*artifact);
        }
    }
    // Records follow their document: if it was edited, only the document counts as edited.
    let all = files.clone();
    let held_in = |file: &Artifact| {
        let source = file.document()?;
        if spec.artifacts.contains(&source) { Some(source) } else { spec.document() }
    };
    files.retain(|file| held_in(file).is_none_or(|document| !all.contains(&document)));
    let edit = Edit { since: shown.clone(), files, told: false };
    Ok((!edit.files.is_empty()).then_some(edit))
}

/// Warns about a person's edits of an earlier stage's document: they take effect without an
/// approval, with the next commit, which names them.
pub(crate) fn tell_of_edited_earlier(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    let stages = run.session.done().into_iter();
    let documents: BTreeSet<Artifact> =
        stages.filter_map(|stage| run.session.row(stage).document()).collect();
    let journal = run.env.workspace.written();
    let mut names = run.edited_earlier.borrow_mut();
    names.clear();
    let earlier = documents.into_iter().filter(|artifact| !spec.artifacts.contains(artifact));
    let paths: Vec<String> = earlier
        .map(|artifact| run.path_of(artifact))
        .filter(|path| !journal.is_as_written(path))
        .collect();
    if paths.is_empty() {
        return Ok(());
    }
    for entry in git::status::of(run.env.git, &[run.session.name.artifact_dir()])? {
        let path = entry.path;
        if !paths.contains(&path) {
            continue;
        }
        run.warn_once(format!(
            "{path} has your edits since it was approved; they will be committed with {}; to discard them: git checkout HEAD -- {path}",
            spec.stage
        ));
        names.push(path);
    }
    Ok(())
}

/// Records a person's edits since `shown`, added to their earlier edits of this draft.
pub(crate) fn note_edit(step: &mut Step<'_, '_>, shown: &Oid) -> anyhow::Result<()> {
    records::put_back_json(step.run)?;
    let Some(new) = edit_since(step.run, step.spec, shown)? else { return Ok(()) };
    step.draft.edit = match step.draft.edit.take() {
        None => Some(new),
        // A file restored to its first version is not edited.
        Some(earlier) => edit_since(step.run, step.spec, &earlier.since)?.and_then(|mut all| {
            let is_theirs =
                |file: &Artifact| new.files.contains(file) || earlier.files.contains(file);
            all.files.retain(is_theirs);
            (!all.files.is_empty()).then_some(all)
        }),
    };
    Ok(())
}

/// Records a person's edits of a saved or waiting draft that were made while no run was active:
/// files that match neither the draft nor what a tool wrote. Returns true if there were any.
pub(crate) fn note_edit_by_hand(step: &mut Step<'_, '_>, draft: &Oid) -> anyhow::Result<bool> {
    let Some(mut new) = edit_since(step.run, step.spec, draft)? else { return Ok(false) };
    new.files.retain(|file| {
        let path = step.run.path_of(*file);
        !step.run.env.workspace.written().is_as_written(&path)
    });
    if new.files.is_empty() {
        return Ok(false);
    }
    let earlier = step.draft.edit.as_ref().map(|edit| edit.files.clone()).unwrap_or_default();
    new.files.extend(earlier);
    note_edit(step, draft)?;
    if let Some(edit) = &mut step.draft.edit {
        edit.files.retain(|file| new.files.contains(file));
    }
    Ok(true)
}

/// Records a person's edits of a document that a tool wrote in a run that was killed before it
/// saved a draft. Returns true if there were any.
pub(crate) fn note_edit_of_killed_draft(step: &mut Step<'_, '_>) -> anyhow::Result<bool> {
    let journal = step.run.env.workspace.written();
    let paths = journal.paths();
    let is_edited = step.spec.artifacts.iter().any(|artifact| {
        let path = step.run.path_of(*artifact);
        paths.contains(&path) && !journal.is_as_written(&path)
    });
    let tip = step.run.session.tip.clone();
    Ok(is_edited && note_edit_by_hand(step, &tip)?)
}

/// Like [`note_edit_by_hand`], for code: files of the session that a person edited or committed.
pub(crate) fn note_code_by_hand(step: &mut Step<'_, '_>, draft: &Entry) -> anyhow::Result<bool> {
    if step.spec.approves != Approves::Tree {
        return Ok(false);
    }
    let paths = approved_content::take_persons_code(step.run, step.spec, Some(&draft.commit))?;
    if paths.is_empty() && !committed_by_hand(step.run, draft.parents.first())? {
        return Ok(false);
    }
    let since = draft.commit.clone();
    step.draft.edit = Some(Edit { since, files: Vec::new(), told: false });
    Ok(true)
}

/// True if a person has committed code on the branch since this tip. Changes from a merge do not
/// count.
fn committed_by_hand(run: &Run<'_>, since: Option<&Oid>) -> anyhow::Result<bool> {
    let Some(since) = since.filter(|since| **since != run.session.tip) else {
        return Ok(false);
    };
    let tip = std::slice::from_ref(&run.session.tip);
    for commit in run.env.git.reader().walk(tip, std::slice::from_ref(since))? {
        let is_own = run.session.history.iter().any(|entry| entry.commit == commit.id);
        if let ([parent], false) = (&commit.parents[..], is_own) {
            let changes = git::paths::changed(run.env.git, parent, &commit.id)?;
            if changes.iter().any(|path| !path.starts_with(".cowork/")) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Records feedback that tells the actor of the next draft which edits a person made in this draft,
/// and that these edits must stay.
pub(crate) fn tell_edit(step: &mut Step<'_, '_>) -> anyhow::Result<()> {
    let Some(edit) = step.draft.edit.clone() else { return Ok(()) };
    let words = format!(
        "I edited {} by hand. What I wrote stays as it is, unless I later ask you \
         to change that part. My changes:\n{}",
        edit.names(),
        cut(diff_of(step.run, step.spec, &edit)?.trim_end(), TOLD)
    );
    let mut entry = step.feedback(Origin::Human, &words);
    entry.feedback_type = FeedbackType::Suggestion;
    let files: Vec<&str> = edit.files.iter().map(|file| file.file_name()).collect();
    entry.extra.insert(BY_HAND.to_owned(), files.into());
    overwritten_edits::note_version(step, &edit, &mut entry)?;
    step.run.give_feedback(vec![entry])
}

/// A person's changes, as a diff of the files they edited.
fn diff_of(run: &Run<'_>, spec: &StageSpec, edit: &Edit) -> anyhow::Result<String> {
    let tree = run.tree()?;
    if edit.files.is_empty() {
        return approved_content::shown_diff(run, spec, &edit.since, &tree, DiffStyle::Patch);
    }
    let path = |file: &Artifact| run.path_of(*file);
    let paths: Vec<String> = edit.files.iter().map(path).collect();
    git::diff::text(run.env.git, &edit.since, &tree, &paths, DiffStyle::Patch, false)
}

/// Tells when the command of the message can be run, if the message is shown at a gate: there the
/// run still holds the session's lock.
pub(crate) const AT_GATE: &str = "; after you quit (q)";

/// Reverts a person's edits of the draft `shown`, including unrecorded edits. Returns the message
/// for the person.
pub(crate) fn take_back(step: &mut Step<'_, '_>, shown: &Oid) -> anyhow::Result<String> {
    note_edit(step, shown)?;
    let edit = step.draft.edit.take();
    let since = edit.map_or_else(|| shown.clone(), |edit| edit.since);
    let message = put_back(step.run, step.spec, &since, AT_GATE)?;
    step.draft.approvals.person = None;
    step.draft.by_hand = false;
    Ok(message)
}

/// Saves the stage's files as an attempt if they differ from `since`, and resets them to it.
/// Returns the message for the person, which contains a command; `when` says when the command can
/// be run.
pub(crate) fn put_back(
    run: &Run<'_>,
    spec: &StageSpec,
    since: &Oid,
    when: &str,
) -> anyhow::Result<String> {
    let git = run.env.git;
    let recorder = run.recorder();
    let paths = match spec.approves {
        Approves::Artifacts => approved_content::document_paths(run, spec),
        Approves::Tree => {
            let tree = recorder.tree(&run.session.tip)?;
            approved_content::shown_paths(run, spec, since, &tree)?
        }
    };
    let now = git::snapshot::blob_ids(git, &recorder.tree(&run.session.tip)?, &paths)?;
    let before = git::snapshot::blob_ids(git, since, &paths)?;
    let changes = paths.into_iter().zip(now.iter().zip(&before));
    let changes: Vec<String> =
        changes.filter(|(_, (now, before))| now != before).map(|(path, _)| path).collect();
    if changes.is_empty() {
        return Ok("the draft is as it was before your edit".to_owned());
    }
    let file_names = file_names(&changes);
    let reason = format!("your edit of {file_names}, taken back");
    let number = record::attempt::keep(&recorder, &run.session.tip, &reason, Verdict::Edited)?;
    record::refused::restore_worktree(&recorder, since, &changes)?;
    run.env.workspace.written().adopt(&changes)?;
    let session = &run.session.name;
    Ok(format!(
        "your edit of {file_names} is reverted and kept as attempt {number}{when}: \
         git cowork restore {session} {number}"
    ))
}

/// Files of the session by their file_names, others by their paths.
fn file_names(paths: &[String]) -> String {
    let name = |path: &String| match path.strip_prefix(".cowork/") {
        Some(own) => own.rsplit('/').next().unwrap_or(own).to_owned(),
        None => path.clone(),
    };
    // JSON files follow their documents and need not be named.
    let documents = paths.iter().filter(|path| !path.ends_with(".json"));
    let list: Vec<String> = match documents.clone().next() {
        Some(_) => documents.map(name).collect(),
        None => paths.iter().map(name).collect(),
    };
    list.join(", ")
}
