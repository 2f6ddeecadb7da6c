//! The subject and body of a stage's commit.

use crate::artifact::knowledge::take_proposals;
use crate::artifact::record_diff;
use crate::pipeline::change::scope;
use crate::pipeline::draft::imported;
use crate::pipeline::evidence::Evidence;
use crate::pipeline::files::project_files;
use crate::pipeline::progress::Progress;
use crate::pipeline::run::Run;
use crate::pipeline::summary;
use crate::stages::{Approves, StageSpec};
use crate::stages::{Changed, Facts};

pub(crate) fn summary_line(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<String> {
    facts(run, spec, progress, spec.subject)
}

pub(crate) fn body(run: &Run<'_>, spec: &StageSpec, progress: &Progress) -> anyhow::Result<String> {
    let judges =
        [("critic", &progress.verdicts.critic), ("challenger", &progress.verdicts.challenger)];
    let said =
        judges.map(|(who, judged)| (who, judged.as_ref().map_or("", |(_, words)| words.as_str())));
    let body = facts(run, spec, progress, |facts| {
        // What the actor says about each task is in the task's commit.
        let words = &progress.newest.code_words;
        let corrections: Vec<String> =
            words.corrections().map(|one| take_proposals(one).0).collect();
        summary::body(spec, facts, &said, &take_proposals(words.whole()).0, &corrections)
    })?;
    Ok(match imported::dropped(run, spec)? {
        Some(words) => format!("{body}\n\n{words}.").trim_start().to_owned(),
        None => body,
    })
}

fn facts<T>(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
    with: impl FnOnce(&Facts<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    // Counting files reads the whole tree, and only coding uses the number.
    let files_changed = match spec.approves {
        Approves::Tree => {
            let draft = progress.newest.commit.as_ref().unwrap_or(&run.session.tip);
            project_files::code_since_start(run, draft)?.len()
        }
        Approves::Artifacts => 0,
    };
    let changes = scope::changes_of(run, spec.artifacts)?;
    let changes = changes.map(|changes| Changed {
        signs: record_diff::signs(&changes),
        ids: changes.into_iter().map(|change| change.id).collect(),
    });
    let evidence = progress.newest.evidence.as_ref();
    let own_tasks = scope::own_tasks(run)?;
    with(&Facts {
        changes,
        own_tasks: &own_tasks,
        store: run.store(),
        title: &run.session.file.title,
        files: files_changed,
        tests: evidence.map(Evidence::summary),
        runs: evidence.map(Evidence::lines).unwrap_or_default(),
    })
}
