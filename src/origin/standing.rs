//! The surviving lines of a session: in files it changed, and in files later made from them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::line_source::{Certainty, LineSource, SourceKind};
use super::source::Origins;
use crate::git::{Git, Oid, TreeChangeKind};
use crate::session::{Session, code_changes, related_commits};

/// Maximum number of newer files to search for moved lines.
const MOVED_INTO: usize = 200;

/// Lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileLines {
    /// Path relative to the top of the working tree.
    pub path: String,
    /// First and last line of each block, counted from 1.
    pub lines: Vec<[usize; 2]>,
}

/// The surviving lines of a task.
#[derive(Clone, Debug, Default)]
pub struct TaskLines {
    /// The lines, by file.
    pub files: Vec<FileLines>,
    /// The commits of the lines.
    pub commits: Vec<String>,
    /// True if some lines were attributed only by the plan's list of files.
    pub by_plan: bool,
}

/// The surviving lines of a session at a commit.
#[derive(Clone, Debug, Default)]
pub struct SurvivingLines {
    /// By task id, as in the session's records.
    pub tasks: BTreeMap<String, TaskLines>,
    /// Lines that cannot be attributed to a single task.
    pub others: Vec<FileLines>,
    /// By task, the files in `others` that may contain lines of the task.
    pub shared: BTreeMap<String, BTreeSet<String>>,
    /// True if some lines come from before a shallow clone's history.
    pub is_cut: bool,
    /// Number of files not searched because there are too many.
    pub left_out: usize,
}

/// The surviving lines of a session and of its change requests, at the commit that `origins`
/// inspects.
///
/// # Errors
/// Git cannot be read.
pub fn surviving_lines(origins: &Origins<'_>, session: &Session) -> anyhow::Result<SurvivingLines> {
    let mut survivors = SurvivingLines::default();
    let at = origins.sessions.at.clone();
    let (paths, left_out) = files(origins.git(), session, &at)?;
    survivors.left_out = left_out;
    origins.blame_added(&at, &paths)?;
    for path in paths {
        for lines in origins.blamed_at(&at, &path)?.iter() {
            for (lines, source) in origins.sources(lines)? {
                survivors.add(&path, [lines.first, lines.last()], &source, session);
            }
        }
    }
    Ok(survivors)
}

impl SurvivingLines {
    fn add(&mut self, path: &str, lines: [usize; 2], source: &LineSource, session: &Session) {
        self.is_cut |= source.kind == SourceKind::Shallow;
        let folder = session.name.artifact_dir();
        let is_its =
            source.session.as_ref().is_some_and(|k| k.session.name.artifact_dir() == folder);
        if !is_its {
            return;
        }
        let task = source.tasks.first().filter(|_| source.certainty != Certainty::Session);
        let files = match task {
            Some(task) => {
                let task_lines = self.tasks.entry(task.clone()).or_default();
                task_lines.by_plan |= source.certainty == Certainty::Plan;
                let commit = source.commit.as_ref().map(|commit| commit.id.to_string());
                task_lines
                    .commits
                    .extend(commit.filter(|commit| !task_lines.commits.contains(commit)));
                &mut task_lines.files
            }
            None => {
                for task in &source.tasks {
                    self.shared.entry(task.clone()).or_default().insert(path.to_owned());
                }
                &mut self.others
            }
        };
        match files.last_mut().filter(|last| last.path == path) {
            Some(last) => match last.lines.last_mut().filter(|[_, end]| end + 1 == lines[0]) {
                Some([_, end]) => *end = lines[1],
                None => last.lines.push(lines),
            },
            None => files.push(FileLines { path: path.to_owned(), lines: vec![lines] }),
        }
    }
}

/// Number of lines.
pub fn count(files: &[FileLines]) -> usize {
    files.iter().flat_map(|file| &file.lines).map(|[first, last]| last - first + 1).sum()
}

/// The files that may contain lines of the session, sorted, and the number of files left out.
fn files(git: &Git, session: &Session, at: &Oid) -> anyhow::Result<(Vec<String>, usize)> {
    let reader = git.reader();
    let mut paths: BTreeSet<String> = code_changes(git, session, &session.tip)?.touched;
    let base: Vec<Oid> =
        session.file.base.commit.parse().ok().filter(|_| !session.is_patch()).into_iter().collect();
    // Include commits of change requests, and copies made by a squash or a rebase.
    for (_, commit) in related_commits(git, &session.name, at, &base)? {
        if let [parent] = &commit.parents[..] {
            let changes = reader.diff(Some(parent), &commit.id)?;
            paths.extend(changes.into_iter().map(|change| change.path));
        }
    }
    paths.retain(|path| !path.starts_with(".cowork/"));
    let mut present = present(git, at, &paths)?;
    let mut left_out = 0;
    if present.len() < paths.len() {
        // Missing files may have been renamed.
        let since = reader.diff(Some(&session.tip), at)?.into_iter();
        let paths = since.filter(|change| change.kind == TreeChangeKind::Added);
        let paths = paths.map(|change| change.path).filter(|path| !path.starts_with(".cowork/"));
        let paths: Vec<String> = paths.collect();
        left_out = paths.len().saturating_sub(MOVED_INTO);
        present.extend(paths.into_iter().take(MOVED_INTO));
    }
    Ok((present.into_iter().collect(), left_out))
}

/// The paths that are files in a commit.
fn present(git: &Git, at: &Oid, paths: &BTreeSet<String>) -> anyhow::Result<BTreeSet<String>> {
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    let entries = git.reader().entries(at, &names)?;
    let pairs = names.into_iter().zip(entries);
    let pairs = pairs.filter(|(_, entry)| entry.as_ref().is_some_and(|e| e.kind.is_blob()));
    Ok(pairs.map(|(path, _)| path.to_owned()).collect())
}
