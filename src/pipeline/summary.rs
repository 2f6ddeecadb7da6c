//! The words of a stage's commit: what came out of it, computed from the artifacts.

use std::fmt::Write as _;

use super::evidence::Evidence;
use super::prompts::TaskItem;
use crate::artifact::record_diff::{self, Change, count};
use crate::artifact::{Artifact, FeatureStatus, Store, Task, TaskStatus};
use crate::stage::Stage;

/// Characters of a model's words in a commit's body.
const MOST_SAID: usize = 600;

/// What the words are made from.
pub struct Facts<'a> {
    /// The session's artifacts.
    pub store: Store<'a>,
    /// The session's title.
    pub title: &'a str,
    /// Files changed outside `.cowork` since the session began.
    pub files: usize,
    /// What was run.
    pub evidence: Option<&'a Evidence>,
    /// What the critic said when it approved.
    pub approval: &'a str,
    /// What a change request made of the stage's records.
    pub changes: Option<&'a [Change]>,
    /// Top-level tasks the session added: all but in a change request.
    pub own_tasks: &'a [Task],
}

/// `4 requirements, 3 features`
pub fn subject(stage: Stage, facts: &Facts<'_>) -> anyhow::Result<String> {
    let store = &facts.store;
    if let (Stage::Prd | Stage::Design | Stage::Plan, Some(changes)) = (stage, facts.changes) {
        let signs = record_diff::signs(changes);
        return Ok(if signs.is_empty() { "no record changed".to_owned() } else { signs });
    }
    Ok(match stage {
        Stage::Triage => store.change_request()?.unwrap_or_default().headline(),
        Stage::Idea => title_of(store, Artifact::Idea, facts.title)?,
        Stage::Prd => format!(
            "{}, {}",
            count(store.requirements()?.requirements.len(), "requirement"),
            count(store.features()?.features.len(), "feature")
        ),
        Stage::Design => count(store.design()?.components.len(), "component"),
        Stage::Plan => count(top_level(store)?, "task"),
        Stage::Coding => {
            let tasks = facts.own_tasks;
            let done = tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
            let files = count(facts.files, "file");
            match tasks.len() {
                0 => files,
                all => format!("{done} of {}, {files}", count(all, "task")),
            }
        }
        Stage::Check => {
            let features = store.features()?.features;
            let held = features.iter().filter(|f| f.status >= FeatureStatus::Implemented).count();
            let none = || "no tests to run".to_owned();
            let tests = facts.evidence.map_or_else(none, Evidence::summary);
            format!("{} covered, {tests}", count(held, "feature"))
        }
        Stage::Delivery => title_of(store, Artifact::DeliveryReport, facts.title)?,
    })
}

/// A few readable lines: the names behind the numbers, and why it was approved.
pub fn body(stage: Stage, facts: &Facts<'_>) -> anyhow::Result<String> {
    let mut out = String::new();
    let store = &facts.store;
    let touched = |id: &str| facts.changes.is_none_or(|c| c.iter().any(|change| change.id == id));
    match stage {
        Stage::Triage => out = store.change_request()?.unwrap_or_default().describe(),
        Stage::Prd => {
            for item in store.requirements()?.requirements.iter().filter(|r| touched(&r.id)) {
                let _ = writeln!(out, "- {} {}", item.id, item.title);
            }
            for item in store.features()?.features.iter().filter(|f| touched(&f.id)) {
                let _ = writeln!(out, "- {} {}", item.id, item.name);
            }
        }
        Stage::Design => {
            for item in store.design()?.components.iter().filter(|c| touched(&c.id)) {
                let _ = writeln!(out, "- {} {}", item.id, item.name);
            }
        }
        Stage::Plan => {
            let tasks = store.plan()?.tasks;
            for item in tasks.iter().filter(|task| task.is_top_level() && touched(&task.id)) {
                let _ = writeln!(out, "- {} {}", item.id, item.title);
            }
        }
        Stage::Coding | Stage::Check => {
            for line in facts.evidence.map(Evidence::lines).unwrap_or_default() {
                let _ = writeln!(out, "- {line}");
            }
        }
        Stage::Idea | Stage::Delivery => {}
    }
    if !facts.approval.trim().is_empty() {
        let said: String = facts.approval.trim().chars().take(MOST_SAID).collect();
        let _ = write!(out, "\nThe critic approved: {said}");
    }
    Ok(out)
}

/// What a task's commit says: what was to be done, when it is done, and the actor's own words.
pub fn task_body(task: &TaskItem, said: &str) -> String {
    let mut out = format!("{}\n", task.description.trim());
    if !task.feature.trim().is_empty() {
        let _ = writeln!(out, "\nPart of {}.", task.feature.trim());
    }
    let parts = task.parts.iter().map(|part| &part.criteria);
    let mut criteria = std::iter::once(&task.criteria).chain(parts).flatten().peekable();
    if criteria.peek().is_some() {
        out.push_str("\nDone when:\n");
    }
    for criterion in criteria {
        let _ = writeln!(out, "- {}", criterion.trim());
    }
    let said: String = said.trim().chars().take(MOST_SAID).collect();
    if !said.is_empty() {
        let _ = write!(out, "\n{said}");
    }
    out.trim().to_owned()
}

fn top_level(store: &Store<'_>) -> anyhow::Result<usize> {
    Ok(store.plan()?.tasks.iter().filter(|task| task.is_top_level()).count())
}

/// The first line of a document without Markdown's marks and without a label such as `Idea:`.
fn title_of(store: &Store<'_>, artifact: Artifact, fallback: &str) -> anyhow::Result<String> {
    let text = store.text(artifact)?.unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_start_matches(['#', ' ']).trim_matches(['*', '_', '`']);
    let line = ["Idea:", "Title:", "PR:"]
        .iter()
        .find_map(|label| line.strip_prefix(label))
        .unwrap_or(line)
        .trim();
    Ok(if line.is_empty() { fallback.to_owned() } else { line.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tasks_commit_says_what_and_when() {
        let part = TaskItem { criteria: vec!["it is locked".into()], ..TaskItem::default() };
        let task = TaskItem {
            description: "Keep todos in a file.".into(),
            feature: "FEAT-001 Adding".into(),
            criteria: vec!["the file exists".into()],
            parts: vec![part],
            ..TaskItem::default()
        };
        assert_eq!(
            task_body(&task, "It is kept now.\n"),
            "Keep todos in a file.\n\nPart of FEAT-001 Adding.\n\nDone when:\n- the file exists\n- it is locked\n\nIt is kept now."
        );
        assert_eq!(task_body(&TaskItem::default(), ""), "");
    }
}
