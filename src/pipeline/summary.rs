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

/// Precedes what the actor says about correcting what the checks found, or a reviewer.
const CORRECTED: &str = "Corrected: ";

/// The body of a stage's commit: the names of the records that its subject counts, the actor's
/// words about the whole stage and about its corrections, and the words of those who approved it.
pub fn body(
    spec: &StageSpec,
    facts: &Facts<'_>,
    approvals: &[(&str, &str)],
    actor: &str,
    corrections: &[String],
) -> anyhow::Result<String> {
    let mut out = (spec.names)(facts)?;
    let mut add = |begin: &str, said: &str| {
        let said = in_short(said);
        if !said.is_empty() {
            let gap = if out.is_empty() { "" } else { "\n\n" };
            let _ = write!(out, "{gap}{begin}{said}");
        }
    };
    add(ACTOR_SAID, actor);
    corrections.iter().for_each(|said| add(CORRECTED, said));
    for (who, said) in approvals {
        add(&format!("The {who}{APPROVED}"), said);
    }
    Ok(out)
}

/// The beginning of a model's words, cut at a word.
fn in_short(said: &str) -> String {
    let said = said.trim();
    match said.char_indices().nth(MOST_SAID) {
        Some((end, _)) => {
            let cut = &said[..end];
            let end = cut.rfind(char::is_whitespace).unwrap_or(end);
            format!("{}…", cut[..end].trim_end())
        }
        None => said.to_owned(),
    }
}

/// The body of a task's commit: its description, its criteria, and the actor's words about the task
/// and about what it corrected after a failed check.
pub fn task_body(task: &TaskItem, said: &str, corrected: &str) -> String {
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
    for (begin, said) in [("", said), (CORRECTED, corrected)] {
        if !said.trim().is_empty() {
            let _ = write!(out, "\n{begin}{}\n", in_short(said));
        }
    }
    out.trim().to_owned()
}

/// The actor's words in the body of a task's commit.
pub fn said_in(body: &str) -> &str {
    let Some((_, rest)) = body.split_once("Done when:\n") else { return "" };
    let words = rest.split_once("\n\n").map_or("", |(_, words)| words);
    until(words, &[CORRECTED])
}

/// The actor's words in the body of a stage's commit, with its line breaks.
pub fn said_of_the_whole(body: &str) -> &str {
    let Some((_, words)) = body.split_once(ACTOR_SAID) else { return "" };
    let judges = ["critic", "challenger"].map(|who| format!("The {who}{APPROVED}"));
    until(words, &[CORRECTED, &judges[0], &judges[1]])
}

/// What the actor says about its corrections in the body of a commit.
pub fn corrections_in(body: &str) -> Vec<&str> {
    let judges = ["critic", "challenger"].map(|who| format!("The {who}{APPROVED}"));
    let mut found = Vec::new();
    let mut rest = body;
    while let Some(at) = begins(rest, CORRECTED) {
        rest = &rest[at + CORRECTED.len()..];
        found.push(until(rest, &[CORRECTED, &judges[0], &judges[1]]));
    }
    found
}

/// The text before the first line that begins with one of these words.
fn until<'t>(text: &'t str, words: &[&str]) -> &'t str {
    let end = words.iter().filter_map(|word| begins(text, word)).min().unwrap_or(text.len());
    text[..end].trim()
}

/// Where a line of a text begins with this word.
fn begins(text: &str, word: &str) -> Option<usize> {
    match text.starts_with(word) {
        true => Some(0),
        false => text.find(&format!("\n{word}")).map(|at| at + 1),
    }
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
        let body = "The actor said: Quick.\n\nCorrected: One.\n\nCorrected: Two.\n\nThe critic approved: x";
        assert_eq!(said_of_the_whole(body), "Quick.");
        assert_eq!(corrections_in(body), ["One.", "Two."]);
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
            task_body(&task, "It is kept now.\n", ""),
            "Keep todos in a file.\n\nPart of FEAT-001 Adding.\n\nDone when:\n- the file exists\n- it is locked\n\nIt is kept now."
        );
        assert_eq!(
            said_in(&task_body(&task, "It is kept now.\n\nRun it.", "")),
            "It is kept now.\n\nRun it."
        );
        let corrected = task_body(&task, "It is kept.", "The missing `?` is there now.");
        assert_eq!(said_in(&corrected), "It is kept.");
        assert_eq!(corrections_in(&corrected), ["The missing `?` is there now."]);
        let alone = task_body(&task, "", "The missing `?` is there now.");
        assert_eq!((said_in(&alone), corrections_in(&alone).len()), ("", 1));
        assert_eq!(said_in(&task_body(&task, "", "")), "");
        assert_eq!(task_body(&TaskItem::default(), "", ""), "");
    }
}
