//! The context of a role before its brief, ordered by how rarely it changes: the repository
//! ([`crate::pipeline::brief::repository`]), the approved artifacts, the current draft. Every
//! section has a byte budget and a note if it was cut. Nothing here is volatile (no times, no
//! random ids, no temporary paths), so that a provider's prefix cache hits.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::artifact::record_diff::Became;
use crate::artifact::sections::{Document, without_sections};
use crate::artifact::{Artifact, RECORDS, TaskStatus};
use crate::excerpt;
use crate::headings;
use crate::pipeline::change::scope;
use crate::pipeline::files::instructions::Instructions;
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::stages::StageSpec;

/// Maximum bytes of each artifact.
pub const ARTIFACT: usize = 24_000;
/// Maximum bytes of a diff.
pub const DIFF: usize = 40_000;

/// A section, cut to `budget` bytes; empty if it has no text. Headings of git-cowork's own in its
/// text are set off.
pub fn section(title: &str, text: &str, budget: usize) -> String {
    match text.trim_end() {
        "" => String::new(),
        text => format!("## {title}\n\n{}\n\n", headings::set_off(&cut(text, budget))),
    }
}

/// Returns at most `budget` bytes of a text, with a note if it was cut.
pub fn cut(text: &str, budget: usize) -> String {
    if text.len() <= budget {
        return text.to_owned();
    }
    let head = excerpt::beginning(text, budget);
    let (end, whole) = (head.len(), text.len());
    format!("{}\n[cut here: {end} of {whole} bytes shown]", head.trim_end_matches('\n'))
}

/// Sections of the files that say how to work, those that `is_told` selects. The user is told once
/// which ones are read.
pub fn instruction_sections(
    run: &Run<'_>,
    all: &[Instructions],
    is_told: impl Fn(&Instructions) -> bool,
) -> String {
    let texts: Vec<&Instructions> = all.iter().filter(|one| is_told(one)).collect();
    let names: Vec<&str> = texts.iter().map(|one| one.path.as_str()).collect();
    if !names.is_empty() {
        run.note_once(format!("instructions read: {}", names.join(", ")));
    }
    texts.iter().map(|one| section(&one.path, &one.text, one.room)).collect()
}

/// The artifacts that a stage's roles get. In a change request only the stage that may change
/// idea.md gets it: the others have the request.
pub fn context_of(run: &Run<'_>, spec: &StageSpec) -> Vec<Artifact> {
    let mut context = spec.context.to_vec();
    let has_idea = !run.session.is_patch() || spec.actor.tools().contains(&"save_idea");
    context.retain(|artifact| has_idea || *artifact != Artifact::Idea);
    context
}

/// Artifacts of the session as sections under their paths; missing ones are left out. Records are
/// shown as their Markdown document.
pub fn artifacts(run: &Run<'_>, which: &[Artifact]) -> anyhow::Result<String> {
    let mut out = String::new();
    for artifact in which.iter().filter(|artifact| artifact.document().is_none()) {
        out += &artifact_section(run, *artifact)?;
    }
    Ok(out)
}

/// The approved documents of a change request for who judges its plan or code, or writes its code:
/// of the records that it leaves as they are and that none of its tasks names, only the titles.
/// Otherwise a small change to a large session sends all of the session in each request.
pub fn artifacts_of_change(run: &Run<'_>, which: &[Artifact]) -> anyhow::Result<String> {
    let Some(mut changes) = scope::changes_of(run, &RECORDS)? else {
        return artifacts(run, which);
    };
    changes.retain(|change| change.became != Became::Removed);
    let is_changed = |id: &str| changes.iter().any(|change| change.id == id);
    let before = project_files::baseline_of_change(run)?.unwrap_or_default();
    let mut tasks = run.store().plan().unwrap_or_default().tasks;
    tasks.retain(|task| task.status != TaskStatus::Completed || !before.ids.contains(&task.id));
    if tasks.is_empty() {
        // A change without a plan is made from the documents as they stand.
        return artifacts(run, which);
    }
    let mut ids: BTreeSet<String> = tasks.iter().map(|task| task.id.clone()).collect();
    let features = run.store().features()?.features;
    for task in tasks {
        if task.requirement_ids.is_empty() {
            let of_task = features.iter().filter(|feature| feature.id == task.feature_id);
            ids.extend(of_task.flat_map(|feature| feature.requirement_ids.clone()));
        }
        ids.extend(task.requirement_ids);
        ids.extend([task.feature_id, task.component_id]);
    }
    let is_left_out = |id: &str| !ids.contains(id) && !is_changed(id);
    let mut out = String::new();
    for artifact in which {
        let text =
            run.store().text(*artifact)?.filter(|_| Document::of_artifact(*artifact).is_some());
        let (mut text, left_out) =
            text.map(|text| without_sections(&text, &is_left_out)).unwrap_or_default();
        if left_out.is_empty() {
            out += &artifacts(run, &[*artifact])?;
            continue;
        }
        text.truncate(text.trim_end().len());
        let _ = write!(
            text,
            "\n\n## As before, left out of {} above (read_file shows them)\n\n{}",
            artifact.file_name(),
            left_out.join("; ")
        );
        out += &section(&run.path_of(*artifact), &text, ARTIFACT);
    }
    Ok(out)
}

/// One artifact as a section; empty if it is missing.
pub fn artifact_section(run: &Run<'_>, artifact: Artifact) -> anyhow::Result<String> {
    let text = shown(run, artifact)?.unwrap_or_default();
    Ok(section(&run.path_of(artifact), &text, ARTIFACT))
}

/// The text of an artifact in a message: JSON without its indentation, and in a change request the
/// plan with one line for each task that was completed before. These tasks are history, and after
/// some changes they are most of the plan. `None` if it is missing.
pub fn shown(run: &Run<'_>, artifact: Artifact) -> anyhow::Result<Option<String>> {
    let Some(text) = run.store().text(artifact)? else { return Ok(None) };
    Ok(Some(match artifact {
        Artifact::Plan => without_history(run, text)?,
        json if json.is_json() => compact(&text),
        _ => text,
    }))
}

fn without_history(run: &Run<'_>, text: String) -> anyhow::Result<String> {
    let Some(before) = project_files::baseline_of_change(run)? else { return Ok(text) };
    let mut tasks = run.store().plan().unwrap_or_default().tasks;
    tasks.retain(|task| task.status == TaskStatus::Completed && before.ids.contains(&task.id));
    if tasks.is_empty() {
        return Ok(text);
    }
    let is_history = |id: &str| tasks.iter().any(|task| task.id == id);
    let mut out = without_sections(&text, &is_history).0.trim_end().to_owned();
    out +=
        "\n\n## Completed before this change, left out of plan.md above (read_file shows them)\n";
    for task in tasks.iter().filter(|task| task.is_top_level()) {
        let files: Vec<&str> = task.files().collect();
        let _ = write!(out, "\n- {} {}: {}", task.id, task.title, files.join(", "));
    }
    Ok(out)
}

/// JSON without its indentation: models read it just as well, and it is a third shorter.
fn compact(text: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) => value.to_string(),
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_noted_and_never_splits_a_character() {
        let out = section("T", "ääää", 3);
        assert_eq!(out, "## T\n\nä\n[cut here: 2 of 8 bytes shown]\n\n");
        let out = section("T", "  \n", 3);
        assert_eq!(out, "");
    }
}
