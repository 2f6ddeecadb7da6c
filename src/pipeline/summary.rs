//! The bodies of the commits of stages and tasks.

use std::fmt::Write as _;

use super::prompts::TaskItem;
use crate::stages::{Facts, StageSpec};

/// Maximum characters of a model's words in a commit's body.
const MOST_SAID: usize = 600;

/// Precedes the actor's words in the body of a stage's commit.
const ACTOR_SAID: &str = "The actor said: ";

/// Separates a judge's role from its words.
const APPROVED: &str = " approved: ";

/// The body of a stage's commit: the names of the records that its subject counts, the actor's
/// words about the whole stage, and the words of those who approved it.
pub fn body(
    spec: &StageSpec,
    facts: &Facts<'_>,
    approvals: &[(&str, &str)],
    actor: &str,
) -> anyhow::Result<String> {
    let mut out = (spec.names)(facts)?;
    let actor: String = actor.trim().chars().take(MOST_SAID).collect();
    if !actor.is_empty() {
        let _ = write!(out, "\n{ACTOR_SAID}{actor}");
    }
    for (who, said) in approvals.iter().filter(|(_, said)| !said.trim().is_empty()) {
        let said: String = said.trim().chars().take(MOST_SAID).collect();
        let _ = write!(out, "\nThe {who}{APPROVED}{said}");
    }
    Ok(out)
}

/// The body of a task's commit: its description, its criteria, and the actor's words.
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

/// The actor's words in the body of a task's commit.
pub fn said_in(body: &str) -> &str {
    let Some((_, rest)) = body.split_once("Done when:\n") else { return "" };
    let words = rest.split_once("\n\n").map_or("", |(_, words)| words);
    words.trim()
}

/// The actor's words in the body of a stage's commit, with its line breaks.
pub fn said_of_the_whole(body: &str) -> &str {
    let Some((_, words)) = body.split_once(ACTOR_SAID) else { return "" };
    let others = ["critic", "challenger"].map(|who| words.find(&format!("\nThe {who}{APPROVED}")));
    let end = others.into_iter().flatten().min().unwrap_or(words.len());
    words[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_actors_words_are_found_before_those_of_the_judges() {
        let body =
            "- make test passed\nThe actor said: It is\nquick now.\nThe critic approved: Fine.";
        assert_eq!(said_of_the_whole(body), "It is\nquick now.");
        assert_eq!(
            said_of_the_whole("The actor said: Quick.\nThe challenger approved: x"),
            "Quick."
        );
        assert_eq!(said_of_the_whole("- make test passed\nThe critic approved: Fine."), "");
    }

    #[test]
    fn a_tasks_commit_contains_description_and_criteria() {
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
