//! The draft in the form that critics and challengers get: whole, or on a second reading what has
//! changed since. Their earlier feedback and the changes then replace everything they have read
//! already; a document is sent whole only if it is smaller than its diff.

use std::fmt::Write as _;

use crate::artifact::{Artifact, Origin};
use crate::git::{self, DiffStyle, Oid};
use crate::pipeline::brief::sections::{DIFF, artifact_section, artifacts, section};
use crate::pipeline::draft_state::DraftState;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::session::artifact_path;
use crate::stages::{Approves, StageSpec};

/// The draft for a critic or challenger: the documents, or the diff of the code.
pub(crate) fn draft_for_reader(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<String> {
    match spec.approves {
        Approves::Artifacts => artifacts(run, &spec.own_artifacts()),
        Approves::Tree => {
            let tree = run.tree()?;
            let diff = approved_content::shown_diff(
                run,
                spec,
                &approved_content::shown_from(run, spec),
                &tree,
                DiffStyle::Patch,
            )?;
            Ok(section(WHOLE_CODE, &diff, DIFF))
        }
    }
}

/// The difference that a change request makes to the documents of a stage; empty in other sessions
/// and for code.
pub(crate) fn change_for_reader(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<String> {
    let start = run.session.history.first().filter(|_| run.session.is_patch());
    let Some(start) = start.filter(|_| spec.leaves_records()) else { return Ok(String::new()) };
    let tree = run.tree()?;
    let documents = spec.artifacts.iter().filter(|artifact| artifact.document().is_none());
    let paths: Vec<String> = documents.map(|document| run.path_of(*document)).collect();
    let mut diff =
        git::diff::text(run.env.git, &start.commit, &tree, &paths, DiffStyle::Patch, false)?;
    if diff.trim().is_empty() {
        diff = format!("Nothing has changed in {}.", paths.join(", "));
    }
    Ok(section("What the change makes of the documents, as a diff", &diff, DIFF))
}

/// The heading of the diff of all of the session's code.
pub(crate) const WHOLE_CODE: &str = "The code as a diff against the plan's commit";

/// Maximum bytes of the critic's own feedback.
const OWN_WORDS: usize = 12_000;

/// The input of a second reading.
pub(crate) struct SecondReading {
    /// All of the opening text.
    pub opening: String,
    /// The changes, which are a part of it.
    pub changes: String,
}

/// The input of a critic or challenger `by` that has read a draft of this stage before, the last one
/// at `read`; `None` on its first reading.
pub(crate) fn changes_since_reading(
    step: &Step<'_, '_>,
    by: Origin,
    read: Option<&Oid>,
) -> anyhow::Result<Option<SecondReading>> {
    let Some(read) = read else { return Ok(None) };
    let mut opening = section("Your feedback so far", &own_words(step, by)?, OWN_WORDS);
    let tree = step.run.tree()?;
    let Changes { mut diff, whole, unchanged } = match step.spec.approves {
        Approves::Artifacts => changed_documents(step.run, step.spec, read, &tree)?,
        Approves::Tree => changed_code(step.run, step.spec, read, &tree)?,
    };
    if diff.is_empty() && whole.is_empty() {
        diff = "Nothing in it has changed.".to_owned();
    }
    opening += &section("Changed since you last read it", &diff, DIFF / 2);
    opening += &whole;
    let rest = unchanged + "If you need more context, read_file and search_files show it.";
    opening += &section("Not repeated here", &rest, DIFF);
    let changes = if diff.is_empty() { "It is above in full.".to_owned() } else { diff };
    Ok(Some(SecondReading { opening, changes }))
}

/// The author's closing words about a later draft, as a section: where the author leaves a point as
/// it is, they are the reason.
pub(crate) fn author_words(draft: &DraftState) -> String {
    match draft.used() {
        0 | 1 => String::new(),
        _ => section("What the author says about this draft", &draft.said(), OWN_WORDS),
    }
}

/// A judge's feedback on earlier drafts of this run of the stage.
pub(crate) fn own_words(step: &Step<'_, '_>, by: Origin) -> anyhow::Result<String> {
    let mut out = String::new();
    for entry in step.run.feedback_so_far()? {
        if (entry.stage, entry.from) != (step.spec.stage, by)
            || entry.iteration <= step.draft.offset
        {
            continue;
        }
        let draft = entry.iteration - step.draft.offset;
        let _ = write!(out, "- draft {draft}, {}: {}", entry.severity.name(), entry.details);
        if let Some(fix) = &entry.suggested_fix {
            let _ = write!(out, " Suggested: {fix}");
        }
        out.push('\n');
    }
    Ok(out)
}

fn changed_documents(
    run: &Run<'_>,
    spec: &StageSpec,
    read: &Oid,
    tree: &Oid,
) -> anyhow::Result<Changes> {
    let (store, name) = (run.store(), &run.session.name);
    let mut changes = Changes::default();
    let mut same = Vec::new();
    for artifact in spec.artifacts {
        let path = artifact_path(name, *artifact);
        let paths = std::slice::from_ref(&path);
        let diff = git::diff::text(run.env.git, read, tree, paths, DiffStyle::Patch, false)?;
        let whole = artifact_section(run, *artifact)?;
        match hunks(&diff) {
            "" if whole.is_empty() => {}
            "" => same.push(path),
            hunks if hunks.len() > whole.len() => changes.whole += &whole,
            hunks => {
                let _ = writeln!(changes.diff, "### {path}\n\n{}\n", hunks.trim_end());
            }
        }
    }
    for artifact in spec.context.iter().chain(&[Artifact::ChangeRequest]) {
        if store.text(*artifact)?.is_some() {
            same.push(artifact_path(name, *artifact));
        }
    }
    changes.unchanged = paths_line("Unchanged since you read it", &same);
    Ok(changes)
}

fn changed_code(
    run: &Run<'_>,
    spec: &StageSpec,
    read: &Oid,
    tree: &Oid,
) -> anyhow::Result<Changes> {
    let diff = approved_content::shown_diff(run, spec, read, tree, DiffStyle::Patch)?;
    let all = approved_content::shown_diff(
        run,
        spec,
        &approved_content::shown_from(run, spec),
        tree,
        DiffStyle::Patch,
    )?;
    let store = run.store();
    let mut context = Vec::new();
    for artifact in spec.context.iter().chain(&[Artifact::ChangeRequest]) {
        if store.text(*artifact)?.is_some() {
            context.push(run.path_of(*artifact));
        }
    }
    let mut changes =
        Changes { unchanged: paths_line("The documents you read", &context), ..Changes::default() };
    if diff.len() > all.len() {
        changes.whole += &section(WHOLE_CODE, &all, DIFF);
    } else {
        changes.diff = diff;
    }
    Ok(changes)
}

/// The changes to a draft since it was read.
#[derive(Debug, Default)]
struct Changes {
    /// The diffs that are smaller than their documents.
    diff: String,
    /// The documents that are smaller than their diffs, as sections.
    whole: String,
    /// One line that names what is not repeated.
    unchanged: String,
}

/// A patch of one file without its header; empty if nothing changed.
fn hunks(patch: &str) -> &str {
    let at = if patch.starts_with("@@ ") { Some(0) } else { patch.find("\n@@ ").map(|at| at + 1) };
    match at {
        Some(at) => &patch[at..],
        // For a file that git treats as binary there are no hunks, but it has changed as well.
        None => patch,
    }
}

fn paths_line(what: &str, paths: &[String]) -> String {
    if paths.is_empty() { String::new() } else { format!("{what}: {}.\n", paths.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_its_hunks() {
        let patch =
            "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(hunks(patch), "@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(hunks(""), "");
        let binary = "diff --git a/x b/x\nBinary files a/x and b/x differ\n";
        assert_eq!(hunks(binary), binary);
    }
}
