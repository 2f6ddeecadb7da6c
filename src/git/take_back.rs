//! Moves of index and working tree that survive the death of git: each records where it began, so
//! that an interrupted move is undone and, if git-cowork is still running, made again.

use std::collections::BTreeSet;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::output::{Output, nul_texts};
use super::spawn::STARTS;
use super::unfinished::Step;
use super::{Cmd, Git, Head, Oid, RefName, Store};
use crate::git::{blobs, in_the_way, paths, put_back, snapshot, state, unfinished};

/// The goal of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Goal {
    /// HEAD goes to this branch.
    Branch(String),
    /// HEAD goes to this branch, which is created.
    NewBranch(String),
    /// HEAD stays on this branch, which moves.
    MovedBranch(String),
    /// HEAD goes to the commit.
    Detached,
    /// HEAD stays where it is.
    Tree,
    /// A merge of this commit is committed.
    Merged(Oid),
    /// A merge is aborted.
    MergeAborted,
}

/// See [`Step::Move`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Move {
    goal: Goal,
    /// Branch and commit of HEAD before the move.
    head: (Option<String>, Option<Oid>),
    /// Commit or tree in the index before the move.
    from: Oid,
    /// Commit or tree in the index after the move.
    to: Oid,
}

/// See [`Step::Restore`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Restore {
    /// Commit of HEAD.
    head: Option<Oid>,
    /// Commit or tree from which the paths are restored.
    source: Oid,
    /// True to restore the index as well.
    staged: bool,
    /// The paths, each with its blob before the restore.
    paths: Vec<(String, Option<Oid>)>,
}

/// A move to `to` from `from`, the commit or tree in the index; `None` means HEAD.
pub(super) fn move_to(git: &Git, goal: Goal, from: Option<Oid>, to: &Oid) -> Result<Move> {
    let head = head_now(git)?;
    let from = match from.or_else(|| head.1.clone()) {
        Some(from) => from,
        None => in_the_way::empty_tree(git)?,
    };
    Ok(Move { goal, head, from, to: to.clone() })
}

/// Runs the git command of a move. If git dies, the move is undone. The command is run again, in
/// that case and on a busy lock, while `may_retry` returns true; `command` gets true if this is not
/// the first run.
pub(super) fn go<'a>(
    git: &'a Git,
    step: &Move,
    may_retry: &dyn Fn() -> bool,
    command: &dyn Fn(bool) -> Result<Cmd<'a>>,
) -> Result<(Cmd<'a>, Output)> {
    unfinished::noting(
        git,
        || Ok(Step::Move(step.clone())),
        || {
            let mut cmd = command(false)?;
            let mut output = cmd.attempt(may_retry, || false)?;
            for _ in 1..STARTS {
                if !output.killed() || !may_retry() || has_arrived(git, step)? {
                    break;
                }
                undo(git, step)?;
                cmd = command(true)?;
                output = cmd.attempt(may_retry, || false)?;
            }
            if output.killed() && !has_arrived(git, step)? {
                undo(git, step)?;
            }
            Ok((cmd, output))
        },
    )
}

fn head_now(git: &Git) -> Result<(Option<String>, Option<Oid>)> {
    let head = git.head()?;
    Ok((head.branch().map(RefName::to_string), head.oid().cloned()))
}

/// True if a command that died has done its work all the same: git moves HEAD last.
pub(super) fn has_arrived(git: &Git, step: &Move) -> Result<bool> {
    let head = git.head()?;
    let on = |name: &str| head.branch().is_some_and(|branch| branch.short() == name);
    Ok(match &step.goal {
        Goal::Branch(name) | Goal::NewBranch(name) => on(name),
        Goal::MovedBranch(name) => on(name) && head.oid() == Some(&step.to),
        Goal::Detached => matches!(&head, Head::Detached { oid } if *oid == step.to),
        Goal::Merged(_) => head.oid() != step.head.1.as_ref(),
        Goal::MergeAborted => git.resolve("MERGE_HEAD")?.is_none(),
        Goal::Tree => false,
    })
}

/// Puts index and working tree back to where an interrupted move began, unless somebody has moved
/// HEAD in the meantime. Returns true if anything had to be done.
pub(super) fn undo(git: &Git, step: &Move) -> Result<bool> {
    if has_arrived(git, step)? || head_now(git)? != step.head {
        return Ok(false);
    }
    let mut done = false;
    let moved = paths::changed(git, &step.from, &step.to)?;
    if !moved.is_empty() {
        // Git writes the index in one step, after the working tree is complete.
        let staged = staged_against(git, &step.to)?;
        let arrived = !moved.iter().any(|path| staged.contains(path));
        let (here, there) = if arrived { (&step.to, &step.from) } else { (&step.from, &step.to) };
        done = complete(git, &moved, here, there)?;
        if arrived {
            let back = git.write(["read-tree", "-m", "-u", here.as_str(), there.as_str()]);
            back.checked()?;
            done = true;
        }
    }
    match &step.goal {
        Goal::Merged(theirs) if git.resolve("MERGE_HEAD")?.as_ref() == Some(theirs) => {
            git.write(["merge", "--quit"]).checked()?;
            Ok(true)
        }
        _ => Ok(done),
    }
}

