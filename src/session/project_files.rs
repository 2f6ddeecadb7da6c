//! The project's files at the start of a session and in a commit or tree: what the session has
//! changed outside `.cowork`, and which files named by its tasks exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Kind, Session, adopted, key};
use crate::artifact::check::CodeChanges;
use crate::artifact::{Plan, Task};
use crate::git::{self, Commit, Git, Oid};
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
    pub fn at(git: &Git, session: &Session, tree: &Oid, plan: &Plan) -> anyhow::Result<Self> {
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
pub(crate) fn code_since_start(
    git: &Git,
    session: &Session,
    commit: &Oid,
) -> anyhow::Result<Vec<String>> {
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
pub(crate) fn code_digest(git: &Git, session: &Session, tree: &Oid) -> anyhow::Result<String> {
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
pub fn code_changes(git: &Git, session: &Session, tree: &Oid) -> anyhow::Result<CodeChanges> {
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
pub(crate) fn committed_code(git: &Git, session: &Session) -> anyhow::Result<CommittedCode> {
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
) -> anyhow::Result<CodeChanges> {
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
        git::status::ignoring_rules(&self.git, paths).unwrap_or_default()
    }

    fn code(&self) -> &CodeChanges {
        &self.code
    }
}
