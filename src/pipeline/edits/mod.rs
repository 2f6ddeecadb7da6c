//! A person's edit is law. What a person changed in a draft stays byte for byte; where only the
//! document or only the records were edited, one conversation may change the other side and
//! nothing else, and what it changed is shown before it is recorded. Later drafts are told what the
//! person wrote, and the gate compares with it.

pub(crate) mod overwritten_edits;

use crate::artifact::{Artifact, BY_HAND, FeedbackType, Files, Origin, Store, record_diff};
use crate::event::Event;
use crate::gate::Mode;
use crate::git::{self, DiffStyle, Oid};
use crate::pipeline::brief::conversation::{self, Part};
use crate::pipeline::brief::sections::{DIFF, artifacts, cut, section};
use crate::pipeline::draft::{checks, keep};
use crate::pipeline::files::approved_content;
use crate::pipeline::progress::Progress;
use crate::pipeline::progress::edit::{Edit, names};
use crate::pipeline::prompts::ALIGN;
use crate::pipeline::run::Run;
use crate::pipeline::usage;
use crate::record::DraftEnding;
use crate::session::{CommittedFiles, Entry};
use crate::stage::Role;
use crate::stages::{Approves, Side, StageSpec};
use crate::tool;

/// Bytes of a person's edit that later drafts are told.
const TOLD: usize = 4_000;

/// Whether two texts differ by white space at most.
fn alike(a: Option<String>, b: Option<String>) -> bool {
    let squeezed = |text: Option<String>| -> Option<String> {
        text.map(|text| text.chars().filter(|c| !c.is_whitespace()).collect())
    };
    squeezed(a) == squeezed(b)
}

/// What a person changed in the stage's files since they were shown `shown`.
pub(crate) fn edit_since(
    run: &Run<'_>,
    spec: &StageSpec,
    shown: &Oid,
) -> anyhow::Result<Option<Edit>> {
    if spec.approves == Approves::Tree {
        return Ok(None);
    }
    let before = CommittedFiles::new(run.env.git, &run.session.name, shown);
    let now = run.files();
    let mut files = Vec::new();
    for artifact in spec.artifacts {
        if !alike(before.read(*artifact)?, now.read(*artifact)?) {
            files.push(*artifact);
        }
    }
    let (since, base) = (shown.clone(), shown.clone());
    let edit = Edit { since, base, files, aligned: false, told: false };
    Ok((!edit.files.is_empty()).then_some(edit))
}

/// Notes what a person edited since `shown`, beside what they had edited before in this draft.
pub(crate) fn note_edit(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    shown: &Oid,
) -> anyhow::Result<()> {
    let Some(new) = edit_since(run, spec, shown)? else { return Ok(()) };
    progress.edit = match progress.edit.take() {
        None => Some(new),
        // What was put back to what it was at first is no edit.
        Some(earlier) => edit_since(run, spec, &earlier.since)?.and_then(|mut all| {
            let theirs = |file: &Artifact| new.files.contains(file) || earlier.files.contains(file);
            all.files.retain(theirs);
            all.base = new.base;
            (!all.files.is_empty()).then_some(all)
        }),
    };
    Ok(())
}

/// Notes what a person edited in a draft that was kept or waits, while no run was there to
/// see it: what is not as it was and not as a tool left it. True when there was something.
pub(crate) fn note_edit_by_hand(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    draft: &Oid,
) -> anyhow::Result<bool> {
    let Some(mut new) = edit_since(run, spec, draft)? else { return Ok(false) };
    new.files.retain(|file| {
        let path = crate::session::artifact_path(&run.session.name, *file);
        !run.env.workspace.written().is_as_written(&path)
    });
    if new.files.is_empty() {
        return Ok(false);
    }
    let earlier = progress.edit.as_ref().map(|edit| edit.files.clone()).unwrap_or_default();
    new.files.extend(earlier);
    note_edit(run, spec, progress, draft)?;
    if let Some(edit) = &mut progress.edit {
        edit.files.retain(|file| new.files.contains(file));
    }
    Ok(true)
}

