//! The project's files at the start of a session and in a commit or tree: what the session has
//! changed outside `.cowork`, and which files named by its tasks exist.
//!
//! Also the files that one commit changed, with line counts, and a repository among the changed
//! files in which git would run a program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Result;

use super::{Kind, Session, adopted, key};
use crate::artifact::check::CodeChanges;
use crate::artifact::{Plan, Task};
use crate::git::embedded::{Embedded, with_a_program};
use crate::git::{self, Commit, Git, Object, Oid, Reader, TreeChange};
use crate::line_count::changed_lines;
use crate::sha256::sha256;
use crate::stages::TaskFiles;

/// The files that checks ask about.
#[derive(Debug)]
pub struct ProjectFiles {
    git: Git,
    /// Paths that tasks name and that exist now.
    now: BTreeSet<String>,
    /// Paths that tasks name and that existed at the start; `None` if a squash removed that
    /// information.
    at_start: Option<BTreeSet<String>>,
    /// The changes made by the session.
    pub code: CodeChanges,
}

impl ProjectFiles {
    /// Reads the files in a commit or tree of the session.
    ///
    /// # Errors
    /// Git cannot be read.
    pub fn at(git: &Git, session: &Session, tree: &Oid, plan: &Plan) -> Result<Self> {
        let named: Vec<&str> = plan.tasks.iter().flat_map(Task::files).collect();
        let at_start = start_of_code(git, session)
            .map(|start| git::snapshot::existing(git, &start, &named))
            .transpose()?;
        Ok(Self {
            git: git.clone(),
            now: git::snapshot::existing(git, tree, &named)?,
            at_start,
            code: code_changes(git, session, tree)?,
        })
    }

    /// True if a path exists now.
    pub fn exist(&self, path: &str) -> bool {
        self.now.contains(path)
    }

    /// True if a path exists or existed, so that a task may name it.
    pub fn known(&self, path: &str) -> bool {
        self.exist(path)
            || self.code.touches(path)
            || self.at_start.as_ref().is_none_or(|found| found.contains(path))
    }
}

/// The commit a session started from. After a squash the first remaining commit may already contain
/// code. `None` if this cannot be determined (a shallow clone, or a squash without trailers).
pub(crate) fn start_of_code(git: &Git, session: &Session) -> Option<Oid> {
    let first = session.history.first()?;
    if session.file.is_adopted() {
        let base = session.file.base.commit.parse().ok();
        let oldest = adopted(git, session).ok()?.pop().map(|(_, commit)| commit);
        let as_recorded =
            |commit: &Commit| session.file.adopted().any(|(_, id)| id == commit.id.as_str());
        // A rebase also moves the parent of the oldest adopted commit.
        let moved = oldest.filter(|commit| !as_recorded(commit));
        return moved.and_then(|commit| commit.parents.into_iter().next()).or(base);
    }
    if session.from_files().is_some() {
        // Commits that lost their trailers belong to the session as well.
        let base: Oid = session.file.base.commit.parse().ok()?;
        return git::refs::is_ancestor(git, &base, &first.commit).ok()?.then_some(base);
    }
    let begins = (first.kind == Kind::Start).then_some(&first.commit);
    first.parents.first().or(begins).cloned()
}

/// Paths outside `.cowork` that the session changed between its start and a commit or tree. Changes
/// that came in with a merge of other work do not count.
pub(crate) fn code_since_start(git: &Git, session: &Session, commit: &Oid) -> Result<Vec<String>> {
    let tip = &session.tip;
    let first = session.history.first().map_or(tip, |entry| &entry.commit);
    let start = &start_of_code(git, session).unwrap_or_else(|| first.clone());
    let mut paths = code(git::paths::changed(git, start, commit)?);
    let since = git.reader().walk(std::slice::from_ref(tip), std::slice::from_ref(start))?;
    if paths.is_empty() || since.iter().all(|commit| commit.parents.len() < 2) {
        return Ok(paths);
    }
    let mut ours: BTreeSet<String> = git::paths::changed(git, tip, commit)?.into_iter().collect();
    let recorded = session.history.iter().map(|entry| (&entry.commit, &entry.parents));
    // A person's own commits on the branch belong to the session as well.
    let mut on_branch = Vec::new();
    let mut at = Some(tip);
    while let Some(found) = at.and_then(|id| since.iter().find(|commit| commit.id == *id)) {
        on_branch.push((&found.id, &found.parents));
        at = found.parents.first();
    }
    let adopted = match session.file.is_adopted() {
        true => adopted(git, session)?,
        false => Vec::new(),
    };
    let adopted = adopted.iter().map(|(_, commit)| (&commit.id, &commit.parents));
    for (id, parents) in recorded.chain(on_branch).chain(adopted) {
        if let [parent] = &parents[..] {
            ours.extend(git::paths::changed(git, parent, id)?);
        }
    }
    paths.retain(|path| ours.contains(path));
    Ok(paths)
}

