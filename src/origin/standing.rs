//! Which lines of a session still stand: of the files it changed, and of those made since from them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::source::{Certainty, Origins, Source, SourceKind};
use crate::git::{Git, Oid, TreeChangeKind};
use crate::session::{Session, code_changes, related_commits};

/// Files that came after a session and are looked into for lines moved out of its own.
const MOVED_INTO: usize = 200;

/// Lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileLines {
    /// From the top of the working tree.
    pub path: String,
    /// First and last of successive lines, counted from 1.
    pub lines: Vec<[usize; 2]>,
}

/// What stands of a task.
#[derive(Clone, Debug, Default)]
pub struct OfTask {
    /// Where.
    pub files: Vec<FileLines>,
    /// The commits the lines came with.
    pub commits: Vec<String>,
    /// Some of them are told by the plan's list of files alone.
    pub by_plan: bool,
}

/// The lines of a session that stand at a commit.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// By task, as the session's records name them.
    pub tasks: BTreeMap<String, OfTask>,
    /// Those of no single task.
    pub others: Vec<FileLines>,
    /// By task, the files of these that may hold lines of it.
    pub shared: BTreeMap<String, BTreeSet<String>>,
    /// Some lines come from beyond the end of a shallow clone's history.
    pub is_cut: bool,
    /// Files that were not looked into, for there are too many of them.
    pub left_out: usize,
}

/// What stands of a session, and of the change requests on its records, at the commit that `origins`
/// looks at.
///
/// # Errors
/// Git cannot be read.
pub fn standing(origins: &Origins<'_>, session: &Session) -> anyhow::Result<Standing> {
    let mut found = Standing::default();
    let at = origins.sessions.at.clone();
    let (paths, left_out) = files(origins.git(), session, &at)?;
    found.left_out = left_out;
    for path in paths {
        for lines in origins.blamed_at(&at, &path)?.iter() {
            for (lines, source) in origins.of(lines)? {
                found.add(&path, [lines.first, lines.last()], &source, session);
            }
        }
    }
    Ok(found)
}

impl Standing {
    fn add(&mut self, path: &str, lines: [usize; 2], source: &Source, session: &Session) {
        self.is_cut |= source.kind == SourceKind::Shallow;
        let folder = session.name.artifact_dir();
        let is_its = source.known.as_ref().is_some_and(|k| k.session.name.artifact_dir() == folder);
        if !is_its {
            return;
        }
        let task = source.tasks.first().filter(|_| source.certainty != Certainty::Session);
        let files = match task {
            Some(task) => {
                let of = self.tasks.entry(task.clone()).or_default();
                of.by_plan |= source.certainty == Certainty::Plan;
                let commit = source.commit.as_ref().map(|commit| commit.id.to_string());
                of.commits.extend(commit.filter(|commit| !of.commits.contains(commit)));
                &mut of.files
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

/// How many lines these are.
pub fn count(files: &[FileLines]) -> usize {
    files.iter().flat_map(|file| &file.lines).map(|[first, last]| last - first + 1).sum()
}

/// The files that may hold lines of the session, sorted, and how many others were left out.
fn files(git: &Git, session: &Session, at: &Oid) -> anyhow::Result<(Vec<String>, usize)> {
    let reader = git.reader();
    let mut paths: BTreeSet<String> = code_changes(git, session, &session.tip)?.touched;
    let base: Vec<Oid> =
        session.file.base.commit.parse().ok().filter(|_| !session.is_patch()).into_iter().collect();
    // Change requests, and copies that a squash or a rebase has made.
    for (_, commit) in related_commits(git, &session.name, at, &base)? {
        if let [parent] = &commit.parents[..] {
            let changed = reader.diff(Some(parent), &commit.id)?;
            paths.extend(changed.into_iter().map(|change| change.path));
        }
    }
    paths.retain(|path| !path.starts_with(".cowork/"));
    let mut present = present(git, at, &paths)?;
    let mut left_out = 0;
    if present.len() < paths.len() {
        // What is gone may be in a file of another name.
        let since = reader.diff(Some(&session.tip), at)?.into_iter();
        let added = since.filter(|change| change.kind == TreeChangeKind::Added);
        let added = added.map(|change| change.path).filter(|path| !path.starts_with(".cowork/"));
        let added: Vec<String> = added.collect();
        left_out = added.len().saturating_sub(MOVED_INTO);
        present.extend(added.into_iter().take(MOVED_INTO));
    }
    Ok((present.into_iter().collect(), left_out))
}

/// Those of the paths that are files of a commit.
fn present(git: &Git, at: &Oid, paths: &BTreeSet<String>) -> anyhow::Result<BTreeSet<String>> {
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    let entries = git.reader().entries(at, &names)?;
    let found = names.into_iter().zip(entries);
    let found = found.filter(|(_, entry)| entry.as_ref().is_some_and(|e| e.kind.is_blob()));
    Ok(found.map(|(path, _)| path.to_owned()).collect())
}
