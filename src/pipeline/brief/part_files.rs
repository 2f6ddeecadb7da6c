//! The files that a part works on, for its prompt: how the project wants work on them done, and
//! their text as it is now.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::artifact::{Store, Task};
use crate::codebase::{self, FileNames, Map};
use crate::git;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::sections::section;
use crate::pipeline::brief::sources::Files;
use crate::pipeline::files::instructions::{Instructions, instructions};
use crate::pipeline::files::project_files;
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
    let files = run.files();
    let plan = Store::new(&files).plan()?;
    let mut words = String::new();
    for part in plan.with_sub_tasks(&task.id) {
        let _ = write!(words, " {} {}", part.description, part.acceptance_criteria.join(" "));
    }
    let mut tracked = git::paths::tracked(run.env.git)?;
    tracked.retain(|path| !run.env.workspace.private().has(path));
    let said = FileNames::in_text(&words);
    let mut paths: Vec<&str> = plan.files_of(&task.id).collect();
    paths.extend(tracked.iter().map(String::as_str).filter(|path| said.has(path)));
    let (mut out, shown) = file_sections(run, paths, known.files)?;
    if !known.beside {
        return Ok(out);
    }
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(at, _)| at.to_owned());
    let folders: BTreeSet<String> = plan.files_of(&task.id).map(folder).collect();
    let beside = tracked.iter().filter(|path| {
        !path.starts_with(".cowork/")
            && !shown.contains(path.as_str())
            && folders.contains(&folder(path))
    });
    let beside: Vec<&String> = beside.take(BESIDE_FILES).collect();
    let source =
        Files { git: run.env.git, files: git::files::at(run.env.git, &run.session.tip, &beside)? };
    let map = Map { source: &source, cache: None, about: &words, shown: &[] };
    let symbols = codebase::symbols(&map, BESIDE, 0)?.most_used;
    section(&mut out, "Definitions in neighbouring files (LINE: signature)", &symbols, BESIDE);
    Ok(out)
}

/// The files of the session's code, for an actor that corrects it: those that the feedback names
/// first, then all others that the session changed.
fn files_to_correct(run: &Run<'_>, feedback: &str) -> anyhow::Result<Vec<String>> {
    let said = FileNames::in_text(feedback);
    let mut own = run.env.workspace.written().paths();
    own.extend(project_files::code_since_start(run, &run.session.tip)?);
    let (mut paths, rest): (Vec<_>, Vec<_>) = own.into_iter().partition(|path| said.has(path));
    let tracked = git::paths::tracked(run.env.git)?;
    paths.extend(tracked.into_iter().filter(|path| said.has(path)));
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
            let shown = match run.env.workspace.secrets().find(text.as_bytes(), 1)?.is_empty() {
                true => text.as_str(),
                false => "(not shown: it holds what looks like a key)",
            };
            section(&mut out, &format!("{path} (as it is now)"), shown, TASK_FILE);
        }
    }
    Ok((out, seen))
}

/// Sections of the files that say how to work, those that `is_told` selects. The user is told once
/// which ones are read.
pub(super) fn instruction_sections(
    run: &Run<'_>,
    all: &[Instructions],
    is_told: impl Fn(&Instructions) -> bool,
) -> String {
    let mut out = String::new();
    let told: Vec<&Instructions> = all.iter().filter(|one| is_told(one)).collect();
    told.iter().for_each(|one| section(&mut out, &one.path, &one.text, one.room));
    let names: Vec<&str> = told.iter().map(|one| one.path.as_str()).collect();
    if !names.is_empty() {
        run.note_once(format!("instructions read: {}", names.join(", ")));
    }
    out
}

/// The files that a part works on: those of its task, those that feedback on the code is about, or
/// those that the triage of a change without a plan named.
pub(crate) fn paths_of(run: &Run<'_>, part: &Part<'_>) -> anyhow::Result<Vec<String>> {
    let files = run.files();
    let store = Store::new(&files);
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