/// A digest of the files outside `.cowork` that the session has changed up to a commit or tree, and
/// of their contents. A rebase that changes none of these files leaves the digest as it is.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn code_digest(git: &Git, session: &Session, tree: &Oid) -> Result<String> {
    let mut paths = code_since_start(git, session, tree)?;
    paths.sort();
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut listed = String::new();
    for (path, entry) in names.iter().zip(git.reader().entries(tree, &names)?) {
        let what =
            entry.map_or_else(String::new, |found| format!("{:?} {}", found.kind, found.oid));
        // A name may contain a line break; NUL ends an entry.
        let _ = write!(listed, "{what} {path}\0");
    }
    Ok(sha256(listed.as_bytes()).chars().take(40).collect())
}

/// The changes made by the session's commits, up to a commit or tree.
///
/// # Errors
/// Git fails.
pub fn code_changes(git: &Git, session: &Session, tree: &Oid) -> Result<CodeChanges> {
    code_changes_with(git, session, tree, &committed_code(git, session)?)
}

/// What the commits of a session changed outside `.cowork`.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommittedCode {
    /// The tasks whose own commit changed code, or says why none was needed.
    tasks: BTreeSet<String>,
    /// The paths.
    touched: BTreeSet<String>,
}

/// Reads the [`CommittedCode`] of all commits of the session.
pub(crate) fn committed_code(git: &Git, session: &Session) -> Result<CommittedCode> {
    let (reader, mut code_of) = (git.reader(), CommittedCode::default());
    for entry in &session.history {
        let [parent] = &entry.parents[..] else { continue };
        let changed = reader.diff(Some(parent), &entry.commit)?.into_iter();
        let files = code(changed.map(|change| change.path).collect());
        let explained = entry.trailers.get(key::REASON).is_some();
        if let (Kind::Task(id), true) = (&entry.kind, explained || !files.is_empty()) {
            code_of.tasks.insert(id.clone());
        }
        code_of.touched.extend(files);
    }
    Ok(code_of)
}

/// [`code_changes`] of a session whose commits have been read.
pub(crate) fn code_changes_with(
    git: &Git,
    session: &Session,
    tree: &Oid,
    committed: &CommittedCode,
) -> Result<CodeChanges> {
    let reader = git.reader();
    // `committed` lacks what a merge brought, such as the files of a change request: their commits
    // have another session's id.
    let since = reader
        .diff(start_of_code(git, session).as_ref(), tree)?
        .into_iter()
        .map(|change| change.path);
    let touched: BTreeSet<String> = code(since.collect()).into_iter().collect();
    let now = match start_of_code(git, session) {
        Some(_) => code_since_start(git, session, tree)?.into_iter().collect(),
        // The start is unknown: treat everything as changed, and conclude nothing from it.
        None => touched.clone(),
    };
    let mut changes = CodeChanges { now, touched, ..CodeChanges::default() };
    // An adopted commit is only assigned to a task if it changed something.
    changes.tasks.extend(session.file.adopted().map(|(task, _)| task.to_owned()));
    changes.tasks.extend(committed.tasks.iter().cloned());
    changes.touched.extend(committed.touched.iter().cloned());
    Ok(changes)
}

/// Removes the session's own records from the paths.
pub(crate) fn code(mut paths: Vec<String>) -> Vec<String> {
    paths.retain(|path| is_code(path));
    paths
}

