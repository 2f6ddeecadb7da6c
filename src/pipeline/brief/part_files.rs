//! The task of a part as its brief contains it, and the files that a part works on: how the project
//! wants work on them done, and their text as it is now.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::artifact::{Component, Feature, Task};
use crate::codebase::{self, FileNames, Map};
use crate::git;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::repository::Files;
use crate::pipeline::brief::sections::{instruction_sections, section};
use crate::pipeline::files::instructions::{Instructions, instructions};
use crate::pipeline::files::project_files;
use crate::pipeline::prompts::TaskItem;
use crate::pipeline::run::Run;

/// Maximum bytes of one file of a task, and of all of them.
const TASK_FILE: usize = 8_000;
const TASK_FILES: usize = 24_000;
/// Maximum bytes of the map of neighbouring files.
const BESIDE: usize = 2_500;
/// Maximum number of neighbouring files that are read.
const BESIDE_FILES: usize = 200;

/// What the model knows about a task's files already.
pub(crate) struct Known<'a> {
    /// True for the path and text of a file that it has seen.
    pub files: &'a dyn Fn(&str, &str) -> bool,
    /// Whether the neighbouring files are to be described.
    pub beside: bool,
}

/// The files a task names, as they are now, and the definitions in neighbouring files: the actor
/// need not start by reading.
fn task_files(run: &Run<'_>, task: &Task, known: &Known<'_>) -> anyhow::Result<String> {
    let plan = run.store().plan()?;
    let mut words = String::new();
    for part in plan.with_sub_tasks(&task.id) {
        let _ = write!(words, " {} {}", part.description, part.acceptance_criteria.join(" "));
    }
    let mut all_paths = git::paths::tracked(run.env.git)?;
    all_paths.retain(|path| !run.env.workspace.private().has(path));
    let names = FileNames::in_text(&words);
    let mut paths: Vec<&str> = plan.files_of(&task.id).collect();
    paths.extend(all_paths.iter().map(String::as_str).filter(|path| names.has(path)));
    let (mut out, shown) = file_sections(run, paths, known.files)?;
    if !known.beside {
        return Ok(out);
    }
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(at, _)| at.to_owned());
    let folders: BTreeSet<String> = plan.files_of(&task.id).map(folder).collect();
    let neighbours = all_paths.iter().filter(|path| {
        !path.starts_with(".cowork/")
            && !shown.contains(path.as_str())
            && folders.contains(&folder(path))
    });
    let neighbours: Vec<&String> = neighbours.take(BESIDE_FILES).collect();
    let source = Files {
        git: run.env.git,
        files: git::files::at(run.env.git, &run.session.tip, &neighbours)?,
    };
    let map = Map { source: &source, cache: None, about: &words, shown: &[] };
    let symbols = codebase::symbols(&map, BESIDE, 0)?.most_used;
    out += &section("Definitions in neighbouring files (LINE: signature)", &symbols, BESIDE);
    Ok(out)
}

/// The files of the session's code, for an actor that corrects it: those that the feedback names
/// first, then all others that the session changed.
fn files_to_correct(run: &Run<'_>, feedback: &str) -> anyhow::Result<Vec<String>> {
    let names = FileNames::in_text(feedback);
    let mut session_paths = run.env.workspace.written().paths();
    session_paths.extend(project_files::code_since_start(run, &run.session.tip)?);
    let (mut paths, rest): (Vec<_>, Vec<_>) =
        session_paths.into_iter().partition(|path| names.has(path));
    let all_paths = git::paths::tracked(run.env.git)?;
    paths.extend(all_paths.into_iter().filter(|path| names.has(path)));
    paths.extend(rest);
    paths.retain(|path| !path.starts_with(".cowork/") && !run.env.workspace.private().has(path));
    Ok(paths)
}

/// The sections of files as they are now, while there is room, and the paths whose text the model
/// has then seen.
fn file_sections<'a>(
    run: &Run<'_>,
    paths: impl IntoIterator<Item = &'a str>,
    is_seen: &dyn Fn(&str, &str) -> bool,
) -> anyhow::Result<(String, BTreeSet<&'a str>)> {
    let (mut out, mut seen) = (String::new(), BTreeSet::new());
    for path in paths {
        let text = run.env.workspace.head(path, TASK_FILE);
        if is_seen(path, &text) {
            seen.insert(path);
        } else if !text.trim().is_empty() && out.len() < TASK_FILES && seen.insert(path) {
            // A draft that was refused because it contains a key is still in the working tree.
            let content = match run.env.workspace.secrets().find(text.as_bytes(), 1)?.is_empty() {
                true => text.as_str(),
                false => "(not shown: it holds what looks like a key)",
            };
            out += &section(&format!("{path} (as it is now)"), content, TASK_FILE);
        }
    }
    Ok((out, seen))
}

