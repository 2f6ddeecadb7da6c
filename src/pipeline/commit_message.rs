//! The subjects and bodies of the commits of stages and tasks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::artifact::knowledge::take_proposals;
use crate::artifact::{Artifact, Files as _, IdKind, record_diff, records_of};
use crate::pipeline::change::scope;
use crate::pipeline::evidence::Evidence;
use crate::pipeline::files::project_files;
use crate::pipeline::prompts::TaskItem;
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::session::RefNames;
use crate::stages::{Approves, Changed, Facts, StageSpec};

/// Maximum characters of a model's words in a commit's body.
const MOST_SAID: usize = 600;

/// Precedes the actor's words in the body of a stage's commit.
const ACTOR_SAID: &str = "The actor said: ";

/// Separates a judge's role from its words.
const APPROVED: &str = " approved: ";

/// Precedes what the actor says about correcting what the checks found, or a reviewer.
const CORRECTED: &str = "Corrected: ";

/// The subject of a stage's commit.
pub(crate) fn summary_line(step: &Step<'_, '_>) -> anyhow::Result<String> {
    facts(step, step.spec.subject)
}

/// The body of a stage's commit: the names of the records that its subject counts, the actor's
/// words about the whole stage and about its corrections, and the words of those who approved it.
pub(crate) fn stage_body(step: &Step<'_, '_>) -> anyhow::Result<String> {
    let mut body = facts(step, step.spec.names)?;
    let mut add = |begin: &str, words: &str| {
        let words = in_short(words);
        if !words.is_empty() {
            let gap = if body.is_empty() { "" } else { "\n\n" };
            let _ = write!(body, "{gap}{begin}{words}");
        }
    };
    // What the actor says about each task is in the task's commit.
    let words = &step.draft.code_words;
    add(ACTOR_SAID, &take_proposals(words.whole()).0);
    words.corrections().for_each(|one| add(CORRECTED, &take_proposals(one).0));
    let approvals = &step.draft.approvals;
    for (judge, approval) in [("critic", &approvals.critic), ("challenger", &approvals.challenger)]
    {
        if let Some((_, words)) = approval {
            add(&format!("The {judge}{APPROVED}"), words);
        }
    }
    Ok(match dropped_imports(step.run, step.spec)? {
        Some(words) => format!("{body}\n\n{words}.").trim_start().to_owned(),
        None => body,
    })
}

/// The beginning of a model's words, cut at a word.
fn in_short(said: &str) -> String {
    let words = said.trim();
    match words.char_indices().nth(MOST_SAID) {
        Some((end, _)) => {
            let cut = &words[..end];
            let end = cut.rfind(char::is_whitespace).unwrap_or(end);
            format!("{}…", cut[..end].trim_end())
        }
        None => words.to_owned(),
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
    let mut corrections = Vec::new();
    let mut rest = body;
    while let Some(at) = begins(rest, CORRECTED) {
        rest = &rest[at + CORRECTED.len()..];
        corrections.push(until(rest, &[CORRECTED, &judges[0], &judges[1]]));
    }
    corrections
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

/// Maximum length of a title, in characters.
const IMPORTED_TITLE: usize = 60;

/// Names the imported records that the plan does not have any more; `None` if it has all.
///
/// # Errors
/// A file or git cannot be read.
pub(crate) fn dropped_imports(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Option<String>> {
    let Some(origin) = &run.session.file.origin else { return Ok(None) };
    let files = &run.files;
    if !spec.artifacts.contains(&Artifact::Plan) || files.read(Artifact::Plan)?.is_none() {
        return Ok(None);
    }
    let records = records_of(files)?;
    let kinds = [
        (IdKind::Requirement, origin.requirements),
        (IdKind::Feature, origin.features),
        (IdKind::Task, origin.tasks),
    ];
    let imports =
        kinds.into_iter().flat_map(|(kind, most)| (1..=most).map(move |n| kind.format(n)));
    let missing: Vec<String> = imports.filter(|id| !records.has(id)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let titles = titles(run, spec)?;
    let names = missing.iter().map(|id| match titles.get(id) {
        Some(title) => format!("{id} ({})", title.chars().take(IMPORTED_TITLE).collect::<String>()),
        None => id.clone(),
    });
    let names = names.collect::<Vec<_>>().join(", ");
    Ok(Some(format!("Not in the plan any more, imported from {}: {names}", origin.name)))
}

/// The titles of the imported records, from the oldest draft that has them.
fn titles(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<BTreeMap<String, String>> {
    let (git, session) = (run.env.git, &run.session);
    let newest = git.resolve(RefNames::draft(&session.name, spec.stage).as_str())?;
    let mut drafts = match &newest {
        Some(newest) => session.beside_tip(git, newest)?,
        None => Vec::new(),
    };
    drafts.extend(session.history.iter().rev().cloned());
    let mut titles = BTreeMap::new();
    for draft in drafts {
        let files = run.files_at(&draft.commit);
        let text = files.read(Artifact::Plan)?.unwrap_or_default();
        let headings =
            text.lines().filter_map(|line| line.trim_start_matches('#').trim().split_once(' '));
        let records = headings.filter(|(id, _)| IdKind::of_id(id).is_some());
        titles.extend(records.map(|(id, title)| (id.to_owned(), title.to_owned())));
    }
    Ok(titles)
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
