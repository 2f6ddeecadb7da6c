//! The changes since a person last reviewed a stage, and the outcome of their feedback. Outcomes
//! are computed from the content; the actor's words are shown as such.

use crate::artifact::Files as _;
use crate::artifact::record_diff::{self, Became, Change};
use crate::gate::{Said, Since, comments};
use crate::git::{DiffStyle, Oid};
use crate::pipeline::change::scope;
use crate::pipeline::draft_state::{DraftState, Edit, tells_edit};
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::session::CommittedFiles;
use crate::stages::{Approves, StageSpec};

/// Maximum number of records named as the outcome of one remark.
const NAMED: usize = 4;
/// Maximum characters of the actor's closing words.
const CLOSING: usize = 240;

/// The information that a second review shows beside the draft.
#[derive(Debug, Default)]
pub(crate) struct SecondLook {
    pub since: Option<Since>,
    pub said: Vec<Said>,
    pub actor_said: Option<String>,
    /// Ids of new records.
    pub added: Vec<String>,
}

/// Compares the draft with what the person last saw, which may be the draft before their `edit`. On a first review there are only their notes
/// and, in a change request, the changes to earlier documents.
pub(crate) fn since_last_review(
    step: &Step<'_, '_>,
    tree: &Oid,
    edit: Option<&Edit>,
) -> anyhow::Result<SecondLook> {
    let Some(seen) = &step.draft.readings.person else {
        let notes = notes_since(step, step.draft.offset)?;
        let actor_said = shows_prose(step.spec).then(|| closing(&step.draft)).flatten();
        return Ok(SecondLook {
            said: notes,
            actor_said,
            ..first_look(step.run, step.spec, tree)?
        });
    };
    let diff = approved_content::shown_diff(step.run, step.spec, seen, tree, DiffStyle::Patch)?;
    let is_same = diff.trim().is_empty();
    let before = step.run.files_at(seen);
    let changes = match step.spec.approves {
        Approves::Artifacts => record_diff::changes(&before, &step.run.files, step.spec.artifacts)?,
        Approves::Tree => Vec::new(),
    };
    let last = step.run.session.entry_at(step.run.env.git, seen)?;
    let from = last.map_or(step.draft.offset, |entry| entry.iterations());
    let remarks = said_since(step, from)?;
    let alone = remarks.len() == 1;
    let mut remarks = remarks
        .into_iter()
        .map(|details| {
            let outcome =
                outcome_of(step.run, step.spec, &before, &details, &changes, alone, is_same)?;
            Ok(Said { text: comments::words(&details).to_owned(), outcome })
        })
        .collect::<anyhow::Result<Vec<Said>>>()?;
    remarks.extend(notes_since(step, from)?);
    // What a person edited is compared with the draft as it was before.
    let is_edit = edit.is_some_and(|edit| edit.since == *seen);
    let since = Since::of(diff, &record_diff::summary(&changes));
    let since = since.filter(|_| is_edit || !shows_prose(step.spec));
    let heading = |since: Since| match is_edit {
        true => Since { heading: "Your edit", ..since },
        false => since,
    };
    Ok(SecondLook {
        since: since.map(heading),
        added: added(&changes),
        actor_said: closing(&step.draft).filter(|_| !remarks.is_empty() || shows_prose(step.spec)),
        said: remarks,
    })
}

/// True for triage, which leaves JSON only: the gate shows its content as prose, with the actor's
/// reason.
fn shows_prose(spec: &StageSpec) -> bool {
    spec.approves == Approves::Artifacts && spec.document().is_none()
}

/// The beginning of the actor's closing words.
fn closing(draft: &DraftState) -> Option<String> {
    let words = draft.said();
    let mut closing: String = words.chars().take(CLOSING).collect();
    if closing.len() < words.len() {
        closing.push('…');
    }
    (!closing.is_empty()).then_some(closing)
}

