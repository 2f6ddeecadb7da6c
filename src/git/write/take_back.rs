//! Moves of index and working tree that survive the death of git: each records where it began, so
//! that an interrupted move is undone and, if git-cowork is still running, made again.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::git::execute::STARTS;
use crate::git::output::{Output, nul_texts};
use crate::git::put_back::{is_cut, present_blobs, unobstructed};
use crate::git::unfinished::{Goal, Move, Step};
use crate::git::{Cmd, Git, Head, Oid, RefName};
use crate::git::{in_the_way, paths, put_back, snapshot, unfinished};

/// A move to `to` from `from`, the commit or tree in the index; `None` means HEAD.
pub(crate) fn move_to(git: &Git, goal: Goal, from: Option<Oid>, to: &Oid) -> Result<Move> {
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
pub(crate) fn go<'a>(
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
pub(crate) fn has_arrived(git: &Git, step: &Move) -> Result<bool> {
    let head = git.head()?;
    let is_on = |name: &str| head.branch().is_some_and(|branch| branch.short() == name);
    Ok(match &step.goal {
        Goal::Branch(name) | Goal::NewBranch(name) => is_on(name),
        Goal::MovedBranch(name) => is_on(name) && head.oid() == Some(&step.to),
        Goal::Detached => matches!(&head, Head::Detached { oid } if *oid == step.to),
        Goal::Merged(_) => head.oid() != step.head.1.as_ref(),
        Goal::MergeAborted => git.resolve("MERGE_HEAD")?.is_none(),
        Goal::Tree => false,
    })
}

/// Puts index and working tree back to where an interrupted move began, unless somebody has moved
/// HEAD in the meantime. Returns true if anything had to be done.
pub(crate) fn undo(git: &Git, step: &Move) -> Result<bool> {
    if has_arrived(git, step)? || head_now(git)? != step.head {
        return Ok(false);
    }
    let mut has_changed = false;
    let paths_to_move = paths::changed(git, &step.from, &step.to)?;
    if !paths_to_move.is_empty() {
        // Git writes the index in one step, after the working tree is complete.
        let differing = staged_against(git, &step.to)?;
        let is_at_goal = !paths_to_move.iter().any(|path| differing.contains(path));
        let (here, there) =
            if is_at_goal { (&step.to, &step.from) } else { (&step.from, &step.to) };
        has_changed = complete(git, &paths_to_move, here, there)?;
        if is_at_goal {
            let back = git.write(["read-tree", "-m", "-u", here.as_str(), there.as_str()]);
            back.checked()?;
            has_changed = true;
        }
    }
    match &step.goal {
        Goal::Merged(theirs) if git.resolve("MERGE_HEAD")?.as_ref() == Some(theirs) => {
            git.write(["merge", "--quit"]).checked()?;
            Ok(true)
        }
        _ => Ok(has_changed),
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
    let mut paths_to_write = Vec::new();
    for (index, path) in moved.into_iter().enumerate() {
        let (now, was, will) = (now[index].as_ref(), was[index].as_ref(), will[index].as_ref());
        if (was, will) == (None, None) || (now == was && now != will) {
            // A submodule, or a path that is already correct.
            continue;
        }
        if now == will || now.is_none() || is_cut(git, path, &[was, will])? {
            paths_to_write.push(path.clone());
        }
    }
    let paths_to_write = unobstructed(git, paths_to_write, here)?;
    put_back::write_paths(git, here, &paths_to_write, false)?;
    Ok(!paths_to_write.is_empty())
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