/// The same of the code: what a person edited in the files of the session, or committed.
pub(crate) fn note_code_by_hand(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    draft: &Entry,
) -> anyhow::Result<bool> {
    if spec.approves != Approves::Tree {
        return Ok(false);
    }
    let taken = approved_content::take_persons_code(run, spec, Some(&draft.commit))?;
    if taken.is_empty() && !committed_by_hand(run, draft.parents.first())? {
        return Ok(false);
    }
    let (since, base) = (draft.commit.clone(), draft.commit.clone());
    let files = Vec::new();
    progress.edit = Some(Edit { since, base, files, aligned: true, told: false });
    Ok(true)
}

/// Whether a person has committed code of their own on the branch since this tip. What a merge
/// brought is not theirs.
fn committed_by_hand(run: &Run<'_>, since: Option<&Oid>) -> anyhow::Result<bool> {
    let Some(since) = since.filter(|since| **since != run.session.tip) else {
        return Ok(false);
    };
    let tip = std::slice::from_ref(&run.session.tip);
    for commit in run.env.git.reader().walk(tip, std::slice::from_ref(since))? {
        let ours = run.session.history.iter().any(|entry| entry.commit == commit.id);
        if let ([parent], false) = (&commit.parents[..], ours) {
            let changed = git::paths::changed(run.env.git, parent, &commit.id)?;
            if changed.iter().any(|path| !path.starts_with(".cowork/")) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Brings the side of the draft a person did not edit in line with the one they did.
///
/// # Errors
/// Of the model. The draft is then as the person left it, and the next run tries again.
pub(crate) async fn align(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let Some(edit) = progress.edit.clone().filter(|edit| !edit.aligned) else {
        return Ok(());
    };
    let waits = run.env.mode == Mode::Wait && run.env.config.gated(spec.stage);
    if waits && progress.by_hand {
        // No model is asked before a person has passed it.
        return Ok(());
    }
    progress.by_hand = false;
    keep::mark(run, progress, progress.iteration, DraftEnding::Whole);
    let side = spec.follows(&edit.files);
    if let Some(side) = side {
        bring_in_line(run, spec, progress, &edit, side).await?;
    }
    progress.edit = Some(Edit { aligned: true, ..edit });
    if side.is_some() { keep::keep(run, spec, progress) } else { Ok(()) }
}

async fn bring_in_line(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    edit: &Edit,
    side: Side,
) -> anyhow::Result<()> {
    let law: Vec<Artifact> =
        spec.artifacts.iter().copied().filter(|file| Side::of(*file) != side).collect();
    let follows: Vec<Artifact> = spec.side(side).collect();
    let law = document_texts(&run.files(), &law)?;
    // A run that was killed may have left half a change.
    let base = CommittedFiles::new(run.env.git, &run.session.name, &edit.base);
    for (file, text) in document_texts(&base, &follows)? {
        if !alike(run.files().read(file)?, text.clone()) {
            put_texts(run, &[(file, text)])?;
        }
    }
    let before = document_texts(&run.files(), &follows)?;
    let held = checks::check_report(run, spec, progress)?.is_ok();
    let text = format!("{}: bringing {} in line with your edit", spec.stage, names(&follows));
    run.env.sink.emit(Event::Note { text });
    let part = follow_up(run, spec, progress, edit, side, &follows)?;
    let conversation = conversation::converse(run, &part, &mut progress.refusals).await;
    // Whatever a tool did: what the person wrote is law.
    put_texts(run, &law)?;
    if let Err(error) = conversation {
        put_texts(run, &before)?;
        return Err(error);
    }
    progress.credit.merge(usage::take_credit(run));
    let report = checks::check_report(run, spec, progress)?;
    let Some(finding) = report.findings.first() else {
        let now = document_texts(&run.files(), &follows)?;
        let differing = now.iter().zip(&before).filter(|(now, before)| now != before);
        let changed: Vec<Artifact> = differing.map(|((file, _), _)| *file).collect();
        if !changed.is_empty() {
            progress.approval = None;
            progress.note = Some(what_followed(run, edit, &changed)?);
        }
        return Ok(());
    };
    put_texts(run, &before)?;
    // The person decides: what they passed is not what the records say.
    progress.approval = None;
    let (edited, follows) = (edit.names(), names(&follows));
    let why = if held {
        let found = &finding.details;
        format!("{follows} could not be brought in line with your edit of {edited}: {found}")
    } else {
        format!(
            "your edit of {edited} does not pass the checks, and {follows} could not be \
             brought in line with it"
        )
    };
    if run.env.mode == Mode::Auto {
        run.warn(format!("{}: {why}", spec.stage));
    }
    progress.note = Some(why);
    Ok(())
}

fn follow_up<'a>(
    run: &Run<'_>,
    spec: &'a StageSpec,
    progress: &Progress,
    edit: &Edit,
    side: Side,
    follows: &[Artifact],
) -> anyhow::Result<Part<'a>> {
    let files = run.files();
    let mut extra = artifacts(&Store::new(&files), &run.session.name, spec.artifacts)?;
    let diff = diff_of(run, spec, edit)?;
    section(&mut extra, "What the person changed", &diff, DIFF / 2);
    let mut variables = conversation::brief_variables(run, spec, progress)?;
    variables.edited = edit.names();
    variables.follows = names(follows);
    Ok(Part {
        spec,
        role: Role::Actor,
        prompt: ALIGN,
        tools: tool::for_side(spec, side),
        iteration: progress.iteration,
        task: None,
        opening: None,
        extra,
        variables,
    })
}

/// For the person: what was changed to go with their edit.
fn what_followed(run: &Run<'_>, edit: &Edit, follows: &[Artifact]) -> anyhow::Result<String> {
    let before = CommittedFiles::new(run.env.git, &run.session.name, &edit.base);
    let changes = record_diff::changes(&before, &run.files(), follows)?;
    let all: Vec<&record_diff::Change> = changes.iter().collect();
    let what = match record_diff::names(&all, 6) {
        names if names.is_empty() => "look at what changed".to_owned(),
        names => names,
    };
    let follow = if follows.len() == 1 { "follows" } else { "follow" };
    Ok(format!("{} {follow} your edit of {}: {what}", names(follows), edit.names()))
}

/// Tells the next draft what the person wrote in this one: it stays.
pub(crate) fn tell_edit(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let Some(edit) = progress.edit.clone() else { return Ok(()) };
    let words = format!(
        "I edited {} by hand. What I wrote stays as it is, unless something I say later asks \
         for a change of that very place. My changes:\n{}",
        edit.names(),
        cut(diff_of(run, spec, &edit)?.trim_end(), TOLD)
    );
    let mut entry = run.feedback(spec.stage, progress.iteration, Origin::Human, &words);
    entry.feedback_type = FeedbackType::Suggestion;
    let files: Vec<&str> = edit.files.iter().map(|file| file.file_name()).collect();
    entry.extra.insert(BY_HAND.to_owned(), files.into());
    overwritten_edits::note_version(run, spec, progress, &edit, &mut entry)?;
    run.give_feedback(vec![entry])
}

/// What the person changed, as a diff of the files they edited.
fn diff_of(run: &Run<'_>, spec: &StageSpec, edit: &Edit) -> anyhow::Result<String> {
    let tree = run.recorder().tree(&run.session.tip)?;
    if edit.files.is_empty() {
        return approved_content::shown_diff(run, spec, &edit.since, &tree, DiffStyle::Patch);
    }
    let path = |file: &Artifact| crate::session::artifact_path(&run.session.name, *file);
    let paths: Vec<String> = edit.files.iter().map(path).collect();
    git::diff::text(run.env.git, &edit.since, &tree, &paths, DiffStyle::Patch, false)
}

fn document_texts(
    files: &dyn Files,
    which: &[Artifact],
) -> anyhow::Result<Vec<(Artifact, Option<String>)>> {
    which.iter().map(|artifact| Ok((*artifact, files.read(*artifact)?))).collect()
}

/// Puts back what differs, byte for byte.
fn put_texts(run: &Run<'_>, texts: &[(Artifact, Option<String>)]) -> anyhow::Result<()> {
    let files = run.files();
    for (artifact, text) in texts {
        if let Some(text) = text
            && files.read(*artifact)?.as_ref() != Some(text)
        {
            files.write(*artifact, text)?;
        }
    }
    Ok(())
}
