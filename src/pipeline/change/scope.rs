//! The scope of a change request: the records it started with, its changes to them, and the changed
//! files outside the scope its triage named.

use crate::artifact::check::{self, Report, UNPLANNED};
use crate::artifact::record_diff::{self, Became, Change};
use crate::artifact::{Artifact, Files as _, Origin, Scope, Task};
use crate::git;
use crate::pipeline::files::{approved_content, project_files};
use crate::pipeline::outcome::{Asked, Request};
use crate::pipeline::run::Run;
use crate::session::{self, Entry, changes_within, key, parents_files};
use crate::stage::{Depth, Stage};
use crate::stages::{self, StageSpec};
use crate::tool::GoBack;

/// The records that a change request edits in place.
pub(crate) const RECORDS: [Artifact; 4] = [
    Artifact::Requirements,
    Artifact::Features,
    Artifact::DesignSpec,
    Artifact::ImplementationPlan,
];

/// Maximum characters of an actor's reason.
const REASON: usize = 400;

/// True if the path is one of the files in `scope` or is in one of its folders.
pub(crate) fn covers(scope: &[String], path: &str) -> bool {
    scope.iter().any(|item| {
        let item = item.trim_start_matches("./").trim_end_matches('/');
        path == item || path.strip_prefix(item).is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Checks the idea document if the change request has changed it.
pub(crate) fn report_on_idea(run: &Run<'_>) -> anyhow::Result<Report> {
    let Some(before) = parents_files(run.env.git, &run.session) else {
        return Ok(Report::default());
    };
    let files = &run.files;
    let has_edits = before.read(Artifact::Idea)? != files.read(Artifact::Idea)?;
    Ok(if has_edits { check::idea(&run.store(), false) } else { Report::default() })
}

/// The changes made to these records so far; `None` if the session is not a change request.
pub(crate) fn changes_of(
    run: &Run<'_>,
    artifacts: &[Artifact],
) -> anyhow::Result<Option<Vec<Change>>> {
    let Some(before) = parents_files(run.env.git, &run.session) else { return Ok(None) };
    let baseline = project_files::baseline_of_change(run)?.unwrap_or_default();
    let mut changes = record_diff::changes(&before, &run.files, artifacts)?;
    changes.retain(|change| change.became != Became::Added || !baseline.has(&change.id));
    // Changes that another session made to a record do not count, even if they were merged in.
    for (_, entry) in changes_within(run.env.git, &run.session)? {
        let merge_files = run.files_at(&entry.commit);
        let others = record_diff::changes(&before, &merge_files, artifacts)?;
        changes.retain(|change| change.became == Became::Added || !others.contains(change));
    }
    Ok(Some(changes))
}

/// Reports the changes to records so far, before money is spent on code for them.
pub(crate) fn tell_change_so_far(run: &Run<'_>) -> anyhow::Result<()> {
    if let Some(changes) = changes_of(run, &RECORDS)?.filter(|changes| !changes.is_empty()) {
        run.note(format!("the change so far: {}", record_diff::signs(&changes)));
    }
    Ok(())
}

/// Asks to go back to triage if the prd stage still adds records that the scope does not allow
/// although this was already reported.
pub(crate) fn needs_wider_scope(
    run: &Run<'_>,
    stage: Stage,
    report: &Report,
    iteration: u32,
) -> anyhow::Result<Option<Request>> {
    let Some(finding) = report.findings.iter().find(|f| f.code == UNPLANNED) else {
        return Ok(None);
    };
    let Some(triage) = run.session.order().first().copied() else { return Ok(None) };
    let is_known = run.feedback_so_far()?.iter().any(|entry| {
        entry.stage == stage && entry.from == Origin::Validator && entry.details == finding.details
    });
    let wish = GoBack {
        stage: triage,
        reason: format!("the scope of this change is too narrow: {}", finding.details),
    };
    let by = Origin::Validator;
    Ok(is_known.then_some(Request::GoBack(Asked { by, stage, iteration, wish })))
}

/// The wider scope of a change whose draft removes records that later documents name, and the reason:
/// the stages of these documents follow, so that a task can take the code out.
pub(crate) fn widened(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Option<(Scope, String)>> {
    let Some(before) = parents_files(run.env.git, &run.session).filter(|_| spec.leaves_records())
    else {
        return Ok(None);
    };
    let removals: Vec<String> = changes_of(run, &RECORDS)?
        .unwrap_or_default()
        .into_iter()
        .filter(|change| change.became == Became::Removed)
        .map(|change| change.id)
        .collect();
    let Some(mut scope) = run.session.scope.filter(|_| !removals.is_empty()) else {
        return Ok(None);
    };
    let store = run.store();
    let mut followers = Vec::new();
    for (document, is_named) in
        [(Artifact::Design, &mut scope.design), (Artifact::Plan, &mut scope.plan)]
    {
        let Some(text) = store.text(document)?.filter(|_| !spec.artifacts.contains(&document))
        else {
            continue;
        };
        // A tool that deletes a feature takes it out of the components, too.
        let follows = removals.iter().any(|id| text.contains(id.as_str()))
            || before.read(document)?.as_ref() != Some(&text);
        if follows && !std::mem::replace(is_named, true) {
            followers.push(document.file_name());
        }
    }
    if followers.is_empty() {
        return Ok(None);
    }
    scope.code = true;
    let words = format!(
        "the scope of this change is now {}: {} removed, and {} must follow",
        scope.describe(),
        are(&removals),
        followers.join(" and ")
    );
    Ok(Some((scope, words)))
}

/// `REQ-001 is`, `REQ-001, REQ-002 are`
fn are(ids: &[String]) -> String {
    format!("{} {}", ids.join(", "), if ids.len() == 1 { "is" } else { "are" })
}

/// True if the scope of the change request names this stage of documents, and nothing in them
/// differs from the parent's: the actor then changes something or says why not.
pub(crate) fn changes_nothing(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<bool> {
    let start = run.session.history.first().filter(|_| run.session.is_patch());
    let has_documents = spec.is_before_code() && spec.leaves_records();
    let Some(start) = start.filter(|_| has_documents) else { return Ok(false) };
    let tree = run.tree()?;
    let documents = approved_content::document_paths(run, spec);
    let paths = git::paths::changed(run.env.git, &start.commit, &tree)?;
    Ok(!paths.iter().any(|path| documents.contains(path)))
}

/// The finding that a stage in the scope changed nothing, with the reason that its actor gave in
/// `words`.
pub(crate) fn unchanged_stage(
    run: &Run<'_>,
    spec: &StageSpec,
    words: &str,
) -> anyhow::Result<Option<String>> {
    if !changes_nothing(run, spec)? {
        return Ok(None);
    }
    let words: String = words.trim().chars().take(REASON).collect();
    let why = match words.is_empty() {
        true => "its actor gave no reason".to_owned(),
        false => format!("its actor says: {words}"),
    };
    Ok(Some(format!(
        "the scope of this change names {}, but nothing in its documents changed; {why}",
        spec.stage
    )))
}

/// The top-level tasks this session added: in a session that is not a change request, all of them.
pub(crate) fn own_tasks(run: &Run<'_>) -> anyhow::Result<Vec<Task>> {
    session::own_tasks(run.env.git, &run.session, run.store().plan()?)
}

/// Files the change has touched that neither its triage nor one of its own tasks names. Empty if
/// triage named no files.
pub(crate) fn outside_scope(run: &Run<'_>, touched: &[String]) -> anyhow::Result<Vec<String>> {
    let Some(change) = run.store().change_request()?.filter(|_| run.session.is_patch()) else {
        return Ok(Vec::new());
    };
    let mut scope = change.affected_files;
    if scope.is_empty() {
        return Ok(Vec::new());
    }
    for task in own_tasks(run)? {
        scope.extend(task.files().map(str::to_owned));
    }
    let outside = touched.iter().filter(|path| !covers(&scope, path));
    Ok(outside.cloned().collect())
}

/// Warns once about each file outside the change's scope.
pub(crate) fn warn_outside_scope(run: &Run<'_>, touched: &[String]) -> anyhow::Result<()> {
    for path in outside_scope(run, touched)? {
        run.warn_once(format!(
            "{path} is outside the scope of this change (affected_files in change_request.json)"
        ));
    }
    Ok(())
}

/// The depth of the session. If its triage has no commit yet, the depth that the triage implies.
///
/// # Errors
/// The change request cannot be read.
pub(crate) fn depth(run: &Run<'_>) -> anyhow::Result<Depth> {
    let session = &run.session;
    let has_depth = |entry: &Entry| entry.trailers.get(key::DEPTH).is_some();
    let is_recorded = session.history.iter().any(has_depth) || session.last_stage().is_some();
    if is_recorded || !session.is_patch() {
        return Ok(session.depth());
    }
    if let Some(depth) = run.env.config.project.depth.fixed() {
        return Ok(depth);
    }
    let scope = run.store().change_request()?.unwrap_or_default().scope;
    let quick = stages::depth(Depth::Quick);
    let more = quick.plans_for(scope) && !session.lacks_prd();
    let stops_later = run.env.stop_after.is_some_and(|stage| !quick.has(stage));
    Ok(if more || stops_later { Depth::Standard } else { Depth::Quick })
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_scope_names_files_and_folders() {
        let scope = ["src/cli.rs".to_owned(), "./lib/".to_owned()];
        assert!(covers(&scope, "src/cli.rs") && covers(&scope, "lib/a/b.sh"));
        assert!(!covers(&scope, "src/cli.rs.bak") && !covers(&scope, "library.sh"));
    }
}
