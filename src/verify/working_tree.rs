//! The state of a session outside its commits: the run that works on it now, files left by a killed
//! run, and the working tree.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use super::problem::Problem;
use super::readable::{UNREADABLE, unreadable_artifacts};
use crate::artifact::{Artifact, RECORDS};
use crate::git::{self, Git, Oid, Store};
use crate::session::{
    KeptDraft, LiveRun, RefNames, Session, StateDir, artifact_path, from_top, kept_draft, key,
    live_run,
};
use crate::shell_quote::quoted;
use crate::workspace::lying_as_written;

/// The working tree that has a session checked out: this one, or a linked one. `None` if there is
/// none, or if a sparse checkout excludes the session's files.
///
/// # Errors
/// Git cannot be read.
pub fn working_tree(git: &Git, refs: &RefNames, session: &Session) -> Result<Option<Git>> {
    let branch = refs.branch(&session.name);
    let head = git.head()?;
    let is_here = head.branch() == Some(&branch) || head.oid() == Some(&session.tip);
    let there = if is_here && !git.is_bare() {
        Some(git.clone())
    } else {
        let path = git::refs::checked_out_in(git, &branch)?.filter(|path| path.exists());
        path.map(|path| git.at(&path)).transpose()?
    };
    let Some(there) = there else { return Ok(None) };
    let kept_out =
        git::state::sparse_excludes(&there, &artifact_path(&session.name, Artifact::Session))?;
    Ok((!kept_out).then_some(there))
}

/// A prefix for commands on the session's files: it changes to the session's working tree, or
/// switches to its branch. Empty if the session is checked out here.
pub(super) fn leads_to(
    git: &Git,
    refs: &RefNames,
    session: &Session,
    there: Option<&Git>,
) -> String {
    match there {
        Some(there) if there.top() == git.top() => String::new(),
        Some(there) => format!("cd {} && ", quoted(&there.top().display().to_string())),
        None => format!("git switch {} && ", refs.short_branch(&session.name)),
    }
}

/// Additional information for `status`, also in `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// The run that works on the session now.
    pub run: Option<LiveRun>,
    /// Unreadable files, and files left by a run.
    pub problems: Vec<Problem>,
}

impl Beside {
    /// Looks at the working tree that has the session checked out, and at the state directory.
    ///
    /// # Errors
    /// Git or the state directory cannot be read.
    pub fn read(git: &Git, refs: &RefNames, session: &Session) -> Result<Self> {
        let there = working_tree(git, refs, session)?;
        let mut unreadable = unreadable_artifacts(git, session, there.as_ref().map(Git::top))?;
        unreadable.retain(|one| one.finished);
        let leads = leads_to(git, refs, session, there.as_ref());
        let mut problems: Vec<Problem> =
            unreadable.iter().map(|one| one.problem(session, &leads)).collect();
        let (run, left) = in_progress(git, refs, session, there.as_ref())?;
        if run.is_none() {
            problems.extend(left);
        }
        Ok(Self { run, problems })
    }

    /// Lines for display.
    pub fn lines(&self) -> String {
        let mut out = String::new();
        if let Some(run) = &self.run {
            let _ = writeln!(out, "Running  {run}");
        }
        // A draft in its draft ref is shown with the saved drafts.
        let is_kept = |problem: &&Problem| problem.about.starts_with(RefNames::DRAFTS);
        for problem in self.problems.iter().filter(|problem| !is_kept(problem)) {
            let label = match problem.code {
                "unfinished-draft" => "Left",
                "stale-lock" => "Lock",
                "uncommitted-edit" => "Edited",
                _ => "Broken",
            };
            let details = problem.details.replace('\n', " ");
            let _ = writeln!(out, "{label:<8} {details}");
            if let Some(fix) = problem.suggested_fix.as_ref().filter(|_| label != "Left") {
                let _ = writeln!(out, "         {fix}");
            }
        }
        out
    }

    /// The command to run first if files have to be restored.
    pub fn next_command(&self) -> Option<&str> {
        let broken = self.problems.iter().find(|one| one.fixable && UNREADABLE.contains(&one.code));
        broken?.suggested_fix.as_deref()?.split("; or: ").next()
    }
}

/// The live run of a session, or the files and locks left by a dead run. During a run, such files
/// belong to the run.
///
/// # Errors
/// Git or the state directory cannot be read.
pub fn in_progress(
    git: &Git,
    refs: &RefNames,
    session: &Session,
    there: Option<&Git>,
) -> Result<(Option<LiveRun>, Vec<Problem>)> {
    let state = StateDir::at(&git.state_dir(), &session.name);
    if let Some(run) = live_run(&state) {
        let about = run.pid.map_or_else(|| "process".to_owned(), |pid| format!("process {pid}"));
        let problem = Problem::new(session, "live-run", about, run.to_string()).note();
        return Ok((Some(run), vec![problem]));
    }
    let mut found = Vec::new();
    found.extend(unfinished_draft(git, session, there, &state)?);
    if let Some(there) = there {
        found.extend(uncommitted_edits(there, session, &state)?);
    }
    found.extend(stale_locks(refs, session, there.unwrap_or(git), &state));
    Ok((None, found))
}