/// Restores paths that git was about to change: those that now have the content in `there`, have
/// only the beginning of either content, or do not exist as files, get the content in `here`.
fn complete(git: &Git, moved: &[String], here: &Oid, there: &Oid) -> Result<bool> {
    let hidden = hidden_paths(git)?;
    let moved: Vec<&String> = moved.iter().filter(|path| !hidden.contains(*path)).collect();
    let now = present_blobs(git, &moved)?;
    let (was, will) =
        (snapshot::blob_ids(git, here, &moved)?, snapshot::blob_ids(git, there, &moved)?);
    let mut ours = Vec::new();
    for (index, path) in moved.into_iter().enumerate() {
        let (now, was, will) = (now[index].as_ref(), was[index].as_ref(), will[index].as_ref());
        if (was, will) == (None, None) || (now == was && now != will) {
            // A submodule, or a path that is already correct.
            continue;
        }
        if now == will || now.is_none() || is_cut(git, path, &[was, will])? {
            ours.push(path.clone());
        }
    }
    let ours = unobstructed(git, ours, here)?;
    put_back::write_paths(git, here, &ours, false)?;
    Ok(!ours.is_empty())
}

/// [`Step::Restore`] for the current state.
pub(super) fn restoring<S: AsRef<str>>(
    git: &Git,
    source: &Oid,
    paths: &[S],
    staged: bool,
) -> Result<Step> {
    let paths: Vec<String> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
    let before = present_blobs(git, &paths)?;
    let (head, source) = (git.head()?.oid().cloned(), source.clone());
    Ok(Step::Restore(Restore {
        head,
        source,
        staged,
        paths: paths.into_iter().zip(before).collect(),
    }))
}

/// Restores the paths that a killed run did not get to, unless somebody has moved HEAD or changed
/// these paths in the meantime.
pub(super) fn finish_restore(git: &Git, step: &Restore) -> Result<bool> {
    if git.head()?.oid() != step.head.as_ref() {
        return Ok(false);
    }
    let paths: Vec<&String> = step.paths.iter().map(|(path, _)| path).collect();
    let now = present_blobs(git, &paths)?;
    let will = snapshot::blob_ids(git, &step.source, &paths)?;
    let mut ours = Vec::new();
    for (index, (path, before)) in step.paths.iter().enumerate() {
        let (now, will) = (&now[index], &will[index]);
        let whole = now == before || now == will || now.is_none();
        if whole || is_cut(git, path, &[will.as_ref()])? {
            ours.push(path.clone());
        }
    }
    let ours = unobstructed(git, ours, &step.source)?;
    put_back::write_paths(git, &step.source, &ours, step.staged)?;
    Ok(!ours.is_empty())
}

/// The paths that can be restored from `source` without removing an untracked file: a folder may be
/// in the place of a file, or a file in the place of a folder.
fn unobstructed(git: &Git, mut paths: Vec<String>, source: &Oid) -> Result<Vec<String>> {
    let there = snapshot::blob_ids(git, source, &paths)?;
    let of = |is_there: bool| -> Vec<&str> {
        let which = paths.iter().zip(&there).filter(|(_, blob)| blob.is_some() == is_there);
        which.map(|(path, _)| path.as_str()).collect()
    };
    let obstacles = in_the_way::obstacles(git, &of(true), &of(false))?;
    let below = |path: &str, folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    paths.retain(|path| !obstacles.iter().any(|other| below(other, path) || below(path, other)));
    Ok(paths)
}

/// The blobs that files would have if they were added; `None` behind a link.
fn present_blobs<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<Vec<Option<Oid>>> {
    let mut blobs = blobs::hash_files(git, paths, Store::No)?;
    for (path, blob) in paths.iter().zip(&mut blobs) {
        if !put_back::has_real_parents(git, path.as_ref()) {
            *blob = None;
        }
    }
    Ok(blobs)
}

/// True if a file contains only the beginning of one of these blobs, as an interrupted checkout
/// leaves it.
pub(super) fn is_cut(git: &Git, path: &str, blobs: &[Option<&Oid>]) -> Result<bool> {
    let is_file = state::lies_at(git, path).is_some_and(|meta| meta.is_file());
    if !is_file || !put_back::has_real_parents(git, path) {
        return Ok(false);
    }
    let held = std::fs::read(git.top.join(path))?;
    for blob in blobs.iter().flatten() {
        // With the filters that a checkout applies to this path.
        let at = format!("--path={path}");
        let whole = git.read(["cat-file", "--filters", &at, blob.as_str()]).checked()?;
        if whole.stdout.starts_with(&held) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Paths whose index entry differs from that of a commit or tree.
fn staged_against(git: &Git, tree: &Oid) -> Result<BTreeSet<String>> {
    let diff = git.read(["diff-index", "--cached", "-z", "--no-renames", "--name-only"]);
    let output = diff.args([tree.as_str(), "--"]).checked()?;
    Ok(nul_texts(&output.stdout).collect())
}

/// Paths that git does not write or does not check: `--skip-worktree`, `--assume-unchanged`.
fn hidden_paths(git: &Git) -> Result<BTreeSet<String>> {
    let output = git.read(["ls-files", "-z", "-v"]).checked()?;
    let hidden = |line: String| {
        let (tag, path) = line.split_once(' ')?;
        let is_hidden = tag == "S" || tag.chars().all(|c| c.is_ascii_lowercase());
        is_hidden.then(|| path.to_owned())
    };
    Ok(nul_texts(&output.stdout).filter_map(hidden).collect())
}
