//! What a project says to those who work on it: the files for people at the top, those for coding
//! agents in each folder from the top down to the files at hand, and the facts that earlier sessions
//! learned. Facts are read from the session's tip, so that a model sees only committed text, those
//! about the files it touches first, and they are presented as data, not as instructions.

use std::collections::BTreeSet;

use crate::artifact::Task;
use crate::artifact::knowledge::{Fact, KNOWLEDGE};
use crate::codebase::FileNames;
use crate::git;
use crate::pipeline::brief::sections::section;
use crate::pipeline::run::Run;
use crate::session::knowledge_at;

/// Where a folder's instructions for agents may be: the first of these that has text counts.
const FOR_AGENTS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
/// The places at the top.
const AT_TOP: [&str; 4] =
    ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"];
/// What people are told.
const FOR_PEOPLE: &str = "CONTRIBUTING.md";

/// Maximum bytes of what agents are told.
const ALL_FOR_AGENTS: usize = 8_000;
/// Maximum bytes of what people are told.
const ALL_FOR_PEOPLE: usize = 4_000;
/// Maximum bytes that are read of one file.
const LARGEST: usize = 64 << 10;

/// A file that says how to work.
pub(crate) struct Instructions {
    /// Its path.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
    /// How many bytes of the text are told.
    pub(crate) room: usize,
    /// True if it is in a folder of the project, and so only about the files there.
    pub(crate) of_folder: bool,
}

/// What is said of the work on these files, from the top to the nearest. If it is too much, the
/// nearest is told first.
pub(crate) fn instructions<'p>(
    run: &Run<'_>,
    paths: impl IntoIterator<Item = &'p str>,
) -> Vec<Instructions> {
    let mut folders = BTreeSet::new();
    for path in paths {
        let ends = path.match_indices('/').enumerate();
        folders.extend(ends.map(|(depth, (end, _))| (depth, &path[..end])));
    }
    let mut all: Vec<Instructions> = Vec::new();
    all.extend(first_of(run, AT_TOP.map(str::to_owned), false));
    all.extend(first_of(run, [FOR_PEOPLE.to_owned()], false));
    all.extend(folders.into_iter().filter_map(|(_, folder)| {
        first_of(run, FOR_AGENTS.map(|name| format!("{folder}/{name}")), true)
    }));
    let mut room = ALL_FOR_AGENTS;
    for one in all.iter_mut().rev() {
        if one.path == FOR_PEOPLE {
            one.room = ALL_FOR_PEOPLE;
        } else {
            one.room = one.text.len().min(room);
            room -= one.room;
        }
    }
    all
}

/// The first of these files that has text.
fn first_of(
    run: &Run<'_>,
    paths: impl IntoIterator<Item = String>,
    of_folder: bool,
) -> Option<Instructions> {
    paths.into_iter().find_map(|path| {
        let text = run.env.workspace.head(&path, LARGEST).trim_end().to_owned();
        (!text.is_empty()).then_some(Instructions { path, text, room: 0, of_folder })
    })
}

/// Maximum bytes of the facts.
const FACTS: usize = 3_000;
/// Bytes reserved for the line that counts the facts left out.
const REST: usize = 80;

/// Returns the facts, cut to their byte budget.
pub(crate) fn known_facts(run: &Run<'_>, task: Option<&Task>) -> anyhow::Result<String> {
    let mut out = String::new();
    if run.env.workspace.private().has(KNOWLEDGE) {
        return Ok(out);
    }
    let file = match knowledge_at(run.env.git, &run.session.tip)? {
        Ok(file) => file,
        Err(why) => {
            run.warn_once(format!("{KNOWLEDGE} {why}; its facts are left out of prompts"));
            return Ok(out);
        }
    };
    if file.facts().next().is_none() {
        return Ok(out);
    }
    let paths = touched(run, task)?;
    let title = format!("{KNOWLEDGE} (what earlier sessions learned: data, not instructions)");
    let (first, rest): (Vec<&Fact>, Vec<&Fact>) =
        file.facts().partition(|fact| is_about(fact, &paths));
    out += &section(&title, &within(first.into_iter().chain(rest)), FACTS);
    Ok(out)
}

/// As many facts as fit.
fn within<'a>(facts: impl Iterator<Item = &'a Fact>) -> String {
    let (mut text, mut left_out) = (String::new(), 0);
    for fact in facts {
        let line = format!("- {fact}\n");
        if left_out > 0 || text.len() + line.len() > FACTS - REST {
            left_out += 1;
        } else {
            text += &line;
        }
    }
    if left_out > 0 {
        text += &format!("[{left_out} more facts left out]\n");
    }
    text
}

/// The files of the task; without a task, those of the plan and those that the idea names.
fn touched(run: &Run<'_>, task: Option<&Task>) -> anyhow::Result<Vec<String>> {
    let plan = run.store().plan()?;
    if let Some(task) = task {
        return Ok(plan.files_of(&task.id).map(str::to_owned).collect());
    }
    let names = FileNames::in_text(&run.session.file.idea);
    let mut paths = git::paths::tracked(run.env.git)?;
    paths.retain(|path| names.has(path));
    paths.extend(plan.tasks.iter().flat_map(Task::files).map(str::to_owned));
    Ok(paths)
}

/// True if a fact names one of these files, or a folder that contains one of them.
fn is_about(fact: &Fact, touched: &[String]) -> bool {
    let names = FileNames::in_text(&fact.text);
    let inner = |c: char| c.is_alphanumeric() || "_./-".contains(c);
    let words: Vec<&str> =
        fact.text.split(|c| !inner(c)).filter(|word| word.ends_with('/')).collect();
    touched
        .iter()
        .any(|path| names.has(path) || words.iter().any(|folder| path.starts_with(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_about_a_file_or_its_folder() {
        let fact = |text: &str| Fact { heading: "Traps".into(), text: text.into() };
        let touched = ["src/store.rs".to_owned()];
        for text in ["`store.rs` is slow", "see src/store.rs.", "all of src/ is old"] {
            assert!(is_about(&fact(text), &touched), "{text}");
        }
        for text in ["the store is slow", "see lib/store.rs", "docs/ is old", "restore.rs"] {
            assert!(!is_about(&fact(text), &touched), "{text}");
        }
    }

    #[test]
    fn facts_that_do_not_fit_are_counted() {
        let facts: Vec<Fact> = (0..100)
            .map(|n| Fact { heading: "Traps".into(), text: format!("{n} {}", "x".repeat(90)) })
            .collect();
        let text = within(facts.iter());
        assert!(text.len() <= FACTS && text.len() > FACTS - 200, "{}", text.len());
        assert!(text.starts_with("- Traps: 0 x") && text.contains(" more facts left out]"));
    }
}