/// True for a path outside `.cowork`.
pub(super) fn is_code(path: &str) -> bool {
    !path.starts_with(".cowork/")
}

impl TaskFiles for ProjectFiles {
    fn exist(&self, path: &str) -> bool {
        self.exist(path)
    }

    fn known(&self, path: &str) -> bool {
        self.known(path)
    }

    fn ignored(&self, paths: &[&str]) -> BTreeMap<String, String> {
        // If git fails, only the explanation of missing paths is left out.
        git::check_ignore::ignoring_rules(&self.git, paths).unwrap_or_default()
    }

    fn code(&self) -> &CodeChanges {
        &self.code
    }
}

/// The first such repository at the session's tip. `None` as well if its base commit is not here.
///
/// # Errors
/// Git cannot be read.
pub fn embedded_repository(git: &Git, session: &Session) -> Result<Option<Embedded>> {
    let Ok(base) = session.file.base.commit.parse::<Oid>() else { return Ok(None) };
    if git.resolve(base.as_str())?.is_none() {
        return Ok(None);
    }
    let changed = git::paths::changed(git, &base, &session.tip)?;
    with_a_program(git, &session.tip, &changed)
}

/// Size in bytes above which a file's lines are not counted.
const LARGEST: usize = 1 << 20;

/// A file that a commit changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// Relative to the top of the working tree.
    pub path: String,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// The files outside `.cowork` that differ between two commits. Binary and very large files have no
/// line counts.
///
/// # Errors
/// Git cannot be read.
pub fn changed_files(git: &Git, from: &Oid, to: &Oid) -> Result<Vec<ChangedFile>> {
    let reader = git.reader();
    let mut changes = reader.diff(Some(from), to)?;
    changes.retain(|change| is_code(&change.path));
    Ok(count_changes(reader.as_ref(), &changes).0)
}

/// The files of these changes, with their line counts; false if a file could not be read, so that
/// its lines are not counted.
pub(super) fn count_changes(
    reader: &dyn Reader,
    changes: &[TreeChange],
) -> (Vec<ChangedFile>, bool) {
    let mut all_read = true;
    let files = changes.iter().map(|change| counted(reader, change, &mut all_read)).collect();
    (files, all_read)
}

fn is_counted(bytes: &[u8]) -> bool {
    bytes.len() <= LARGEST && !bytes.contains(&0)
}

fn counted(reader: &dyn Reader, change: &TreeChange, all_read: &mut bool) -> ChangedFile {
    let mut text = |id: &Option<Oid>| {
        let Some(id) = id else { return Some(Vec::new()) };
        // In a partial clone, the blob may be elsewhere. A submodule's commit is not a blob.
        let bytes = reader.blob(Object::Id(id)).ok().flatten();
        *all_read &= bytes.is_some();
        bytes.filter(|bytes| is_counted(bytes))
    };
    let (added, removed) = match (text(&change.old), text(&change.new)) {
        (Some(before), Some(after)) => changed_lines(&before, &after),
        _ => (0, 0),
    };
    ChangedFile { path: change.path.clone(), added, removed }
}

/// Returns `store.py +42` or `2 files +42 −3`; empty if there are no files.
pub fn in_short(files: &[ChangedFile]) -> String {
    let what = match files {
        [] => return String::new(),
        [one] => one.path.rsplit('/').next().unwrap_or(&one.path).to_owned(),
        many => format!("{} files", many.len()),
    };
    let sum = |of: fn(&ChangedFile) -> usize| files.iter().map(of).sum::<usize>();
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    match (added, removed) {
        (0, 0) => what,
        (_, 0) => format!("{what} +{added}"),
        _ => format!("{what} +{added} −{removed}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_is_named_and_several_are_counted() {
        let file = |path: &str, added, removed| ChangedFile { path: path.into(), added, removed };
        assert_eq!(in_short(&[]), "");
        assert_eq!(in_short(&[file("lib/store.py", 42, 0)]), "store.py +42");
        assert_eq!(in_short(&[file("a.png", 0, 0)]), "a.png");
        assert_eq!(in_short(&[file("a", 2, 1), file("b", 3, 0)]), "2 files +5 −1");
    }
}