/// The files that a part works on: those of its task, those that feedback on the code is about, or
/// those that the triage of a change without a plan named.
pub(crate) fn paths_of(run: &Run<'_>, part: &Part<'_>) -> anyhow::Result<Vec<String>> {
    let store = run.store();
    Ok(match part.task {
        Some(task) => store.plan()?.files_of(&task.id).map(str::to_owned).collect(),
        None if part.corrects_code() => files_to_correct(run, &part.feedback())?,
        None if part.spec.writes_code() => {
            store.change_request()?.map(|change| change.affected_files).unwrap_or_default()
        }
        None => Vec::new(),
    })
}

/// How the project wants work on these files done, as far as `is_told` does not know it, and the
/// files themselves as they are now.
pub(crate) fn part_files(
    run: &Run<'_>,
    part: &Part<'_>,
    paths: &[String],
    is_told: &dyn Fn(&Instructions) -> bool,
    known: &Known<'_>,
) -> anyhow::Result<String> {
    let all = instructions(run, paths.iter().map(String::as_str));
    let out = instruction_sections(run, &all, |one| !is_told(one));
    Ok(out
        + &match part.task {
            Some(task) => task_files(run, task, known)?,
            None => file_sections(run, paths.iter().map(String::as_str), known.files)?.0,
        })
}

/// Maximum bytes of a list of files.
const TOLD: usize = 2_500;

/// A top-level task with its sub-tasks. This is all that its actor sees of the sub-tasks, whose
/// files and criteria are as binding as the task's.
pub(crate) fn task_item(run: &Run<'_>, task: &Task) -> anyhow::Result<TaskItem> {
    let store = run.store();
    let plan = store.plan()?;
    let names =
        Names { features: store.features()?.features, components: store.design()?.components };
    let mut item = names.item(task);
    let mut parts: Vec<&Task> =
        plan.with_sub_tasks(&task.id).filter(|part| part.id != task.id).collect();
    parts.sort_by_cached_key(|part| numbers(&part.id));
    item.parts = parts.into_iter().map(|part| names.item(part)).collect();
    Ok(item)
}

/// Resolves ids to names.
struct Names {
    features: Vec<Feature>,
    components: Vec<Component>,
}

impl Names {
    fn item(&self, task: &Task) -> TaskItem {
        let feature = self.features.iter().find(|feature| feature.id == task.feature_id);
        let component = self.components.iter().find(|c| c.id == task.component_id);
        let label = |id: &str, name: Option<&str>| match name {
            _ if id.is_empty() => String::new(),
            Some(name) => format!("{id} {name}"),
            None => format!("{id} (removed)"),
        };
        TaskItem {
            id: task.id.clone(),
            title: task.title.clone(),
            description: task.description.clone(),
            feature: label(&task.feature_id, feature.map(|feature| feature.name.as_str())),
            component: label(&task.component_id, component.map(|c| c.name.as_str())),
            files: task.creates().map(str::to_owned).collect(),
            changes: task.changes().map(str::to_owned).collect(),
            criteria: task.acceptance_criteria.clone(),
            parts: Vec::new(),
        }
    }
}

/// `TASK-001.2` comes before `TASK-001.10`, and after its task.
fn numbers(id: &str) -> Vec<u32> {
    id.split('.').skip(1).map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

/// The uncommitted files when a task starts, written in an earlier task's conversation or in a
/// conversation that was cut off.
pub(crate) fn written_before(run: &Run<'_>, task: Option<&Task>) -> anyhow::Result<String> {
    let Some(task) = task else { return Ok(String::new()) };
    let others = project_files::left_to_others(run, task)?;
    let mut paths = project_files::uncommitted_code(run)?;
    paths.retain(|path| !others.contains_key(path));
    let title = "Files already written that will be part of this task's commit";
    Ok(section(title, &paths.join("\n"), TOLD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_tasks_are_listed_in_numeric_order() {
        let mut ids = ["TASK-001.10", "TASK-001.2.1", "TASK-001.1", "TASK-001.2"];
        ids.sort_by_cached_key(|id| numbers(id));
        assert_eq!(ids, ["TASK-001.1", "TASK-001.2", "TASK-001.2.1", "TASK-001.10"]);
    }
}
