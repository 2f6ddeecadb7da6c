//! The subject and body of a stage's commit.

use crate::artifact::knowledge::take_proposals;
use crate::artifact::record_diff;
use crate::pipeline::change::scope;
use crate::pipeline::draft::imported;
use crate::pipeline::evidence::Evidence;
use crate::pipeline::files::project_files;
use crate::pipeline::step::Step;
use crate::pipeline::summary;
use crate::stages::Approves;
use crate::stages::{Changed, Facts};

pub(crate) fn summary_line(step: &Step<'_, '_>) -> anyhow::Result<String> {
    facts(step, step.spec.subject)
}

pub(crate) fn body(step: &Step<'_, '_>) -> anyhow::Result<String> {
    let judges = [
        ("critic", &step.draft.approvals.critic),
        ("challenger", &step.draft.approvals.challenger),
    ];
    let said =
        judges.map(|(who, judged)| (who, judged.as_ref().map_or("", |(_, words)| words.as_str())));
    let body = facts(step, |facts| {
        // What the actor says about each task is in the task's commit.
        let words = &step.draft.code_words;
        let corrections: Vec<String> =
            words.corrections().map(|one| take_proposals(one).0).collect();
        summary::body(step.spec, facts, &said, &take_proposals(words.whole()).0, &corrections)
    })?;
    Ok(match imported::dropped(step.run, step.spec)? {
        Some(words) => format!("{body}\n\n{words}.").trim_start().to_owned(),
        None => body,
    })
}

fn facts<T>(
    step: &Step<'_, '_>,
    with: impl FnOnce(&Facts<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    // Counting files reads the whole tree, and only coding uses the number.
    let files_changed = match step.spec.approves {
        Approves::Tree => {
            let draft = step.draft.commit.as_ref().unwrap_or(&step.run.session.tip);
            project_files::code_since_start(step.run, draft)?.len()
        }
        Approves::Artifacts => 0,
    };
    let changes = scope::changes_of(step.run, step.spec.artifacts)?;
    let changes = changes.map(|changes| Changed {
        signs: record_diff::signs(&changes),
        ids: changes.into_iter().map(|change| change.id).collect(),
    });
    let evidence = step.draft.evidence.as_ref();
    let own_tasks = scope::own_tasks(step.run)?;
    with(&Facts {
        changes,
        own_tasks: &own_tasks,
        store: step.run.store(),
        title: &step.run.session.file.title,
        files: files_changed,
        tests: evidence.map(Evidence::summary),
        runs: evidence.map(Evidence::lines).unwrap_or_default(),
    })
}
