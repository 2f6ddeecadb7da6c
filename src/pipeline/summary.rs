//! The bodies of the commits of stages and tasks.

use std::fmt::Write as _;

use super::prompts::TaskItem;
use crate::stages::{Facts, StageSpec};

/// Characters of a model's words in a commit's body.
const MOST_SAID: usize = 600;

/// A few readable lines: the names behind the numbers, and what those who approved it said.
pub fn body(
    spec: &StageSpec,
    facts: &Facts<'_>,
    approvals: &[(&str, &str)],
) -> anyhow::Result<String> {
    let mut out = (spec.names)(facts)?;
    for (who, said) in approvals.iter().filter(|(_, said)| !said.trim().is_empty()) {
        let said: String = said.trim().chars().take(MOST_SAID).collect();
        let _ = write!(out, "\nThe {who} approved: {said}");
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

/// The actor's own words in the body of a task's commit.
pub fn said_in(body: &str) -> &str {
    let Some((_, rest)) = body.split_once("Done when:\n") else { return "" };
    let words = rest.split_once("\n\n").map_or("", |(_, words)| words);
    words.trim()
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
        assert_eq!(
            said_in(&task_body(&task, "It is kept now.\n\nRun it.")),
            "It is kept now.\n\nRun it."
        );
        assert_eq!(said_in(&task_body(&task, "")), "");
        assert_eq!(task_body(&TaskItem::default(), ""), "");
    }
}
