//! The draft in the form that critics and challengers get.

use crate::git::{self, DiffStyle};
use crate::pipeline::brief::sections::{DIFF, artifacts, section};
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
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
