//! The project's files as a session found them and as they are in a commit or tree: what the session
//! has changed outside `.cowork`, and which of the files its tasks name are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

use super::{Kind, Session, adopted};
use crate::artifact::check::CodeChanges;
use crate::artifact::{Plan, Task};
use crate::git::{self, Commit, Git, Oid};
use crate::stages::TaskFiles;

/// What checks ask about files.
#[derive(Debug)]
pub struct ProjectFiles {
    git: Git,
    /// Of the paths tasks name, those that are there now.
    now: BTreeSet<String>,
    /// Those the session found; `None` where a squash left nothing that tells.
    at_start: Option<BTreeSet<String>>,
    /// What the session has changed.
    pub code: CodeChanges,
}

impl ProjectFiles {
    /// Looks at a commit or tree on top of the session.
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

    /// Whether a path is there now.
    pub fn exist(&self, path: &str) -> bool {
        self.now.contains(path)
    }

    /// Whether a path is or was there, so that a task may speak of it.
    pub fn known(&self, path: &str) -> bool {
        self.exist(path)
            || self.code.touches(path)
            || self.at_start.as_ref().is_none_or(|found| found.contains(path))
    }
}

/// The commit a session began on: a squash may have put code into the first commit that is left. `None`
/// where a shallow clone, or a squash without trailers, leaves nothing that tells.
pub(crate) fn start_of_code(git: &Git, session: &Session) -> Option<Oid> {
    let first = session.history.first()?;
    if session.file.is_adopted() {
        let base = session.file.base.commit.parse().ok();
        let oldest = adopted(git, session).ok()?.pop().map(|(_, commit)| commit);
        let as_recorded =
            |commit: &Commit| session.file.adopted().any(|(_, id)| id == commit.id.as_str());
        // A rebase moves what the oldest one stands on with the others.
        let moved = oldest.filter(|commit| !as_recorded(commit));
        return moved.and_then(|commit| commit.parents.into_iter().next()).or(base);
    }
    if session.from_files().is_some() {
        // Commits whose trailers are gone are the session's, too.
        let base: Oid = session.file.base.commit.parse().ok()?;
        return git::refs::is_ancestor(git, &base, &first.commit).ok()?.then_some(base);
    }
    let begins = (first.kind == Kind::Start).then_some(&first.commit);
    first.parents.first().or(begins).cloned()
}

/// Paths outside `.cowork` that differ between the session's start and a commit or tree: what came
/// with a merge of somebody else's work is theirs.
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
    // A person's own commits on the branch are the session's, too.
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
/// of what is in them: a rebase that touches none of them leaves it as it is.
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
        // A name may hold a line break, an id may not.
        let _ = write!(listed, "{what} {path}\0");
    }
    let digest = digest(&SHA256, listed.as_bytes());
    Ok(digest.as_ref()[..20].iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What the session's commits have changed, up to a commit or tree.
///
/// # Errors
/// Git fails.
pub fn code_changes(git: &Git, session: &Session, tree: &Oid) -> anyhow::Result<CodeChanges> {
    let reader = git.reader();
    // What a merge brought may be a change request's, which a task stands for under another id.
    let since = reader
        .diff(start_of_code(git, session).as_ref(), tree)?
        .into_iter()
        .map(|change| change.path);
    let touched: BTreeSet<String> = code(since.collect()).into_iter().collect();
    let now = match start_of_code(git, session) {
        Some(_) => code_since_start(git, session, tree)?.into_iter().collect(),
        // Nobody can tell: nothing is concluded from it.
        None => touched.clone(),
    };
    let mut changes = CodeChanges { now, touched, ..CodeChanges::default() };
    // Each of them changed something, else it would be no task's.
    changes.tasks.extend(session.file.adopted().map(|(task, _)| task.to_owned()));
    for entry in &session.history {
        let [parent] = &entry.parents[..] else { continue };
        let changed = reader.diff(Some(parent), &entry.commit)?.into_iter();
        let files = code(changed.map(|change| change.path).collect());
        if let (Kind::Task(id), false) = (&entry.kind, files.is_empty()) {
            changes.tasks.insert(id.clone());
        }
        changes.touched.extend(files);
    }
    Ok(changes)
}

/// Without the session's own records.
pub(crate) fn code(mut paths: Vec<String>) -> Vec<String> {
    paths.retain(|path| !path.starts_with(".cowork/"));
    paths
}

impl TaskFiles for ProjectFiles {
    fn exist(&self, path: &str) -> bool {
        self.exist(path)
    }

    fn known(&self, path: &str) -> bool {
        self.known(path)
    }

    fn ignored(&self, paths: &[&str]) -> BTreeMap<String, String> {
        // Without an answer, what is missing is only not explained.
        git::status::ignoring_rules(&self.git, paths).unwrap_or_default()
    }

    fn code(&self) -> &CodeChanges {
        &self.code
    }
}