/// For a change request: the changes to the documents that existed before it.
fn first_look(run: &Run<'_>, spec: &StageSpec, tree: &Oid) -> anyhow::Result<SecondLook> {
    // Triage is left out: its document did not exist before the change request.
    let edits = spec.approves == Approves::Artifacts && spec.is_in_new();
    let start = run.session.history.first().filter(|_| run.session.is_patch() && edits);
    let Some(start) = start else { return Ok(SecondLook::default()) };
    let diff = approved_content::shown_diff(run, spec, &start.commit, tree, DiffStyle::Patch)?;
    let changes = scope::changes_of(run, spec.artifacts)?.unwrap_or_default();
    let since = Since::of(diff, &record_diff::summary(&changes));
    let heading = "Changes by this change request";
    let since = since.map(|since| Since { heading, ..since });
    Ok(SecondLook { since, added: added(&changes), ..SecondLook::default() })
}

fn added(changes: &[Change]) -> Vec<String> {
    let new = changes.iter().filter(|change| change.became == Became::Added);
    new.map(|change| change.id.clone()).collect()
}

/// The person's feedback at or after draft `from`, the one they last saw; newest round only.
fn said_since(step: &Step<'_, '_>, from: u32) -> anyhow::Result<Vec<String>> {
    let rounds = from.max(step.draft.offset)..step.draft.iteration;
    let entries = step.run.feedback_so_far()?.into_iter().filter(|entry| {
        entry.stage == step.spec.stage
            && entry.is_persons_word()
            && rounds.contains(&entry.iteration)
            && !tells_edit(entry)
    });
    Ok(entries.map(|entry| entry.details).collect())
}

/// The notes the person typed while the drafts after `from` were made (`from` is the draft they
/// last saw). Their outcome is unknown: the draft at the time of the note was not saved.
fn notes_since(step: &Step<'_, '_>, from: u32) -> anyhow::Result<Vec<Said>> {
    let notes = step.run.feedback_so_far()?.into_iter().filter(|entry| {
        entry.stage == step.spec.stage
            && entry.is_note()
            && entry.iteration > from.max(step.draft.offset)
            && entry.iteration <= step.draft.iteration
    });
    Ok(notes.map(|entry| Said { text: entry.details, outcome: None }).collect())
}

/// The visible outcome of one remark; `None` if it is uncertain.
fn outcome_of(
    run: &Run<'_>,
    spec: &StageSpec,
    before: &CommittedFiles,
    details: &str,
    changes: &[Change],
    alone: bool,
    unchanged: bool,
) -> anyhow::Result<Option<String>> {
    if unchanged {
        return Ok(Some("nothing changed".to_owned()));
    }
    let mentions: Vec<&Change> =
        changes.iter().filter(|change| details.contains(&change.id)).collect();
    if !mentions.is_empty() {
        return Ok(Some(format!("done: {}", record_diff::names(&mentions, NAMED))));
    }
    if let Some((file, passage)) = comments::place(details) {
        let document = spec.artifacts.iter().find(|artifact| artifact.file_name() == file);
        let Some(document) = document else { return Ok(None) };
        let stood = |text: Option<String>| stands_in(&passage, &text.unwrap_or_default());
        // If the draft that was shown does not contain the passage, the outcome is unknown.
        if !stood(before.read(*document)?) {
            return Ok(None);
        }
        let stands = stood(run.files.read(*document)?);
        let outcome = if stands { "these lines are as they were" } else { "these lines changed" };
        return Ok(Some(outcome.to_owned()));
    }
    if alone && !changes.is_empty() {
        let all: Vec<&Change> = changes.iter().collect();
        return Ok(Some(format!("done: {}", record_diff::names(&all, NAMED))));
    }
    Ok(None)
}

/// True if a text contains a passage, ignoring white space at both ends of lines.
fn stands_in(passage: &str, text: &str) -> bool {
    let lines = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    lines(text).contains(&lines(passage))
}