/// A draft that a run did not finish: in the working tree if the run died, else in its draft ref.
fn unfinished_draft(
    git: &Git,
    session: &Session,
    there: Option<&Git>,
    state: &StateDir,
) -> Result<Option<Problem>> {
    let Some(stage) = session.next_stage() else { return Ok(None) };
    let resume = format!("git cowork resume {}", session.name);
    let unfinished = |about: &str, details: String| {
        Problem::new(session, "unfinished-draft", about, details).note().fix(&resume)
    };
    let files = match there {
        Some(there) => lying(there, &session.tip, state)?,
        None => Vec::new(),
    };
    if let Some(first) = files.first() {
        let more = match files.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let details =
            format!("an unfinished draft of {stage} is in the working tree: {first}{more}");
        return Ok(Some(unfinished(first, details)));
    }
    let Some(KeptDraft::Live(draft)) = kept_draft(git, session, stage)? else { return Ok(None) };
    Ok(draft.trailers.get(key::PARTIAL).map(|_| {
        let name = RefNames::draft(&session.name, stage);
        let number = draft.iterations();
        unfinished(name.as_str(), format!("draft {number} of {stage} was not finished: {name}"))
    }))
}

/// A person's edits of the session's files that no commit and no draft contains.
fn uncommitted_edits(there: &Git, session: &Session, state: &StateDir) -> Result<Vec<Problem>> {
    let path = |artifact: &Artifact| artifact_path(&session.name, *artifact);
    let paths: Vec<String> = Artifact::ALL.iter().map(path).collect();
    if git::status::are_as_committed(there, &paths)? {
        return Ok(Vec::new());
    }
    let now = git::blobs::hash_files(there, &paths, Store::No)?;
    let committed = match there.head()?.oid() {
        Some(head) => git::snapshot::blob_ids(there, head, &paths)?,
        None => vec![None; paths.len()],
    };
    let draft = session.next_stage().map(|stage| kept_draft(there, session, stage));
    let draft = match draft.transpose()?.flatten() {
        Some(KeptDraft::Live(draft)) => git::snapshot::blob_ids(there, &draft.commit, &paths)?,
        _ => vec![None; paths.len()],
    };
    let written = lying_as_written(there.top(), state.path())?;
    let mut found = Vec::new();
    let blobs = now.iter().zip(committed).zip(draft);
    for ((artifact, path), ((now, committed), draft)) in Artifact::ALL.iter().zip(&paths).zip(blobs)
    {
        if *now == committed || now.is_none() || *now == draft || written.contains(path) {
            continue;
        }
        let details = match RECORDS.contains(artifact) {
            true => format!(
                "{path} has edits that are not committed, and is generated; edit the Markdown instead"
            ),
            false => format!("{path} has edits that are not committed"),
        };
        let problem = Problem::new(session, "uncommitted-edit", path, details).note();
        found.push(problem.fix(format!("git diff HEAD -- {}", from_top(path))));
    }
    Ok(found)
}

/// Files that tools wrote and that differ from the tip. The feedback file is ignored: it also
/// changes between drafts.
fn lying(git: &Git, tip: &Oid, state: &StateDir) -> Result<Vec<String>> {
    let mut files = lying_as_written(git.top(), state.path())?;
    files.retain(|path| !path.ends_with(Artifact::Feedback.file_name()));
    let (now, then) = (
        git::blobs::hash_files(git, &files, Store::No)?,
        git::snapshot::blob_ids(git, tip, &files)?,
    );
    let differs = files.into_iter().zip(now.into_iter().zip(then)).filter(|(_, (a, b))| a != b);
    Ok(differs.map(|(path, _)| path).collect())
}

/// Git's lock files without a known owner, which would stop the next command that writes.
fn stale_locks(refs: &RefNames, session: &Session, git: &Git, state: &StateDir) -> Vec<Problem> {
    let ours = state.git_children().metadata().is_ok_and(|meta| meta.len() > 0);
    let stale = git::locks::stale(git, &refs.own(&session.name)).into_iter().map(|(lock, age)| {
        let path = lock.display().to_string();
        let details = format!("{path} is {age} old, and no running process is known to hold it");
        let problem = Problem::new(session, "stale-lock", &path, details);
        match ours {
            // The next command on the session removes it, if it was left by a git child of
            // git-cowork.
            true => problem.fixable(),
            false => {
                problem.fix(format!("if no git command is running here: rm {}", quoted(&path)))
            }
        }
    });
    stale.collect()
}
